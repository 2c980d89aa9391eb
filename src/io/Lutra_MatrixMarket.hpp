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

/// Matrix of a coordinate file, in double precision, real or complex as in the file. Symmetric storage is
/// expanded, duplicates are summed, pattern entries become 1, rows are sorted by column.
struct MatrixMarketMatrix {
  MatrixMarketHeader header;
  std::variant<HostMatrix<double>, HostMatrix<Kokkos::complex<double>>> matrix;
};

/// Matrix of a dense array file, in double precision, column-major.
struct MatrixMarketArray {
  MatrixMarketHeader header;
  std::int64_t n_rows = 0, n_cols = 0;
  std::vector<Kokkos::complex<double>> values;  ///< [n_rows · n_cols] column-major; imaginary parts are 0 for
                                                ///< a real file
};

/// Sizes declared by the size line of a file.
struct MatrixMarketSize {
  std::int64_t n_rows = 0, n_cols = 0;
  std::int64_t n_entries = 0;  ///< entries stored in the file; one triangle for a symmetric matrix
};

/// Called after the size line is read, before any entry. Throws if the caller rejects a matrix of that size
/// or has no memory for it.
using CheckMatrixMarketSize = std::function<void(const MatrixMarketSize&)>;

/// Reads a coordinate file: plain, .gz or .xz (recognised by its first bytes), or "-" for standard input.
///
/// More lenient than the format: ignores letter case, white space, blank lines, comments between entries and
/// Windows line ends; accepts Fortran exponents (1D-3) and, in symmetric, skew-symmetric and Hermitian files,
/// entries in either triangle. Explicit zeros stay in the pattern. Rectangular and empty matrices are
/// accepted.
///
/// Rejects NaN and infinity; both a(i,j) and a(j,i) in a file that is not general, whatever their values,
/// since one of them would count twice; nonzero diagonal entries of a skew-symmetric matrix; non-real
/// diagonal entries of a Hermitian one.
/// @throws FileError naming file and line; OutOfMemoryError if the matrix does not fit into memory
MatrixMarketMatrix read_matrix_market(const std::string& file);
/// Overload with a check of the size line by the caller. @throws also what `check` throws
MatrixMarketMatrix read_checked_matrix_market(const std::string& file, const CheckMatrixMarketSize& check);

/// Reads a dense array file, with one value per line, or a coordinate file as a dense array.
/// @throws FileError naming file and line; OutOfMemoryError if the array does not fit into memory
MatrixMarketArray read_matrix_market_array(const std::string& file);
/// Overload with a check of the size line by the caller. @throws also what `check` throws
MatrixMarketArray read_checked_matrix_market_array(const std::string& file,
                                                   const CheckMatrixMarketSize& check);

/// Writes a general coordinate file, each number with the fewest digits that reproduce it. The file appears
/// complete or not at all; "-" is standard output. The lines of `comment` follow the banner.
/// @throws FileError if the file cannot be written, or a value is NaN or infinite
template <class Scalar>
void write_matrix_market(const std::string& file, const HostMatrix<Scalar>& matrix,
                         const std::string& comment = "");

/// Writes a dense array file of n_rows × n_cols values, column-major; otherwise like write_matrix_market.
/// @throws FileError if the file cannot be written, or a value is NaN or infinite; InputError if lengths do
/// not match
template <class Scalar>
void write_matrix_market_array(const std::string& file, std::int64_t n_rows, std::int64_t n_cols,
                               std::span<const Scalar> values, const std::string& comment = "");

/// Kinds of `generate`: poisson2d, poisson3d, convdiff3d, aniso2d, circuit, kkt, random.
const std::vector<std::string>& generator_kinds();

/// Generates a test matrix. Equal arguments give the same matrix on every machine.
/// @param size grid points per side for poisson2d, poisson3d, convdiff3d and aniso2d; number of unknowns for
/// circuit, kkt (rounded to the nearest valid size) and random
/// @throws InputError for an unknown kind, or a size below 1 or too large
HostMatrix<double> generate(const std::string& kind, std::int64_t size, std::uint64_t seed = 1);

}  // namespace lutra

#endif
