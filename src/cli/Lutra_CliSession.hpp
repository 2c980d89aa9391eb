// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CLISESSION_HPP
#define LUTRA_CLISESSION_HPP

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "Lutra_Allocate.hpp"
#include "Lutra_CliBackend.hpp"
#include "Lutra_CliInterrupt.hpp"
#include "Lutra_CliMemory.hpp"
#include "Lutra_CliOptions.hpp"
#include "Lutra_CliOutput.hpp"
#include "Lutra_CliRecord.hpp"
#include "Lutra_CliSystem.hpp"
#include "Lutra_MatrixProperties.hpp"
#include "Lutra_Report.hpp"
#include "Lutra_Solver.hpp"

namespace lutra::Cli {

/// Median; the mean of the two middle values for an even number of values; empty for none.
inline std::optional<double> median(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// The "matrix" part of a record.
template <class Scalar>
MatrixSummary summarize(const std::string& file, const MatrixProperties& properties) {
  return {file,
          properties.rows,
          properties.cols,
          properties.nnz,
          scalar_name<Scalar>(),
          properties.pattern_symmetry,
          properties.value_symmetry,
          properties.structural_rank,
          properties.zero_diagonals};
}

/// The matrix in the execution space's memory; copied unless that is host memory.
template <class Memory, class Scalar>
CsrView<Scalar, int, std::int64_t, Memory> to_memory(const HostMatrix<Scalar>& A) {
  const auto host = make_view(A);
  return {A.n_rows, A.n_cols, Impl::mirror_in<Memory>(host.row_map), Impl::mirror_in<Memory>(host.entries),
          Impl::mirror_in<Memory>(host.values)};
}

inline Transposition transposition(const Arguments& arguments) {
  return arguments.adjoint     ? Transposition::adjoint
         : arguments.transpose ? Transposition::transposed
                               : Transposition::none;
}

/// One solver for one pattern; records each solve.
template <class Scalar, class ExecutionSpace>
class Session {
  using Memory = typename ExecutionSpace::memory_space;
  using Columns = Kokkos::View<Scalar**, Kokkos::LayoutLeft, Memory>;
  using HostColumns = Kokkos::View<Scalar**, Kokkos::LayoutLeft, Kokkos::HostSpace>;
  using ConstHostColumns = Kokkos::View<const Scalar**, Kokkos::LayoutLeft, Kokkos::HostSpace>;

 public:
  Session(const Arguments& arguments, const ProgramOptions& options)
      : m_arguments(arguments),
        m_options(options),
        m_budget(options.solver.memory_limit),
        m_progress(!arguments.quiet),
        m_solver(observed(options.solver), ExecutionSpace(), m_budget) {}
  Session(const Session&) = delete;  // m_solver refers to m_progress
  Session& operator=(const Session&) = delete;

  const ProgramOptions& options() const { return m_options; }

  /// Solves with a matrix of the session's pattern, which the first call sets. Completes `record` except for
  /// the reading time. Running out of memory becomes the record's status, as does a stop.
  /// @param B [n × n_rhs] by columns
  /// @returns X like B; meaningful if the report has errors
  std::vector<Scalar> solve(const HostMatrix<Scalar>& A, const std::vector<Scalar>& B, ReportRecord& record) {
    std::vector<Scalar> X(B.size());
    record.run = describe_run<ExecutionSpace>();
    const Interruptible listening;
    try {
      solve_on_device(A, B, X, record.report);
      record.message = record.report.status == Status::success ? "" : describe(record.report, 1);
    } catch (const CancelledError&) {
      record.report = m_solver.report();
      record.report.status = Status::cancelled;
      record.report.errors = {};
      record.message = describe(record.report, 1);
    } catch (const OutOfMemoryError& error) {
      run_out_of_memory(record, error.what());
      const bool streamed = m_options.solver.factor_storage == FactorStorage::streamed;  // states the need
      if (m_arguments.is_given("--memory-limit") && !streamed)
        record.message += needed_text(A, m_options.solver, m_solver.method(), record.report,
                                      forecast(B.size() / static_cast<std::size_t>(A.n_rows)),
                                      error.needed_bytes(), B.size() / static_cast<std::size_t>(A.n_rows));
    } catch (const std::bad_alloc& error) {
      run_out_of_memory(record, error.what());
    }
    count_rows_from_one(record.report);
    add_backend_reason(m_options, record.report.choice);
    m_progress.clear();
    return X;
  }

 private:
  /// The options with Ctrl-C, and with a bar on a terminal.
  SolverOptions observed(SolverOptions options) {
    options.stop = interrupt_flag();
    if (!m_progress.is_active()) return options;
    Observers observers = options.observers ? *options.observers : Observers();
    observers.progress = [this](const lutra::Progress& now) {
      m_progress.show(now.stage, now.share, now.seconds);
      return true;
    };
    options.observers = std::make_shared<const Observers>(std::move(observers));
    return options;
  }

  /// @throws CancelledError if a call was stopped
  static void complete(Status status) {
    if (status == Status::cancelled) throw CancelledError();
  }

  /// Empty before the first analysis, too.
  std::optional<MemoryForecast> forecast(std::size_t n_rhs) const {
    constexpr std::size_t most = 1 << 20;
    return m_analyzed ? m_solver.forecast(static_cast<int>(std::min(n_rhs, most))) : std::nullopt;
  }
  void run_out_of_memory(ReportRecord& record, const char* message) const {
    record.report = m_solver.report();
    record.report.status = Status::out_of_memory;
    record.report.memory.device_peak_bytes = m_budget.peak_bytes();
    if (m_budget.limit_bytes() > 0) record.report.memory.limit_bytes = m_budget.limit_bytes();
    record.message = message;
  }

  void solve_on_device(const HostMatrix<Scalar>& A, const std::vector<Scalar>& B, std::vector<Scalar>& X,
                       Report& report) {
    const Kokkos::Timer timer;
    const auto device_A = to_memory<Memory>(A);
    const bool first = !m_analyzed;
    if (first) {
      m_progress.show("analyzing");
      complete(m_solver.analyze(device_A));
      m_analyzed = true;
    }
    m_progress.show("factorizing");
    const Method method = m_solver.method();
    complete(m_solver.factorize(device_A));
    m_progress.show("solving");
    upload(B, static_cast<std::size_t>(A.n_rows));
    solve_again();
    Kokkos::deep_copy(HostColumns(X.data(), m_X.extent(0), m_X.extent(1)), m_X);
    report = m_solver.report();
    report.times.total = timer.seconds();
    if (!first && m_solver.method() == method) forget_analysis(report.times);
    if (m_arguments.repeat) repeat(device_A, report);
  }

  void upload(const std::vector<Scalar>& B, std::size_t n) {
    const std::size_t n_rhs = B.size() / n;
    if (m_B.extent(0) != n || m_B.extent(1) != n_rhs) {
      m_B = Impl::make_uncounted<Columns>("lutra::cli::B", n, n_rhs);
      m_X = Impl::make_uncounted<Columns>("lutra::cli::X", n, n_rhs);
    }
    Kokkos::deep_copy(m_B, ConstHostColumns(B.data(), n, n_rhs));
  }

  Status solve_again() {
    const Status status = m_solver.solve(m_B, m_X, transposition(m_arguments));
    complete(status);
    return status;
  }

  // Clears times of stages that ran for an earlier matrix of the sequence.
  static void forget_analysis(StageTimes& times) {
    times.matching = times.ordering = times.symbolic = times.levelization = times.numeric = std::nullopt;
  }

  // Refactorizes and solves repeatedly; the times of `report` become medians. A run whose status differs from
  // the first replaces the report.
  void repeat(const CsrView<Scalar, int, std::int64_t, Memory>& A, Report& report) {
    constexpr int warm_ups = 2;  // runs not counted: the first ones find cold caches
    std::vector<double> refactor, solve, refine;
    for (int run = 0; run < warm_ups + *m_arguments.repeat; ++run) {
      m_progress.show("run " + std::to_string(run + 1) + " of " +
                      std::to_string(warm_ups + *m_arguments.repeat));
      complete(m_solver.factorize(A));
      if (solve_again() != report.status) {
        report = m_solver.report();
        return;
      }
      if (run < warm_ups) continue;
      const StageTimes& times = m_solver.report().times;
      if (times.refactor) refactor.push_back(*times.refactor);
      if (times.solve) solve.push_back(*times.solve);
      if (times.refine) refine.push_back(*times.refine);
    }
    report.times.refactor = median(std::move(refactor));
    report.times.solve = median(std::move(solve));
    report.times.refine = median(std::move(refine));
  }

  const Arguments& m_arguments;
  ProgramOptions m_options;
  MemoryBudget m_budget;
  Progress m_progress;
  Solver<Scalar, ExecutionSpace> m_solver;
  bool m_analyzed = false;
  Columns m_B, m_X;  // [n × n_rhs], reused between matrices
};

}  // namespace lutra::Cli

#endif
