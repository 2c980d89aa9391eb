// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SCHURCOMPLEMENT_HPP
#define LUTRA_SCHURCOMPLEMENT_HPP

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "Lutra_CheckVector.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_SchurBlocks.hpp"
#include "Lutra_Status.hpp"

namespace lutra {

/// The Schur complement S = Ass − Asr·Arr⁻¹·Ars onto a set s of rows and columns of a square matrix, r being
/// the others, as a dense View; and what a user does with it: A·X = B is G = condense(B), S·Y = G with any
/// dense solver, X = expand(B, Y). Arr alone has to be regular.
///
/// Arr is factorized by a direct solver, with its refinement and all it reports, and S comes out of the same
/// factorization: the set is a last front, which is assembled and not eliminated. S may be singular. It is
/// made by solves with Arr instead, one with as many right-hand sides as the set has rows, 32 at a time,
/// where LU has perturbed pivots or does not work by fronts, or LDLᵀ finds Arr structurally singular. Of a
/// symmetric matrix S is symmetric, by solves to rounding.
/// @tparam Solver SparseLU or SparseLDLT; for the latter both triangles of A are given
template <template <class, class> class Solver, class Scalar,
          class ExecutionSpace = Kokkos::DefaultExecutionSpace>
class SchurComplement {
 public:
  using solver_type = Solver<Scalar, ExecutionSpace>;
  using matrix_type = CsrView<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>;
  using columns_type = Kokkos::View<Scalar**, Kokkos::LayoutLeft, typename ExecutionSpace::memory_space>;
  using input_type = Kokkos::View<const Scalar**, Kokkos::LayoutLeft, typename ExecutionSpace::memory_space>;

  /// @param solver with the options for Arr, on `exec`
  /// @param budget of all that is not the solver's: S, Arr, the pattern of A and 32 columns
  explicit SchurComplement(solver_type solver, const ExecutionSpace& exec = ExecutionSpace(),
                           const MemoryBudget& budget = MemoryBudget())
      : m_solver(std::move(solver)), m_exec(exec), m_budget(budget) {}

  /// @param set rows of A, in the order of the rows of S
  /// @returns success, or the status of Arr where it cannot be factorized
  /// @throws InputError for rows out of range or twice in the set, for a malformed matrix
  ///         (check_square_matrix), for SparseLDLT one that is not symmetric, and for what the solver
  ///         refuses; OutOfMemoryError: nothing has changed. Fences.
  [[nodiscard]] Status analyze(const matrix_type& A, const std::vector<Ordinal>& set) {
    Blocks blocks(m_exec, A, set, symmetry(), m_budget);
    MemoryReservation reservation(m_budget);
    const auto matrix = reservation.template allocate<columns_type>(m_exec, "lutra::solver::schur_complement",
                                                                    set.size(), set.size());
    auto border = set.empty() || blocks.rest_rows() == 0 ? nullptr : blocks.border(m_exec, A, matrix);
    const Status status =
        blocks.rest_rows() > 0 ? m_solver.analyze(blocks.rest(m_exec, A), border) : Status::success;
    // Nothing has changed until here, and nothing throws from here on.
    m_has_factors = false;
    m_A = {};
    m_border = std::move(border);
    m_blocks = std::move(blocks);
    m_matrix = matrix;
    m_reservation = std::move(reservation);
    return status;
  }

  /// Factorizes Arr of a matrix with the pattern of the analysis and computes S. Its values are needed by
  /// condense and expand. Fences.
  /// @returns success, or how the factorization or one of the solves ended; then S has no meaning
  /// @throws CallOrderError without an analysis; InputError where the pattern is another one, a value of any
  ///         row is NaN or infinite, or SparseLDLT is given a matrix that is not symmetric: nothing has
  ///         changed. OutOfMemoryError, TimeoutError: there are no factors
  [[nodiscard]] Status factorize(const matrix_type& matrix) {
    if (!m_blocks) throw CallOrderError("factorize: there is no analysis; call analyze first");
    m_blocks->check(m_exec, matrix, m_solver.options().validate_input);
    m_has_factors = false;
    const matrix_type A = m_A = m_blocks->on_own_pattern(matrix);
    if (m_blocks->rest_rows() > 0) {
      if (m_border) m_blocks->set_border(m_exec, A, *m_border);
      const Status status = m_solver.factorize(m_blocks->rest(m_exec, A));
      if (status != Status::success) return status;
    }
    if (m_border && m_border->is_planned && m_solver.report().pivots.perturbed.value_or(0) == 0) {
      m_exec.fence("lutra::solver: the Schur complement is complete");
      m_has_factors = true;
      return Status::success;
    }
    return factorize_by_solves(A);
  }

  /// [set × set] S by columns
  input_type matrix() const { return m_matrix; }

