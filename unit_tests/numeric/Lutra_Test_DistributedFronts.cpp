// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <deque>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <type_traits>

#include "Lutra_DistributedFronts.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_FrontMapping.hpp"
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

/// A mapping under which fronts that follow each other change their rank after `length` of them: many parts,
/// below and above those of all ranks.
FrontRanks alternate(const AssemblyTree& tree, int ranks, int length) {
  std::vector<int> rank;
  for (int f = 0; f < tree.count(); ++f) rank.push_back(f / length % ranks);
  return make_parts(tree, rank, ranks);
}

/// The same, with fronts of some pivots and more divided by columns, every other one among all ranks, the
/// others among two.
FrontRanks divide_fronts(const AssemblyTree& tree, int ranks, int length, int least_pivots, int width,
                         int unit) {
  std::vector<int> rank;
  std::vector<bool> divided;
  for (int f = 0; f < tree.count(); ++f) {
    rank.push_back(f / length % ranks);
    divided.push_back(lutra::Impl::pivots_of(tree, static_cast<std::size_t>(f)) >= least_pivots);
  }
  FrontRanks made = make_parts(tree, rank, ranks, {}, divided);
  bool among_two = false;
  made.column_unit = unit;
  for (std::size_t p = 0; p < made.helpers.size(); ++p) {
    if (made.helpers[p].empty()) continue;
    made.block_columns[p] = width;
    if (among_two) made.helpers[p].resize(1);
    among_two = !among_two;
  }
  return made;
}

/// How a test divides a tree.
struct TestDivision {
  int length = 0;        ///< of `alternate`; 0: divided for time
  int least_pivots = 0;  ///< of fronts that are divided; 0: none
  int width = 8;         ///< of their blocks
  int unit = 1;          ///< of their ranges of columns

  FrontRanks ranks_of(const AssemblyTree& tree, int ranks) const {
    if (least_pivots > 0) return divide_fronts(tree, ranks, length, least_pivots, width, unit);
    return length > 0 ? alternate(tree, ranks, length) : FrontRanks();
  }
};

