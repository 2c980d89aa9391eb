// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_DirectSolver.hpp"

#include <string>

#include "Lutra_Instantiate.hpp"
#include "Lutra_LdltNumeric.hpp"
#include "Lutra_LuNumeric.hpp"
#include "Lutra_ToDevice.hpp"

namespace lutra {

template <class Numeric>
void DirectSolver<Numeric>::analyze(const matrix_type& A) {
  if (m_numeric) return m_numeric->rematch(A);
  m_numeric = std::make_unique<Numeric>(Numeric::analyze(m_exec, A, m_options, m_budget), m_options, m_exec,
                                        m_budget);
}

template <class Numeric>
void DirectSolver<Numeric>::analyze(const host_matrix_type& A) {
  MemoryReservation reservation(m_budget);
  analyze(Impl::to_device(m_exec, reservation, A));
}

template <class Numeric>
void DirectSolver<Numeric>::factorize(const host_matrix_type& A) {
  numeric_type& numeric = analyzed();
  MemoryReservation reservation(m_budget);
  numeric.factorize(Impl::to_device(m_exec, reservation, A));
  m_exec.fence("lutra::driver: the copy of the matrix is freed");
}

template <class Numeric>
Status DirectSolver<Numeric>::solve_host(std::span<const Scalar> B, std::span<Scalar> X, Transposition op) {
  const auto n = m_numeric ? static_cast<std::size_t>(m_numeric->analysis()->n) : std::size_t(0);
  if (B.size() != X.size()) {
    throw InputError("X: it has " + std::to_string(X.size()) + " values, but B has " +
                     std::to_string(B.size()));
  }
  if (n == 0 || B.size() % n != 0) {
    throw InputError("B: its " + std::to_string(B.size()) + " values are no multiple of the matrix' " +
                     std::to_string(n) + " rows");
  }
  using HostColumns = Kokkos::View<Scalar**, Kokkos::LayoutLeft, Kokkos::HostSpace>;
  const std::size_t k = B.size() / n;
  const Kokkos::View<const Scalar**, Kokkos::LayoutLeft, Kokkos::HostSpace> host_B(B.data(), n, k);
  const HostColumns host_X(X.data(), n, k);
  if constexpr (Impl::is_host_space<ExecutionSpace>) {
    return solve(host_B, host_X, op);
  } else {
    using Columns = Kokkos::View<Scalar**, Kokkos::LayoutLeft, memory_space>;
    MemoryReservation reservation(m_budget);
    const auto device_B = reservation.template allocate<Columns>(m_exec, "lutra::driver::B", n, k);
    const auto device_X = reservation.template allocate<Columns>(m_exec, "lutra::driver::X", n, k);
    Kokkos::deep_copy(m_exec, device_B, host_B);
    Kokkos::deep_copy(m_exec, device_X, host_X);  // a solve that ends in a singular matrix leaves X alone
    const Status status = solve(device_B, device_X, op);
    Kokkos::deep_copy(m_exec, host_X, device_X);
    m_exec.fence("lutra::DirectSolver::solve_host: X is complete");
    return status;
  }
}

#define LUTRA_DIRECT_SOLVER(Scalar, Ordinal, Offset, Space)               \
  template class DirectSolver<LuNumeric<Scalar, Ordinal, Offset, Space>>; \
  template class DirectSolver<LdltNumeric<Scalar, Ordinal, Offset, Space>>;
LUTRA_FOR_EACH_MATRIX_AND_SPACE(LUTRA_DIRECT_SOLVER)

}  // namespace lutra
