// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

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

/// Regular systems, all but one of which suit the scales of the analysis, under lower and lower limits.
TEMPLATE_LIST_TEST_CASE("batch: no system is called singular for want of memory", "[batch]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  Case<TestType> of(false);
  const int most = sizeof(RealOf<Scalar>) == 8 ? 200 : 15;
  const auto scale = [&](std::size_t i) {
    return std::ldexp(1.0, static_cast<int>(i * 7919 % static_cast<std::size_t>(2 * most)) - most);
  };
  for (std::size_t i = 0; i < static_cast<std::size_t>(of.n); ++i)
    for (auto p = static_cast<std::size_t>(of.pattern.row_map[i]);
         p < static_cast<std::size_t>(of.pattern.row_map[i + 1]); ++p) {
      const double factor = scale(i) * scale(static_cast<std::size_t>(of.pattern.entries[p]));
      of.values(p, 0, bad) = of.pattern.values[p] * as_scalar<Scalar>(factor);
    }
  of.values.to_device();
  LuOptions lu;
  lu.engine = GENERATE(Engine::simplicial, Engine::multifrontal);
  const auto analysis =
      lutra::analyze<Scalar, Space>(Space(), on_device<TestType>(of.pattern), lu, MemoryBudget());
  bool was_short = false;
  for (double limit = 1e8; limit > 1e3; limit *= 0.98) {
    INFO("limit " << limit);
    DirectOptions options;
    options.memory_limit = static_cast<std::size_t>(limit);
    BatchedNumeric<Scalar, Space> batch(analysis, options);
    BatchArray<TestType> X(static_cast<std::size_t>(of.n), 1, K, Storage::interleaved);
    try {
      batch.factorize(of.values.matrix());
      batch.solve(of.B.view(), X.view());
    } catch (const OutOfMemoryError&) {
      break;
    }
    for (std::size_t k = 0; k < K; ++k) {
      const Status status = batch.report().statuses[k];
      was_short = was_short || status == Status::out_of_memory;
      INFO("system " << k << ": " << to_string(status));
      CHECK((status == Status::success || (k == bad && status == Status::out_of_memory)));
    }
  }
  CHECK(was_short);
}

}  // namespace lutra::Test
