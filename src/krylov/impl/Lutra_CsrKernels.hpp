// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CSRKERNELS_HPP
#define LUTRA_CSRKERNELS_HPP

#include <Kokkos_Core.hpp>

#include <algorithm>

#include "Lutra_CompensatedSum.hpp"
#include "Lutra_CsrOperator.hpp"
#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_ForRange.hpp"
#include "Lutra_Index.hpp"

// Kernels that sum rows of op(A) against columns of X. A row functor defines the sum:
//
//   Sum                      partial sum of one row and column; Sum() is zero, += joins two
//   n_maxima                 maxima per column
//   Sum start(i, c)          initial value of the sum
//   Entry entry(p)           data of entry p common to all columns
//   add(sum, entry, c)       adds one entry
//   finish(i, c, sum, max)   writes the result and raises the maxima
//   slot(c, m)               slot of maximum m of column c
//
// visit_rows distributes rows over threads, in the same way for all functors.

namespace lutra::Impl {

/// b − Σ a·x and |b| + Σ |a|·|x| of one row.
template <class Scalar>
struct ResidualSum {
  Scalar rest{};
  RealOf<Scalar> size{};

  KOKKOS_FORCEINLINE_FUNCTION ResidualSum& operator+=(const ResidualSum& other) {
    rest += other.rest;
    size += other.size;
    return *this;
  }
};

template <class Scalar>
struct CsrEntry {
  Scalar value;
  RealOf<Scalar> size;
  Ordinal column;
};

/// Entry p of a row.
template <class Scalar, class Memory>
KOKKOS_FORCEINLINE_FUNCTION CsrEntry<Scalar> entry_of(const CsrRows<Scalar, Memory>& rows, Offset p) {
  const Scalar a = rows.value(p);
  return {a, ScalarTraits<Scalar>::magnitude(a), rows.pattern.entries(p)};
}

template <class T>
KOKKOS_FORCEINLINE_FUNCTION void raise_to(T& maximum, const T& value) {
  if (value > maximum) maximum = value;
}

/// R = B − A·X with the maxima of backward errors. Values that are not finite become infinity, so that no
/// comparison loses them. Entries of X and B below the smallest normal number count as that number: their
/// absolute rounding error is not the solver's fault.
template <class A, class Rows>
struct ResidualRow {
  using Scalar = typename Rows::value_type;
  using Sum = ResidualSum<Scalar>;
  static constexpr int n_maxima = 4;
  A rows;
  Rows B, X, R;

  KOKKOS_FORCEINLINE_FUNCTION static RealOf<Scalar> size_of(const Scalar& value) {
    constexpr auto smallest = Kokkos::Experimental::norm_min_v<RealOf<Scalar>>;
    const auto size = ScalarTraits<Scalar>::magnitude(value);
    return size < smallest ? smallest : size;
  }
  template <class Index>
  KOKKOS_FORCEINLINE_FUNCTION Sum start(Index i, std::size_t c) const {
    return {B(i, c), size_of(B(i, c))};
  }
  template <class Offset>
  KOKKOS_FORCEINLINE_FUNCTION auto entry(Offset p) const {
    return entry_of(rows, p);
  }
  template <class Entry>
  KOKKOS_FORCEINLINE_FUNCTION void add(Sum& sum, const Entry& entry, std::size_t c) const {
    const Scalar x = X(entry.column, c);
    sum.rest -= entry.value * x;
    sum.size += entry.size * size_of(x);
  }
  template <class Index>
  KOKKOS_FORCEINLINE_FUNCTION void finish(Index i, std::size_t c, const Sum& sum, double* maxima) const {
    constexpr double infinity = Kokkos::Experimental::infinity_v<double>;
    R(i, c) = sum.rest;
    const auto r = static_cast<double>(ScalarTraits<Scalar>::magnitude(sum.rest));
    const auto x = static_cast<double>(ScalarTraits<Scalar>::magnitude(X(i, c)));
    const auto size = static_cast<double>(sum.size);
    const bool finite = Kokkos::isfinite(r) && Kokkos::isfinite(x) && Kokkos::isfinite(size);
    raise_to(maxima[0], !finite ? infinity : (r == 0 ? 0.0 : r / size));
    raise_to(maxima[1], !finite ? infinity : r);
    raise_to(maxima[2], x);
    raise_to(maxima[3], static_cast<double>(ScalarTraits<Scalar>::magnitude(B(i, c))));
  }
  KOKKOS_FORCEINLINE_FUNCTION std::size_t slot(std::size_t c, int m) const {
    return slot_of(c, static_cast<ColumnMaximum>(m));
  }
};

/// Y = A·X.
template <class A, class Rows>
struct ProductRow {
  using Scalar = typename Rows::value_type;
  using Sum = Scalar;
  static constexpr int n_maxima = 0;
  A rows;
  Rows X, Y;

