// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_REDUCTIONS_HPP
#define LUTRA_REDUCTIONS_HPP

#include <span>

#include "Lutra_ScalarTraits.hpp"

namespace lutra {

/// Joins what one process has reduced over its rows of some vectors with the results of all processes that
/// have rows of them. All processes call it alike, and all receive the same bits. Values are on the host.
template <class Scalar>
class Reductions {
 public:
  virtual ~Reductions() = default;
  virtual void sum(std::span<Scalar> values) const = 0;
  /// @param values not NaN
  virtual void max(std::span<RealOf<Scalar>> values) const = 0;
};

}  // namespace lutra

#endif
