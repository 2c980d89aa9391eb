// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PERFRANKS_HPP
#define LUTRA_PERFRANKS_HPP

#include <functional>

#include "Lutra_Communicator.hpp"
#include "Lutra_PerfMeasure.hpp"

namespace lutra::Perf {

/// Samples of an operation of all ranks, each from one barrier to the next. Two warm-ups precede them. The
/// number of samples is the same on all ranks.
Samples measure_on_ranks(Communicator& comm, int samples, const std::function<void()>& timed);
/// The same for an operation of rank 0 alone, for which the others wait.
Samples measure_on_first_rank(Communicator& comm, int samples, const std::function<void()>& timed);

/// The communicator of the program; set while benchmarks run.
Communicator& ranks();

}  // namespace lutra::Perf

#endif
