// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_INSTANTIATE_HPP
#define LUTRA_INSTANTIATE_HPP

// The types the library is compiled for, in one place. A source file hands each list a macro that
// instantiates its functions for one combination; explicit instantiation is the one thing a template cannot
// enumerate for itself.

#include <Kokkos_Core.hpp>

#include <cstdint>

#ifdef KOKKOS_ENABLE_SERIAL
#define LUTRA_IF_SERIAL(MACRO, ...) MACRO(__VA_ARGS__ __VA_OPT__(, ) Kokkos::Serial)
#else
#define LUTRA_IF_SERIAL(MACRO, ...)
#endif
#ifdef KOKKOS_ENABLE_OPENMP
#define LUTRA_IF_OPENMP(MACRO, ...) MACRO(__VA_ARGS__ __VA_OPT__(, ) Kokkos::OpenMP)
#else
#define LUTRA_IF_OPENMP(MACRO, ...)
#endif
#ifdef KOKKOS_ENABLE_CUDA
#define LUTRA_IF_CUDA(MACRO, ...) MACRO(__VA_ARGS__ __VA_OPT__(, ) Kokkos::Cuda)
#else
#define LUTRA_IF_CUDA(MACRO, ...)
#endif
#ifdef KOKKOS_ENABLE_HIP
#define LUTRA_IF_HIP(MACRO, ...) MACRO(__VA_ARGS__ __VA_OPT__(, ) Kokkos::HIP)
#else
#define LUTRA_IF_HIP(MACRO, ...)
#endif

/// MACRO(args…, ExecutionSpace) for each execution space Kokkos was built with.
#define LUTRA_FOR_EACH_SPACE(MACRO, ...)            \
  LUTRA_IF_SERIAL(MACRO __VA_OPT__(, ) __VA_ARGS__) \
  LUTRA_IF_OPENMP(MACRO __VA_OPT__(, ) __VA_ARGS__) \
  LUTRA_IF_CUDA(MACRO __VA_OPT__(, ) __VA_ARGS__)   \
  LUTRA_IF_HIP(MACRO __VA_OPT__(, ) __VA_ARGS__)

/// MACRO(Ordinal, Offset): host functions on patterns.
#define LUTRA_FOR_EACH_PATTERN(MACRO) \
  MACRO(int, std::int64_t)            \
  MACRO(std::int64_t, std::int64_t)

/// MACRO(Scalar, Ordinal, Offset): host functions on matrices.
#define LUTRA_FOR_EACH_MATRIX(MACRO)                        \
  MACRO(float, int, std::int64_t)                           \
  MACRO(double, int, std::int64_t)                          \
  MACRO(Kokkos::complex<float>, int, std::int64_t)          \
  MACRO(Kokkos::complex<double>, int, std::int64_t)         \
  MACRO(float, std::int64_t, std::int64_t)                  \
  MACRO(double, std::int64_t, std::int64_t)                 \
  MACRO(Kokkos::complex<float>, std::int64_t, std::int64_t) \
  MACRO(Kokkos::complex<double>, std::int64_t, std::int64_t)

/// MACRO(Ordinal, Offset, ExecutionSpace): device functions on patterns.
#define LUTRA_FOR_EACH_PATTERN_AND_SPACE(MACRO)  \
  LUTRA_FOR_EACH_SPACE(MACRO, int, std::int64_t) \
  LUTRA_FOR_EACH_SPACE(MACRO, std::int64_t, std::int64_t)

/// MACRO(Scalar, Ordinal, Offset, ExecutionSpace): device functions on matrices.
#define LUTRA_FOR_EACH_MATRIX_AND_SPACE(MACRO)                                    \
  LUTRA_FOR_EACH_SPACE(MACRO, float, int, std::int64_t)                           \
  LUTRA_FOR_EACH_SPACE(MACRO, double, int, std::int64_t)                          \
  LUTRA_FOR_EACH_SPACE(MACRO, Kokkos::complex<float>, int, std::int64_t)          \
  LUTRA_FOR_EACH_SPACE(MACRO, Kokkos::complex<double>, int, std::int64_t)         \
  LUTRA_FOR_EACH_SPACE(MACRO, float, std::int64_t, std::int64_t)                  \
  LUTRA_FOR_EACH_SPACE(MACRO, double, std::int64_t, std::int64_t)                 \
  LUTRA_FOR_EACH_SPACE(MACRO, Kokkos::complex<float>, std::int64_t, std::int64_t) \
  LUTRA_FOR_EACH_SPACE(MACRO, Kokkos::complex<double>, std::int64_t, std::int64_t)

#endif
