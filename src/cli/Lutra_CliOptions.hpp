// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CLIOPTIONS_HPP
#define LUTRA_CLIOPTIONS_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "Lutra_CliArguments.hpp"
#include "Lutra_MatrixMarket.hpp"
#include "Lutra_Options.hpp"

namespace lutra::Cli {

/// Options of solve, sequence and info, checked: nothing that was asked for is left out silently.
struct ProgramOptions {
  lutra::SolverOptions solver;  ///< without `user_permutation`, which needs the size of the matrix
  std::string ordering_file;    ///< empty: none
  std::string backend;          ///< "serial", "openmp", "cuda" or "hip"; never "auto"
  std::string backend_reason;   ///< of auto, where there is a device and a matrix is known

  bool is_krylov() const { return solver.method == Method::krylov; }
  /// Whether LDLᵀ or Cholesky is asked for.
  bool is_symmetric() const { return solver.method == Method::ldlt || solver.method == Method::cholesky; }
};

/// @throws InputError naming the option for a value that is unknown, not built in or makes no sense
ProgramOptions check_options(const Arguments& arguments);

/// The model that was given, or the one built in for the host.
DeviceModel model_for(const ProgramOptions& options);

/// The backend of `--backend`, which must be built. auto selects the first one: a device if there is one.
/// @throws InputError listing the built backends
std::string check_backend(const Arguments& arguments);

/// Of `--backend auto`, where there is a device and a direct method: the backend that is predicted to come to
/// the solution first.
ProgramOptions with_backend_chosen(ProgramOptions options, const Arguments& arguments,
                                   const MatrixMarketMatrix& matrix);

/// Checks before any work that a file can be written. @throws InputError
void check_output_file(const std::string& option, const std::string& file);

/// Bytes of "1000", "500K", "1.5G": powers of 1024, with optional "B" or "iB" after the letter.
/// @throws InputError
std::size_t parse_bytes(const std::string& text, const std::string& option = "--memory-limit");

/// Reads a column order from a file: n numbers from 1 separated by white space, with comments from % to the
/// end of the line.
/// @returns [n] columns from 0 in elimination order
/// @throws FileError naming file and line
std::vector<std::int64_t> read_ordering(const std::string& file, std::int64_t n);

}  // namespace lutra::Cli

#endif
