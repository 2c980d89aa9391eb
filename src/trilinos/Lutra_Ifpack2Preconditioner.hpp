// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_IFPACK2PRECONDITIONER_HPP
#define LUTRA_IFPACK2PRECONDITIONER_HPP

#include <Ifpack2_Details_AdditiveSchwarzFilter_decl.hpp>
#include <Ifpack2_Details_CanChangeMatrix.hpp>
#include <Ifpack2_Preconditioner.hpp>
#include <Teuchos_Time.hpp>

#include <memory>
#include <string>
#include <type_traits>

#include "Lutra_SparseILU.hpp"
#include "Lutra_SparseLU.hpp"
#include "Lutra_TpetraViews.hpp"
#include "Lutra_TrilinosErrors.hpp"
#include "Lutra_TrilinosParameters.hpp"

namespace lutra {

/// SparseILU or SparseLU as a preconditioner of Ifpack2 for the rows of one process:
///
///     auto schwarz = Teuchos::rcp(new Ifpack2::AdditiveSchwarz<Tpetra::RowMatrix<>>(A));
///     schwarz->setInnerPreconditioner(Teuchos::rcp(new lutra::Ifpack2ILU<Tpetra::RowMatrix<>>()));
///
/// The Views of the matrix are read in place by initialize (which analyzes) and compute (which factorizes);
/// those of X and Y are read and written in place by apply. With SparseILU apply does not wait for the
/// device; SparseLU refines, and waits as its `solve` does.
///
/// Parameters: the options of `SparseIluOptions` or `LuOptions` by their names. New ones take effect by a new
/// initialize.
///
/// Errors: std::invalid_argument for what Lutra calls InputError (and for a matrix with columns of other
/// processes), std::logic_error for calls out of order, std::runtime_error for factors that cannot be
/// applied, with Lutra's message.
///
/// @tparam Method SparseILU or SparseLU
/// @tparam RowMatrix a Tpetra::RowMatrix; the object itself must be a Tpetra::CrsMatrix, or the filter
///         AdditiveSchwarz puts before one
template <template <class, class> class Method, class RowMatrix>
class Ifpack2Preconditioner
    : public Ifpack2::Preconditioner<typename RowMatrix::scalar_type, typename RowMatrix::local_ordinal_type,
                                     typename RowMatrix::global_ordinal_type, typename RowMatrix::node_type>,
      public Ifpack2::Details::CanChangeMatrix<
          Tpetra::RowMatrix<typename RowMatrix::scalar_type, typename RowMatrix::local_ordinal_type,
                            typename RowMatrix::global_ordinal_type, typename RowMatrix::node_type>> {
 public:
  using scalar_type = typename RowMatrix::scalar_type;
  using local_ordinal_type = typename RowMatrix::local_ordinal_type;
  using global_ordinal_type = typename RowMatrix::global_ordinal_type;
  using node_type = typename RowMatrix::node_type;
  using matrix_type = Tpetra::CrsMatrix<scalar_type, local_ordinal_type, global_ordinal_type, node_type>;
  using row_matrix_type = Tpetra::RowMatrix<scalar_type, local_ordinal_type, global_ordinal_type, node_type>;
  using map_type = Tpetra::Map<local_ordinal_type, global_ordinal_type, node_type>;
  using multivector_type =
      Tpetra::MultiVector<scalar_type, local_ordinal_type, global_ordinal_type, node_type>;
  using solver_type =
      Method<typename Impl::TpetraTypes<matrix_type>::Scalar, typename node_type::execution_space>;
  static constexpr bool is_incomplete =
      std::is_same_v<solver_type, SparseILU<typename Impl::TpetraTypes<matrix_type>::Scalar,
                                            typename node_type::execution_space>>;
  using options_type = std::conditional_t<is_incomplete, SparseIluOptions, LuOptions>;

  /// @param A may be null: AdditiveSchwarz sets its own
  explicit Ifpack2Preconditioner(const Teuchos::RCP<const row_matrix_type>& A = Teuchos::null) {
    setMatrix(A);
  }

  void setMatrix(const Teuchos::RCP<const row_matrix_type>& A) override {
    m_matrix = A;
    m_initialized = m_computed = false;
  }
  Teuchos::RCP<const row_matrix_type> getMatrix() const override { return m_matrix; }

  void setParameters(const Teuchos::ParameterList& list) override {
    list.validateParameters(*getValidParameters());
    Impl::with_teuchos_errors([&] { m_options = Impl::read_options<options_type>(list); });
    m_solver.reset();
    m_initialized = m_computed = false;
  }
  Teuchos::RCP<const Teuchos::ParameterList> getValidParameters() const {
    const Teuchos::RCP<Teuchos::ParameterList> list = Teuchos::parameterList("Lutra");
    Impl::add_valid_options(*list, options_type());
    return list;
  }

  void initialize() override {
    const Teuchos::TimeMonitor timer(m_initialize_time);
    m_initialized = m_computed = false;
    Impl::with_teuchos_errors([&] {
      const auto A = local_matrix();
      if (!m_solver) m_solver = std::make_unique<solver_type>(m_options);
      // Values to come may have a full set of pivots where these do not.
      static_cast<void>(m_solver->analyze(make_view(A->getLocalMatrixDevice())));
    });
    m_initialized = true;
    ++m_initialized_times;
  }

  void compute() override {
    if (!m_initialized) initialize();
    const Teuchos::TimeMonitor timer(m_compute_time);
    m_computed = false;
    Status status = Status::success;
    Impl::with_teuchos_errors([&] {
      const auto A = make_view(local_matrix()->getLocalMatrixDevice());
      if (m_solver->report().status == Status::structurally_singular) status = m_solver->analyze(A);
      if (status == Status::success) status = m_solver->factorize(A);
      if (status == Status::cancelled) throw CancelledError();
    });
    if (status != Status::success)
      Impl::raise({Impl::CallOutcome::Kind::failed, describe(m_solver->report())});
    m_computed = true;
    ++m_computed_times;
  }

  /// Y = β·Y + α·op(M)⁻¹·X
  void apply(const multivector_type& X, multivector_type& Y, Teuchos::ETransp mode = Teuchos::NO_TRANS,
             scalar_type alpha = Teuchos::ScalarTraits<scalar_type>::one(),
             scalar_type beta = Teuchos::ScalarTraits<scalar_type>::zero()) const override {
    using Traits = Teuchos::ScalarTraits<scalar_type>;
    const Teuchos::TimeMonitor timer(m_apply_time);
    TEUCHOS_TEST_FOR_EXCEPTION(!m_computed, std::logic_error,
                               "Lutra: apply: there are no factors; call compute first");
    ++m_applied_times;
    if (alpha == Traits::one() && beta == Traits::zero()) return apply_views(X, Y, mode);
    multivector_type product(Y.getMap(), Y.getNumVectors(), false);
    apply_views(X, product, mode);
    Y.update(alpha, product, beta);
  }
  bool hasTransposeApply() const override { return true; }

  Teuchos::RCP<const map_type> getDomainMap() const override { return known_matrix()->getDomainMap(); }
  Teuchos::RCP<const map_type> getRangeMap() const override { return known_matrix()->getRangeMap(); }

  bool isInitialized() const override { return m_initialized; }
  bool isComputed() const override { return m_computed; }
  int getNumInitialize() const override { return m_initialized_times; }
  int getNumCompute() const override { return m_computed_times; }
  int getNumApply() const override { return m_applied_times; }
  double getInitializeTime() const override { return m_initialize_time.totalElapsedTime(); }
  double getComputeTime() const override { return m_compute_time.totalElapsedTime(); }
  double getApplyTime() const override { return m_apply_time.totalElapsedTime(); }

  /// What was chosen, counted and measured on this process, as parameters; empty before initialize.
  Teuchos::ParameterList getReport() const {
    Teuchos::ParameterList list("Lutra");
    if (m_solver) Impl::write_report(m_solver->report(), list);
    return list;
  }
  std::string description() const override {
    return is_incomplete ? "Lutra incomplete LU" : "Lutra sparse LU";
  }

 private:
  Teuchos::RCP<const row_matrix_type> known_matrix() const {
    if (m_matrix.is_null()) throw CallOrderError("there is no matrix; call setMatrix first");
    return m_matrix;
  }

  /// The matrix whose Views can be read in place.
  Teuchos::RCP<const matrix_type> local_matrix() const {
    using Filter = Ifpack2::Details::AdditiveSchwarzFilter<row_matrix_type>;
    Teuchos::RCP<const matrix_type> A = Teuchos::rcp_dynamic_cast<const matrix_type>(known_matrix());
    if (A.is_null()) {
      const auto filter = Teuchos::rcp_dynamic_cast<const Filter>(m_matrix);
      if (!filter.is_null()) A = filter->getFilteredMatrix();
    }
    if (A.is_null()) throw InputError("A: the matrix must be a Tpetra::CrsMatrix");
    if (!Impl::TpetraTypes<matrix_type>::has_local_indices(*A)) {
      throw InputError(
          "A: its rows have columns of other processes, or its maps differ; use this preconditioner inside "
          "of Ifpack2::AdditiveSchwarz");
    }
    return A;
  }

  void apply_views(const multivector_type& X, multivector_type& Y, Teuchos::ETransp mode) const {
    const Transposition op = mode == Teuchos::NO_TRANS ? Transposition::none
                             : mode == Teuchos::TRANS  ? Transposition::transposed
                                                       : Transposition::adjoint;
    Impl::with_teuchos_errors([&] {
      const auto x = X.getLocalViewDevice(Tpetra::Access::ReadOnly);
      const auto y = Y.getLocalViewDevice(Tpetra::Access::OverwriteAll);
      if constexpr (is_incomplete) {
        m_solver->apply(x, y, op);
      } else {
        m_solver->solve(x, y, op);
      }
    });
  }

  Teuchos::RCP<const row_matrix_type> m_matrix;
  options_type m_options;
  std::unique_ptr<solver_type> m_solver;  ///< null before initialize
  bool m_initialized = false, m_computed = false;
  int m_initialized_times = 0, m_computed_times = 0;
  mutable int m_applied_times = 0;
  mutable Teuchos::Time m_initialize_time{"Lutra::initialize"}, m_compute_time{"Lutra::compute"},
      m_apply_time{"Lutra::apply"};
};

template <class RowMatrix>
using Ifpack2ILU = Ifpack2Preconditioner<SparseILU, RowMatrix>;
template <class RowMatrix>
using Ifpack2LU = Ifpack2Preconditioner<SparseLU, RowMatrix>;

}  // namespace lutra

#endif
