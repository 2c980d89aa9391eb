// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_Error.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_KrylovMethods.hpp"
#include "Lutra_RefinementKernels.hpp"

namespace lutra {
namespace Impl {

constexpr int projection_width = 8;  // basis vectors that share a pass over w

/// Row i of Σ y_l·v_l, four vectors at a time: they are far apart in memory, and their reads should overlap.
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

/// As combine_row for some rows of `Lanes` neighbouring columns.
template <int Lanes, class Basis, class Totals, class Scalar, int most_rows>
KOKKOS_FUNCTION void combine_rows(const Basis& V, std::int64_t begin, int rows, int c, int count,
                                  const Totals& y, Scalar (&results)[most_rows][Lanes]) {
  Scalar sums[4][most_rows][Lanes] = {};
  for (int l = 0; l < count; ++l) {
    auto& sum = sums[l < count - count % 4 ? l % 4 : 0];
    Scalar factor[Lanes];
    for (int s = 0; s < Lanes; ++s) factor[s] = y(c + s, l);
    for (int r = 0; r < rows; ++r) {
      const Scalar* const v = &V(l, begin + r, c);
      for (int s = 0; s < Lanes; ++s) sum[r][s] += v[s] * factor[s];
    }
  }
  for (int r = 0; r < rows; ++r)
    for (int s = 0; s < Lanes; ++s)
      results[r][s] = (sums[0][r][s] + sums[1][r][s]) + (sums[2][r][s] + sums[3][r][s]);
}

constexpr int combined_rows = 16;  // whose sums stay in the cache

/// The Hessenberg matrix of each column, reduced to upper triangular form by Givens rotations as its columns
/// arrive.
template <class Basis, class Totals>
struct HessenbergColumns {
  using Scalar = typename Totals::value_type;
  using Real = RealOf<Scalar>;
  Basis triangle;
  Totals cosine, sine, right_side;

