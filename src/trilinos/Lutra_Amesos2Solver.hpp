// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_AMESOS2SOLVER_HPP
#define LUTRA_AMESOS2SOLVER_HPP

#include <Amesos2.hpp>
#include <Amesos2_SolverCore_def.hpp>
#include <Tpetra_CrsMatrix.hpp>
#include <Tpetra_MultiVector.hpp>

#include <memory>
#include <optional>
#include <string>

#include "Lutra_Amesos2Views.hpp"
#include "Lutra_SparseLU.hpp"
#include "Lutra_TrilinosErrors.hpp"
#include "Lutra_TrilinosParameters.hpp"

namespace lutra {

/// SparseLU as a solver of Amesos2, for Tpetra matrices and multivectors:
///
///     Teuchos::RCP<Amesos2::Solver<Matrix, Vector>> solver =
///         Teuchos::rcp(new lutra::Amesos2Solver<Matrix, Vector>(A, X, B));
///
/// On one process whose matrix has one map for rows and columns, the Views of A, X and B are read and written
/// in place. On several, and for other maps, Amesos2 gathers A and B on process 0 and distributes X.
///
/// Parameters: the list "Lutra" inside "Amesos2" takes the options of `LuOptions` by their names, "Trans"
/// (NOTRANS, TRANS, CONJ; "Transpose" of Amesos2 means TRANS), "IsContiguous" as KLU2 has it, and "throw":
/// whether a status without a solution (singular, breakdown) is an exception. `getTiming` tells each status;
/// `error_above_tolerance` is never an exception, since X is there. New options take effect by a new analysis
/// at the next call.
///
/// Errors: std::invalid_argument for what Lutra calls InputError, std::logic_error for CallOrderError, else
/// std::runtime_error, with Lutra's message, on all processes.
///
/// symbolicFactorization reads values as well (matching, scaling); where they make the matrix structurally
/// singular, numericFactorization analyzes anew. preOrdering does nothing: ordering is part of the analysis.
template <class Matrix, class Vector>
class Amesos2Solver : public Amesos2::SolverCore<lutra::Amesos2Solver, Matrix, Vector> {
  using Core = Amesos2::SolverCore<lutra::Amesos2Solver, Matrix, Vector>;
  friend Core;
  using Types = Impl::TpetraTypes<Matrix>;
  static_assert(std::is_same_v<Vector, typename Types::MultiVector>,
                "lutra: Amesos2Solver<Matrix, Vector> takes the Tpetra::MultiVector with the template "
                "arguments of the Tpetra::CrsMatrix");

 public:
  static constexpr const char* name = "Lutra";
  using scalar_type = typename Types::Scalar;
  using solver_type = SparseLU<scalar_type, typename Types::Space>;

  Amesos2Solver(Teuchos::RCP<const Matrix> A, Teuchos::RCP<Vector> X, Teuchos::RCP<const Vector> B)
      : Core(A, X, B), m_matrix(A) {}

  using Core::setA;
  void setA(const Teuchos::RCP<const Matrix> A, Amesos2::EPhase keep_phase = Amesos2::CLEAN) override {
    Core::setA(A, keep_phase);
    m_matrix = A;
    if (keep_phase < Amesos2::SYMBFACT) m_analyzed = false;
  }

  using Core::solve;
  /// Solves op(A)·X = B, whatever the parameters say of transposition.
  void solve(const Teuchos::Ptr<Vector>& X, const Teuchos::Ptr<const Vector>& B, Transposition op) const {
    struct Request {
      std::optional<Transposition>& op;
      ~Request() { op.reset(); }
    } const request{m_requested_op};
    m_requested_op = op;
    Core::solve(X, B);
  }

  /// What was chosen, counted and measured; complete on process 0, status and errors on all.
  const Report& report() const noexcept { return m_solver ? m_solver->report() : m_report; }

  /// Amesos2's timings, and the report as a list "Lutra".
  void getTiming(Teuchos::ParameterList& list) const override {
    Core::getTiming(list);
    Impl::write_report(report(), list.sublist("Lutra"));
  }

  std::string description() const override { return "Lutra sparse LU"; }

 private:
  int preOrdering_impl() { return 0; }

  int symbolicFactorization_impl() {
    Teuchos::TimeMonitor timer(this->timers_.symFactTime_);
    m_analyzed = false;
    on_root([&] {
      if (!m_solver) m_solver = std::make_unique<solver_type>(m_options);
      // Values to come may have a full set of pivots where these do not.
      complete(m_solver->analyze(m_gathered.matrix(m_shared, *m_matrix)));
    });
    m_analyzed = true;
    return 0;
  }

  int numericFactorization_impl() {
    if (!m_analyzed) symbolicFactorization_impl();
    Teuchos::TimeMonitor timer(this->timers_.numFactTime_);
    m_factorized = false;
    on_root([&] {
      const auto A = m_gathered.matrix(m_shared, *m_matrix);
      Status status = Status::success;
      if (m_solver->report().status == Status::structurally_singular) status = m_solver->analyze(A);
      if (status == Status::success) status = m_solver->factorize(A);
      complete(status);
      const FactorCounts& factors = m_solver->report().factors;
      this->setNnzLU(static_cast<std::size_t>(factors.nnz_l.value_or(0) + factors.nnz_u.value_or(0)));
    });
    if (m_throw && report().status != Status::not_solved) raise_status();
    m_factorized = true;
    return 0;
  }