  /// G = Bs − Asr·Arr⁻¹·Br
  /// @param B [n × k]
  /// @param G [set × k] out
  /// @throws CallOrderError unless `factorize` succeeded; InputError for extents that do not fit, NaN or
  ///         infinity: nothing has changed
  Status condense(const input_type& B, const columns_type& G) {
    MemoryReservation scratch(m_budget);
    const auto R = begin(B, G.extent(0), G.extent(1), scratch);
    m_blocks->divide(m_exec, B, R, G);
    const Status status = solve(R);
    if (status == Status::success) m_blocks->subtract_set_rows(m_exec, m_A, R, G);
    m_exec.fence("lutra::solver: right-hand sides are condensed");
    return status;
  }

  /// Xs = Y, Xr = Arr⁻¹·(Br − Ars·Y)
  /// @param B [n × k]
  /// @param Y [set × k]
  /// @param X [n × k] out; may be B
  /// @throws as condense
  Status expand(const input_type& B, const input_type& Y, const columns_type& X) {
    MemoryReservation scratch(m_budget);
    if (X.extent(0) != B.extent(0) || X.extent(1) != B.extent(1))
      throw InputError("X: it does not have the extents of B");
    const auto R = begin(B, Y.extent(0), Y.extent(1), scratch);
    Impl::check_finite(m_exec, "Y", Y);
    m_blocks->divide(m_exec, B, R,
                     allocate(scratch, m_blocks->set_rows(), static_cast<Ordinal>(B.extent(1))));
    m_blocks->subtract_rest_rows(m_exec, m_A, Y, R);
    const Status status = solve(R);
    m_blocks->unite(m_exec, R, Y, X);
    m_exec.fence("lutra::solver: solutions are complete");
    return status;
  }

  /// The solver of Arr, its report and inertia.
  const solver_type& solver() const noexcept { return m_solver; }

 private:
  using Blocks = Impl::SchurBlocks<Scalar, ExecutionSpace>;

  /// S column by column.
  Status factorize_by_solves(const matrix_type& A) {
    MemoryReservation scratch(m_budget);
    const Ordinal width = std::min<Ordinal>(32, m_blocks->set_rows());
    const auto block = allocate(scratch, m_blocks->rest_rows(), width);
    for (Ordinal first = 0; first < m_blocks->set_rows(); first += width) {
      const Ordinal end = std::min<Ordinal>(first + width, m_blocks->set_rows());
      const columns_type X = Kokkos::subview(block, Kokkos::ALL, std::pair<Ordinal, Ordinal>(0, end - first));
      m_blocks->columns_of_set(m_exec, A, first, X);
      const Status status = solve(X);
      if (status != Status::success) return status;
      m_blocks->complement(m_exec, A, first, X,
                           Kokkos::subview(m_matrix, Kokkos::ALL, std::pair<Ordinal, Ordinal>(first, end)));
    }
    m_exec.fence("lutra::solver: the Schur complement is complete");
    m_has_factors = true;
    return Status::success;
  }
  columns_type allocate(MemoryReservation& reservation, Ordinal rows, Ordinal columns) const {
    return reservation.template allocate<columns_type>(m_exec, "lutra::solver::schur_columns", rows, columns);
  }
  Status solve(const columns_type& X) {
    return X.extent(0) == 0 || X.extent(1) == 0 ? Status::success : m_solver.solve(X, X);
  }
  /// Room for Br.
  columns_type begin(const input_type& B, std::size_t rows, std::size_t columns,
                     MemoryReservation& scratch) const {
    if (!m_has_factors) throw CallOrderError("SchurComplement: there are no factors; call factorize first");
    const auto n = static_cast<std::size_t>(m_blocks->rest_rows() + m_blocks->set_rows());
    if (B.extent(0) != n || rows != static_cast<std::size_t>(m_blocks->set_rows()) || columns != B.extent(1))
      throw InputError("B: it needs " + std::to_string(n) + " rows, what belongs to the set " +
                       std::to_string(m_blocks->set_rows()) + ", and both as many columns");
    Impl::check_finite(m_exec, "B", B);
    return allocate(scratch, m_blocks->rest_rows(), static_cast<Ordinal>(columns));
  }
  /// What A has to be.
  std::optional<Symmetry> symmetry() const {
    const auto& options = m_solver.options();
    if constexpr (requires { options.symmetry; })
      return options.positive_definite ? Symmetry::hermitian : options.symmetry;
    return std::nullopt;
  }

  solver_type m_solver;
  ExecutionSpace m_exec;
  MemoryBudget m_budget;
  std::optional<Blocks> m_blocks;                               ///< none before the first analysis
  std::shared_ptr<typename solver_type::border_type> m_border;  ///< none without set or rest
  matrix_type m_A;                                              ///< of the last factorization
  columns_type m_matrix;
  MemoryReservation m_reservation;  ///< of it
  bool m_has_factors = false;
};

}  // namespace lutra

#endif
