// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CLILDLTOPTIONS_HPP
#define LUTRA_CLILDLTOPTIONS_HPP

#include "Lutra_CliOptions.hpp"

namespace lutra::Cli {

/// Options of --method ldlt and cholesky, from those of LU in `options`, which are set already, and of auto
/// where it comes to these; of other methods it refuses what belongs to these.
/// @throws InputError naming the option for a value that is unknown, or that the method does not use
void set_ldlt(const Arguments& arguments, ProgramOptions& options);

}  // namespace lutra::Cli

#endif
