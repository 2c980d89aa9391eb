// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "Lutra_Error.hpp"
#include "Lutra_MatrixMarket.hpp"
#include "Lutra_TestFile.hpp"

namespace lutra::Test {
namespace {

using Catch::Matchers::ContainsSubstring;

const std::string real_general = "%%MatrixMarket matrix coordinate real general\n";

// A file, the line of its error (0: none) and the text that the message must contain.
struct BadFile {
  std::string content;
  std::int64_t line;
  std::string message;
};

template <class Read>
void check_refused(const BadFile& bad, const Read& read) {
  const TemporaryFolder folder;
  const std::string file = folder.write("bad.mtx", bad.content);
  INFO(bad.content.substr(0, 300));
  try {
    read(file);
    FAIL("was read");
  } catch (const FileError& error) {
    CHECK(error.line() == bad.line);
    CHECK(error.file() == file);
    const std::string where = bad.line > 0 ? file + ":" + std::to_string(bad.line) + ": " : file + ": ";
    CHECK_THAT(error.what(), ContainsSubstring(where) && ContainsSubstring(bad.message));
  }
}

std::string banner(const std::string& words) {
  return "%%MatrixMarket " + words + "\n";
}

TEST_CASE("wrong banners and size lines are refused", "[io]") {
  const BadFile bad = GENERATE(values<BadFile>({
      {"", 0, "the file is empty"},
      {"\n", 1, "%%MatrixMarket"},
      {"1 1 1\n1 1 1\n", 1, "%%MatrixMarket"},
      {"%%MatrixMarketmatrix coordinate real general\n1 1 0\n", 1, "%%MatrixMarket"},
      {std::string("\x7f"
                   "ELF\0\1\2\n\3",
                   9),
       1, "%%MatrixMarket"},
      {banner("matrix"), 1, "lacks the format (coordinate, array)"},
      {banner("vector coordinate real general"), 1, "object is 'vector'"},
      {banner("matrix csr real general"), 1, "format is 'csr'"},
      {banner("matrix coordinate quaternion general"), 1, "field is 'quaternion'"},
      {banner("matrix coordinate real diagonal"), 1, "symmetry is 'diagonal'"},
      {banner("matrix coordinate real"), 1, "lacks the symmetry"},
      {banner("matrix coordinate real general please"), 1, "'please'"},
      {banner("matrix coordinate real hermitian"), 1, "has to be complex"},
      {banner("matrix coordinate pattern hermitian"), 1, "has to be complex"},
      {banner("matrix coordinate pattern skew-symmetric"), 1, "cannot be skew-symmetric"},
      {banner("matrix array real general") + "1 1\n1\n", 2, "a dense array"},
      {real_general, 1, "ends before the size line"},
      {real_general + "% only comments\n\n", 3, "ends before the size line"},
      {real_general + "2 2\n", 2, "lacks the number of entries"},
      {real_general + "2\n", 2, "lacks the number of columns"},
      {real_general + "2 2 1 7\n", 2, "'7'"},
      {real_general + "2 2 x\n", 2, "number of entries, 'x', is not an integer"},
      {real_general + "2.0 2 1\n", 2, "number of rows, '2.0', is not an integer"},
      {real_general + "-2 2 1\n", 2, "number of rows is negative: -2"},
      {real_general + "2 2 -1\n", 2, "number of entries is negative: -1"},
      {real_general + "2 99999999999999999999 1\n", 2,
       "number of columns, '99999999999999999999', is too large"},
      {real_general + "2147483648 1 1\n1 1 1\n", 2, "at most 2147483647"},
      {banner("matrix array real general") + "2147483647174 2483647\n1\n", 2, "at most 2147483647"},
      {banner("matrix array real symmetric") + "4611686018427387905 4611686018427387905\n1\n", 2,
       "at most 2147483647"},
      {real_general + "0 0 1\n1 1 1\n", 2, "declares 1 entries in a matrix of 0 by 0"},
      {real_general + "2 2 9000000000000000000\n1 1 1\n", 2, "declares 9000000000000000000 entries"},
      {real_general + "1000 1000 1000\n1 1 1\n", 2, "cannot hold them"},
      {banner("matrix coordinate real symmetric") + "2 3 1\n1 1 1\n", 2, "not square"},
      {banner("matrix coordinate real skew-symmetric") + "3 2 0\n", 2, "not square"},
  }));
  check_refused(bad, read_matrix_market);
}

TEST_CASE("wrong entries are refused", "[io]") {
  const BadFile bad = GENERATE(values<BadFile>({
      {real_general + "2 2 1\n3 1 1\n", 3, "row index 3 is outside 1 … 2"},
      {real_general + "2 2 1\n0 1 1\n", 3, "row index 0 is outside 1 … 2"},
      {real_general + "2 3 1\n% c\n\n1 4 1\n", 5, "column index 4 is outside 1 … 3"},
      {real_general + "2 3 1\n1 -1 1\n", 3, "column index -1 is outside 1 … 3"},
      {real_general + "2 2 1\n99999999999999999999 1 1\n", 3,
       "row index 99999999999999999999 is outside 1 … 2"},
      {real_general + "2 2 1\n1 " + std::string(5000, '9') + " 1\n", 3,
       "column index " + std::string(40, '9') + "… is outside 1 … 2"},
      {real_general + "2 2 1\n" + std::string(5000, '0') + "3 1 1\n", 3,
       "row index " + std::string(40, '0') + "… is outside 1 … 2"},
      {real_general + "2 2 1\n4294967297 1 1\n", 3, "row index 4294967297 is outside 1 … 2"},
      {real_general + "2 2 1\n1.0 1 1\n", 3, "row index '1.0' is not an integer"},
      {real_general + "2 2 1\n1 two 1\n", 3, "column index 'two' is not an integer"},
      {real_general + "2 2 1\n1\n", 3, "column index is missing"},
      {real_general + "2 2 1\n1 2\n", 3, "a value is missing at row 1, column 2"},
      {real_general + "2 2 1\n1 2 x\n", 3, "value 'x' at row 1, column 2 is not a number"},
      {real_general + "2 2 1\n1 2 1.5e\n", 3, "value '1.5e' at row 1, column 2 is not a number"},
      {real_general + "2 2 1\n1 2 1,5\n", 3, "'1,5'"},
      {real_general + "2 2 1\n1 2 0x10\n", 3, "'0x10'"},
      {real_general + "2 2 1\n1 2 +-1\n", 3, "'+-1'"},
      {real_general + "2 2 1\n1 2 -\n", 3, "'-'"},
      {real_general + "2 2 1\n1 2 d3\n", 3, "'d3'"},
      {real_general + "2 2 1\n1 2 1d2d3\n", 3, "'1d2d3'"},
      {real_general + "2 2 1\n1 2 NaN\n", 3, "value 'NaN' at row 1, column 2 is not finite"},
      {real_general + "2 2 2\n1 1 1\n2 1 -inf\n", 4, "value '-inf' at row 2, column 1 is not finite"},
      {real_general + "2 2 1\n1 2 +Infinity\n", 3, "not finite"},
      {real_general + "2 2 1\n1 2 1e999\n", 3, "value '1e999' at row 1, column 2 overflows"},
      {real_general + "2 2 1\n1 2 -1D+400\n", 3, "overflows"},
      {real_general + "2 2 1\n1 2 1e99999999999999999999\n", 3, "overflows"},
      {real_general + "2 2 1\n1 2 2e9223372036854775807\n", 3,
       "value '2e9223372036854775807' at row 1, column 2 overflows"},
      {real_general + "2 2 1\n1 2 -12345e9223372036854775806\n", 3, "overflows"},
      {real_general + "2 2 1\n1 2 1" + std::string(400, '0') + "\n", 3, "overflows"},
      {real_general + "2 2 1\n1 2 3 4\n", 3, "unexpected '4' after the entry"},
      {real_general + "2 2 1\n1 2 3 % c\n", 3, "unexpected '%'"},
      {real_general + std::string("2 2 1\n1 2 3\0\n", 13), 3, "'3\\x00'"},
      {real_general + std::string("2 2 1\n\0\n1 2 3\n", 14), 3, "'\\x00'"},
      {real_general + "2 2 2\n1 1 1\n", 3, "ends after 1 of the 2 entries"},
      {real_general + "2 2 1\n1 1 1\n2 2 2\n", 4, "'2 2 2' after the 1 entries"},
      {real_general + "2 2 0\n1 1 1\n", 3, "after the 0 entries"},
      {real_general + "2 2 1\n1 1 1\n\n% c\njunk\n", 6, "'junk'"},
      {banner("matrix coordinate integer general") + "1 1 1\n1 1 1.5\n", 3,
       "'1.5' at row 1, column 1 is not an integer"},
      {banner("matrix coordinate integer general") + "1 1 1\n1 1 -\n", 3, "is not an integer"},
      {banner("matrix coordinate complex general") + "1 1 1\n1 1 1.5\n", 3,
       "the imaginary part is missing at row 1"},
      {banner("matrix coordinate complex general") + "1 1 1\n1 1\n", 3,
       "a real and an imaginary part are missing at row 1"},
      {banner("matrix coordinate complex general") + "1 1 1\n1 1 1 inf\n", 3, "'inf'"},
      {banner("matrix coordinate pattern general") + "1 1 1\n1 1 1\n", 3, "unexpected '1'"},
      {banner("matrix coordinate real skew-symmetric") + "2 2 1\n2 2 1\n", 3, "row and column 2"},
      {banner("matrix coordinate complex hermitian") + "2 2 1\n2 2 1 1\n", 3, "has to be real"},
      {real_general + "1 1 2\n1 1 1e308\n1 1 1e308\n", 0, "repeated entries at row 1, column 1 overflows"},
      {real_general + "1 1 1\n1 1 " + std::string(1 << 20, '1') + "\n", 3, "longer than 1048576 bytes"},
      {real_general + std::string(1 << 21, ' '), 2, "longer than 1048576 bytes"},
  }));
  check_refused(bad, read_matrix_market);
}

TEST_CASE("symmetric files with entries in both triangles are refused", "[io]") {
  const BadFile bad = GENERATE(values<BadFile>({
      {banner("matrix coordinate real symmetric") + "2 2 2\n1 2 3\n2 1 3\n", 4,
       "row 2, column 1 mirrors the entry on line 3: a file that is not general holds one of the two "
       "triangles"},
      {banner("matrix coordinate integer symmetric") + "3 3 5\n2 1 3\n% c\n3 2 1\n\n1 1 9\n1 3 4\n2 3 0\n", 9,
       "row 2, column 3 mirrors the entry on line 5"},
      {banner("matrix coordinate pattern symmetric") + "2 2 3\n1 2\n2 2\n2 1\n", 5,
       "row 2, column 1 mirrors the entry on line 3"},
      {banner("matrix coordinate real skew-symmetric") + "2 2 2\n2 1 3\n1 2 -3\n", 4,
       "row 1, column 2 mirrors the entry on line 3"},
      {banner("matrix coordinate complex hermitian") + "2 2 2\n2 1 3 1\n1 2 3 -1\n", 4,
       "row 1, column 2 mirrors the entry on line 3"},
      {banner("matrix coordinate real symmetric") + "4 4 6\n4 3 1\n3 4 1\n1 2 1\n2 1 1\n1 3 1\n3 1 1\n", 4,
       "row 3, column 4 mirrors the entry on line 3"},
  }));
  check_refused(bad, read_matrix_market);
  check_refused(bad, read_matrix_market_array);
}

TEST_CASE("wrong arrays are refused", "[io]") {
  const std::string array = banner("matrix array real general");
  const BadFile bad = GENERATE_COPY(values<BadFile>({
      {array + "2 1\n1\n", 3, "ends after 1 of the 2 entries"},
      {array + "2 1\n1\n2\n3\n", 5, "'3' after the 2 entries"},
      {array + "2 2\n1 2\n3 4\n", 3, "unexpected '2'"},
      {array + "2 1 2\n1\n2\n", 2, "'2' at the end of the size line"},
      {array + "2 1\n1\nnan\n", 4, "'nan' at row 2, column 1"},
      {array + "2147483647 2147483647\n1\n", 2, "cannot hold them"},
      {array + "9000000000000000000 9000000000000000000\n1\n", 2, "too large"},
      {banner("matrix array pattern general") + "1 1\n", 1, "cannot be a pattern"},
      {banner("matrix array real symmetric") + "2 3\n1\n", 2, "not square"},
      {banner("matrix array complex hermitian") + "1 1\n1 1\n", 3, "has to be real"},
  }));
  check_refused(bad, read_matrix_market_array);
}

TEST_CASE("files that cannot be opened or read are refused", "[io]") {
  const TemporaryFolder folder;
  CHECK_THROWS_AS(read_matrix_market(folder.path("absent.mtx")), FileError);
  CHECK_THROWS_WITH(read_matrix_market(folder.path("absent.mtx")),
                    ContainsSubstring("absent.mtx: cannot be opened: No such file"));
  CHECK_THROWS_WITH(read_matrix_market(folder.path("")), ContainsSubstring("cannot be read: Is a directory"));
}

TEST_CASE("a message is short and has no control characters", "[io]") {
  const TemporaryFolder folder;
  const std::string file =
      folder.write("a.mtx", real_general + "1 1 1\n1 1 \x1b[31m" + std::string(5000, 'y') + "\n");
  try {
    read_matrix_market(file);
    FAIL("was read");
  } catch (const FileError& error) {
    CHECK(std::string(error.what()).size() < file.size() + 200);
    CHECK(std::string(error.what()).find('\x1b') == std::string::npos);
  }
}

TEST_CASE("a size beyond any memory is refused before allocation", "[io]") {
  const TemporaryFolder folder;
  // (2^31 − 1)² dense values are 64 exabytes. The coordinate file itself is valid.
  const std::string file = folder.write("a.mtx", real_general + "2147483647 2147483647 1\n1 1 1\n");
  CHECK_THROWS_AS(read_matrix_market_array(file), OutOfMemoryError);
}

// Each prefix of a valid file, and the file with each byte changed, must be read or refused.
TEST_CASE("every damaged file is a FileError or is read", "[io]") {
  const std::string good =
      banner("matrix coordinate real symmetric") + "% c\n3 3 4\n1 1 2.5\n2 1 -1e-3\n2 2 +4\n3 3 7\n";
  const TemporaryFolder folder;
  const auto read = [&folder](const std::string& content) {
    const std::string file = folder.write("a.mtx", content);
    try {
      const auto matrix = std::get<HostMatrix<double>>(read_matrix_market(file).matrix);
      CHECK(matrix.row_map.back() == matrix.nnz());
    } catch (const FileError&) {
    } catch (const std::bad_variant_access&) {  // one changed byte cannot turn "real" into "complex"
      FAIL("another field");
    }
  };
  for (std::size_t length = 0; length < good.size(); ++length) read(good.substr(0, length));
  for (std::size_t position = 0; position < good.size(); ++position) {
    for (const char byte : {'\0', '\n', ' ', '9', '-', 'e', '%', '\xff'}) {
      std::string damaged = good;
      damaged[position] = byte;
      read(damaged);
    }
  }
  SUCCEED();
}

}  // namespace
}  // namespace lutra::Test