  template <class Index>
  KOKKOS_FORCEINLINE_FUNCTION Sum start(Index, std::size_t) const {
    return Scalar{};
  }
  template <class Offset>
  KOKKOS_FORCEINLINE_FUNCTION auto entry(Offset p) const {
    return decltype(entry_of(rows, p)){rows.value(p), {}, rows.pattern.entries(p)};
  }
  template <class Entry>
  KOKKOS_FORCEINLINE_FUNCTION void add(Sum& sum, const Entry& entry, std::size_t c) const {
    sum += entry.value * X(entry.column, c);
  }
  template <class Index>
  KOKKOS_FORCEINLINE_FUNCTION void finish(Index i, std::size_t c, const Sum& sum, double*) const {
    Y(i, c) = sum;
  }
  KOKKOS_FORCEINLINE_FUNCTION std::size_t slot(std::size_t, int) const { return 0; }
};

/// G = |A|·|X|.
template <class A, class Rows>
struct MagnitudeRow {
  using Scalar = typename Rows::value_type;
  using Sum = RealOf<Scalar>;
  static constexpr int n_maxima = 0;
  A rows;
  Rows X, G;

  template <class Index>
  KOKKOS_FORCEINLINE_FUNCTION Sum start(Index, std::size_t) const {
    return Sum{};
  }
  template <class Offset>
  KOKKOS_FORCEINLINE_FUNCTION auto entry(Offset p) const {
    return entry_of(rows, p);
  }
  template <class Entry>
  KOKKOS_FORCEINLINE_FUNCTION void add(Sum& sum, const Entry& entry, std::size_t c) const {
    sum += entry.size * ScalarTraits<Scalar>::magnitude(X(entry.column, c));
  }
  template <class Index>
  KOKKOS_FORCEINLINE_FUNCTION void finish(Index i, std::size_t c, const Sum& sum, double*) const {
    G(i, c) = Scalar(sum);
  }
  KOKKOS_FORCEINLINE_FUNCTION std::size_t slot(std::size_t, int) const { return 0; }
};

/// Sums wᴴ·A·z and |w|ᴴ·|A|·|z| over rows, with the products of a row summed as in twice the precision: short
/// rows by one thread each, long rows (`team_of_row`) by a team each.
template <class A, class Rows>
struct BilinearRows {
  using Scalar = typename Rows::value_type;
  using value_type = BilinearForm;
  A rows;
  Rows W, Z;

  /// Part of a row's product with z, and of its size.
  struct Part {
    CompensatedComplexSum product;
    double size = 0;
    KOKKOS_FUNCTION void add(const Part& other) {
      product.add(other.product);
      size += other.size;
    }
  };

  KOKKOS_FUNCTION void operator()(const std::int64_t i, value_type& form) const {
    const auto begin = rows.pattern.row_map(i), end = rows.pattern.row_map(i + 1);
    if (!rows.is_long(end - begin)) add_row(i, product_of(begin, end, 1), form);
  }
  template <class Member>
  requires requires(const Member& member) { member.league_rank(); }
  KOKKOS_FUNCTION void operator()(const Member& member, value_type& form) const {
    const auto i = static_cast<std::int64_t>(rows.long_rows(member.league_rank()));
    const int rank = member.team_rank(), size = member.team_size();
    Part* const parts = static_cast<Part*>(member.team_scratch(0).get_shmem(scratch_bytes(size)));
    parts[rank] = product_of(rows.pattern.row_map(i) + rank, rows.pattern.row_map(i + 1), size);
    member.team_barrier();
    if (rank > 0) return;
    for (int t = 1; t < size; ++t) parts[0].add(parts[t]);
    add_row(i, parts[0], form);
  }
  KOKKOS_FUNCTION static std::size_t scratch_bytes(int team) {
    return static_cast<std::size_t>(team) * sizeof(Part);
  }

