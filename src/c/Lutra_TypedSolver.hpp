// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TYPEDSOLVER_HPP
#define LUTRA_TYPEDSOLVER_HPP

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "Lutra_AnySolver.hpp"
#include "Lutra_CsrView.hpp"
#include "Lutra_DescribeRun.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_MatrixArguments.hpp"
#include "Lutra_MethodOptions.hpp"
#include "Lutra_ScalarTraits.hpp"
#include "Lutra_Solver.hpp"
#include "Lutra_SparseILU.hpp"

namespace lutra::C {

/// AnySolver for lutra::Solver or SparseILU. The C++ object receives its options when constructed, so the
/// first analysis constructs it, and an analysis after a change of options constructs it anew.
template <template <class, class> class SolverOf, class Scalar, class Space>
class TypedSolver final : public AnySolver {
  using Solver = SolverOf<Scalar, Space>;
  using Ldlt = SparseLDLT<Scalar, Space>;
  using Memory = typename Space::memory_space;
  using Host = Kokkos::HostSpace;
  static constexpr bool on_host = Impl::is_host_space<Space>;
  static constexpr bool is_incomplete = std::is_same_v<Solver, SparseILU<Scalar, Space>>;

 public:
  TypedSolver(const Impl::MethodOptions& options, int index) : m_index(index), m_options(options) {}

  void set_option(std::string_view name, std::string_view value) override {
    m_options.set(name, value);
    if (name != "deadline") m_changed = true;
    if (m_solver) m_solver->run_control().set_deadline(m_options.common().deadline);
  }
  std::vector<NamedOption> options() const override { return m_options.list(); }
  void set_memory(lutra_memory memory) override { m_memory = memory; }

  void set_stop(std::shared_ptr<StopFlag> stop) override { m_options.common().stop = std::move(stop); }
  void set_observers(std::shared_ptr<const Observers> observers) override {
    Observers all = observers ? *observers : Observers();
    if (const auto& own = m_options.common().observers) all.event = own->event;
    m_options.common().observers = std::make_shared<const Observers>(std::move(all));
    m_changed = true;
  }

  void set_permutation(std::vector<std::int64_t> permutation) override {
    m_options.set_permutation(permutation);
    m_changed = true;
  }

  void set_log(std::function<void(const Event&)> log) override {
    m_options.set_log(std::move(log));
    m_changed = true;
  }

  void set_stream(void* stream) override {
    require(!on_host || stream == nullptr, "stream: the backend " + backend_name<Space>() + " has none");
    m_stream = stream;
    m_changed = true;
  }

  void analyze(const lutra_matrix& A) override {
    if (m_solver && !m_changed) {
      with_matrix(A, [&](const auto& matrix) { complete(m_solver->analyze(matrix)); });
    } else {
      replace_solver(A);
    }
    m_rows = A.n_rows;
    m_nnz = A.nnz;
  }

  void factorize(const lutra_matrix& A) override {
    analyzed("lutra_factorize");
    with_matrix(A, [&](const auto& matrix) { complete(m_solver->factorize(matrix)); });
  }

  void factorize_shifted(const lutra_matrix& A, const void* shift) override {
    with_ldlt("lutra_factorize_shifted", [&](Ldlt& solver) {
      require(shift != nullptr, "shift: it is null");
      check_matrix(A);
      require(on_host || m_memory == LUTRA_DEVICE,
              "shift: lutra_factorize_shifted takes arrays on the device (lutra_set_memory)");
      const typename Ldlt::shift_type diagonal(static_cast<const RealOf<Scalar>*>(shift),
                                               static_cast<std::size_t>(A.n_rows));
      with_matrix(A, [&](const auto& matrix) {
        if constexpr (requires { solver.factorize(matrix, diagonal); })
          complete(solver.factorize(matrix, diagonal));
      });
    });
  }

