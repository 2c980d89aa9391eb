// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_test_macros.hpp>
#include <vector>

#include "Lutra_MatrixMarket.hpp"
#include "Lutra_TestFile.hpp"

namespace lutra::Test {
namespace {

using Complex = Kokkos::complex<double>;
using Rows = std::vector<std::int64_t>;
using Columns = std::vector<int>;
using Values = std::vector<double>;
using Symmetry = MatrixMarketHeader::Symmetry;
using Field = MatrixMarketHeader::Field;

const std::string real_general = "%%MatrixMarket matrix coordinate real general\n";

HostMatrix<double> read_real(const std::string& content) {
  const TemporaryFolder folder;
  return std::get<HostMatrix<double>>(read_matrix_market(folder.write("a.mtx", content)).matrix);
}

HostMatrix<Complex> read_complex(const std::string& content) {
  const TemporaryFolder folder;
  return std::get<HostMatrix<Complex>>(read_matrix_market(folder.write("a.mtx", content)).matrix);
}

MatrixMarketArray read_array(const std::string& content) {
  const TemporaryFolder folder;
  return read_matrix_market_array(folder.write("b.mtx", content));
}

TEST_CASE("a general real file is read into rows", "[io]") {
  // [ 1 0 2 ]
  // [ 0 0 3 ]
  const auto a = read_real(real_general + "% made by hand\n\n2 3 3\n1 1 1\n1 3 2\n2 3 3\n");
  CHECK(a.n_rows == 2);
  CHECK(a.n_cols == 3);
  CHECK(a.row_map == Rows{0, 2, 3});
  CHECK(a.entries == Columns{0, 2, 2});
  CHECK(a.values == Values{1, 2, 3});
}

TEST_CASE("rows are sorted, duplicates summed and zeros kept", "[io]") {
  // Row 1 has columns 3, 1, 3, 2; row 2 is empty; row 3 has an explicit zero and two entries that cancel.
  const auto a = read_real(real_general + "3 3 7\n1 3 0.5\n1 1 1\n1 3 2\n1 2 4\n3 2 0\n3 1 5\n3 1 -5\n");
  CHECK(a.row_map == Rows{0, 3, 3, 5});
  CHECK(a.entries == Columns{0, 1, 2, 0, 1});
  CHECK(a.values == Values{1, 4, 2.5, 0, 0});
}

TEST_CASE("symmetric storage is expanded", "[io]") {
  SECTION("lower triangle") {
    // [ 2 -1 0 ; -1 2 0 ; 0 0 7 ]
    const auto a =
        read_real("%%MatrixMarket matrix coordinate real symmetric\n3 3 4\n1 1 2\n2 1 -1\n2 2 2\n3 3 7\n");
    CHECK(a.row_map == Rows{0, 2, 4, 5});
    CHECK(a.entries == Columns{0, 1, 0, 1, 2});
    CHECK(a.values == Values{2, -1, -1, 2, 7});
  }
  SECTION("upper triangle is mirrored as well") {
    const auto a = read_real("%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n1 2 3\n");
    CHECK(a.entries == Columns{1, 0});
    CHECK(a.values == Values{3, 3});
  }
  SECTION("some entries in either triangle, and repeated ones in the same") {
    const auto a =
        read_real("%%MatrixMarket matrix coordinate integer symmetric\n3 3 4\n1 2 3\n3 1 4\n1 2 5\n2 2 6\n");
    CHECK(a.row_map == Rows{0, 2, 4, 5});
    CHECK(a.entries == Columns{1, 2, 0, 1, 0});
    CHECK(a.values == Values{8, 4, 8, 6, 4});
  }
  SECTION("skew-symmetric") {
    const auto a = read_real("%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 2\n2 1 3\n1 1 0\n");
    CHECK(a.row_map == Rows{0, 2, 3});
    CHECK(a.entries == Columns{0, 1, 0});
    CHECK(a.values == Values{0, -3, 3});
  }
  SECTION("hermitian") {
    const auto a =
        read_complex("%%MatrixMarket matrix coordinate complex hermitian\n2 2 2\n1 1 5 0\n2 1 1 2\n");
    CHECK(a.entries == Columns{0, 1, 0});
    CHECK(a.values == std::vector<Complex>{{5, 0}, {1, -2}, {1, 2}});
  }
  SECTION("complex symmetric is not conjugated") {
    const auto a = read_complex("%%MatrixMarket matrix coordinate complex symmetric\n2 2 1\n2 1 1 2\n");
    CHECK(a.values == std::vector<Complex>{{1, 2}, {1, 2}});
  }
}

TEST_CASE("every field type is read", "[io]") {
  SECTION("pattern entries are 1, symmetric ones too") {
    const auto a = read_real("%%MatrixMarket matrix coordinate pattern symmetric\n2 2 2\n1 1\n2 1\n");
    CHECK(a.values == Values{1, 1, 1});
  }
  SECTION("integer") {
    const auto a = read_real(
        "%%MatrixMarket matrix coordinate integer general\n1 2 2\n1 1 -12\n1 2 +9007199254740993\n");
    CHECK(a.values == Values{-12, 9007199254740992.});
  }
  SECTION("the header says so") {
    const TemporaryFolder folder;
    const auto read = read_matrix_market(
        folder.write("a.mtx", "%%matrixmarket MATRIX Coordinate Complex Skew-Symmetric\n1 1 0\n"));
    CHECK(read.header.field == Field::complex);
    CHECK(read.header.symmetry == Symmetry::skew_symmetric);
    CHECK(std::holds_alternative<HostMatrix<Complex>>(read.matrix));
  }
}

TEST_CASE("numbers are read in the formats that programs write", "[io]") {
  const auto value = [](const std::string& text) {
    return read_real(real_general + "1 1 1\n1 1 " + text + "\n").values.at(0);
  };
  CHECK(value("1.5") == 1.5);
  CHECK(value("+1.5") == 1.5);
  CHECK(value(".5") == 0.5);
  CHECK(value("-.5E-1") == -0.05);
  CHECK(value("5.") == 5);
  CHECK(value("1d-3") == 1e-3);
  CHECK(value("1D+3") == 1e3);
  CHECK(value("-2.5D0") == -2.5);
  CHECK(value("+.5d1") == 5);
  CHECK(value("0.1") == 0.1);
  CHECK(value("1e-310") == 1e-310);  // a denormal
  CHECK(value("1e-999") == 0);       // underflows
  CHECK(value("-1d-999") == 0);
  CHECK(value("0e999") == 0);
  CHECK(value("1e-99999999999999999999") == 0);
  CHECK(value("2e-9223372036854775808") == 0);
  CHECK(value("0.002e-9223372036854775808") == 0);
  CHECK(value("0e9223372036854775807") == 0);
  CHECK(value("0." + std::string(400, '0') + "1e401") == 1);
  CHECK(value("0." + std::string(400, '0') + "1") == 0);
  CHECK(value("1" + std::string(300, '0') + "." + std::string(300, '0')) == 1e300);
  CHECK(value("1.7976931348623157e308") == 1.7976931348623157e308);
}

TEST_CASE("white space, comments and line ends are ignored", "[io]") {
  const Values expected = {1, 2, 3};
  CHECK(read_real(
            "%%MatrixMarket matrix coordinate real general\r\n% c\r\n2 2 3\r\n1 1 1\r\n1 2 2\r\n2 2 3\r\n")
            .values == expected);
  CHECK(
      read_real("%%MatrixMarket\tmatrix\tcoordinate  real general  \n \t\n2\t2  3\n\t1\t1\t1  \n1 2 2\n2 2 3")
          .values == expected);
  CHECK(read_real(real_general + "%\n\n%%\n 2 2 3\n% first\n1 1 1\n\n  % second\n1 2 2\n\n2 2 3\n%end\n\n\n")
            .values == expected);
  CHECK(read_real("\xef\xbb\xbf" + real_general + "2 2 3\n1 1 1\n1 2 2\n2 2 3\n").values == expected);
  CHECK(read_real(real_general + "2 2 3\n1 1 1\n1 2 2\n2 2 3\n%" + std::string(2000, 'x')).values ==
        expected);
}

TEST_CASE("matrices without entries, rows or columns are read", "[io]") {
  const auto empty = read_real(real_general + "0 0 0\n");
  CHECK(empty.n_rows == 0);
  CHECK(empty.row_map == Rows{0});
  const auto no_entries = read_real(real_general + "2 5 0");
  CHECK(no_entries.n_cols == 5);
  CHECK(no_entries.row_map == Rows{0, 0, 0});
  CHECK(no_entries.nnz() == 0);
}

TEST_CASE("lines that cross the reader's buffer are read whole", "[io]") {
  // 200000 entries are about 2.5 MB, more than two buffers; the value of entry k is k.
  constexpr int n = 200000;
  std::string content =
      real_general + std::to_string(n) + " " + std::to_string(n) + " " + std::to_string(n) + "\n";
  for (int k = 1; k <= n; ++k)
    content += std::to_string(k) + " " + std::to_string(k) + " " + std::to_string(k) + "\n";
  const auto a = read_real(content);
  REQUIRE(a.nnz() == n);
  std::int64_t wrong = 0;
  for (std::size_t k = 0; k < n; ++k) wrong += a.values[k] != static_cast<double>(k + 1);
  CHECK(wrong == 0);
}

TEST_CASE("dense arrays are read", "[io]") {
  SECTION("real, by columns") {
    const auto b = read_array("%%MatrixMarket matrix array real general\n% c\n2 2\n1\n2\n\n3\n% c\n4\n");
    CHECK(b.n_rows == 2);
    CHECK(b.n_cols == 2);
    CHECK(b.values == std::vector<Complex>{1, 2, 3, 4});
  }
  SECTION("complex") {
    const auto b = read_array("%%MatrixMarket matrix array complex general\n1 1\n1 -2\n");
    CHECK(b.values == std::vector<Complex>{{1, -2}});
  }
  SECTION("symmetric ones hold the lower triangle") {
    const auto b = read_array("%%MatrixMarket matrix array integer symmetric\n2 2\n1\n2\n3\n");
    CHECK(b.values == std::vector<Complex>{1, 2, 2, 3});
    const auto skew = read_array("%%MatrixMarket matrix array real skew-symmetric\n2 2\n2\n");
    CHECK(skew.values == std::vector<Complex>{0, 2, -2, 0});
    const auto hermitian = read_array("%%MatrixMarket matrix array complex hermitian\n2 2\n1 0\n2 3\n4 0\n");
    CHECK(hermitian.values == std::vector<Complex>{{1, 0}, {2, 3}, {2, -3}, {4, 0}});
  }
  SECTION("a coordinate file is taken as dense") {
    const auto b = read_array(real_general + "3 1 2\n3 1 5\n1 1 4\n");
    CHECK(b.values == std::vector<Complex>{4, 0, 5});
  }
  SECTION("without columns") {
    CHECK(read_array("%%MatrixMarket matrix array real general\n3 0\n").values.empty());
  }
}

}  // namespace
}  // namespace lutra::Test
