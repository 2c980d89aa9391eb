// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TPETRAVIEWS_HPP
#define LUTRA_TPETRAVIEWS_HPP

#include <Tpetra_CrsMatrix.hpp>
#include <Tpetra_MultiVector.hpp>

#include <cstdint>
#include <optional>
#include <utility>

#include "Lutra_CsrView.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_Index.hpp"

namespace lutra::Impl {

template <class Matrix>
inline constexpr bool is_tpetra_matrix = false;
template <class Scalar, class Local, class Global, class Node>
inline constexpr bool is_tpetra_matrix<Tpetra::CrsMatrix<Scalar, Local, Global, Node>> = true;

/// What Lutra calls the types of a Tpetra matrix, and the Views in it.
template <class TpetraMatrix>
struct TpetraTypes {
  static_assert(is_tpetra_matrix<TpetraMatrix>,
                "lutra: the adapters for Trilinos take a Tpetra::CrsMatrix, whose Views they read in place");

  using Matrix = TpetraMatrix;
  using Scalar = typename Matrix::impl_scalar_type;  ///< Kokkos::complex for std::complex
  using Ordinal = typename Matrix::local_ordinal_type;
  using Space = typename Matrix::execution_space;
  using Memory = typename Matrix::device_type::memory_space;
  using MultiVector = Tpetra::MultiVector<typename Matrix::scalar_type, Ordinal,
                                          typename Matrix::global_ordinal_type, typename Matrix::node_type>;
  using MatrixView = decltype(make_view(std::declval<const Matrix&>().getLocalMatrixDevice()));
  using ConstColumns = Kokkos::View<const Scalar**, Kokkos::LayoutStride, Memory>;
  using Columns = Kokkos::View<Scalar**, Kokkos::LayoutStride, Memory>;

  /// Row i and column i of the Views are the same unknown, and no column belongs to another process.
  /// @param A a matrix or its graph
  template <class MatrixOrGraph>
  static bool has_local_indices(const MatrixOrGraph& A) {
    const auto rows = A.getRowMap();
    return A.isFillComplete() && rows->locallySameAs(*A.getColMap()) &&
           rows->locallySameAs(*A.getDomainMap()) && rows->locallySameAs(*A.getRangeMap());
  }
};

/// Columns with pointers column(0) … column(k−1) as a View [n × k], unless they are unevenly spaced.
template <class View, class Column>
std::optional<View> evenly_spaced(std::size_t n, std::size_t k, const Column& column) {
  const auto first = k > 0 ? column(0) : nullptr;
  const std::ptrdiff_t stride = k > 1 ? column(1) - first : static_cast<std::ptrdiff_t>(n);
  for (std::size_t j = 2; j < k; ++j) {
    if (column(j) - first != static_cast<std::ptrdiff_t>(j) * stride) return {};
  }
  if (stride < 0) return {};
  return View(first, Kokkos::LayoutStride(n, 1, k, static_cast<std::size_t>(stride)));
}

}  // namespace lutra::Impl

#endif
