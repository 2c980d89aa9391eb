// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PERFPEERS_HPP
#define LUTRA_PERFPEERS_HPP

#include <vector>

#include "Lutra_PerfSolver.hpp"

namespace lutra::Perf {

// The peers of each source file; a file is compiled if its library was found.
std::vector<PeerKind> klu_kinds();
std::vector<PeerKind> umfpack_kinds();
std::vector<PeerKind> mumps_kinds();
std::vector<PeerKind> pardiso_kinds();
std::vector<PeerKind> cudss_kinds();
std::vector<PeerKind> cusolver_rf_kinds();

/// A matrix by columns with 32-bit indices, as KLU and UMFPACK take it.
struct ColumnMatrix {
  int n = 0;
  std::vector<int> column_map;  ///< [n + 1] where each column starts
  std::vector<int> rows;        ///< [nnz] ascending in each column
  std::vector<double> values;   ///< [nnz]
};

/// @throws std::runtime_error if there are more entries than an int can count
ColumnMatrix to_columns(const HostMatrix<double>& matrix);

/// Lutra's own pivot order for a matrix: row rows[k] and column columns[k] meet at the k-th pivot.
struct PivotSequence {
  std::vector<int> rows, columns;
};

/// @throws std::runtime_error for a structurally singular matrix
PivotSequence lutra_pivot_sequence(const HostMatrix<double>& matrix);

}  // namespace lutra::Perf

#endif
