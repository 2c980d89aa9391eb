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
      : X(B.extents[0], n_rhs, K, Storage::interleaved), R(B.extents[0], n_rhs, K, Storage::interleaved) {
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
    const lutra::Impl::SlotSolveOptions options{true, 0.6 * epsilon, tolerance_of<Scalar>(), 1e6, 10, true};
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

/// Compares both kinds of lanes with each other and with their matrices.
template <class Types>
void compare(const lutra::Impl::BatchPattern<typename Types::Scalar, typename Types::Space>& pattern,
             const HostMatrix<typename Types::Scalar>& matrix, const BatchArray<Types>& values,
             Transposition op) {
  using Scalar = typename Types::Scalar;
  using Space = typename Types::Space;
  const auto B =
      random_block<Types>(static_cast<std::size_t>(matrix.n_rows), n_rhs, K, Storage::one_after_other);
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
      REQUIRE(error_of(A, B, host.X, c, k, op) <= host.solutions[k].componentwise + 20 * epsilon);
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

template <class Types>
void compare(const HostMatrix<typename Types::Scalar>& matrix, const BatchArray<Types>& values,
             const auto& options, Transposition op, bool with_targets) {
  using Scalar = typename Types::Scalar;
  using Space = typename Types::Space;
  const auto analysis = lutra::analyze<Scalar, Space>(
      Space(), on_device<Types>(with_values(matrix, values, 0)), options, MemoryBudget());
  auto pattern =
      lutra::Impl::make_batch_pattern<Scalar, Space>(Space(), *analysis, MemoryBudget(), {.levels = true});
  REQUIRE(pattern.lists.targets_of != nullptr);
  if (!with_targets) pattern.lists.targets_of = nullptr;  // found by merging
  compare<Types>(pattern, matrix, values, op);
}

/// The pattern of real matrices for complex ones, for which the library need not be built.
template <class Space>
auto for_complex(const lutra::Impl::BatchPattern<double, Space>& real, bool hermitian) {
  lutra::Impl::BatchPattern<Kokkos::complex<double>, Space> result;
  result.lists = real.lists;
  result.lists.hermitian = hermitian;
  result.views = real.views;
  result.n = real.n;
  result.nnz = real.nnz;
  result.matrix_entries = real.matrix_entries;
  result.factor_entries = real.factor_entries;
  result.row_scale = real.row_scale;
  result.col_scale = real.col_scale;
  result.source = real.source;
  result.is_read = real.is_read;
  result.entry_of = real.entry_of;
  result.lower = real.lower;
  result.upper = real.upper;
  result.fan_out = real.fan_out;
  result.start = real.start;
  result.keep = real.keep;
  return result;
}

/// Multiplies entries of a real matrix by random phases: symmetric, Hermitian, or neither.
template <class Types>
BatchArray<Types> with_phases(const HostMatrix<double>& matrix, bool symmetric, bool hermitian) {
  using Scalar = typename Types::Scalar;
  BatchArray<Types> values(matrix.values.size(), 1, K, Storage::one_after_other);
  for (std::size_t k = 0; k < K; ++k) {
    std::mt19937 random(static_cast<unsigned>(k));
    std::uniform_real_distribution<double> angle(-0.5, 0.5);
    std::vector<std::vector<double>> phase(n, std::vector<double>(n));
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) phase[i][j] = angle(random);
    for (std::size_t i = 0; i < n; ++i)
      for (auto p = static_cast<std::size_t>(matrix.row_map[i]);
           p < static_cast<std::size_t>(matrix.row_map[i + 1]); ++p) {
        const auto j = static_cast<std::size_t>(matrix.entries[p]);
        const bool upper = j > i && symmetric;
        const double own = hermitian && i == j ? 0.0 : upper ? phase[j][i] : phase[i][j];
        const Scalar unit(std::cos(own), hermitian && upper ? -std::sin(own) : std::sin(own));
        values(p, 0, k) = matrix.values[p] * unit;
      }
  }
  values.to_device();
  return values;
}

/// A symmetric matrix with both signs on its diagonal.
template <class Scalar>
HostMatrix<Scalar> symmetric_matrix() {
  std::vector<std::vector<double>> picture(n, std::vector<double>(n, nothing));
  std::mt19937 random(5);
  for (std::size_t i = 0; i < n; ++i) {
    picture[i][i] = i % 5 == 0 ? -9.0 : 9.0;
    for (int t = 0; t < 2; ++t) {
      const std::size_t j = random() % n;
      if (j != i) picture[i][j] = picture[j][i] = 0.5 + 0.1 * t;
    }
  }
  return from_dense<HostMatrix<Scalar>>(picture);
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
    const auto wide = permuted_matrix<HostMatrix<Scalar>>(300, 2.5, random);  // has levels of 64 rows
    const auto of_wide = perturbed_values<TestType>(wide, K, Storage::interleaved);
    for (const bool with_targets : {true, false})
      compare<TestType>(wide, of_wide, lutra::Impl::for_batch(LuOptions()), Transposition::none,
                        with_targets);
  }
}

TEMPLATE_LIST_TEST_CASE("batch: lanes of threads and of registers agree for LDLT", "[batch]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  if constexpr (lutra::Impl::is_host_space<typename TestType::Space>) {
    const auto matrix = symmetric_matrix<Scalar>();
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

#ifdef LUTRA_HAS_F64
TEST_CASE("batch: lanes of complex numbers", "[batch]") {
  using Space = Kokkos::DefaultHostExecutionSpace;
  using Real = Types<double, int, Space>;
  using Complex = Types<Kokkos::complex<double>, int, Space>;
  const auto every_op = {Transposition::none, Transposition::transposed, Transposition::adjoint};
  std::mt19937 random(4);
  const auto general = permuted_matrix<HostMatrix<double>>(n, 3.0, random);
  const auto lu = lutra::analyze<double, Space>(Space(), on_device<Real>(general),
                                                lutra::Impl::for_batch(LuOptions()), MemoryBudget());
  const auto as_complex = [](const HostMatrix<double>& A) {
    return HostMatrix<Kokkos::complex<double>>{
        A.n_rows, A.n_cols, A.row_map, A.entries, {A.values.begin(), A.values.end()}};
  };
  for (const Transposition op : every_op)
    compare<Complex>(for_complex(lutra::Impl::make_batch_pattern<double, Space>(Space(), *lu, MemoryBudget(),
                                                                                {.levels = true}),
                                 false),
                     as_complex(general), with_phases<Complex>(general, false, false), op);
  const auto symmetric = symmetric_matrix<double>();
  const auto ldlt =
      lutra::analyze<double, Space>(Space(), on_device<Real>(symmetric), LdltOptions(), MemoryBudget());
  for (const bool hermitian : {false, true})
    for (const Transposition op : every_op)
      compare<Complex>(for_complex(lutra::Impl::make_batch_pattern<double, Space>(
                                       Space(), *ldlt, MemoryBudget(), {.levels = true}),
                                   hermitian),
                       as_complex(symmetric), with_phases<Complex>(symmetric, true, hermitian), op);
}
#endif

}  // namespace lutra::Test