  int solve_impl(const Teuchos::Ptr<Amesos2::MultiVecAdapter<Vector>> X,
                 const Teuchos::Ptr<const Amesos2::MultiVecAdapter<Vector>> B) const {
    if (!m_factorized) const_cast<Amesos2Solver&>(*this).numericFactorization_impl();
    const Transposition op = transposition();
    const auto solve_views = [&](const auto& b, const auto& x) {
      Teuchos::TimeMonitor timer(this->timers_.solveTime_);
      on_root([&] { complete(m_solver->solve(b, x, op)); });
    };
    if (!m_shared || !Impl::with_local_views<Types>(*m_matrix, *X, *B, solve_views)) {
      m_gathered.with_gathered(X, B, this->root_, m_contiguous, this->rowIndexBase_, solve_views);
    }
    const Status status = report().status;
    if (m_throw && !is_solved(status) && status != Status::error_above_tolerance) raise_status();
    return 0;
  }

  bool matrixShapeOK_impl() const {
    return this->matrixA_->getGlobalNumRows() == this->matrixA_->getGlobalNumCols();
  }

  void setParameters_impl(const Teuchos::RCP<Teuchos::ParameterList>& list) {
    Impl::with_teuchos_errors([&] {
      const LuOptions options = Impl::read_options<LuOptions>(*list);
      m_trans = list->get<std::string>("Trans", "NOTRANS");
      m_contiguous = list->get<bool>("IsContiguous", true);
      m_throw = list->get<bool>("throw", true);
      if (Impl::same_options(options, m_options)) return;
      m_options = options;
      m_solver.reset();
      m_analyzed = m_factorized = false;
    });
  }

  Teuchos::RCP<const Teuchos::ParameterList> getValidParameters_impl() const {
    const Teuchos::RCP<Teuchos::ParameterList> list = Teuchos::parameterList();
    Impl::add_valid_options(*list, LuOptions());
    list->set("Trans", std::string("NOTRANS"), "solve with A, its transpose, or its conjugate transpose",
              Teuchos::rcp(new Teuchos::StringValidator(
                  Teuchos::Array<std::string>{Teuchos::tuple<std::string>("NOTRANS", "TRANS", "CONJ")})));
    list->set("IsContiguous", true, "whether the global indices of rows have no gaps");
    list->set("throw", true, "whether a status without a solution is an exception");
    return list;
  }

  /// Amesos2 calls this before each phase that may see a new matrix.
  bool loadA_impl(const Amesos2::EPhase phase) {
    if (phase == Amesos2::SOLVE) return false;
    m_shared = this->nprocs_ == 1 && Types::has_local_indices(*m_matrix);
    if (m_shared) return true;
    Teuchos::TimeMonitor timer(this->timers_.mtxRedistTime_);
    m_gathered.gather(*this->matrixA_, this->root_, m_contiguous, this->columnIndexBase_);
    return true;
  }

  Transposition transposition() const {
    if (m_requested_op) return *m_requested_op;
    if (m_trans == "CONJ") return Transposition::adjoint;
    return m_trans == "TRANS" || this->control_.useTranspose_ ? Transposition::transposed
                                                              : Transposition::none;
  }

  /// Leaves other statuses to the report. @throws CancelledError if a call was stopped
  static void complete(Status status) {
    if (status == Status::cancelled) throw CancelledError();
  }
  /// Calls `function` on process 0; exceptions, status and errors become those of all processes.
  template <class Function>
  void on_root(const Function& function) const {
    Impl::CallOutcome outcome;
    if (this->root_) outcome = Impl::attempt(function);
    if (this->nprocs_ > 1) outcome = Impl::outcome_of_root(*this->getComm(), outcome);
    Impl::raise(outcome);
    if (this->nprocs_ > 1) m_report = Impl::report_of_root(*this->getComm(), report());
  }

  void raise_status() const { Impl::raise({Impl::CallOutcome::Kind::failed, describe(report())}); }

  Teuchos::RCP<const Matrix> m_matrix;
  bool m_shared = false;  ///< the Views of the matrix are read in place
  LuOptions m_options;
  std::string m_trans = "NOTRANS";
  bool m_contiguous = true;
  bool m_throw = true;
  mutable std::optional<Transposition> m_requested_op;  ///< during a call that names one
  std::unique_ptr<solver_type> m_solver;                ///< on process 0; null before an analysis
  mutable Impl::GatheredSystem<Types> m_gathered;       ///< on process 0, where Views are not shared
  bool m_analyzed = false, m_factorized = false;        ///< with the present options
  mutable Report m_report;                              ///< status and errors, where there is no solver
};

}  // namespace lutra

namespace Amesos2 {

/// The scalar types Lutra was built with are checked by SparseLU.
template <>
struct solver_traits<lutra::Amesos2Solver> {
  using supported_scalars = Meta::nil_t;
};

}  // namespace Amesos2

#endif
