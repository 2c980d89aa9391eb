// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TESTTPETRA_HPP
#define LUTRA_TESTTPETRA_HPP

#include <Teuchos_DefaultMpiComm.hpp>
#include <Tpetra_Core.hpp>
#include <Tpetra_CrsMatrix.hpp>
#include <Tpetra_MultiVector.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "Lutra_CsrView.hpp"

namespace lutra::Test {

using Matrix = Tpetra::CrsMatrix<double>;
using RowMatrix = Tpetra::RowMatrix<double>;
using Vector = Tpetra::MultiVector<double>;
using Map = Matrix::map_type;
using Global = Map::global_ordinal_type;
using MatrixPtr = Teuchos::RCP<Matrix>;
using VectorPtr = Teuchos::RCP<Vector>;

inline auto world() {
  return Tpetra::getDefaultComm();
}
/// This process alone.
inline Teuchos::RCP<const Teuchos::Comm<int>> self() {
  return Teuchos::rcp(new Teuchos::MpiComm<int>(MPI_COMM_SELF));
}

inline std::size_t longest_row(const HostMatrix<double>& A) {
  std::int64_t longest = 0;
  for (std::size_t i = 0; i + 1 < A.row_map.size(); ++i)
    longest = std::max(longest, A.row_map[i + 1] - A.row_map[i]);
  return static_cast<std::size_t>(longest);
}

/// A on a map whose i-th index represents row and column i. `row_of` maps its GIDs to 0 … n−1.
inline MatrixPtr on_map(
    const HostMatrix<double>& A, const Teuchos::RCP<const Map>& map,
    const std::function<Global(Global)>& gid = [](Global i) { return i; },
    const std::function<Global(Global)>& row_of = [](Global g) { return g; }) {
  const auto matrix = Teuchos::rcp(new Matrix(map, longest_row(A)));
  for (const Global g : map->getLocalElementList()) {
    const auto row = static_cast<std::size_t>(row_of(g));
    std::vector<Global> columns;
    for (auto k = A.row_map[row]; k < A.row_map[row + 1]; ++k)
      columns.push_back(gid(A.entries[static_cast<std::size_t>(k)]));
    matrix->insertGlobalValues(
        g, Teuchos::ArrayView<const Global>(columns.data(), static_cast<int>(columns.size())),
        Teuchos::ArrayView<const double>(A.values.data() + A.row_map[row], static_cast<int>(columns.size())));
  }
  matrix->fillComplete();
  return matrix;
}

inline MatrixPtr distributed(const HostMatrix<double>& A,
                             const Teuchos::RCP<const Teuchos::Comm<int>>& comm = world()) {
  return on_map(A, Teuchos::rcp(new Map(A.n_rows, 0, comm)));
}

/// [n × k] with entries 1 + (global index + column) mod 7.
inline VectorPtr some_vectors(const Teuchos::RCP<const Map>& map, std::size_t k = 1) {
  const auto X = Teuchos::rcp(new Vector(map, k));
  for (std::size_t i = 0; i < map->getLocalNumElements(); ++i) {
    const Global g = map->getGlobalElement(static_cast<int>(i));
    for (std::size_t j = 0; j < k; ++j)
      X->replaceLocalValue(static_cast<int>(i), j, 1.0 + static_cast<double>((g + Global(j)) % 7));
  }
  return X;
}

/// op(A)·X
inline VectorPtr product(const Matrix& A, const Vector& X, Teuchos::ETransp mode = Teuchos::NO_TRANS) {
  const auto B = Teuchos::rcp(new Vector(A.getRangeMap(), X.getNumVectors()));
  A.apply(X, *B, mode);
  return B;
}

/// max |X − Y| / max |Y| over all columns
inline double difference(const Vector& X, const Vector& Y) {
  Vector D(Y, Teuchos::Copy);
  D.update(1.0, X, -1.0);
  std::vector<double> norms(Y.getNumVectors()), errors(Y.getNumVectors());
  Y.normInf(norms);
  D.normInf(errors);
  return *std::max_element(errors.begin(), errors.end()) / *std::max_element(norms.begin(), norms.end());
}

/// A dense matrix by rows, without its zeros.
inline HostMatrix<double> from_dense(const std::vector<std::vector<double>>& rows) {
  HostMatrix<double> A;
  A.n_rows = A.n_cols = static_cast<int>(rows.size());
  A.row_map.push_back(0);
  for (const auto& row : rows) {
    for (std::size_t j = 0; j < row.size(); ++j) {
      if (row[j] == 0) continue;
      A.entries.push_back(static_cast<int>(j));
      A.values.push_back(row[j]);
    }
    A.row_map.push_back(static_cast<std::int64_t>(A.entries.size()));
  }
  return A;
}

/// Sets an existing entry if this process owns its row. Collective.
inline void set_entry(Matrix& A, Global row, Global column, double value) {
  A.resumeFill();
  if (A.getRowMap()->isNodeGlobalElement(row)) A.replaceGlobalValues(row, 1, &value, &column);
  A.fillComplete();
}

/// Multiplies all entries of A by `factor` and then adds `shift` to the diagonal.
inline void change_values(Matrix& A, double factor, double shift) {
  A.resumeFill();
  A.scale(factor);
  for (const Global g : A.getRowMap()->getLocalElementList()) A.sumIntoGlobalValues(g, 1, &shift, &g);
  A.fillComplete();
}

}  // namespace lutra::Test

#endif
