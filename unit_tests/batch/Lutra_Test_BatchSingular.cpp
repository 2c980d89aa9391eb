// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <numeric>
#include <vector>

#include "Lutra_BatchCases.hpp"
#include "Lutra_BatchPattern.hpp"
#include "Lutra_DeviceLaneGroups.hpp"
#include "Lutra_HostLaneGroups.hpp"

// Systems of a batch that are singular, although neither pivots nor growth nor X show it.

namespace lutra::Test {
namespace {

constexpr std::size_t K = 20, bad = 7;

/// BᵀB for B with rows (1, −ratio), its rows multiplied by powers of two unless it shall be symmetric. With a
/// ratio of 2 all pivots are 1 from the first row on, and no entry grows, but a relative change of 4⁻ⁿ makes
/// it singular: (1, 1/2, 1/4, …) is almost a null vector.
template <class Scalar>
HostMatrix<Scalar> graded(int n, bool symmetric, double ratio) {
  HostMatrix<Scalar> A;
  A.n_rows = A.n_cols = n;
  A.row_map = {0};
  for (int i = 0; i < n; ++i) {
    const double scale = symmetric ? 1.0 : std::ldexp(1.0, i % 3);
    for (int j = std::max(0, i - 1); j < std::min(n, i + 2); ++j) {
      A.entries.push_back(j);
      const double value = i != j ? -ratio : i > 0 ? 1.0 + ratio * ratio : 1.0;
      A.values.push_back(as_scalar<Scalar>(scale * value));
    }
    A.row_map.push_back(static_cast<std::int64_t>(A.entries.size()));
  }
  return A;
}

/// Regular systems, and a singular one with a right-hand side for which X is small.
template <class Types>
struct Case {
  using Scalar = typename Types::Scalar;
  int n;
  bool symmetric;
  HostMatrix<Scalar> pattern = graded<Scalar>(n, symmetric, 0.5), singular = graded<Scalar>(n, symmetric, 2);
  BatchArray<Types> values{pattern.values.size(), 1, K, Storage::interleaved};
  BatchArray<Types> B{static_cast<std::size_t>(n), 1, K, Storage::interleaved};

