// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PERFMATRIX_HPP
#define LUTRA_PERFMATRIX_HPP

#include <Kokkos_Core.hpp>

#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "Lutra_Config.hpp"
#include "Lutra_CsrView.hpp"

namespace lutra::Perf {

using ExecutionSpace = Kokkos::DefaultExecutionSpace;
using MemorySpace = ExecutionSpace::memory_space;

/// A matrix of the benchmarks, on the host.
struct PerfMatrix {
  std::string
      name;  ///< in names of benchmarks: "circuit:20000", or the name of a file without folder and extensions
  std::string file;  ///< empty for a generated one
  std::variant<HostMatrix<double>, HostMatrix<Kokkos::complex<double>>> values;
};

/// @throws FileError; InputError for a complex matrix if the library was built without complex double
PerfMatrix load_matrix(const std::string& file);

/// @param spec "kind:size" or "kind:size:seed", with kinds and sizes of `lutra::generate`
/// @throws InputError
PerfMatrix generate_matrix(const std::string& spec);

template <class Scalar>
using DeviceMatrix = CsrView<Scalar, int, std::int64_t, MemorySpace>;

/// A copy of a host array in device memory.
template <class T>
Kokkos::View<T*, MemorySpace> to_device(const std::vector<T>& host) {
  Kokkos::View<T*, MemorySpace> device(Kokkos::view_alloc("lutra::perf::copy", Kokkos::WithoutInitializing),
                                       host.size());
  Kokkos::deep_copy(device, Kokkos::View<const T*, Kokkos::HostSpace>(host.data(), host.size()));
  return device;
}

/// A copy of a device array on the host.
template <class DeviceView>
std::vector<typename DeviceView::non_const_value_type> to_host(const DeviceView& device) {
  const auto mirror = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), device);
  return {mirror.data(), mirror.data() + mirror.size()};
}

template <class Scalar>
DeviceMatrix<Scalar> to_device(const HostMatrix<Scalar>& matrix) {
  return {matrix.n_rows, matrix.n_cols, to_device(matrix.row_map), to_device(matrix.entries),
          to_device(matrix.values)};
}

/// Calls `function` with the matrix as a HostMatrix of its type. In a library without complex double
/// (`Lutra_SCALARS`) there are no complex matrices, since `load_matrix` refuses them.
template <class Function>
decltype(auto) with_scalar(const PerfMatrix& matrix, const Function& function) {
#ifdef LUTRA_HAS_C128
  return std::visit(function, matrix.values);
#else
  return function(std::get<HostMatrix<double>>(matrix.values));
#endif
}

template <class Scalar>
inline constexpr bool has_peers = std::is_same_v<Scalar, double>;

/// A right-hand side for a known solution with elements between 1 and 2, summed in long double.
template <class Scalar>
std::vector<Scalar> make_right_hand_side(const HostMatrix<Scalar>& matrix);

}  // namespace lutra::Perf

#endif
