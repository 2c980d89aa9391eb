// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CLIMETHODOPTIONS_HPP
#define LUTRA_CLIMETHODOPTIONS_HPP

#include "Lutra_CliOptions.hpp"

// Methods by their names on the command line, and what they use of the other flags.

namespace lutra::Cli {

/// auto, the direct methods, and the Krylov methods one by one.
std::vector<std::string> method_names();

/// @throws InputError for an unknown method
void set_method(const Arguments& arguments, SolverOptions& options);

/// Completes `options`, whose fields are set, by what belongs to Krylov methods.
/// @throws InputError for an unknown preconditioner, and flags that the method does not use
void set_krylov(const Arguments& arguments, ProgramOptions& options);

/// @throws InputError for flags that LDLᵀ and Cholesky do not use, and with other methods for theirs
void set_ldlt(const Arguments& arguments);

}  // namespace lutra::Cli

#endif
