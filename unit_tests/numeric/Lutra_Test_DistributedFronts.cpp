// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <map>
#include <numeric>
#include <type_traits>

#include "Lutra_DistributedFronts.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_MatrixMarket.hpp"
#include "Lutra_Ordering.hpp"

namespace lutra::Test {
namespace {

using Exec = Kokkos::DefaultHostExecutionSpace;
using Rows = std::vector<std::int64_t>;
using Entry = std::pair<std::int64_t, std::int64_t>;
using Factors = std::map<Entry, double>;

/// A matrix, its orders and tree, and scales that are not powers of two.
struct System {
  HostMatrix<double> A;
  std::vector<int> order_of_pivots;
  AssemblyTree tree;
  std::vector<double> row_scale, col_scale;

  explicit System(const HostMatrix<double>& matrix) : A(matrix) {
    const auto pattern = make_view(A).pattern();
    const auto first = order(pattern, Ordering::amd);
    tree = make_assembly_tree(Exec(), pattern, first, first, MemoryBudget());
    for (const int k : tree.order) order_of_pivots.push_back(first[static_cast<std::size_t>(k)]);
    for (int i = 0; i < A.n_rows; ++i) {
      row_scale.push_back(1 + 0.1 * (i % 7));
      col_scale.push_back(1 - 0.03 * (i % 11));
    }
  }
  FrontEntries entries() const { return {make_view(A).pattern(), order_of_pivots, order_of_pivots}; }
  ScaledValues<double, Kokkos::HostSpace> scaled() const {
    const auto view = [](const std::vector<double>& values) {
      return Kokkos::View<const double*, Kokkos::HostSpace>(values.data(), values.size());
    };
    return {view(A.values), view(row_scale), view(col_scale)};
  }
};

/// Rows of each rank: every third block of three, the last first.
std::vector<Rows> deal(int n, int size) {
  std::vector<Rows> rows(static_cast<std::size_t>(size));
  for (int i = n - 1; i >= 0; --i) rows[static_cast<std::size_t>(i / 3 % size)].push_back(i);
  return rows;
}

/// Elements of a vector at some rows.
std::vector<double> elements(const std::vector<double>& whole, const Rows& rows) {
  std::vector<double> part;
  for (const std::int64_t i : rows) part.push_back(whole[static_cast<std::size_t>(i)]);
  return part;
}

/// Values of the entries in some rows.
std::vector<double> values_of(const HostMatrix<double>& A, const Rows& rows) {
  std::vector<double> values;
  for (const std::int64_t i : rows)
    values.insert(values.end(), A.values.begin() + A.row_map[static_cast<std::size_t>(i)],
                  A.values.begin() + A.row_map[static_cast<std::size_t>(i) + 1]);
  return values;
}

/// Values in the memory of an execution space.
template <class Space>
auto in_memory(const std::vector<double>& values) {
  return Kokkos::create_mirror_view_and_copy(
      typename Space::memory_space(),
      Kokkos::View<const double*, Kokkos::HostSpace>(values.data(), values.size()));
}

/// L\U of one rank.
Factors factors_of_one(const System& system, double perturbation, FrontLuOutcome& outcome) {
  const Exec exec;
  const MemoryBudget budget;
  const auto plan = plan_lu(exec, system.tree, system.entries(), budget, front_plan_options<double, Exec>());
  auto fronts = make_front_factors(exec, make_front_schedule<double>(exec, plan, budget), budget);
  allocate_values(exec, plan, budget, fronts);
  const Kokkos::View<unsigned char*, Kokkos::HostSpace> perturbed("perturbed", plan.n);
  factorize_fronts<double>(exec, plan, system.scaled(), perturbation, fronts, perturbed);
  Kokkos::View<const std::int64_t*, Kokkos::HostSpace> source;
  const auto pattern = pattern_of_fronts(exec, plan, budget, source);
  const Kokkos::View<double*, Kokkos::HostSpace> values("values", source.extent(0));
  gather_factors(exec, fronts, source, values);
  Factors result;
  for (int i = 0; i < pattern.n; ++i) {
    for (auto p = pattern.row_map(i); p < pattern.row_map(i + 1); ++p)
      result[{i, pattern.entries(p)}] = values(p);
  }
  outcome = fronts.outcome();
  return result;
}

/// @param Space of each rank; on hosts factors have the same bits as those of one rank
template <class Space = Exec>
void check_matrix(Communicator& comm, const HostMatrix<double>& matrix, double perturbation) {
  const System system(matrix);  // on rank 0; others hand over nothing
  const System nothing(HostMatrix<double>{0, 0, {0}, {}, {}});
  const System& mine = comm.rank() == 0 ? system : nothing;
  FrontLuOutcome expected_outcome;
  const Factors expected = factors_of_one(system, perturbation, expected_outcome);
  const double tolerance = std::is_same_v<Space, Exec> ? 0 : 1e-11;
  const auto rows = deal(matrix.n_rows, comm.size());
  DistributedFronts<double, Space> fronts(comm, mine.tree, mine.entries(), rows);
  const auto& own = rows[static_cast<std::size_t>(comm.rank())];
  fronts.set_scales(elements(system.row_scale, own), elements(system.col_scale, own));
  for (int repetition = 0; repetition < 2; ++repetition) {
    const auto values = values_of(matrix, own);
    const auto outcome = fronts.factorize(in_memory<Space>(values), perturbation);
    fronts.collect_factors();
    CHECK(outcome.perturbed == expected_outcome.perturbed);
    CHECK(outcome.largest_entry == expected_outcome.largest_entry);
    CHECK(std::abs(outcome.largest_factor - expected_outcome.largest_factor) <=
          tolerance * expected_outcome.largest_factor);
    std::size_t equal = 0;
    for (std::size_t e = 0; e < fronts.values().size(); ++e) {
      const auto found = expected.find({fronts.rows()[e], fronts.columns()[e]});
      REQUIRE(found != expected.end());
      if (std::abs(found->second - fronts.values()[e]) <= tolerance * outcome.largest_factor) ++equal;
    }
    CHECK(equal == fronts.values().size());
    const auto counts = comm.all_gather(fronts.values().size());
    CHECK(std::accumulate(counts.begin(), counts.end(), std::size_t(0)) == expected.size());
  }
}

}  // namespace

TEST_CASE("factors do not depend on the number of ranks, bit by bit", "[numeric]") {
  Communicator comm;
  check_matrix(comm, generate("poisson2d", 17), 1e-10);
  check_matrix(comm, generate("convdiff3d", 6), 1e-10);
  check_matrix(comm, generate("circuit", 300, 3), 0.3);  // perturbs pivots
  HostMatrix<double> blocks{9, 9, {0}, {}, {}};          // a forest of single rows
  for (int i = 0; i < 9; ++i) {
    blocks.entries.push_back(i);
    blocks.values.push_back(i + 1);
    blocks.row_map.push_back(i + 1);
  }
  check_matrix(comm, blocks, 1e-10);
  HostMatrix<double> one{1, 1, {0, 1}, {0}, {2.0}};
  check_matrix(comm, one, 1e-10);
  comm.close();
}

TEST_CASE("ranks factorize subtrees and the top on their devices", "[numeric][device]") {
  using Space = Kokkos::DefaultExecutionSpace;
  Communicator comm;
  if constexpr (!std::is_same_v<Space, Exec>) {
    check_matrix<Space>(comm, generate("poisson2d", 17), 1e-10);   // contributions of small fronts
    check_matrix<Space>(comm, generate("poisson2d", 60), 1e-10);   // of fronts as a whole
    check_matrix<Space>(comm, generate("convdiff3d", 14), 1e-10);  // of tiled fronts
    check_matrix<Space>(comm, generate("circuit", 300, 3), 1e-10);
  }
  comm.close();
}

TEST_CASE("subtrees are assigned to ranks by memory", "[numeric]") {
  const System system(generate("poisson2d", 40));
  const auto& tree = system.tree;
  const auto one = distribute_fronts(tree, 1, DivisionGoal::memory);
  CHECK(std::count(one.rank.begin(), one.rank.end(), 0) == tree.count());
  const auto sizes = sizes_of_fronts<double>(Exec(), tree);
  CHECK(one.entries[0] >= 0.9 * static_cast<double>(sizes.panels + sizes.contributions));
  CHECK(one.entries[0] <= 1.1 * static_cast<double>(sizes.panels + sizes.contributions));
  for (const int ranks : {2, 3, 4, 7}) {
    const auto divided = distribute_fronts(tree, ranks, DivisionGoal::memory);
    double all = 0;
    for (const double entries : divided.entries) {
      all += entries;
      CHECK(entries < 0.75 * one.entries[0]);
    }
    CHECK(all >= one.entries[0]);  // blocks that pass to the top count twice
    for (std::size_t f = 0; f < divided.rank.size(); ++f) {
      REQUIRE(divided.rank[f] >= FrontRanks::top);
      REQUIRE(divided.rank[f] < ranks);
      if (tree.parent[f] < 0) continue;
      const int above = divided.rank[static_cast<std::size_t>(tree.parent[f])];
      CHECK((above == FrontRanks::top || above == divided.rank[f]));  // subtrees are whole
    }
  }
}

TEST_CASE("subtrees are assigned to ranks by time", "[numeric]") {
  const System system(generate("poisson2d", 40));
  const auto& tree = system.tree;
  const auto time = [](const FrontRanks& ranks) {
    return *std::max_element(ranks.flops.begin(), ranks.flops.end()) + ranks.top_flops;
  };
  const auto one = distribute_fronts(tree, 1, DivisionGoal::time);
  CHECK(std::abs(one.flops[0] - tree.flops) <= 1e-12 * tree.flops);
  CHECK(one.top_flops == 0);
  double before = time(one);
  for (const int ranks : {2, 4}) {
    const auto divided = distribute_fronts(tree, ranks, DivisionGoal::time);
    CHECK(time(divided) <= before);
    CHECK(time(divided) <= time(distribute_fronts(tree, ranks, DivisionGoal::memory)));
    before = time(divided);
  }
  CHECK(before < 0.85 * time(one));
}

TEST_CASE("a budget too small for one rank suffices for several", "[numeric]") {
  Communicator comm;
  const System system(generate("poisson3d", 20));
  const System nothing(HostMatrix<double>{0, 0, {0}, {}, {}});
  const System& mine = comm.rank() == 0 ? system : nothing;
  // panels, contributions and buffers of one rank, which needs entries and lists besides
  const double entries = distribute_fronts(system.tree, 1, DivisionGoal::memory).entries[0];
  const MemoryBudget budget(static_cast<std::size_t>(entries * sizeof(double)) +
                            bytes_of_product_buffers<double, Exec>(Exec().concurrency()));
  const auto rows = deal(system.A.n_rows, comm.size());
  const auto attempt = [&] {
    DistributedFronts<double> fronts(comm, mine.tree, mine.entries(), rows, budget);
    fronts.note_entries();
    fronts.factorize(in_memory<Exec>(values_of(system.A, rows[static_cast<std::size_t>(comm.rank())])),
                     1e-10);
    fronts.collect_factors();
    return fronts.values().size();
  };
  if (comm.size() == 1) {
    CHECK_THROWS_AS(attempt(), OutOfMemoryError);
  } else {
    CHECK(attempt() > 0);
  }
  comm.close();
}

TEST_CASE("a device memory budget too small for one rank suffices for several", "[numeric][device]") {
  using Space = Kokkos::DefaultExecutionSpace;
  Communicator comm;
  if constexpr (!std::is_same_v<Space, Exec>) {
    const System system(generate("poisson3d", 20));
    const System nothing(HostMatrix<double>{0, 0, {0}, {}, {}});
    const System& mine = comm.rank() == 0 ? system : nothing;
    const auto attempt = [&](Communicator& ranks, const System& of, const MemoryBudget& budget) {
      const auto rows = deal(system.A.n_rows, ranks.size());
      DistributedFronts<double, Space> fronts(ranks, of.tree, of.entries(), rows, budget);
      fronts.note_entries();
      fronts.factorize(in_memory<Space>(values_of(system.A, rows[static_cast<std::size_t>(ranks.rank())])),
                       1e-10);
      fronts.collect_factors();
      return fronts.values().size();
    };
    Communicator alone(MPI_COMM_SELF);
    const MemoryBudget all;
    CHECK(attempt(alone, system, all) > 0);
    alone.close();
    const MemoryBudget part(all.peak_bytes() * 9 / 10);  // the top of the tree, 0.86, is rank 0's
    if (comm.size() == 1) {
      CHECK_THROWS_AS(attempt(comm, mine, part), OutOfMemoryError);
    } else {
      CHECK(attempt(comm, mine, part) > 0);
    }
  }
  comm.close();
}

}  // namespace lutra::Test
