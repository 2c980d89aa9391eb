// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>
#include <type_traits>

#include "Lutra_AtomicFile.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_MatrixMarket.hpp"

namespace lutra {
namespace {

using Impl::AtomicFile;

template <class Scalar>
constexpr bool is_real = std::is_floating_point_v<Scalar>;

// Buffer for one line of a file. Numbers get the fewest digits that reproduce them.
class Line {
 public:
  template <class Number>
  void add(Number number) {
    if (m_size > 0) m_text[m_size++] = ' ';
    m_size = static_cast<std::size_t>(
        std::to_chars(m_text.data() + m_size, m_text.data() + m_text.size(), number).ptr - m_text.data());
  }
  template <class Scalar>
  void add_value(const Scalar& value) {
    if constexpr (is_real<Scalar>) {
      add(value);
    } else {
      add(value.real());
      add(value.imag());
    }
  }
  void write_to(AtomicFile& file) {
    m_text[m_size++] = '\n';
    file.write({m_text.data(), m_size});
    m_size = 0;
  }

 private:
  std::array<char, 160> m_text;  // four numbers of at most 25 characters
  std::size_t m_size = 0;
};

template <class Scalar>
void require_finite(const std::string& file, const Scalar& value, std::int64_t row, std::int64_t column) {
  bool finite = false;
  if constexpr (is_real<Scalar>) {
    finite = std::isfinite(value);
  } else {
    finite = std::isfinite(value.real()) && std::isfinite(value.imag());
  }
  if (!finite) {
    throw FileError(file, 0,
                    "not written: the value at row " + std::to_string(row + 1) + ", column " +
                        std::to_string(column + 1) + " is not finite, and the format cannot hold it");
  }
}

template <class Scalar>
void write_start(AtomicFile& out, const char* format, const std::string& comment) {
  out.write(std::string("%%MatrixMarket matrix ") + format + (is_real<Scalar> ? " real" : " complex") +
            " general\n");
  for (std::size_t begin = 0; begin < comment.size();) {
    const std::size_t end = std::min(comment.find('\n', begin), comment.size());
    out.write("% " + comment.substr(begin, end - begin) + "\n");
    begin = end + 1;
  }
}

}  // namespace

template <class Scalar>
void write_matrix_market(const std::string& file, const HostMatrix<Scalar>& matrix,
                         const std::string& comment) {
  AtomicFile out(file);
  write_start<Scalar>(out, "coordinate", comment);
  Line line;
  line.add(matrix.n_rows);
  line.add(matrix.n_cols);
  line.add(matrix.nnz());
  line.write_to(out);
  for (int row = 0; row < matrix.n_rows; ++row) {
    const auto r = static_cast<std::size_t>(row);
    for (auto k = static_cast<std::size_t>(matrix.row_map[r]);
         k < static_cast<std::size_t>(matrix.row_map[r + 1]); ++k) {
      require_finite(file, matrix.values[k], row, matrix.entries[k]);
      line.add(row + 1);
      line.add(matrix.entries[k] + 1);
      line.add_value(matrix.values[k]);
      line.write_to(out);
    }
  }
  out.commit();
}

template <class Scalar>
void write_matrix_market_array(const std::string& file, std::int64_t n_rows, std::int64_t n_cols,
                               std::span<const Scalar> values, const std::string& comment) {
  if (n_rows < 0 || n_cols < 0 ||
      values.size() != static_cast<std::size_t>(n_rows) * static_cast<std::size_t>(n_cols)) {
    throw InputError("write_matrix_market_array: " + std::to_string(values.size()) +
                     " values for an array of " + std::to_string(n_rows) + " by " + std::to_string(n_cols));
  }
  AtomicFile out(file);
  write_start<Scalar>(out, "array", comment);
  Line line;
  line.add(n_rows);
  line.add(n_cols);
  line.write_to(out);
  for (std::size_t k = 0; k < values.size(); ++k) {
    require_finite(file, values[k], static_cast<std::int64_t>(k) % n_rows,
                   static_cast<std::int64_t>(k) / n_rows);
    line.add_value(values[k]);
    line.write_to(out);
  }
  out.commit();
}

#define LUTRA_INSTANTIATE_WRITERS(SCALAR)                                                         \
  template void write_matrix_market<SCALAR>(const std::string&, const HostMatrix<SCALAR>&,        \
                                            const std::string&);                                  \
  template void write_matrix_market_array<SCALAR>(const std::string&, std::int64_t, std::int64_t, \
                                                  std::span<const SCALAR>, const std::string&);
LUTRA_INSTANTIATE_WRITERS(float)
LUTRA_INSTANTIATE_WRITERS(double)
LUTRA_INSTANTIATE_WRITERS(Kokkos::complex<float>)
LUTRA_INSTANTIATE_WRITERS(Kokkos::complex<double>)
#undef LUTRA_INSTANTIATE_WRITERS

}  // namespace lutra