/// @param Space of each rank; on hosts factors have the same bits as those of one rank, unless fronts are
/// divided
template <class Space = Exec>
void check_matrix(Communicator& comm, const HostMatrix<double>& matrix, double perturbation,
                  const TestDivision& division = {}) {
  const System system(matrix);  // on rank 0; others hand over nothing
  const System nothing(HostMatrix<double>{0, 0, {0}, {}, {}});
  const System& mine = comm.rank() == 0 ? system : nothing;
  FrontLuOutcome expected_outcome;
  const Factors expected = factors_of_one(system, perturbation, expected_outcome);
  const bool is_divided = division.least_pivots > 0 && comm.size() > 1;
  const double tolerance = std::is_same_v<Space, Exec> && !is_divided ? 0 : 1e-11;
  const auto rows = deal(matrix.n_rows, comm.size());
  const FrontRanks forced = division.ranks_of(system.tree, comm.size());
  DistributedFronts<double, Space> fronts(comm, mine.tree, mine.entries(), rows, MemoryBudget(),
                                          division.length > 0 ? &forced : nullptr);
  if (is_divided) {
    const auto divided = std::ranges::count_if(forced.helpers, [](const auto& of) { return !of.empty(); });
    CHECK(divided > (division.width < 128 ? 2 : 0));
  }
  if (division.length > 0 && comm.size() > 1 && comm.rank() == 0) CHECK(forced.n_parts() > comm.size() + 1);
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

/// Each part needs parts before it only, and all fronts are on a rank.
void check_parts(const AssemblyTree& tree, const FrontRanks& divided, int ranks) {
  REQUIRE(divided.part.size() == tree.parent.size());
  std::vector<int> fronts(divided.rank_of_part.size(), 0);
  for (std::size_t f = 0; f < divided.part.size(); ++f) {
    REQUIRE(divided.part[f] >= 0);
    REQUIRE(divided.part[f] < divided.n_parts());
    REQUIRE(divided.rank(f) >= 0);
    REQUIRE(divided.rank(f) < ranks);
    ++fronts[static_cast<std::size_t>(divided.part[f])];
    if (tree.parent[f] >= 0)
      REQUIRE(divided.part[f] <= divided.part[static_cast<std::size_t>(tree.parent[f])]);
  }
  CHECK(std::count(fronts.begin(), fronts.end(), 0) == 0);
}

/// The boundaries of all parts, whose lists correspond and have every row that others eliminate once.
std::vector<PartBoundary> boundaries_of(const System& system, const FrontRanks& divided) {
  lutra::Impl::FrontPartMaker maker(system.tree, system.entries(), divided.part);
  std::vector<lutra::Impl::PartOutline> outlines;
  for (int p = 0; p < divided.n_parts(); ++p) outlines.emplace_back(maker.make(p));
  auto boundaries = lutra::Impl::find_boundaries(system.tree, divided, outlines);
  for (std::size_t p = 0; p < boundaries.size(); ++p) {
    boundaries[p] = lutra::Impl::unpacked(lutra::Impl::packed(boundaries[p]));
    const auto& own = outlines[p];
    std::vector<int> read;
    for (const PartEdge& edge : boundaries[p].above) {
      const auto& other = outlines[static_cast<std::size_t>(edge.part)];
      const auto& there =
          lutra::Impl::edge_to(boundaries[static_cast<std::size_t>(edge.part)].below, static_cast<int>(p));
      REQUIRE(edge.fronts.size() == there.fronts.size());
      REQUIRE(edge.solutions.size() == there.solutions.size());
      for (std::size_t k = 0; k < edge.solutions.size(); ++k) {
        REQUIRE(own.position[static_cast<std::size_t>(edge.solutions[k])] ==
                other.position[static_cast<std::size_t>(there.solutions[k])]);
        read.push_back(edge.solutions[k]);
      }
    }
    std::sort(read.begin(), read.end());
    std::vector<int> others(own.position.size() - static_cast<std::size_t>(own.n_pivots));
    std::iota(others.begin(), others.end(), own.n_pivots);
    CHECK(read == others);
  }
  return boundaries;
}

/// Lets the parts send and receive one after another: each message must be the oldest of its rank.
/// @returns the number of messages received for a later part than the current one
std::size_t replay(const std::vector<PartBoundary>& boundaries, const FrontRanks& divided, int n_ranks,
                   bool upward) {
  std::vector<std::vector<PartBoundary>> of_ranks(static_cast<std::size_t>(n_ranks));
  for (const PartBoundary& boundary : boundaries)
    of_ranks[static_cast<std::size_t>(divided.rank_of_part[static_cast<std::size_t>(boundary.number)])]
        .push_back(boundary);
  std::vector<lutra::Impl::PartArrivals> arrivals;
  for (int r = 0; r < n_ranks; ++r)
    arrivals.emplace_back(of_ranks[static_cast<std::size_t>(r)], r, n_ranks, upward);
  std::map<std::pair<int, int>, std::deque<std::pair<int, int>>> sent;  // parts, by ranks
  std::size_t early = 0;
  for (std::size_t step = 0; step < boundaries.size(); ++step) {
    const std::size_t p = upward ? step : boundaries.size() - 1 - step;
    const int me = divided.rank_of_part[p];
    const auto& mine = of_ranks[static_cast<std::size_t>(me)];
    const std::size_t index = lutra::Impl::index_of_part(mine, static_cast<int>(p));
    arrivals[static_cast<std::size_t>(me)].take(index, [&](int from, const auto& arrival) {
      auto& messages = sent[{from, me}];
      REQUIRE(!messages.empty());
      REQUIRE(messages.front() == std::pair(arrival.sender, mine[arrival.part].number));
      messages.pop_front();
      if (arrival.part != index) ++early;
    });
    const auto& edges = upward ? mine[index].above : mine[index].below;
    for (std::size_t k = 0; k < edges.size(); ++k) {
      const PartEdge& edge = edges[upward ? k : edges.size() - 1 - k];
      if (edge.rank != me) sent[{me, edge.rank}].push_back({static_cast<int>(p), edge.part});
    }
    for (const auto& [ranks, messages] : sent)
      for (const auto& message : messages)
        if (ranks.second == me) REQUIRE(message.second != static_cast<int>(p));  // has all that it needs
  }
  for (const auto& [ranks, messages] : sent) CHECK(messages.empty());
  return early;
}

/// The time of parts without start costs, in which the parent's rank receives a contribution, or each of its
/// ranks a share.
double simulated(const AssemblyTree& tree, const FrontRanks& divided, const DivisionCosts& costs) {
  const auto n_parts = divided.rank_of_part.size();
  std::vector<double> work(n_parts, 0), end(n_parts, 0), free(divided.flops.size(), 0);
  for (std::size_t f = 0; f < divided.part.size(); ++f) {
    const double rows = lutra::Impl::contribution_rows(tree, f);
    const double order = rows + lutra::Impl::pivots_of(tree, f);
    const auto members = static_cast<int>(divided.members(divided.part[f]).size());
    work[static_cast<std::size_t>(divided.part[f])] +=
        members > 1 ? lutra::Impl::divided_time(tree, f, members, costs).time
                    : costs.time_of(lutra::Impl::front_flops(tree, f), order);
    if (tree.parent[f] < 0) continue;
    const auto parent = static_cast<std::size_t>(tree.parent[f]);
    const auto above = divided.members(divided.part[parent]).size();
    if (above > 1)
      work[static_cast<std::size_t>(divided.part[parent])] +=
          costs.flops_per_entry * rows * rows / static_cast<double>(above);
    else if (divided.rank(f) != divided.rank(parent))
      work[static_cast<std::size_t>(divided.part[parent])] += costs.flops_per_entry * rows * rows;
  }
  for (std::size_t p = 0; p < n_parts; ++p) {
    const std::vector<int> members = divided.members(static_cast<int>(p));
    double start = 0;
    for (const int r : members) start = std::max(start, free[static_cast<std::size_t>(r)]);
    for (std::size_t f = 0; f < divided.part.size(); ++f) {
      const bool gives = tree.parent[f] >= 0 && divided.part[f] != static_cast<int>(p) &&
                         divided.part[static_cast<std::size_t>(tree.parent[f])] == static_cast<int>(p);
      if (gives) start = std::max(start, end[static_cast<std::size_t>(divided.part[f])]);
    }
    end[p] = start + work[p];
    for (const int r : members) free[static_cast<std::size_t>(r)] = end[p];
  }
  return *std::max_element(end.begin(), end.end());
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

TEST_CASE("factors of parts that alternate between ranks have the bits of one rank's", "[numeric]") {
  Communicator comm;
  check_matrix(comm, generate("poisson2d", 30), 1e-10, {1});
  check_matrix(comm, generate("poisson3d", 12), 1e-10, {7});
  check_matrix(comm, generate("circuit", 300, 3), 0.3, {2});
  comm.close();
}

TEST_CASE("fronts divided among ranks have the factors of one rank", "[numeric]") {
  Communicator comm;
  check_matrix(comm, generate("poisson2d", 20), 1e-10, {1, 6, 2});
  check_matrix(comm, generate("poisson3d", 10), 1e-10, {7, 16, 8, 8});
  check_matrix(comm, generate("convdiff3d", 10), 1e-10, {50, 16, 5});
  check_matrix(comm, generate("convdiff3d", 8), 1e-10, {50, 12, 1000});  // one block
  check_matrix(comm, generate("circuit", 300, 3), 0.3, {2, 4, 1});       // perturbs pivots
  comm.close();
}

TEST_CASE("ranks factorize parts on their devices", "[numeric][device]") {
  using Space = Kokkos::DefaultExecutionSpace;
  Communicator comm;
  if constexpr (!std::is_same_v<Space, Exec>) {
    check_matrix<Space>(comm, generate("poisson2d", 17), 1e-10);   // contributions of small fronts
    check_matrix<Space>(comm, generate("poisson2d", 60), 1e-10);   // of fronts as a whole
    check_matrix<Space>(comm, generate("convdiff3d", 14), 1e-10);  // of tiled fronts
    check_matrix<Space>(comm, generate("circuit", 300, 3), 1e-10);
    check_matrix<Space>(comm, generate("poisson3d", 12), 1e-10, {7});
    check_matrix<Space>(comm, generate("convdiff3d", 14), 1e-10, {20});
    // divided fronts: blocks of two tiles, and of four
    check_matrix<Space>(comm, generate("convdiff3d", 16), 1e-10, {50, 100, 128, 128});
    check_matrix<Space>(comm, generate("poisson3d", 18), 1e-10, {200, 128, 128, 128});
    check_matrix<Space>(comm, generate("poisson3d", 18), 1e-10, {200, 128, 256, 128});
  }
  comm.close();
}

TEST_CASE("subtrees are assigned to ranks by memory", "[numeric]") {
  const System system(generate("poisson2d", 40));
  const auto& tree = system.tree;
  const auto one = distribute_fronts(tree, 1, DivisionGoal::memory);
  CHECK(one.rank_of_part == std::vector<int>{0});
  CHECK(std::count(one.part.begin(), one.part.end(), 0) == tree.count());
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
    check_parts(tree, divided, ranks);
    CHECK(divided.n_parts() <= ranks + 1);
    const int top = divided.n_parts() - 1;
    CHECK(divided.rank_of_part.back() == 0);
    for (std::size_t f = 0; f < divided.part.size(); ++f) {
      if (tree.parent[f] < 0) continue;
      const int above = divided.part[static_cast<std::size_t>(tree.parent[f])];
      CHECK((above == top || above == divided.part[f]));  // subtrees are whole
    }
  }
}

TEST_CASE("fronts are assigned to ranks by time", "[numeric]") {
  for (const auto& matrix :
       {generate("poisson2d", 40), generate("poisson3d", 12), generate("circuit", 300, 3)}) {
    const System system(matrix);
    const auto& tree = system.tree;
    for (const double half_order : {0.0, 100.0}) {
      const DivisionCosts costs{10, half_order, 0};
      const auto one = distribute_fronts(tree, 1, DivisionGoal::time, costs);
      CHECK(one.rank_of_part == std::vector<int>{0});
      CHECK(std::abs(one.flops[0] - tree.flops) <= 1e-12 * tree.flops);
      for (const int ranks : {2, 3, 4}) {
        const auto divided = distribute_fronts(tree, ranks, DivisionGoal::time, costs);
        check_parts(tree, divided, ranks);
        CHECK(std::abs(std::accumulate(divided.flops.begin(), divided.flops.end(), 0.0) - tree.flops) <=
              1e-12 * tree.flops);
        CHECK(divided.time <= one.time);
        CHECK(divided.rank(tree.parent.size() - 1) == 0);  // the only root
        CHECK(std::abs(divided.time - simulated(tree, divided, costs)) <= 1e-12 * divided.time);
        const auto subtrees = distribute_fronts(tree, ranks, DivisionGoal::memory);
        CHECK(divided.time <= 1.01 * simulated(tree, subtrees, costs));
        for (int r = 0; r < ranks; ++r)
          CHECK(std::count(divided.rank_of_part.begin(), divided.rank_of_part.end(), r) <= 8);
      }
    }
  }
}

TEST_CASE("fronts are divided among ranks where that is faster", "[numeric]") {
  const System system(generate("poisson3d", 14));
  const auto& tree = system.tree;
  DivisionCosts costs{0.5, 0, 0};
  costs.flops_per_message = 10;
  costs.block_columns = 8;
  for (const int ranks : {1, 2, 3, 4}) {
    costs.divides_fronts = false;
    const auto whole = distribute_fronts(tree, ranks, DivisionGoal::time, costs);
    CHECK(whole.helpers.empty());
    costs.divides_fronts = true;
    const auto divided = distribute_fronts(tree, ranks, DivisionGoal::time, costs);
    check_parts(tree, divided, ranks);
    CHECK(divided.rank(tree.parent.size() - 1) == 0);  // the only root
    CHECK(std::abs(divided.time - simulated(tree, divided, costs)) <= 1e-12 * divided.time);
    CHECK(std::abs(std::accumulate(divided.flops.begin(), divided.flops.end(), 0.0) - tree.flops) <=
          1e-12 * tree.flops);
    if (ranks == 1) {
      CHECK(divided.helpers.empty());
      continue;
    }
    CHECK(divided.time < 0.9 * whole.time);
    int several = 0;
    for (int p = 0; p < divided.n_parts(); ++p) {
      const std::vector<int> members = divided.members(p);
      CHECK(std::set<int>(members.begin(), members.end()).size() == members.size());
      for (const int r : members) CHECK((r >= 0 && r < ranks));
      if (members.size() == 1) continue;
      ++several;
      CHECK(std::count(divided.part.begin(), divided.part.end(), p) == 1);
      CHECK(divided.block_columns[static_cast<std::size_t>(p)] >= 8);
    }
    CHECK(several > 0);
  }
  // messages that take too long
  costs.flops_per_message = 1e9;
  const auto divided = distribute_fronts(tree, 4, DivisionGoal::time, costs);
  for (int p = 0; p < divided.n_parts(); ++p) CHECK(divided.members(p).size() == 1);
}

TEST_CASE("columns of a divided front belong to one rank each", "[numeric]") {
  const DividedColumns columns{10, 7, 3, 4};
  CHECK(columns.blocks() == 3);
  CHECK(columns.end(2) == 10);
  std::vector<int> owners, list;
  for (int c = 0; c < 17; ++c) owners.push_back(columns.owner_of_column(c));
  CHECK(owners == std::vector<int>{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2, 2});
  list = {1, 3, 4, 9, 10, 11, 12};  // some columns
  using Runs = std::vector<std::pair<int, int>>;
  CHECK(columns.runs(list.data(), 7, 0) == Runs{{0, 2}, {4, 6}});
  CHECK(columns.runs(list.data(), 7, 1) == Runs{{2, 3}, {6, 7}});
  CHECK(columns.runs(list.data(), 7, 2) == Runs{{3, 4}});
  const DividedColumns by_units{8, 21, 2, 8, 8};  // a range of one unit, and one of two
  CHECK(by_units.rest(0) == 8);
  CHECK(by_units.rest(1) == 13);
}

TEST_CASE("the front of a large child stays beside the root while another rank works below it", "[numeric]") {
  // a root of 40 pivots over three subtrees; the first is a front of 30 over two of 32, the others are single
  AssemblyTree tree;
  tree.pivot_begin = {0, 32, 64, 94, 132, 168, 208};
  tree.parent = {2, 2, 5, 5, 5, -1};
  tree.n = 208;
  tree.row_begin = {0};
  for (const int f : {0, 1, 2, 3, 4, 5}) {
    for (int row = 64; f < 2 && row < 94; ++row) tree.rows.push_back(row);
    for (int row = 168; f < 5 && row < 208; ++row) tree.rows.push_back(row);
    tree.row_begin.push_back(static_cast<std::int64_t>(tree.rows.size()));
  }
  const DivisionCosts costs{0.01, 0, 0};
  const auto divided = distribute_fronts(tree, 2, DivisionGoal::time, costs);
  check_parts(tree, divided, 2);
  CHECK(divided.rank(5) == 0);
  double top_on_one = 0, all = 0;  // with the front of 30 behind all subtrees
  for (std::size_t f = 0; f < 6; ++f) {
    const double work = lutra::Impl::front_flops(tree, f);
    all += work;
    if (f == 2 || f == 5) top_on_one += work;
  }
  CHECK(divided.time < top_on_one + 0.5 * (all - top_on_one));
}

TEST_CASE("thousands of trees or children are divided in a moment", "[numeric]") {
  for (const bool is_forest : {true, false}) {
    const int leaves = 20000;
    AssemblyTree tree;
    tree.n = leaves + 1;
    tree.row_begin = {0};
    for (int f = 0; f <= leaves; ++f) {
      tree.pivot_begin.push_back(f);
      tree.parent.push_back(is_forest || f == leaves ? -1 : leaves);
      if (tree.parent.back() >= 0) tree.rows.push_back(leaves);
      tree.row_begin.push_back(static_cast<std::int64_t>(tree.rows.size()));
    }
    tree.pivot_begin.push_back(leaves + 1);
    const Kokkos::Timer timer;
    const auto divided = distribute_fronts(tree, 4, DivisionGoal::time);
    CHECK(timer.seconds() < 10);  // with each leaf a task it took over a minute
    check_parts(tree, divided, 4);
  }
}

TEST_CASE("messages between parts are received in the order in which they are sent", "[numeric]") {
  const System system(generate("poisson2d", 30));
  const auto& tree = system.tree;
  std::mt19937 random(7);
  std::size_t early = 0;  // messages received for a later part than the current one
  for (int trial = 0; trial < 20; ++trial) {
    const int n_ranks = 2 + trial % 4;
    std::vector<int> rank;
    for (int f = 0; f < tree.count(); ++f)
      rank.push_back(f > 0 && random() % 2 > 0 ? rank.back()
                                               : static_cast<int>(random() % static_cast<unsigned>(n_ranks)));
    const FrontRanks divided = make_parts(tree, rank, n_ranks);
    check_parts(tree, divided, n_ranks);
    const auto boundaries = boundaries_of(system, divided);
    for (const bool upward : {true, false}) early += replay(boundaries, divided, n_ranks, upward);
  }
  CHECK(early > 0);
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
