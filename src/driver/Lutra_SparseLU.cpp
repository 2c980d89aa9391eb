// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_SparseLU.hpp"

#include <string>
#include <utility>

#include "Lutra_Error.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_LuSolver.hpp"

namespace lutra {
namespace {

/// A matrix on the host, brought to where the execution space can read it.
template <class Space, class Scalar, class Ordinal, class Offset>
CsrView<Scalar, Ordinal, Offset, typename Space::memory_space> to_device(
    const HostMatrix<Scalar, Ordinal, Offset>& matrix) {
  if (matrix.row_map.size() != static_cast<std::size_t>(matrix.n_rows) + 1 ||
      matrix.values.size() != matrix.entries.size()) {
    throw InputError("matrix: row_map needs n_rows + 1 elements, and as many values as entries");
  }
  const auto host = make_view(matrix);
  const typename Space::memory_space memory;
  return {matrix.n_rows, matrix.n_cols, Kokkos::create_mirror_view_and_copy(memory, host.row_map),
          Kokkos::create_mirror_view_and_copy(memory, host.entries),
          Kokkos::create_mirror_view_and_copy(memory, host.values)};
}

}  // namespace

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
SparseLU<Scalar, Ordinal, Offset, ExecutionSpace>::SparseLU(LuOptions options, const ExecutionSpace& exec)
    : m_solver(
          std::make_unique<LuSolver<Scalar, Ordinal, Offset, ExecutionSpace>>(std::move(options), exec)) {}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
SparseLU<Scalar, Ordinal, Offset, ExecutionSpace>::~SparseLU() = default;

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
SparseLU<Scalar, Ordinal, Offset, ExecutionSpace>::SparseLU(SparseLU&&) noexcept = default;

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
SparseLU<Scalar, Ordinal, Offset, ExecutionSpace>&
SparseLU<Scalar, Ordinal, Offset, ExecutionSpace>::operator=(SparseLU&&) noexcept = default;

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void SparseLU<Scalar, Ordinal, Offset, ExecutionSpace>::analyze(const matrix_type& A) {
  m_solver->analyze(A);
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void SparseLU<Scalar, Ordinal, Offset, ExecutionSpace>::analyze(const host_matrix_type& A) {
  m_solver->analyze(to_device<ExecutionSpace>(A));
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void SparseLU<Scalar, Ordinal, Offset, ExecutionSpace>::factorize(const matrix_type& A) {
  m_solver->factorize(A);
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
void SparseLU<Scalar, Ordinal, Offset, ExecutionSpace>::factorize(const host_matrix_type& A) {
  m_solver->factorize(to_device<ExecutionSpace>(A));
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
auto SparseLU<Scalar, Ordinal, Offset, ExecutionSpace>::widened(
    const Kokkos::View<const int*, memory_space>& row_map) -> Kokkos::View<const Offset*, memory_space> {
  return m_solver->widened(row_map);
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
Status SparseLU<Scalar, Ordinal, Offset, ExecutionSpace>::solve_views(const const_multivector_type& B,
                                                                      const multivector_type& X,
                                                                      Transposition op) {
  return m_solver->solve(B, X, op);
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
Status SparseLU<Scalar, Ordinal, Offset, ExecutionSpace>::solve_host(std::span<const Scalar> B,
                                                                     std::span<Scalar> X, Transposition op) {
  const std::size_t n = m_solver->n();
  if (B.size() != X.size()) {
    throw InputError("X: it has " + std::to_string(X.size()) + " values, but B has " +
                     std::to_string(B.size()));
  }
  if (n == 0 || B.size() % n != 0) {
    throw InputError("B: its " + std::to_string(B.size()) + " values are no multiple of the matrix' " +
                     std::to_string(n) + " rows");
  }
  using HostColumns = Kokkos::View<Scalar**, Kokkos::LayoutLeft, Kokkos::HostSpace>;
  using ConstHostColumns = Kokkos::View<const Scalar**, Kokkos::LayoutLeft, Kokkos::HostSpace>;
  const std::size_t n_rhs = B.size() / n;
  const auto device_B =
      Kokkos::create_mirror_view_and_copy(memory_space(), ConstHostColumns(B.data(), n, n_rhs));
  Kokkos::View<Scalar**, Kokkos::LayoutLeft, memory_space> device_X("lutra::driver::X", n, n_rhs);
  const HostColumns host_X(X.data(), n, n_rhs);
  Kokkos::deep_copy(device_X, host_X);  // a solve that ends in a singular matrix leaves X alone
  const Status status = solve(device_B, device_X, op);
  Kokkos::deep_copy(host_X, device_X);
  return status;
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
FactorStructure SparseLU<Scalar, Ordinal, Offset, ExecutionSpace>::structure() const {
  return m_solver->structure();
}

template <class Scalar, class Ordinal, class Offset, class ExecutionSpace>
const Report& SparseLU<Scalar, Ordinal, Offset, ExecutionSpace>::report() const noexcept {
  return m_solver->report();
}

#define LUTRA_SPARSE_LU(Scalar, Ordinal, Offset, Space) \
  template class SparseLU<Scalar, Ordinal, Offset, Space>;
LUTRA_FOR_EACH_MATRIX_AND_SPACE(LUTRA_SPARSE_LU)

}  // namespace lutra
