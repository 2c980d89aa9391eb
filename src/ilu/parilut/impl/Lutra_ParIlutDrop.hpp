// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PARILUTDROP_HPP
#define LUTRA_PARILUTDROP_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>

#include "Lutra_BinarySearch.hpp"
#include "Lutra_CsrView.hpp"
#include "Lutra_IluRow.hpp"
#include "Lutra_IncompleteFactors.hpp"
#include "Lutra_KeyScaling.hpp"
#include "Lutra_RowTeams.hpp"
#include "Lutra_ScalarTraits.hpp"
#include "Lutra_Select.hpp"

// Entries that a step of ParILUT removes (Anzt et al., section IV, "Add/Remove elements"): keys of the
// entries, the decision by a threshold, and the compaction of rows. The diagonal has no key and is kept.
//
// Departures: the keys are magnitudes in the factors of a scaled A, since one threshold for all rows means
// little if their units differ. Keys at entries of A count double, which reduced GMRES iterations on more
// matrices. Ties are broken by the order of entries, so that the limit on fill is hard. One scan computes the
// row offsets, whatever the ties.

namespace lutra::Impl {

/// L and U with the candidates, and the keys of their entries.
///
///     row i of L and U     l l l | u u u u u      factors.row_map(i) … factors.diagonal(i) …
///     lower_keys           k k k                  from lower_map(i)
///     upper_keys                   k k k k        from factors.row_map(i) − lower_map(i) − i
template <class Scalar, class Memory>
struct KeyedFactors {
  using Real = RealOf<Scalar>;
  IncompleteFactors<Scalar, Memory> factors;
  Kokkos::View<Offset*, Memory> lower_map;  ///< [n + 1] entries of L in the preceding rows
  Kokkos::View<Real*, Memory> lower_keys;   ///< [entries of L] importance of an entry; negative: dropped
  Kokkos::View<Real*, Memory> upper_keys;   ///< [entries of U without the diagonal]

  KOKKOS_FUNCTION Offset lower_begin(Ordinal i) const { return lower_map(i); }
  KOKKOS_FUNCTION Offset upper_begin(Ordinal i) const { return factors.row_map(i) - lower_map(i) - i; }
  KOKKOS_FUNCTION Offset n_lower(Ordinal i) const { return factors.diagonal(i) - factors.row_map(i); }
  KOKKOS_FUNCTION Offset n_upper(Ordinal i) const { return factors.row_map(i + 1) - factors.diagonal(i) - 1; }
};

/// Sweeps over L and U with the candidates, and stores the keys of their new values.
template <class Scalar, class Memory>
struct KeyedSweepRow {
  using Real = RealOf<Scalar>;
  /// With 2 instead of 1, and sweeps in place, L and U were as good as ILU(0) for 92 instead of 90 % of the
  /// matrices tried.
  static constexpr Real weight_of_A = 2;
  FactorRows<Scalar, Memory> rows;
  KeyedFactors<Scalar, Memory> to;
  KeyScaling<Real, Memory> scaling;

  KOKKOS_FUNCTION Ordinal max_columns(Ordinal i) const { return rows.max_columns(i); }

  template <class Lanes, class Accumulator>
  KOKKOS_FUNCTION void operator()(const Lanes& lanes, Accumulator& w, Ordinal i) const {
    rows.load(lanes, w, i);
    visit_keys(lanes, i, [&](const Offset p, Real& key) {  // w still holds entries of A
      key = rows.loaded(w, i, p) != Scalar(0) ? weight_of_A : Real(1);
    });
    rows.eliminate(lanes, w, i, [](const Ordinal) {});
    rows.store(lanes, w, i);
    visit_keys(lanes, i, [&](const Offset p, Real& key) {
      key = scaling.key(i, rows.entries(p), ScalarTraits<Scalar>::magnitude(rows.loaded(w, i, p))) * key;
    });
  }

