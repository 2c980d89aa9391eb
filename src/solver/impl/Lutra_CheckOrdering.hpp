// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CHECKORDERING_HPP
#define LUTRA_CHECKORDERING_HPP

#include <cstdint>
#include <vector>

#include "Lutra_Error.hpp"
#include "Lutra_Ordering.hpp"

namespace lutra::Impl {

/// @throws InputError if a permutation is given but would not be used, or if one is missing
inline void check_ordering(Ordering ordering, const std::vector<std::int64_t>& user_permutation) {
  if (ordering != Ordering::user && !user_permutation.empty())
    throw InputError("options: user_permutation needs Ordering::user");
  if (ordering == Ordering::user && user_permutation.empty())
    throw InputError("options: Ordering::user needs user_permutation");
}

}  // namespace lutra::Impl

#endif
