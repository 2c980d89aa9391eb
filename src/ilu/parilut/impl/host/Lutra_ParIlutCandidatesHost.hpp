// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PARILUTCANDIDATESHOST_HPP
#define LUTRA_PARILUTCANDIDATESHOST_HPP

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstdint>
#include <string>

#include "Lutra_Bytes.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_MemoryBudget.hpp"
#include "Lutra_ParIlutCandidates.hpp"

// Candidates on hosts: A − L·U is computed once per step, by the counting pass. It stores the residuals that
// are candidates. From them the other passes count again with a larger smallest key, fill the bins of keys
// and write the rows. A row that did not fit is recomputed in each pass.

namespace lutra::Impl {

/// Candidates of the rows, in equal parts, one per thread. Within a part, rows are in the order in which the
/// thread processed them; within a row, candidates are unsorted.
template <class Scalar, class Memory>
struct CandidateArrays {
  Kokkos::View<std::int64_t*, Memory> first;  ///< [n] position of each row's first candidate; −1: not stored
  Kokkos::View<Ordinal*, Memory> n_in_row;    ///< [n]
  Kokkos::View<Ordinal*, Memory> columns;     ///< [threads × part]
  Kokkos::View<Scalar*, Memory> residuals;    ///< [threads × part] entries of A − L·U
  Kokkos::View<std::int64_t*, Memory> used;   ///< [threads × line] entries in use; a cache line per thread
  std::int64_t part = 0;
  static constexpr int line = 8;  ///< eight counters of 8 bytes in a cache line of 64

  /// Reserves entries in a thread's part.
  /// @returns the first one; −1 if they do not fit
  KOKKOS_FUNCTION std::int64_t take(int thread, Ordinal entries) const {
    std::int64_t& end = used(line * static_cast<std::int64_t>(thread));
    if (end + entries > part) return -1;
    end += entries;
    return thread * part + end - entries;
  }
};

/// A pass over the rows on a host thread.
template <class Search, class Memory, class ExecutionSpace>
struct SearchRowHost {
  using Anew = SearchRow<Search, Memory>;
  using Scalar = typename Anew::Scalar;
  using Real = RealOf<Scalar>;
  Anew anew;
  CandidateArrays<Scalar, Memory> store;

  KOKKOS_FUNCTION void operator()(const SerialLanes& lanes, DenseAccumulator<Scalar>& w, Ordinal i) const {
    const SearchPass pass = anew.pass;
    const bool is_kept = !anew.s.is_in_chunk(i);
    if (pass == SearchPass::count && !is_kept) {
      anew.compute_residual(lanes, w, i);
      anew.s.row_residual(i) = anew.residual(lanes, w, i);
      return keep_candidates(w, i);
    }
    if (is_kept || pass == SearchPass::norm || store.first(i) < 0) return anew(lanes, w, i);
    if (pass == SearchPass::fill) {
      if (anew.has_room()) write(w, i);
    } else {
      visit_stored(i);
    }
  }

  /// Moves the candidates out of the accumulator, which is empty afterwards.
  KOKKOS_FUNCTION void keep_candidates(DenseAccumulator<Scalar>& row, Ordinal i) const {
    const Search& s = anew.s;
    DenseAccumulator<Scalar> w = row;
    const auto n_own = static_cast<Ordinal>(s.from.row_map(i + 1) - s.from.row_map(i));
    const Real least[] = {s.min_key(1), s.min_key(0)};  // of U, of L
    Ordinal kept = 0, left = 0;
    for (Ordinal slot = 0; slot < n_own; ++slot) w.slot_of[w.columns[slot]] = w.absent(w.columns[slot]);
    for (Ordinal slot = n_own; slot < w.count; ++slot) {
      const Ordinal j = w.columns[slot];
      const Scalar r = w.values[slot];
      const auto in = static_cast<std::size_t>(s.is_candidate(i, j, r, least));
      w.slot_of[j] = w.absent(j);
      w.columns[kept] = j;
      w.values[kept] = r;
      kept += static_cast<Ordinal>(in);
      left += static_cast<Ordinal>(in & s.is_left(i, j));
    }
    row.count = 0;
    set_counts(i, left, kept);
    const std::int64_t begin = store.take(w.thread, kept);
    store.first(i) = begin;
    store.n_in_row(i) = kept;
    if (begin < 0) return;
    for (Ordinal t = 0; t < kept; ++t) {
      store.columns(begin + t) = w.columns[t];
      store.residuals(begin + t) = w.values[t];
    }
  }

  KOKKOS_FUNCTION void set_counts(Ordinal i, Ordinal left, Ordinal all) const {
    const auto& f = anew.s.from;
    anew.s.n_left(i) = left + static_cast<Ordinal>(f.diagonal(i) - f.row_map(i));
    anew.s.n_row(i) = all + static_cast<Ordinal>(f.row_map(i + 1) - f.row_map(i));
  }

