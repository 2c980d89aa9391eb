// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_INSTANTIATE_HPP
#define LUTRA_INSTANTIATE_HPP

// Types the library is compiled for. A source file passes each list a macro that instantiates its functions
// for one combination, because a template cannot enumerate its explicit instantiations. LUTRA_IF_F32(text)
// and the like (Lutra_Config.hpp) expand to `text` if the library is built for the type, and to nothing
// otherwise.

#include <Kokkos_Core.hpp>

#include <cstdint>

#include "Lutra_Config.hpp"

/// MACRO(args…, ExecutionSpace) for each execution space of host threads.
#define LUTRA_FOR_EACH_HOST_SPACE(MACRO, ...)                       \
  LUTRA_IF_SERIAL(MACRO(__VA_ARGS__ __VA_OPT__(, ) Kokkos::Serial)) \
  LUTRA_IF_OPENMP(MACRO(__VA_ARGS__ __VA_OPT__(, ) Kokkos::OpenMP))

/// MACRO(args…, ExecutionSpace) for each execution space.
#define LUTRA_FOR_EACH_SPACE(MACRO, ...)                        \
  LUTRA_FOR_EACH_HOST_SPACE(MACRO __VA_OPT__(, ) __VA_ARGS__)   \
  LUTRA_IF_CUDA(MACRO(__VA_ARGS__ __VA_OPT__(, ) Kokkos::Cuda)) \
  LUTRA_IF_HIP(MACRO(__VA_ARGS__ __VA_OPT__(, ) Kokkos::HIP))

/// MACRO(Scalar, args…): functions that depend only on the scalar type.
#define LUTRA_FOR_EACH_SCALAR(MACRO, ...)                                \
  LUTRA_IF_F32(MACRO(float __VA_OPT__(, ) __VA_ARGS__))                  \
  LUTRA_IF_F64(MACRO(double __VA_OPT__(, ) __VA_ARGS__))                 \
  LUTRA_IF_C64(MACRO(Kokkos::complex<float> __VA_OPT__(, ) __VA_ARGS__)) \
  LUTRA_IF_C128(MACRO(Kokkos::complex<double> __VA_OPT__(, ) __VA_ARGS__))

/// MACRO(Scalar, ExecutionSpace): device functions that depend only on the scalar type.
#define LUTRA_FOR_EACH_SCALAR_AND_SPACE(MACRO) LUTRA_FOR_EACH_SPACE(LUTRA_FOR_EACH_SCALAR, MACRO)

/// MACRO(Scalar, Index, Integer, ExecutionSpace): device functions that read callers' matrices, with columns
/// of type Index and offsets of type Integer.
#define LUTRA_FOR_EACH_INPUT_AND_SPACE(MACRO)                           \
  LUTRA_FOR_EACH_SPACE(LUTRA_FOR_EACH_SCALAR, MACRO, int, int)          \
  LUTRA_FOR_EACH_SPACE(LUTRA_FOR_EACH_SCALAR, MACRO, int, std::int64_t) \
  LUTRA_FOR_EACH_SPACE(LUTRA_FOR_EACH_SCALAR, MACRO, std::int64_t, int) \
  LUTRA_FOR_EACH_SPACE(LUTRA_FOR_EACH_SCALAR, MACRO, std::int64_t, std::int64_t)

#endif
