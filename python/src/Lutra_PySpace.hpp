// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PYSPACE_HPP
#define LUTRA_PYSPACE_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <string>
#include <type_traits>

#include "Lutra_BuiltTypes.hpp"
#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_MethodOptions.hpp"
#include "Lutra_PySolver.hpp"

// The execution space of solvers in Python, and access of its memory to arrays.

namespace lutra::Python {

/// The default execution space of Kokkos, or that of the host if Lutra was built without it.
using Space = std::conditional_t<Impl::is_built_space<Kokkos::DefaultExecutionSpace>,
                                 Kokkos::DefaultExecutionSpace, Kokkos::DefaultHostExecutionSpace>;
using Memory = Space::memory_space;
constexpr bool on_host = Impl::is_host_space<Space>;

/// A separate instance for each solver, so that several can work at the same time.
inline Space new_instance() {
  return Kokkos::Experimental::partition_space(Space(), 1).front();
}

template <class Scalar>
constexpr ScalarType scalar_type =
    sizeof(RealOf<Scalar>) == 4 ? (ScalarTraits<Scalar>::is_complex ? ScalarType::c64 : ScalarType::f32)
                                : (ScalarTraits<Scalar>::is_complex ? ScalarType::c128 : ScalarType::f64);
/// The array as elements of T, which must be aligned for T.
template <class T>
T* elements(const char* name, const void* data) {
  if (reinterpret_cast<std::uintptr_t>(data) % alignof(T) != 0)
    throw InputError(std::string(name) + ": the array is not aligned to " + std::to_string(alignof(T)) +
                     " bytes; pass a copy");
  return const_cast<T*>(static_cast<const T*>(data));
}

/// A copy of a host array in the memory of the solver.
template <class T>
auto to_memory(const T* array, std::size_t size) {
  return Kokkos::create_mirror_view_and_copy(Memory(),
                                             Kokkos::View<const T*, Kokkos::HostSpace>(array, size));
}

/// @throws CancelledError if a call was stopped
inline void complete(Status status) {
  if (status == Status::cancelled) throw CancelledError();
}

/// Options of a method from their names, with the permutation and the observers of `options`.
/// @throws InputError for invalid names and values
Impl::MethodOptions parse_options(const std::string& method, const Options& options);

}  // namespace lutra::Python

#endif
