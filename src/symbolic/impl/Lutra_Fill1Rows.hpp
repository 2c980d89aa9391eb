// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FILL1ROWS_HPP
#define LUTRA_FILL1ROWS_HPP

#include "Lutra_RowChunks.hpp"
#include "Lutra_SweepSet.hpp"
#include "Lutra_Symbolic.hpp"

namespace lutra::Impl {

template <class T>
using HostArray = Kokkos::View<T*, Kokkos::HostSpace>;

/// The part of a row of U behind the diagonal that still has to be walked.
template <class Ordinal>
struct UpperRow {
  const Ordinal* begin;
  Ordinal length;
  bool pruned;  ///< its last entry is the first i with (k, i) in U and (i, k) in L
};

/// All that is known of the rows done.
template <class Ordinal>
struct Fill1Rows {
  HostArray<Ordinal> only;  ///< [n] the one entry left of a row of U, -1 where there are more or none
  HostArray<UpperRow<Ordinal>> upper;  ///< [n]

  Fill1Rows(Charge& charge, Ordinal n)
      : only(charge.allocate<HostArray<Ordinal>>(Kokkos::DefaultHostExecutionSpace(),
                                                 "lutra::symbolic::only_entries", n)),
        upper(charge.allocate<HostArray<UpperRow<Ordinal>>>(Kokkos::DefaultHostExecutionSpace(),
                                                            "lutra::symbolic::upper_rows", n)) {}

  void set_upper(Ordinal k, const Ordinal* begin, Ordinal length) const {
    only(k) = -1;
    upper(k) = {begin, length, false};
  }
};

/// What one thread works with.
template <class Ordinal>
struct Fill1Worker {
  HostArray<Ordinal> row;          ///< [n] the row in work
  HostArray<SweepSet::Word> bits;  ///< of `reached`
  SweepSet reached;
  RowChunks<Ordinal> chunks;  ///< rows this worker found

  Fill1Worker(Charge& charge, const MemoryBudget& budget, Ordinal n, std::size_t first_chunk,
              std::mutex* guard = nullptr)
      : row(charge.allocate<HostArray<Ordinal>>(Kokkos::DefaultHostExecutionSpace(), "lutra::symbolic::row",
                                                n)),
        bits(charge.allocate<HostArray<SweepSet::Word>>(Kokkos::DefaultHostExecutionSpace(),
                                                        "lutra::symbolic::reached_bits",
                                                        SweepSet::words(static_cast<std::size_t>(n)))),
        reached(bits.data(), static_cast<std::size_t>(n)),
        chunks(budget, first_chunk, guard) {
    Kokkos::deep_copy(bits, SweepSet::Word(0));
  }
};

/// Puts what U(k, :) leads to into `reached`.
template <class Ordinal>
void expand(const Fill1Rows<Ordinal>& rows, Ordinal k, SweepSet& reached) {
  const Ordinal only = rows.only(k);
  if (only >= 0) return reached.insert(static_cast<std::size_t>(only));
  const UpperRow<Ordinal>& upper = rows.upper(k);
  for (Ordinal w = 0; w < upper.length; ++w) reached.insert(static_cast<std::size_t>(upper.begin[w]));
}

/// The same, and prunes U(k, :) where it holds `source`: it is only walked for sources with (source, k) in L.
template <class Ordinal>
void expand_and_prune(const Fill1Rows<Ordinal>& rows, Ordinal k, Ordinal source, SweepSet& reached) {
  const Ordinal only = rows.only(k);
  if (only >= 0) return reached.insert(static_cast<std::size_t>(only));
  UpperRow<Ordinal>& upper = rows.upper(k);
  const Ordinal *const begin = upper.begin, *const end = begin + upper.length;
  const Ordinal* match = nullptr;
  for (const Ordinal* w = begin; w != end; ++w) {
    if (*w == source) match = w;
    reached.insert(static_cast<std::size_t>(*w));
  }
  if (match == nullptr || upper.pruned) return;
  upper = {begin, static_cast<Ordinal>(match - begin + 1), true};
  if (match == begin) rows.only(k) = source;
}

/// Puts a source and its row of A into `reached`; returns the least of them.
template <class Ordinal, class Offset>
Ordinal start_row(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& pattern, Ordinal source,
                  SweepSet& reached) {
  Ordinal least = source;
  reached.insert(static_cast<std::size_t>(source));
  for (Offset p = pattern.row_map(source); p < pattern.row_map(source + 1); ++p) {
    const Ordinal v = pattern.entries(p);
    least = v < least ? v : least;
    reached.insert(static_cast<std::size_t>(v));
  }
  return least;
}

/// A row found: its entries, and how many of them are L's.
template <class Ordinal>
struct FoundRow {
  const Ordinal* begin;
  Ordinal length, n_lower;
};

/// Sweeps what is reached for a source through the rows done, and keeps the row.
template <class Ordinal>
FoundRow<Ordinal> sweep_row(const Fill1Rows<Ordinal>& rows, Fill1Worker<Ordinal>& worker, Ordinal source,
                            Ordinal least) {
  Ordinal* end = worker.row.data();
  Ordinal n_lower = 0;
  worker.reached.sweep(static_cast<std::size_t>(least), [&](std::size_t member) {
    const auto k = static_cast<Ordinal>(member);
    *end++ = k;
    if (k >= source) return;
    ++n_lower;
    expand_and_prune(rows, k, source, worker.reached);
  });
  const auto length = static_cast<Ordinal>(end - worker.row.data());
  const Ordinal* const place = worker.chunks.append(worker.row.data(), static_cast<std::size_t>(length));
  rows.set_upper(source, place + n_lower + 1, length - n_lower - 1);
  return {place, length, n_lower};
}

}  // namespace lutra::Impl

#endif
