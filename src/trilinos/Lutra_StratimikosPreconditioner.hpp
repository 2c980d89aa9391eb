// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_STRATIMIKOSPRECONDITIONER_HPP
#define LUTRA_STRATIMIKOSPRECONDITIONER_HPP

#include <Ifpack2_AdditiveSchwarz.hpp>
#include <Thyra_DefaultPreconditioner.hpp>
#include <Thyra_PreconditionerFactoryBase.hpp>

#include <string>

#include "Lutra_Ifpack2Preconditioner.hpp"
#include "Lutra_StratimikosFactory.hpp"

namespace lutra {

/// Makes preconditioners of Thyra from SparseILU or SparseLU; Stratimikos knows it as "Lutra"
/// (`enable_lutra`). On one process they read the matrix in place; on several they are the inner solvers of
/// Ifpack2::AdditiveSchwarz.
///
/// Parameters: "Type", ilu or lu; "Overlap", levels of rows of other processes; the lists "ILU Settings" and
/// "LU Settings" with the options of `SparseIluOptions` and `LuOptions` by their names. A preconditioner that
/// is initialized anew with the same matrix, and the same list, keeps its analysis.
template <class Scalar>
class StratimikosPreconditionerFactory
    : public Impl::StratimikosFactory<Scalar, Thyra::PreconditionerFactoryBase<Scalar>> {
  using Base = Impl::StratimikosFactory<Scalar, Thyra::PreconditionerFactoryBase<Scalar>>;
  using Source = Thyra::LinearOpSourceBase<Scalar>;
  using Matrix = typename Base::matrix_type;
  using RowMatrix = Tpetra::RowMatrix<Scalar>;
  using Operator = Tpetra::Operator<Scalar>;
  using LocalPreconditioner = Ifpack2::Preconditioner<Scalar>;

  /// Remembers what it was made of.
  struct Preconditioner : Thyra::DefaultPreconditioner<Scalar> {
    Teuchos::RCP<const Source> source;
    Teuchos::RCP<const Matrix> matrix;
    Teuchos::RCP<LocalPreconditioner> local;  ///< null before initializePrec
    Teuchos::ParameterList parameters;
  };

 public:
  Teuchos::RCP<Thyra::PreconditionerBase<Scalar>> createPrec() const override {
    return Teuchos::rcp(new Preconditioner);
  }

  void initializePrec(const Teuchos::RCP<const Source>& source, Thyra::PreconditionerBase<Scalar>* base,
                      const Thyra::ESupportSolveUse /*use*/) const override {
    const auto A = Base::required_matrix(source);
    const Teuchos::ParameterList list = parameters();
    auto& preconditioner = Teuchos::dyn_cast<Preconditioner>(*base);
    const bool reused = !preconditioner.local.is_null() && preconditioner.matrix == A &&
                        Teuchos::haveSameValues(preconditioner.parameters, list);
    if (!reused) preconditioner.local = make(A, list);
    preconditioner.local->compute();
    preconditioner.source = source;
    preconditioner.matrix = A;
    preconditioner.parameters = list;
    preconditioner.initializeUnspecified(Thyra::createLinearOp(Teuchos::RCP<Operator>(preconditioner.local)));
  }

  void uninitializePrec(Thyra::PreconditionerBase<Scalar>* base, Teuchos::RCP<const Source>* source,
                        Thyra::ESupportSolveUse* use) const override {
    auto& preconditioner = Teuchos::dyn_cast<Preconditioner>(*base);
    if (source) *source = preconditioner.source;
    if (use) *use = Thyra::SUPPORT_SOLVE_UNSPECIFIED;
    preconditioner.source = Teuchos::null;
    preconditioner.uninitialize();
  }

  Teuchos::RCP<const Teuchos::ParameterList> getValidParameters() const override {
    const auto list = Teuchos::parameterList("Lutra");
    list->set("Type", std::string("ilu"), "ilu or lu",
              Teuchos::rcp(new Teuchos::StringValidator(
                  Teuchos::Array<std::string>(Teuchos::tuple<std::string>("ilu", "lu")))));
    list->set("Overlap", 0, "levels of rows of other processes");
    Impl::add_valid_options(list->sublist("ILU Settings"), SparseIluOptions());
    Impl::add_valid_options(list->sublist("LU Settings"), LuOptions());
    Teuchos::setupVerboseObjectSublist(list.get());
    return list;
  }
  std::string description() const override { return "lutra::StratimikosPreconditionerFactory"; }

 private:
  Teuchos::ParameterList parameters() const {
    return this->m_list.is_null() ? Teuchos::ParameterList() : *this->m_list;
  }

  /// A preconditioner with an analysis of A.
  static Teuchos::RCP<LocalPreconditioner> make(const Teuchos::RCP<const Matrix>& A,
                                                Teuchos::ParameterList list) {
    const bool incomplete = list.get<std::string>("Type", "ilu") == "ilu";
    Teuchos::RCP<LocalPreconditioner> local;
    if (incomplete) {
      local = Teuchos::rcp(new Ifpack2ILU<RowMatrix>());
    } else {
      local = Teuchos::rcp(new Ifpack2LU<RowMatrix>());
    }
    local->setParameters(list.sublist(incomplete ? "ILU Settings" : "LU Settings"));
    if (A->getComm()->getSize() == 1) {
      Teuchos::rcp_dynamic_cast<Ifpack2::Details::CanChangeMatrix<RowMatrix>>(local)->setMatrix(A);
      local->initialize();
      return local;
    }
    const auto schwarz = Teuchos::rcp(new Ifpack2::AdditiveSchwarz<RowMatrix>(A));
    Teuchos::ParameterList schwarz_list;
    schwarz_list.set("schwarz: overlap level", list.get<int>("Overlap", 0));
    schwarz_list.set("inner preconditioner name", std::string("CUSTOM"));
    schwarz->setParameters(schwarz_list);
    schwarz->setInnerPreconditioner(local);
    schwarz->initialize();
    return schwarz;
  }
};

}  // namespace lutra

#endif
