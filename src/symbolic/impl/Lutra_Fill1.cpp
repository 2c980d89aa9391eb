// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_Fill1.hpp"

#include "Lutra_Instantiate.hpp"
#include "Lutra_RowChunks.hpp"
#include "Lutra_SweepSet.hpp"

namespace lutra::Impl {
namespace {

template <class T>
using HostArray = Kokkos::View<T*, Kokkos::HostSpace>;

/// The part of a row of U behind the diagonal that still has to be walked.
template <class Ordinal>
struct UpperRow {
  const Ordinal* begin;
  const Ordinal* end;
  bool pruned;  ///< its last entry is the first i with (k, i) in U and (i, k) in L
};

/// All that is known of the rows done.
template <class Ordinal, class Offset>
struct Fill1Rows {
  HostArray<Ordinal> only;  ///< [n] the one entry left of a row of U, -1 where there are more or none
  HostArray<UpperRow<Ordinal>> upper;  ///< [n]
  HostArray<Offset> row_map;           ///< [n + 1]
  HostArray<Offset> diagonal;          ///< [n]
  HostArray<Ordinal> row;              ///< [n] the row in work
  RowChunks<Ordinal> chunks;           ///< rows done, of L + U
};

/// Puts what U(k, :) leads to into `reached`, and prunes U(k, :) where it holds `source`: it is only walked
/// for sources with (source, k) in L.
template <class Ordinal>
void expand(UpperRow<Ordinal>& upper, Ordinal& only, Ordinal source, SweepSet& reached) {
  const Ordinal* match = nullptr;
  for (const Ordinal* w = upper.begin; w != upper.end; ++w) {
    if (*w == source) match = w;
    reached.insert(static_cast<std::size_t>(*w));
  }
  if (match == nullptr || upper.pruned) return;
  upper = {upper.begin, match + 1, true};
  if (match == upper.begin) only = *match;
}

template <class Ordinal, class Offset>
void search_row(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern, Ordinal source,
                SweepSet& reached, Fill1Rows<Ordinal, Offset>& rows) {
  Ordinal least = source;
  reached.insert(static_cast<std::size_t>(source));
  for (Offset p = pattern.row_map(source); p < pattern.row_map(source + 1); ++p) {
    const Ordinal v = pattern.entries(p);
    least = v < least ? v : least;
    reached.insert(static_cast<std::size_t>(v));
  }
  Ordinal* end = rows.row.data();
  std::size_t n_lower = 0;
  reached.sweep(static_cast<std::size_t>(least), [&](std::size_t member) {
    const auto k = static_cast<Ordinal>(member);
    *end++ = k;
    if (k >= source) return;
    ++n_lower;
    const Ordinal only = rows.only(k);
    if (only >= 0) {
      reached.insert(static_cast<std::size_t>(only));
    } else {
      expand(rows.upper(k), rows.only(k), source, reached);
    }
  });
  const auto length = static_cast<std::size_t>(end - rows.row.data());
  const Ordinal* const place = rows.chunks.append(rows.row.data(), length);
  rows.only(source) = -1;
  rows.upper(source) = {place + n_lower + 1, place + length, false};
  rows.diagonal(source) = rows.row_map(source) + static_cast<Offset>(n_lower);
  rows.row_map(source + 1) = rows.row_map(source) + static_cast<Offset>(length);
}

}  // namespace

template <class Ordinal, class Offset>
LuPattern<Ordinal, Offset, Kokkos::HostSpace> fill1(
    const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern, const MemoryBudget& budget) {
  const Kokkos::DefaultHostExecutionSpace exec;
  const Ordinal n = pattern.n_rows;
  LuPattern<Ordinal, Offset, Kokkos::HostSpace> result;
  result.n = n;
  result.road = SymbolicRoad::fill1;
  result.charge = Charge(budget);
  Charge scratch(budget);
  const auto first_chunk = static_cast<std::size_t>(n) + 2 * static_cast<std::size_t>(pattern.nnz());
  Fill1Rows<Ordinal, Offset> rows{
      scratch.allocate<HostArray<Ordinal>>(exec, "lutra::symbolic::only_entries", n),
      scratch.allocate<HostArray<UpperRow<Ordinal>>>(exec, "lutra::symbolic::upper_rows", n),
      result.charge.template allocate<HostArray<Offset>>(exec, "lutra::symbolic::row_map", n + 1),
      result.charge.template allocate<HostArray<Offset>>(exec, "lutra::symbolic::diagonal", n),
      scratch.allocate<HostArray<Ordinal>>(exec, "lutra::symbolic::row", n),
      RowChunks<Ordinal>(budget, first_chunk)};
  const std::size_t words = SweepSet::words(static_cast<std::size_t>(n));
  const auto bits = scratch.allocate<HostArray<SweepSet::Word>>(exec, "lutra::symbolic::reached_bits", words);
  Kokkos::deep_copy(bits, SweepSet::Word(0));
  SweepSet reached(bits.data(), static_cast<std::size_t>(n));
  rows.row_map(0) = 0;
  Offset n_lower = 0;
  for (Ordinal i = 0; i < n; ++i) {
    search_row(pattern, i, reached, rows);
    n_lower += rows.diagonal(i) - rows.row_map(i);
  }
  auto entries = result.charge.template allocate<HostArray<Ordinal>>(exec, "lutra::symbolic::entries",
                                                                     rows.chunks.size());
  result.nnz_l = n_lower;
  result.nnz_u = static_cast<Offset>(rows.chunks.size()) - n_lower;
  rows.chunks.move_to(entries.data());
  result.row_map = rows.row_map;
  result.diagonal = rows.diagonal;
  result.entries = entries;
  return result;
}

#define LUTRA_FILL1(Ordinal, Offset)                            \
  template LuPattern<Ordinal, Offset, Kokkos::HostSpace> fill1( \
      const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>&, const MemoryBudget&);
LUTRA_FOR_EACH_PATTERN(LUTRA_FILL1)

}  // namespace lutra::Impl
