// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_MATRIXCALLS_HPP
#define LUTRA_MATRIXCALLS_HPP

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "Lutra_CsrView.hpp"
#include "Lutra_HostColumns.hpp"
#include "Lutra_MatrixInput.hpp"
#include "Lutra_Outcome.hpp"
#include "Lutra_Reasons.hpp"
#include "Lutra_Report.hpp"
#include "Lutra_ToDevice.hpp"

namespace lutra {

template <class Scalar, class ExecutionSpace>
class Solver;

namespace Impl {

/// The pattern that a solver has analyzed, and how later matrices are compared with it.
template <class Memory>
struct AnalyzedPattern {
  const CsrPattern<Ordinal, Offset, Memory>* pattern;  ///< null before the first analysis
  bool validate = true;
  Triangle read = Triangle::both;
};

/// Calls common to all solvers, for matrices and right-hand sides on the host or on the device. Column
/// indices are int or std::int64_t; row pointers are int, std::int64_t or std::size_t. Values are always read
/// in place.
/// @tparam Solver class with analyze_matrix(A) for a matrix that has passed check_square_matrix, factorize(A)
///                for a matrix of the library's own types, has_analysis(), analyzed_pattern(), triangle(),
///                rows() and report()
template <class Solver, class Scalar, class ExecutionSpace>
class MatrixCalls {
  template <class, class>
  friend class lutra::Solver;

 public:
  using memory_space = typename ExecutionSpace::memory_space;
  using matrix_type = CsrView<Scalar, Ordinal, Offset, memory_space>;
  using host_matrix_type = HostMatrix<Scalar>;

  /// Analyzes a square matrix. Call it once for each pattern. Afterwards `report().status` is `not_solved`,
  /// or `structurally_singular` if no factorization is possible. An earlier analysis and its factors are
  /// freed when the new analysis is complete; until then both are charged to the same memory limit. Fences.
  /// @returns success, the status of a matrix that cannot be factorized, or `cancelled`; the solver and its
  ///          report are then unchanged
  /// @throws InputError, naming row and column, if the matrix is not square, has 2³¹ rows or more, has
  ///         unsorted or repeated columns or indices out of range, or contains NaN or infinity;
  ///         OutOfMemoryError. The solver is then unchanged.
  [[nodiscard]] Status analyze(const matrix_type& A) {
    return stoppable_analysis([&] {
      check_square_matrix(m_exec, A, m_check, self().triangle());
      return analyze_checked(A);
    });
  }
  /// Overload for other index types. Column indices of type std::int64_t and row pointers of type int are
  /// converted on the device, within the memory limit.
  template <class Value, class Index, class Integer, class Memory>
  [[nodiscard]] Status analyze(const CsrView<Value, Index, Integer, Memory>& A) {
    return stoppable_analysis([&] {
      MatrixReader<Scalar, ExecutionSpace> reader;  // frees the converted arrays when it is destroyed
      const auto converted = reader.read(m_exec, A, m_budget, self().triangle());
      const Status status = std::is_same_v<Index, Ordinal> ? analyze(converted) : analyze_checked(converted);
      m_exec.fence("lutra::solver: converted indices are freed");
      return status;
    });
  }
  /// Overload for host matrices. Copies the matrix to the device if the execution space cannot access host
  /// memory.
  template <class Value, class Index, class Integer>
  [[nodiscard]] Status analyze(const HostMatrix<Value, Index, Integer>& A) {
    return stoppable_analysis([&] {
      MemoryReservation reservation(m_budget);
      return analyze(to_device(m_exec, reservation, A));
    });
  }

  /// Overload of the solver's `factorize` for other index types. Compares the pattern in place.
  template <class Value, class Index, class Integer, class Memory>
  [[nodiscard]] Status factorize(const CsrView<Value, Index, Integer, Memory>& A) {
    require_analysis("factorize");
    return stopped("factorize", [&] { return self().factorize(as_analyzed(A)); });
  }
  /// Overload for host matrices. Copies the matrix to the device if the execution space cannot access host
  /// memory.
  template <class Value, class Index, class Integer>
  [[nodiscard]] Status factorize(const HostMatrix<Value, Index, Integer>& A) {
    require_analysis("factorize");
    return stopped("factorize", [&] {
      MemoryReservation reservation(m_budget);
      const Status status = self().factorize(to_device(m_exec, reservation, A));
      m_exec.fence("lutra::solver: the copy of the matrix is freed");
      return status;
    });
  }

  /// Returns the control of this solver's calls, for objects whose calls consist of several of them.
  const RunControl& run_control() const noexcept { return m_budget.run(); }

 protected:
  Status analyze_checked(const matrix_type& A) {
    self().analyze_matrix(A);
    return outcome();
  }

  MatrixCalls(const ExecutionSpace& exec, const MemoryBudget& budget)
      : m_exec(exec), m_budget(budget.with_control()), m_check(exec, m_budget) {}

  /// Runs one of the solver's calls, which returns a Status. @returns `cancelled` if it was stopped
  /// @param name of the call; static text
  template <class Call>
  Status stopped(std::string_view name, const Call& call) {
    return stoppable(m_exec, m_budget.run(), self().options(), name, call);
  }
  /// The same for an analysis, whose choices it tells.
  template <class Call>
  Status stoppable_analysis(const Call& call) {
    return stopped("analyze", [&] {
      const Status status = call();
      tell_choices(m_budget, self().report().choice);
      return status;
    });
  }

  /// Returns a matrix with other index types as a matrix on the analyzed pattern.
  template <class Value, class Index, class Integer, class Memory>
  matrix_type as_analyzed(const CsrView<Value, Index, Integer, Memory>& A) {
    const auto reached = MatrixReader<Scalar, ExecutionSpace>::in_reach(A);
    if constexpr (std::is_same_v<decltype(reached), const matrix_type>) {
      return reached;
    } else {
      const AnalyzedPattern<memory_space> known = self().analyzed_pattern();
      const auto& pattern = *known.pattern;
      check_same_pattern(m_exec, reached, pattern, m_check, known.validate, known.read);
      return {pattern.n_rows, pattern.n_cols, pattern.row_map, pattern.entries, reached.values};
    }
  }

  /// @throws CallOrderError if there is no analysis
  void require_analysis(const char* call) const {
    if (!self().has_analysis())
      throw CallOrderError(std::string(call) + ": there is no analysis; call analyze first");
  }

  /// Calls solve(B, X) for host arrays of n·k values stored by columns.
  template <class Solve>
  auto on_host_arrays(std::span<const Scalar> B, std::span<Scalar> X, const Solve& solve) const {
    require_analysis("solve");
    return solve_host_columns(m_exec, m_budget, self().rows(), B, X, solve);
  }

  ExecutionSpace m_exec;
  MemoryBudget m_budget;
  MatrixCheckWorkspace<ExecutionSpace> m_check;

  Status outcome() const { return outcome_of(self().report().status); }

 private:
  Solver& self() { return static_cast<Solver&>(*this); }
  const Solver& self() const { return static_cast<const Solver&>(*this); }
};

}  // namespace Impl

}  // namespace lutra

#endif
