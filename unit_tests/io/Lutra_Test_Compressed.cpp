// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <vector>

#include "Lutra_CompressedText.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_MatrixMarket.hpp"
#include "Lutra_TestFile.hpp"

namespace lutra::Test {
namespace {

using Catch::Matchers::ContainsSubstring;

// Entry (k, k) = k: far more text than one buffer holds.
std::string diagonal_file(int n) {
  const std::string size = std::to_string(n);
  std::string content =
      "%%MatrixMarket matrix coordinate real general\n" + size + " " + size + " " + size + "\n";
  for (int k = 1; k <= n; ++k) {
    const std::string index = std::to_string(k);
    content += index + " " + index + " " + index + "\n";
  }
  return content;
}

std::int64_t count_right(const std::string& file) {
  const auto a = std::get<HostMatrix<double>>(read_matrix_market(file).matrix);
  std::int64_t right = 0;
  for (std::size_t k = 0; k < a.values.size(); ++k) right += a.values[k] == static_cast<double>(k + 1);
  return right;
}

TEST_CASE("compressed files are recognized by content, not by name", "[io]") {
  constexpr int n = 150000;
  const std::string content = diagonal_file(n);
  const TemporaryFolder folder;
  CHECK(count_right(folder.write("a.mtx.gz", gzipped(content))) == n);
  CHECK(count_right(folder.write("a.mtx.xz", xz_compressed(content))) == n);
  CHECK(count_right(folder.write("gz.mtx", gzipped(content))) == n);
  CHECK(count_right(folder.write("plain.xz", content)) == n);
}

TEST_CASE("concatenated compressed files are read as one", "[io]") {
  const std::string content = diagonal_file(100);
  const std::string head = content.substr(0, 300), tail = content.substr(300);
  const TemporaryFolder folder;
  CHECK(count_right(folder.write("a.gz", gzipped(head) + gzipped(tail))) == 100);
  CHECK(count_right(folder.write("a.xz", xz_compressed(head) + xz_compressed(tail))) == 100);
  CHECK(count_right(folder.write("padded.gz", gzipped(content) + std::string(512, '\0'))) == 100);
}

// Reads a damaged file and returns the message of the FileError.
std::string refusal(const TemporaryFolder& folder, const std::string& content) {
  try {
    read_matrix_market(folder.write("bad", content));
  } catch (const FileError& error) {
    return error.what();
  }
  return "was read";
}

TEST_CASE("damaged compressed files are refused", "[io]") {
  const std::string content = diagonal_file(20000);
  const std::string gz = gzipped(content), xz = xz_compressed(content);
  const TemporaryFolder folder;
  SECTION("cut off anywhere") {
    CHECK_THAT(refusal(folder, gz.substr(0, gz.size() / 2)), ContainsSubstring("gzip data is cut off"));
    CHECK_THAT(refusal(folder, gz.substr(0, gz.size() - 1)), ContainsSubstring("gzip data is cut off"));
    CHECK_THAT(refusal(folder, gz.substr(0, 2)), ContainsSubstring("gzip data is cut off"));
    CHECK_THAT(refusal(folder, xz.substr(0, xz.size() / 2)), ContainsSubstring("xz data is cut off"));
    CHECK_THAT(refusal(folder, xz.substr(0, xz.size() - 1)), ContainsSubstring("xz data is cut off"));
    CHECK_THAT(refusal(folder, xz.substr(0, 6)), ContainsSubstring("xz data is cut off"));
  }
  SECTION("the message names the line reached") {
    CHECK_THAT(refusal(folder, gz.substr(0, gz.size() / 2)), ContainsSubstring("bad:"));
  }
  SECTION("a byte changed in the middle or in the check sum") {
    for (const std::size_t back : {std::size_t{5}, gz.size() / 2}) {
      std::string damaged = gz;
      damaged[damaged.size() - back] = static_cast<char>(~damaged[damaged.size() - back]);
      CHECK_THAT(refusal(folder, damaged), ContainsSubstring("bad"));
    }
    std::string damaged = xz;
    damaged[xz.size() / 2] = static_cast<char>(~damaged[xz.size() / 2]);
    CHECK_THAT(refusal(folder, damaged), ContainsSubstring("xz data is damaged"));
  }
  SECTION("something else behind") {
    CHECK_THAT(refusal(folder, gz + "more"), ContainsSubstring("after the end of the gzip data"));
    CHECK_THAT(refusal(folder, xz + "more"), ContainsSubstring("xz data is"));
  }
  SECTION("compressed twice") {
    CHECK_THAT(refusal(folder, gzipped(xz)), ContainsSubstring("%%MatrixMarket"));
  }
}

}  // namespace
}  // namespace lutra::Test
