// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_HOSTSTORE_HPP
#define LUTRA_HOSTSTORE_HPP

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <string_view>
#include <utility>

#include "Lutra_AsyncResult.hpp"
#include "Lutra_MemoryBudget.hpp"

namespace lutra::Impl {

/// A large array in host memory for copies from and to the memory of an execution space.
template <class Scalar, class ExecutionSpace>
class HostStore {
 public:
  using View = Kokkos::View<Scalar*, typename HostCopy<ExecutionSpace>::Memory>;

  HostStore() = default;
  /// @throws OutOfMemoryError
  HostStore(const ExecutionSpace& exec, const MemoryBudget& budget, std::string_view label, std::size_t size)
      : m_reservation(budget), m_view(m_reservation.template allocate<View>(exec, label, size)) {}

  const View& view() const { return m_view; }
  /// Calls visit(begin, end) for ranges that each can be copied at once, of [begin, end).
  template <class Visit>
  void for_each_piece(std::size_t begin, std::size_t end, const Visit& visit) const {
    if (begin < end) visit(begin, end);
  }

 private:
  MemoryReservation m_reservation;
  View m_view;
};

}  // namespace lutra::Impl

#ifdef KOKKOS_ENABLE_CUDA
#include "Lutra_HostStoreCuda.hpp"
#endif

#endif
