// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PARILUTCANDIDATES_HPP
#define LUTRA_PARILUTCANDIDATES_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>

#include "Lutra_BinarySearch.hpp"
#include "Lutra_CsrView.hpp"
#include "Lutra_IluRow.hpp"
#include "Lutra_IncompleteFactors.hpp"
#include "Lutra_KeyScaling.hpp"
#include "Lutra_MemoryBudget.hpp"
#include "Lutra_RowAccumulator.hpp"
#include "Lutra_RowTeams.hpp"
#include "Lutra_ScalarTraits.hpp"
#include "Lutra_Select.hpp"

// Candidates that a step of ParILUT adds (Anzt et al., section IV, "Candidate search" and "Computing the ILU
// residual"): positions outside the pattern where A − L·U has an entry. Two passes over the rows count and
// fill. Both compute the residual in an accumulator, so that no rows of L are merged with columns of U.
//
// Departures: the norm is taken over all entries of A − L·U, not only over the candidates. Candidates are not
// stored if their keys are far below the thresholds of the previous step, or if their number exceeds a bound
// that depends on the limits on fill, since the next thresholds would drop them. If memory is short, one
// chunk of the rows at a time gets its candidates, and L and U keep the largest entries seen so far.

namespace lutra::Impl {

/// Results of a step that the host reads.
struct ParIlutNews {
  std::int64_t n_entries = 0;  ///< entries of L and U with the candidates
  std::int64_t n_lower = 0;    ///< entries of L among them
  double residual = 0;         ///< sum of squares of A − L·U, each row relative to A's largest entry in it
};

/// Bins of keys from 2⁻⁶⁴ to 2⁶⁴, four per octave: the key's bits without all but two bits of the mantissa.
/// The first and last bin also hold smaller and larger keys.
template <class Real>
struct KeyBins {
  using Bits = std::conditional_t<sizeof(Real) == 8, std::uint64_t, std::uint32_t>;
  static constexpr int count = 512;
  static constexpr int shift = sizeof(Real) == 8 ? 50 : 21;
  static constexpr int first = 4 * ((sizeof(Real) == 8 ? 1023 : 127) - 64);

  KOKKOS_FUNCTION static int bin(Real key) {
    const int number = static_cast<int>(Kokkos::bit_cast<Bits>(key) >> shift) - first;
    return number < 0 ? 0 : number < count ? number : count - 1;
  }
  /// The smallest key of a bin.
  KOKKOS_FUNCTION static Real least(int bin) {
    return bin == 0 ? Real(0) : Kokkos::bit_cast<Real>(static_cast<Bits>(bin + first) << shift);
  }
};

/// L and U, their candidates, and the destination of the merged rows.
template <class Scalar, class Memory>
struct CandidateSearch {
  using Real = RealOf<Scalar>;
  using Index = Ordinal;
  using Factors = IncompleteFactors<Scalar, Memory>;
  /// Factor for the thresholds of the previous step, because sweeps change values.
  static constexpr Real slack = Real(0.25);

  CsrView<Scalar, Ordinal, Offset, Memory> A;
  double shift;  ///< added to A's diagonal, relative to its rows' largest magnitudes
  Factors from;  ///< present L and U
  Factors to;    ///< L and U with candidates; its entries and values may prove too short
  Kokkos::View<Offset*, Memory> lower_map;  ///< [n + 1] entries of the new L in the preceding rows
  Kokkos::View<Ordinal*, Memory>
      n_columns;                          ///< [n] bound on the columns of a row's residual, then their number
  Kokkos::View<Ordinal*, Memory> n_row;   ///< [n] entries of the new row
  Kokkos::View<Ordinal*, Memory> n_left;  ///< [n] entries of L among them
  Kokkos::View<double*, Memory> row_residual;  ///< [n] summands of ParIlutNews::residual
  KeyScaling<Real, Memory> scaling;
  Kokkos::View<Real*, Memory> weights;  ///< [2·n] factor of a key by column: in U, in L, in U, …
  Kokkos::View<const SelectionThreshold<Real>*, Memory> thresholds;  ///< [2] the previous step's, for L and U
  Real min_lower, min_upper;                                         ///< smallest accepted keys of candidates
  bool symmetric;      ///< a candidate in L is judged by its mirror in U
  Ordinal begin, end;  ///< chunk of rows that gets candidates; symmetric: rows of U, with their mirrors
  RowTeams rows;

