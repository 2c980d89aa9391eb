// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the analysis does by counting, sorting keys or climbing trees, beside the plain way.
#include <algorithm>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <random>

#include "Lutra_ArgsortDescending.hpp"
#include "Lutra_FrontEntries.hpp"
#include "Lutra_FrontPlan.hpp"
#include "Lutra_MatrixMarket.hpp"
#include "Lutra_SmallChildListMaker.hpp"
#include "Lutra_TestDevice.hpp"
#include "Lutra_TestMatrices.hpp"
#include "Lutra_TestTypes.hpp"

namespace lutra::Test {
namespace {

/// A(rows, columns), rows sorted.
template <class MatrixType>
MatrixType permuted(const MatrixType& A, const std::vector<Ordinal>& rows,
                    const std::vector<Ordinal>& columns) {
  std::vector<Ordinal> position(columns.size());
  for (std::size_t k = 0; k < columns.size(); ++k)
    position[static_cast<std::size_t>(columns[k])] = static_cast<Ordinal>(k);
  MatrixType result;
  result.n_rows = result.n_cols = A.n_rows;
  result.row_map.push_back(0);
  for (const Ordinal row : rows) {
    std::vector<Ordinal> entries;
    const auto i = static_cast<std::size_t>(row);
    for (auto p = A.row_map[i]; p < A.row_map[i + 1]; ++p)
      entries.push_back(position[static_cast<std::size_t>(A.entries[static_cast<std::size_t>(p)])]);
    std::ranges::sort(entries);
    result.entries.insert(result.entries.end(), entries.begin(), entries.end());
    result.row_map.push_back(static_cast<std::int64_t>(result.entries.size()));
  }
  result.values.assign(result.entries.size(), 1);
  return result;
}

std::vector<Ordinal> random_order(Ordinal n, std::mt19937& random) {
  std::vector<Ordinal> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), Ordinal(0));
  std::ranges::shuffle(order, random);
  return order;
}

/// Patterns of all kinds: random ones, grids, circuits, an arrow, a chain, none at all.
template <class Types>
std::vector<Matrix<Types>> patterns(std::mt19937& random) {
  using MatrixType = Matrix<Types>;
  std::vector<MatrixType> all{from_dense<MatrixType>({}), from_dense<MatrixType>({{1}})};
  for (const int n : {7, 40, 150}) {
    for (const double mean : {0.0, 1.5, 4.0})
      all.push_back(random_matrix<MatrixType>(n, mean / n, 0.0, random));
  }
  for (const auto& [kind, size] :
       {std::pair("poisson2d", 20), std::pair("poisson3d", 9), std::pair("circuit", 600),
        std::pair("kkt", 300), std::pair("aniso2d", 15)}) {
    const auto from = generate(kind, size);
    MatrixType matrix;
    matrix.n_rows = matrix.n_cols = from.n_rows;
    matrix.row_map.assign(from.row_map.begin(), from.row_map.end());
    matrix.entries.assign(from.entries.begin(), from.entries.end());
    matrix.values.assign(matrix.entries.size(), 1);
    all.push_back(matrix);
  }
  std::vector<std::vector<double>> arrow(90, std::vector<double>(90, nothing)), chain = arrow;
  for (std::size_t i = 0; i < arrow.size(); ++i) {
    arrow[i][i] = arrow[0][i] = arrow[i][0] = chain[i][i] = 1;
    if (i > 0) chain[i][i - 1] = 1;
  }
  all.push_back(from_dense<MatrixType>(arrow));
  all.push_back(from_dense<MatrixType>(chain));
  return all;
}

template <class Tree>
void check_same(const Tree& tree, const Tree& expected) {
  REQUIRE(tree.n == expected.n);
  REQUIRE(tree.order == expected.order);
  REQUIRE(tree.pivot_begin == expected.pivot_begin);
  REQUIRE(tree.parent == expected.parent);
  REQUIRE(tree.row_begin == expected.row_begin);
  REQUIRE(tree.rows == expected.rows);
  REQUIRE(tree.zeros == expected.zeros);
  REQUIRE(tree.flops == expected.flops);
}

/// Entries of A in the order of fronts and tiles, by a stable sort.
struct PlainEntries {
  std::vector<FrontPosition> position;
  std::vector<Offset> target, tile_begin;

