// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CLIEXIT_HPP
#define LUTRA_CLIEXIT_HPP

#include "Lutra_Error.hpp"

namespace lutra::Cli {

// Exit statuses, which scripts rely on (docs/command-line.md).
inline constexpr int exit_solved = 0;             ///< solved and checked, `unchecked` as asked, or completed
inline constexpr int exit_defect = 1;             ///< defect of Lutra
inline constexpr int exit_invalid_input = 2;      ///< invalid call or file
inline constexpr int exit_numerical_failure = 3;  ///< singular, breakdown, or error above the tolerance
inline constexpr int exit_out_of_memory = 4;
inline constexpr int exit_cancelled = 5;  ///< by a deadline or a signal

constexpr int exit_status(Status status) {
  switch (status) {
    case Status::success:
    case Status::unchecked:
      return exit_solved;
    case Status::not_solved:
      return exit_defect;
    case Status::out_of_memory:
      return exit_out_of_memory;
    case Status::cancelled:
      return exit_cancelled;
    default:
      return exit_numerical_failure;
  }
}

}  // namespace lutra::Cli

#endif