  template <class Offset>
  KOKKOS_FUNCTION Part product_of(Offset begin, Offset end, int step) const {
    Part part;
    for (auto p = begin; p < end; p += step) {
      const Scalar a = rows.value(p), z = Z(rows.pattern.entries(p), 0);
      part.product.add_product(a, z);
      part.size += static_cast<double>(ScalarTraits<Scalar>::magnitude(a)) *
                   static_cast<double>(ScalarTraits<Scalar>::magnitude(z));
    }
    return part;
  }
  KOKKOS_FUNCTION void add_row(std::int64_t i, const Part& part, value_type& form) const {
    const Kokkos::complex<double> w(W(i, 0));
    const Kokkos::complex<double> term = Kokkos::conj(w) * part.product.value();
    form.real += term.real();
    form.imaginary += term.imag();
    form.size += Kokkos::abs(w) * part.size;
  }
  KOKKOS_FUNCTION void init(value_type& form) const { form = {}; }
  KOKKOS_FUNCTION void join(value_type& form, const value_type& other) const {
    form.real += other.real;
    form.imaginary += other.imaginary;
    form.size += other.size;
  }
};

/// Sums of magnitudes of the rows of D_r·A·D_c; the largest goes to one slot.
template <class A, class Scale>
struct NormRow {
  using Sum = double;
  static constexpr int n_maxima = 1;
  A rows;
  Scale row_scale, col_scale;
  std::size_t norm_slot;