  void solve(int operation, const Columns& columns) override {
    const Transposition op = to_transposition(operation);
    analyzed("lutra_solve");
    if constexpr (is_incomplete) {
      throw InputError("lutra_solve: incomplete factors are no solver; use lutra_apply, or LUTRA_KRYLOV");
    } else {
      run(
          columns, [&](const auto& B, const auto& X) { complete(m_solver->solve(B, X, op)); },
          [&](auto B, auto X) { complete(m_solver->solve_host(B, X, op)); });
    }
  }

  void apply(Transposition op, const Columns& columns) override {
    analyzed("lutra_apply");
    if constexpr (is_incomplete) {
      run(
          columns, [&](const auto& B, const auto& X) { m_solver->apply(B, X, op); },
          [&](auto B, auto X) { m_solver->apply_host(B, X, op); });
    } else {
      throw InputError("lutra_apply: it belongs to LUTRA_ILU; use lutra_solve");
    }
  }

  void solve_parts(int parts, Transposition op, const Columns& columns) override {
    with_ldlt("lutra_solve_parts", [&](Ldlt& solver) {
      require(on_host || m_memory == LUTRA_DEVICE,
              "B: lutra_solve_parts takes arrays on the device (lutra_set_memory)");
      const LdltParts chosen{(parts & LUTRA_LOWER) != 0, (parts & LUTRA_DIAGONAL) != 0,
                             (parts & LUTRA_UPPER) != 0};
      run(
          columns, [&](const auto& B, const auto& X) { solver.solve_parts(B, X, chosen, op); },
          [](auto, auto) {});
    });
  }

  double determinant(void* sign) const override {
    double log_magnitude = 0;
    with_ldlt("lutra_determinant", [&](Ldlt& solver) {
      const auto determinant = solver.determinant();
      *static_cast<Scalar*>(sign) = determinant.sign;
      log_magnitude = determinant.log_magnitude;
    });
    return log_magnitude;
  }

  bool increase_quality() override {
    bool raised = false;
    with_ldlt("lutra_increase_quality", [&](Ldlt& solver) { raised = solver.increase_quality(); });
    return raised;
  }

  std::optional<MemoryForecast> forecast(std::int64_t n_rhs) const override {
    analyzed("lutra_forecast");
    constexpr std::int64_t most = 1 << 20;
    return m_solver->forecast(static_cast<int>(std::min(n_rhs, most)));
  }

  const Report& report() const override { return m_solver ? m_solver->report() : m_no_report; }

  ReportRecord record() const override {
    ReportRecord record;
    record.run = describe_run<Space>();
    record.matrix.rows = record.matrix.cols = m_rows;
    record.matrix.nnz = m_nnz;
    constexpr const char* names[] = {"f32", "f64", "c64", "c128"};
    record.matrix.scalar = names[scalar_of<Scalar>];
    record.report = report();
    record.matrix.structural_rank = record.report.structural_rank;
    if (record.report.status != Status::success) record.message = describe(record.report);
    return record;
  }

 private:
  /// @throws CancelledError if a call was stopped
  static void complete(Status status) {
    if (status == Status::cancelled) throw CancelledError();
  }

  /// The previous solver lives until its successor is complete. Both are charged to one limit, the new one.
  void replace_solver(const lutra_matrix& A) {
    const std::size_t former_limit = m_budget.limit_bytes();
    m_budget.set_limit(m_options.memory_limit());
    try {
      auto solver = make_solver();
      with_matrix(A, [&](const auto& matrix) { complete(solver->analyze(matrix)); });
      m_solver = std::move(solver);
      m_changed = false;
    } catch (...) {
      m_budget.set_limit(former_limit);
      throw;
    }
  }

  std::unique_ptr<Solver> make_solver() const {
    if constexpr (is_incomplete)
      return std::make_unique<Solver>(m_options.ilu_options(), instance(), m_budget);
    else
      return std::make_unique<Solver>(m_options.solver_options(), instance(), m_budget);
  }

  void analyzed(const char* function) const {
    if (!m_solver)
      throw CallOrderError(std::string(function) + ": there is no analysis; call lutra_analyze first");
  }

