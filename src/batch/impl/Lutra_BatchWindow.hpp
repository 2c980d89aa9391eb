// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_BATCHWINDOW_HPP
#define LUTRA_BATCHWINDOW_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <limits>

#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_MoveLanes.hpp"
#include "Lutra_ScalarTraits.hpp"

// Checks of callers' blocks, and copies between them and windows of neighbouring systems.

namespace lutra::Impl {

inline constexpr std::int64_t all_finite_numbers = std::numeric_limits<std::int64_t>::max();

/// First number of the systems that are read which is not finite, as (system · columns + column) · rows +
/// row.
template <class Block, class Flags>
struct FirstNotFinite {
  Block block;
  Flags is_read;
  KOKKOS_FUNCTION void operator()(const std::int64_t t, std::int64_t& first) const {
    using Scalar = typename Block::non_const_value_type;
    // Neighbouring threads have neighbouring numbers in either storage.
    const auto rows = static_cast<std::int64_t>(block.extent(0)),
               columns = static_cast<std::int64_t>(block.extent(1));
    const auto systems = static_cast<std::int64_t>(block.extent(2));
    const bool interleaved = block.stride(2) < block.stride(0);
    const std::int64_t s = interleaved ? t % systems : t / (rows * columns);
    const std::int64_t rest = interleaved ? t / systems : t % (rows * columns);
    const std::int64_t c = rest / rows, i = rest % rows;
    if (is_read(s) == 0 || ScalarTraits<Scalar>::is_finite(block(i, c, s))) return;
    const std::int64_t at = (s * columns + c) * rows + i;
    if (at < first) first = at;
  }
};

/// As FirstNotFinite finds it; `all_finite_numbers` if there is none. Fences.
template <class ExecutionSpace, class Block, class Flags>
std::int64_t first_not_finite(const ExecutionSpace& exec, const Block& block, const Flags& is_read) {
  const std::size_t count = block.extent(0) * block.extent(1) * block.extent(2);
  std::int64_t first = all_finite_numbers;
  if (count == 0) return first;
  if constexpr (is_host_space<ExecutionSpace>) {
    if (has_only_finite(block)) return first;
  }
  Kokkos::parallel_reduce("lutra::batch::check_numbers",
                          Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>(
                              exec, 0, static_cast<std::int64_t>(count)),
                          FirstNotFinite<Block, Flags>{block, is_read}, Kokkos::Min<std::int64_t>(first));
  exec.fence("lutra::batch: numbers are checked");
  return first;
}

/// Copies a window of one column of a block, or of values: the systems that are read, and zeros.
template <class From, class Rows, class Flags>
struct ReadSystems {
  From from;  ///< [rows × K]
  Rows to;    ///< [rows × window]
  Flags is_read;
  std::int64_t first;  ///< system of the window's first column
  KOKKOS_FUNCTION void operator()(const std::int64_t i, const std::int64_t s) const {
    using Scalar = typename Rows::value_type;
    to(i, s) = is_read(first + s) != 0 ? Scalar(from(i, first + s)) : Scalar(0);
  }
};
/// Copies the vectors of the systems that are written.
template <class Rows, class To, class Flags>
struct WriteSystems {
  Rows from;
  To to;
  Flags is_written;
  std::int64_t first;
  KOKKOS_FUNCTION void operator()(const std::int64_t i, const std::int64_t s) const {
    if (is_written(first + s) != 0) to(i, first + s) = from(i, s);
  }
};

}  // namespace lutra::Impl

#endif
