// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_Fgmres.hpp"

#include <KokkosBlas2_gemv.hpp>
#include <algorithm>
#include <cmath>
#include <limits>

#include "Lutra_HessenbergSolver.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_RefinementKernels.hpp"

namespace lutra {
namespace {

constexpr int min_restart = 8;

/// Contiguous vectors and blocks as Kokkos Kernels' BLAS takes them.
template <class Scalar, class Memory>
using Vector = Kokkos::View<Scalar*, Kokkos::LayoutLeft, Memory, Kokkos::MemoryUnmanaged>;
template <class Scalar, class Memory>
using Block = Kokkos::View<Scalar**, Kokkos::LayoutLeft, Memory, Kokkos::MemoryUnmanaged>;

template <class Columns>
auto first_columns(const Columns& columns, int begin, int count) {
  using Scalar = typename Columns::value_type;
  return Block<Scalar, typename Columns::memory_space>(
      columns.data() + static_cast<std::size_t>(begin) * columns.stride(1), columns.extent(0),
      static_cast<std::size_t>(count));
}

template <class Rows>
auto as_vector(const Rows& X) {
  return Vector<typename Rows::value_type, typename Rows::memory_space>(X.data(), X.extent(0));
}

/// Places in the column that is brought to the host: V ᴴw, its correction by the second projection, ‖w‖₂².
template <class Scalar, class ExecutionSpace>
struct ColumnPlaces {
  const FgmresWorkspace<Scalar, ExecutionSpace>& work;