  template <class Tree, class MatrixType>
  PlainEntries(const Tree& tree, const MatrixType& A, const std::vector<Ordinal>& order,
               const FrontPlanOptions& options) {
    struct Entry {
      std::size_t tile;
      FrontPosition position;
      std::size_t source;
    };
    std::vector<std::size_t> first_tile{0};
    std::vector<std::vector<Ordinal>> rows_of;
    for (std::size_t f = 0; f < tree.parent.size(); ++f) {
      std::vector<Ordinal> own;
      for (Ordinal k = tree.pivot_begin[f]; k < tree.pivot_begin[f + 1]; ++k) own.push_back(k);
      own.insert(own.end(), tree.rows.begin() + tree.row_begin[f], tree.rows.begin() + tree.row_begin[f + 1]);
      const std::size_t edge = own.size() > static_cast<std::size_t>(options.max_whole)
                                   ? static_cast<std::size_t>(tiles(tree, f, options).count())
                                   : 1;
      first_tile.push_back(first_tile.back() + edge * edge);
      rows_of.push_back(own);
    }
    std::vector<Entry> entries;
    for (std::size_t i = 0; i + 1 < A.row_map.size(); ++i) {
      const auto row = std::ranges::find(order, static_cast<Ordinal>(i)) - order.begin();
      for (auto p = static_cast<std::size_t>(A.row_map[i]); p < static_cast<std::size_t>(A.row_map[i + 1]);
           ++p) {
        const auto column = std::ranges::find(order, A.entries[p]) - order.begin();
        std::size_t f = 0;
        while (tree.pivot_begin[f + 1] <= std::min(row, column)) ++f;
        const auto position_of = [&](auto wanted) {
          const auto& own = rows_of[f];
          return static_cast<int>(std::ranges::find(own, static_cast<Ordinal>(wanted)) - own.begin());
        };
        const FrontPosition at{position_of(row), position_of(column)};
        std::size_t tile = first_tile[f];
        if (first_tile[f + 1] - tile > 1) {
          const auto cut = tiles(tree, f, options);
          tile += static_cast<std::size_t>(cut.of(at.row) * cut.count() + cut.of(at.column));
        }
        entries.push_back({tile, at, p});
      }
    }
    std::ranges::stable_sort(entries, {}, &Entry::tile);
    target.resize(entries.size());
    tile_begin.assign(first_tile.back() + 1, static_cast<Offset>(entries.size()));
    for (std::size_t q = entries.size(); q-- > 0;) {
      target[entries[q].source] = static_cast<Offset>(q);
      for (std::size_t t = q > 0 ? entries[q - 1].tile + 1 : 0; t <= entries[q].tile; ++t)
        tile_begin[t] = static_cast<Offset>(q);
    }
    for (const Entry& entry : entries) position.push_back(entry.position);
  }

 private:
  template <class Tree>
  static lutra::Impl::FrontTiles tiles(const Tree& tree, std::size_t f, const FrontPlanOptions& options) {
    return {static_cast<int>(tree.pivot_begin[f + 1] - tree.pivot_begin[f]),
            static_cast<int>(tree.row_begin[f + 1] - tree.row_begin[f]), options.tile};
  }
};

std::vector<std::uint32_t> packed(const std::vector<FrontPosition>& positions, int shift) {
  std::vector<std::uint32_t> result;
  for (const FrontPosition& position : positions)
    result.push_back(lutra::Impl::pack_position(position, shift));
  return result;
}

/// Lists of one tile: positions by descending counts of sources, then sources by levels.
struct PlainLists {
  std::vector<unsigned short> position;
  std::vector<std::uint32_t> source;
  std::vector<lutra::Impl::SmallChildPart> parts;

  /// @param numbers by position, ascending
  void add(const std::map<int, std::vector<std::uint32_t>>& numbers) {
    lutra::Impl::SmallChildPart part;
    if (!numbers.empty()) {
      std::vector<std::pair<int, std::vector<std::uint32_t>>> targets(numbers.begin(), numbers.end());
      std::ranges::stable_sort(targets, std::greater<>{}, [](const auto& t) { return t.second.size(); });
      part = {static_cast<std::uint32_t>(position.size()), static_cast<std::uint32_t>(source.size()),
              static_cast<int>(targets.size()), static_cast<int>(targets.front().second.size())};
      for (const auto& target : targets) position.push_back(static_cast<unsigned short>(target.first));
      for (std::size_t level = 1; level < targets.front().second.size(); ++level)
        source.push_back(static_cast<std::uint32_t>(
            std::ranges::count_if(targets, [&](const auto& t) { return t.second.size() > level; })));
      for (std::size_t level = 0; level < targets.front().second.size(); ++level) {
        for (const auto& target : targets) {
          if (target.second.size() > level) source.push_back(target.second[level]);
        }
      }
    }
    parts.push_back(part);
  }
};

}  // namespace

