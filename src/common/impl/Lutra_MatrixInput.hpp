// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_MATRIXINPUT_HPP
#define LUTRA_MATRIXINPUT_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>

#include "Lutra_CsrView.hpp"
#include "Lutra_MemoryBudget.hpp"

namespace lutra::Impl {

/// The same elements as a View of memory space `To`, unmanaged: nothing is copied.
template <class To, class T, class From>
Kokkos::View<const T*, To> in_memory_space(const Kokkos::View<const T*, From>& view) {
  return Kokkos::View<const T*, To>(view.data(), view.extent(0));
}

template <class To, class From>
struct WidenRowMap {
  To to;
  From from;
  KOKKOS_FUNCTION void operator()(const std::int64_t i) const { to(i) = from(i); }
};

/// Row maps of `int`, converted on the device to the offset type of a solver. The converted map is kept
/// between calls, so that a matrix of the same size allocates nothing.
template <class Offset, class ExecutionSpace>
class WidenedRowMap {
 public:
  using Memory = typename ExecutionSpace::memory_space;

  /// @returns the offsets, valid until the next call. Does not fence.
  /// @throws OutOfMemoryError
  Kokkos::View<const Offset*, Memory> convert(const ExecutionSpace& exec,
                                              const Kokkos::View<const int*, Memory>& row_map,
                                              const MemoryBudget& budget) {
    if (m_offsets.extent(0) != row_map.extent(0)) {
      m_offsets = {};
      m_reservation = MemoryReservation(budget);
      m_offsets = m_reservation.template allocate<decltype(m_offsets)>(exec, "lutra::common::row_map",
                                                                       row_map.extent(0));
    }
    Kokkos::parallel_for(
        "lutra::common::widen_row_map",
        Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(row_map.extent(0))),
        WidenRowMap<decltype(m_offsets), Kokkos::View<const int*, Memory>>{m_offsets, row_map});
    return m_offsets;
  }

 private:
  Kokkos::View<Offset*, Memory> m_offsets;
  MemoryReservation m_reservation;
};

/// A matrix of other types as a solver's `CsrView`: entries and values are shared, never copied. Compiles
/// only for a matrix that the solver can read in place. A row map that differs in its sign alone is shared
/// too: an offset too large for `Offset` turns negative, which the solver's check refuses. One of `int` goes
/// through `widen`, a function from View<const int*> to View<const Offset*>.
template <class Solver, class Value, class Index, class Integer, class Memory, class Widen>
Solver adapt_matrix(const CsrView<Value, Index, Integer, Memory>& A, const Widen& widen) {
  using To = typename decltype(Solver::values)::memory_space;
  using RowMap = decltype(Solver::row_map);
  using Offset = typename RowMap::non_const_value_type;
  static_assert(std::is_same_v<Value, typename decltype(Solver::values)::non_const_value_type>,
                "lutra: the matrix must have the solver's scalar type");
  static_assert(std::is_same_v<Index, typename decltype(Solver::entries)::non_const_value_type>,
                "lutra: the matrix must have the solver's index type");
  static_assert(std::is_same_v<Integer, int> || std::is_same_v<std::make_signed_t<Integer>, Offset>,
                "lutra: the row map of a matrix must hold int, std::int64_t or std::size_t");
  static_assert(
      Kokkos::SpaceAccessibility<typename To::execution_space, Memory>::accessible,
      "lutra: the solver's execution space cannot reach the memory of this matrix; copy its Views to "
      "the device, or pass a lutra::HostMatrix");
  RowMap row_map;
  if constexpr (std::is_same_v<Integer, int>) {
    row_map = widen(in_memory_space<To>(A.row_map));
  } else {
    row_map = RowMap(reinterpret_cast<const Offset*>(A.row_map.data()), A.row_map.extent(0));
  }
  return {A.n_rows, A.n_cols, row_map, in_memory_space<To>(A.entries), in_memory_space<To>(A.values)};
}

}  // namespace lutra::Impl

#endif
