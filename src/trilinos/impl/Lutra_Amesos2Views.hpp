// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_AMESOS2VIEWS_HPP
#define LUTRA_AMESOS2VIEWS_HPP

#include <Amesos2.hpp>
#include <Amesos2_AbstractConcreteMatrixAdapter_def.hpp>
#include <Amesos2_MatrixAdapter_def.hpp>
#include <Amesos2_MultiVecAdapter_def.hpp>
#include <Amesos2_TpetraCrsMatrix_MatrixAdapter_def.hpp>
#include <Amesos2_TpetraMultiVecAdapter_def.hpp>
#include <Amesos2_TpetraRowMatrix_AbstractMatrixAdapter_def.hpp>
#include <Amesos2_Util.hpp>

#include "Lutra_Index.hpp"
#include "Lutra_TpetraViews.hpp"

namespace lutra::Impl {

/// Calls solve(b, x) with the Views of B and X [n × k] themselves.
/// @returns false, without the call, where they have another map than the matrix or unevenly spaced columns
template <class Types, class Adapter, class Solve>
bool with_local_views(const typename Types::Matrix& A, Adapter& X, const Adapter& B, const Solve& solve) {
  using namespace Tpetra::Access;
  const auto rows = A.getRowMap();
  if (!rows->locallySameAs(*X.getMap()) || !rows->locallySameAs(*B.getMap())) return false;
  const std::size_t n = rows->getLocalNumElements();
  const auto b = evenly_spaced<typename Types::ConstColumns>(n, B.getGlobalNumVectors(), [&](std::size_t j) {
    return B.getVector(j)->getLocalViewDevice(ReadOnly).data();
  });
  const auto x = evenly_spaced<typename Types::Columns>(n, X.getGlobalNumVectors(), [&](std::size_t j) {
    return X.getVectorNonConst(j)->getLocalViewDevice(OverwriteAll).data();
  });
  if (!b || !x) return false;
  solve(*b, *x);
  return true;
}

/// Matrix, right-hand sides and solutions of several processes on process 0, gathered by Amesos2.
template <class Types>
class GatheredSystem {
  using Scalar = typename Types::Scalar;
  using Ordinal = typename Types::Ordinal;
  using Memory = typename Types::Memory;
  template <class T>
  using HostView = Kokkos::View<T*, Kokkos::HostSpace>;

 public:
  using MatrixView = typename Types::MatrixView;

  /// The Views of A itself, or those of the gathered matrix.
  MatrixView matrix(bool shared, const typename Types::Matrix& A) const {
    return shared ? make_view(A.getLocalMatrixDevice()) : m_matrix;
  }

  /// Gathers pattern and values, rows sorted by column. Collective.
  template <class Adapter>
  void gather(const Adapter& A, bool root, bool contiguous, std::size_t index_base) {
    const std::size_t n = A.getGlobalNumRows(), nnz = A.getGlobalNNZ();
    HostView<std::size_t> row_map("lutra::trilinos::row_map", root ? n + 1 : 1);
    HostView<Ordinal> entries("lutra::trilinos::entries", root ? nnz : 0);
    HostView<Scalar> values("lutra::trilinos::values", root ? nnz : 0);
    std::size_t count = 0;
    Amesos2::Util::get_crs_helper_kokkos_view<Adapter, HostView<Scalar>, HostView<Ordinal>,
                                              HostView<std::size_t>>::do_get(Teuchos::ptrInArg(A), values,
                                                                             entries, row_map, count,
                                                                             distribution(contiguous),
                                                                             Amesos2::SORTED_INDICES,
                                                                             static_cast<Ordinal>(
                                                                                 index_base));
    if (!root) return;
    const auto order = static_cast<Ordinal>(n);
    m_matrix = {order, order, on_device(row_map), on_device(entries), on_device(values)};
  }

  /// Gathers B, calls solve(b, x) on every process with Views that process 0 alone fills, and distributes X.
  template <class Adapter, class Solve>
  void with_gathered(const Teuchos::Ptr<Adapter>& X, const Teuchos::Ptr<const Adapter>& B, bool root,
                     bool contiguous, std::size_t index_base, const Solve& solve) {
    using Get = Amesos2::Util::get_1d_copy_helper_kokkos_view<Adapter, Rows>;
    using Put = Amesos2::Util::put_1d_data_helper_kokkos_view<Adapter, Rows>;
    const auto base = static_cast<typename Adapter::global_ordinal_t>(index_base);
    const std::size_t n = root ? X->getGlobalLength() : 0;
    Get::do_get(true, B, m_b, root ? B->getGlobalLength() : 0, distribution(contiguous), base);
    const bool in_place = Get::do_get(false, X, m_x, n, distribution(contiguous), base);
    solve(m_b, m_x);
    if (!in_place) Put::do_put(X, m_x, n, distribution(contiguous), base);
  }

 private:
  using Rows = Kokkos::View<Scalar**, Kokkos::LayoutLeft, Memory>;

  static Amesos2::EDistribution distribution(bool contiguous) {
    return contiguous ? Amesos2::ROOTED : Amesos2::CONTIGUOUS_AND_ROOTED;
  }

  template <class View>
  static auto on_device(const View& host) {
    return Kokkos::create_mirror_view_and_copy(Memory(), host);
  }

  MatrixView m_matrix;
  Rows m_b, m_x;  ///< [n × k], kept from call to call
};

}  // namespace lutra::Impl

#endif
