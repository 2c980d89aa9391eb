// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CLIOPTIONS_HPP
#define LUTRA_CLIOPTIONS_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "Lutra_CliArguments.hpp"
#include "Lutra_KrylovSolverOptions.hpp"
#include "Lutra_LdltOptions.hpp"
#include "Lutra_LuOptions.hpp"
#include "Lutra_MatrixMarket.hpp"

namespace lutra::Cli {

/// Checked options of solve, sequence and info. An option that cannot be honoured is an error.
struct SolverOptions {
  LuOptions lu;  ///< without `user_permutation`, which needs the order of the matrix
  std::optional<KrylovSolverOptions> krylov;  ///< Krylov methods; also without permutations
  std::optional<LdltOptions> ldlt;  ///< ldlt and cholesky; also without permutation and without symmetry
  std::optional<LdltOptions> if_symmetric;  ///< for auto: becomes `ldlt` if choose_method selects it
  bool lu_asked = false;                    ///< for auto: MethodProperties::lu_asked
  std::string method_reason;                ///< for auto, once the matrix is known
  std::string ordering_file;                ///< empty: none
  std::string backend;                      ///< "serial", "openmp", "cuda" or "hip"; never "auto"
  std::string backend_reason;               ///< for auto, with a device and a known matrix
};

/// @throws InputError naming the option for a value that is unknown, not built in or inconsistent
SolverOptions check_options(const Arguments& arguments);

/// The given device model, or the built-in model of the host.
DeviceModel model_for(const SolverOptions& options);

/// The backend of `--backend`, which must be built. auto selects the first one: a device if there is one.
/// @throws InputError listing the built backends
std::string check_backend(const Arguments& arguments);

/// For `--backend auto` with a device and a direct method: selects the backend with the shortest predicted
/// time to solution.
SolverOptions with_backend_chosen(SolverOptions options, const Arguments& arguments,
                                  const MatrixMarketMatrix& matrix);

/// Checks before any work that a file can be written. @throws InputError
void check_output_file(const std::string& option, const std::string& file);

/// Bytes of "1000", "500K", "1.5G": powers of 1024, with optional "B" or "iB" after the letter.
/// @throws InputError
std::size_t parse_bytes(const std::string& text);

/// Reads a column order from a file: n numbers from 1 separated by white space, with comments from % to the
/// end of the line.
/// @returns [n] columns from 0 in elimination order
/// @throws FileError naming file and line
std::vector<std::int64_t> read_ordering(const std::string& file, std::int64_t n);

}  // namespace lutra::Cli

#endif
