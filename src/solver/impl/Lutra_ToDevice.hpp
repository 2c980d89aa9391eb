// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TODEVICE_HPP
#define LUTRA_TODEVICE_HPP

#include "Lutra_CheckLaunches.hpp"
#include "Lutra_CsrView.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_Upload.hpp"

namespace lutra::Impl {

/// @throws InputError if the lengths of the arrays do not match
template <class Scalar, class Index, class Integer>
void check_lengths(const HostMatrix<Scalar, Index, Integer>& A) {
  if (A.row_map.size() != static_cast<std::size_t>(A.n_rows) + 1 || A.values.size() != A.entries.size())
    throw InputError("matrix: row_map needs n_rows + 1 elements, and as many values as entries");
}

/// Makes a host matrix readable by the execution space, as a copy that `reservation` owns.
template <class ExecutionSpace, class Scalar, class Index, class Integer>
CsrView<Scalar, Index, Integer, typename ExecutionSpace::memory_space> to_device(
    const ExecutionSpace& exec, MemoryReservation& reservation, const HostMatrix<Scalar, Index, Integer>& A) {
  check_lengths(A);
  const auto copy = [&](const auto& array) {
    return upload(exec, reservation, "lutra::solver::from_host", array);
  };
  return {A.n_rows, A.n_cols, copy(A.row_map), copy(A.entries), copy(A.values)};
}
/// Overload for host spaces, which read the matrix in place.
template <HostExecution ExecutionSpace, class Scalar, class Index, class Integer>
CsrView<Scalar, Index, Integer, typename ExecutionSpace::memory_space> to_device(
    const ExecutionSpace&, MemoryReservation&, const HostMatrix<Scalar, Index, Integer>& A) {
  check_lengths(A);
  return make_view(A);
}

/// Copies a matrix to the host. Fences.
template <class Scalar, class ExecutionSpace>
CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace> copy_to_host(
    const ExecutionSpace& exec,
    const CsrView<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& A) {
  const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace> result{
      A.n_rows, A.n_cols, download(exec, A.row_map), download(exec, A.entries), download(exec, A.values)};
  wait_for(exec, "lutra::solver: the matrix is on the host");
  return result;
}

/// Copies a pattern. Does not fence.
template <class ExecutionSpace>
CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space> copy_pattern(
    const ExecutionSpace& exec, MemoryReservation& reservation,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& A) {
  const auto copy = [&](const char* label, const auto& view) {
    using View = typename std::decay_t<decltype(view)>::non_const_type;
    const auto result = reservation.allocate<View>(exec, label, view.extent(0));
    Kokkos::deep_copy(exec, result, view);
    return result;
  };
  return {A.n_rows, A.n_cols, copy("lutra::solver::row_map", A.row_map),
          copy("lutra::solver::entries", A.entries)};
}

}  // namespace lutra::Impl

#endif