  KOKKOS_FUNCTION Real min_key(int factor) const {
    return Kokkos::max(factor == 0 ? min_lower : min_upper, slack * thresholds(factor).lower);
  }
  /// Initial value of a candidate: r_ij / u_jj in L, r_ij in U.
  KOKKOS_FUNCTION Scalar value(Ordinal i, Ordinal j, const Scalar& r) const {
    return j < i ? divide_by_pivot(r, from.values(from.diagonal(j))) : r;
  }
  /// Key of that value: KeyScaling's, without divisions.
  KOKKOS_FORCEINLINE_FUNCTION Real key(Ordinal i, Ordinal j, const Scalar& r) const {
    const Real size = ScalarTraits<Scalar>::magnitude(r);
    if (symmetric && j < i) return scaling.key(j, i, size);
    return size * scaling.row(i) * weights(2 * static_cast<std::size_t>(j) + is_left(i, j));
  }
  /// 1 in L, 0 in U: a number, to avoid branches.
  KOKKOS_FORCEINLINE_FUNCTION static std::size_t is_left(Ordinal i, Ordinal j) {
    return static_cast<std::size_t>(j < i);
  }
  KOKKOS_FUNCTION void set_weights(Ordinal j) const {
    const Real pivot = ScalarTraits<Scalar>::magnitude(from.values(from.diagonal(j)));
    weights(2 * static_cast<std::size_t>(j)) = scaling.column(j);
    weights(2 * static_cast<std::size_t>(j) + 1) = pivot > 0 ? 1 / scaling.row(j) / pivot : Real(0);
  }
  /// Whether row i may get candidates.
  KOKKOS_FUNCTION bool is_in_chunk(Ordinal i) const { return i >= begin && (symmetric || i < end); }
  /// Whether a residual outside the pattern becomes a candidate. NaN does not; the norm reports it.
  /// @param least smallest keys in U, in L
  KOKKOS_FORCEINLINE_FUNCTION bool is_candidate(Ordinal i, Ordinal j, const Scalar& r,
                                                const Real (&least)[2]) const {
    if (symmetric) return !(j < i ? j < begin || j >= end : i >= end) && key(i, j, r) >= least[0];
    return key(i, j, r) >= least[is_left(i, j)];
  }
  KOKKOS_FUNCTION bool is_candidate(Ordinal i, Ordinal j, const Scalar& r) const {
    return is_candidate(i, j, r, {min_key(1), min_key(0)});
  }
};

/// Computes an upper bound on the columns of a row's residual, and the weights of keys.
template <class Search>
struct PrepareRows {
  Search s;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const auto& f = s.from;
    s.rows.visit_rows(team, f.n, [&](const auto i) {
      std::int64_t sum = 0;
      Kokkos::parallel_reduce(
          Kokkos::ThreadVectorRange(team, f.row_map(i), f.diagonal(i)),
          [&](const auto p, std::int64_t& part) {
            const auto k = f.entries(p);
            part += static_cast<std::int64_t>(f.row_map(k + 1) - f.diagonal(k) - 1);
          },
          sum);
      sum += static_cast<std::int64_t>(f.row_map(i + 1) - f.row_map(i) + s.A.row_map(i + 1) - s.A.row_map(i));
      Kokkos::single(Kokkos::PerThread(team), [&]() {
        s.n_columns(i) = static_cast<decltype(f.n)>(Kokkos::min(sum, static_cast<std::int64_t>(f.n)));
        s.set_weights(i);
      });
    });
  }
};

/// Action of a pass on the residuals of rows.
enum class SearchPass {
  norm,     ///< takes norms
  count,    ///< counts candidates, and takes norms
  recount,  ///< counts candidates of the same L and U again, with a larger smallest key
  bins,     ///< counts candidates by key size
  fill      ///< writes the rows, sorted by column; nothing if they do not fit
};

/// Writes a row from position `first` on.
template <class Factors, class Offset>
struct WriteRow {
  const Factors& to;
  Offset first;

  template <class Scalar>
  KOKKOS_FUNCTION void operator()(const Ordinal rank, const Ordinal j, const Scalar& value) const {
    to.entries(first + rank) = j;
    to.values(first + rank) = value;
  }
};

/// All passes are one functor, so that the same instructions decide what is counted and written.
template <class Search, class Memory>
struct SearchRow {
  using Factors = typename Search::Factors;
  using Scalar = typename decltype(Factors::values)::non_const_value_type;
  Search s;
  SearchPass pass;
  Kokkos::View<std::int64_t*, Memory> bins;  ///< [2 × KeyBins::count] candidates of L, of U; for pass `bins`

  KOKKOS_FUNCTION Ordinal max_columns(Ordinal i) const { return s.n_columns(i); }
  KOKKOS_FUNCTION static Scalar not_a_number() {
    return Scalar(Kokkos::Experimental::quiet_NaN_v<RealOf<Scalar>>);
  }

