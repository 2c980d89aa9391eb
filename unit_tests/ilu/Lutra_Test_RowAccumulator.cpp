// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <map>
#include <random>

#include "Lutra_Reference_Lu.hpp"
#include "Lutra_RowKernels.hpp"
#include "Lutra_RowKernelsHost.hpp"
#include "Lutra_TestDevice.hpp"
#include "Lutra_TestMatrices.hpp"
#include "Lutra_TestTypes.hpp"

namespace lutra::Test {
namespace {

/// The rows of A·A as `visit_sorted` gives them, at the offsets of `row_map`.
template <class Types>
struct SquareBody {
  using Scalar = typename Types::Scalar;
  using Memory = typename Types::Memory;
  CsrView<Scalar, Ordinal, Offset, Memory> A;
  Kokkos::View<const Offset*, Memory> row_map;
  Kokkos::View<Ordinal*, Memory> counts, entries;
  Kokkos::View<Scalar*, Memory> values;

  KOKKOS_FUNCTION Ordinal max_columns(Ordinal i) const {
    return static_cast<Ordinal>(row_map(i + 1) - row_map(i));
  }
  template <class Lanes, class Accumulator>
  KOKKOS_FUNCTION void operator()(const Lanes& lanes, Accumulator& w, Ordinal i) const {
    for (Offset p = A.row_map(i); p < A.row_map(i + 1); ++p) {
      const Ordinal k = A.entries(p);
      lutra::Impl::subtract_row<true>(lanes, w, A.entries, A.values, A.row_map(k), A.row_map(k + 1),
                                      -A.values(p));
    }
    const Ordinal size = w.size(lanes);
    lanes.once([&]() { counts(i) = size; });
    w.visit_sorted(lanes, [&](const Ordinal rank, const Ordinal column, const Scalar& value) {
      entries(row_map(i) + rank) = column;
      values(row_map(i) + rank) = value;
    });
  }
};

/// Writes a sorted row into arrays.
struct ToArrays {
  int* columns;
  double* values;
  KOKKOS_FUNCTION void operator()(int rank, int column, double value) const {
    columns[rank] = column;
    values[rank] = value;
  }
};

/// A·A and its expected result, with short rows, some of about thirty columns, and a dense row and column.
template <class Types>
struct SquareCase {
  using Scalar = typename Types::Scalar;
  using Space = typename Types::Space;
  static constexpr std::size_t n = 300;

  SquareCase() : expected(n) {
    std::mt19937 random(5);
    auto picture = std::vector<std::vector<double>>(n, std::vector<double>(n, nothing));
    for (std::size_t i = 0; i < n; ++i) {
      picture[i][i] = picture[7][i] = static_cast<double>(random() % 9) + 1;
      for (std::size_t more = 0; more < (i % 10 == 3 ? 10 : 1); ++more)
        picture[i][random() % n] = static_cast<double>(random() % 9) - 4;
    }
    const auto matrix = from_dense<Matrix<Types>>(picture);
    std::vector<Offset> row_map{0};
    for (std::size_t i = 0; i < n; ++i) {
      Reference::for_row(matrix, i, [&](std::size_t k, const Scalar& a) {
        Reference::for_row(matrix, k, [&](std::size_t j, const Scalar& b) { expected[i][j] += a * b; });
      });
      row_map.push_back(row_map.back() + static_cast<Offset>(expected[i].size()));
    }
    const auto size = static_cast<std::size_t>(row_map.back());
    body = {to_space<Space>(matrix), to_space<Space>(row_map), decltype(body.counts)("counts", n),
            decltype(body.entries)("entries", size), decltype(body.values)("values", size)};
  }

  void check_and_clear() const {
    const auto counts = to_vector(body.counts), entries = to_vector(body.entries);
    const auto values = to_vector(body.values);
    std::size_t position = 0;
    for (std::size_t i = 0; i < n; ++i) {
      REQUIRE(static_cast<std::size_t>(counts[i]) == expected[i].size());
      for (const auto& [column, value] : expected[i]) {
        REQUIRE(static_cast<std::size_t>(entries[position]) == column);
        REQUIRE(values[position++] == value);  // small integers: exact
      }
    }
    Kokkos::deep_copy(body.entries, Ordinal(-1));
  }

