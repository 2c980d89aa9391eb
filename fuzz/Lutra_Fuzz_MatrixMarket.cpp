// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cmath>
#include <cstring>
#include <type_traits>
#include <variant>

#include "Lutra_Fuzz.hpp"
#include "Lutra_MatrixMarket.hpp"

// Any bytes as a Matrix Market file, plain or compressed: an error of the input or a valid matrix, which is
// the same after writing and reading.

namespace {

using lutra::HostMatrix;
using lutra::MatrixMarketArray;
using lutra::MatrixMarketHeader;
using lutra::MatrixMarketSize;
using lutra::Fuzz::require;
using Complex = Kokkos::complex<double>;

// A short file may declare billions of rows, which a machine with much memory accepts.
void refuse_large(const MatrixMarketSize& size) {
  constexpr std::int64_t most = std::int64_t{1} << 16;
  if (size.n_rows > most || size.n_cols > most) throw lutra::InputError("the matrix is too large to fuzz");
}
void refuse_large_array(const MatrixMarketSize& size) {
  refuse_large(size);
  if (size.n_rows * size.n_cols > std::int64_t{1} << 16)
    throw lutra::InputError("the array is too large to fuzz");
}

bool is_finite(double value) {
  return std::isfinite(value);
}
bool is_finite(const Complex& value) {
  return std::isfinite(value.real()) && std::isfinite(value.imag());
}

// Equal bits: signs of zeros count.
template <class Scalar>
bool same_bits(const std::vector<Scalar>& a, const std::vector<Scalar>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(static_cast<const void*>(a.data()), static_cast<const void*>(b.data()),
                                   a.size() * sizeof(Scalar)) == 0);
}

template <class Scalar>
void check_rows(const HostMatrix<Scalar>& a) {
  require(a.n_rows >= 0 && a.n_cols >= 0, "sizes are not negative");
  require(a.row_map.size() == static_cast<std::size_t>(a.n_rows) + 1 && a.row_map.front() == 0,
          "row_map has n_rows + 1 elements from 0");
  require(a.row_map.back() == static_cast<std::int64_t>(a.entries.size()), "row_map ends at nnz");
  require(a.values.size() == a.entries.size(), "each entry has a value");
  for (std::size_t row = 0; row + 1 < a.row_map.size(); ++row) {
    require(a.row_map[row] <= a.row_map[row + 1], "row_map ascends");
    int last = -1;
    for (auto k = static_cast<std::size_t>(a.row_map[row]); k < static_cast<std::size_t>(a.row_map[row + 1]);
         ++k) {
      require(a.entries[k] > last && a.entries[k] < a.n_cols, "columns ascend strictly, below n_cols");
      require(is_finite(a.values[k]), "values are finite");
      last = a.entries[k];
    }
  }
}

// Value of an entry that must be there.
template <class Scalar>
Scalar at(const HostMatrix<Scalar>& a, int row, int column) {
  const auto begin = a.entries.begin() + a.row_map[static_cast<std::size_t>(row)];
  const auto end = a.entries.begin() + a.row_map[static_cast<std::size_t>(row) + 1];
  const auto found = std::lower_bound(begin, end, column);
  require(found != end && *found == column, "the pattern is symmetric");
  return a.values[static_cast<std::size_t>(found - a.entries.begin())];
}

template <class Scalar>
Scalar mirrored(const Scalar& value, MatrixMarketHeader::Symmetry symmetry) {
  if (symmetry == MatrixMarketHeader::Symmetry::skew_symmetric) return -value;
  if constexpr (std::is_same_v<Scalar, Complex>)
    if (symmetry == MatrixMarketHeader::Symmetry::hermitian) return Kokkos::conj(value);
  return value;
}

template <class Scalar>
void check_symmetry(const HostMatrix<Scalar>& a, MatrixMarketHeader::Symmetry symmetry) {
  if (symmetry == MatrixMarketHeader::Symmetry::general) return;
  require(a.n_rows == a.n_cols, "a symmetric matrix is square");
  for (int row = 0; row < a.n_rows; ++row) {
    for (auto k = a.row_map[static_cast<std::size_t>(row)]; k < a.row_map[static_cast<std::size_t>(row) + 1];
         ++k) {
      const auto entry = static_cast<std::size_t>(k);
      require(at(a, a.entries[entry], row) == mirrored(a.values[entry], symmetry), "values are symmetric");
    }
  }
}

template <class Scalar>
void check_again(const HostMatrix<Scalar>& a) {
  const std::string file = lutra::Fuzz::scratch_file("again.mtx");
  lutra::write_matrix_market(file, a, "written\nby a fuzzer");
  const auto read = lutra::read_matrix_market(file);
  const auto* const again = std::get_if<HostMatrix<Scalar>>(&read.matrix);
  require(again != nullptr, "the field is the same after writing");
  require(again->n_rows == a.n_rows && again->n_cols == a.n_cols && again->row_map == a.row_map &&
              again->entries == a.entries,
          "the pattern is the same after writing");
  require(same_bits(again->values, a.values), "values have the same bits after writing");
}

void check_array(const MatrixMarketArray& array) {
  require(array.values.size() == static_cast<std::size_t>(array.n_rows * array.n_cols), "an array is full");
  for (const Complex& value : array.values) require(is_finite(value), "values are finite");
  const std::string file = lutra::Fuzz::scratch_file("again_array.mtx");
  lutra::write_matrix_market_array<Complex>(file, array.n_rows, array.n_cols, array.values);
  require(same_bits(lutra::read_matrix_market_array(file).values, array.values),
          "an array has the same bits after writing");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string file = lutra::Fuzz::written("input.mtx", lutra::Fuzz::Input(data, size).text());
  lutra::MatrixMarketMatrix sparse;
  const bool is_sparse =
      lutra::Fuzz::accepted([&] { sparse = lutra::read_checked_matrix_market(file, refuse_large); });
  if (is_sparse) {
    std::visit(
        [&](const auto& matrix) {
          check_rows(matrix);
          check_symmetry(matrix, sparse.header.symmetry);
          check_again(matrix);
        },
        sparse.matrix);
  }
  MatrixMarketArray array;
  if (lutra::Fuzz::accepted(
          [&] { array = lutra::read_checked_matrix_market_array(file, refuse_large_array); }))
    check_array(array);
  return 0;
}