TEST_CASE("indices by descending keys are in the order of a stable sort", "[numeric]") {
  std::mt19937 random(3);
  const auto check = [](const auto& keys) {
    std::vector<int> expected(keys.size());
    std::iota(expected.begin(), expected.end(), 0);
    std::ranges::stable_sort(expected, std::greater<>{},
                             [&](int i) { return keys[static_cast<std::size_t>(i)]; });
    CHECK(lutra::Impl::argsort_descending<int>(
              keys.size(), [&](int i) { return keys[static_cast<std::size_t>(i)]; }) == expected);
  };
  for (const std::size_t n : {0, 1, 2, 50, 3000}) {
    std::vector<double> reals(n);
    std::vector<std::int64_t> integers(n);
    for (std::size_t i = 0; i < n; ++i) {
      reals[i] = std::uniform_real_distribution<double>(-1e3, 1e3)(random);
      if (i % 5 == 0) reals[i] = i % 2 == 0 ? 0.0 : -0.0;
      integers[i] = std::uniform_int_distribution<std::int64_t>(-40, 40)(random) *
                    (i % 3 == 0 ? std::int64_t(1) << 40 : 1);
      if (i % 7 == 0) integers[i] = std::numeric_limits<std::int64_t>::max();
    }
    check(reals);
    check(integers);
    check(std::vector<double>(n, 2.5));
  }
}

TEST_CASE("lists of small children equal those from sorted numbers", "[numeric]") {
  using TestFront = lutra::Impl::SmallChild;
  std::mt19937 random(8);
  const auto up_to = [&](int most) { return std::uniform_int_distribution<int>(0, most)(random); };
  lutra::Impl::SmallChildListMaker maker;
  PlainLists plain;
  for (int turn = 0; turn < 60; ++turn) {
    const bool is_tiled = turn % 2 == 1;
    const int pivots = 1 + up_to(is_tiled ? 200 : 40), cb_rows = up_to(is_tiled ? 300 : 56);
    const lutra::Impl::FrontTiles tiles(pivots, cb_rows, 64);
    std::vector<TestFront> fronts(static_cast<std::size_t>(turn < 4 ? turn : up_to(60)));
    std::vector<int> relative;
    std::int64_t contribution = up_to(1000);
    for (TestFront& child : fronts) {
      child.cb_rows = std::min(pivots + cb_rows, up_to(lutra::Impl::max_small_child));
      child.rows = static_cast<std::int64_t>(relative.size());
      child.contribution = contribution;
      contribution += child.cb_rows * child.cb_rows + up_to(9);
      std::vector<int> all(
          static_cast<std::size_t>(turn % 3 == 0 ? std::min(pivots + cb_rows, 20) : pivots + cb_rows));
      std::iota(all.begin(), all.end(), 0);
      child.cb_rows = std::min(child.cb_rows, static_cast<int>(all.size()));
      std::ranges::sample(all, std::back_inserter(relative), child.cb_rows, random);
    }
    auto children = fronts;
    std::ranges::shuffle(children, random);

    const int edge = is_tiled ? tiles.count() : 1;
    std::vector<std::map<int, std::vector<std::uint32_t>>> numbers(static_cast<std::size_t>(edge * edge));
    for (const TestFront& child : fronts) {
      for (int b = 0; b < child.cb_rows; ++b) {
        for (int a = 0; a < child.cb_rows; ++a) {
          int row = relative[static_cast<std::size_t>(child.rows + a)];
          int column = relative[static_cast<std::size_t>(child.rows + b)], tile = 0;
          if (is_tiled) {
            tile = tiles.of(row) * edge + tiles.of(column);
            row -= tiles.begin(tiles.of(row));
            column -= tiles.begin(tiles.of(column));
          }
          numbers[static_cast<std::size_t>(tile)][row * lutra::Impl::packed_edge + column].push_back(
              static_cast<std::uint32_t>(child.contribution + a +
                                         static_cast<std::int64_t>(b) * child.cb_rows));
        }
      }
    }
    plain.parts.clear();
    for (const auto& of_tile : numbers) plain.add(of_tile);
    maker.add_front(children, relative, tiles, is_tiled);

    REQUIRE(maker.parts.size() == plain.parts.size());
    for (std::size_t t = 0; t < plain.parts.size(); ++t) {
      REQUIRE(maker.parts[t].count == plain.parts[t].count);
      REQUIRE(maker.parts[t].levels == plain.parts[t].levels);
      if (plain.parts[t].count == 0) continue;
      REQUIRE(maker.parts[t].targets == plain.parts[t].targets);
      REQUIRE(maker.parts[t].sources == plain.parts[t].sources);
    }
    REQUIRE(maker.position == plain.position);
    REQUIRE(maker.source == plain.source);
  }
}

