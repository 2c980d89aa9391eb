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
#include "Lutra_DistributedSystem.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_FrontMapping.hpp"
#include "Lutra_MatrixMarket.hpp"
#include "Lutra_Ordering.hpp"

namespace lutra::Test {
namespace {

using Rows = std::vector<std::int64_t>;
using Entry = std::pair<std::int64_t, std::int64_t>;
using Factors = std::map<Entry, double>;

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
FrontRanks divide_fronts(const AssemblyTree& tree, int ranks, int length, int least_pivots, int width) {
  std::vector<int> rank;
  std::vector<bool> divided;
  for (int f = 0; f < tree.count(); ++f) {
    rank.push_back(f / length % ranks);
    divided.push_back(lutra::Impl::pivots_of(tree, static_cast<std::size_t>(f)) >= least_pivots);
  }
  FrontRanks made = make_parts(tree, rank, ranks, {}, divided);
  bool among_two = false;
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

  FrontRanks ranks_of(const AssemblyTree& tree, int ranks) const {
    if (least_pivots > 0) return divide_fronts(tree, ranks, length, least_pivots, width);
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
    CHECK(divided > 2);
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
  check_matrix(comm, generate("poisson3d", 10), 1e-10, {7, 16, 8});
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
    if (comm.size() > 1)
      CHECK_THROWS_AS(check_matrix<Space>(comm, generate("convdiff3d", 14), 1e-10, {20, 50}), InputError);
  }
  comm.close();
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
