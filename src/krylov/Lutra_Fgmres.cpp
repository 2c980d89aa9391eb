// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_Fgmres.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_HessenbergSolver.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_PowerOfTwo.hpp"
#include "Lutra_RefinementKernels.hpp"

namespace lutra {
namespace {

/// If memory is short, restart is halved, but not below this: shorter cycles converge slowly.
constexpr int min_restart = 8;

/// The first columns of a block.
template <class View>
auto first_columns(const View& columns, int count) {
  return Kokkos::View<typename View::value_type**, Kokkos::LayoutLeft, typename View::memory_space,
                      Kokkos::MemoryUnmanaged>(columns.data(), columns.extent(0),
                                               static_cast<std::size_t>(count));
}

/// Inner products of columns `first` to `first` + `value_count` of V with w. The order of summation is fixed,
/// unlike in Kokkos Kernels' product on devices.
template <class Columns, class Rows>
struct InnerProducts {
  using Scalar = typename Columns::value_type;
  using value_type = Scalar[];
  int value_count;
  int first;
  Columns V;
  Rows w;

  KOKKOS_FUNCTION void operator()(const std::int64_t i, Scalar* sums) const {
    const Scalar value = w(i, 0);
    for (int c = 0; c < value_count; ++c) sums[c] += ScalarTraits<Scalar>::conjugate(V(i, first + c)) * value;
  }
  KOKKOS_FUNCTION void init(Scalar* sums) const {
    for (int c = 0; c < value_count; ++c) sums[c] = Scalar(0);
  }
  KOKKOS_FUNCTION void join(Scalar* sums, const Scalar* others) const {
    for (int c = 0; c < value_count; ++c) sums[c] += others[c];
  }
};

/// h = Vᴴ·w, some columns at a time: sums of all would leave a device no shared memory for threads.
constexpr int columns_at_once = 8;
template <class ExecutionSpace, class Columns, class Rows, class Column, class Partial>
void multiply_adjoint(const ExecutionSpace& exec, const Columns& V, const Rows& w, const Column& h,
                      const Partial&) {
  const int columns = static_cast<int>(V.extent(1));
  for (int first = 0; first < columns; first += columns_at_once) {
    const int count = std::min(columns_at_once, columns - first);
    Kokkos::parallel_reduce(
        "lutra::krylov::project", Impl::all_rows(exec, w), InnerProducts<Columns, Rows>{count, first, V, w},
        Kokkos::View<typename Columns::value_type*, typename Column::memory_space, Kokkos::MemoryUnmanaged>(
            h.data() + first, static_cast<std::size_t>(count)));
  }
}

/// On hosts sums of chunks of rows are added in their order. Chunks depend on the number of rows alone, so
/// that the sums do not depend on the number of threads, as those of a reduction would.
template <class ExecutionSpace>
constexpr std::size_t partial_sums(std::size_t) {
  return 0;
}
template <Impl::HostExecution ExecutionSpace>
constexpr std::size_t partial_sums(std::size_t n) {
  constexpr std::size_t rows = 512, most = 256;
  return std::clamp<std::size_t>((n + rows - 1) / rows, 1, most);
}

template <Impl::HostExecution ExecutionSpace, class Columns, class Rows, class Column, class Partial>
void multiply_adjoint(const ExecutionSpace& exec, const Columns& V, const Rows& w, const Column& h,
                      const Partial& partial) {
  using Scalar = typename Columns::value_type;
  const auto n = static_cast<std::int64_t>(w.extent(0)),
             chunks = static_cast<std::int64_t>(partial.extent(0));
  const int columns = static_cast<int>(V.extent(1));
  Impl::for_range(exec, "lutra::krylov::project", chunks, [=](const std::int64_t chunk) {
    for (int first = 0; first < columns; first += columns_at_once) {
      const InnerProducts<Columns, Rows> products{std::min(columns_at_once, columns - first), first, V, w};
      Scalar sums[columns_at_once];
      products.init(sums);
      for (std::int64_t i = n * chunk / chunks; i < n * (chunk + 1) / chunks; ++i) products(i, sums);
      for (int c = 0; c < products.value_count; ++c) partial(chunk, first + c) = sums[c];
    }
  });
  Impl::for_range(exec, "lutra::krylov::add_partial_sums", columns, [=](const std::int64_t c) {
    Scalar sum(0);
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) sum += partial(chunk, c);
    h(static_cast<std::size_t>(c)) = sum;
  });
}

/// Largest real or imaginary part of a vector's entries. NaN counts as infinity, which max would otherwise
/// lose.
template <class Rows>
struct FindLargest {
  using value_type = RealOf<typename Rows::value_type>;
  Rows w;
  KOKKOS_FUNCTION void operator()(const std::int64_t i, value_type& largest) const {
    const value_type size = Impl::largest_part(w(i, 0));
    constexpr value_type infinity = Kokkos::Experimental::infinity_v<value_type>;
    const value_type seen = Kokkos::isfinite(size) ? size : infinity;
    if (seen > largest) largest = seen;
  }
  KOKKOS_FUNCTION void init(value_type& largest) const { largest = 0; }
  KOKKOS_FUNCTION void join(value_type& largest, const value_type& other) const {
    if (other > largest) largest = other;
  }
};

/// w *= 2^−e for the exponent e of `size`(0).
template <class ExecutionSpace, class Rows, class Size>
void scale_to_unit(const ExecutionSpace& exec, const Rows& w, const Size& size) {
  Kokkos::parallel_for(
      "lutra::krylov::take_unit", Impl::all_rows(exec, w), KOKKOS_LAMBDA(const std::int64_t i) {
        w(i, 0) = Impl::scale_by_power(w(i, 0), -Impl::exponent_of(size(0)));
      });
}

/// w /= √`square`(0), unless that is zero or not finite.
template <class ExecutionSpace, class Rows, class Square>
void divide_by_root(const ExecutionSpace& exec, const Rows& w, const Square& square) {
  using Scalar = typename Rows::value_type;
  Kokkos::parallel_for(
      "lutra::krylov::normalize", Impl::all_rows(exec, w), KOKKOS_LAMBDA(const std::int64_t i) {
        const RealOf<Scalar> length = Kokkos::sqrt(ScalarTraits<Scalar>::magnitude(square(0)));
        if (length > 0 && Kokkos::isfinite(length)) w(i, 0) *= Scalar(1 / length);
      });
}

/// Row i of V·y, four columns at a time: they are far apart in memory, and their reads should overlap.
template <class Columns, class Column>
KOKKOS_FORCEINLINE_FUNCTION auto combine_row(const Columns& V, const Column& y, const std::int64_t i) {
  typename Columns::value_type sums[4] = {};
  const int count = static_cast<int>(V.extent(1));
  int l = 0;
  for (; l + 4 <= count; l += 4)
    for (int s = 0; s < 4; ++s) sums[s] += V(i, l + s) * y(l + s);
  for (; l < count; ++l) sums[0] += V(i, l) * y(l);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/// D = V·y.
template <class ExecutionSpace, class Columns, class Column, class Rows>
void set_product(const ExecutionSpace& exec, const Columns& V, const Column& y, const Rows& D) {
  Kokkos::parallel_for(
      "lutra::krylov::combine", Impl::all_rows(exec, D),
      KOKKOS_LAMBDA(const std::int64_t i) { D(i, 0) = combine_row(V, y, i); });
}

/// w −= V·h.
template <class ExecutionSpace, class Columns, class Column, class Rows>
void subtract_product(const ExecutionSpace& exec, const Columns& V, const Column& h, const Rows& w) {
  Kokkos::parallel_for(
      "lutra::krylov::subtract_projections", Impl::all_rows(exec, w),
      KOKKOS_LAMBDA(const std::int64_t i) { w(i, 0) -= combine_row(V, h, i); });
}

/// R = B − R.
template <class ExecutionSpace, class Rows>
void subtract_from(const ExecutionSpace& exec, const Rows& B, const Rows& R) {
  Kokkos::parallel_for(
      "lutra::krylov::subtract", Impl::all_rows(exec, R),
      KOKKOS_LAMBDA(const std::int64_t i) { R(i, 0) = B(i, 0) - R(i, 0); });
}

/// Whether the rest of w after the projections is rounding, so that the basis cannot grow.
template <class Scalar>
bool is_breakdown(const std::vector<Scalar>& column) {
  RealOf<Scalar> length = 0;
  for (const Scalar& entry : column) length = std::hypot(length, ScalarTraits<Scalar>::magnitude(entry));
  return ScalarTraits<Scalar>::magnitude(column.back()) <= epsilon_of<Scalar> * length;
}

}  // namespace

template <class Scalar, class ExecutionSpace>
Fgmres<Scalar, ExecutionSpace>::Fgmres(const ExecutionSpace& exec, std::size_t n, int restart,
                                       const MemoryBudget& budget) {
  for (;; restart /= 2) {
    try {
      MemoryReservation reservation(budget);
      const auto columns = static_cast<std::size_t>(restart);
      m_basis = reservation.template allocate<Columns>(exec, "lutra::krylov::basis", n, columns + 1);
      m_directions = reservation.template allocate<Columns>(exec, "lutra::krylov::directions", n, columns);
      m_column = {exec, reservation, "lutra::krylov::column", 2 * (columns + 1) + 1};
      m_sizes = {exec, reservation, "lutra::krylov::sizes", 2};
      m_partial = reservation.template allocate<Partial>(exec, "lutra::krylov::partial_sums",
                                                         partial_sums<ExecutionSpace>(n), columns + 1);
      m_reservation = reservation;
      m_restart = restart;
      return;
    } catch (const OutOfMemoryError&) {
      m_partial = {};
      m_basis = m_directions = {};  // frees these arrays before the next attempt
      m_column = {};
      if (restart / 2 < min_restart) throw;
    }
  }
}

template <class Scalar, class ExecutionSpace>
auto Fgmres<Scalar, ExecutionSpace>::vector(const Columns& columns, int j) -> Rows {
  return Rows(columns.data() + static_cast<std::size_t>(j) * columns.extent(0), columns.extent(0),
              std::size_t(1));
}

template <class Scalar, class ExecutionSpace>
auto Fgmres<Scalar, ExecutionSpace>::part_of_column(int begin, int count) const -> Column {
  return Column(m_column.device().data() + begin, static_cast<std::size_t>(count));
}

/// Vᴴ·w in part of m_column. With rows on several processes waits for them.
template <class Scalar, class ExecutionSpace>
auto Fgmres<Scalar, ExecutionSpace>::project(const ExecutionSpace& exec, const Columns& V, const Rows& w,
                                             int begin) const -> Column {
  const auto count = static_cast<int>(V.extent(1));
  const Column h = part_of_column(begin, count);
  multiply_adjoint(exec, V, w, h, m_partial);
  if (m_reductions == nullptr) return h;
  m_column.fetch(exec);
  m_reductions->sum({m_column.host().data() + begin, static_cast<std::size_t>(count)});
  m_column.send(exec);
  return h;
}

/// w *= 2^−e. e is the exponent of the largest entry of w, which is stored in m_sizes, or of the entry that
/// they already hold.
template <class Scalar, class ExecutionSpace>
void Fgmres<Scalar, ExecutionSpace>::take_unit(const ExecutionSpace& exec, const Rows& w, Unit which,
                                               bool measure) const {
  const auto size = size_of(which);
  if (measure) {
    Kokkos::parallel_reduce("lutra::krylov::largest", Impl::all_rows(exec, w), FindLargest<Rows>{w},
                            Kokkos::View<RealOf<Scalar>, Memory, Kokkos::MemoryUnmanaged>(size.data()));
    if (m_reductions != nullptr) {
      m_sizes.fetch(exec);
      m_reductions->max({m_sizes.host().data() + static_cast<std::size_t>(which), 1});
      m_sizes.send(exec);
    }
  }
  scale_to_unit(exec, w, size);
}

/// w /= ‖w‖₂, and the last element of m_column is ‖w‖₂². Leaves w unchanged if the norm is zero or not
/// finite.
template <class Scalar, class ExecutionSpace>
void Fgmres<Scalar, ExecutionSpace>::normalize(const ExecutionSpace& exec, const Rows& w) const {
  const Columns only(w.data(), w.extent(0), std::size_t(1));
  divide_by_root(exec, w, project(exec, only, w, 2 * (m_restart + 1)));
}

/// The norm queued last, in the unit of its vector. Waits once.
template <class Scalar, class ExecutionSpace>
RealOf<Scalar> Fgmres<Scalar, ExecutionSpace>::fetch_norm(const ExecutionSpace& exec) const {
  return std::sqrt(ScalarTraits<Scalar>::magnitude(m_column.fetch(exec)(m_column.size() - 1)));
}

template <class Scalar, class ExecutionSpace>
auto Fgmres<Scalar, ExecutionSpace>::normalize_start(const ExecutionSpace& exec, const Rows& from) const
    -> Norm {
  const Rows start = vector(m_basis, 0);
  Impl::copy_column(exec, from, 0, start, 0);
  take_unit(exec, start, Unit::start, true);
  normalize(exec, start);
  m_sizes.queue_fetch(exec);
  const RealOf<Scalar> norm = fetch_norm(exec);
  const RealOf<Scalar> largest = m_sizes.host()(static_cast<int>(Unit::start));
  return {std::isfinite(largest) ? norm : largest, Impl::exponent_of(largest)};
}

/// Orthonormalizes column j + 1 of the basis against the preceding ones. Returns column j of the Hessenberg
/// matrix, j + 2 entries. The second projection removes the rounding errors of the first. Waits once.
template <class Scalar, class ExecutionSpace>
std::vector<Scalar> Fgmres<Scalar, ExecutionSpace>::orthogonalize(const ExecutionSpace& exec, int j) const {
  const Columns V(m_basis.data(), m_basis.extent(0), static_cast<std::size_t>(j + 1));
  const Rows w = vector(m_basis, j + 1);
  for (const int begin : {0, m_restart + 1}) {
    const Column h = project(exec, V, w, begin);
    subtract_product(exec, V, h, w);
  }
  normalize(exec, w);
  const RealOf<Scalar> length = fetch_norm(exec);
  const Scalar* const h = m_column.host().data();
  std::vector<Scalar> column;
  for (int i = 0; i <= j; ++i) column.push_back(h[i] + h[m_restart + 1 + i]);
  column.push_back(Scalar(length));
  return column;
}

/// D = directions·y·2^exponent.
template <class Scalar, class ExecutionSpace>
void Fgmres<Scalar, ExecutionSpace>::combine(const ExecutionSpace& exec, std::vector<Scalar> y, int exponent,
                                             const Rows& D) const {
  if (y.empty()) return Impl::set_zero(exec, D);
  for (Scalar& coefficient : y) coefficient = Impl::scale_by_power(coefficient, exponent);
  std::ranges::copy(y, m_column.host().data());
  m_column.send(exec);
  const auto count = static_cast<int>(y.size());
  set_product(exec, first_columns(m_directions, count), part_of_column(0, count), D);
}

template <class Scalar, class ExecutionSpace>
void Fgmres<Scalar, ExecutionSpace>::cycle(const ExecutionSpace& exec, const Operator& A,
                                           ApproximateInverse& M, Transposition op, const Rows& R,
                                           const Rows& D, double goal, int max_iterations,
                                           KrylovOutcome& outcome) const {
  check_size(M, A.size());
  const auto [norm, exponent] = normalize_start(exec, R);
  const auto record = [&](RealOf<Scalar> part) {
    outcome.history.push_back(std::ldexp(static_cast<double>(part), exponent));
  };
  if (outcome.history.empty()) record(norm);
  outcome.stop = norm == 0              ? KrylovStop::converged
                 : !std::isfinite(norm) ? KrylovStop::not_finite
                                        : KrylovStop::max_iterations;
  Impl::HessenbergSolver<Scalar> hessenberg(norm);
  const int first = outcome.iterations;
  for (int j = 0; j < std::min(m_restart, max_iterations) && outcome.stop == KrylovStop::max_iterations;
       ++j) {
    const Rows direction = vector(m_directions, j);
    M.apply(exec, op, vector(m_basis, j), direction);
    A.apply(exec, direction, vector(m_basis, j + 1));
    take_unit(exec, vector(m_basis, j + 1), Unit::product, j == 0);
    if (j == 0) m_sizes.queue_fetch(exec);
    auto column = orthogonalize(exec, j);
    if (!std::isfinite(ScalarTraits<Scalar>::magnitude(column.back()))) {
      outcome.stop = KrylovStop::not_finite;
      break;
    }
    const bool breakdown = is_breakdown(column);
    if (breakdown) column.back() = Scalar(0);
    const RealOf<Scalar> left = hessenberg.add_column(std::move(column));
    ++outcome.iterations;
    record(left);
    if (breakdown) outcome.stop = KrylovStop::stagnated;
    if (left <= static_cast<RealOf<Scalar>>(goal) * norm) outcome.stop = KrylovStop::converged;
  }
  const int unit =
      outcome.iterations > first ? Impl::exponent_of(m_sizes.host()(static_cast<int>(Unit::product))) : 0;
  combine(exec, hessenberg.solve(), exponent - unit, D);
}

template <class Scalar, class ExecutionSpace>
KrylovOutcome Fgmres<Scalar, ExecutionSpace>::solve(const ExecutionSpace& exec, const Operator& A,
                                                    ApproximateInverse& M, Transposition op, const Rows& B,
                                                    const Rows& X, const Rows& R,
                                                    const KrylovOptions& options) const {
  check_size(M, A.size());
  KrylovOutcome outcome;
  const Norm of_B = normalize_start(exec, B);
  const auto B_norm = static_cast<double>(of_B.value);  // in its unit, like all norms here
  if (B_norm == 0) {
    Impl::set_zero(exec, X);
    outcome.stop = KrylovStop::converged;
    return outcome;
  }
  std::vector<double> history;  // relative to ‖B‖₂
  for (double before = std::numeric_limits<double>::infinity();;) {
    A.apply(exec, X, R);
    subtract_from(exec, B, R);
    const Norm of_R = normalize_start(exec, R);
    const double norm = std::ldexp(static_cast<double>(of_R.value), of_R.exponent - of_B.exponent);
    const bool finite = std::isfinite(norm) && std::isfinite(B_norm);
    const bool broken_off = outcome.stop == KrylovStop::not_finite;
    outcome.residual = norm / B_norm;
    outcome.stop = finite && norm <= options.residual_tolerance * B_norm ? KrylovStop::converged
                   : !finite || broken_off                               ? KrylovStop::not_finite
                   : norm > options.min_progress * before                ? KrylovStop::stagnated
                                                                         : KrylovStop::max_iterations;
    if (history.empty()) {
      history.push_back(outcome.residual);
    } else if (finite) {
      history.back() = outcome.residual;
    }
    if (outcome.stop != KrylovStop::max_iterations || outcome.iterations >= options.max_iterations) {
      outcome.history = std::move(history);
      return outcome;
    }
    outcome.restarts += before < std::numeric_limits<double>::infinity() ? 1 : 0;
    before = norm;
    outcome.history.clear();
    cycle(exec, A, M, op, R, R, options.residual_tolerance * B_norm / norm,
          options.max_iterations - outcome.iterations, outcome);
    for (std::size_t j = 1; j < outcome.history.size(); ++j)
      history.push_back(outcome.history[j] / outcome.history[0] * outcome.residual);
    Impl::add_multiple(exec, Scalar(1), R, X);
  }
}

#define LUTRA_FGMRES(Scalar, Space) template class Fgmres<Scalar, Space>;
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_FGMRES)

}  // namespace lutra
