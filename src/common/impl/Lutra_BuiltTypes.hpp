// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_BUILTTYPES_HPP
#define LUTRA_BUILTTYPES_HPP

#include <type_traits>

#include "Lutra_Instantiate.hpp"

namespace lutra::Impl {

template <class T, class... Types>
inline constexpr bool is_one_of = (std::is_same_v<T, Types> || ...);

#define LUTRA_AND_TYPE(T, ...) , T

/// Whether the library is compiled for a scalar type or an execution space.
template <class Scalar>
inline constexpr bool is_built_scalar = is_one_of<Scalar, void LUTRA_FOR_EACH_SCALAR(LUTRA_AND_TYPE)>;
template <class ExecutionSpace>
inline constexpr bool is_built_space = is_one_of<ExecutionSpace, void LUTRA_FOR_EACH_SPACE(LUTRA_AND_TYPE)>;

#undef LUTRA_AND_TYPE

/// Compiles only for types the library is compiled for, so that missing types are compiler errors, not linker
/// errors.
template <class Scalar, class ExecutionSpace>
struct RequireBuiltTypes {
  static_assert(is_built_scalar<Scalar>,
                "Lutra was built without this scalar type: the CMake option Lutra_SCALARS lists float (f32), "
                "double (f64) and Kokkos::complex of both (c64, c128)");
  static_assert(is_built_space<ExecutionSpace>,
                "Lutra was built without this execution space: the CMake option Lutra_BACKENDS lists those "
                "of Kokkos' backends (SERIAL, OPENMP, CUDA, HIP) that are compiled");
};

}  // namespace lutra::Impl

#endif