  explicit Case(bool is_symmetric) : n(sizeof(RealOf<Scalar>) == 8 ? 30 : 16), symmetric(is_symmetric) {
    for (std::size_t k = 0; k < K; ++k) {
      for (std::size_t p = 0; p < pattern.values.size(); ++p)
        values(p, 0, k) = k == bad ? singular.values[p] : pattern.values[p];
      const auto& A = k == bad ? singular : pattern;
      for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i)
        for (auto p = static_cast<std::size_t>(A.row_map[i]); p < static_cast<std::size_t>(A.row_map[i + 1]);
             ++p)
          B(i, 0, k) += A.values[p];  // A times ones, for which X is small
    }
    values.to_device();
    B.to_device();
  }
};

template <class Types, class Batch>
void check_statuses(Batch& batch, const Case<Types>& of, Transposition op) {
  REQUIRE(batch.analyze(on_device<Types>(of.pattern)) == Status::success);
  for (int values = 0; values < 2; ++values) {  // also on an analysis that has served
    (void)batch.factorize(of.values.matrix());
    for (int solve = 0; solve < 2; ++solve) {
      BatchArray<Types> X(static_cast<std::size_t>(of.n), 1, K, Storage::interleaved);
      batch.solve(of.B.view(), X.view(), op);
      for (std::size_t k = 0; k < K; ++k) {
        CAPTURE(of.symmetric, values, solve, k);
        const Status status = batch.report().statuses[k];
        if (k == bad) {
          CHECK(status == Status::numerically_singular);
        } else {
          CHECK(status == Status::success);
        }
      }
      CHECK(batch.report().alone == std::vector<std::int64_t>{bad});
    }
  }
}

/// Whether only the singular system fails, by its probe.
template <class Groups, class Types>
void check_probe(const Case<Types>& of, std::size_t n_rhs, Transposition op) {
  using Scalar = typename Types::Scalar;
  using Space = typename Types::Space;
  LuOptions options;
  options.ordering = Ordering::natural;
  options.engine = Engine::simplicial;
  const auto analysis =
      lutra::analyze<Scalar, Space>(Space(), on_device<Types>(of.pattern), options, MemoryBudget());
  const auto pattern =
      lutra::Impl::make_batch_pattern<Scalar, Space>(Space(), *analysis, MemoryBudget(), {.levels = true});
  std::vector<std::int64_t> systems;
  for (std::size_t k = 0; k < K; ++k) systems.push_back(static_cast<std::int64_t>(k));
  while (systems.size() % Groups::size != 0) systems.push_back(K - 1);
  Groups groups(Space(), pattern, MemoryBudget());
  groups.reserve(systems.size() / Groups::size);
  groups.load(of.values.matrix(), systems);
  std::vector<lutra::Impl::SlotFindings> found(systems.size());
  groups.factorize(lutra::Impl::default_perturbation<Scalar>(), found);
  BatchArray<Types> B(static_cast<std::size_t>(of.n), n_rhs, K, Storage::interleaved);
  for (std::size_t k = 0; k < K; ++k)
    for (std::size_t c = 0; c < n_rhs; ++c)
      for (std::size_t i = 0; i < B.extents[0]; ++i) B(i, c, k) = of.B(i, 0, k);
  B.to_device();
  BatchArray<Types> X(B.extents[0], n_rhs, K, Storage::interleaved);
  std::vector<lutra::Impl::SlotSolution> solutions(systems.size());
  const double infinity = std::numeric_limits<double>::infinity();
  const double near_singular = 1 / std::sqrt(static_cast<double>(epsilon_of<Scalar>));
  groups.solve(B.view(), X.view(), op, systems, std::vector<char>(systems.size(), 1),
               {true, 0.0, infinity, near_singular, 0, true}, solutions);
  for (std::size_t k = 0; k < K; ++k) {
    CAPTURE(n_rhs, op, k);
    CHECK(found[k].perturbed == 0);
    CHECK(solutions[k].first_failed == (k == bad ? 0 : -1));
  }
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("batch: probes of lanes on hosts and devices", "[batch]", HostTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  const Case<TestType> of(false);
  for (const std::size_t n_rhs : {1, 3, 4, 9, 16, 17})
    for (const Transposition op : {Transposition::none, Transposition::adjoint}) {
      check_probe<lutra::Impl::HostLaneGroups<Scalar, Space>>(of, n_rhs, op);
      check_probe<lutra::Impl::DeviceLaneGroups<Scalar, Space>>(of, n_rhs, op);
    }
}

TEMPLATE_LIST_TEST_CASE("batch: a singular system is found whatever the right-hand side", "[batch]",
                        AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  const Case<TestType> general(false), symmetric(true);
  LuOptions lu_options;
  lu_options.ordering = Ordering::natural;
  for (const Transposition op : {Transposition::none, Transposition::transposed, Transposition::adjoint}) {
    BatchedLU<Scalar, Space> lu(lu_options);
    check_statuses(lu, general, op);
  }
  LdltOptions options;
  options.ordering = Ordering::natural;
  for (const bool positive_definite : {false, true}) {
    options.positive_definite = positive_definite;
    BatchedLDLT<Scalar, Space> ldlt(options);
    check_statuses(ldlt, symmetric, Transposition::none);
  }
}

/// Regular systems, one of which does not suit the scales of the analysis, under higher and higher limits.
TEST_CASE("batch: no system is called singular for want of memory", "[batch]") {
  using Case64 = Types<double, Ordinal>;
  struct Entry {
    Ordinal row, column;
    double analyzed, value;
    int exponent;  // of the system that does not suit
  };
  const std::vector<Entry> entries{
      {0, 2, 1, -3, 51},   {0, 6, 2, -1, 79},   {1, 0, -3, 1, 14},   {1, 6, -1, 3, 45},   {1, 8, 1, -1, -105},
      {2, 0, 3, -1, 172},  {2, 1, 2, -1, 145},  {2, 7, 1, 3, 129},   {3, 0, -2, -1, -57}, {3, 4, 1, -3, -260},
      {3, 8, -1, 1, -176}, {4, 2, 3, -1, -41},  {4, 3, -1, -1, 2},   {4, 7, 2, 1, -87},   {5, 2, -2, -1, -84},
      {5, 4, -3, 1, -290}, {6, 0, -3, 1, -73},  {6, 8, -2, 1, -190}, {7, 3, 2, 3, 86},    {7, 4, 1, -1, -163},
      {7, 5, -1, -1, 108}, {8, 2, -1, -3, 277}, {8, 3, -1, 3, 320}};
  HostMatrix<double> pattern;
  pattern.n_rows = pattern.n_cols = 9;
  pattern.row_map.assign(10, 0);
  for (const Entry& entry : entries) {
    ++pattern.row_map[static_cast<std::size_t>(entry.row) + 1];
    pattern.entries.push_back(entry.column);
    pattern.values.push_back(entry.analyzed);
  }
  std::partial_sum(pattern.row_map.begin(), pattern.row_map.end(), pattern.row_map.begin());
  BatchArray<Case64> values(entries.size(), 1, K, Storage::interleaved), X(9, 1, K, Storage::interleaved);
  for (std::size_t k = 0; k < K; ++k)
    for (std::size_t p = 0; p < entries.size(); ++p)
      values(p, 0, k) = k == bad ? std::ldexp(entries[p].value, entries[p].exponent) : entries[p].analyzed;
  values.to_device();
  const auto B = random_block<Case64>(9, 1, K, Storage::interleaved);
  LuOptions options;
  options.engine = Engine::simplicial;
  options.pivoting = Pivoting::static_perturbed;
  bool was_solved = false;
  for (std::size_t limit = 10'000; limit < 80'000; limit += 150) {
    INFO("limit " << limit);
    options.memory_limit = limit;
    BatchedLU<double, Kokkos::DefaultHostExecutionSpace> batch(options);
    try {
      static_cast<void>(batch.analyze(on_device<Case64>(pattern)));
      static_cast<void>(batch.factorize(values.matrix()));
      static_cast<void>(batch.solve(B.view(), X.view(), Transposition::transposed));
    } catch (const OutOfMemoryError&) {
      continue;
    }
    const Status status = batch.report().statuses[bad];
    INFO(to_string(status));
    CHECK((status == Status::success || status == Status::out_of_memory));
    was_solved = was_solved || status == Status::success;
  }
  CHECK(was_solved);
}

}  // namespace lutra::Test
