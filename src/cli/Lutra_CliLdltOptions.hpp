// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CLILDLTOPTIONS_HPP
#define LUTRA_CLILDLTOPTIONS_HPP

#include "Lutra_CliOptions.hpp"

namespace lutra::Cli {

/// Sets the options of --method ldlt and cholesky, and of auto in case it selects one of these, from the LU
/// options already in `options`. Rejects their options for other methods.
/// @throws InputError naming the option for an unknown value, or one the method does not use
void set_ldlt(const Arguments& arguments, SolverOptions& options);

}  // namespace lutra::Cli

#endif