  template <class Lanes, class Accumulator>
  KOKKOS_FUNCTION void operator()(const Lanes& lanes, Accumulator& w, Ordinal i) const {
    if (pass == SearchPass::fill && !has_room()) return;
    if (!s.is_in_chunk(i)) return keep(lanes, i);
    compute_residual(lanes, w, i);
    if (pass == SearchPass::norm || pass == SearchPass::count) {
      const double sum = residual(lanes, w, i);
      lanes.once([&]() { s.row_residual(i) = sum; });
    }
    if (pass == SearchPass::count || pass == SearchPass::recount) count(lanes, w, i);
    if (pass == SearchPass::bins) count_bins(lanes, w, i);
    if (pass == SearchPass::fill) write(lanes, w, i);
  }

  /// Whether the counted entries fit.
  KOKKOS_FUNCTION bool has_room() const {
    return static_cast<std::size_t>(s.to.row_map(s.from.n)) <= s.to.entries.extent(0);
  }

  /// Copies a row outside the chunk unchanged.
  template <class Lanes>
  KOKKOS_FUNCTION void keep(const Lanes& lanes, Ordinal i) const {
    const auto& f = s.from;
    if (pass == SearchPass::count || pass == SearchPass::recount) {
      lanes.once([&]() {
        s.n_left(i) = static_cast<Ordinal>(f.diagonal(i) - f.row_map(i));
        s.n_row(i) = static_cast<Ordinal>(f.row_map(i + 1) - f.row_map(i));
      });
    }
    if (pass == SearchPass::fill) {
      const auto shift = s.to.row_map(i) - f.row_map(i);
      lanes.each(f.row_map(i), f.row_map(i + 1), [&](const auto p) {
        s.to.entries(p + shift) = f.entries(p);
        s.to.values(p + shift) = f.values(p);
      });
    }
  }

  /// w := row i of A − L·U, including the columns of L and U
  template <class Lanes, class Accumulator>
  KOKKOS_FUNCTION void compute_residual(const Lanes& lanes, Accumulator& w, Ordinal i) const {
    const auto& f = s.from;
    lanes.each(f.row_map(i), f.row_map(i + 1), [&](const auto p) { w.append(f.entries(p)); });
    add_matrix_row<true>(lanes, w, s.A, s.shift, i);
    for (auto p = f.row_map(i); p < f.diagonal(i); ++p) {
      const Ordinal k = f.entries(p);
      subtract_row<true>(lanes, w, f.entries, f.values, f.diagonal(k), f.row_map(k + 1), f.values(p));
    }
    subtract_row<true>(lanes, w, f.entries, f.values, f.diagonal(i), f.row_map(i + 1), Scalar(1));
  }

  /// Replaces the values in the columns of L and U in row i by `value_of` of their positions.
  template <class Lanes, class Accumulator, class ValueOf>
  KOKKOS_FUNCTION void replace_entries(const Lanes& lanes, Accumulator& w, Ordinal i,
                                       const ValueOf& value_of) const {
    lanes.each(s.from.row_map(i), s.from.row_map(i + 1),
               [&](const auto p) { w.value(w.find(s.from.entries(p))) = value_of(p); });
  }
  /// Replaces them by NaN, so that only candidates remain.
  template <class Lanes, class Accumulator>
  KOKKOS_FUNCTION void leave_candidates(const Lanes& lanes, Accumulator& w, Ordinal i) const {
    replace_entries(lanes, w, i, [](const auto) { return not_a_number(); });
  }

  /// Contribution of a row to ParIlutNews::residual.
  template <class Lanes, class Accumulator>
  KOKKOS_FUNCTION double residual(const Lanes& lanes, Accumulator& w, Ordinal i) const {
    const auto size = static_cast<double>(s.scaling.row_size(i));
    return w.template sum<double>(lanes, [&](const Ordinal, const Scalar& r) {
      const double part = static_cast<double>(ScalarTraits<Scalar>::magnitude(r)) / size;
      return part * part;
    });
  }

  template <class Lanes, class Accumulator>
  KOKKOS_FUNCTION void count(const Lanes& lanes, Accumulator& w, Ordinal i) const {
    const Ordinal columns = w.size(lanes);
    leave_candidates(lanes, w, i);
    const Ordinal left = w.template sum<Ordinal>(
        lanes, [&](const Ordinal j, const Scalar& r) { return Ordinal(j < i && s.is_candidate(i, j, r)); });
    const Ordinal right = w.template sum<Ordinal>(
        lanes, [&](const Ordinal j, const Scalar& r) { return Ordinal(j >= i && s.is_candidate(i, j, r)); });
    lanes.once([&]() {
      s.n_columns(i) = columns;
      s.n_left(i) = left + static_cast<Ordinal>(s.from.diagonal(i) - s.from.row_map(i));
      s.n_row(i) = left + right + static_cast<Ordinal>(s.from.row_map(i + 1) - s.from.row_map(i));
    });
  }

