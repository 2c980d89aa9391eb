// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CLICOMMANDS_HPP
#define LUTRA_CLICOMMANDS_HPP

#include "Lutra_CliArguments.hpp"
#include "Lutra_Communicator.hpp"

namespace lutra::Cli {

// One function a command; each returns the exit status and throws what Lutra_Error.hpp has for wrong input.
// Kokkos is initialized for all but generate, version and completion.
int run_solve(const Arguments& arguments);
/// The same on several ranks, collectively: rank 0 reads, writes and prints.
int run_solve_on_ranks(const Arguments& arguments, Communicator& ranks);
int run_sequence(const Arguments& arguments);
int run_info(const Arguments& arguments);
int run_order(const Arguments& arguments);
int run_predict(const Arguments& arguments);
/// @param ranks all of mpirun, which measure messages too; null without it
int run_calibrate(const Arguments& arguments, Communicator* ranks);
int run_generate(const Arguments& arguments);
int run_version(const Arguments& arguments);
int run_completion(const Arguments& arguments);

}  // namespace lutra::Cli

#endif
