// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include "Lutra_BatchCases.hpp"
#include "Lutra_BatchPattern.hpp"
#include "Lutra_DeviceLaneGroups.hpp"
#include "Lutra_HostLaneGroups.hpp"

// Kernels of devices run on hosts here, beside those of hosts.

namespace lutra::Test {
namespace {

constexpr std::size_t n = 35, K = 40, n_rhs = 6;

/// Factorizes and solves K systems in slots of their own.
template <class Types, class Groups>
struct Run {
  using Scalar = typename Types::Scalar;
  using Space = typename Types::Space;

  Run(const lutra::Impl::BatchPattern<Scalar, Space>& pattern, const BatchArray<Types>& values,
      const BatchArray<Types>& B, Transposition op)
      : X(n, n_rhs, K, Storage::interleaved), R(n, n_rhs, K, Storage::interleaved) {
    std::vector<std::int64_t> systems;
    for (std::size_t k = 0; k < K; ++k) systems.push_back(static_cast<std::int64_t>(k));
    while (systems.size() % Groups::size != 0) systems.push_back(K - 1);
    Groups groups(Space(), pattern, MemoryBudget());
    groups.reserve(systems.size() / Groups::size);
    groups.load(values.matrix(), systems);
    found.resize(systems.size());
    groups.factorize(lutra::Impl::default_perturbation<Scalar>(), found);
    std::vector<char> used(systems.size(), 0);
    for (std::size_t k = 0; k < K; ++k) used[k] = k == 5 ? 0 : 1;
    // A goal that single steps of refinement reach for some systems only.
    const double epsilon = static_cast<double>(epsilon_of<Scalar>);
    const lutra::Impl::SlotSolveOptions options{true, 0.6 * epsilon, tolerance_of<Scalar>(), 1e6, 10};
    solutions.resize(systems.size());
    groups.solve(B.view(), X.view(), op, systems, used, options, solutions);
    groups.residual(B.view(), X.view(), R.view(), op, systems, used);
    X.to_host();
    R.to_host();
    own = Kokkos::View<Scalar*, typename Types::Memory>("own", values.extents[0]);
    groups.extract(33, own);
    Space().fence();
  }

  BatchArray<Types> X, R;
  std::vector<lutra::Impl::SlotFindings> found;
  std::vector<lutra::Impl::SlotSolution> solutions;
  Kokkos::View<Scalar*, typename Types::Memory> own;
};

template <class Types>
void compare(const HostMatrix<typename Types::Scalar>& matrix, const BatchArray<Types>& values,
             const auto& options, Transposition op, bool with_targets) {
  using Scalar = typename Types::Scalar;
  using Space = typename Types::Space;
  const auto analysis = lutra::analyze<Scalar, Space>(
      Space(), on_device<Types>(with_values(matrix, values, 0)), options, MemoryBudget());
  auto pattern = lutra::Impl::make_batch_pattern<Scalar, Space>(Space(), *analysis, MemoryBudget());
  REQUIRE(pattern.lists.targets_of != nullptr);
  if (!with_targets) pattern.lists.targets_of = nullptr;  // found by merging
  const auto B = random_block<Types>(n, n_rhs, K, Storage::one_after_other);
  const Run<Types, lutra::Impl::HostLaneGroups<Scalar, Space>> host(pattern, values, B, op);
  const Run<Types, lutra::Impl::DeviceLaneGroups<Scalar, Space>> device(pattern, values, B, op);
  const double epsilon = static_cast<double>(epsilon_of<Scalar>);
  for (std::size_t k = 0; k < K; ++k) {
    CAPTURE(k);
    const auto A = with_values(matrix, values, k);
    REQUIRE(std::abs(host.found[k].growth - device.found[k].growth) <= 1e-3 * host.found[k].growth);
    REQUIRE(host.found[k].perturbed == device.found[k].perturbed);
    REQUIRE(host.found[k].negative == device.found[k].negative);
    REQUIRE(std::abs(host.found[k].smallest_pivot / device.found[k].smallest_pivot - 1) <= 1e-3);
    for (std::size_t c = 0; c < n_rhs; ++c) {
      if (k == 5) {
        REQUIRE(device.X(0, c, k) == Scalar(0));
        continue;
      }
      REQUIRE(error_of(A, B, host.X, c, k, op) <= tolerance_of<Scalar>());
      REQUIRE(error_of(A, B, device.X, c, k, op) <= tolerance_of<Scalar>());
      REQUIRE(error_of(A, B, device.X, c, k, op) <= device.solutions[k].componentwise + 20 * epsilon);
    }
    REQUIRE(host.solutions[k].first_failed < 0);
    REQUIRE(device.solutions[k].first_failed < 0);
  }
  for (std::size_t p = 0; p < values.extents[0]; ++p) {
    REQUIRE(host.own(p) == values(p, 0, 33));
    REQUIRE(device.own(p) == values(p, 0, 33));
  }
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("batch: lanes of threads and of registers agree for LU", "[batch]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  if constexpr (lutra::Impl::is_host_space<typename TestType::Space>) {
    std::mt19937 random(4);
    const auto matrix = permuted_matrix<HostMatrix<Scalar>>(n, 3.0, random);
    const auto values = perturbed_values<TestType>(matrix, K, Storage::interleaved);
    for (const Transposition op : {Transposition::none, Transposition::transposed, Transposition::adjoint})
      for (const bool with_targets : {true, false})
        compare<TestType>(matrix, values, lutra::Impl::for_batch(LuOptions()), op, with_targets);
  }
}

TEMPLATE_LIST_TEST_CASE("batch: lanes of threads and of registers agree for LDLT", "[batch]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  if constexpr (lutra::Impl::is_host_space<typename TestType::Space>) {
    std::vector<std::vector<double>> picture(n, std::vector<double>(n, nothing));
    std::mt19937 random(5);
    for (std::size_t i = 0; i < n; ++i) {
      picture[i][i] = i % 5 == 0 ? -9.0 : 9.0;
      for (int t = 0; t < 2; ++t) {
        const std::size_t j = random() % n;
        if (j != i) picture[i][j] = picture[j][i] = 0.5 + 0.1 * t;
      }
    }
    const auto matrix = from_dense<HostMatrix<Scalar>>(picture);
    BatchArray<TestType> values(matrix.values.size(), 1, K, Storage::one_after_other);
    for (std::size_t k = 0; k < K; ++k)
      for (std::size_t p = 0; p < matrix.values.size(); ++p)
        values(p, 0, k) = matrix.values[p] * as_scalar<Scalar>(1 + 0.01 * static_cast<double>(k));
    values.to_device();
    for (const Transposition op : {Transposition::none, Transposition::adjoint})
      for (const bool with_targets : {true, false})
        compare<TestType>(matrix, values, LdltOptions(), op, with_targets);
  }
}

}  // namespace lutra::Test