  /// visit(position, key) for the entries of row i except the diagonal.
  template <class Lanes, class Visit>
  KOKKOS_FUNCTION void visit_keys(const Lanes& lanes, Ordinal i, const Visit& visit) const {
    lanes.each(rows.row_map(i), rows.diagonal(i),
               [&](const Offset p) { visit(p, to.lower_keys(to.lower_begin(i) + p - rows.row_map(i))); });
    lanes.each(rows.diagonal(i) + 1, rows.row_map(i + 1), [&](const Offset p) {
      visit(p, to.upper_keys(to.upper_begin(i) + p - rows.diagonal(i) - 1));
    });
  }
};

/// Gives entries below the drop tolerance a negative key.
template <class Scalar, class Memory>
struct DropSmall {
  using Real = RealOf<Scalar>;
  KeyedFactors<Scalar, Memory> to;
  Kokkos::View<const Real*, Memory> row_size;  ///< [n] see KeyScaling
  Real drop_tolerance;
  RowTeams rows;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const auto& f = to.factors;
    rows.visit_rows(team, f.n, [&](const Ordinal i) {
      const Real least = drop_tolerance * row_size(i);
      const auto size = [&](const Offset p) { return ScalarTraits<Scalar>::magnitude(f.values(p)); };
      // an entry of L is judged by the value in A's row before division by the pivot
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, to.n_lower(i)), [&](const Offset t) {
        const Offset p = f.row_map(i) + t;
        if (size(p) * size(f.diagonal(f.entries(p))) < least) to.lower_keys(to.lower_begin(i) + t) = -1;
      });
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, to.n_upper(i)), [&](const Offset t) {
        if (size(f.diagonal(i) + 1 + t) < least) to.upper_keys(to.upper_begin(i) + t) = -1;
      });
    });
  }
};

/// Symmetric factorizations: drops entries of U without a mirror in L.
template <class Keyed>
struct DropUnpaired {
  Keyed from;
  RowTeams rows;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const auto& f = from.factors;
    rows.visit_rows(team, f.n, [&](const auto i) {
      const auto begin = f.diagonal(i) + 1;
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, from.n_upper(i)), [&](const std::int64_t t) {
        const auto j = f.entries(begin + t);
        const auto end = f.diagonal(j);
        const auto p = first_not_before(f.row_map(j), end, [&](const auto q) { return f.entries(q) < i; });
        if (p == end || f.entries(p) != i) from.upper_keys(from.upper_begin(i) + t) = -1;
      });
    });
  }
};

/// Two counts below 2³¹ in one word, so that one scan over lanes handles both.
struct AboveAndTies {
  KOKKOS_FUNCTION static std::int64_t pack(std::int64_t above, std::int64_t ties) {
    return above << 32 | ties;
  }
  KOKKOS_FUNCTION static std::int64_t above(std::int64_t packed) { return packed >> 32; }
  KOKKOS_FUNCTION static std::int64_t ties(std::int64_t packed) { return packed & 0xffffffff; }
};

/// A threshold in SelectionKey form: counts nonnegative keys above it and ties with it.
template <class Real>
struct EncodedThreshold {
  using Encoding = SelectionKey<Real>;
  using Key = typename Encoding::Key;
  Key lower, upper;

  KOKKOS_FUNCTION explicit EncodedThreshold(const SelectionThreshold<Real>& threshold)
      : lower(Kokkos::max(Encoding::encode(threshold.lower), Key(Encoding::sign))),
        upper(Kokkos::max(Encoding::encode(threshold.upper), Key(Encoding::sign - 1))) {}

  /// The count (above or ties) that an entry belongs to, or neither.
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t classify(Real key) const {
    const auto encoded = Encoding::encode(key);
    const bool is_above = encoded > upper;
    return AboveAndTies::pack(is_above ? 1 : 0, !is_above && encoded >= lower ? 1 : 0);
  }
};