  /// Rotates column j of c, given its largest entry on or above the diagonal and its subdiagonal entry.
  /// @param start norm of the first residual
  /// @returns the new residual norm
  KOKKOS_FUNCTION Real add(int c, int j, Real start, Real largest, Real subdiagonal) const {
    Scalar* const column = &triangle(c, j, 0);
    for (int i = 0; i < j; ++i) {
      const Scalar upper = column[i], lower = column[i + 1];
      column[i] = dot(cosine(c, i), upper) + dot(sine(c, i), lower);
      column[i + 1] = cosine(c, i) * lower - sine(c, i) * upper;
    }
    const Real length = Kokkos::hypot(ScalarTraits<Scalar>::magnitude(column[j]), subdiagonal);
    cosine(c, j) = length > 0 ? column[j] / length : Scalar(1);
    sine(c, j) = length > 0 ? Scalar(subdiagonal / length) : Scalar(0);
    // A direction that adds nothing new up to rounding gets coefficient 0.
    const bool is_new = length > 8 * epsilon_of<Scalar> * Kokkos::max(largest, subdiagonal);
    column[j] = is_new ? Scalar(length) : Scalar(0);
    const Scalar rest = j == 0 ? Scalar(start) : right_side(c, j);
    right_side(c, j) = dot(cosine(c, j), rest);
    right_side(c, j + 1) = -(sine(c, j) * rest);
    return ScalarTraits<Scalar>::magnitude(right_side(c, j + 1));
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
  int count;  ///< basis vectors
  TotalsView totals;
  bool is_first;  ///< W is the unscaled product, not yet in its unit

  KOKKOS_FUNCTION bool skips(int c) const { return !columns(c).running; }
  KOKKOS_FUNCTION void add(std::int64_t i, int c, int tile, Sum& sum) const {
    add(i, c, tile, is_first ? W(i, c) * columns(c).inverse_unit : W(i, c), sum);
  }
  KOKKOS_FUNCTION void add(std::int64_t i, int c, int tile, const Scalar& w, Sum& sum) const {
    const int first = tile * projection_width;
    if (first + projection_width <= count) {
      for (int t = 0; t < projection_width; ++t) sum.values[t] += dot(V(first + t, i, c), w);
    } else {
      for (int t = 0; first + t < count; ++t) sum.values[t] += dot(V(first + t, i, c), w);
    }
  }
  KOKKOS_FUNCTION void finish(int) const {}

  template <int Lanes>
  KOKKOS_FUNCTION void add_chunk(std::int64_t begin, std::int64_t end, int c, int tile,
                                 Sum (&sums)[Lanes]) const {
    RealOf<Scalar> unit[Lanes];
    for (int l = 0; l < Lanes; ++l) unit[l] = is_first ? columns(c + l).inverse_unit : RealOf<Scalar>(1);
    const int first = tile * projection_width;
    for (int t = 0; t < projection_width && first + t < count; ++t) {
      Scalar sum[Lanes] = {};
      for (std::int64_t i = begin; i < end; ++i) {
        const Scalar *const v = &V(first + t, i, c), *const w = &W(i, c);
        for (int l = 0; l < Lanes; ++l) sum[l] += dot(v[l], w[l] * unit[l]);
      }
      for (int l = 0; l < Lanes; ++l) sums[l].values[t] = sum[l];
    }
  }
};

/// w −= V·h; h′ = Vᴴ·w, ‖w‖²; then column j of the Hessenberg matrix. The basis includes w as its last
/// vector, so ‖w‖² is the last entry of h′. All are in the unit of the product, and so is the Hessenberg
/// matrix.
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
    Scalar& w = product.W(i, c);
    if (tile == 0)
      w = w * product.columns(c).inverse_unit - combine_row(product.V, i, c, product.count - 1, first);
    product.add(i, c, tile, sum);
  }
  /// Also changes w of columns that have stopped; GmresNext sets it to zero.
  template <int Lanes>
  KOKKOS_FUNCTION void add_chunk(std::int64_t begin, std::int64_t end, int c, int tile,
                                 Sum (&sums)[Lanes]) const {
    for (std::int64_t i = begin; tile == 0 && i < end; i += combined_rows) {
      const int rows = static_cast<int>(Kokkos::min<std::int64_t>(combined_rows, end - i));
      Scalar combined[combined_rows][Lanes];
      combine_rows(product.V, i, rows, c, product.count - 1, first, combined);
      for (int r = 0; r < rows; ++r) {
        Scalar* const w = &product.W(i + r, c);
        for (int l = 0; l < Lanes; ++l) w[l] = w[l] * product.columns(c + l).inverse_unit - combined[r][l];
      }
    }
    product.template add_chunk<Lanes>(begin, end, c, tile, sums);
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
    if (is_full) length = 0;  // the rest of w is rounding: the basis cannot grow
    column.alpha = Scalar(1 / length);
    column.count_iteration(hessenberg.add(c, j, column.first, largest, length));
    if (column.running && is_full) column.end(KrylovStop::stagnated);
  }
};

/// v = (w − V·h′) / ‖w − V·h′‖ in the place of w; zero for columns that have stopped.
template <class Columns, class Basis, class Rows, class TotalsView>
struct GmresNext {
  using Scalar = typename Rows::value_type;
  Columns columns;
  Basis V;
  Rows W;
  int count;  ///< basis vectors without w
  TotalsView h;

  KOKKOS_FUNCTION void operator()(const std::int64_t i, const int c) const {
    W(i, c) = columns(c).running ? (W(i, c) - combine_row(V, i, c, count, h)) * columns(c).alpha : Scalar(0);
  }
  template <int Lanes>
  KOKKOS_FUNCTION void do_chunk(std::int64_t begin, std::int64_t end, int c) const {
    bool running[Lanes], any = false;
    Scalar alpha[Lanes];
    for (int l = 0; l < Lanes; ++l) {
      running[l] = columns(c + l).running;
      alpha[l] = columns(c + l).alpha;
      any = any || running[l];
    }
    for (std::int64_t i = begin; i < end; i += combined_rows) {
      const int rows = static_cast<int>(Kokkos::min<std::int64_t>(combined_rows, end - i));
      Scalar combined[combined_rows][Lanes];
      combine_rows(V, i, rows, c, any ? count : 0, h, combined);
      for (int r = 0; r < rows; ++r) {
        Scalar* const w = &W(i + r, c);
        for (int l = 0; l < Lanes; ++l) w[l] = running[l] ? (w[l] - combined[r][l]) * alpha[l] : Scalar(0);
      }
    }
  }
};

/// Coefficients of the basis by back substitution, one team per column.
template <class Columns, class Basis, class TotalsView, class ExecutionSpace>
struct GmresCoefficients {
  Columns columns;
  Basis triangle;
  TotalsView y;  ///< right-hand side, overwritten by the coefficients

