// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_CliCommands.hpp"
#include "Lutra_CliExit.hpp"
#include "Lutra_CliOptions.hpp"
#include "Lutra_MatrixMarket.hpp"

namespace lutra::Cli {

int run_generate(const Arguments& arguments) {
  const std::string& file = arguments.files.front();
  check_output_file("generate:", file);
  const HostMatrix<double> matrix = generate(arguments.kind, arguments.size, arguments.seed);
  write_matrix_market(file, matrix,
                      "lutra generate " + arguments.kind + " --size " + std::to_string(arguments.size) +
                          " --seed " + std::to_string(arguments.seed));
  return exit_solved;
}

}  // namespace lutra::Cli