  template <class Lanes, class Accumulator>
  KOKKOS_FUNCTION void count_bins(const Lanes& lanes, Accumulator& w, Ordinal i) const {
    using Bins = KeyBins<RealOf<Scalar>>;
    leave_candidates(lanes, w, i);
    w.each(lanes, [&](const Ordinal j, const Scalar& r) {
      if (s.is_candidate(i, j, r))
        Kokkos::atomic_inc(&bins((j < i ? 0 : Bins::count) + Bins::bin(s.key(i, j, r))));
    });
  }

  template <class Lanes, class Accumulator>
  KOKKOS_FUNCTION void write(const Lanes& lanes, Accumulator& w, Ordinal i) const {
    w.each(lanes, [&](const Ordinal j, Scalar& r) {
      r = s.is_candidate(i, j, r) ? s.value(i, j, r) : not_a_number();
    });
    replace_entries(lanes, w, i, [&](const auto p) { return s.from.values(p); });
    w.remove_if(lanes, [](const Ordinal, const Scalar& value) { return value != value; });
    const auto first = s.to.row_map(i);
    w.visit_sorted(lanes, WriteRow<Factors, decltype(first)>{s.to, first});
  }
};

/// Candidates that are kept between the passes of a step; none on devices.
template <class Scalar, class ExecutionSpace>
class StoredCandidates {
  static_assert(!HostExecution<ExecutionSpace>, "lutra: include Lutra_ParIlutCandidatesHost.hpp");

 public:
  /// @param candidates approximate number of all rows
  void allocate(const ExecutionSpace&, Ordinal, std::int64_t, const MemoryBudget&) {}
  /// Before a pass that counts.
  void clear(const ExecutionSpace&) const {}
  /// Calls for_each_row(row), or with a row that reads what is stored.
  template <class Row, class ForEachRow>
  void pass(const Row& row, const ForEachRow& for_each_row) const {
    for_each_row(row);
  }
};

/// Entries and residuals of the preceding rows.
struct RowStart {
  std::int64_t all = 0, lower = 0;
  double residual = 0;

  KOKKOS_FUNCTION RowStart& operator+=(const RowStart& other) {
    all += other.all;
    lower += other.lower;
    residual += other.residual;
    return *this;
  }
};

/// Scan that computes row offsets and totals. Holds only Views: a larger functor would wait, see by_argument.
template <class Memory>
struct PlaceCandidates {
  template <class Search>
  PlaceCandidates(const Search& s, const Kokkos::View<ParIlutNews*, Memory>& n)
      : row_map(s.to.row_map),
        diagonal(s.to.diagonal),
        lower_map(s.lower_map),
        n_row(s.n_row),
        n_left(s.n_left),
        row_residual(s.row_residual),
        news(n) {}

  Kokkos::View<Offset*, Memory> row_map, diagonal, lower_map;
  Kokkos::View<const Ordinal*, Memory> n_row, n_left;
  Kokkos::View<const double*, Memory> row_residual;
  Kokkos::View<ParIlutNews*, Memory> news;  ///< [1]

  KOKKOS_FUNCTION void operator()(const std::int64_t i, RowStart& before, const bool final) const {
    if (final) {
      row_map(i) = static_cast<Offset>(before.all);
      lower_map(i) = static_cast<Offset>(before.lower);
    }
    if (i == static_cast<std::int64_t>(n_row.extent(0))) {
      if (final) news(0) = {before.all, before.lower, before.residual};
      return;
    }
    if (final) diagonal(i) = static_cast<Offset>(before.all + n_left(i));
    before += {n_row(i), n_left(i), row_residual(i)};
  }
};

/// Adds up the residuals of rows in their order. The sum of the scan depends on the number of host threads.
template <class Memory>
struct AddResiduals {
  Kokkos::View<const double*, Memory> row_residual;
  Kokkos::View<ParIlutNews*, Memory> news;  ///< [1]

  KOKKOS_FUNCTION void operator()(const std::int64_t) const {
    double sum = 0;
    for (std::size_t i = 0; i < row_residual.extent(0); ++i) sum += row_residual(i);
    news(0).residual = sum;
  }
};

}  // namespace lutra::Impl

#endif