  std::vector<std::map<std::size_t, Scalar>> expected;
  SquareBody<Types> body;
};

}  // namespace

TEMPLATE_LIST_TEST_CASE("row accumulators compute a sparse matrix product", "[ilu]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  const SquareCase<TestType> square;
  const auto n = static_cast<Ordinal>(square.n);
  const Space exec;
  for (const std::size_t limit : {std::size_t(0), std::size_t(100000)}) {
    const lutra::Impl::RowWorkspace<Scalar, Space> work(exec, n, n, 4.0, MemoryBudget(limit));
    lutra::Impl::for_each_row(exec, "lutra::test::square", Ordinal(0), n, work, square.body);
    exec.fence();
    square.check_and_clear();
  }
}

TEMPLATE_LIST_TEST_CASE("rows in scratch and in device memory share a few tables", "[ilu]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  using Memory = typename TestType::Memory;
  using Kernel = lutra::Impl::DeviceRows<SquareBody<TestType>, Scalar, Space>;
  const SquareCase<TestType> square;
  const Space exec;
  lutra::Impl::RowTables<Scalar, Memory> tables;
  tables.lanes = lutra::Impl::vector_length_for<Space>(8);
  tables.team_rows = lutra::Impl::is_host_space<Space> ? 1 : 4;
  tables.slots = 16;
  tables.medium_count = 2;
  tables.medium_slots = 64;
  tables.count = 1;
  tables.table_slots = 512;
  const std::size_t slots = tables.first_slot(3);
  REQUIRE(slots == 2 * 64 + 512);
  tables.columns = decltype(tables.columns)("columns", slots);
  tables.values = decltype(tables.values)("values", slots);
  tables.taken = decltype(tables.taken)("taken", 3);
  const int teams = (static_cast<int>(square.n) + tables.team_rows - 1) / tables.team_rows;
  Kokkos::parallel_for("lutra::test::square",
                       typename Kernel::Policy(exec, teams, tables.team_rows, tables.lanes)
                           .set_scratch_size(0, Kokkos::PerThread(static_cast<int>(tables.scratch_bytes()))),
                       Kernel{square.body, tables, Ordinal(0), static_cast<Ordinal>(square.n)});
  exec.fence();
  square.check_and_clear();
  for (const int taken : to_vector(tables.taken)) CHECK(taken == 0);
}

TEST_CASE("the hash table of devices with one lane", "[ilu]") {
  using Table = lutra::Impl::HashAccumulator<double>;
  std::mt19937 random(6);
  const lutra::Impl::SerialLanes lanes;
  for (const int columns : {0, 1, 2, 3, 6, 7, 100, 3000}) {
    const int log = Table::log_slots_for(columns);
    CHECK(4 * columns <= 3 * (1 << log));
    std::vector<int> keys(std::size_t(1) << log);
    std::vector<double> values(keys.size());
    const Table w{keys.data(), values.data(), log};
    w.clear(lanes);
    std::map<int, double> expected;
    while (expected.size() < static_cast<std::size_t>(columns)) {
      const int column = static_cast<int>(random() >> 1) >> (random() % 24);
      expected[column] += column % 5;
      w.value(w.insert(column)) += column % 5;
    }
    CHECK(w.size(lanes) == columns);
    for (int column = 0; column < 300; ++column) CHECK((w.find(column) >= 0) == (expected.count(column) > 0));
    const auto is_third = [](int column) { return column % 3 == 0; };
    double total = 0;
    for (const auto& [column, sum] : expected) total += sum + column;
    CHECK(w.sum<double>(lanes, [](int column, double value) { return value + column; }) == total);
    w.remove_if(lanes, [&](int column, double) { return is_third(column); });
    std::erase_if(expected, [&](const auto& entry) { return is_third(entry.first); });
    std::vector<int> sorted(keys.size(), -1);
    std::vector<double> sums(keys.size());
    w.visit_sorted(lanes, ToArrays{sorted.data(), sums.data()});
    std::size_t rank = 0;
    for (const auto& [column, sum] : expected) {
      CHECK(sorted[rank] == column);
      CHECK(sums[rank++] == sum);
    }
    CHECK(std::count(sorted.begin(), sorted.end(), -1) == std::ptrdiff_t(sorted.size() - rank));
  }
}

TEST_CASE("the dense accumulator of hosts sums and removes", "[ilu]") {
  using Table = lutra::Impl::DenseAccumulator<double>;
  std::vector<int> slot_of(10), columns(10 + Table::extra_slots);
  for (int column = 0; column < 10; ++column)
    slot_of[static_cast<std::size_t>(column)] = Table::absent(column);
  const auto empty = slot_of;
  std::vector<double> values(10 + Table::extra_slots);
  Table w{slot_of.data(), columns.data() + Table::margin, values.data() + Table::margin};
  const lutra::Impl::SerialLanes lanes;
  for (const int column : {7, 2, 9, 4, 0}) w.value(w.insert(column)) = column * column;
  CHECK(w.sum<double>(lanes, [](int column, double value) { return value - column; }) == 150 - 22);
  w.remove_if(lanes, [](int column, double value) { return column == 2 || value == 0; });
  CHECK(w.size(lanes) == 3);
  CHECK(w.find(2) < 0);
  CHECK(w.value(w.find(9)) == 81);
  w.value(w.insert(2)) = 5;
  std::vector<int> sorted(4);
  std::vector<double> sums(4);
  w.visit_sorted(lanes, ToArrays{sorted.data(), sums.data()});
  CHECK(sorted == std::vector{2, 4, 7, 9});
  CHECK(sums == std::vector<double>{5, 16, 49, 81});
  w.clear();
  CHECK(slot_of == empty);
  // all columns are in the row; subtracting from a column that is not leaves the row unchanged
  for (int column = 0; column < 10; ++column) w.append(column);
  CHECK(w.insert(9) == 9);
  CHECK(w.size(lanes) == 10);
  w.remove_if(lanes, [](int column, double) { return column % 2 == 1; });
  const std::vector<int> entries{1, 2, 3, 5, 9};
  const std::vector<double> factors(5, 1.0);
  lutra::Impl::subtract_row<false>(lanes, w, entries, factors, std::size_t(0), std::size_t(5), 3.0);
  CHECK(w.size(lanes) == 5);
  CHECK(w.sum<double>(lanes, [](int, double value) { return value; }) == -3);
  CHECK(w.value(w.appended(1, 2)) == -3);
}

}  // namespace lutra::Test
