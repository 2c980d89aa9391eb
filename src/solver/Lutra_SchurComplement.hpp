// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SCHURCOMPLEMENT_HPP
#define LUTRA_SCHURCOMPLEMENT_HPP

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "Lutra_CheckLaunches.hpp"
#include "Lutra_CheckVector.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_SchurBlocks.hpp"

namespace lutra {

/// Schur complement S = Ass − Asr·Arr⁻¹·Ars onto a set s of rows and columns of a square matrix, as a dense
/// View; r denotes the remaining rows and columns. To solve A·X = B, compute G = condense(B), solve S·Y = G
/// with any dense solver, and compute X = expand(B, Y). Only Arr has to be nonsingular; S may be singular.
///
/// A direct solver factorizes Arr, with its usual refinement and report, and the same factorization produces
/// S: the set forms a last front that is assembled but not eliminated. In some cases S is computed by solves
/// with Arr instead, with one right-hand side per row of the set, 32 at a time. This happens if LU perturbed
/// pivots or does not use fronts, or if LDLᵀ finds that Arr is structurally singular. If A is symmetric, S is
/// symmetric too; when it is computed by solves, it is symmetric up to rounding.
/// @tparam Solver SparseLU or SparseLDLT; SparseLDLT requires both triangles of A
template <template <class, class> class Solver, class Scalar,
          class ExecutionSpace = Kokkos::DefaultExecutionSpace>
class SchurComplement {
 public:
  using solver_type = Solver<Scalar, ExecutionSpace>;
  using matrix_type = CsrView<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>;
  using columns_type = Kokkos::View<Scalar**, Kokkos::LayoutLeft, typename ExecutionSpace::memory_space>;
  using input_type = Kokkos::View<const Scalar**, Kokkos::LayoutLeft, typename ExecutionSpace::memory_space>;

  /// Creates an object without an analysis.
  /// @param solver solver with the options for Arr, on `exec`
  /// @param budget charged for all memory that the solver does not own: S, Arr, the pattern of A and 32
  ///               columns
  explicit SchurComplement(solver_type solver, const ExecutionSpace& exec = ExecutionSpace(),
                           const MemoryBudget& budget = MemoryBudget())
      : m_solver(std::move(solver)), m_exec(exec), m_budget(budget.with_control(m_solver.run_control())) {}

  /// Analyzes A for the Schur complement onto a set. Fences.
  /// @param set rows of A, in the order of the rows of S
  /// @returns success, or the status of Arr if it cannot be factorized
  /// @throws InputError if a row is out of range or appears twice in the set, if the matrix is malformed
  ///         (check_square_matrix), if SparseLDLT is given an unsymmetric matrix, and for anything else that
  ///         the solver rejects; OutOfMemoryError. The object is then unchanged.
  [[nodiscard]] Status analyze(const matrix_type& A, const std::vector<Ordinal>& set) {
    return stopped("analyze", [&] {
      Blocks blocks(m_exec, A, set, symmetry(), m_budget);
      MemoryReservation reservation(m_budget);
      const auto matrix = reservation.template allocate<columns_type>(
          m_exec, "lutra::solver::schur_complement", set.size(), set.size());
      auto border = set.empty() || blocks.rest_rows() == 0 ? nullptr : blocks.border(m_exec, A, matrix);
      const Status status =
          blocks.rest_rows() > 0 ? m_solver.analyze(blocks.rest(m_exec, A), border) : Status::success;
      // Up to here nothing has changed; from here on nothing throws.
      m_has_factors = false;
      m_A = {};
      m_border = std::move(border);
      m_blocks = std::move(blocks);
      m_matrix = matrix;
      m_reservation = std::move(reservation);
      return status;
    });
  }

  /// Factorizes Arr of a matrix that has the analyzed pattern, and computes S. The values of the matrix must
  /// remain valid and unchanged for condense and expand. Fences.
  /// @returns success; unchecked if S follows from solves that the option `check` leaves unchecked; or the
  ///          status of the failed factorization or solve, and S is then undefined
  /// @throws CallOrderError if there is no analysis. InputError if the pattern differs, if a value in any row
  ///         is NaN or infinite, or if SparseLDLT is given an unsymmetric matrix; the object is then
  ///         unchanged. After OutOfMemoryError, TimeoutError or `cancelled` there are no factors.
  [[nodiscard]] Status factorize(const matrix_type& matrix) {
    if (!m_blocks) throw CallOrderError("factorize: there is no analysis; call analyze first");
    return stopped("factorize", [&] {
      m_blocks->check(m_exec, matrix, m_solver.options().validate_input);
      m_has_factors = false;
      const matrix_type A = m_A = m_blocks->on_own_pattern(matrix);
      if (m_blocks->rest_rows() > 0) {
        if (m_border) m_blocks->set_border(m_exec, A, *m_border);
        const Status status = m_solver.factorize(m_blocks->rest(m_exec, A));
        if (status != Status::success) return status;
      }
      if (m_border && m_border->is_planned && m_solver.report().pivots.perturbed.value_or(0) == 0) {
        Impl::wait_for(m_exec, "lutra::solver: the Schur complement is complete");
        m_has_factors = true;
        return Status::success;
      }
      return factorize_by_solves(A);
    });
  }

