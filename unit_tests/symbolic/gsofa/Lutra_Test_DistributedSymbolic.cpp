// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <random>
#include <type_traits>

#include "Lutra_DistributedSymbolic.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_MatrixMarket.hpp"
#include "Lutra_SymbolicTestPatterns.hpp"
#include "Lutra_TestMatrices.hpp"

namespace lutra::Test {
namespace {

using Catch::Matchers::ContainsSubstring;
using Space = Kokkos::DefaultHostExecutionSpace;

/// Numbers of ranks per node to test.
std::vector<int> divisors(int ranks) {
  std::vector<int> result{0};
  for (int d = 1; d <= ranks; ++d) {
    if (ranks % d == 0) result.push_back(d);
  }
  return result;
}

void check_same(const Supernodes<Kokkos::HostSpace>& found, const Supernodes<Kokkos::HostSpace>& expected) {
  CHECK(found.n == expected.n);
  CHECK(found.count == expected.count);
  CHECK(found.zeros == expected.zeros);
  CHECK(to_vector(found.begin) == to_vector(expected.begin));
  CHECK(to_vector(found.of_row) == to_vector(expected.of_row));
  CHECK(to_vector(found.parent) == to_vector(expected.parent));
  CHECK(to_vector(found.lower) == to_vector(expected.lower));
  CHECK(to_vector(found.upper) == to_vector(expected.upper));
}

/// Compares the distributed factorization, in which each rank searches in its `Searcher`, with one rank on a
/// host.
template <class Searcher = Space>
void check_matrix(Communicator& comm, const HostMatrix<double>& matrix, const SupernodeOptions& supernodes,
                  std::int64_t sources_in_flight) {
  const auto pattern = make_view(matrix).pattern();
  const auto expected =
      factorize_symbolic(Space(), pattern, MemoryBudget(), {.method = SymbolicMethod::fill1});
  const auto expected_supernodes = find_supernodes(Space(), expected, MemoryBudget(), supernodes);
  const typename Searcher::memory_space memory;
  const CsrPattern<int, std::int64_t, typename Searcher::memory_space> searched{
      pattern.n_rows, pattern.n_cols, Kokkos::create_mirror_view_and_copy(memory, pattern.row_map),
      Kokkos::create_mirror_view_and_copy(memory, pattern.entries)};
  for (const int together : divisors(comm.size())) {
    const auto part = factorize_symbolic_distributed(comm, Searcher(), searched, MemoryBudget(),
                                                     {supernodes, together, sources_in_flight, {}});
    check_same(part.supernodes, expected_supernodes);
    CHECK(part.nnz_l == expected.nnz_l);
    CHECK(part.nnz_u == expected.nnz_u);
    for (int root = -1; root < comm.size(); ++root) {
      const auto all = gather_pattern(comm, part, root);
      if (root >= 0 && root != comm.rank()) {
        CHECK(all.row_map.extent(0) == 0);
        continue;
      }
      CHECK(to_vector(all.row_map) == to_vector(expected.row_map));
      CHECK(to_vector(all.diagonal) == to_vector(expected.diagonal));
      CHECK(to_vector(all.entries) == to_vector(expected.entries));
      CHECK(all.nnz_l == expected.nnz_l);
      CHECK(all.nnz_u == expected.nnz_u);
    }
  }
}

/// Compares the rows of each rank with those of one rank on a host.
template <class Searcher>
void check_rows(Communicator& comm, const HostMatrix<double>& matrix, int ranks_per_node) {
  const auto pattern = make_view(matrix).pattern();
  const auto expected =
      factorize_symbolic(Space(), pattern, MemoryBudget(), {.method = SymbolicMethod::fill1});
  const typename Searcher::memory_space memory;
  const CsrPattern<int, std::int64_t, typename Searcher::memory_space> searched{
      pattern.n_rows, pattern.n_cols, Kokkos::create_mirror_view_and_copy(memory, pattern.row_map),
      Kokkos::create_mirror_view_and_copy(memory, pattern.entries)};
  const auto part =
      find_rows_of_rank(comm, Searcher(), searched, MemoryBudget(), {{.max_size = 8}, ranks_per_node});
  CHECK(part.nnz_l == expected.nnz_l);
  CHECK(part.nnz_u == expected.nnz_u);
  std::vector<Ordinal> rows;
  for (Ordinal row = 0; row < expected.n; ++row)
    if (part.schedule.rank_of(row) == comm.rank()) rows.push_back(row);
  CHECK(part.rows == rows);
  const auto row_map = to_vector(part.found.row_map);
  const auto entries = to_vector(part.found.entries);
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const auto begin = expected.entries.data() + expected.row_map(rows[k]);
    const auto end = expected.entries.data() + expected.row_map(rows[k] + 1);
    CHECK(std::vector<Ordinal>(entries.begin() + row_map[k], entries.begin() + row_map[k + 1]) ==
          std::vector<Ordinal>(begin, end));
  }
}

}  // namespace

TEST_CASE("rows of L + U stay where a rank has found them", "[symbolic][device]") {
  Communicator comm;
  std::mt19937 random(5);
  for (const int n : {1, 7, 90}) {
    const auto matrix = random_matrix<HostMatrix<double>>(n, 3.0 / n, 0.0, random);
    for (const int together : divisors(comm.size())) {
      check_rows<Space>(comm, matrix, together);
      check_rows<Kokkos::DefaultExecutionSpace>(comm, matrix, together);
    }
  }
  comm.close();
}

