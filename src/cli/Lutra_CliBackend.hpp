// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CLIBACKEND_HPP
#define LUTRA_CLIBACKEND_HPP

#include <stdexcept>
#include <string>

#include "Lutra_DescribeRun.hpp"
#include "Lutra_Instantiate.hpp"

namespace lutra::Cli {

/// Calls task.operator()<ExecutionSpace>() for a built backend by its name.
template <class Task>
auto with_backend(const std::string& backend, const Task& task) {
#define LUTRA_TRY_SPACE(ExecutionSpace) \
  if (backend == backend_name<ExecutionSpace>()) return task.template operator()<ExecutionSpace>();
  LUTRA_FOR_EACH_SPACE(LUTRA_TRY_SPACE)
#undef LUTRA_TRY_SPACE
  throw std::logic_error("backend " + backend + " was not checked");
}

}  // namespace lutra::Cli

#endif
