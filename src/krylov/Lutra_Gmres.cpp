// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_Gmres.hpp"

#include "Lutra_Instantiate.hpp"
#include "Lutra_RefinementKernels.hpp"

namespace lutra {
namespace Impl {

constexpr int projection_width = 8;  // vectors of the basis that share a pass over w

/// Row i of Σ y_l·v_l, four vectors side by side: they are far apart in memory, and reads shall overlap.
template <class Basis, class Totals>
KOKKOS_FORCEINLINE_FUNCTION auto combine_row(const Basis& V, std::int64_t i, int c, int count,
                                             const Totals& y) {
  typename Basis::value_type sums[4] = {};
  int l = 0;
  for (; l + 4 <= count; l += 4)
    for (int s = 0; s < 4; ++s) sums[s] += V(l + s, i, c) * y(c, l + s);
  for (; l < count; ++l) sums[0] += V(l, i, c) * y(c, l);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/// The Hessenberg matrix of each column: its columns, turned to upper triangular by Givens rotations as they
/// arrive.
template <class Basis, class Totals>
struct HessenbergColumns {
  using Scalar = typename Totals::value_type;
  using Real = RealOf<Scalar>;
  Basis triangle;
  Totals cosine, sine, right_side;

  /// Takes column j of c, `entries` being j + 1 long, and the norm below; returns the residual norm that is
  /// left.
  KOKKOS_FUNCTION Real add(int c, int j, Real largest, Real below) const {
    Scalar* const column = &triangle(c, j, 0);
    for (int i = 0; i < j; ++i) {
      const Scalar upper = column[i], lower = column[i + 1];
      column[i] = dot(cosine(c, i), upper) + dot(sine(c, i), lower);
      column[i + 1] = cosine(c, i) * lower - sine(c, i) * upper;
    }
    const Real length = Kokkos::hypot(ScalarTraits<Scalar>::magnitude(column[j]), below);
    cosine(c, j) = length > 0 ? column[j] / length : Scalar(1);
    sine(c, j) = length > 0 ? Scalar(below / length) : Scalar(0);
    // A direction that brings nothing new up to rounding gets the coefficient 0.
    const bool is_new = length > 8 * epsilon_of<Scalar> * Kokkos::max(largest, below);
    column[j] = is_new ? Scalar(length) : Scalar(0);
    const Scalar rest = right_side(c, j);
    right_side(c, j) = dot(cosine(c, j), rest);
    right_side(c, j + 1) = -(sine(c, j) * rest);
    return ScalarTraits<Scalar>::magnitude(right_side(c, j + 1));
  }
};

/// d = 0, ‖r‖
template <class Columns, class Rows, class TotalsView>
struct GmresStart {
  using Scalar = typename Rows::value_type;
  using Sum = ColumnSum<Scalar, 1>;
  Columns columns;
  Rows R;
  TotalsView right_side, totals;

  KOKKOS_FUNCTION bool skips(int c) const { return !columns(c).running; }
  KOKKOS_FUNCTION void add(std::int64_t i, int c, int, Sum& sum) const {
    sum.values[0] += dot(R(i, c), R(i, c));
  }
  KOKKOS_FUNCTION void finish(int c) const {
    const auto norm = Kokkos::sqrt(real_part(totals(c, 0)));
    columns(c).first = norm;
    columns(c).alpha = Scalar(1 / norm);
    right_side(c, 0) = Scalar(norm);
    if (!Kokkos::isfinite(norm)) return columns(c).end(KrylovStop::not_finite);
    if (norm == 0) columns(c).end(KrylovStop::breakdown);
  }
};

/// h = Vᴴ·w
template <class Columns, class Basis, class Rows, class TotalsView>
struct GmresProjection {
  using Scalar = typename Rows::value_type;
  using Sum = ColumnSum<Scalar, projection_width>;
  Columns columns;
  Basis V;
  Rows W;
  int count;  ///< vectors of the basis
  TotalsView totals;

  KOKKOS_FUNCTION bool skips(int c) const { return !columns(c).running; }
  KOKKOS_FUNCTION void add(std::int64_t i, int c, int tile, Sum& sum) const {
    const int first = tile * projection_width;
    const Scalar w = W(i, c);
    if (first + projection_width <= count) {
      for (int t = 0; t < projection_width; ++t) sum.values[t] += dot(V(first + t, i, c), w);
    } else {
      for (int t = 0; first + t < count; ++t) sum.values[t] += dot(V(first + t, i, c), w);
    }
  }
  KOKKOS_FUNCTION void finish(int) const {}
};

/// w −= V·h; h′ = Vᴴ·w, ‖w‖²; then column j of the Hessenberg matrix. The basis with w as its last vector has
/// ‖w‖² at the end of h′.
template <class Columns, class Basis, class Rows, class TotalsView>
struct GmresReprojection {
  using Scalar = typename Rows::value_type;
  using Real = RealOf<Scalar>;
  using Sum = ColumnSum<Scalar, projection_width>;
  GmresProjection<Columns, Basis, Rows, TotalsView> product;  ///< with V, w and h′
  TotalsView first, totals;                                   ///< h, h′
  HessenbergColumns<Basis, TotalsView> hessenberg;

  KOKKOS_FUNCTION bool skips(int c) const { return product.skips(c); }
  KOKKOS_FUNCTION void add(std::int64_t i, int c, int tile, Sum& sum) const {
    if (tile == 0) product.W(i, c) -= combine_row(product.V, i, c, product.count - 1, first);
    product.add(i, c, tile, sum);
  }
  KOKKOS_FUNCTION void finish(int c) const {
    auto& column = product.columns(c);
    const int j = product.count - 2;
    Real largest = 0, square = 0, removed = 0;
    for (int i = 0; i <= j; ++i) {
      const Scalar h = first(c, i) + totals(c, i);
      hessenberg.triangle(c, j, i) = h;
      largest = Kokkos::max(largest, ScalarTraits<Scalar>::magnitude(h));
      square += real_part(dot(h, h));
      removed += real_part(dot(totals(c, i), totals(c, i)));
    }
    const Real rest = real_part(totals(c, j + 1)) - removed;
    if (!Kokkos::isfinite(rest + square)) return column.end(KrylovStop::not_finite);
    Real length = rest > 0 ? Kokkos::sqrt(rest) : Real(0);
    const bool is_full = length <= epsilon_of<Scalar> * Kokkos::sqrt(square + length * length);
    if (is_full) length = 0;  // what is left of w is rounding: the basis cannot grow
    column.alpha = Scalar(1 / length);
    column.count_iteration(hessenberg.add(c, j, largest, length));
    if (column.running && is_full) column.end(KrylovStop::stagnated);
  }
};

/// The coefficients of the basis, by back substitution: a team for each column.
template <class Columns, class Basis, class TotalsView, class ExecutionSpace>
struct GmresCoefficients {
  Columns columns;
  Basis triangle;
  TotalsView y;  ///< right-hand side, then the coefficients

  KOKKOS_FUNCTION void operator()(
      const typename Kokkos::TeamPolicy<ExecutionSpace>::member_type& member) const {
    using Scalar = typename TotalsView::value_type;
    const int c = member.league_rank();
    for (int k = columns(c).iterations - 1; k >= 0; --k) {
      Kokkos::single(Kokkos::PerTeam(member), [&] {
        y(c, k) = triangle(c, k, k) == Scalar(0) ? Scalar(0) : y(c, k) / triangle(c, k, k);
      });
      member.team_barrier();  // y(c, k) is there; pairs with its reading below
      Kokkos::parallel_for(Kokkos::TeamVectorRange(member, k),
                           [&](const int i) { y(c, i) -= triangle(c, k, i) * y(c, k); });
      member.team_barrier();  // y(c, k − 1) is complete
    }
  }
};

}  // namespace Impl

namespace {

/// v₀ = r / ‖r‖
template <class ExecutionSpace, class Columns, class Rows>
void normalize_first(const ExecutionSpace& exec, const Columns& columns, const Rows& R, const Rows& V) {
  using Scalar = typename Rows::value_type;
  const int width = static_cast<int>(R.extent(1));
  Kokkos::parallel_for(
      "lutra::krylov::gmres_first", Impl::all_rows(exec, R), KOKKOS_LAMBDA(const std::int64_t i) {
        for (int c = 0; c < width; ++c) V(i, c) = columns(c).running ? R(i, c) * columns(c).alpha : Scalar(0);
      });
}

/// w = (w − V·h′) / ‖w − V·h′‖; zero where the column has stopped.
template <class ExecutionSpace, class Columns, class Basis, class Rows, class Totals>
void normalize_next(const ExecutionSpace& exec, const Columns& columns, const Basis& V, int count,
                    const Totals& h, const Rows& W) {
  using Scalar = typename Rows::value_type;
  const int width = static_cast<int>(W.extent(1));
  Kokkos::parallel_for(
      "lutra::krylov::gmres_next", Impl::all_rows(exec, W), KOKKOS_LAMBDA(const std::int64_t i) {
        for (int c = 0; c < width; ++c) {
          const bool running = columns(c).running;
          W(i, c) = running ? (W(i, c) - Impl::combine_row(V, i, c, count, h)) * columns(c).alpha : Scalar(0);
        }
      });
}

/// d = V·y with as many vectors as the column has made iterations.
template <class ExecutionSpace, class Columns, class Basis, class Rows, class Totals>
void combine(const ExecutionSpace& exec, const Columns& columns, const Basis& V, const Totals& y,
             const Rows& D) {
  const int width = static_cast<int>(D.extent(1));
  Kokkos::parallel_for(
      "lutra::krylov::gmres_combine", Impl::all_rows(exec, D), KOKKOS_LAMBDA(const std::int64_t i) {
        for (int c = 0; c < width; ++c) D(i, c) = Impl::combine_row(V, i, c, columns(c).iterations, y);
      });
}

constexpr int min_restart = 8;

}  // namespace

template <class Scalar, class ExecutionSpace>
Gmres<Scalar, ExecutionSpace>::Gmres(const ExecutionSpace& exec, std::size_t n, std::size_t columns,
                                     int restart, const MemoryBudget& budget)
    : Base(n, columns) {
  if (restart < 1) throw InputError("restart must be at least 1");
  for (;; restart /= 2) {
    try {
      const auto vectors = static_cast<std::size_t>(restart);
      // h′ and ‖w‖² in whole tiles
      const std::size_t sums = vectors + 1 + Impl::projection_width;
      this->allocate(exec, budget, sums);
      auto& memory = this->m_reservation;
      m_basis = memory.template allocate<Basis>(exec, "lutra::krylov::basis", vectors + 1, n, columns);
      m_first = memory.template allocate<Totals>(exec, "lutra::krylov::projection", columns, sums);
      m_triangle =
          memory.template allocate<Basis>(exec, "lutra::krylov::hessenberg", columns, vectors, vectors + 1);
      m_cosine = memory.template allocate<Totals>(exec, "lutra::krylov::cosines", columns, vectors);
      m_sine = memory.template allocate<Totals>(exec, "lutra::krylov::sines", columns, vectors);
      m_right_side =
          memory.template allocate<Totals>(exec, "lutra::krylov::right_side", columns, vectors + 1);
      m_restart = restart;
      return;
    } catch (const OutOfMemoryError&) {
      if (restart / 2 < min_restart) throw;
      m_basis = {};
    }
  }
}

template <class Scalar, class ExecutionSpace>
auto Gmres<Scalar, ExecutionSpace>::vector(int j) const -> Rows {
  return Rows(m_basis.data() + static_cast<std::size_t>(j) * this->m_n * this->m_width, this->m_n,
              this->m_width);
}

template <class Scalar, class ExecutionSpace>
void Gmres<Scalar, ExecutionSpace>::start(const System& system) {
  using Start = Impl::GmresStart<Columns, Rows, Totals>;
  const Rows R = this->trim(this->m_R);
  system.to_iteration(R);
  this->sum_rows(system.exec(), "lutra::krylov::gmres_start",
                 Start{this->m_state.device(), R, m_right_side, this->m_totals});
  normalize_first(system.exec(), this->m_state.device(), R, vector(0));
}

template <class Scalar, class ExecutionSpace>
void Gmres<Scalar, ExecutionSpace>::step(const System& system, int j) {
  const auto& exec = system.exec();
  const auto& state = this->m_state.device();
  const Basis V(m_basis.data(), static_cast<std::size_t>(m_restart) + 1, this->m_n, this->m_width);
  const Rows W = vector(j + 1);
  system.apply(vector(j), W);
  const auto tiles = [](int sums) { return (sums + Impl::projection_width - 1) / Impl::projection_width; };
  const Impl::GmresProjection<Columns, Basis, Rows, Totals> once{state, V, W, j + 1, m_first};
  this->sum_rows(exec, "lutra::krylov::gmres_project", once, tiles(j + 1));
  const Impl::GmresProjection<Columns, Basis, Rows, Totals> again{state, V, W, j + 2, this->m_totals};
  this->sum_rows(exec, "lutra::krylov::gmres_reproject",
                 Impl::GmresReprojection<Columns, Basis, Rows, Totals>{
                     again, m_first, this->m_totals, {m_triangle, m_cosine, m_sine, m_right_side}},
                 tiles(j + 2));
  normalize_next(exec, state, V, j + 1, this->m_totals, W);
}

template <class Scalar, class ExecutionSpace>
void Gmres<Scalar, ExecutionSpace>::finish(const System& system) {
  const auto& state = this->m_state.device();
  using Kernel = Impl::GmresCoefficients<Columns, Basis, Totals, ExecutionSpace>;
  using Policy = Kokkos::TeamPolicy<ExecutionSpace>;
  const int lanes = Impl::vector_length_for<ExecutionSpace>(m_restart);
  Kokkos::parallel_for("lutra::krylov::gmres_coefficients",
                       Policy(system.exec(), static_cast<int>(this->m_width), 1, lanes),
                       Kernel{state, m_triangle, m_right_side});
  const Rows D = this->trim(this->m_D);
  const Basis V(m_basis.data(), static_cast<std::size_t>(m_restart) + 1, this->m_n, this->m_width);
  combine(system.exec(), state, V, m_right_side, D);
  system.from_iteration(D);
}

#define LUTRA_GMRES(Scalar, Space) template class Gmres<Scalar, Space>;
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_GMRES)

}  // namespace lutra