  /// Calls call(solver) with the solver of LUTRA_LDLT and LUTRA_CHOLESKY.
  template <class Call>
  void with_ldlt(const char* function, const Call& call) const {
    require(m_options.is_ldlt(), std::string(function) + ": it belongs to LUTRA_LDLT and LUTRA_CHOLESKY");
    analyzed(function);
    if constexpr (!is_incomplete)
      m_solver->with_method([&](auto& solver) {
        if constexpr (std::is_same_v<std::decay_t<decltype(solver)>, Ldlt>) call(solver);
      });
  }

  Space instance() const { return instance_on<Space>(m_stream); }

  void check_matrix(const lutra_matrix& A) const { check_matrix_arguments(A, m_index); }

  /// Calls call(matrix) as with_matrix_types.
  template <class Call>
  void with_matrix(const lutra_matrix& A, const Call& call) const {
    with_matrix_types<Scalar, Space>(A, m_index, m_memory, call);
  }

  /// Calls in_place(B, X) with Views of the columns if the backend can access them, else on_host_arrays(B, X)
  /// with contiguous host columns.
  template <class InPlace, class OnHostArrays>
  void run(const Columns& c, const InPlace& in_place, const OnHostArrays& on_host_arrays) const {
    require(c.count >= 0, "n_rhs: it is " + std::to_string(c.count));
    require(c.ldb >= m_rows && c.ldx >= m_rows, "ldb " + std::to_string(c.ldb) + " and ldx " +
                                                    std::to_string(c.ldx) + " must be at least the matrix' " +
                                                    std::to_string(m_rows) + " rows");
    const bool empty = c.count == 0 || m_rows == 0;
    require(empty || (c.B != nullptr && c.X != nullptr), c.B == nullptr ? "B: it is null" : "X: it is null");
    const double bytes =
        static_cast<double>(c.count) * static_cast<double>(std::max(c.ldb, c.ldx)) * sizeof(Scalar);
    require(empty || bytes < 0x1p62, "n_rhs: " + std::to_string(c.count) + " columns, " +
                                         std::to_string(std::max(c.ldb, c.ldx)) +
                                         " values apart, are more than any memory holds");
    const auto n = static_cast<std::size_t>(m_rows), k = static_cast<std::size_t>(c.count);
    const auto ldb = static_cast<std::size_t>(c.ldb), ldx = static_cast<std::size_t>(c.ldx);
    const auto* B = static_cast<const Scalar*>(c.B);
    auto* X = static_cast<Scalar*>(c.X);
    if constexpr (!on_host) {
      if (m_memory == LUTRA_HOST && !empty) {
        std::vector<Scalar> packed_B(n * k), packed_X(n * k);
        for (std::size_t j = 0; j < k; ++j) {
          std::copy_n(B + j * ldb, n, packed_B.data() + j * n);
          std::copy_n(X + j * ldx, n,
                      packed_X.data() + j * n);  // a solve may start from X, or leave it unchanged
        }
        on_host_arrays(std::span<const Scalar>(packed_B), std::span<Scalar>(packed_X));
        for (std::size_t j = 0; j < k; ++j) std::copy_n(packed_X.data() + j * n, n, X + j * ldx);
        return;
      }
    }
    using Layout = Kokkos::LayoutStride;
    in_place(Kokkos::View<const Scalar**, Layout, Memory>(B, Layout(n, 1, k, ldb)),
             Kokkos::View<Scalar**, Layout, Memory>(X, Layout(n, 1, k, ldx)));
    if constexpr (on_host) Space().fence("lutra::c: X is complete on the host");
  }

  int m_index;  ///< LUTRA_INT32 or LUTRA_INT64, of columns
  Impl::MethodOptions m_options;
  bool m_changed = false;  ///< options or stream changed since m_solver was created
  lutra_memory m_memory = LUTRA_HOST;
  void* m_stream = nullptr;
  MemoryBudget m_budget;             ///< shared by m_solver and its successor
  std::unique_ptr<Solver> m_solver;  ///< null before the first analysis
  Report m_no_report;                ///< returned before the first analysis
  std::int64_t m_rows = 0, m_nnz = 0;
};

}  // namespace lutra::C

#endif
