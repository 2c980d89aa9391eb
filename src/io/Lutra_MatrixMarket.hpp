// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_MATRIXMARKET_HPP
#define LUTRA_MATRIXMARKET_HPP

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "Lutra_CsrView.hpp"

namespace lutra {

/// The banner of a Matrix Market file.
struct MatrixMarketHeader {
  enum class Field { real, integer, complex, pattern };
  enum class Symmetry { general, symmetric, skew_symmetric, hermitian };
  Field field = Field::real;
  Symmetry symmetry = Symmetry::general;
};

/// A coordinate file in double precision, real or complex as the file is; symmetric storage is expanded,
/// duplicates are summed, pattern entries are 1, rows come out sorted.
struct MatrixMarketMatrix {
  MatrixMarketHeader header;
  std::variant<HostMatrix<double>, HostMatrix<Kokkos::complex<double>>> matrix;
};

/// A dense array file in double precision, by columns.
struct MatrixMarketArray {
  MatrixMarketHeader header;
  std::int64_t n_rows = 0, n_cols = 0;
  std::vector<Kokkos::complex<double>> values;  ///< [n_rows · n_cols] by columns; imaginary parts 0 if real
};

/// What the size line of a file declares.
struct MatrixMarketSize {
  std::int64_t n_rows = 0, n_cols = 0;
  std::int64_t n_entries = 0;  ///< that the file holds: of a symmetric matrix those of one triangle
};

/// Called once the size line is read, before any entry is. It throws where the caller does not want a matrix
/// of that size or has no memory for it.
using CheckMatrixMarketSize = std::function<void(const MatrixMarketSize&)>;

/// Reads a coordinate file: plain, .gz or .xz (recognised by its first bytes), or "-" for standard input.
///
/// More lenient than the format: letter case, white space, blank lines, comments between entries and
/// Windows line ends do not matter; Fortran exponents (1D-3) are numbers; entries of a symmetric,
/// skew-symmetric or Hermitian file may stand in either triangle. Explicit zeros stay in the pattern.
/// Rectangular and empty matrices are read.
///
/// Refused are NaN and infinity; in a file that is not general a(j,i) besides a(i,j), whatever their values:
/// one of them would be counted twice; entries of a skew-symmetric diagonal other than 0, and those of a
/// Hermitian one that are not real.
/// @throws FileError naming file and line; OutOfMemoryError where the matrix cannot be held
MatrixMarketMatrix read_matrix_market(const std::string& file);
/// The same where the caller's check of the size line passes. @throws what `check` throws, too
MatrixMarketMatrix read_checked_matrix_market(const std::string& file, const CheckMatrixMarketSize& check);

/// Reads a dense array file, one value a line, or a coordinate file taken as dense.
/// @throws FileError naming file and line; OutOfMemoryError where the array cannot be held
MatrixMarketArray read_matrix_market_array(const std::string& file);
/// The same where the caller's check of the size line passes. @throws what `check` throws, too
MatrixMarketArray read_checked_matrix_market_array(const std::string& file,
                                                   const CheckMatrixMarketSize& check);

/// Writes a coordinate file (general), in the fewest digits that give the same numbers back. The file appears
/// complete or not at all; "-" is standard output. Lines of `comment` follow the banner.
/// @throws FileError where it cannot be written, or a value is NaN or infinite
template <class Scalar>
void write_matrix_market(const std::string& file, const HostMatrix<Scalar>& matrix,
                         const std::string& comment = "");

/// The same for a dense array file of n_rows × n_cols values given by columns.
/// @throws FileError where it cannot be written, or a value is NaN or infinite; InputError where lengths do
/// not fit
template <class Scalar>
void write_matrix_market_array(const std::string& file, std::int64_t n_rows, std::int64_t n_cols,
                               std::span<const Scalar> values, const std::string& comment = "");

}  // namespace lutra

#endif
