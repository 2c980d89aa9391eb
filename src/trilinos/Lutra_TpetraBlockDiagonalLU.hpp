// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TPETRABLOCKDIAGONALLU_HPP
#define LUTRA_TPETRABLOCKDIAGONALLU_HPP

#include <Tpetra_BlockCrsMatrix.hpp>
#include <Tpetra_Operator.hpp>

#include <string>
#include <utility>

#include "Lutra_TpetraBatch.hpp"
#include "Lutra_TpetraBlocks.hpp"

namespace lutra {

/// BatchedLU for the diagonal blocks of a Tpetra matrix: the systems of cells, points or particles whose
/// unknowns are numbered one after the other. A matrix that is block diagonal is solved; of others the blocks
/// are a preconditioner (block Jacobi), as a Tpetra::Operator for Belos.
///
///     lutra::TpetraBlockDiagonalLU<Matrix> blocks;
///     if (blocks.factorize(A, 9) == lutra::Status::success) blocks.solve(X, B);   // blocks of 9 rows
///
/// Block k has the rows k·n … k·n + n − 1 of this process; a BlockCrsMatrix has them itself. The pattern is
/// the union of those of all blocks. Entries outside of diagonal blocks are not read. Maps of rows, domain
/// and range are the same; row k·n + i of X and B belongs to block k. X and B are read and written in place.
///
/// No call is collective. Errors are those of TpetraBatchedLU; of `apply` std::runtime_error if a block has
/// no factors. Rows and columns in messages count from the block's first row.
template <class Matrix>
class TpetraBlockDiagonalLU
    : public Tpetra::Operator<typename Matrix::scalar_type, typename Matrix::local_ordinal_type,
                              typename Matrix::global_ordinal_type, typename Matrix::node_type> {
  using Types = Impl::TpetraTypes<Matrix>;
  using Batch = Impl::TpetraBatch<Matrix>;

 public:
  using scalar_type = typename Matrix::scalar_type;
  using vector_type = typename Types::MultiVector;
  using map_type = typename Matrix::map_type;
  using block_matrix_type =
      Tpetra::BlockCrsMatrix<scalar_type, typename Matrix::local_ordinal_type,
                             typename Matrix::global_ordinal_type, typename Matrix::node_type>;
  /// [blocks of this process]; false: the block is skipped. Empty: none is.
  using mask_type = typename Batch::Mask;

  /// @param list options of `LuOptions` by their names
  explicit TpetraBlockDiagonalLU(const Teuchos::ParameterList& list = {}) : m_batch(list) {}

  /// Factorizes the diagonal blocks of `block_size` rows. The pattern is analyzed unless it is that of the
  /// call before.
  Status factorize(const Matrix& A, int block_size, const mask_type& mask = {}) {
    return factorize_blocks(A.getRowMap(), mask, [&] { m_blocks.read(A, block_size); });
  }
  Status factorize(const block_matrix_type& A, const mask_type& mask = {}) {
    return factorize_blocks(A.getRangeMap(), mask, [&] { m_blocks.read(A); });
  }

  /// Solves op(A_k)·X_k = B_k for all blocks, refines, and stores the errors of each block in `report`. Rows
  /// of blocks that are masked or singular stay as they are.
  Status solve(vector_type& X, const vector_type& B, Transposition op = Transposition::none) {
    Status status = Status::not_solved;
    Impl::with_teuchos_errors([&] {
      require_vectors("solve", X, B);
      status = Status::success;
      if (m_blocks.count() > 0)
        status = with_views(X, B, [&](auto x, auto b) { return lu().solve(b, x, op); });
    });
    return status;
  }

  /// Y = β·Y + α·op(M)⁻¹·X with the factors of the blocks, without checks or refinement.
  void apply(const vector_type& X, vector_type& Y, Teuchos::ETransp mode = Teuchos::NO_TRANS,
             scalar_type alpha = Teuchos::ScalarTraits<scalar_type>::one(),
             scalar_type beta = Teuchos::ScalarTraits<scalar_type>::zero()) const override {
    using Traits = Teuchos::ScalarTraits<scalar_type>;
    if (alpha == Traits::one() && beta == Traits::zero()) return apply_factors(X, Y, mode);
    vector_type product(Y.getMap(), Y.getNumVectors());
    apply_factors(X, product, mode);
    Y.update(alpha, product, beta);
  }
  bool hasTransposeApply() const override { return true; }
  Teuchos::RCP<const map_type> getDomainMap() const override { return m_map; }
  Teuchos::RCP<const map_type> getRangeMap() const override { return m_map; }

  /// Statuses and errors of each block; empty without blocks on this process.
  const BatchReport& report() const { return lu().report(); }

 private:
  typename Batch::Lu& lu() const { return m_batch.lu(); }

  template <class Read>
  Status factorize_blocks(const Teuchos::RCP<const map_type>& map, const mask_type& mask, const Read& read) {
    Status status = Status::not_solved;
    Impl::with_teuchos_errors([&] {
      m_map = Teuchos::null;
      m_without_factors.clear();
      read();
      status = Status::success;
      if (m_blocks.count() > 0) status = m_batch.factorize(m_blocks.pattern(), m_blocks.values(), mask);
      if (status != Status::success) name_block_without_factors(mask);
      m_map = map;
    });
    return status;
  }
  void name_block_without_factors(const mask_type& mask) {
    const auto& statuses = report().statuses;
    for (std::size_t k = 0; k < statuses.size() && m_without_factors.empty(); ++k)
      if ((mask.empty() || mask[k]) && statuses[k] != Status::not_solved && !is_solved(statuses[k]))
        m_without_factors = "block " + std::to_string(k) + ": " + std::string(to_string(statuses[k]));
  }

  /// @throws CallOrderError, InputError
  void require_vectors(const char* call, const vector_type& X, const vector_type& B) const {
    if (m_map.is_null())
      throw CallOrderError(std::string(call) + ": there are no factors; call factorize first");
    if (!X.getMap()->locallySameAs(*m_map) || !B.getMap()->locallySameAs(*m_map))
      throw InputError(std::string(call) + ": the maps of X and B must be those of the rows");
  }
  template <class Call>
  auto with_views(vector_type& X, const vector_type& B, const Call& call) const {
    const auto x = X.getLocalViewDevice(Tpetra::Access::ReadWrite);
    const auto b = B.getLocalViewDevice(Tpetra::Access::ReadOnly);
    const auto view = [&]<class View>(const char* name, const auto& local, bool is_strided, View) {
      return Impl::batch_view<View>(name, local, is_strided, m_blocks.size(), local.extent(1),
                                    m_blocks.count(), true);
    };
    return call(view("X", x, X.isConstantStride(), typename Batch::Lu::block_type()),
                view("B", b, B.isConstantStride(), typename Batch::Lu::const_block_type()));
  }
  void apply_factors(const vector_type& X, vector_type& Y, Teuchos::ETransp mode) const {
    const Transposition op = mode == Teuchos::NO_TRANS ? Transposition::none
                             : mode == Teuchos::TRANS  ? Transposition::transposed
                                                       : Transposition::adjoint;
    Impl::with_teuchos_errors([&] {
      require_vectors("apply", Y, X);
      if (!m_without_factors.empty()) throw std::runtime_error("apply: " + m_without_factors);
      if (m_blocks.count() > 0)
        with_views(Y, X, [&](auto y, auto x) {
          lu().apply(x, y, op);
          return 0;
        });
    });
  }

  mutable Batch m_batch;  ///< applying factors changes their workspace
  Impl::TpetraBlocks<Matrix> m_blocks;
  Teuchos::RCP<const map_type> m_map;  ///< null without factors
  std::string m_without_factors;       ///< the first block that has none, and why
};

}  // namespace lutra

#endif