/// Keeps the `limit` largest keys of a row, ties by index, and makes the others negative. Bisects over the
/// bits of a key, whose integer order equals that of values ≥ 0: 31 or 63 counts.
template <class Real, class Member, class Keys, class Offset>
KOKKOS_FUNCTION void keep_largest(const Member& team, const Keys& keys, Offset begin, Offset length,
                                  Offset limit) {
  using Bits = std::conditional_t<sizeof(Real) == 8, std::uint64_t, std::uint32_t>;
  // A NaN is the largest key whatever its sign, which devices set in products.
  const auto bits_of = [](Real key) { return key != key ? ~Bits(0) >> 1 : Kokkos::bit_cast<Bits>(key); };
  if (length <= limit) return;
  const auto count_from = [&](Bits bits) {
    Offset count = 0;
    Kokkos::parallel_reduce(
        Kokkos::ThreadVectorRange(team, length),
        [&](const Offset t, Offset& sum) {
          const Real key = keys(begin + t);
          sum += !(key < 0) && bits_of(key) >= bits ? 1 : 0;
        },
        count);
    return count;
  };
  if (count_from(0) <= limit) return;
  Bits kth = 0;  // the largest number reached by at least `limit` + 1 keys: not all ties with it may stay
  for (Bits bit = Bits(1) << (8 * sizeof(Bits) - 2); bit > 0; bit >>= 1) {
    if (count_from(kth | bit) > limit) kth |= bit;
  }
  const Offset allowed = limit - count_from(kth + 1);
  Kokkos::parallel_scan(Kokkos::ThreadVectorRange(team, length),
                        [&](const Offset t, Offset& ties, const bool final) {
                          Real& key = keys(begin + t);
                          const bool live = !(key < 0);
                          const Bits bits = bits_of(key);
                          const bool tie = live && bits == kth;
                          const bool drop = live && (bits < kth || (tie && ties >= allowed));
                          ties += tie ? 1 : 0;
                          if (final && drop) key = Real(-1);
                        });
}

/// FillRule::row: each row of L and U keeps `fill_factor` times the entries of A's row.
template <class Scalar, class Memory>
struct LimitRows {
  KeyedFactors<Scalar, Memory> to;
  Kokkos::View<const Ordinal*, Memory> A_lower, A_upper;  ///< [n] entries of A's strict triangles
  double fill_factor;
  RowTeams rows;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& team) const {
    rows.visit_rows(team, to.factors.n, [&](const Ordinal i) {
      keep_largest<RealOf<Scalar>>(team, to.lower_keys, to.lower_begin(i), to.n_lower(i),
                                   static_cast<Offset>(fill_factor * static_cast<double>(A_lower(i))));
      keep_largest<RealOf<Scalar>>(team, to.upper_keys, to.upper_begin(i), to.n_upper(i),
                                   static_cast<Offset>(fill_factor * static_cast<double>(A_upper(i))));
    });
  }
};

/// A threshold that drops only negative keys.
template <class Real, class Memory>
struct KeepAll {
  Kokkos::View<SelectionThreshold<Real>, Memory> threshold;
  KOKKOS_FUNCTION void operator()(const int) const { threshold() = {Real(-1), Real(-1), 0, 0, 0}; }
};

/// Number of `ties` kept if `allowed` entries, possibly a negative number, may be.
KOKKOS_FORCEINLINE_FUNCTION std::int64_t limit_ties(std::int64_t ties, std::int64_t allowed) {
  return Kokkos::max(std::int64_t(0), Kokkos::min(ties, allowed));
}

