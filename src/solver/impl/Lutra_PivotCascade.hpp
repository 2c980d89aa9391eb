// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PIVOTCASCADE_HPP
#define LUTRA_PIVOTCASCADE_HPP

#include <algorithm>
#include <cstdint>
#include <vector>

#include "Lutra_AssemblyTree.hpp"
#include "Lutra_At.hpp"
#include "Lutra_CsrView.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Options.hpp"

namespace lutra::Impl {

constexpr double max_delayed = 0.1;  ///< share of delayed columns above which the order is changed …
constexpr int min_delayed = 100;     ///< … unless there are fewer delayed columns than this

/// Returns whether so many of n columns are delayed that the order is changed.
inline bool is_cascade(std::int64_t delayed, std::int64_t n) {
  return delayed > min_delayed && static_cast<double>(delayed) > max_delayed * static_cast<double>(n);
}

/// Returns the front in which each row is a pivot.
/// @param order [n] row at each position of F, before tree.order
inline std::vector<Ordinal> fronts_of_rows(const AssemblyTree& tree, const std::vector<Ordinal>& order) {
  std::vector<Ordinal> front(order.size());
  for (Ordinal f = 0; f < tree.count(); ++f)
    for (Ordinal k = at(tree.pivot_begin, f); k < at(tree.pivot_begin, f + 1); ++k)
      at(front, at(order, at(tree.order, k))) = f;
  return front;
}

/// Counts columns that are delayed whatever the values of the nonzero entries are. Let Z be the rows of a
/// front's pivots with a zero on the diagonal and no neighbours in earlier fronts, so that no update reaches
/// them, and N their neighbours among the front's pivots. Eliminated rows of Z are linearly independent
/// within the columns N, hence at most |N|, and at least |Z| − |N| are delayed. Empty rows, which are zero
/// pivots, do not count.
/// @param S     both triangles
/// @param front [n] front of each row
template <class Scalar>
std::int64_t count_certain_delays(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& S,
                                  const std::vector<Ordinal>& front) {
  const auto n = static_cast<std::size_t>(S.n_rows);
  std::vector<Ordinal> excess(n, 0);  // |Z| − |N| of each front; there are at most n
  std::vector<char> is_in_N(n, 0);
  for (Ordinal i = 0; i < S.n_rows; ++i) {
    Ordinal earliest = S.n_rows;  // first front that has an entry of the row
    bool is_zero = true;
    for (Offset e = S.row_map(i); e < S.row_map(i + 1); ++e) {
      if (S.values(e) == Scalar(0)) continue;
      earliest = std::min(earliest, at(front, S.entries(e)));
      is_zero = is_zero && S.entries(e) != i;
    }
    if (!is_zero || earliest < at(front, i) || earliest == S.n_rows) continue;
    ++at(excess, at(front, i));
    for (Offset e = S.row_map(i); e < S.row_map(i + 1); ++e) {
      const Ordinal j = S.entries(e);
      if (S.values(e) == Scalar(0) || at(front, j) != at(front, i) || at(is_in_N, j) != 0) continue;
      at(is_in_N, j) = 1;
      --at(excess, at(front, i));
    }
  }
  std::int64_t count = 0;
  for (const Ordinal delayed : excess) count += std::max(delayed, Ordinal(0));
  return count;
}

/// Returns the number of columns that are certainly delayed if they are a cascade and the options permit
/// another order, in which matched rows are adjacent; otherwise 0.
template <class Scalar>
std::int64_t certain_cascade(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& S,
                             const std::vector<Ordinal>& front, const LdltOptions& options) {
  const bool may_pair = !options.pair_ordering && options.pivoting == Pivoting::threshold &&
                        options.ordering != Ordering::user && options.matching != Matching::none;
  const std::int64_t delayed = may_pair ? count_certain_delays(S, front) : 0;
  return is_cascade(delayed, S.n_rows) ? delayed : 0;
}

}  // namespace lutra::Impl

#endif
