// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include "Lutra_BatchCases.hpp"
#include "Lutra_BatchPattern.hpp"
#include "Lutra_DeviceLaneGroups.hpp"

// Narrow levels, whose rows several launches compute: the order of their steps, and the bits that follow from
// it. Kernels of devices run on hosts here.

namespace lutra::Test {
namespace {

template <class Types>
using Pattern = lutra::Impl::BatchPattern<typename Types::Scalar, typename Types::Space>;

template <class Types>
Pattern<Types> analyze(const HostMatrix<typename Types::Scalar>& matrix, const auto& options) {
  using Scalar = typename Types::Scalar;
  using Space = typename Types::Space;
  const auto analysis =
      lutra::analyze<Scalar, Space>(Space(), on_device<Types>(matrix), options, MemoryBudget());
  return lutra::Impl::make_batch_pattern<Scalar, Space>(Space(), *analysis, MemoryBudget(), {.levels = true});
}

/// Rows of a batch, computed symbolically launch by launch.
template <class Types>
struct Rows {
  const Pattern<Types>& pattern;
  const lutra::Impl::LaneLists& lists = pattern.lists;
  std::vector<int> complete;  // launch that completed each row; −1: wide, never: none
  std::vector<std::vector<Ordinal>> steps;
  int delayed = 0;  // steps of which row k was complete before the launch before
  static constexpr int never = 1 << 30;

  explicit Rows(const Pattern<Types>& all) : pattern(all) {
    complete.assign(static_cast<std::size_t>(pattern.n), never);
    steps.resize(complete.size());
    const auto& wide = pattern.lower;
    for (std::int64_t r = 0; r < wide.begin[pattern.fan_out.first_level]; ++r) complete_at(wide.rows(r)) = -1;
  }
  int& complete_at(Ordinal i) { return complete[static_cast<std::size_t>(i)]; }
  std::vector<Ordinal>& steps_of(Ordinal i) { return steps[static_cast<std::size_t>(i)]; }

  Ordinal column(Offset step) const {
    return lists.symmetric ? lists.columns.entries[step] : lists.entries[step];
  }
  std::vector<Ordinal> row_of_L(Ordinal i) const {
    std::vector<Ordinal> result;
    const Offset begin = lists.symmetric ? lists.columns.map[i] : lists.row_map[i];
    const Offset end = lists.symmetric ? lists.column_diagonal[i] : lists.diagonal[i];
    for (Offset s = begin; s < end; ++s) result.push_back(column(s));
    return result;
  }
  bool is_in_U(Ordinal j, Ordinal k) const {
    return std::binary_search(lists.entries + lists.diagonal[j], lists.entries + lists.row_map[j + 1], k);
  }

