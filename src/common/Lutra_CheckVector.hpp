// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CHECKVECTOR_HPP
#define LUTRA_CHECKVECTOR_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <string>

#include "Lutra_CheckLaunches.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_ScalarTraits.hpp"

namespace lutra::Impl {

/// Reduction to the first row with a non-finite value.
template <class Block>
struct FirstBadRow {
  Block block;

  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t& first) const {
    using Scalar = typename Block::non_const_value_type;
    bool finite = true;
    if constexpr (Block::rank() == 1) {
      finite = ScalarTraits<Scalar>::is_finite(block(i));
    } else {
      for (std::size_t c = 0; c < block.extent(1); ++c)
        finite = finite && ScalarTraits<Scalar>::is_finite(block(i, c));
    }
    if (!finite && i < first) first = i;
  }
};

/// The first row of a vector [n] or a block of vectors [n × k] with NaN or infinity; n if there is none.
/// Waits once.
template <class ExecutionSpace, class Block>
std::int64_t first_bad_row(const ExecutionSpace& exec, const Block& block) {
  const auto n = static_cast<std::int64_t>(block.extent(0));
  std::int64_t first = n;
  if (n == 0) return first;
  Kokkos::parallel_reduce("lutra::common::check_finite", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, n),
                          FirstBadRow<Block>{block}, Kokkos::Min<std::int64_t>(first));
  wait_for(exec, "lutra::common: whether values are finite is known");
  return first;
}

/// Checks a vector [n] or a block of vectors [n × k] for NaN and infinity. Waits once.
/// @throws InputError naming the first row with such a value
template <class ExecutionSpace, class Block>
void check_finite(const ExecutionSpace& exec, const char* name, const Block& block) {
  const std::int64_t first = first_bad_row(exec, block);
  if (first < static_cast<std::int64_t>(block.extent(0)))
    throw InputError(std::string(name) + ": row " + std::to_string(first) + " holds NaN or infinity");
}

}  // namespace lutra::Impl

#endif
