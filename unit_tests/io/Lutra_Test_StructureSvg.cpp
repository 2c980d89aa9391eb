// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <numeric>

#include "Lutra_Error.hpp"
#include "Lutra_MatrixMarket.hpp"
#include "Lutra_StructureSvg.hpp"
#include "Lutra_TestFile.hpp"
#include "Lutra_TestLocale.hpp"

namespace lutra::Test {
namespace {

using Catch::Matchers::ContainsSubstring;
using Positions = std::vector<std::int64_t>;

const Positions row_map = {0, 2, 3, 4};
const std::vector<int> entries = {0, 2, 1, 0};  // [ x . x ; . x . ; x . . ]

TEST_CASE("a small pattern has one cell per position", "[io]") {
  const auto grid = bin_density<int>("A", 3, 3, row_map, entries);
  CHECK(grid.grid_rows == 3);
  CHECK(grid.share == std::vector<double>{1, 0, 1, 0, 1, 0, 1, 0, 0});
  CHECK(grid.nnz == 4);
}

TEST_CASE("rows and columns are drawn at their permuted positions", "[io]") {
  const Positions rows = {2, 0, 1}, columns = {1, 2, 0};
  const auto grid = bin_density<int>("PAQ", 3, 3, row_map, entries, rows, columns);
  CHECK(grid.share == std::vector<double>{0, 0, 1, 0, 1, 0, 1, 1, 0});
}

TEST_CASE("cells of a large pattern count all entries, edges included", "[io]") {
  const auto a = generate("poisson2d", 37);  // 1369 rows over 50 cells: cells of 27 and of 28
  const auto grid = bin_density<int>("A", a.n_rows, a.n_cols, a.row_map, a.entries, {}, {}, 50);
  REQUIRE(grid.share.size() == 2500);
  double total = 0;
  for (std::size_t i = 0; i < 50; ++i) {
    for (std::size_t j = 0; j < 50; ++j) {
      const auto length = [&a](std::size_t cell) {
        return (cell + 1) * 1369 / 50 + ((cell + 1) * 1369 % 50 != 0) - cell * 1369 / 50 -
               (cell * 1369 % 50 != 0);
      };
      total += grid.share[i * 50 + j] * static_cast<double>(length(i) * length(j));
      CHECK(grid.share[i * 50 + j] <= 1);
    }
  }
  CHECK(total == Catch::Approx(static_cast<double>(a.nnz())));
}

TEST_CASE("wrong lengths and indices are refused", "[io]") {
  CHECK_THROWS_AS(bin_density<int>("A", 4, 3, row_map, entries), InputError);
  CHECK_THROWS_AS(bin_density<int>("A", 3, 2, row_map, entries), InputError);
  const Positions rows = {0, 1};
  CHECK_THROWS_AS(bin_density<int>("A", 3, 3, row_map, entries, rows), InputError);
}

TEST_CASE("the picture is an SVG with panels and bars", "[io]") {
  StructurePicture picture{"a<b>&c", {}, {}};
  SECTION("empty") {
    CHECK_THAT(to_svg(picture), ContainsSubstring("a&lt;b&gt;&amp;c"));
  }
  SECTION("a matrix without rows") {
    picture.panels.push_back(bin_density<int>("A", 0, 0, Positions{0}, {}));
    CHECK_THAT(to_svg(picture), ContainsSubstring("0 × 0, 0 entries"));
  }
  SECTION("three panels and levels") {
    for (const char* title : {"A", "P·A·Q", "L+U"})
      picture.panels.push_back(bin_density<int>(title, 3, 3, row_map, entries));
    picture.level_widths = {2, 1, 0};
    const std::string svg = to_svg(picture);
    CHECK_THAT(svg, ContainsSubstring("P·A·Q") && ContainsSubstring("3 levels, the widest 2 columns"));
    CHECK_THAT(svg, ContainsSubstring("M0 0h1v1h-1z"));
    CHECK(svg.ends_with("</svg>\n"));
  }
  SECTION("more levels than bars") {
    picture.level_widths.assign(5000, 7);
    CHECK(to_svg(picture).size() < 30000);
  }
}

TEST_CASE("an SVG file appears complete or not at all", "[io]") {
  const TemporaryFolder folder;
  write_structure_svg(folder.path("a.svg"), {});
  CHECK_THAT(read_file(folder.path("a.svg")), ContainsSubstring("</svg>"));
  CHECK_THROWS_AS(write_structure_svg(folder.path("no/a.svg"), {}), FileError);
  CHECK(folder.file_count() == 1);
}

TEST_CASE("a picture has decimal points in every locale", "[io]") {
  const StructurePicture picture{"A", {bin_density<int>("A", 3, 3, row_map, entries)}, {1, 2}};
  const std::string plain = to_svg(picture);
  const CommaLocale comma;
  CHECK(to_svg(picture) == plain);
}

}  // namespace
}  // namespace lutra::Test
