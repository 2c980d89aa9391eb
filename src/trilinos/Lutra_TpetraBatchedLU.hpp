// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TPETRABATCHEDLU_HPP
#define LUTRA_TPETRABATCHEDLU_HPP

#include <Teuchos_ArrayView.hpp>

#include <string>

#include "Lutra_TpetraBatch.hpp"

namespace lutra {

/// BatchedLU for K Tpetra matrices with one graph, on the rows of this process: parameter sweeps, samples.
///
///     lutra::TpetraBatchedLU<Matrix> batch;
///     if (batch.factorize(matrices()) == lutra::Status::success) batch.solve(X, B);
///
/// The vectors of X and B are those of system 0, then those of system 1, …: with r right-hand sides X has K·r
/// vectors. Graphs are fill complete; row, column, domain and range map are the same, and no column belongs
/// to another process. X and B are read and written in place.
///
/// No call is collective. Errors: std::invalid_argument for what Lutra calls InputError, std::logic_error for
/// calls out of order, else std::runtime_error. What a system cannot do is its status in `report`.
template <class Matrix>
class TpetraBatchedLU {
  using Types = Impl::TpetraTypes<Matrix>;
  using Batch = Impl::TpetraBatch<Matrix>;

 public:
  using scalar_type = typename Types::Scalar;
  using vector_type = typename Types::MultiVector;
  using graph_type = typename Matrix::crs_graph_type;
  /// [entries × K] in the order of the local graph; any strides
  using values_type = typename Batch::Values;
  /// [K]; false: the system is skipped. Empty: none is.
  using mask_type = typename Batch::Mask;

  /// @param list options of `LuOptions` by their names
  explicit TpetraBatchedLU(const Teuchos::ParameterList& list = {}) : m_batch(list) {}

  /// Factorizes K matrices on a graph. It is analyzed unless its pattern is that of the call before. `values`
  /// are copied, but must remain as they are if report().chunks is above 1.
  Status factorize(const graph_type& graph, const values_type& values, const mask_type& mask = {}) {
    Status status = Status::not_solved;
    Impl::with_teuchos_errors([&] {
      m_is_factorized = false;
      status = m_batch.factorize(pattern_of("graph", graph), values, mask);
      m_is_factorized = true;
    });
    return status;
  }
  /// Factorizes matrices with one pattern.
  Status factorize(const Teuchos::ArrayView<const Teuchos::RCP<const Matrix>>& matrices,
                   const mask_type& mask = {}) {
    Status status = Status::not_solved;
    Impl::with_teuchos_errors([&] {
      m_is_factorized = false;
      if (matrices.size() == 0) throw InputError("matrices: there are none");
      auto pattern = pattern_of("matrices[0]", *matrices[0]->getCrsGraph());
      gather(matrices, pattern);
      status = m_batch.factorize(std::move(pattern), m_values, mask);
      m_is_factorized = true;
    });
    return status;
  }

  /// Solves op(A_k)·X_k = B_k, refines, and stores the errors of each system in `report`. Vectors of systems
  /// that are masked or singular stay as they are.
  Status solve(vector_type& X, const vector_type& B, Transposition op = Transposition::none) {
    Status status = Status::not_solved;
    Impl::with_teuchos_errors([&] {
      require_factors();
      const auto x = X.getLocalViewDevice(Tpetra::Access::ReadWrite);
      const auto b = B.getLocalViewDevice(Tpetra::Access::ReadOnly);
      const auto from = view<typename Batch::Lu::const_block_type>("B", b, B.isConstantStride());
      const auto to = view<typename Batch::Lu::block_type>("X", x, X.isConstantStride());
      status = m_batch.lu().solve(from, to, op);
    });
    return status;
  }

  /// Statuses and errors of each system.
  const BatchReport& report() const { return m_batch.lu().report(); }

 private:
  using Pattern = typename Batch::Pattern;

  /// @throws InputError
  static Pattern pattern_of(const std::string& name, const graph_type& graph) {
    if (!graph.isFillComplete()) throw InputError(name + ": it is not fill complete");
    if (!Types::has_local_indices(graph))
      throw InputError(name + ": its rows have columns of other processes, or its maps differ");
    const auto local = graph.getLocalGraphHost();
    Pattern pattern;
    pattern.row_map.assign(local.row_map.data(), local.row_map.data() + local.row_map.extent(0));
    if (pattern.row_map.empty()) pattern.row_map.push_back(0);
    pattern.entries.assign(local.entries.data(), local.entries.data() + local.entries.extent(0));
    return pattern;
  }
  /// Copies the values of all matrices, one after the other.
  void gather(const Teuchos::ArrayView<const Teuchos::RCP<const Matrix>>& matrices, const Pattern& pattern) {
    const auto systems = static_cast<std::size_t>(matrices.size());
    if (m_values.extent(0) != pattern.entries.size() || m_values.extent(1) != systems)
      m_values = Values("lutra::trilinos::values", pattern.entries.size(), systems);
    const graph_type* known = matrices[0]->getCrsGraph().get();
    const typename Types::Space exec;
    for (std::size_t k = 0; k < systems; ++k) {
      const Matrix& A = *matrices[static_cast<Teuchos::Ordinal>(k)];
      const graph_type* const graph = A.getCrsGraph().get();
      const std::string name = "matrices[" + std::to_string(k) + "]";
      if (!A.isFillComplete()) throw InputError(name + ": it is not fill complete");
      if (graph != known && !(pattern_of(name, *graph) == pattern))
        throw InputError(name + ": its pattern is not that of matrices[0]");
      Kokkos::deep_copy(exec, Kokkos::subview(m_values, Kokkos::ALL, k), A.getLocalMatrixDevice().values);
    }
  }

  void require_factors() const {
    if (!m_is_factorized) throw CallOrderError("solve: there are no factors; call factorize first");
  }
  /// @throws InputError
  template <class View, class Local>
  View view(const char* name, const Local& local, bool is_strided) const {
    const auto systems = static_cast<std::size_t>(m_batch.lu().report().systems);
    if (systems == 0 || local.extent(1) % systems != 0)
      throw InputError(std::string(name) + ": it has " + std::to_string(local.extent(1)) +
                       " vectors, which is no multiple of the " + std::to_string(systems) + " systems");
    return Impl::batch_view<View>(name, local, is_strided, local.extent(0), local.extent(1) / systems,
                                  systems, false);
  }

  using Values = Kokkos::View<scalar_type**, Kokkos::LayoutLeft, typename Types::Memory>;

  Batch m_batch;
  Values m_values;  ///< of matrices that were gathered
  bool m_is_factorized = false;
};

}  // namespace lutra

#endif
