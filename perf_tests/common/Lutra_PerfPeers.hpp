// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PERFPEERS_HPP
#define LUTRA_PERFPEERS_HPP

#include <memory>
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

// Peers for symmetric matrices, definite (Cholesky) or indefinite. Their matrix has both triangles.
std::vector<PeerKind> symmetric_mumps_kinds(bool definite);
std::vector<PeerKind> symmetric_pardiso_kinds(bool definite);
std::vector<PeerKind> symmetric_cudss_kinds(bool definite);

/// cuDSS for a general matrix on the first devices of this host.
std::unique_ptr<Peer> make_cudss_on_devices(const HostMatrix<double>& matrix, const std::vector<double>& b,
                                            int devices);

/// Peers of this build for symmetric matrices.
std::vector<PeerKind> symmetric_peer_kinds(bool definite);

/// The type of a matrix, which a peer is told.
enum class PeerMatrix { general, symmetric, definite };

/// The upper triangle by rows with all of the diagonal, which is what symmetric peers read.
HostMatrix<double> upper_triangle(const HostMatrix<double>& matrix);

/// `matrix`, or its upper triangle unless it is general.
inline HostMatrix<double> part_for_peer(const HostMatrix<double>& matrix, PeerMatrix type) {
  return type == PeerMatrix::general ? matrix : upper_triangle(matrix);
}

/// A matrix by columns with 32-bit indices, the format of KLU and UMFPACK.
struct ColumnMatrix {
  int n = 0;
  std::vector<int> column_map;  ///< [n + 1] where each column starts
  std::vector<int> rows;        ///< [nnz] ascending in each column
  std::vector<double> values;   ///< [nnz]
};

/// @throws std::runtime_error if there are more entries than an int can count
ColumnMatrix to_columns(const HostMatrix<double>& matrix);

/// The pivot order of Lutra for a matrix: the k-th pivot is in row rows[k] and column columns[k].
struct PivotSequence {
  std::vector<int> rows, columns;
};

/// @throws std::runtime_error for a structurally singular matrix
PivotSequence lutra_pivot_sequence(const HostMatrix<double>& matrix);

}  // namespace lutra::Perf

#endif