  /// Counts candidates again, by key if requested.
  KOKKOS_FUNCTION void visit_stored(Ordinal i) const {
    using Bins = KeyBins<Real>;
    const Search& s = anew.s;
    const Real least[] = {s.min_key(1), s.min_key(0)};
    Ordinal all = 0, left = 0;
    for (auto t = store.first(i), end = t + store.n_in_row(i); t < end; ++t) {
      const Ordinal j = store.columns(t);
      const Scalar r = store.residuals(t);
      const bool in = s.is_candidate(i, j, r, least);
      all += static_cast<Ordinal>(in);
      left += static_cast<Ordinal>(static_cast<std::size_t>(in) & s.is_left(i, j));
      if (anew.pass == SearchPass::bins && in)
        add_shared<ExecutionSpace>(anew.bins((j < i ? 0 : Bins::count) + Bins::bin(s.key(i, j, r))),
                                   std::int64_t(1));
    }
    if (anew.pass == SearchPass::recount) set_counts(i, left, all);
  }

  /// Merges the row with its candidates.
  KOKKOS_FUNCTION void write(DenseAccumulator<Scalar>& row, Ordinal i) const {
    const Search& s = anew.s;
    sort_stored(row, i);
    const DenseAccumulator<Scalar> w = row;
    const auto &from = s.from, &to = s.to;
    auto q = to.row_map(i);
    auto p = from.row_map(i);
    const auto end = from.row_map(i + 1);
    const auto take = [&] {
      to.entries(q) = from.entries(p);
      to.values(q++) = from.values(p++);
    };
    for (Ordinal t = 0; t < w.count; ++t) {
      const Ordinal j = w.columns[t];
      while (p < end && from.entries(p) < j) take();
      to.entries(q) = j;
      to.values(q++) = s.value(i, j, w.values[w.slot_of[j]]);
    }
    while (p < end) take();
  }

  /// Sorts the candidates of a row by column in an accumulator.
  KOKKOS_FUNCTION void sort_stored(DenseAccumulator<Scalar>& row, Ordinal i) const {
    const Search& s = anew.s;
    DenseAccumulator<Scalar> w = row;
    const Real least[] = {s.min_key(1), s.min_key(0)};
    for (auto t = store.first(i), end = t + store.n_in_row(i); t < end; ++t) {
      const Ordinal j = store.columns(t);
      const Scalar r = store.residuals(t);
      const bool in = s.is_candidate(i, j, r, least);
      w.slot_of[j] = in ? w.count : w.absent(j);
      w.columns[w.count] = j;
      w.values[w.count] = r;
      w.count += in ? 1 : 0;
    }
    KOKKOS_IF_ON_HOST((std::sort(w.columns, w.columns + w.count);))
    row.count = w.count;
  }
};

/// Stores candidates in at most an eighth of the memory, or none if that is too little.
template <class Scalar, HostExecution ExecutionSpace>
class StoredCandidates<Scalar, ExecutionSpace> {
 public:
  using Memory = typename ExecutionSpace::memory_space;

  void allocate(const ExecutionSpace& exec, Ordinal n, std::int64_t candidates, const MemoryBudget& budget) {
    constexpr std::size_t row_bytes = sizeof(std::int64_t) + sizeof(Ordinal);
    constexpr std::size_t entry_bytes = sizeof(Ordinal) + sizeof(Scalar);
    const auto rows = static_cast<std::size_t>(n);
    const auto threads = static_cast<std::size_t>(exec.concurrency());
    const std::size_t most = budget.available_bytes() / 8, flags = threads * Arrays::line;
    const std::size_t fixed = rows * row_bytes + flags * sizeof(std::int64_t);
    if (most < fixed) return;
    const std::size_t part =
        std::min(static_cast<std::size_t>(candidates), (most - fixed) / entry_bytes) / threads;
    m_reservation = MemoryReservation(budget);
    take(exec, m_arrays.first, "first_candidates", rows);
    take(exec, m_arrays.n_in_row, "candidate_counts", rows);
    take(exec, m_arrays.columns, "candidate_columns", threads * part);
    take(exec, m_arrays.residuals, "candidate_residuals", threads * part);
    take(exec, m_arrays.used, "used_candidates", flags);
    m_arrays.part = static_cast<std::int64_t>(part);
  }
  void clear(const ExecutionSpace& exec) const { set_to_zero(exec, m_arrays.used); }
  template <class Row, class ForEachRow>
  void pass(const Row& row, const ForEachRow& for_each_row) const {
    if (m_arrays.first.extent(0) == 0) return for_each_row(row);
    for_each_row(SearchRowHost<decltype(row.s), Memory, ExecutionSpace>{row, m_arrays});
  }

 private:
  using Arrays = CandidateArrays<Scalar, Memory>;
  template <class View>
  void take(const ExecutionSpace& exec, View& view, const char* what, std::size_t count) {
    view = m_reservation.template allocate<View>(exec, std::string("lutra::ilu::parilut_") + what, count);
  }

  Arrays m_arrays;
  MemoryReservation m_reservation;
};

}  // namespace lutra::Impl

#endif
