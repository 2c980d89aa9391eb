// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_STRATIMIKOSFACTORY_HPP
#define LUTRA_STRATIMIKOSFACTORY_HPP

#include <Teuchos_VerboseObjectParameterListHelpers.hpp>
#include <Thyra_TpetraThyraWrappers.hpp>
#include <Tpetra_CrsMatrix.hpp>

#include <stdexcept>

namespace lutra::Impl {

/// What both factories have in common: compatible operators, and the list of parameters.
/// @tparam Base Thyra's class of factories
template <class Scalar, class Base>
class StratimikosFactory : public Base {
 public:
  using matrix_type = Tpetra::CrsMatrix<Scalar>;

  /// Operators of Thyra that are Tpetra matrices.
  bool isCompatible(const Thyra::LinearOpSourceBase<Scalar>& source) const override {
    return !matrix_of(source).is_null();
  }

  void setParameterList(const Teuchos::RCP<Teuchos::ParameterList>& list) override {
    TEUCHOS_TEST_FOR_EXCEPTION(list.is_null(), std::invalid_argument, "Lutra: the parameter list is null");
    list->validateParameters(*this->getValidParameters());
    m_list = list;
    Teuchos::readVerboseObjectSublist(list.get(), static_cast<Base*>(this));
  }
  Teuchos::RCP<Teuchos::ParameterList> getNonconstParameterList() override { return m_list; }
  Teuchos::RCP<Teuchos::ParameterList> unsetParameterList() override {
    const auto list = m_list;
    m_list = Teuchos::null;
    return list;
  }
  Teuchos::RCP<const Teuchos::ParameterList> getParameterList() const override { return m_list; }

 protected:
  /// The Tpetra matrix in an operator of Thyra, or null.
  static Teuchos::RCP<const matrix_type> matrix_of(const Thyra::LinearOpSourceBase<Scalar>& source) {
    using Extract = Thyra::TpetraOperatorVectorExtraction<Scalar>;
    using ThyraMatrix =
        Thyra::TpetraLinearOp<Scalar, typename matrix_type::local_ordinal_type,
                              typename matrix_type::global_ordinal_type, typename matrix_type::node_type>;
    const auto tpetra = Teuchos::rcp_dynamic_cast<const ThyraMatrix>(source.getOp());
    if (tpetra.is_null()) return Teuchos::null;
    return Teuchos::rcp_dynamic_cast<const matrix_type>(Extract::getConstTpetraOperator(source.getOp()));
  }

  /// The same for initializeOp and initializePrec.
  /// @throws std::invalid_argument for other operators
  static Teuchos::RCP<const matrix_type> required_matrix(
      const Teuchos::RCP<const Thyra::LinearOpSourceBase<Scalar>>& source) {
    TEUCHOS_TEST_FOR_EXCEPTION(source.is_null() || matrix_of(*source).is_null(), std::invalid_argument,
                               "Lutra: the operator must be a Tpetra::CrsMatrix");
    return matrix_of(*source);
  }

  Teuchos::RCP<Teuchos::ParameterList> m_list;  ///< null: defaults
};

}  // namespace lutra::Impl

#endif
