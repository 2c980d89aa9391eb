// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_MATRIXMARKET_HPP
#define LUTRA_MATRIXMARKET_HPP

#include <cstdint>
#include <string>
#include <variant>

#include "Lutra_CsrView.hpp"

namespace lutra {

/// What the banner of a Matrix Market file says.
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
  std::vector<Kokkos::complex<double>>
      values;  ///< [n_rows · n_cols], column after column; imaginary parts 0 if real
};

/// Reads a coordinate file: plain, .gz or .xz (told by its first bytes), or "-" for standard input.
/// @throws FileError naming file and line; OutOfMemoryError where the declared size cannot be held
MatrixMarketMatrix read_matrix_market(const std::string& file);

/// Reads a dense array file, or a coordinate file taken as dense.
/// @throws FileError naming file and line
MatrixMarketArray read_matrix_market_array(const std::string& file);

/// Writes a coordinate file (general). The file appears complete or not at all.
/// @throws FileError where it cannot be written
template <class Scalar>
void write_matrix_market(const std::string& file, const HostMatrix<Scalar>& matrix,
                         const std::string& comment = "");

/// Writes a dense array file of n_rows × n_cols values given by columns. The file appears complete or not at
/// all.
/// @throws FileError where it cannot be written
template <class Scalar>
void write_matrix_market_array(const std::string& file, std::int64_t n_rows, std::int64_t n_cols,
                               std::span<const Scalar> values, const std::string& comment = "");

}  // namespace lutra

#endif
