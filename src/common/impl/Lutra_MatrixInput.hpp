// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_MATRIXINPUT_HPP
#define LUTRA_MATRIXINPUT_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "Lutra_CheckMatrix.hpp"
#include "Lutra_CsrView.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_MemoryBudget.hpp"

namespace lutra::Impl {

/// Unmanaged View of the same memory, declared as memory space `To`. Nothing is copied.
template <class To, class T, class From>
Kokkos::View<const T*, To> in_memory_space(const Kokkos::View<const T*, From>& view) {
  return Kokkos::View<const T*, To>(view.data(), view.extent(0));
}

template <class To, class From>
struct ConvertIntegers {
  To to;
  From from;
  KOKKOS_FUNCTION void operator()(const std::int64_t i) const {
    to(i) = static_cast<typename To::value_type>(from(i));
  }
};

/// Integers converted to another type on the device. The array is kept, so that calls with the same length
/// allocate nothing.
template <class Integer, class ExecutionSpace>
class ConvertedIntegers {
 public:
  using Memory = typename ExecutionSpace::memory_space;

  /// @returns the converted integers, valid until the next call. Does not fence.
  /// @throws OutOfMemoryError
  template <class From>
  Kokkos::View<const Integer*, Memory> convert(const ExecutionSpace& exec,
                                               const Kokkos::View<const From*, Memory>& from,
                                               const MemoryBudget& budget) {
    if (m_converted.extent(0) != from.extent(0)) {
      m_converted = {};
      m_reservation = MemoryReservation(budget);
      m_converted = m_reservation.template allocate<decltype(m_converted)>(exec, "lutra::common::converted",
                                                                           from.extent(0));
    }
    Kokkos::parallel_for(
        "lutra::common::convert_integers",
        Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(from.extent(0))),
        ConvertIntegers<decltype(m_converted), Kokkos::View<const From*, Memory>>{m_converted, from});
    return m_converted;
  }

 private:
  Kokkos::View<Integer*, Memory> m_converted;
  MemoryReservation m_reservation;
};

/// Signed counterpart of a row map's integer type: an offset too large for it becomes negative, which the
/// matrix check refuses.
template <class Integer>
using SignedOffset = std::conditional_t<sizeof(Integer) == 4, int, std::int64_t>;

/// Reads callers' matrices: columns of int or std::int64_t; row maps of int, std::int64_t or std::size_t; any
/// memory the execution space can access. Values and arrays of the library's own types are shared, others are
/// converted, columns after a check.
template <class Scalar, class ExecutionSpace>
class MatrixReader {
 public:
  using Memory = typename ExecutionSpace::memory_space;
  using Matrix = CsrView<Scalar, Ordinal, Offset, Memory>;

  /// @returns the matrix, valid until the next call. Fences if columns are converted.
  /// @param triangle entries that are read; their values must be finite
  /// @throws InputError for 2³¹ or more rows and, if columns are converted, as check_square_matrix;
  /// OutOfMemoryError
  template <class Value, class Index, class Integer, class From>
  Matrix read(const ExecutionSpace& exec, const CsrView<Value, Index, Integer, From>& A,
              const MemoryBudget& budget, Triangle triangle = Triangle::both) {
    const auto reached = in_reach(A);
    Matrix result{static_cast<Ordinal>(A.n_rows), static_cast<Ordinal>(A.n_cols), {}, {}, reached.values};
    if constexpr (std::is_same_v<Index, Ordinal>) {
      result.entries = reached.entries;
    } else {
      check_rows(A.n_rows);
      check_square_matrix(exec, reached, MatrixCheckWorkspace<ExecutionSpace>(exec, budget), triangle);
      result.entries = m_columns.convert(exec, reached.entries, budget);
    }
    if constexpr (sizeof(Integer) == sizeof(Offset)) {
      result.row_map = reached.row_map;
    } else {
      result.row_map = m_row_map.convert(exec, reached.row_map, budget);
    }
    return result;
  }

  /// The same arrays as Views of this memory space with signed integers. Compiles only if the execution space
  /// can access the matrix.
  template <class Value, class Index, class Integer, class From>
  static auto in_reach(const CsrView<Value, Index, Integer, From>& A) {
    static_assert(std::is_same_v<Value, Scalar>, "lutra: the matrix must have the solver's scalar type");
    static_assert(std::is_same_v<Index, int> || (std::is_integral_v<Index> && std::is_signed_v<Index> &&
                                                 sizeof(Index) == sizeof(std::int64_t)),
                  "lutra: the columns of a matrix must be int or std::int64_t");
    static_assert(std::is_same_v<Integer, int> ||
                      (std::is_integral_v<Integer> && sizeof(Integer) == sizeof(std::int64_t)),
                  "lutra: the row map of a matrix must hold int, std::int64_t or std::size_t");
    static_assert(
        Kokkos::SpaceAccessibility<typename Memory::execution_space, From>::accessible,
        "lutra: the solver's execution space cannot reach the memory of this matrix; copy its Views to "
        "the device, or pass a lutra::HostMatrix");
    using Column = std::conditional_t<sizeof(Index) == 4, int, std::int64_t>;
    using Position = SignedOffset<Integer>;
    return CsrView<Scalar, Column, Position, Memory>{
        static_cast<Column>(A.n_rows), static_cast<Column>(A.n_cols),
        Kokkos::View<const Position*, Memory>(reinterpret_cast<const Position*>(A.row_map.data()),
                                              A.row_map.extent(0)),
        Kokkos::View<const Column*, Memory>(reinterpret_cast<const Column*>(A.entries.data()),
                                            A.entries.extent(0)),
        in_memory_space<Memory>(A.values)};
  }

 private:
  static void check_rows(std::int64_t rows) {
    if (rows > std::numeric_limits<Ordinal>::max())
      throw InputError("matrix: " + std::to_string(rows) +
                       " rows are more than the 2147483647 that can be "
                       "solved with");
  }

  ConvertedIntegers<Ordinal, ExecutionSpace> m_columns;  ///< empty unless columns are std::int64_t
  ConvertedIntegers<Offset, ExecutionSpace> m_row_map;   ///< empty unless row maps are int
};

}  // namespace lutra::Impl

#endif
