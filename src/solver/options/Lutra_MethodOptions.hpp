// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_METHODOPTIONS_HPP
#define LUTRA_METHODOPTIONS_HPP

#include <cstdint>
#include <functional>
#include <string_view>
#include <variant>
#include <vector>

#include "Lutra_Options.hpp"

namespace lutra::Impl {

/// Options of one method, accessed by name. For interfaces that learn the method only at run time.
class MethodOptions {
 public:
  /// @param method "auto", "lu", "ldlt", "cholesky", "ilu" or "krylov". Cholesky has the options of ldlt.
  /// @throws InputError if the method is unknown
  explicit MethodOptions(std::string_view method);

  /// Sets the option `name`.
  /// @throws InputError as set_option
  void set(std::string_view name, std::string_view value);
  std::vector<NamedOption> list() const;
  /// Sets the user permutation, also that of each preconditioner.
  /// @param permutation columns in elimination order; empty: no permutation
  void set_permutation(const std::vector<std::int64_t>& permutation);

  /// Sets the observer of events, beside other observers; an empty function: none.
  void set_log(std::function<void(const Event&)> log);

  std::size_t memory_limit() const;
  /// The options that all methods have.
  CommonOptions& common();
  bool is_incomplete() const { return std::holds_alternative<SparseIluOptions>(m_options); }
  bool is_ldlt() const { return std::holds_alternative<LdltOptions>(m_options); }
  /// Returns the options of any method other than ilu.
  SolverOptions solver_options() const;
  /// Returns the options of ilu.
  const SparseIluOptions& ilu_options() const { return std::get<SparseIluOptions>(m_options); }

 private:
  std::variant<SolverOptions, LuOptions, LdltOptions, SparseIluOptions, KrylovSolverOptions> m_options;
};

}  // namespace lutra::Impl

#endif