  auto part(int begin, int count) const {
    return Vector<Scalar, typename ExecutionSpace::memory_space>(work.column.device().data() + begin,
                                                                 static_cast<std::size_t>(count));
  }
  auto first(int count) const { return part(0, count); }
  auto second(int count) const { return part(work.restart + 1, count); }
  auto norm_squared() const { return part(2 * (work.restart + 1), 1); }
  std::size_t second_place() const { return static_cast<std::size_t>(work.restart) + 1; }
  std::size_t norm_place() const { return 2 * second_place(); }
};

/// w /= ‖w‖₂, whose square lies in device memory; nothing where it is zero or not finite.
template <class ExecutionSpace, class W, class Square>
void normalize(const ExecutionSpace& exec, const W& w, const Square& norm_squared) {
  using Scalar = typename W::value_type;
  Kokkos::parallel_for(
      "lutra::krylov::normalize", Impl::all_rows(exec, w), KOKKOS_LAMBDA(const std::int64_t i) {
        const RealOf<Scalar> length = Kokkos::sqrt(ScalarTraits<Scalar>::magnitude(norm_squared(0)));
        if (length > 0 && Kokkos::isfinite(length)) w(i) *= Scalar(1 / length);
      });
}

/// R = B − R.
template <class ExecutionSpace, class Rows>
void subtract_from(const ExecutionSpace& exec, const Rows& B, const Rows& R) {
  Kokkos::parallel_for(
      "lutra::krylov::subtract", Impl::all_rows(exec, R),
      KOKKOS_LAMBDA(const std::int64_t i) { R(i, 0) = B(i, 0) - R(i, 0); });
}

/// ‖w‖₂² to its place in the column.
template <class Scalar, class ExecutionSpace, class W>
void queue_norm(const ExecutionSpace& exec, const W& w, const FgmresWorkspace<Scalar, ExecutionSpace>& work) {
  const Block<Scalar, typename ExecutionSpace::memory_space> as_block(w.data(), w.extent(0), 1);
  KokkosBlas::gemv(exec, "C", Scalar(1), as_block, w, Scalar(0),
                   ColumnPlaces<Scalar, ExecutionSpace>{work}.norm_squared());
}

/// ‖w‖₂ of the column fetched last.
template <class Scalar, class ExecutionSpace>
RealOf<Scalar> fetched_norm(const FgmresWorkspace<Scalar, ExecutionSpace>& work) {
  const ColumnPlaces<Scalar, ExecutionSpace> places{work};
  return std::sqrt(ScalarTraits<Scalar>::magnitude(work.column.host()(places.norm_place())));
}

/// Makes column j + 1 of the basis orthonormal to those before it; returns column j of the Hessenberg matrix,
/// j + 2 entries. Two projections by all columns at once: the second removes what rounding left of the first.
/// Waits once.
template <class Scalar, class ExecutionSpace>
std::vector<Scalar> orthogonalize(const ExecutionSpace& exec, int j,
                                  const FgmresWorkspace<Scalar, ExecutionSpace>& work) {
  const ColumnPlaces<Scalar, ExecutionSpace> places{work};
  const auto V = first_columns(work.basis, 0, j + 1);
  const auto w = as_vector(work.vector(work.basis, j + 1));
  for (const auto& h : {places.first(j + 1), places.second(j + 1)}) {
    KokkosBlas::gemv(exec, "C", Scalar(1), V, w, Scalar(0), h);
    KokkosBlas::gemv(exec, "N", Scalar(-1), V, h, Scalar(1), w);
  }
  queue_norm(exec, w, work);
  normalize(exec, w, places.norm_squared());
  const auto& host = work.column.fetch(exec);
  std::vector<Scalar> column;
  for (std::size_t i = 0; i <= static_cast<std::size_t>(j); ++i)
    column.push_back(host(i) + host(places.second_place() + i));
  column.push_back(Scalar(fetched_norm(work)));
  return column;
}

/// What is left of w after the projections is rounding: the basis cannot grow.
template <class Scalar>
bool is_breakdown(const std::vector<Scalar>& column) {
  RealOf<Scalar> length = 0;
  for (const Scalar& entry : column) length = std::hypot(length, ScalarTraits<Scalar>::magnitude(entry));
  return ScalarTraits<Scalar>::magnitude(column.back()) <= epsilon_of<Scalar> * length;
}

/// D = directions·y.
template <class Scalar, class ExecutionSpace, class D>
void combine(const ExecutionSpace& exec, const std::vector<Scalar>& y,
             const FgmresWorkspace<Scalar, ExecutionSpace>& work, const D& correction) {
  if (y.empty()) return Impl::set_zero(exec, correction);
  for (std::size_t i = 0; i < y.size(); ++i) work.column.host()(i) = y[i];
  work.column.send(exec);
  const auto count = static_cast<int>(y.size());
  KokkosBlas::gemv(exec, "N", Scalar(1), first_columns(work.directions, 0, count),
                   ColumnPlaces<Scalar, ExecutionSpace>{work}.first(count), Scalar(0), as_vector(correction));
}

}  // namespace

template <class Scalar, class ExecutionSpace>
FgmresWorkspace<Scalar, ExecutionSpace> make_fgmres_workspace(const ExecutionSpace& exec, std::size_t n,
                                                              int restart, const MemoryBudget& budget) {
  using Workspace = FgmresWorkspace<Scalar, ExecutionSpace>;
  using Columns = typename Workspace::Columns;
  for (;; restart /= 2) {
    try {
      Workspace work;
      const auto columns = static_cast<std::size_t>(restart);
      work.restart = restart;
      work.reservation = MemoryReservation(budget);
      work.basis = work.reservation.template allocate<Columns>(exec, "lutra::krylov::basis", n, columns + 1);
      work.directions =
          work.reservation.template allocate<Columns>(exec, "lutra::krylov::directions", n, columns);
      work.column = {exec, work.reservation, "lutra::krylov::column", 2 * (columns + 1) + 1};
      return work;
    } catch (const OutOfMemoryError&) {
      if (restart / 2 < min_restart) throw;
    }
  }
}

template <class Scalar, class ExecutionSpace>
void fgmres_cycle(const ExecutionSpace& exec, const LinearOperator<Scalar, ExecutionSpace>& A,
                  Preconditioner<Scalar, ExecutionSpace>& M, Transposition op,
                  const DenseRows<Scalar, typename ExecutionSpace::memory_space>& R,
                  const DenseRows<Scalar, typename ExecutionSpace::memory_space>& D, double goal,
                  int max_iterations, const FgmresWorkspace<Scalar, ExecutionSpace>& work,
                  KrylovOutcome& outcome) {
  const ColumnPlaces<Scalar, ExecutionSpace> places{work};
  const auto start = work.vector(work.basis, 0);
  Impl::copy_column(exec, R, 0, start, 0);
  queue_norm(exec, as_vector(start), work);
  normalize(exec, as_vector(start), places.norm_squared());
  work.column.fetch(exec);
  const RealOf<Scalar> norm = fetched_norm(work);
  if (outcome.history.empty()) outcome.history.push_back(static_cast<double>(norm));
  if (!(norm > 0) || !std::isfinite(norm)) {
    outcome.stop = norm == 0 ? KrylovStop::converged : KrylovStop::not_finite;
    return Impl::set_zero(exec, D);
  }
  Impl::HessenbergSolver<Scalar> hessenberg(norm);
  outcome.stop = KrylovStop::max_iterations;
  for (int j = 0; j < std::min(work.restart, max_iterations); ++j) {
    const auto direction = work.vector(work.directions, j);
    M.apply(exec, op, work.vector(work.basis, j), direction);
    A.apply(exec, direction, work.vector(work.basis, j + 1));
    auto column = orthogonalize(exec, j, work);
    if (!std::isfinite(ScalarTraits<Scalar>::magnitude(column.back()))) {
      outcome.stop = KrylovStop::not_finite;
      break;
    }
    const bool breakdown = is_breakdown(column);
    if (breakdown) column.back() = Scalar(0);
    const RealOf<Scalar> left = hessenberg.add_column(std::move(column));
    ++outcome.iterations;
    outcome.history.push_back(static_cast<double>(left));
    if (left <= static_cast<RealOf<Scalar>>(goal) * norm)
      outcome.stop = KrylovStop::converged;
    else if (breakdown)
      outcome.stop = KrylovStop::stagnated;
    if (outcome.stop != KrylovStop::max_iterations) break;
  }
  combine(exec, hessenberg.solve(), work, D);
}

template <class Scalar, class ExecutionSpace>
KrylovOutcome fgmres(const ExecutionSpace& exec, const LinearOperator<Scalar, ExecutionSpace>& A,
                     Preconditioner<Scalar, ExecutionSpace>& M, Transposition op,
                     const DenseRows<Scalar, typename ExecutionSpace::memory_space>& B,
                     const DenseRows<Scalar, typename ExecutionSpace::memory_space>& X,
                     const DenseRows<Scalar, typename ExecutionSpace::memory_space>& R,
                     const KrylovOptions& options, const FgmresWorkspace<Scalar, ExecutionSpace>& work) {
  const auto norm_of = [&](const auto& Y) {
    queue_norm(exec, as_vector(Y), work);
    work.column.fetch(exec);
    return static_cast<double>(fetched_norm(work));
  };
  KrylovOutcome outcome;
  const double B_norm = norm_of(B);
  if (B_norm == 0) {
    Impl::set_zero(exec, X);
    outcome.stop = KrylovStop::converged;
    return outcome;
  }
  const auto correction = R;  // the residual is in the basis by the time it is written
  for (double before = std::numeric_limits<double>::infinity();;) {
    A.apply(exec, X, R);
    subtract_from(exec, B, R);
    const double norm = norm_of(R);
    const bool broken_off = outcome.stop == KrylovStop::not_finite;
    outcome.stop = !std::isfinite(norm) || !std::isfinite(B_norm) ? KrylovStop::not_finite
                   : norm <= options.tolerance * B_norm           ? KrylovStop::converged
                   : broken_off                                   ? KrylovStop::not_finite
                   : norm > options.min_progress * before         ? KrylovStop::stagnated
                                                                  : KrylovStop::max_iterations;
    if (outcome.stop != KrylovStop::max_iterations || outcome.iterations >= options.max_iterations)
      return outcome;
    before = norm;
    fgmres_cycle(exec, A, M, op, R, correction, options.tolerance * B_norm / norm,
                 options.max_iterations - outcome.iterations, work, outcome);
    Impl::add_multiple(exec, Scalar(1), correction, X);
  }
}

#define LUTRA_FGMRES(Scalar, Space)                                                                       \
  template FgmresWorkspace<Scalar, Space> make_fgmres_workspace<Scalar, Space>(const Space&, std::size_t, \
                                                                               int, const MemoryBudget&); \
  template void fgmres_cycle(const Space&, const LinearOperator<Scalar, Space>&,                          \
                             Preconditioner<Scalar, Space>&, Transposition,                               \
                             const DenseRows<Scalar, typename Space::memory_space>&,                      \
                             const DenseRows<Scalar, typename Space::memory_space>&, double, int,         \
                             const FgmresWorkspace<Scalar, Space>&, KrylovOutcome&);                      \
  template KrylovOutcome fgmres(const Space&, const LinearOperator<Scalar, Space>&,                       \
                                Preconditioner<Scalar, Space>&, Transposition,                            \
                                const DenseRows<Scalar, typename Space::memory_space>&,                   \
                                const DenseRows<Scalar, typename Space::memory_space>&,                   \
                                const DenseRows<Scalar, typename Space::memory_space>&,                   \
                                const KrylovOptions&, const FgmresWorkspace<Scalar, Space>&);
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_FGMRES)

}  // namespace lutra