TEST_CASE("chunks are dealt to nodes in turn, and their rows to the ranks of a node", "[symbolic]") {
  const SourceSchedule schedule{4, 2, 2};
  const std::vector<int> expected{0, 1, 0, 1, 2, 3, 2, 3, 0, 1, 0, 1, 2, 3, 2, 3};
  for (std::size_t row = 0; row < expected.size(); ++row)
    CHECK(schedule.rank_of(static_cast<std::int64_t>(row)) == expected[row]);
  // chunks not divisible by the ranks of a node: the next chunk continues with the next rank
  const SourceSchedule odd{3, 2, 2};
  const std::vector<int> turns{0, 1, 0, 2, 3, 2, 1, 0, 1, 3, 2, 3};
  for (std::size_t row = 0; row < turns.size(); ++row)
    CHECK(odd.rank_of(static_cast<std::int64_t>(row)) == turns[row]);
}

TEST_CASE("pattern and supernodes do not depend on the number of ranks", "[symbolic]") {
  Communicator comm;
  std::mt19937 random(7);
  std::vector<HostMatrix<double>> matrices{generate("poisson2d", 12),
                                           generate("circuit", 300, 5),
                                           one_sided_chain<HostMatrix<double>>(400, random),
                                           dissected_chains<HostMatrix<double>>(30, 8, random),
                                           {0, 0, {0}, {}, {}},
                                           {1, 1, {0, 0}, {}, {}}};
  for (const HostMatrix<double>& matrix : matrices) {
    check_matrix(comm, matrix, {.max_size = 128}, 0);
    check_matrix(comm, matrix, {.max_size = 3}, 5);
    check_matrix(comm, matrix, {.max_size = 1}, 1);
    check_matrix(comm, matrix, {.max_size = 16, .relaxation = 0.3}, 40);
  }
  comm.close();
}

TEST_CASE("ranks find the same pattern on devices", "[symbolic][device]") {
  using Device = Kokkos::DefaultExecutionSpace;
  Communicator comm;
  std::mt19937 random(8);
  if constexpr (!std::is_same_v<Device, Space>) {
    check_matrix<Device>(comm, generate("poisson2d", 30), {.max_size = 128}, 0);
    check_matrix<Device>(comm, generate("circuit", 300, 5), {.max_size = 3}, 5);
    check_matrix<Device>(comm, dissected_chains<HostMatrix<double>>(30, 8, random), {.max_size = 16}, 40);
    check_matrix<Device>(comm, HostMatrix<double>{1, 1, {0, 0}, {}, {}}, {.max_size = 1}, 1);
  }
  comm.close();
}

TEST_CASE("supernodes may cross chunk boundaries", "[symbolic]") {
  Communicator comm;
  HostMatrix<double> dense{40, 40, {0}, {}, {}};  // rows 0 to 9 diagonal, the others one dense block
  for (int i = 0; i < 40; ++i) {
    for (int j = 0; j < 40; ++j) {
      if (i == j || (i > 9 && j > 9)) dense.entries.push_back(j);
    }
    dense.row_map.push_back(dense.nnz());
  }
  dense.values.assign(dense.entries.size(), 1.0);
  const auto part = factorize_symbolic_distributed(comm, Space(), make_view(dense).pattern(), MemoryBudget(),
                                                   {.supernodes = {.max_size = 16}, .ranks_per_node = 1});
  CHECK(to_vector(part.supernodes.begin) == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 26, 40});
  CHECK(to_vector(part.supernodes.parent) ==
        std::vector<int>{-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 11, -1});
  comm.close();
}

TEST_CASE("a small budget leads to batches; too small a budget is an error on all ranks", "[symbolic]") {
  Communicator comm;
  const auto matrix = generate("poisson2d", 30);
  const auto pattern = make_view(matrix).pattern();
  const DistributedSymbolicOptions options{.supernodes = {.max_size = 32}};
  const auto free = factorize_symbolic_distributed(comm, Space(), pattern, MemoryBudget(), options);
  CHECK(free.batches == 1);
  const auto part = factorize_symbolic_distributed(comm, Space(), pattern, MemoryBudget(40000), options);
  CHECK(part.batches > 1);
  CHECK(part.entries == free.entries);
  CHECK(part.row_map == free.row_map);
  // rank 0 alone has too little: all ranks throw the same
  const MemoryBudget small(comm.rank() == 0 ? 100 : 0);
  CHECK_THROWS_AS(factorize_symbolic_distributed(comm, Space(), pattern, small, options), OutOfMemoryError);
  CHECK_THROWS_AS(gather_pattern(comm, part, 0, small), OutOfMemoryError);
  comm.close();
}

TEST_CASE("input that differs between ranks is an error on all of them", "[symbolic]") {
  Communicator comm;
  const auto matrix = generate("poisson2d", comm.rank() == comm.size() - 1 ? 5 : 6);
  const auto pattern = make_view(matrix).pattern();
  const auto message = [&](const DistributedSymbolicOptions& options) {
    try {
      factorize_symbolic_distributed(comm, Space(), pattern, MemoryBudget(), options);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  CHECK_THAT(message({.ranks_per_node = comm.size() + 1}), ContainsSubstring("does not divide"));
  CHECK_THAT(message({.supernodes = {.max_size = comm.rank() == 0 ? 0 : 1}}), ContainsSubstring("max_size"));
  CHECK_THAT(message({.supernodes = {.relaxation = -1}}), ContainsSubstring("relaxation"));
  CHECK_THAT(message({.sources_in_flight = -1}), ContainsSubstring("sources_in_flight"));
  if (comm.size() > 1) CHECK_THAT(message({}), ContainsSubstring("25 rows, rank 0's 36"));
  const auto wide = CsrPattern<int, std::int64_t, Kokkos::HostSpace>{2, 3, pattern.row_map, pattern.entries};
  CHECK_THROWS_AS(factorize_symbolic_distributed(comm, Space(), wide), InputError);
  comm.close();
}

}  // namespace lutra::Test
