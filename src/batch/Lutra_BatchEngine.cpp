// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_BatchEngine.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "Lutra_BatchChoice.hpp"
#include "Lutra_FreeBytes.hpp"
#include "Lutra_FrontForest.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_Outcome.hpp"
#include "Lutra_RunStage.hpp"
#include "Lutra_Upload.hpp"

namespace lutra {
namespace Impl {

std::string name_entry(std::int64_t system, std::int64_t row, std::int64_t column) {
  return "system " + std::to_string(system) + ", row " + std::to_string(row) + ", column " +
         std::to_string(column);
}

void check_mask(std::span<const bool> mask, std::size_t systems) {
  if (!mask.empty() && mask.size() != systems)
    throw InputError("mask: it has " + std::to_string(mask.size()) + " elements, but the batch has " +
                     std::to_string(systems) + " systems");
}

int severity(Status status) {
  switch (status) {
    case Status::success:
      return 0;
    case Status::unchecked:
      return 1;
    case Status::not_solved:
      return 2;
    case Status::error_above_tolerance:
    case Status::not_converged:
      return 3;
    case Status::not_positive_definite:
      return 4;
    case Status::numerically_singular:
      return 5;
    case Status::structurally_singular:
      return 6;
    case Status::breakdown:
      return 7;
    case Status::out_of_memory:
      return 8;
    default:
      return 9;
  }
}

namespace {

/// First entry that is read and not finite, as slot · nnz + entry.
template <class Values, class Systems, class IsRead>
struct FirstBadValue {
  Values values;
  Systems systems;
  IsRead is_read;
  std::int64_t nnz;
  KOKKOS_FUNCTION void operator()(const std::int64_t t, std::int64_t& first) const {
    using Scalar = typename Values::non_const_value_type;
    // Neighbouring threads have neighbouring systems where these are interleaved.
    const bool interleaved = values.stride(1) < values.stride(0);
    const auto count = static_cast<std::int64_t>(systems.extent(0));
    const std::int64_t p = interleaved ? t / count : t % nnz;
    const std::int64_t slot = interleaved ? t % count : t / nnz;
    if (is_read.extent(0) > 0 && is_read(p) == 0) return;
    if (ScalarTraits<Scalar>::is_finite(values(p, systems(slot)))) return;
    if (slot * nnz + p < first) first = slot * nnz + p;
  }
};

}  // namespace

template <class Scalar, class ExecutionSpace>
BatchEngine<Scalar, ExecutionSpace>::BatchEngine(AnalysisPointer<Scalar, ExecutionSpace> analysis,
                                                 const DirectOptions& options, const ExecutionSpace& exec,
                                                 const MemoryBudget& budget)
    : m_analysis(std::move(analysis)),
      m_options(options),
      m_exec(exec),
      m_budget(budget.with_control()),
      m_pattern(make_batch_pattern(
          exec, *m_analysis, m_budget,
          {.factors = !takes_fronts(*m_analysis, options), .levels = !is_host_space<ExecutionSpace>})) {
  const bool by_fronts = takes_fronts(*m_analysis, options);
  if (by_fronts) {
    m_groups =
        std::make_unique<Fronts>(exec, m_pattern, m_budget, take_front_tree(exec, *m_analysis, options));
  } else {
    m_groups = std::make_unique<BatchLanes<LaneGroups, Scalar, ExecutionSpace>>(exec, m_pattern, m_budget);
  }
  m_group_size = by_fronts ? std::size_t(Fronts::size) : std::size_t(LaneGroups::size);
  m_report.group_size = static_cast<int>(m_group_size);
  m_report.engine = by_fronts ? Engine::multifrontal : Engine::simplicial;
}

template <class Scalar, class ExecutionSpace>
std::vector<std::int64_t> BatchEngine<Scalar, ExecutionSpace>::unmasked(std::size_t count,
                                                                        const Mask& mask) const {
  check_mask(mask, count);
  std::vector<std::int64_t> active;
  for (std::size_t k = 0; k < count; ++k)
    if (mask.empty() || mask[k]) active.push_back(static_cast<std::int64_t>(k));
  return active;
}

/// @throws InputError naming the first system, row and column that are not finite
template <class Scalar, class ExecutionSpace>
void BatchEngine<Scalar, ExecutionSpace>::check_values(const Values& values,
                                                       const std::vector<std::int64_t>& active) {
  if (!m_options.validate_input || active.empty()) return;
  if constexpr (is_host_space<ExecutionSpace>) {
    if (has_only_finite(values)) return check_symmetries(values, active);
  }
  MemoryReservation scratch(m_budget);
  const auto systems = upload(m_exec, scratch, "lutra::batch::systems", active);
  const FirstBadValue<Values, decltype(systems), decltype(m_pattern.is_read)> find{
      values, systems, m_pattern.is_read, m_pattern.nnz};
  constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
  std::int64_t first = none;
  Kokkos::parallel_reduce("lutra::batch::check_values",
                          Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>(
                              m_exec, 0, m_pattern.nnz * static_cast<std::int64_t>(active.size())),
                          find, Kokkos::Min<std::int64_t>(first));
  m_exec.fence("lutra::batch: values are checked");
  if (first != none) {
    const Offset p = first % m_pattern.nnz;
    const auto row = std::upper_bound(m_pattern.row_map.begin(), m_pattern.row_map.end(), p) - 1;
    throw InputError("values: " +
                     name_entry(active[static_cast<std::size_t>(first / m_pattern.nnz)],
                                row - m_pattern.row_map.begin(),
                                m_pattern.entries[static_cast<std::size_t>(p)]) +
                     " holds NaN or infinity");
  }
  check_symmetries(values, active);
}

/// @throws InputError naming the first system that is not symmetric
template <class Scalar, class ExecutionSpace>
void BatchEngine<Scalar, ExecutionSpace>::check_symmetries(const Values& values,
                                                           const std::vector<std::int64_t>& active) {
  if (!m_analysis->symmetric) return;
  const auto& [A, S, symmetry] = *m_analysis->symmetric;
  const bool one_triangle = S.opposite.extent(0) == 0;
  if (one_triangle && !m_pattern.lists.hermitian) return;
  MemoryReservation scratch(m_budget);
  const auto own = scratch.template allocate<Kokkos::View<Scalar*, Memory>>(
      m_exec, "lutra::batch::values of a system", static_cast<std::size_t>(m_pattern.nnz));
  for (const std::int64_t k : active) {
    Kokkos::deep_copy(m_exec, own, Kokkos::subview(values, Kokkos::ALL, k));
    const CsrView<Scalar, Ordinal, Offset, Memory> matrix{A.n_rows, A.n_cols, A.row_map, A.entries, own};
    try {
      check_symmetry(m_exec, matrix, S, symmetry);
    } catch (const InputError& error) {
      throw InputError("values: system " + std::to_string(k) + ": " + error.what());
    }
  }
}

/// Forgets the factors and makes room for new ones.
template <class Scalar, class ExecutionSpace>
void BatchEngine<Scalar, ExecutionSpace>::start(std::size_t count, std::vector<std::int64_t> active) {
  constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  m_is_factorized = m_is_proven = m_is_probed = false;
  m_alone.clear();
  m_active = std::move(active);
  m_is_alone.assign(count, 0);
  m_report.systems = static_cast<std::int64_t>(count);
  m_report.statuses.assign(count, Status::not_solved);
  m_report.componentwise.assign(count, unknown);
  m_report.normwise.assign(count, unknown);
  m_report.refinement_steps.assign(count, 0);
  m_report.perturbed_pivots.assign(count, 0);
  m_report.inertia.assign(m_analysis->symmetric ? count : 0, Inertia());
  m_report.alone.clear();
  m_report.status = Status::not_solved;
  m_report.factorize_seconds = m_report.solve_seconds = 0;
  divide_into_chunks();
}

/// Bytes that one Numeric for a system that leaves the batch may need, with an analysis of its own.
template <class Scalar, class ExecutionSpace>
std::size_t BatchEngine<Scalar, ExecutionSpace>::bytes_alone() const {
  const auto forecast = m_analysis->forecast();
  const auto entries = static_cast<std::size_t>(2 * m_pattern.factor_entries + 3 * m_pattern.nnz);
  std::size_t bytes = entries * (sizeof(Scalar) + sizeof(Offset));
  if (forecast) bytes = std::max(forecast->factorization.device, forecast->solve.device);
  return 2 * (bytes + m_analysis->held_bytes) + (std::size_t(1) << 16);
}

/// As many groups at once as fit in the memory limit, or in memory.
template <class Scalar, class ExecutionSpace>
void BatchEngine<Scalar, ExecutionSpace>::divide_into_chunks() {
  constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();
  const auto divide = [](std::size_t count, std::size_t by) {
    return std::max<std::size_t>(1, (count + by - 1) / by);
  };
  const std::size_t all = divide(m_active.size(), m_group_size);
  std::size_t groups = all;
  const std::size_t bytes = m_groups->bytes_per_group();
  std::size_t available = m_budget.limit_bytes() > 0 ? m_budget.available_bytes() : unlimited;
  if (!is_host_space<ExecutionSpace>) available = std::min(available, free_bytes(m_exec) / 20 * 19);
  if (available < unlimited) {
    available += m_groups->bytes();
    const std::size_t alone = bytes_alone(), others = m_groups->workspace_bytes() + alone;
    m_groups->keep_free(alone);
    const std::size_t left = available > others ? available - others : 0;
    groups = std::clamp<std::size_t>(left / std::max<std::size_t>(bytes, 1), 1, groups);
  }
  for (;;) {
    groups = divide(all, divide(all, groups));  // chunks of one size
    try {
      m_groups->reserve(groups);
      break;
    } catch (const OutOfMemoryError&) {
      if (groups == 1) throw;
      groups = (groups + 1) / 2;
    }
  }
  m_chunk_slots = groups * m_group_size;
  m_report.chunks = static_cast<std::int64_t>(divide(m_active.size(), m_chunk_slots));
}

template <class Scalar, class ExecutionSpace>
auto BatchEngine<Scalar, ExecutionSpace>::chunk(std::size_t number) const -> Chunk {
  Chunk result;
  result.first = number * m_chunk_slots;
  result.end = std::min(m_active.size(), result.first + m_chunk_slots);
  const auto begin = m_active.begin();
  result.systems.assign(begin + static_cast<std::ptrdiff_t>(result.first),
                        begin + static_cast<std::ptrdiff_t>(result.end));
  while (result.systems.size() % m_group_size != 0) result.systems.push_back(result.systems.back());
  return result;
}

template <class Scalar, class ExecutionSpace>
void BatchEngine<Scalar, ExecutionSpace>::load(const Chunk& chunk) {
  m_groups->load(m_values, chunk.systems);
}

/// Whether only zero pivots make a matrix singular.
template <class Scalar, class ExecutionSpace>
bool BatchEngine<Scalar, ExecutionSpace>::trusts_pivots() const {
  const auto* const ldlt = std::get_if<LdltOptions>(&m_analysis->options);
  return ldlt != nullptr && ldlt->trust_pivots;
}

template <class Scalar, class ExecutionSpace>
double BatchEngine<Scalar, ExecutionSpace>::perturbation() const {
  if (is_incomplete() || trusts_pivots()) return 0;
  return std::max(m_options.perturbation, default_perturbation<Scalar>());
}

/// Whether a system has to leave the batch: ConditionGuard::is_suspicious, and the pivot thresholds.
template <class Scalar, class ExecutionSpace>
bool BatchEngine<Scalar, ExecutionSpace>::is_suspicious(const SlotFindings& found) const {
  if (m_options.estimate_condition && !is_incomplete()) return true;  // each has an estimate of its own
  if (!std::isfinite(found.growth) || found.smallest_pivot == 0 || found.perturbed > 0) return true;
  const auto* const ldlt = std::get_if<LdltOptions>(&m_analysis->options);
  if (ldlt != nullptr && ldlt->positive_definite && found.negative > 0) return true;
  if (!trusts_pivots() && found.growth >= ConditionGuard<Scalar, ExecutionSpace>::near_singular) return true;
  if (ldlt != nullptr && !ldlt->positive_definite)
    return (m_options.pivoting == Pivoting::automatic || m_options.pivoting == Pivoting::threshold) &&
           found.multiplier * ldlt->pivot_threshold > 1;
  const auto* const lu = std::get_if<LuOptions>(&m_analysis->options);
  return lu != nullptr && m_options.pivoting == Pivoting::threshold &&
         found.multiplier * lu->pivot_threshold > 1;
}

template <class Scalar, class ExecutionSpace>
void BatchEngine<Scalar, ExecutionSpace>::factorize_chunk(const Chunk& chunk) {
  load(chunk);
  std::vector<SlotFindings> found(chunk.systems.size());
  const bool has_factors = m_pattern.factor_entries > 0;
  if (has_factors) m_groups->factorize(perturbation(), found);
  const bool has_inertia =
      m_analysis->symmetric && (!ScalarTraits<Scalar>::is_complex || m_pattern.lists.hermitian);
  for (std::size_t slot = 0; slot < chunk.end - chunk.first; ++slot) {
    m_budget.run().poll();
    const auto k = static_cast<std::size_t>(chunk.systems[slot]);
    if (!has_factors || is_suspicious(found[slot])) {
      factorize_alone(chunk, slot);
    } else if (has_inertia) {
      m_report.inertia[k] = {m_pattern.n - found[slot].negative, found[slot].negative, 0};
    }
  }
}

template <class Scalar, class ExecutionSpace>
void BatchEngine<Scalar, ExecutionSpace>::finish_report() {
  m_report.alone.clear();
  Status worst = Status::success;
  for (const std::int64_t system : m_active) {
    const auto k = static_cast<std::size_t>(system);
    if (is_alone(k)) m_report.alone.push_back(system);
    if (severity(m_report.statuses[k]) > severity(worst)) worst = m_report.statuses[k];
  }
  m_report.status = m_active.empty() ? Status::not_solved : worst;
  m_report.bytes = m_groups->bytes();
}

template <class Scalar, class ExecutionSpace>
Status BatchEngine<Scalar, ExecutionSpace>::factorize(const Values& values, const Mask& mask) {
  return stoppable(m_exec, m_budget.run(), m_options, "factorize", [&] {
    if (static_cast<std::int64_t>(values.extent(0)) != m_pattern.nnz)
      throw InputError("values: they have " + std::to_string(values.extent(0)) +
                       " rows, but the pattern has " + std::to_string(m_pattern.nnz) + " entries");
    auto active = unmasked(values.extent(1), mask);
    check_values(values, active);
    m_budget.run().poll();  // up to here nothing has changed
    const RunStage stage(m_budget, "numeric");
    const Kokkos::Timer timer;
    m_values = values;
    return report_failure(
        [&] {
          start(values.extent(1), std::move(active));
          if (!m_active.empty())
            for (std::size_t c = 0; c < static_cast<std::size_t>(m_report.chunks); ++c)
              factorize_chunk(chunk(c));
          m_exec.fence("lutra::batch: factors are complete");
          m_is_factorized = true;
          finish_report();
          m_report.factorize_seconds = timer.seconds();
          return outcome_of(m_report.status);
        },
        [&](Status status) { m_report.status = status; });
  });
}

}  // namespace Impl

template <class Scalar, class ExecutionSpace>
BatchedNumeric<Scalar, ExecutionSpace>::BatchedNumeric(std::shared_ptr<const analysis_type> analysis,
                                                       const DirectOptions& options,
                                                       const ExecutionSpace& exec,
                                                       const MemoryBudget& budget) {
  check_options(options);
  if (!analysis) throw CallOrderError("batch: there is no analysis; call analyze first");
  m_engine =
      std::make_unique<Impl::BatchEngine<Scalar, ExecutionSpace>>(std::move(analysis), options, exec, budget);
}

template <class Scalar, class ExecutionSpace>
BatchedNumeric<Scalar, ExecutionSpace>::BatchedNumeric(BatchedNumeric&&) noexcept = default;
template <class Scalar, class ExecutionSpace>
auto BatchedNumeric<Scalar, ExecutionSpace>::operator=(BatchedNumeric&&) noexcept
    -> BatchedNumeric& = default;
template <class Scalar, class ExecutionSpace>
BatchedNumeric<Scalar, ExecutionSpace>::~BatchedNumeric() = default;

template <class Scalar, class ExecutionSpace>
Status BatchedNumeric<Scalar, ExecutionSpace>::factorize(const values_type& values, const mask_type& mask) {
  return m_engine->factorize(values, mask);
}
template <class Scalar, class ExecutionSpace>
Status BatchedNumeric<Scalar, ExecutionSpace>::solve(const const_block_type& B, const block_type& X,
                                                     Transposition op) {
  return m_engine->solve(B, X, op);
}
template <class Scalar, class ExecutionSpace>
void BatchedNumeric<Scalar, ExecutionSpace>::apply(const const_block_type& B, const block_type& X,
                                                   Transposition op, const mask_type& mask) {
  m_engine->apply(B, X, op, mask);
}
template <class Scalar, class ExecutionSpace>
void BatchedNumeric<Scalar, ExecutionSpace>::residual(const const_block_type& B, const const_block_type& X,
                                                      const block_type& R, Transposition op) {
  m_engine->residual(B, X, R, op);
}
template <class Scalar, class ExecutionSpace>
std::int64_t BatchedNumeric<Scalar, ExecutionSpace>::rows() const noexcept {
  return m_engine->analysis()->n;
}
template <class Scalar, class ExecutionSpace>
std::int64_t BatchedNumeric<Scalar, ExecutionSpace>::systems() const noexcept {
  return m_engine->systems();
}
template <class Scalar, class ExecutionSpace>
auto BatchedNumeric<Scalar, ExecutionSpace>::analysis() const noexcept
    -> const std::shared_ptr<const analysis_type>& {
  return m_engine->analysis();
}
template <class Scalar, class ExecutionSpace>
const BatchReport& BatchedNumeric<Scalar, ExecutionSpace>::report() const noexcept {
  return m_engine->report();
}

#define LUTRA_BATCH_ENGINE(Scalar, Space)                                                             \
  template Impl::BatchEngine<Scalar, Space>::BatchEngine(                                             \
      Impl::AnalysisPointer<Scalar, Space>, const DirectOptions&, const Space&, const MemoryBudget&); \
  template void Impl::BatchEngine<Scalar, Space>::finish_report();                                    \
  template auto Impl::BatchEngine<Scalar, Space>::chunk(std::size_t) const->Chunk;                    \
  template void Impl::BatchEngine<Scalar, Space>::load(const Chunk&);                                 \
  template double Impl::BatchEngine<Scalar, Space>::perturbation() const;                             \
  template bool Impl::BatchEngine<Scalar, Space>::trusts_pivots() const;                              \
  template class BatchedNumeric<Scalar, Space>;
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_BATCH_ENGINE)

}  // namespace lutra
