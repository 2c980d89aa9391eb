// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_BACKWARDERROR_HPP
#define LUTRA_BACKWARDERROR_HPP

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include "Lutra_AsyncResult.hpp"
#include "Lutra_ForRange.hpp"

namespace lutra {

/// Backward errors of each right-hand side; infinity if the residual or the solution is not finite.
struct BackwardErrors {
  /// maxᵢ |r|ᵢ / (|A||x| + |b|)ᵢ; denormal entries of x and b count as the smallest normal number, 0/0 as 0
  std::vector<double> componentwise;
  std::vector<double> normwise;  ///< ‖r‖∞ / (‖A‖∞‖x‖∞ + ‖b‖∞)
  std::vector<double> amplification;  ///< ‖A‖∞‖x‖∞ / ‖b‖∞, at most the condition number; 0 for b = 0
};

namespace Impl {

/// Slots of a `ResidualMaxima` for k columns: four per column, followed by two for the whole matrix.
enum class ColumnMaximum { ratio, residual, solution, right_side };

KOKKOS_FORCEINLINE_FUNCTION std::size_t slot_of(std::size_t column, ColumnMaximum which) {
  return 4 * column + static_cast<std::size_t>(which);
}

}  // namespace Impl

/// Maxima over rows. Kernels accumulate them in device memory while a solve is queued; the host reads them
/// with one wait. All are nonnegative, so 0 means "none yet" and the order of rows does not matter.
///
///     [4·k + 2] for column c: max |r|ᵢ / (|A||x| + |b|)ᵢ, ‖r‖∞, ‖x‖∞, ‖b‖∞;
///               then ‖op(A)‖∞, and n − i of the first row i of B that is not finite
template <class ExecutionSpace>
class ResidualMaxima {
 public:
  using Memory = typename ExecutionSpace::memory_space;

  ResidualMaxima() = default;
  ResidualMaxima(const ExecutionSpace& exec, MemoryReservation& reservation, std::size_t n_columns)
      : m_n_columns(n_columns), m_slots(exec, reservation, "lutra::krylov::maxima", 4 * n_columns + 2) {}

  /// All slots, for kernels.
  const Kokkos::View<double*, Memory>& slots() const { return m_slots.device(); }
  std::size_t norm_slot() const { return 4 * m_n_columns; }
  std::size_t bad_row_slot() const { return 4 * m_n_columns + 1; }

  /// Resets all maxima before kernels accumulate. Does not wait.
  void clear(const ExecutionSpace& exec) const {
    if (!Impl::runs_plain_loops<ExecutionSpace>()) return m_slots.fill(exec, 0.0);
    std::fill_n(m_slots.host().data(), m_slots.size(), 0.0);
  }
  /// Copies the maxima to the host. Waits once.
  void fetch(const ExecutionSpace& exec) const { m_slots.fetch(exec); }

  /// Errors of `n_columns` columns from the maxima fetched last.
  BackwardErrors errors(std::size_t n_columns, double A_norm) const {
    using Impl::ColumnMaximum;
    BackwardErrors errors;
    for (std::size_t c = 0; c < n_columns; ++c) {
      const double residual = host(Impl::slot_of(c, ColumnMaximum::residual));
      const double product = A_norm * host(Impl::slot_of(c, ColumnMaximum::solution));
      const double right_side = host(Impl::slot_of(c, ColumnMaximum::right_side));
      const double scale = product + right_side;
      errors.componentwise.push_back(host(Impl::slot_of(c, ColumnMaximum::ratio)));
      errors.normwise.push_back(residual == 0 ? 0.0 : std::isfinite(residual) ? residual / scale : residual);
      errors.amplification.push_back(right_side > 0 ? product / right_side : 0.0);
    }
    return errors;
  }
  /// ‖op(A)‖∞ from the maxima fetched last, if it was computed.
  double norm() const { return m_slots.host()(norm_slot()); }
  /// First of n rows of B that is not finite, from the maxima fetched last.
  std::optional<std::int64_t> first_bad_row(std::int64_t n) const {
    const auto distance = static_cast<std::int64_t>(m_slots.host()(bad_row_slot()));
    return distance > 0 ? std::optional(n - distance) : std::nullopt;
  }
  /// The maxima fetched last, to be joined with those of other rows.
  std::span<double> fetched() const { return {m_slots.host().data(), m_slots.size()}; }
  /// Any slot of the maxima fetched last.
  double host(std::size_t slot) const { return m_slots.host()(slot); }

 private:
  std::size_t m_n_columns = 0;
  Impl::AsyncResult<double, ExecutionSpace> m_slots;
};

}  // namespace lutra

#endif
