// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <sys/stat.h>

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <limits>

#include "Lutra_Error.hpp"
#include "Lutra_MatrixMarket.hpp"
#include "Lutra_TestFile.hpp"
#include "Lutra_TestTypes.hpp"

namespace lutra::Test {
namespace {

using Catch::Matchers::ContainsSubstring;
using Complex = Kokkos::complex<double>;

const HostMatrix<double> small{2, 3, {0, 1, 3}, {2, 0, 1}, {0.1, -2, 1e-300}};

TEST_CASE("a coordinate file has the expected text", "[io]") {
  const TemporaryFolder folder;
  write_matrix_market(folder.path("a.mtx"), small, "two\nlines");
  CHECK(
      read_file(folder.path("a.mtx")) ==
      "%%MatrixMarket matrix coordinate real general\n% two\n% lines\n2 3 3\n1 3 0.1\n2 1 -2\n2 2 1e-300\n");
  CHECK(folder.file_count() == 1);
}

TEST_CASE("an array file has the expected text", "[io]") {
  const TemporaryFolder folder;
  const std::vector<Complex> values = {{1, 2}, {3, -0.5}};
  write_matrix_market_array<Complex>(folder.path("x.mtx"), 2, 1, values);
  CHECK(read_file(folder.path("x.mtx")) == "%%MatrixMarket matrix array complex general\n2 1\n1 2\n3 -0.5\n");
}

// Whether values read in double agree with the written ones bit by bit.
template <class Read, class Scalar>
bool same(const std::vector<Read>& read, const std::vector<Scalar>& written) {
  if (read.size() != written.size()) return false;
  for (std::size_t k = 0; k < read.size(); ++k) {
    const Complex r = read[k];
    if constexpr (std::is_floating_point_v<Scalar>) {
      if (static_cast<Scalar>(r.real()) != written[k] || r.imag() != 0) return false;
    } else {
      using Real = typename Scalar::value_type;
      if (static_cast<Real>(r.real()) != written[k].real()) return false;
      if (static_cast<Real>(r.imag()) != written[k].imag()) return false;
    }
  }
  return true;
}

TEMPLATE_LIST_TEST_CASE("a written matrix is read back bit by bit", "[io]", Scalars) {
  using Scalar = TestType;
  const TemporaryFolder folder;
  const std::string file = folder.path("a.mtx");
  const auto shape = generate("random", 500, 7);
  HostMatrix<Scalar> a{shape.n_rows, shape.n_cols, shape.row_map, shape.entries, {}};
  for (const double value : shape.values) a.values.push_back(Scalar(static_cast<float>(value)) / Scalar(3));

  write_matrix_market(file, a);
  const auto check_same = [&a](const auto& read) {
    CHECK(read.row_map == a.row_map);
    CHECK(read.entries == a.entries);
    CHECK(same(read.values, a.values));
  };
  std::visit(check_same, read_matrix_market(file).matrix);

  write_matrix_market_array<Scalar>(file, static_cast<std::int64_t>(a.values.size()), 1, a.values);
  CHECK(same(read_matrix_market_array(file).values, a.values));
}

TEST_CASE("a file appears complete or not at all", "[io]") {
  const TemporaryFolder folder;
  const std::string file = folder.write("x.mtx", "old");
  SECTION("a value the format cannot hold leaves the old file") {
    HostMatrix<double> bad = small;
    bad.values[1] = std::numeric_limits<double>::quiet_NaN();
    CHECK_THROWS_WITH(write_matrix_market(file, bad), ContainsSubstring("row 2, column 1"));
    const std::vector<double> values = {1, std::numeric_limits<double>::infinity()};
    CHECK_THROWS_WITH(write_matrix_market_array<double>(file, 1, 2, values),
                      ContainsSubstring("row 1, column 2"));
    CHECK(read_file(file) == "old");
  }
  SECTION("lengths that do not fit") {
    const std::vector<double> values = {1};
    CHECK_THROWS_AS(write_matrix_market_array<double>(file, 2, 1, values), InputError);
    CHECK(read_file(file) == "old");
  }
  SECTION("an old file is replaced, its mode kept") {
    REQUIRE(::chmod(file.c_str(), 0640) == 0);
    write_matrix_market(file, small);
    struct ::stat status {};
    REQUIRE(::stat(file.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0640);
    CHECK_THAT(read_file(file), ContainsSubstring("1 3 0.1"));
  }
  SECTION("a symbolic link stays one") {
    std::filesystem::create_symlink(file, folder.path("link.mtx"));
    write_matrix_market(folder.path("link.mtx"), small);
    CHECK(std::filesystem::is_symlink(folder.path("link.mtx")));
    CHECK_THAT(read_file(file), ContainsSubstring("1 3 0.1"));
  }
  CHECK(folder.file_count() <= 2);  // x.mtx and the link
}

TEST_CASE("paths that cannot be written are refused", "[io]") {
  const TemporaryFolder folder;
  CHECK_THROWS_AS(write_matrix_market(folder.path("no/such/folder.mtx"), small), FileError);
  CHECK_THROWS_AS(write_matrix_market(folder.path(""), small), FileError);
  CHECK_THROWS_WITH(write_matrix_market("/dev/full", small), ContainsSubstring("No space left"));
  CHECK_NOTHROW(write_matrix_market("/dev/null", small));
  CHECK(std::filesystem::is_character_file("/dev/null"));
}

}  // namespace
}  // namespace lutra::Test
