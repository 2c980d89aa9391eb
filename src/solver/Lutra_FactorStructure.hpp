// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FACTORSTRUCTURE_HPP
#define LUTRA_FACTORSTRUCTURE_HPP

#include <cstdint>
#include <vector>

namespace lutra {

/// Structure of the factors on the host, for plots and for other programs.
struct FactorStructure {
  std::vector<std::int64_t> row_order;     ///< [n] user's row at each position of the permuted matrix
  std::vector<std::int64_t> col_order;     ///< [n] user's column at each position
  std::vector<std::int64_t> row_map;       ///< [n + 1] row pointers of L + U, by rows of the permuted matrix
  std::vector<std::int64_t> entries;       ///< [nnz(L + U)] column indices, ascending in each row
  std::vector<std::int64_t> level_widths;  ///< number of columns in each level of the factorization
};

}  // namespace lutra

#endif
