// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PAPERRANKS_HPP
#define LUTRA_PAPERRANKS_HPP

#include "Lutra_Communicator.hpp"

namespace lutra::Perf {

/// The ranks of the program, from before `run_paper` until after it; a single one without mpirun.
Communicator& paper_ranks();

}  // namespace lutra::Perf

#endif
