// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_MethodOptions.hpp"

#include "Lutra_Error.hpp"

namespace lutra::Impl {
namespace {

SolverOptions as_solver_options(const SolverOptions& options) {
  return options;
}
SolverOptions as_solver_options(const LuOptions& options) {
  return {options, Method::lu, options, {}, {}};
}
SolverOptions as_solver_options(const LdltOptions& options) {
  return {options, options.positive_definite ? Method::cholesky : Method::ldlt, {}, options, {}};
}
SolverOptions as_solver_options(const KrylovSolverOptions& options) {
  return {{{}, options}, Method::krylov, {}, {}, options};
}
SolverOptions as_solver_options(const SparseIluOptions&) {
  throw InputError("incomplete factors are no solver");
}

}  // namespace

MethodOptions::MethodOptions(std::string_view method) {
  if (method == "lu") {
    m_options = LuOptions();
  } else if (method == "ldlt" || method == "cholesky") {
    LdltOptions options;
    options.positive_definite = method == "cholesky";
    m_options = options;
  } else if (method == "ilu") {
    m_options = SparseIluOptions();
  } else if (method == "krylov") {
    m_options = KrylovSolverOptions();
  } else if (method != "auto") {
    throw InputError("method: there is no '" + std::string(method) +
                     "' (choose from auto, lu, ldlt, cholesky, ilu, krylov)");
  }
}

void MethodOptions::set(std::string_view name, std::string_view value) {
  std::visit([&](auto& options) { set_option(options, name, value); }, m_options);
}

std::vector<NamedOption> MethodOptions::list() const {
  return std::visit([](const auto& options) { return named_options(options); }, m_options);
}

void MethodOptions::set_permutation(const std::vector<std::int64_t>& permutation) {
  const auto set_one = [&](auto& options) {
    options.ordering = permutation.empty() ? Ordering::automatic : Ordering::user;
    options.user_permutation = permutation;
  };
  const auto set_krylov = [&](KrylovChoices& krylov) {
    set_one(krylov.ilu);
    set_one(krylov.lu);
  };
  std::visit(
      [&](auto& options) {
        if constexpr (requires { options.user_permutation; }) set_one(options);
        if constexpr (requires { options.krylov; }) set_krylov(options.krylov);
        if constexpr (requires { set_krylov(options); }) set_krylov(options);
      },
      m_options);
}

void MethodOptions::set_log(std::function<void(const Event&)> log) {
  std::visit(
      [&](CommonOptions& options) {
        Observers observers = options.observers ? *options.observers : Observers();
        observers.event = std::move(log);
        options.observers = std::make_shared<const Observers>(std::move(observers));
      },
      m_options);
}

std::size_t MethodOptions::memory_limit() const {
  return std::visit([](const CommonOptions& options) { return options.memory_limit; }, m_options);
}

CommonOptions& MethodOptions::common() {
  return std::visit([](CommonOptions& options) -> CommonOptions& { return options; }, m_options);
}

SolverOptions MethodOptions::solver_options() const {
  return std::visit([](const auto& options) { return as_solver_options(options); }, m_options);
}

}  // namespace lutra::Impl