  KOKKOS_FUNCTION void operator()(
      const typename Kokkos::TeamPolicy<ExecutionSpace>::member_type& member) const {
    using Scalar = typename TotalsView::value_type;
    const int c = member.league_rank();
    for (int k = columns(c).iterations - 1; k >= 0; --k) {
      Kokkos::single(Kokkos::PerTeam(member), [&] {
        y(c, k) = triangle(c, k, k) == Scalar(0) ? Scalar(0) : y(c, k) / triangle(c, k, k);
      });
      member.team_barrier();  // y(c, k) is written; pairs with its reading in the next loop
      Kokkos::parallel_for(Kokkos::TeamVectorRange(member, k),
                           [&](const int i) { y(c, i) -= triangle(c, k, i) * y(c, k); });
      member.team_barrier();  // y(c, k − 1) is complete
    }
  }
};

}  // namespace Impl

namespace {

/// Restarted GMRES (Saad and Schultz, SIAM J. Sci. Stat. Comput. 7, 1986). A new vector is projected on the
/// basis twice (classical Gram–Schmidt; Giraud, Langou, Rozložník and van den Eshof, Numer. Math. 101, 2005),
/// in three launches:
///
///     h = Vᴴ·w                                    all sums of a column in one launch
///     w −= V·h,  h′ = Vᴴ·w,  ‖w‖²                 updates rows, then sums; at its end
///                                                 ‖w − V·h′‖² = ‖w‖² − ‖h′‖² and the Givens rotation
///     v = (w − V·h′) / ‖w − V·h′‖
///
/// The Hessenberg matrix stays on the device: no iteration needs the host. Memory: n·k·(restart + 5) scalars.
template <class Scalar, class ExecutionSpace>
class Gmres final : public Impl::KrylovCycles<Scalar, ExecutionSpace> {
  using Base = Impl::KrylovCycles<Scalar, ExecutionSpace>;
  using typename Base::Column;
  using typename Base::Columns;
  using typename Base::Rows;
  using typename Base::System;
  using typename Base::Totals;
  using Basis = Kokkos::View<Scalar***, Kokkos::LayoutRight, typename Base::Memory>;

 public:
  Gmres(const ExecutionSpace& exec, std::size_t n, std::size_t columns, int restart,
        const MemoryBudget& budget, const Impl::BatchedColumns& batch)
      : Base(n, columns, batch), m_restart(restart) {
    constexpr int min_restart = 8;  // as in FGMRES: shorter cycles converge slowly
    if (restart < 1) throw InputError("restart must be at least 1");
    for (;; m_restart /= 2) {
      try {
        allocate_vectors(exec, budget);
        return;
      } catch (const OutOfMemoryError&) {
        if (m_restart / 2 < min_restart) throw;
        release_vectors();
      }
    }
  }
  int max_steps() const override { return m_restart; }

  /// v₀ = r / ‖r‖; zero for columns that have stopped.
  void start(const System& system) override {
    const Rows R = this->trim(this->m_R), V = vector(0);
    system.to_iteration(R);
    this->template sum_running<1>(
        system.exec(), "lutra::krylov::gmres_start",
        KOKKOS_LAMBDA(const Column&, const std::int64_t i, const int c, Scalar* sums) {
          sums[0] += Impl::dot(R(i, c), R(i, c));
        },
        KOKKOS_LAMBDA(const Scalar* sums, Column& column) {
          column.begin(Impl::root_of(sums[0]));
          column.alpha = Scalar(1 / column.first);
        });
    const auto columns = this->m_state.device();
    this->for_entries(
        system.exec(), "lutra::krylov::gmres_first", R, KOKKOS_LAMBDA(const std::int64_t i, const int c) {
          V(i, c) = columns(c).running ? R(i, c) * columns(c).alpha : Scalar(0);
        });
  }

  /// Queues the next basis vector; zero for columns that have stopped.
  void step(const System& system, int j) override {
    const auto& exec = system.exec();
    const auto columns = this->m_state.device();
    const Basis V = basis();
    const Rows W = vector(j + 1);
    const Totals h = this->m_totals;
    system.apply(vector(j), W);
    if (j == 0) this->measure_unit(exec, W);
    const auto tiles = [](int sums) { return (sums + Impl::projection_width - 1) / Impl::projection_width; };
    const Impl::GmresProjection<Columns, Basis, Rows, Totals> once{columns, V, W, j + 1, m_first, true};
    this->sum_rows(exec, "lutra::krylov::gmres_project", once, tiles(j + 1));
    const Impl::GmresProjection<Columns, Basis, Rows, Totals> again{columns, V, W, j + 2, h, false};
    this->sum_rows(exec, "lutra::krylov::gmres_reproject",
                   Impl::GmresReprojection<Columns, Basis, Rows, Totals>{
                       again, m_first, h, {m_triangle, m_cosine, m_sine, m_right_side}},
                   tiles(j + 2));
    this->for_entries(exec, "lutra::krylov::gmres_next", W,
                      Impl::GmresNext<Columns, Basis, Rows, Totals>{columns, V, W, j + 1, h});
  }

