// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CLICOMMANDS_HPP
#define LUTRA_CLICOMMANDS_HPP

#include "Lutra_CliArguments.hpp"
#include "Lutra_Communicator.hpp"

namespace lutra::Cli {

// One function per command. Each returns the exit status and throws the exceptions of Lutra_Error.hpp for
// invalid input. Kokkos is initialized for all commands except generate, version and completion.
int run_solve(const Arguments& arguments);
/// solve on several ranks; collective. Rank 0 reads, writes and prints.
int run_solve_on_ranks(const Arguments& arguments, Communicator& ranks);
int run_sequence(const Arguments& arguments);
int run_info(const Arguments& arguments);
int run_order(const Arguments& arguments);
int run_predict(const Arguments& arguments);
/// @param ranks all ranks of mpirun, which also measure messages; null without mpirun
int run_calibrate(const Arguments& arguments, Communicator* ranks);
int run_generate(const Arguments& arguments);
int run_version(const Arguments& arguments);
int run_completion(const Arguments& arguments);

}  // namespace lutra::Cli

#endif
