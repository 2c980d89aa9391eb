// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SUNDIALSMATRIX_HPP
#define LUTRA_SUNDIALSMATRIX_HPP

#include <sunmatrix/sunmatrix_sparse.h>

#include <cstddef>
#include <vector>

#include "lutra.h"

namespace lutra::Sundials {

// SUNDIALS 7 has other names for what SUNDIALS 6 calls realtype.
using Real = sunrealtype;
using Index = sunindextype;
static_assert(sizeof(Real) <= 8, "Lutra solves in single and double precision");

/// Rows of a matrix in compressed storage with ascending columns, as Lutra reads them. Those of an SUNMatrix
/// need not ascend: SUNDIALS appends a diagonal entry that is missing where it adds the identity. Such rows
/// are sorted into a copy.
class SortedRows {
 public:
  /// Takes the pattern of A.
  void assign(SUNMatrix A);
  /// Whether A has the pattern and the storage type last taken.
  bool has_pattern_of(SUNMatrix A) const;
  /// A, with values read in place or, if rows were sorted, copied.
  lutra_matrix matrix(SUNMatrix A);
  bool is_by_columns() const { return m_storage == CSC_MAT; }
  /// Numbers of SUNDIALS' index type and of reals held.
  std::size_t indices() const {
    return m_offsets.size() + m_columns.size() + m_sorted.size() + m_source.size();
  }
  std::size_t reals() const { return m_values.size(); }

 private:
  void sort();

  int m_storage = CSR_MAT;       ///< CSR_MAT, or CSC_MAT: the rows are those of Aᵀ
  std::vector<Index> m_offsets;  ///< [n + 1] first entry of each row
  std::vector<Index> m_columns;  ///< columns in the order of A
  std::vector<Index> m_sorted;   ///< columns, ascending in each row; empty if those of A ascend
  std::vector<Index> m_source;   ///< position in A of each entry of m_sorted
  std::vector<Real> m_values;    ///< values in the order of m_sorted
};

/// Whether all of the numbers are finite.
bool are_finite(const Real* numbers, Index count);

}  // namespace lutra::Sundials

#endif