  /// Row k is complete, and l_ik has the updates of all steps j before it.
  void step(int launch, Ordinal i, Ordinal k) {
    CAPTURE(launch, i, k);
    REQUIRE(complete_at(k) < launch);
    if (complete_at(k) + 1 < launch && launch > 0 && complete_at(k) >= 0) ++delayed;
    for (const Ordinal j : row_of_L(i))
      if (j < k && is_in_U(j, k)) REQUIRE(std::ranges::count(steps_of(i), j) == 1);
    steps_of(i).push_back(k);
  }
  void run() {
    const auto& parts = pattern.fan_out;
    for (std::size_t l = 0; l + 1 < parts.begin.size(); ++l) {
      const int launch = static_cast<int>(l);
      for (std::int64_t part = parts.begin[l]; part < parts.begin[l + 1]; ++part) {
        const Ordinal i = parts.rows(part);
        REQUIRE(complete_at(i) == never);
        for (Offset s = parts.steps_of(part); s < parts.steps_of(part + 1); ++s)
          step(launch, i, column(parts.steps(s)));
        if (parts.is_last(part) == 0) continue;
        std::ranges::sort(steps_of(i));
        REQUIRE(steps_of(i) == row_of_L(i));
        complete_at(i) = launch;
      }
    }
    for (const int launch : complete) REQUIRE(launch < never);
  }
};

template <class Types>
auto unsymmetric_case() {
  std::mt19937 random(4);
  return permuted_matrix<HostMatrix<typename Types::Scalar>>(300, 2.5, random);
}

/// Ones beside a dominant diagonal, at random places.
template <class Types>
auto symmetric_case() {
  constexpr std::size_t n = 300;
  std::mt19937 random(6);
  std::vector<std::vector<double>> picture(n, std::vector<double>(n, nothing));
  for (std::size_t i = 0; i < n; ++i) {
    picture[i][i] = i % 5 == 0 ? -9.0 : 9.0;
    const std::size_t j = random() % n;
    if (j != i) picture[i][j] = picture[j][i] = 1;
    if (i > 0) picture[i][i / 2] = picture[i / 2][i] = 0.5;
  }
  return from_dense<HostMatrix<typename Types::Scalar>>(picture);
}

template <class Types>
void check_order(const Pattern<Types>& pattern, bool has_delays) {
  CAPTURE(pattern.lists.symmetric, pattern.lower.begin);
  REQUIRE(pattern.fan_out.first_level > 0);
  REQUIRE(pattern.fan_out.begin.size() > 6);
  Rows<Types> rows(pattern);
  rows.run();
  CHECK((rows.delayed > 0) == has_delays);
}

/// Solves with the kernels of devices. @returns X of the systems in their order
template <class Types>
BatchArray<Types> solve(const Pattern<Types>& pattern, const BatchArray<Types>& values,
                        const BatchArray<Types>& B, std::vector<std::int64_t> systems,
                        Transposition op = Transposition::none) {
  using Scalar = typename Types::Scalar;
  using Space = typename Types::Space;
  using Groups = lutra::Impl::DeviceLaneGroups<Scalar, Space>;
  std::vector<char> used(systems.size(), 1);
  while (systems.size() % Groups::size != 0) {
    systems.push_back(systems.back());
    used.push_back(0);
  }
  BatchArray<Types> X(B.extents[0], 1, B.extents[2], Storage::interleaved);
  Groups groups(Space(), pattern, MemoryBudget());
  groups.reserve(systems.size() / Groups::size);
  groups.load(values.matrix(), systems);
  std::vector<lutra::Impl::SlotFindings> found(systems.size());
  groups.factorize(lutra::Impl::default_perturbation<Scalar>(), found);
  std::vector<lutra::Impl::SlotSolution> solutions(systems.size());
  const lutra::Impl::SlotSolveOptions options{false, 0, 0, 0, 0};
  groups.solve(B.view(), X.view(), op, systems, used, options, solutions);
  X.to_host();
  return X;
}

template <class Types>
void check_bits(const HostMatrix<typename Types::Scalar>& matrix, const Pattern<Types>& pattern,
                const BatchArray<Types>& values) {
  const std::size_t K = values.extents[2];
  const auto B = random_block<Types>(300, 1, K, Storage::interleaved);
  std::vector<std::int64_t> all(K);
  for (std::size_t k = 0; k < K; ++k) all[k] = static_cast<std::int64_t>(k);
  const auto X = solve<Types>(pattern, values, B, all);
  for (std::size_t k = 0; k < K; ++k)
    REQUIRE(error_of(with_values(matrix, values, k), B, X, 0, k) <=
            1e3 * tolerance_of<typename Types::Scalar>());
  for (const std::vector<std::int64_t>& some : {std::vector<std::int64_t>{36}, {2, 36, 1}}) {
    const auto Y = solve<Types>(pattern, values, B, some);
    for (const std::int64_t k : some)
      for (std::size_t i = 0; i < 300; ++i)
        REQUIRE(same_bits(Y(i, 0, static_cast<std::size_t>(k)), X(i, 0, static_cast<std::size_t>(k))));
  }
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("batch: parts of narrow rows find all that they need", "[batch]", AllTypes) {
  if constexpr (lutra::Impl::is_host_space<typename TestType::Space>) {
    const auto general = unsymmetric_case<TestType>();
    check_order<TestType>(analyze<TestType>(general, lutra::Impl::for_batch(LuOptions())), true);
    SparseIluOptions ilu;
    ilu.fill_level = 3;
    ilu.ordering = Ordering::amd;
    const auto dominant = symmetric_case<TestType>();
    check_order<TestType>(analyze<TestType>(dominant, ilu), false);
    check_order<TestType>(analyze<TestType>(dominant, LdltOptions()), false);
  }
}

TEMPLATE_LIST_TEST_CASE("batch: bits of narrow rows do not depend on neighbours", "[batch]", AllTypes) {
  if constexpr (lutra::Impl::is_host_space<typename TestType::Space>) {
    const auto general = unsymmetric_case<TestType>();
    const auto values = perturbed_values<TestType>(general, 40, Storage::interleaved);
    check_bits<TestType>(general, analyze<TestType>(general, lutra::Impl::for_batch(LuOptions())), values);
    const auto symmetric = symmetric_case<TestType>();
    BatchArray<TestType> scaled(symmetric.values.size(), 1, 40, Storage::interleaved);
    for (std::size_t k = 0; k < 40; ++k)
      for (std::size_t p = 0; p < symmetric.values.size(); ++p)
        scaled(p, 0, k) =
            symmetric.values[p] * as_scalar<typename TestType::Scalar>(1 + 0.01 * static_cast<double>(k));
    scaled.to_device();
    check_bits<TestType>(symmetric, analyze<TestType>(symmetric, LdltOptions()), scaled);
  }
}

TEMPLATE_LIST_TEST_CASE("batch: incomplete factors by kernels of devices", "[batch]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  if constexpr (lutra::Impl::is_host_space<Space>) {
    const auto matrix = symmetric_case<TestType>();
    const auto values = perturbed_values<TestType>(matrix, 3, Storage::interleaved);
    const auto B = random_block<TestType>(300, 1, 3, Storage::interleaved);
    for (const int level : {0, 1}) {
      CAPTURE(level);
      SparseIluOptions options;
      options.fill_level = level;
      options.ordering = Ordering::amd;
      BatchedILU<Scalar, Space> batch(options);
      REQUIRE(batch.analyze(on_device<TestType>(matrix)) == Status::success);
      REQUIRE(batch.factorize(values.matrix()) == Status::success);
      const auto pattern = lutra::Impl::make_batch_pattern<Scalar, Space>(Space(), *batch.analysis(),
                                                                          MemoryBudget(), {.levels = true});
      for (const Transposition op : {Transposition::none, Transposition::transposed}) {
        BatchArray<TestType> Y(300, 1, 3, Storage::interleaved);
        batch.apply(B.view(), Y.view(), op);
        Y.to_host();
        const auto X = solve<TestType>(pattern, values, B, {0, 1, 2}, op);
        for (std::size_t s = 0; s < X.host.size(); ++s)
          REQUIRE(static_cast<double>(ScalarTraits<Scalar>::magnitude(X.host[s] - Y.host[s])) <=
                  1000 * static_cast<double>(epsilon_of<Scalar>));
      }
    }
  }
}

}  // namespace lutra::Test
