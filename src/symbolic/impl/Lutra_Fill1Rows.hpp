// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FILL1ROWS_HPP
#define LUTRA_FILL1ROWS_HPP

#include <bit>

#include "Lutra_RowChunks.hpp"
#include "Lutra_SweepSet.hpp"
#include "Lutra_Symbolic.hpp"

namespace lutra::Impl {

template <class T>
using HostArray = Kokkos::View<T*, Kokkos::HostSpace>;

/// A row of U behind the diagonal, and the part of it that still has to be walked.
template <class Ordinal>
struct UpperRow {
  const Ordinal* begin;
  Ordinal length;
  Ordinal kept;  ///< entries up to an i with (k, i) in U and (i, k) in L, for sources beyond i; or all
};

/// All that is known of the rows done.
template <class Ordinal>
struct Fill1Rows {
  HostArray<Ordinal> only;  ///< [n] the one entry left of a row of U, -1 where there are more or none
  HostArray<UpperRow<Ordinal>> upper;       ///< [n]
  HostArray<SweepSet::Word> leads_to_next;  ///< bit set of rows whose only entry left is the next row

  Fill1Rows(Charge& charge, Ordinal n)
      : only(charge.allocate<HostArray<Ordinal>>(Kokkos::DefaultHostExecutionSpace(),
                                                 "lutra::symbolic::only_entries", n)),
        upper(charge.allocate<HostArray<UpperRow<Ordinal>>>(Kokkos::DefaultHostExecutionSpace(),
                                                            "lutra::symbolic::upper_rows", n)),
        leads_to_next(charge.allocate<HostArray<SweepSet::Word>>(Kokkos::DefaultHostExecutionSpace(),
                                                                 "lutra::symbolic::leads_to_next",
                                                                 (static_cast<std::size_t>(n) + 63) / 64)) {
    Kokkos::deep_copy(leads_to_next, SweepSet::Word(0));
  }

  void set_upper(Ordinal k, const Ordinal* begin, Ordinal length) const {
    only(k) = -1;
    upper(k) = {begin, length, length};
  }

  /// Leaves row k nothing but its entry `last`. Threads may do so with rows whose bits share a word.
  void set_only(Ordinal k, Ordinal last) const {
    only(k) = last;
    if (last == k + 1) Kokkos::atomic_or(&leads_to_next(k / 64), SweepSet::Word(1) << (k % 64));
  }

  /// How many rows from k on lead to the next only, as far as a word of bits tells.
  std::size_t run_from(std::size_t k) const {
    return static_cast<std::size_t>(std::countr_one(Kokkos::atomic_load(&leads_to_next(k / 64)) >> (k % 64)));
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

/// Puts what U(k, :) leads to into `reached`; returns how many rows from k on are done with then.
template <class Ordinal>
std::size_t expand(const Fill1Rows<Ordinal>& rows, std::size_t k, SweepSet& reached) {
  if (const std::size_t run = rows.run_from(k); run > 0) {
    reached.insert(k + run);
    return run;
  }
  if (const Ordinal only = rows.only(k); only >= 0) {
    reached.insert(static_cast<std::size_t>(only));
    return 1;
  }
  const UpperRow<Ordinal>& upper = rows.upper(k);
  for (Ordinal w = 0; w < upper.kept; ++w) reached.insert(static_cast<std::size_t>(upper.begin[w]));
  return 1;
}

/// The same, and prunes U(k, :) where it holds `source`: it is only walked for sources with (source, k) in L.
template <class Ordinal>
std::size_t expand_and_prune(const Fill1Rows<Ordinal>& rows, std::size_t k, Ordinal source,
                             SweepSet& reached) {
  UpperRow<Ordinal>& upper = rows.upper(k);
  if (rows.only(k) >= 0 || upper.kept < upper.length) return expand(rows, k, reached);
  Ordinal match = upper.length;
  for (Ordinal w = 0; w < upper.length; ++w) {
    if (upper.begin[w] == source) match = w;
    reached.insert(static_cast<std::size_t>(upper.begin[w]));
  }
  if (match == upper.length) return 1;
  upper.kept = match + 1;
  if (match == 0) rows.set_only(static_cast<Ordinal>(k), source);
  return 1;
}

/// The same where threads do so for sources of their own, in no order. Where the row was pruned for a source
/// beyond this one, all of it is walked.
template <class Ordinal>
std::size_t expand_and_prune_shared(const Fill1Rows<Ordinal>& rows, std::size_t k, Ordinal source,
                                    SweepSet& reached) {
  UpperRow<Ordinal>& upper = rows.upper(k);
  if (rows.only(k) >= 0 || upper.length == 0) return expand(rows, k, reached);
  const Ordinal kept = Kokkos::atomic_load(&upper.kept);
  const Ordinal length = upper.begin[kept - 1] > source ? upper.length : kept;
  Ordinal match = length;
  for (Ordinal w = 0; w < length; ++w) {
    if (upper.begin[w] == source) match = w;
    reached.insert(static_cast<std::size_t>(upper.begin[w]));
  }
  if (match < length) Kokkos::atomic_store(&upper.kept, match + 1);
  return 1;
}

/// Writes the members of a word of a set; returns the end.
template <class Ordinal>
Ordinal* write_members(std::size_t number, SweepSet::Word bits, Ordinal* to) {
  const auto first = static_cast<Ordinal>(number * 64);
  for (; bits != 0; bits &= bits - 1) *to++ = first + static_cast<Ordinal>(std::countr_zero(bits));
  return to;
}

/// Writes k and `count` - 1 numbers behind it; returns the end.
template <class Ordinal>
Ordinal* write_run(std::size_t k, std::size_t count, Ordinal* to) {
  const auto first = static_cast<Ordinal>(k), end = static_cast<Ordinal>(k + count);
  for (Ordinal v = first; v < end; ++v) *to++ = v;
  return to;
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
  const auto limit = static_cast<std::size_t>(source);
  Ordinal *end = worker.row.data(), *diagonal = end;
  worker.reached.sweep(
      static_cast<std::size_t>(least), limit,
      [&](std::size_t k) {
        const std::size_t done = expand_and_prune(rows, k, source, worker.reached);
        end = write_run(k, done, end);
        return done;
      },
      [&](std::size_t number, SweepSet::Word bits) {
        if (number == limit / 64) diagonal = end;
        end = write_members(number, bits, end);
      });
  const auto n_lower = static_cast<Ordinal>(diagonal - worker.row.data());
  const auto length = static_cast<Ordinal>(end - worker.row.data());
  const Ordinal* const place = worker.chunks.append(worker.row.data(), static_cast<std::size_t>(length));
  rows.set_upper(source, place + n_lower + 1, length - n_lower - 1);
  return {place, length, n_lower};
}

}  // namespace lutra::Impl

#endif
