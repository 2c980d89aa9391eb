// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_REFERENCE_FILL_HPP
#define LUTRA_REFERENCE_FILL_HPP

#include <cstddef>
#include <iterator>
#include <set>
#include <vector>

namespace lutra::Reference {

/// Rows of each column of L below the diagonal, for the elimination of the pattern of A + Aᵀ without pivoting
/// in the given order: eliminating a vertex of the graph connects all its neighbours.
///
/// @param permutation [n] k-th vertex eliminated; columns and rows of the result are numbered in elimination
/// order
template <class MatrixType, class Index>
std::vector<std::set<std::size_t>> eliminate(const MatrixType& matrix,
                                             const std::vector<Index>& permutation) {
  const std::size_t n = permutation.size();
  std::vector<std::size_t> position(n);
  for (std::size_t k = 0; k < n; ++k) position[static_cast<std::size_t>(permutation[k])] = k;
  std::vector<std::set<std::size_t>> below(n);  // neighbours of each vertex that are eliminated later
  for (std::size_t r = 0; r < n; ++r) {
    for (auto k = static_cast<std::size_t>(matrix.row_map[r]);
         k < static_cast<std::size_t>(matrix.row_map[r + 1]); ++k) {
      const std::size_t i = position[r], j = position[static_cast<std::size_t>(matrix.entries[k])];
      if (i != j) below[i < j ? i : j].insert(i < j ? j : i);
    }
  }
  for (std::size_t j = 0; j < n; ++j) {
    for (auto a = below[j].begin(); a != below[j].end(); ++a) below[*a].insert(std::next(a), below[j].end());
  }
  return below;
}

}  // namespace lutra::Reference

#endif
