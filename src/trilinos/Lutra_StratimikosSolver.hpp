// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_STRATIMIKOSSOLVER_HPP
#define LUTRA_STRATIMIKOSSOLVER_HPP

#include <Thyra_Amesos2LinearOpWithSolve_decl.hpp>
#include <Thyra_Amesos2LinearOpWithSolve_def.hpp>
#include <Thyra_LinearOpWithSolveFactoryBase.hpp>

#include <string>

#include "Lutra_Amesos2Solver.hpp"
#include "Lutra_StratimikosFactory.hpp"

namespace lutra {

/// A Tpetra matrix with SparseLU as an operator of Thyra that can be solved with, transposed as well. A solve
/// whose status is not success is SOLVE_STATUS_UNCONVERGED with Lutra's message; the achieved tolerance is
/// the componentwise backward error.
template <class Scalar>
class StratimikosSolver : public Thyra::Amesos2LinearOpWithSolve<Scalar> {
  using Base = Thyra::Amesos2LinearOpWithSolve<Scalar>;

 public:
  using direct_solver_type = Amesos2Solver<typename Base::MAT, typename Base::MV>;

  void attach(const Teuchos::RCP<const Thyra::LinearOpSourceBase<Scalar>>& source,
              const Teuchos::RCP<direct_solver_type>& solver) {
    Base::initialize(source->getOp(), source, solver);
    m_solver = solver;
  }
  /// null before initializeOp of the factory
  const Teuchos::RCP<direct_solver_type>& direct_solver() const { return m_solver; }

 protected:
  bool solveSupportsImpl(Thyra::EOpTransp op) const override {
    return op != Thyra::CONJ || !Teuchos::ScalarTraits<Scalar>::isComplex;
  }

  Thyra::SolveStatus<Scalar> solveImpl(
      const Thyra::EOpTransp op, const Thyra::MultiVectorBase<Scalar>& B,
      const Teuchos::Ptr<Thyra::MultiVectorBase<Scalar>>& X,
      const Teuchos::Ptr<const Thyra::SolveCriteria<Scalar>> /*criteria*/) const override {
    using Convert = typename Base::ConverterT;
    const auto b = Convert::getConstTpetraMultiVector(Teuchos::rcpFromRef(B));
    const auto x = Convert::getTpetraMultiVector(Teuchos::rcpFromPtr(X));
    m_solver->solve(x.ptr(), b.ptr(), transposition(op));

    const Report& report = m_solver->report();
    Thyra::SolveStatus<Scalar> status;
    status.solveStatus = report.status == Status::success     ? Thyra::SOLVE_STATUS_CONVERGED
                         : report.status == Status::unchecked ? Thyra::SOLVE_STATUS_UNKNOWN
                                                              : Thyra::SOLVE_STATUS_UNCONVERGED;
    status.message = describe(report);
    if (report.errors.backward_componentwise)
      status.achievedTol = static_cast<decltype(status.achievedTol)>(*report.errors.backward_componentwise);
    return status;
  }

 private:
  static Transposition transposition(Thyra::EOpTransp op) {
    return op == Thyra::CONJTRANS ? Transposition::adjoint
           : op == Thyra::TRANS   ? Transposition::transposed
                                  : Transposition::none;
  }

  Teuchos::RCP<direct_solver_type> m_solver;
};

/// Makes such operators; Stratimikos knows it as "Lutra" (`enable_lutra`). Parameters are the options of
/// `LuOptions` by their names. An operator that is initialized anew with a matrix on the graph it had keeps
/// its analysis.
template <class Scalar>
class StratimikosSolverFactory
    : public Impl::StratimikosFactory<Scalar, Thyra::LinearOpWithSolveFactoryBase<Scalar>> {
  using Base = Impl::StratimikosFactory<Scalar, Thyra::LinearOpWithSolveFactoryBase<Scalar>>;
  using Source = Thyra::LinearOpSourceBase<Scalar>;
  using Solver = StratimikosSolver<Scalar>;
  using Direct = typename Solver::direct_solver_type;

 public:
  Teuchos::RCP<Thyra::LinearOpWithSolveBase<Scalar>> createOp() const override {
    return Teuchos::rcp(new Solver);
  }

  void initializeOp(const Teuchos::RCP<const Source>& source, Thyra::LinearOpWithSolveBase<Scalar>* op,
                    const Thyra::ESupportSolveUse /*use*/) const override {
    const auto A = Base::required_matrix(source);
    Solver& solver = Teuchos::dyn_cast<Solver>(*op);
    Teuchos::RCP<Direct> direct = solver.direct_solver();
    const bool same_graph = !direct.is_null() && graph_of(solver) == A->getCrsGraph().get();
    if (direct.is_null()) direct = Teuchos::rcp(new Direct(A, Teuchos::null, Teuchos::null));
    direct->setParameters(amesos2_parameters());
    direct->setA(A, same_graph ? Amesos2::SYMBFACT : Amesos2::CLEAN);
    direct->numericFactorization();
    solver.attach(source, direct);
  }

  void uninitializeOp(Thyra::LinearOpWithSolveBase<Scalar>* op, Teuchos::RCP<const Source>* source,
                      Teuchos::RCP<const Thyra::PreconditionerBase<Scalar>>* preconditioner,
                      Teuchos::RCP<const Source>* approximate_source,
                      Thyra::ESupportSolveUse* /*use*/) const override {
    const auto former = Teuchos::dyn_cast<Solver>(*op).extract_fwdOpSrc();
    if (source) *source = former;
    if (preconditioner) *preconditioner = Teuchos::null;
    if (approximate_source) *approximate_source = Teuchos::null;
  }

  Teuchos::RCP<const Teuchos::ParameterList> getValidParameters() const override {
    const auto list = Teuchos::parameterList("Lutra");
    Impl::add_valid_options(*list, LuOptions());
    Teuchos::setupVerboseObjectSublist(list.get());
    return list;
  }
  std::string description() const override { return "lutra::StratimikosSolverFactory"; }

 private:
  static const void* graph_of(const Solver& solver) {
    const auto op = solver.get_fwdOp();
    const auto A = Teuchos::rcp_dynamic_cast<const typename Base::matrix_type>(
        Thyra::TpetraOperatorVectorExtraction<Scalar>::getConstTpetraOperator(op));
    return A->getCrsGraph().get();
  }

  Teuchos::RCP<Teuchos::ParameterList> amesos2_parameters() const {
    const auto list = Teuchos::parameterList("Amesos2");
    Teuchos::ParameterList& options = list->sublist("Lutra");
    if (!this->m_list.is_null()) options.setParameters(*this->m_list);
    options.remove("VerboseObject", false);
    options.set("throw", false);
    return list;
  }
};

}  // namespace lutra

#endif
