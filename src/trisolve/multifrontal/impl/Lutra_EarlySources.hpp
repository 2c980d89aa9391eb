// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_EARLYSOURCES_HPP
#define LUTRA_EARLYSOURCES_HPP

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "Lutra_At.hpp"
#include "Lutra_EarlySums.hpp"
#include "Lutra_FrontSources.hpp"
#include "Lutra_Index.hpp"

namespace lutra::Impl {

/// The sources of a solve after long lists have been cut into early sums (Lutra_EarlySums.hpp). A front is
/// early for its parent if it is solved in an earlier launch. Sum k is numbered as contribution row n_rows +
/// k.
struct EarlySources {
  FrontSources sources;
  std::vector<std::uint32_t> sum_end;     ///< end of each sum's sources in `sum_source`
  std::vector<std::uint32_t> sum_source;  ///< contribution rows
};

/// Cuts the lists of some fronts. Host code, linear in the sources.
/// @param all      sources of all fronts
/// @param n_rows   contribution rows of all fronts
/// @param is_cut   is_cut(f): whether long lists of front f are cut
/// @param is_early is_early(c): whether the sources from front c are early for its parent
template <class IsCut, class IsEarly>
EarlySources sum_early_sources(const std::vector<Front>& fronts, const FrontSources& all, std::size_t n_rows,
                               const IsCut& is_cut, const IsEarly& is_early) {
  std::vector<char> early(n_rows, 0);
  for (const Front& child : fronts) {
    if (child.parent < 0 || !is_cut(child.parent)) continue;
    if (is_early(static_cast<Ordinal>(&child - fronts.data())))
      std::fill_n(early.begin() + child.rows, child.cb_rows, char(1));
  }
  EarlySources result;
  result.sources.begin.reserve(all.begin.size());
  result.sources.begin.push_back(0);
  std::vector<std::uint32_t>& kept = result.sources.source;
  kept.reserve(all.source.size());
  const auto cut_list = [&](const std::uint32_t* first, const std::uint32_t* last) {
    const auto count = static_cast<std::uint32_t>(
        std::count_if(first, last, [&](std::uint32_t row) { return at(early, row) != 0; }));
    if (count <= max_listed_sources) {
      kept.insert(kept.end(), first, last);
      return;
    }
    const auto begin = static_cast<std::uint32_t>(result.sum_source.size());
    for (; first != last; ++first) (at(early, *first) != 0 ? result.sum_source : kept).push_back(*first);
    for (std::uint32_t done = 0; done < count; done += max_early_sources) {
      kept.push_back(static_cast<std::uint32_t>(n_rows + result.sum_end.size()));
      result.sum_end.push_back(begin + std::min(done + max_early_sources, count));
    }
  };
  std::size_t position = 0;
  for (std::size_t f = 0; f < fronts.size(); ++f) {
    const bool cuts = is_cut(static_cast<Ordinal>(f));
    for (int p = 0; p < fronts[f].size(); ++p, ++position) {
      const std::uint32_t *const first = all.source.data() + all.begin[position], *const last =
                                                                                      all.source.data() +
                                                                                      all.begin[position + 1];
      if (cuts) {
        cut_list(first, last);
      } else {
        kept.insert(kept.end(), first, last);
      }
      result.sources.begin.push_back(static_cast<std::uint32_t>(kept.size()));
    }
  }
  return result;
}

}  // namespace lutra::Impl

#endif