/// Copies the rows of `from` without the entries dropped by the two thresholds.
///
///     count    entries of each row above each threshold, and ties with it
///     scan     the first n_ties ties are kept, so that a scan computes
///              entries kept before row i = above + min(ties of L, n_ties) + min(ties of U, n_ties)
///     compact  lanes of a row compute their positions by a scan over the same two counts
template <class Scalar, class Memory>
struct DropEntries {
  using Real = RealOf<Scalar>;
  using Threshold = SelectionThreshold<Real>;
  KeyedFactors<Scalar, Memory> from;
  IncompleteFactors<Scalar, Memory> to;
  Kokkos::View<Threshold*, Memory> thresholds;            ///< [2] of L, of U
  Kokkos::View<std::int64_t*, Memory> lower_count;        ///< [n] AboveAndTies of each row of L
  Kokkos::View<std::int64_t*, Memory> upper_count;        ///< [n] of U
  Kokkos::View<std::int64_t*, Memory> lower_ties_before;  ///< [n] ties of L in the preceding rows
  Kokkos::View<std::int64_t*, Memory> upper_ties_before;  ///< [n] ties of U in the preceding rows
  RowTeams rows;
};

template <class Drop>
struct CountKept {
  using Real = typename Drop::Real;
  Drop d;

  template <class Member, class Keys, class Offset>
  KOKKOS_FUNCTION std::int64_t count(const Member& team, const Keys& keys, Offset begin, Offset length,
                                     const EncodedThreshold<Real>& threshold) const {
    std::int64_t total = 0;
    Kokkos::parallel_reduce(
        Kokkos::ThreadVectorRange(team, length),
        [&](const Offset t, std::int64_t& sum) { sum += threshold.classify(keys(begin + t)); }, total);
    return total;
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const EncodedThreshold<Real> lower(d.thresholds(0)), upper(d.thresholds(1));
    d.rows.visit_rows(team, d.to.n, [&](const auto i) {
      const auto in_lower = count(team, d.from.lower_keys, d.from.lower_begin(i), d.from.n_lower(i), lower);
      const auto in_upper = count(team, d.from.upper_keys, d.from.upper_begin(i), d.from.n_upper(i), upper);
      Kokkos::single(Kokkos::PerThread(team), [&]() {
        d.lower_count(i) = in_lower;
        d.upper_count(i) = in_upper;
      });
    });
  }
};

/// Entries of the preceding rows that a threshold certainly keeps, and ties with it.
struct KeptEntries {
  std::int64_t above = 0, lower_ties = 0, upper_ties = 0;

  KOKKOS_FUNCTION KeptEntries& operator+=(const KeptEntries& other) {
    above += other.above;
    lower_ties += other.lower_ties;
    upper_ties += other.upper_ties;
    return *this;
  }
};

/// Scan that computes row offsets. Holds only Views: a larger functor would wait, see by_argument.
template <class Threshold, class Offset, class Memory>
struct KeptRowMap {
  template <class Drop>
  explicit KeptRowMap(const Drop& d)
      : row_map(d.to.row_map),
        diagonal(d.to.diagonal),
        thresholds(d.thresholds),
        lower_count(d.lower_count),
        upper_count(d.upper_count),
        lower_ties_before(d.lower_ties_before),
        upper_ties_before(d.upper_ties_before) {}

  Kokkos::View<Offset*, Memory> row_map, diagonal;
  Kokkos::View<const Threshold*, Memory> thresholds;
  Kokkos::View<const std::int64_t*, Memory> lower_count, upper_count;
  Kokkos::View<std::int64_t*, Memory> lower_ties_before, upper_ties_before;

  KOKKOS_FUNCTION void operator()(const std::int64_t i, KeptEntries& before, const bool final) const {
    const std::int64_t lower = thresholds(0).n_ties, upper = thresholds(1).n_ties;
    const auto start = static_cast<Offset>(before.above + Kokkos::min(before.lower_ties, lower) +
                                           Kokkos::min(before.upper_ties, upper) + i);
    if (final) row_map(i) = start;
    if (i == static_cast<std::int64_t>(lower_count.extent(0))) return;
    const std::int64_t in_lower = lower_count(i), in_upper = upper_count(i);
    const std::int64_t above = AboveAndTies::above(in_lower), ties = AboveAndTies::ties(in_lower);
    if (final) {
      lower_ties_before(i) = before.lower_ties;
      upper_ties_before(i) = before.upper_ties;
      diagonal(i) = start + static_cast<Offset>(above + limit_ties(ties, lower - before.lower_ties));
    }
    before += {above + AboveAndTies::above(in_upper), ties, AboveAndTies::ties(in_upper)};
  }
};

