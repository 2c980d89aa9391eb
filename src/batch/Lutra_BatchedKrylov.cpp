// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_BatchedKrylov.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "Lutra_BatchEngine.hpp"
#include "Lutra_BatchIteration.hpp"
#include "Lutra_BatchWindow.hpp"
#include "Lutra_CheckEnumerator.hpp"
#include "Lutra_CheckMatrix.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_KrylovMethods.hpp"
#include "Lutra_Outcome.hpp"
#include "Lutra_RunStage.hpp"
#include "Lutra_ToDevice.hpp"
#include "Lutra_Upload.hpp"

namespace lutra {
namespace Impl {
namespace {

template <class Block>
auto column_of(const Block& block, std::size_t c) {
  return Kokkos::subview(block, Kokkos::ALL, c, Kokkos::ALL);
}

/// Whether a preconditioner of this status, after its factorization, can be applied.
bool has_factors(Status status) {
  return severity(status) <= severity(Status::not_converged);
}

}  // namespace

template <class Scalar, class ExecutionSpace>
BatchIteration<Scalar, ExecutionSpace>::BatchIteration(KrylovSolverOptions options,
                                                       const ExecutionSpace& exec)
    : m_options(std::move(options)),
      m_exec(exec),
      m_budget(MemoryBudget(m_options.memory_limit).with_control()) {
  check_options(m_options);
  if (m_options.side == PreconditionSide::split)
    throw InputError("side: split preconditioning does not exist for batches");
  if (m_options.residual_tolerance == 0)
    m_options.residual_tolerance = sizeof(RealOf<Scalar>) == 8 ? 1e-10 : 1e-5;
}

template <class Scalar, class ExecutionSpace>
auto BatchIteration<Scalar, ExecutionSpace>::analyze_preconditioner(const Matrix& A) const
    -> std::unique_ptr<Batch> {
  const auto over = [&](const auto& options) {
    DirectOptions numeric = numeric_options(options);
    numeric.validate_input = false;  // `factorize` has checked all values
    return std::make_unique<Batch>(analyze_checked<Scalar, ExecutionSpace>(m_exec, A, options, m_budget),
                                   numeric, m_exec, m_budget);
  };
  if (m_options.preconditioning == Preconditioning::ilu) return over(m_options.ilu_options());
  if (m_options.preconditioning == Preconditioning::lu) return over(for_batch(m_options.lu_options()));
  return nullptr;
}

template <class Scalar, class ExecutionSpace>
Status BatchIteration<Scalar, ExecutionSpace>::analyze(const Matrix& A) {
  return stoppable(m_exec, m_budget.run(), m_options, "analyze", [&] {
    const MatrixCheckWorkspace<ExecutionSpace> check(m_exec, m_budget);
    check_square_matrix(m_exec, A, check);
    auto own = analyze_preconditioner(A);
    MemoryReservation memory(m_budget);
    const auto pattern = copy_pattern(m_exec, memory, A.pattern());
    auto rows = to_host<Offset>(m_exec, pattern.row_map);
    auto entries = to_host<Ordinal>(m_exec, pattern.entries);
    const Status status = own && !own->analysis()->plan ? Status::structurally_singular : Status::success;
    // Up to here nothing has changed; from here on nothing throws.
    m_own = std::move(own);
    m_pattern = pattern;
    m_pattern_memory = std::move(memory);
    m_host_rows = std::move(rows);
    m_host_entries = std::move(entries);
    m_has_transposed = m_is_factorized = false;
    m_has_analysis = true;
    m_iteration.reset();
    m_report = {};
    return status;
  });
}

template <class Scalar, class ExecutionSpace>
void BatchIteration<Scalar, ExecutionSpace>::set_preconditioner(std::shared_ptr<Batch> M) {
  if (M && m_options.preconditioning != Preconditioning::none)
    throw InputError("preconditioner: the options ask for another one; they must say none");
  m_foreign = std::move(M);
}

/// [columns] flags, zero beyond those given. Fences.
template <class Scalar, class ExecutionSpace>
auto BatchIteration<Scalar, ExecutionSpace>::upload_flags(MemoryReservation& memory,
                                                          const std::vector<char>& flags) const -> Flags {
  constexpr std::size_t group = lanes_in_group<Scalar, ExecutionSpace>;
  const Flags result = memory.template allocate<Flags>(m_exec, "lutra::batch::flags",
                                                       (flags.size() + group - 1) / group * group);
  Kokkos::deep_copy(m_exec, result, char(0));
  Kokkos::deep_copy(m_exec, Kokkos::subview(result, std::pair(std::size_t(0), flags.size())),
                    Kokkos::View<const char*, Kokkos::HostSpace>(flags.data(), flags.size()));
  m_exec.fence("lutra::batch: flags are copied");
  return result;
}

/// @throws InputError naming the first system, row and column that are not finite
template <class Scalar, class ExecutionSpace>
void BatchIteration<Scalar, ExecutionSpace>::check_values(const Values& values, const Flags& is_read) const {
  using Layout = Kokkos::LayoutStride;
  const std::size_t nnz = values.extent(0);
  const ConstBlock block(values.data(), Layout(nnz, values.stride(0), 1, nnz * values.extent(1),
                                               values.extent(1), values.stride(1)));
  const std::int64_t first = first_not_finite(m_exec, block, is_read);
  if (first == all_finite_numbers) return;
  const Offset p = first % static_cast<std::int64_t>(nnz);
  const auto row = std::upper_bound(m_host_rows.begin(), m_host_rows.end(), p) - 1 - m_host_rows.begin();
  throw InputError(
      "values: " +
      name_entry(first / static_cast<std::int64_t>(nnz), row, m_host_entries[static_cast<std::size_t>(p)]) +
      " holds NaN or infinity");
}

template <class Scalar, class ExecutionSpace>
void BatchIteration<Scalar, ExecutionSpace>::check_block(const char* name, const ConstBlock& block,
                                                         const Flags& is_read) const {
  const std::int64_t first = first_not_finite(m_exec, block, is_read);
  if (first == all_finite_numbers) return;
  const auto rows = static_cast<std::int64_t>(block.extent(0)),
             columns = static_cast<std::int64_t>(block.extent(1));
  throw InputError(std::string(name) + ": " +
                   name_entry(first / (rows * columns), first % rows, first / rows % columns) +
                   " holds NaN or infinity");
}

/// Forgets the values and makes room for new ones.
template <class Scalar, class ExecutionSpace>
void BatchIteration<Scalar, ExecutionSpace>::start(std::size_t count, std::vector<char> active) {
  constexpr std::size_t group = lanes_in_group<Scalar, ExecutionSpace>;
  const std::size_t columns = (count + group - 1) / group * group;
  m_is_factorized = false;
  m_active = std::move(active);
  m_solved = m_active;
  m_report = {};
  m_report.systems = static_cast<std::int64_t>(count);
  m_report.statuses.assign(count, Status::not_solved);
  m_report.iterations.assign(count, 0);
  m_report.restarts.assign(count, 0);
  m_report.residuals.assign(count, std::numeric_limits<double>::quiet_NaN());
  const bool fits = m_columns == columns && m_values.extent(0) == static_cast<std::size_t>(m_pattern.nnz()) &&
                    (m_diagonal.extent(0) == n() || m_options.preconditioning != Preconditioning::jacobi);
  if (fits) return;
  m_exec.fence("lutra::batch: former values are freed");
  m_iteration.reset();
  m_values = m_diagonal = {};
  m_columns = 0;
  m_values_memory = MemoryReservation(m_budget);
  m_columns = columns;
  m_values = m_values_memory.template allocate<Rows>(m_exec, "lutra::batch::values",
                                                     static_cast<std::size_t>(m_pattern.nnz()), pitch());
  if (m_options.preconditioning == Preconditioning::jacobi)
    m_diagonal = m_values_memory.template allocate<Rows>(m_exec, "lutra::batch::diagonals", n(), columns);
}

/// Of the values that were copied. Systems whose preconditioner fails are not solved.
template <class Scalar, class ExecutionSpace>
void BatchIteration<Scalar, ExecutionSpace>::compute_preconditioners() {
  if (m_options.preconditioning == Preconditioning::jacobi)
    for_numbers("lutra::batch::diagonals", n(), m_columns,
                InvertDiagonals<Scalar, Memory>{m_pattern, m_values, m_diagonal});
  if (!m_own) return;
  const Values own(m_values.data(), Kokkos::LayoutStride(m_values.extent(0), m_values.extent(1), count(), 1));
  Kokkos::View<bool*, Kokkos::HostSpace> mask("lutra::batch::mask", count());
  for (std::size_t k = 0; k < count(); ++k) mask(k) = m_active[k] != 0;
  static_cast<void>(m_own->factorize(own, {mask.data(), mask.extent(0)}));
  for (std::size_t k = 0; k < count(); ++k) {
    const Status status = m_own->report().statuses[k];
    if (m_active[k] == 0 || has_factors(status)) continue;
    m_solved[k] = 0;
    m_report.statuses[k] = status;
  }
}

template <class Scalar, class ExecutionSpace>
Status BatchIteration<Scalar, ExecutionSpace>::factorize(const Values& values, const Mask& mask) {
  if (!m_has_analysis) throw CallOrderError("factorize: there is no analysis; call analyze first");
  return stoppable(m_exec, m_budget.run(), m_options, "factorize", [&] {
    if (static_cast<std::int64_t>(values.extent(0)) != m_pattern.nnz())
      throw InputError("values: they have " + std::to_string(values.extent(0)) +
                       " rows, but the pattern has " + std::to_string(m_pattern.nnz()) + " entries");
    check_mask(mask, values.extent(1));
    std::vector<char> active(values.extent(1), 1);
    for (std::size_t k = 0; k < mask.size(); ++k) active[k] = mask[k] ? 1 : 0;
    MemoryReservation scratch(m_budget);
    const Flags is_read = upload_flags(scratch, active);
    if (m_options.validate_input) check_values(values, is_read);
    m_budget.run().poll();  // up to here nothing has changed
    const RunStage stage(m_budget, "numeric");
    const Kokkos::Timer timer;
    return report_failure(
        [&] {
          start(values.extent(1), std::move(active));
          for_numbers("lutra::batch::load", m_values.extent(0), m_columns,
                      ReadSystems<Values, Rows, Flags>{values, m_values, is_read, 0});
          compute_preconditioners();
          m_exec.fence("lutra::batch: preconditioners are complete");
          m_is_factorized = true;
          finish_report();
          m_report.factorize_seconds = timer.seconds();
          return outcome_of(m_report.status);
        },
        [&](Status status) { m_report.status = status; });
  });
}

template <class Scalar, class ExecutionSpace>
void BatchIteration<Scalar, ExecutionSpace>::check_solve(const ConstBlock& B, const ConstBlock& X,
                                                         Transposition op) const {
  if (!m_is_factorized) throw CallOrderError("solve: there are no values; call factorize first");
  check_enumerator("op", op, Transposition::adjoint);
  const auto show = [](const ConstBlock& block) {
    return std::to_string(block.extent(0)) + " × " + std::to_string(block.extent(1)) + " × " +
           std::to_string(block.extent(2));
  };
  if (B.extent(0) != n() || B.extent(2) != count())
    throw InputError("solve: B is " + show(B) + ", but the batch has " + std::to_string(n()) + " rows and " +
                     std::to_string(count()) + " systems");
  for (int d = 0; d < 3; ++d)
    if (X.extent(d) != B.extent(d)) throw InputError("solve: X is " + show(X) + ", but B is " + show(B));
  if (m_foreign && (m_foreign->rows() != rows() || m_foreign->systems() != m_report.systems))
    throw InputError("preconditioner: it has " + std::to_string(m_foreign->rows()) + " rows and " +
                     std::to_string(m_foreign->systems()) + " systems, but the batch has " +
                     std::to_string(n()) + " and " + std::to_string(count()));
}

/// Has products and preconditioners skip the other systems of the window.
template <class Scalar, class ExecutionSpace>
void BatchIteration<Scalar, ExecutionSpace>::set_running(std::span<const char> running) {
  std::vector<char> flags(m_width, 0);
  for (std::size_t s = 0; s < m_width && m_first + s < count(); ++s) {
    flags[s] = m_solved[m_first + s] != 0 && running[s] != 0 ? 1 : 0;
    m_is_running_on_host(m_first + s) = flags[s] != 0;
  }
  Kokkos::deep_copy(m_exec, Kokkos::subview(m_is_running, std::pair(std::size_t(0), m_width)),
                    Kokkos::View<const char*, Kokkos::HostSpace>(flags.data(), m_width));
  m_exec.fence("lutra::batch: flags are copied");
}

/// Systems whose vectors stay in the cache, in whole groups. On devices all.
template <class Scalar, class ExecutionSpace>
std::size_t BatchIteration<Scalar, ExecutionSpace>::systems_in_cache() const {
  if (!is_host_space<ExecutionSpace>) return m_columns;
  constexpr std::size_t cache = std::size_t(1) << 19;  // of each thread
  constexpr std::size_t group = lanes_in_group<Scalar, ExecutionSpace>;
  const std::size_t vectors = m_options.method == KrylovMethod::gmres
                                  ? 8 + static_cast<std::size_t>(std::min(m_options.restart, 24))
                                  : 10;
  const auto threads = static_cast<std::size_t>(m_exec.concurrency());
  const std::size_t bytes = std::max<std::size_t>(1, n() * vectors * group * sizeof(Scalar));
  return std::clamp(threads * cache / bytes * group, std::min(group, m_columns), m_columns);
}

template <class Scalar, class ExecutionSpace>
void BatchIteration<Scalar, ExecutionSpace>::allocate_vectors(std::size_t window) {
  m_iteration.reset();
  m_B = m_X = m_wide = m_window_values = {};
  m_is_running = {};
  m_vectors_memory = MemoryReservation(m_budget);
  for (Rows* block : {&m_B, &m_X})
    *block = m_vectors_memory.template allocate<Rows>(m_exec, "lutra::batch::vectors", n(), window);
  if (window < m_columns)
    m_window_values = m_vectors_memory.template allocate<Rows>(
        m_exec, "lutra::batch::values", static_cast<std::size_t>(m_pattern.nnz()), window);
  if (window < m_columns && (m_own || m_foreign))
    m_wide = m_vectors_memory.template allocate<Rows>(m_exec, "lutra::batch::vectors", n(), pitch());
  m_is_running = m_vectors_memory.template allocate<Flags>(m_exec, "lutra::batch::flags", window);
  m_iteration = make_batched_iteration<Scalar>(
      m_exec, m_options.method, n(), window, m_options.restart, m_budget,
      {.is_batch = true, .tell = [this](std::span<const char> running) { set_running(running); }});
}

/// Half of the groups of a window, at least one.
template <class Scalar, class ExecutionSpace>
std::size_t BatchIteration<Scalar, ExecutionSpace>::half(std::size_t window) {
  constexpr std::size_t group = lanes_in_group<Scalar, ExecutionSpace>;
  return (window / group + 1) / 2 * group;
}

/// For windows as large as memory permits; a shorter restart of GMRES is the last resort.
template <class Scalar, class ExecutionSpace>
void BatchIteration<Scalar, ExecutionSpace>::reserve_vectors(std::size_t window) {
  m_exec.fence("lutra::batch: former vectors are freed");
  for (;; window = half(window)) {
    try {
      allocate_vectors(window);
      if (half(window) == window || m_options.method != KrylovMethod::gmres ||
          m_iteration->max_steps() == m_options.restart)
        return;
    } catch (const OutOfMemoryError&) {
      if (half(window) == window) throw;
    }
  }
}

/// The matrices of the present window, with their values beside one another.
template <class Scalar, class ExecutionSpace>
auto BatchIteration<Scalar, ExecutionSpace>::matrix(Transposition op) -> BatchRows<Scalar, Memory> {
  Rows values = m_values;
  if (m_width < m_columns) {
    const auto first = static_cast<std::int64_t>(m_first);
    values = Rows(m_window_values.data(), m_values.extent(0), m_width);
    for_numbers("lutra::batch::values", values.extent(0), m_width,
                CopyWindow<Rows>{m_values, values, first, 0});
  }
  if (op == Transposition::none) return {m_pattern, {}, values, false, m_is_running};
  if (!m_has_transposed) m_transposed = transpose(m_exec, m_pattern, m_budget);
  m_has_transposed = true;
  return {m_transposed.pattern, m_transposed.source, values, op == Transposition::adjoint, m_is_running};
}

template <class Scalar, class ExecutionSpace>
auto BatchIteration<Scalar, ExecutionSpace>::preconditioner()
    -> std::unique_ptr<Preconditioner<Scalar, ExecutionSpace>> {
  if (m_options.preconditioning == Preconditioning::jacobi)
    return std::make_unique<BatchDiagonals<Scalar, ExecutionSpace>>(m_diagonal, m_first);
  if (!m_own && !m_foreign) return nullptr;
  return std::make_unique<BatchFactors<Scalar, ExecutionSpace>>(
      m_own ? *m_own : *m_foreign, m_is_running_on_host, !m_own, m_wide, m_first);
}

/// Solves for one right-hand side of the systems of the present window.
template <class Scalar, class ExecutionSpace>
template <class Column, class ConstColumn>
void BatchIteration<Scalar, ExecutionSpace>::solve_window(const Operator& A, ApproximateInverse* M,
                                                          const ConstColumn& b, const Column& x,
                                                          const Flags& is_solved, Transposition op) {
  const auto first = static_cast<std::int64_t>(m_first);
  const Rows B(m_B.data(), n(), m_width), X(m_X.data(), n(), m_width);
  for_numbers("lutra::batch::read", n(), m_width,
              ReadSystems<ConstColumn, Rows, Flags>{b, B, is_solved, first});
  if (m_options.start_from_x) {
    for_numbers("lutra::batch::read", n(), m_width, ReadSystems<Column, Rows, Flags>{x, X, is_solved, first});
  } else {
    Kokkos::deep_copy(m_exec, X, Scalar(0));
  }
  record(m_iteration->solve(m_exec, A, M, op, B, X, m_options));
  for_numbers("lutra::batch::write", n(), m_width, WriteSystems<Rows, Column, Flags>{X, x, is_solved, first});
  set_running(std::vector<char>(m_width, 0));
}

template <class Scalar, class ExecutionSpace>
void BatchIteration<Scalar, ExecutionSpace>::solve_all(const ConstBlock& B, const Block& X,
                                                       Transposition op) {
  m_is_running_on_host = decltype(m_is_running_on_host)("lutra::batch::mask", count());
  const bool has_workspace = m_wide.extent(0) > 0 || (m_iteration && m_iteration->columns() == m_columns);
  if (!m_iteration || m_iteration->size() != n() || (!has_workspace && (m_own || m_foreign)))
    reserve_vectors(systems_in_cache());
  MemoryReservation scratch(m_budget);
  const Flags is_solved = upload_flags(scratch, m_solved);
  const auto solve_columns = [&](std::size_t c, std::size_t end) {
    m_width = std::min(m_iteration->columns(), m_columns - m_first);
    const Operator A(matrix(op));
    const auto M = preconditioner();
    for (; c < end; ++c) solve_window(A, M.get(), column_of(B, c), column_of(X, c), is_solved, op);
  };
  m_first = 0;
  for (bool fits = false; !fits;) {  // the first application of a preconditioner allocates, too
    try {
      solve_columns(0, 1);
      fits = true;
    } catch (const OutOfMemoryError&) {
      const std::size_t smaller = m_iteration ? half(m_iteration->columns()) : m_columns;
      if (!m_iteration || smaller == m_iteration->columns()) throw;
      reserve_vectors(smaller);
    }
  }
  solve_columns(1, B.extent(1));
  for (m_first = m_width; m_first < m_columns; m_first += m_width) solve_columns(0, B.extent(1));
  m_exec.fence("lutra::batch: X is complete");
}

/// Joins the outcomes of one right-hand side and window into those of the systems.
template <class Scalar, class ExecutionSpace>
void BatchIteration<Scalar, ExecutionSpace>::record(const std::vector<KrylovOutcome>& outcomes) {
  for (std::size_t s = 0; s < outcomes.size() && m_first + s < count(); ++s) {
    const std::size_t k = m_first + s;
    if (m_solved[k] == 0) continue;
    const KrylovOutcome& of = outcomes[s];
    Status& status = m_report.statuses[k];
    const Status found = to_status(of.stop);
    if (status == Status::not_solved || severity(found) > severity(status)) status = found;
    m_report.iterations[k] = std::max(m_report.iterations[k], of.iterations);
    m_report.restarts[k] = std::max(m_report.restarts[k], of.restarts);
    double& residual = m_report.residuals[k];
    if (!(of.residual <= residual)) residual = of.residual;  // NaN before the first right-hand side
  }
}

template <class Scalar, class ExecutionSpace>
void BatchIteration<Scalar, ExecutionSpace>::finish_report() {
  Status worst = Status::success;
  bool any = false;
  for (std::size_t k = 0; k < count(); ++k) {
    if (m_active[k] == 0) continue;
    any = true;
    if (severity(m_report.statuses[k]) > severity(worst)) worst = m_report.statuses[k];
  }
  m_report.status = any ? worst : Status::not_solved;
  m_report.bytes =
      m_values_memory.bytes() + m_vectors_memory.bytes() + (m_iteration ? m_iteration->bytes() : 0);
}

template <class Scalar, class ExecutionSpace>
Status BatchIteration<Scalar, ExecutionSpace>::solve(const ConstBlock& B, const Block& X, Transposition op) {
  check_solve(B, X, op);
  return stoppable(m_exec, m_budget.run(), m_options, "solve", [&] {
    {
      MemoryReservation scratch(m_budget);
      const Flags is_solved = upload_flags(scratch, m_solved);
      check_block("B", B, is_solved);
      if (m_options.start_from_x) check_block("X", X, is_solved);
    }
    m_budget.run().poll();  // up to here nothing has changed
    const RunStage stage(m_budget, "solve");
    const Kokkos::Timer timer;
    for (std::size_t k = 0; k < count(); ++k) {
      if (m_solved[k] == 0) continue;
      m_report.statuses[k] = Status::not_solved;
      m_report.iterations[k] = m_report.restarts[k] = 0;
      m_report.residuals[k] = std::numeric_limits<double>::quiet_NaN();
    }
    return report_failure(
        [&] {
          if (B.extent(1) > 0 && count() > 0) solve_all(B, X, op);
          finish_report();
          m_report.solve_seconds = timer.seconds();
          return m_report.status;
        },
        [&](Status status) { m_report.status = status; });
  });
}

}  // namespace Impl

template <class Scalar, class ExecutionSpace>
BatchedKrylov<Scalar, ExecutionSpace>::BatchedKrylov(KrylovSolverOptions options, const ExecutionSpace& exec)
    : m_iteration(std::make_unique<Impl::BatchIteration<Scalar, ExecutionSpace>>(std::move(options), exec)) {}
template <class Scalar, class ExecutionSpace>
BatchedKrylov<Scalar, ExecutionSpace>::BatchedKrylov(BatchedKrylov&&) noexcept = default;
template <class Scalar, class ExecutionSpace>
auto BatchedKrylov<Scalar, ExecutionSpace>::operator=(BatchedKrylov&&) noexcept -> BatchedKrylov& = default;
template <class Scalar, class ExecutionSpace>
BatchedKrylov<Scalar, ExecutionSpace>::~BatchedKrylov() = default;

template <class Scalar, class ExecutionSpace>
Status BatchedKrylov<Scalar, ExecutionSpace>::analyze(const matrix_type& A) {
  return m_iteration->analyze(A);
}
template <class Scalar, class ExecutionSpace>
void BatchedKrylov<Scalar, ExecutionSpace>::set_preconditioner(std::shared_ptr<numeric_type> M) {
  m_iteration->set_preconditioner(std::move(M));
}
template <class Scalar, class ExecutionSpace>
Status BatchedKrylov<Scalar, ExecutionSpace>::factorize(const values_type& values, const mask_type& mask) {
  return m_iteration->factorize(values, mask);
}
template <class Scalar, class ExecutionSpace>
Status BatchedKrylov<Scalar, ExecutionSpace>::solve(const const_block_type& B, const block_type& X,
                                                    Transposition op) {
  return m_iteration->solve(B, X, op);
}
template <class Scalar, class ExecutionSpace>
std::int64_t BatchedKrylov<Scalar, ExecutionSpace>::rows() const noexcept {
  return m_iteration->rows();
}
template <class Scalar, class ExecutionSpace>
std::int64_t BatchedKrylov<Scalar, ExecutionSpace>::systems() const noexcept {
  return m_iteration->systems();
}
template <class Scalar, class ExecutionSpace>
const BatchedKrylovReport& BatchedKrylov<Scalar, ExecutionSpace>::report() const noexcept {
  return m_iteration->report();
}
template <class Scalar, class ExecutionSpace>
const KrylovSolverOptions& BatchedKrylov<Scalar, ExecutionSpace>::options() const noexcept {
  return m_iteration->options();
}

#define LUTRA_BATCHED_KRYLOV(Scalar, Space) template class BatchedKrylov<Scalar, Space>;
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_BATCHED_KRYLOV)

}  // namespace lutra