  template <class Index>
  KOKKOS_FORCEINLINE_FUNCTION Sum start(Index, std::size_t) const {
    return 0;
  }
  template <class Offset>
  KOKKOS_FORCEINLINE_FUNCTION double entry(Offset p) const {
    const auto entry = entry_of(rows, p);
    return static_cast<double>(col_scale.extent(0) == 0 ? entry.size : entry.size * col_scale(entry.column));
  }
  KOKKOS_FORCEINLINE_FUNCTION void add(Sum& sum, double size, std::size_t) const { sum += size; }
  template <class Index>
  KOKKOS_FORCEINLINE_FUNCTION void finish(Index i, std::size_t, Sum sum, double* maxima) const {
    raise_to(maxima[0], row_scale.extent(0) == 0 ? sum : sum * static_cast<double>(row_scale(i)));
  }
  KOKKOS_FORCEINLINE_FUNCTION std::size_t slot(std::size_t, int) const { return norm_slot; }
};

/// Hosts: chunks of rows, `Block` columns of a row at once. Each sum follows the order of the row.
template <int Block, class Row, class ExecutionSpace, class Slots>
void visit_rows_on_host(const ExecutionSpace& exec, const char* label, const Row& row, std::size_t first,
                        std::size_t n_columns, const Slots& slots) {
  // Rows per thread: few enough to balance, many enough to hide the joining of maxima.
  constexpr std::int64_t chunk = 512;
  constexpr int n_maxima = Row::n_maxima;
  const auto n = static_cast<std::int64_t>(row.rows.pattern.n_rows);
  for_range(
      exec, label, (n + chunk - 1) / chunk, KOKKOS_LAMBDA(const std::int64_t part) {
        const std::size_t columns = Block == 1 ? 1 : n_columns;
        const std::int64_t end = (part + 1) * chunk < n ? (part + 1) * chunk : n;
        double maxima[Block][n_maxima > 0 ? n_maxima : 1] = {};
        for (std::int64_t i = part * chunk; i < end; ++i) {
          typename Row::Sum sums[Block];
          for (std::size_t c = 0; c < columns; ++c) sums[c] = row.start(i, first + c);
          for (auto p = row.rows.pattern.row_map(i); p < row.rows.pattern.row_map(i + 1); ++p) {
            const auto entry = row.entry(p);
            for (std::size_t c = 0; c < columns; ++c) row.add(sums[c], entry, first + c);
          }
          for (std::size_t c = 0; c < columns; ++c) row.finish(i, first + c, sums[c], maxima[c]);
        }
        for (std::size_t c = 0; c < columns; ++c) {
          for (int m = 0; m < n_maxima; ++m) Kokkos::atomic_max(&slots(row.slot(first + c, m)), maxima[c][m]);
        }
      });
}

/// Devices: `lanes` threads process one column of one row. The columns of a row are neighbours and read the
/// same entries of A. visit_long_rows processes long rows. Maxima are joined in the team's scratch memory,
/// then in `slots`.
///
///     team of T threads, k columns:   thread t ─▶ column t mod k of rows t/k, t/k + T/k, …
template <class Row, class ExecutionSpace, class Slots>
void visit_short_rows(const ExecutionSpace& exec, const char* label, const Row& row, std::size_t first,
                      int n_columns, int lanes, const Slots& slots) {
  using Policy = Kokkos::TeamPolicy<ExecutionSpace>;
  using Shared =
      Kokkos::View<double*, typename ExecutionSpace::scratch_memory_space, Kokkos::MemoryUnmanaged>;
  constexpr int n_maxima = Row::n_maxima;
  constexpr int stored = n_maxima > 0 ? n_maxima : 1;  // per thread; arrays cannot have length 0
  constexpr std::int64_t max_teams = 4096;             // more would only join maxima more often
  const auto n = static_cast<std::int64_t>(row.rows.pattern.n_rows);
  const int team = std::max(1, 256 / lanes / n_columns) * n_columns;
  const std::int64_t rows_at_once = team / n_columns;
  const std::int64_t teams = std::min(max_teams, (n + rows_at_once - 1) / rows_at_once);
  const std::int64_t rows_a_team = (n + teams - 1) / teams;
  Policy policy(exec, static_cast<int>(teams), team, lanes);
  policy.set_scratch_size(
      0, Kokkos::PerTeam(Shared::shmem_size(static_cast<std::size_t>(std::max(1, n_maxima * n_columns)))));
  Kokkos::parallel_for(
      label, policy, KOKKOS_LAMBDA(const typename Policy::member_type& member) {
        const Shared shared(member.team_scratch(0), static_cast<std::size_t>(n_maxima * n_columns));
        if (n_maxima > 0) {
          Kokkos::parallel_for(Kokkos::TeamVectorRange(member, n_maxima * n_columns),
                               [&](const int s) { shared(s) = 0; });
          member.team_barrier();  // pairs with the raising of the team's maxima below
        }
        const int c = member.team_rank() % n_columns;
        const std::size_t column = first + static_cast<std::size_t>(c);
        double maxima[stored] = {};
        const std::int64_t begin = member.league_rank() * rows_a_team;
        const std::int64_t end = begin + rows_a_team < n ? begin + rows_a_team : n;
        for (std::int64_t i = begin + member.team_rank() / n_columns; i < end; i += rows_at_once) {
          const auto row_begin = row.rows.pattern.row_map(i), row_end = row.rows.pattern.row_map(i + 1);
          if (row.rows.is_long(row_end - row_begin)) continue;
          typename Row::Sum sum = row.start(i, column);
          if (lanes == 1) {
            for (auto p = row_begin; p < row_end; ++p) row.add(sum, row.entry(p), column);
          } else {
            typename Row::Sum part{};
            Kokkos::parallel_reduce(
                Kokkos::ThreadVectorRange(member, row_begin, row_end),
                [&](const auto p, typename Row::Sum& s) { row.add(s, row.entry(p), column); },
                Kokkos::Sum<typename Row::Sum>(part));
            sum += part;
          }
          row.finish(i, column, sum, maxima);  // called by all lanes, which hold the same sum
        }
        if (n_maxima > 0) {
          for (int m = 0; m < n_maxima; ++m) Kokkos::atomic_max(&shared(c * n_maxima + m), maxima[m]);
          member.team_barrier();  // every thread has raised the team's maxima
          Kokkos::parallel_for(Kokkos::TeamVectorRange(member, n_maxima * n_columns), [&](const int s) {
            const std::size_t slot = row.slot(first + static_cast<std::size_t>(s / stored), s % stored);
            Kokkos::atomic_max(&slots(slot), shared(s));
          });
        }
      });
}

/// Devices: one team per long row, column by column.
template <class Row, class ExecutionSpace, class Slots>
void visit_long_rows(const ExecutionSpace& exec, const char* label, const Row& row, std::size_t n_columns,
                     const Slots& slots) {
  using Policy = Kokkos::TeamPolicy<ExecutionSpace>;
  constexpr int n_maxima = Row::n_maxima;
  const int lanes = Policy::vector_length_max() < 32 ? Policy::vector_length_max() : 32;
  Kokkos::parallel_for(
      label, Policy(exec, static_cast<int>(row.rows.long_rows.extent(0)), 256 / lanes, lanes),
      KOKKOS_LAMBDA(const typename Policy::member_type& member) {
        const auto i = row.rows.long_rows(member.league_rank());
        const auto row_begin = row.rows.pattern.row_map(i), row_end = row.rows.pattern.row_map(i + 1);
        for (std::size_t c = 0; c < n_columns; ++c) {
          typename Row::Sum part{};
          Kokkos::parallel_reduce(
              Kokkos::TeamVectorRange(member, row_begin, row_end),
              [&](const auto p, typename Row::Sum& s) { row.add(s, row.entry(p), c); },
              Kokkos::Sum<typename Row::Sum>(part));
          Kokkos::single(Kokkos::PerTeam(member), [&] {
            typename Row::Sum sum = row.start(i, c);
            sum += part;
            double maxima[n_maxima > 0 ? n_maxima : 1] = {};
            row.finish(i, c, sum, maxima);
            for (int m = 0; m < n_maxima; ++m) Kokkos::atomic_max(&slots(row.slot(c, m)), maxima[m]);
          });
        }
      });
}

/// Visits all rows for columns 0 to `n_columns`. Does not wait.
template <class Row, class ExecutionSpace, class Slots>
void visit_rows(const ExecutionSpace& exec, const char* label, const Row& row, std::size_t n_columns,
                const Slots& slots) {
  const auto n = static_cast<std::int64_t>(row.rows.pattern.n_rows);
  if (n == 0) return;
  // Columns of a launch: larger blocks read A less often, smaller ones keep their part of X in cache.
  constexpr std::size_t block = 32;
  const double mean = static_cast<double>(row.rows.pattern.nnz()) / static_cast<double>(n);
  const int lanes = mean < 3 ? 1 : mean < 12 ? 4 : 8;  // of a row: their loads are neighbours in memory
  for (std::size_t first = 0; first < n_columns; first += block)
    visit_short_rows(exec, label, row, first, static_cast<int>(std::min(block, n_columns - first)), lanes,
                     slots);
  if (row.rows.long_rows.extent(0) > 0) visit_long_rows(exec, label, row, n_columns, slots);
}
template <class Row, HostExecution ExecutionSpace, class Slots>
void visit_rows(const ExecutionSpace& exec, const char* label, const Row& row, std::size_t n_columns,
                const Slots& slots) {
  // Columns that share a pass over A; a thread keeps the sums of all of them.
  constexpr std::size_t block = 16;
  if (row.rows.pattern.n_rows == 0) return;
  if (n_columns == 1) return visit_rows_on_host<1>(exec, label, row, 0, 1, slots);
  for (std::size_t first = 0; first < n_columns; first += block)
    visit_rows_on_host<block>(exec, label, row, first, std::min(block, n_columns - first), slots);
}

/// Rows that are too long for one thread. Waits.
template <class ExecutionSpace>
Kokkos::View<const Ordinal*, typename ExecutionSpace::memory_space> find_long_rows(
    const ExecutionSpace& exec, MemoryReservation& reservation,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern, Offset max_short_row) {
  using Memory = typename ExecutionSpace::memory_space;
  const auto row_map = pattern.row_map;
  Ordinal count = 0;
  Kokkos::parallel_reduce(
      "lutra::krylov::count_long_rows", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, pattern.n_rows),
      KOKKOS_LAMBDA(const Ordinal i, Ordinal& sum) {
        sum += row_map(i + 1) - row_map(i) > max_short_row ? 1 : 0;
      },
      count);
  if (count == 0) return {};
  const auto rows =
      reservation.allocate<Kokkos::View<Ordinal*, Memory>>(exec, "lutra::krylov::long_rows", count);
  Kokkos::parallel_scan(
      "lutra::krylov::list_long_rows", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, pattern.n_rows),
      KOKKOS_LAMBDA(const Ordinal i, Ordinal& position, const bool final) {
        const bool is_long = row_map(i + 1) - row_map(i) > max_short_row;
        if (final && is_long) rows(position) = i;
        position += is_long ? 1 : 0;
      });
  return rows;
}
/// Hosts have no rows of teams.
template <HostExecution ExecutionSpace>
Kokkos::View<const Ordinal*, typename ExecutionSpace::memory_space> find_long_rows(
    const ExecutionSpace&, MemoryReservation&,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>&, Offset) {
  return {};
}

}  // namespace lutra::Impl

template <class Scalar>
struct Kokkos::reduction_identity<lutra::Impl::ResidualSum<Scalar>> {
  KOKKOS_FORCEINLINE_FUNCTION static lutra::Impl::ResidualSum<Scalar> sum() { return {}; }
};

#endif
