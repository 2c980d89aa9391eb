// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_IncompleteFactors.hpp"

#include "Lutra_IluFields.hpp"

namespace lutra {

void check_options(const IluOptions& options) {
  Impl::check_fields(options);
}

}  // namespace lutra