TEST_CASE("long lists of early children are cut into sums of at most 1,024 sources", "[numeric]") {
  namespace Impl = lutra::Impl;
  std::mt19937 random(9);
  for (const bool is_tiled : {false, true}) {
    const Impl::FrontTiles tiles(is_tiled ? 100 : 20, is_tiled ? 90 : 30, 64);
    const int size = is_tiled ? 190 : 50;
    std::vector<Impl::SmallChild> children(4000);
    std::vector<int> relative, all(static_cast<std::size_t>(size));
    std::iota(all.begin(), all.end(), 0);
    std::vector<double> values;
    for (Impl::SmallChild& child : children) {
      child = {static_cast<std::int64_t>(values.size()), static_cast<std::int64_t>(relative.size()),
               static_cast<int>(random() % 32), random() % 8 != 0};
      std::ranges::sample(all.begin(), all.begin() + (random() % 2 == 0 ? 9 : size),
                          std::back_inserter(relative), child.cb_rows, random);
      child.cb_rows = static_cast<int>(relative.size()) - static_cast<int>(child.rows);
      for (int e = 0; e < child.cb_rows * child.cb_rows; ++e)
        values.push_back(static_cast<double>(random() % 1000));
    }
    std::vector<double> expected(static_cast<std::size_t>(size * size));
    std::vector<int> early(expected.size());
    for (const Impl::SmallChild& child : children) {
      for (int e = 0; e < child.cb_rows * child.cb_rows; ++e) {
        const auto at = static_cast<std::size_t>(
            relative[static_cast<std::size_t>(child.rows + e % child.cb_rows)] * size +
            relative[static_cast<std::size_t>(child.rows + e / child.cb_rows)]);
        expected[at] += values[static_cast<std::size_t>(child.contribution + e)];
        early[at] += child.is_early;
      }
    }
    Impl::SmallChildListMaker maker;
    maker.add_front(children, relative, tiles, is_tiled, true);
    REQUIRE(maker.sum_end.size() == maker.sum_place.size());
    REQUIRE(maker.sum_end.back() == maker.sum_source.size());
    std::size_t sums = 0;
    for (const int entries : early)
      sums += entries > 64 ? static_cast<std::size_t>((entries + 1023) / 1024) : 0;
    CHECK(maker.sum_end.size() == sums);
    CHECK(sums > 81);
    for (std::size_t k = 0, s = 0; k < sums; ++k) {
      maker.source[maker.sum_place[k]] = static_cast<std::uint32_t>(values.size());
      values.push_back(0);
      REQUIRE(maker.sum_end[k] - s <= 1024);
      for (; s < maker.sum_end[k]; ++s) values.back() += values[maker.sum_source[s]];
    }
    const int edge = is_tiled ? tiles.count() : 1;
    for (int t = 0; t < edge * edge; ++t) {
      const Impl::SmallChildPart& part = maker.parts[static_cast<std::size_t>(t)];
      const std::uint32_t* const widths = maker.source.data() + part.sources;
      const std::uint32_t* level = widths + part.levels - 1;
      for (int k = 0; k < part.levels; ++k) {
        const int width = k == 0 ? part.count : static_cast<int>(widths[k - 1]);
        for (int target = 0; target < width; ++target) {
          const int at = maker.position[part.targets + static_cast<std::uint32_t>(target)];
          const int row = at / Impl::packed_edge + (is_tiled ? tiles.begin(t / edge) : 0);
          const int column = at % Impl::packed_edge + (is_tiled ? tiles.begin(t % edge) : 0);
          expected[static_cast<std::size_t>(row * size + column)] -= values[level[target]];
        }
        level += width;
      }
    }
    REQUIRE(std::ranges::count(expected, 0.0) == size * size);
  }
}

