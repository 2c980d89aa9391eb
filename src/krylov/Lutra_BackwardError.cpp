// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_BackwardError.hpp"

#include <cmath>
#include <limits>

#include "Lutra_Instantiate.hpp"

namespace lutra {

template <class ExecutionSpace>
BackwardErrors ResidualMaxima<ExecutionSpace>::errors(std::size_t n_columns, double A_norm) const {
  using Impl::ColumnMaximum;
  BackwardErrors errors;
  for (std::size_t c = 0; c < n_columns; ++c) {
    const auto maximum = [&](ColumnMaximum which) { return host(Impl::slot_of(c, which)); };
    const double residual = maximum(ColumnMaximum::residual);
    const double scale = A_norm * maximum(ColumnMaximum::solution) + maximum(ColumnMaximum::right_side);
    errors.componentwise.push_back(maximum(ColumnMaximum::ratio));
    errors.normwise.push_back(residual == 0             ? 0.0
                              : std::isfinite(residual) ? residual / scale
                                                        : std::numeric_limits<double>::infinity());
  }
  return errors;
}

#define LUTRA_RESIDUAL_MAXIMA(Space) template class ResidualMaxima<Space>;
LUTRA_FOR_EACH_SPACE(LUTRA_RESIDUAL_MAXIMA)

}  // namespace lutra
