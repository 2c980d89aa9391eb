// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CLIKRYLOVOPTIONS_HPP
#define LUTRA_CLIKRYLOVOPTIONS_HPP

#include "Lutra_CliOptions.hpp"

namespace lutra::Cli {

/// Completes `options`, whose `lu` is set, by the method and what belongs to Krylov methods.
/// @throws InputError for values that are unknown, and options that the method does not use
void set_krylov(const Arguments& arguments, ProgramOptions& options);

}  // namespace lutra::Cli

#endif
