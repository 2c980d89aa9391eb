// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_OUTCOME_HPP
#define LUTRA_OUTCOME_HPP

#include "Lutra_Status.hpp"

namespace lutra::Impl {

/// What analyze and factorize return: success where the next call can be made, though the report, which is
/// about the solution, still says not_solved.
constexpr Status outcome_of(Status reported) {
  return reported == Status::not_solved ? Status::success : reported;
}

}  // namespace lutra::Impl

#endif