  /// Returns S, [set × set], stored by columns.
  input_type matrix() const { return m_matrix; }

  /// Computes G = Bs − Asr·Arr⁻¹·Br. Fences.
  /// @param B [n × k] right-hand sides
  /// @param G [set × k] output: condensed right-hand sides
  /// @returns success, or the status of the solve with Arr
  /// @throws CallOrderError unless `factorize` has succeeded. InputError if the extents do not match, or for
  ///         NaN or infinity; nothing has then changed. After OutOfMemoryError or TimeoutError the output is
  ///         undefined.
  Status condense(const input_type& B, const columns_type& G) {
    return stopped("condense", [&] {
      MemoryReservation scratch(m_budget);
      const auto R = begin(B, G.extent(0), G.extent(1), scratch);
      m_blocks->divide(m_exec, B, R, G);
      const Status status = solve(R);
      if (is_solved(status)) m_blocks->subtract_set_rows(m_exec, m_A, R, G);
      Impl::wait_for(m_exec, "lutra::solver: right-hand sides are condensed");
      return status;
    });
  }

  /// Computes Xs = Y and Xr = Arr⁻¹·(Br − Ars·Y). Fences.
  /// @param B [n × k] right-hand sides
  /// @param Y [set × k] solution on the set
  /// @param X [n × k] output: solution; may be B
  /// @returns success, or the status of the solve with Arr
  /// @throws as condense
  Status expand(const input_type& B, const input_type& Y, const columns_type& X) {
    return stopped("expand", [&] {
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
      Impl::wait_for(m_exec, "lutra::solver: solutions are complete");
      return status;
    });
  }

  /// Returns the solver of Arr, which has its report and inertia.
  const solver_type& solver() const noexcept { return m_solver; }

 private:
  using Blocks = Impl::SchurBlocks<Scalar, ExecutionSpace>;

  /// Runs a call within the limits in time of the solver's options.
  template <class Call>
  Status stopped(std::string_view name, const Call& call) {
    return stoppable(m_exec, m_budget.run(), m_solver.options(), name, call);
  }

  /// Computes S by solves with Arr, one block of columns after another.
  Status factorize_by_solves(const matrix_type& A) {
    Status result = Status::success;
    MemoryReservation scratch(m_budget);
    const Ordinal width = std::min<Ordinal>(32, m_blocks->set_rows());
    const auto block = allocate(scratch, m_blocks->rest_rows(), width);
    for (Ordinal first = 0; first < m_blocks->set_rows(); first += width) {
      const Ordinal end = std::min<Ordinal>(first + width, m_blocks->set_rows());
      const columns_type X = Kokkos::subview(block, Kokkos::ALL, std::pair<Ordinal, Ordinal>(0, end - first));
      m_blocks->columns_of_set(m_exec, A, first, X);
      const Status status = solve(X);
      if (!is_solved(status)) return status;
      if (status == Status::unchecked) result = status;
      m_blocks->complement(m_exec, A, first, X,
                           Kokkos::subview(m_matrix, Kokkos::ALL, std::pair<Ordinal, Ordinal>(first, end)));
    }
    Impl::wait_for(m_exec, "lutra::solver: the Schur complement is complete");
    m_has_factors = true;
    return result;
  }
  columns_type allocate(MemoryReservation& reservation, Ordinal rows, Ordinal columns) const {
    return reservation.template allocate<columns_type>(m_exec, "lutra::solver::schur_columns", rows, columns);
  }
  Status solve(const columns_type& X) {
    return X.extent(0) == 0 || X.extent(1) == 0 ? Status::success : m_solver.solve(X, X);
  }
  /// Checks the arguments and allocates memory for Br.
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
  /// Returns the symmetry that A must have, if any.
  std::optional<Symmetry> symmetry() const {
    const auto& options = m_solver.options();
    if constexpr (requires { options.symmetry; })
      return options.positive_definite ? Symmetry::hermitian : options.symmetry;
    return std::nullopt;
  }

  solver_type m_solver;
  ExecutionSpace m_exec;
  MemoryBudget m_budget;
  std::optional<Blocks> m_blocks;                               ///< empty before the first analysis
  std::shared_ptr<typename solver_type::border_type> m_border;  ///< null if the set or the rest is empty
  matrix_type m_A;                                              ///< matrix of the last factorization
  columns_type m_matrix;
  MemoryReservation m_reservation;  ///< memory of m_matrix
  bool m_has_factors = false;
};

}  // namespace lutra

#endif