  /// d = V·y, with as many vectors as the column has made iterations.
  void finish(const System& system) override {
    using Kernel = Impl::GmresCoefficients<Columns, Basis, Totals, ExecutionSpace>;
    using Policy = Kokkos::TeamPolicy<ExecutionSpace>;
    const auto columns = this->m_state.device();
    const Basis V = basis();
    const Rows D = this->trim(this->m_D);
    const Totals y = m_right_side;
    const int lanes = Impl::vector_length_for<ExecutionSpace>(m_restart);
    Kokkos::parallel_for("lutra::krylov::gmres_coefficients",
                         Policy(system.exec(), static_cast<int>(this->m_width), 1, lanes),
                         Kernel{columns, m_triangle, y});
    this->for_entries(
        system.exec(), "lutra::krylov::gmres_combine", D, KOKKOS_LAMBDA(const std::int64_t i, const int c) {
          D(i, c) = Impl::combine_row(V, i, c, columns(c).iterations, y) * columns(c).inverse_unit;
        });
    system.from_iteration(D);
  }

 private:
  /// Frees the allocations of a failed attempt before the next one.
  void release_vectors() {
    this->release();
    m_basis = m_triangle = {};
    m_first = m_cosine = m_sine = m_right_side = {};
  }
  void allocate_vectors(const ExecutionSpace& exec, const MemoryBudget& budget) {
    const std::size_t columns = this->columns(), vectors = static_cast<std::size_t>(m_restart);
    const std::size_t sums = vectors + 1 + Impl::projection_width;  // h′ and ‖w‖² in whole tiles
    this->allocate(exec, budget, sums);
    auto& memory = this->m_reservation;
    m_basis =
        memory.template allocate<Basis>(exec, "lutra::krylov::basis", vectors + 1, this->size(), columns);
    m_first = memory.template allocate<Totals>(exec, "lutra::krylov::projection", columns, sums);
    m_triangle =
        memory.template allocate<Basis>(exec, "lutra::krylov::hessenberg", columns, vectors, vectors + 1);
    m_cosine = memory.template allocate<Totals>(exec, "lutra::krylov::cosines", columns, vectors);
    m_sine = memory.template allocate<Totals>(exec, "lutra::krylov::sines", columns, vectors);
    m_right_side = memory.template allocate<Totals>(exec, "lutra::krylov::right_side", columns, vectors + 1);
  }
  /// The basis, trimmed to the columns of the present solve, and one vector of it.
  Basis basis() const {
    return Basis(m_basis.data(), static_cast<std::size_t>(m_restart) + 1, this->m_n, this->m_width);
  }
  Rows vector(int j) const {
    return Rows(m_basis.data() + static_cast<std::size_t>(j) * this->m_n * this->m_width, this->m_n,
                this->m_width);
  }

  int m_restart;
  Basis m_basis;            ///< [restart + 1 × n × columns] orthonormal vectors
  Totals m_first;           ///< [columns × restart + 8] h
  Basis m_triangle;         ///< [columns × restart × restart + 1] columns of the Hessenberg matrix, rotated
  Totals m_cosine, m_sine;  ///< [columns × restart] the Givens rotations
  Totals m_right_side;      ///< [columns × restart + 1] rotated right-hand side, finally the coefficients
};

}  // namespace

template <class Scalar, class ExecutionSpace>
Impl::KrylovIterationPointer<Scalar, ExecutionSpace> Impl::make_gmres(const ExecutionSpace& exec,
                                                                      std::size_t n, std::size_t columns,
                                                                      int restart, const MemoryBudget& budget,
                                                                      const BatchedColumns& batch) {
  return std::make_unique<Gmres<Scalar, ExecutionSpace>>(exec, n, columns, restart, budget, batch);
}

#define LUTRA_GMRES(Scalar, Space)                                               \
  template Impl::KrylovIterationPointer<Scalar, Space> Impl::make_gmres<Scalar>( \
      const Space&, std::size_t, std::size_t, int, const MemoryBudget&, const BatchedColumns&);
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_GMRES)

}  // namespace lutra
