// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTLURUN_HPP
#define LUTRA_FRONTLURUN_HPP

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <optional>
#include <vector>

#include "Lutra_FrontLu.hpp"
#include "Lutra_Reference_Lu.hpp"
#include "Lutra_TestDevice.hpp"
#include "Lutra_TestMatrices.hpp"
#include "Lutra_TestTypes.hpp"

namespace lutra::Test {

/// L\U of a host matrix by fronts, with the order the fronts gave it.
template <class Types>
struct FrontResult {
  using Scalar = typename Types::Scalar;
  Matrix<Types> permuted;
  std::vector<std::vector<std::size_t>> pattern;
  std::vector<Scalar> values;  ///< by rows of the pattern
  FrontLuOutcome outcome;
  std::vector<unsigned char> perturbed;
};

template <class MatrixType>
MatrixType permuted_by(const MatrixType& A, const std::vector<Ordinal>& order) {
  std::vector<Ordinal> position(order.size());
  for (std::size_t k = 0; k < order.size(); ++k)
    position[static_cast<std::size_t>(order[k])] = static_cast<Ordinal>(k);
  MatrixType result;
  result.n_rows = result.n_cols = A.n_rows;
  result.row_map.push_back(0);
  for (const Ordinal row : order) {
    std::vector<std::pair<Ordinal, typename decltype(A.values)::value_type>> entries;
    Reference::for_row(A, static_cast<std::size_t>(row), [&](std::size_t j, const auto& value) {
      entries.push_back({position[j], value});
    });
    std::ranges::sort(entries, [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [j, value] : entries) {
      result.entries.push_back(j);
      result.values.push_back(value);
    }
    result.row_map.push_back(result.nnz());
  }
  return result;
}

/// The lower triangle and its mirror image.
template <class MatrixType>
MatrixType mirrored(const MatrixType& A, Symmetry symmetry) {
  using Scalar = typename decltype(A.values)::value_type;
  std::vector<std::vector<std::pair<std::size_t, Scalar>>> rows(static_cast<std::size_t>(A.n_rows));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Reference::for_row(A, i, [&](std::size_t j, Scalar value) {
      if (j > i) return;
      const bool conjugated = symmetry == Symmetry::hermitian;
      if (j == i && conjugated) value = Scalar(Kokkos::real(value));
      rows[i].push_back({j, value});
      if (j < i) rows[j].push_back({i, conjugated ? ScalarTraits<Scalar>::conjugate(value) : value});
    });
  }
  MatrixType result{A.n_rows, A.n_cols, {0}, {}, {}};
  for (const auto& row : rows) {
    for (const auto& [j, value] : row) {
      result.entries.push_back(static_cast<typename decltype(A.entries)::value_type>(j));
      result.values.push_back(value);
    }
    result.row_map.push_back(result.nnz());
  }
  return result;
}

/// @param runs how often it is factorized: flags of a run must not be taken for those of the next
template <class Types>
FrontResult<Types> factorize_by_fronts(const Matrix<Types>& matrix, double perturbation,
                                       const AssemblyTreeOptions& options = {}, bool portable = false,
                                       int runs = 1, const std::optional<Symmetry>& symmetry = {}) {
  using Space = typename Types::Space;
  using Memory = typename Types::Memory;
  using Scalar = typename Types::Scalar;
  using Real = RealOf<Scalar>;
  const Space exec;
  const auto n = static_cast<std::size_t>(matrix.n_rows);
  const auto tree = make_assembly_tree(make_view(matrix).pattern(), options);
  const auto plan = plan_lu(exec, tree, FrontEntries{make_view(matrix).pattern(), tree.order, tree.order},
                            MemoryBudget(), front_plan_options<Scalar, Space>());
  Kokkos::View<const Offset*, Memory> source;
  const auto filled = pattern_of_fronts(exec, plan, MemoryBudget(), source);
  const auto schedule =
      make_front_schedule<Scalar>(exec, plan, MemoryBudget(), default_device_model<Space>(), symmetry);
  auto factors = make_front_factors(exec, schedule, MemoryBudget());
  allocate_values(exec, plan, MemoryBudget(), factors);
  const auto ones = to_space<Space>(std::vector<Real>(n, Real(1)));
  const Kokkos::View<unsigned char*, Memory> perturbed("perturbed", n);
  const Kokkos::View<Scalar*, Memory> values("values", source.extent(0));
  for (int r = 0; r < runs; ++r) {
    auto scaled = matrix.values;
    for (Scalar& value : scaled) value *= as_scalar<Scalar>(runs - r);  // the last run has the matrix itself
    factorize_fronts<Scalar>(exec, plan, {to_space<Space>(scaled), ones, ones}, perturbation, factors,
                             perturbed, portable);
    gather_factors(exec, factors, source, values);
    exec.fence();
  }
  FrontResult<Types> result;
  result.permuted = permuted_by(matrix, tree.order);
  result.pattern = to_rows(filled.pattern());
  result.values = to_vector(values);
  result.outcome = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), factors.outcome)();
  result.perturbed = to_vector(perturbed);
  const auto diagonal = to_vector(filled.diagonal);
  for (std::size_t i = 0; i < n; ++i) {
    REQUIRE(std::ranges::is_sorted(result.pattern[i]));
    REQUIRE(to_vector(filled.entries)[static_cast<std::size_t>(diagonal[i])] == static_cast<Ordinal>(i));
    if (n > 200) break;
  }
  return result;
}

}  // namespace lutra::Test

#endif
