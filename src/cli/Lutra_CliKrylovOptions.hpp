// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CLIKRYLOVOPTIONS_HPP
#define LUTRA_CLIKRYLOVOPTIONS_HPP

#include "Lutra_CliOptions.hpp"

namespace lutra::Cli {

/// Sets the method and the Krylov options of `options`, whose `lu` is already set.
/// @throws InputError for unknown values, and for options the method does not use
void set_krylov(const Arguments& arguments, SolverOptions& options);

}  // namespace lutra::Cli

#endif