TEMPLATE_LIST_TEST_CASE("parallel trees equal those of the host", "[numeric]", PatternTypes) {
  using Space = typename TestType::Space;
  std::mt19937 random(21);
  const Space exec;
  const AssemblyTreeOptions no_zeros{0, 0, 0, 0, 0, 0, 0};
  for (const auto& A : patterns<TestType>(random)) {
    for (const bool shuffled : {false, true}) {
      INFO("n " << A.n_rows << ", nnz " << A.nnz() << (shuffled ? ", shuffled" : ""));
      std::vector<Ordinal> rows(static_cast<std::size_t>(A.n_rows));
      std::iota(rows.begin(), rows.end(), Ordinal(0));
      auto columns = rows;
      if (shuffled) {
        rows = random_order(A.n_rows, random);
        columns = random_order(A.n_rows, random);
      }
      const auto F = permuted(A, rows, columns);
      for (const AssemblyTreeOptions& options : {AssemblyTreeOptions(), no_zeros}) {
        const auto expected = make_assembly_tree(make_view(F).pattern(), options);
        const auto tree =
            make_assembly_tree(exec, to_space<Space>(A).pattern(), rows, columns, MemoryBudget(), options);
        check_same(tree, expected);
      }
    }
  }
}

TEMPLATE_LIST_TEST_CASE("entries of A are ordered by fronts and tiles", "[numeric]", PatternTypes) {
  using Space = typename TestType::Space;
  using Maker = lutra::Impl::FrontEntryMaker<Space>;
  std::mt19937 random(22);
  const Space exec;
  for (const auto& A : patterns<TestType>(random)) {
    INFO("n " << A.n_rows << ", nnz " << A.nnz());
    const auto tree = make_assembly_tree(make_view(A).pattern());
    const FrontEntries entries{make_view(A).pattern(), tree.order, tree.order};
    const FrontPlanOptions options{4, 6};
    const PlainEntries expected(tree, A, tree.order, options);
    auto plan = plan_fronts(exec, tree, entries, MemoryBudget(), options);
    const auto check = [&] {
      REQUIRE(to_vector(plan.entry_position.low) == packed(expected.position, 0));
      REQUIRE(to_vector(plan.entry_target) ==
              std::vector<std::uint32_t>(expected.target.begin(), expected.target.end()));
      REQUIRE(plan.layout.tile_entries == expected.tile_begin);
    };
    check();
    const auto first_tile = lutra::Impl::number_tiles(plan.layout.fronts, options);
    const lutra::Impl::HostFrontEntries host(plan.layout.fronts, first_tile, tree.rows, entries, options);
    REQUIRE(host.target == expected.target);
    REQUIRE(host.tile_begin == expected.tile_begin);
    REQUIRE(packed(host.position, 0) == packed(expected.position, 0));
    plan.layout.tile_entries =
        Maker(exec, plan, MemoryBudget()).make(plan.fronts, first_tile, tree.order, tree.order, true);
    check();
    REQUIRE(to_vector(plan.entry_position.high) == packed(expected.position, 16));
    const auto marks = to_vector(plan.entry_marks);
    const auto& row_map = entries.A.row_map;
    for (std::size_t k = 0; k < marks.size() && A.nnz() > 0; ++k) {
      const auto entry = k + 1 < marks.size() ? k * entries_a_mark : static_cast<std::size_t>(A.nnz()) - 1;
      REQUIRE(static_cast<std::size_t>(row_map(marks[k])) <= entry);
      REQUIRE(entry < static_cast<std::size_t>(row_map(marks[k] + 1)));
    }
    const auto fronts = to_vector(plan.fronts);
    for (std::size_t f = 0; f < fronts.size(); ++f) {
      REQUIRE(fronts[f].entries == expected.tile_begin[static_cast<std::size_t>(first_tile[f])]);
      REQUIRE(fronts[f].entries_end == expected.tile_begin[static_cast<std::size_t>(first_tile[f + 1])]);
    }
  }
}

TEST_CASE("positions of 16 bits and more are packed", "[numeric]") {
  const FrontPosition position{0x12345, 0x6789a};
  const std::uint32_t low = lutra::Impl::pack_position(position, 0),
                      high = lutra::Impl::pack_position(position, 16);
  const FrontPosition back = PackedPositions{&low, &high}(0);
  CHECK(back.row == position.row);
  CHECK(back.column == position.column);
}

}  // namespace lutra::Test
