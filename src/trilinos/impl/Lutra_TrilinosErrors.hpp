// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TRILINOSERRORS_HPP
#define LUTRA_TRILINOSERRORS_HPP

#include <Teuchos_Comm.hpp>
#include <Teuchos_CommHelpers.hpp>
#include <Teuchos_TestForException.hpp>

#include <stdexcept>
#include <string>

#include "Lutra_Error.hpp"
#include "Lutra_Report.hpp"

namespace lutra::Impl {

/// How a call of the library ended, in a form one process can tell the others.
struct CallOutcome {
  enum class Kind : int { done, bad_argument, bad_order, failed };
  Kind kind = Kind::done;
  std::string message;
};

/// Calls `function` and turns an exception into what it says.
template <class Function>
CallOutcome attempt(const Function& function) {
  using Kind = CallOutcome::Kind;
  try {
    function();
    return {};
  } catch (const std::invalid_argument& error) {
    return {Kind::bad_argument, error.what()};
  } catch (const CallOrderError& error) {
    return {Kind::bad_order, error.what()};
  } catch (const std::exception& error) {
    return {Kind::failed, error.what()};
  }
}

/// Process 0's outcome, on all processes. Collective.
inline CallOutcome outcome_of_root(const Teuchos::Comm<int>& comm, CallOutcome outcome) {
  int header[2] = {static_cast<int>(outcome.kind), static_cast<int>(outcome.message.size())};
  Teuchos::broadcast(comm, 0, 2, header);
  if (header[0] == 0) return {};
  outcome.kind = static_cast<CallOutcome::Kind>(header[0]);
  outcome.message.resize(static_cast<std::size_t>(header[1]));
  Teuchos::broadcast(comm, 0, header[1], outcome.message.data());
  return outcome;
}

/// Process 0's status and errors, on all processes. Collective.
inline Report report_of_root(const Teuchos::Comm<int>& comm, Report report) {
  SolveErrors& errors = report.errors;
  double values[5] = {static_cast<double>(report.status), errors.backward_componentwise.value_or(-1),
                      errors.backward_normwise.value_or(-1), static_cast<double>(report.refinement_steps),
                      static_cast<double>(report.pivots.perturbed.value_or(-1))};
  Teuchos::broadcast(comm, 0, 5, values);
  const auto known = [](double value) { return value < 0 ? std::nullopt : std::optional<double>(value); };
  report.status = static_cast<Status>(static_cast<int>(values[0]));
  errors.backward_componentwise = known(values[1]);
  errors.backward_normwise = known(values[2]);
  report.refinement_steps = static_cast<std::int64_t>(values[3]);
  report.pivots.perturbed = known(values[4]);
  return report;
}

/// Throws the exception Trilinos has for such an outcome: std::invalid_argument, std::logic_error or
/// std::runtime_error, thrown by Teuchos.
inline void raise(const CallOutcome& outcome) {
  using Kind = CallOutcome::Kind;
  if (outcome.kind == Kind::done) return;
  const std::string message = "Lutra: " + outcome.message;
  TEUCHOS_TEST_FOR_EXCEPTION(outcome.kind == Kind::bad_argument, std::invalid_argument, message);
  TEUCHOS_TEST_FOR_EXCEPTION(outcome.kind == Kind::bad_order, std::logic_error, message);
  TEUCHOS_TEST_FOR_EXCEPTION(outcome.kind == Kind::failed, std::runtime_error, message);
}

/// Calls `function`, whose exceptions become Teuchos'.
template <class Function>
void with_teuchos_errors(const Function& function) {
  raise(attempt(function));
}

}  // namespace lutra::Impl

#endif