template <class Drop>
struct CompactKept {
  using Real = typename Drop::Real;
  using Threshold = typename Drop::Threshold;
  Drop d;

  /// Moves the kept entries of a factor's row.
  /// @param first  position of the row's first entry, whose key is keys(begin)
  /// @param to     position of the first kept entry
  template <class Member, class Keys, class Offset>
  KOKKOS_FUNCTION void move(const Member& team, const Keys& keys, Offset begin, Offset length, Offset first,
                            Offset to, const Threshold& threshold, std::int64_t ties_before) const {
    const auto& f = d.from.factors;
    const std::int64_t allowed = threshold.n_ties - ties_before;
    const EncodedThreshold<Real> encoded(threshold);
    Kokkos::parallel_scan(
        Kokkos::ThreadVectorRange(team, length), [&](const Offset t, std::int64_t& sum, const bool final) {
          const std::int64_t kind = encoded.classify(keys(begin + t));
          const std::int64_t above = AboveAndTies::above(sum), ties = AboveAndTies::ties(sum);
          if (final && (AboveAndTies::above(kind) != 0 || (kind != 0 && ties < allowed))) {
            const Offset q = to + static_cast<Offset>(above + limit_ties(ties, allowed));
            d.to.entries(q) = f.entries(first + t);
            d.to.values(q) = f.values(first + t);
          }
          sum += kind;
        });
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const Threshold lower = d.thresholds(0), upper = d.thresholds(1);
    d.rows.visit_rows(team, d.to.n, [&](const auto i) {
      const auto& f = d.from.factors;
      move(team, d.from.lower_keys, d.from.lower_begin(i), d.from.n_lower(i), f.row_map(i), d.to.row_map(i),
           lower, d.lower_ties_before(i));
      move(team, d.from.upper_keys, d.from.upper_begin(i), d.from.n_upper(i), f.diagonal(i) + 1,
           d.to.diagonal(i) + 1, upper, d.upper_ties_before(i));
      Kokkos::single(Kokkos::PerThread(team), [&]() {
        d.to.entries(d.to.diagonal(i)) = i;
        d.to.values(d.to.diagonal(i)) = f.values(f.diagonal(i));
      });
    });
  }
};

/// Symmetric factorizations: L keeps the entries that U keeps. Runs between two counts, after a placement.
template <class Drop>
struct MirrorKept {
  using Real = typename Drop::Real;
  Drop d;

  /// Whether U keeps entry (j, i).
  KOKKOS_FUNCTION bool is_kept(Ordinal j, Ordinal i) const {
    const auto& f = d.from.factors;
    const auto begin = f.diagonal(j) + 1, end = f.row_map(j + 1);
    const auto p = first_not_before(begin, end, [&](const auto q) { return f.entries(q) < i; });
    if (p == end || f.entries(p) != i) return false;
    const EncodedThreshold<Real> upper(d.thresholds(1));
    const auto keys = d.from.upper_begin(j);
    const auto kind = upper.classify(d.from.upper_keys(keys + (p - begin)));
    if (AboveAndTies::ties(kind) == 0) return kind != 0;
    std::int64_t ties = d.upper_ties_before(j);
    for (auto q = begin; q < p; ++q)
      ties += AboveAndTies::ties(upper.classify(d.from.upper_keys(keys + (q - begin))));
    return ties < d.thresholds(1).n_ties;
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& team) const {
    d.rows.visit_rows(team, d.to.n, [&](const auto i) {
      const auto begin = d.from.factors.row_map(i);
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, d.from.n_lower(i)), [&](const std::int64_t t) {
        d.from.lower_keys(d.from.lower_begin(i) + t) =
            is_kept(d.from.factors.entries(begin + t), i) ? Real(1) : Real(-1);
      });
    });
  }
};

}  // namespace lutra::Impl

#endif
