// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_INSTANTIATE_HPP
#define LUTRA_INSTANTIATE_HPP

// The types the library is compiled for, in one place. A source file hands each list a macro that
// instantiates its functions for one combination; explicit instantiation is the one thing a template cannot
// enumerate for itself.

#include <Kokkos_Core.hpp>

#include <cstdint>

#include "Lutra_Config.hpp"

#ifdef LUTRA_HAS_SERIAL
#define LUTRA_IF_SERIAL(MACRO, ...) MACRO(__VA_ARGS__ __VA_OPT__(, ) Kokkos::Serial)
#else
#define LUTRA_IF_SERIAL(MACRO, ...)
#endif
#ifdef LUTRA_HAS_OPENMP
#define LUTRA_IF_OPENMP(MACRO, ...) MACRO(__VA_ARGS__ __VA_OPT__(, ) Kokkos::OpenMP)
#else
#define LUTRA_IF_OPENMP(MACRO, ...)
#endif
#ifdef LUTRA_HAS_CUDA
#define LUTRA_IF_CUDA(MACRO, ...) MACRO(__VA_ARGS__ __VA_OPT__(, ) Kokkos::Cuda)
#else
#define LUTRA_IF_CUDA(MACRO, ...)
#endif
#ifdef LUTRA_HAS_HIP
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

#ifdef LUTRA_HAS_F32
#define LUTRA_IF_F32(...) __VA_ARGS__
#else
#define LUTRA_IF_F32(...)
#endif
#ifdef LUTRA_HAS_F64
#define LUTRA_IF_F64(...) __VA_ARGS__
#else
#define LUTRA_IF_F64(...)
#endif
#ifdef LUTRA_HAS_C64
#define LUTRA_IF_C64(...) __VA_ARGS__
#else
#define LUTRA_IF_C64(...)
#endif
#ifdef LUTRA_HAS_C128
#define LUTRA_IF_C128(...) __VA_ARGS__
#else
#define LUTRA_IF_C128(...)
#endif
#ifdef LUTRA_HAS_INT32
#define LUTRA_IF_INT32(...) __VA_ARGS__
#else
#define LUTRA_IF_INT32(...)
#endif
#ifdef LUTRA_HAS_INT64
#define LUTRA_IF_INT64(...) __VA_ARGS__
#else
#define LUTRA_IF_INT64(...)
#endif

/// MACRO(Scalar): functions of values alone.
#define LUTRA_FOR_EACH_SCALAR(MACRO)          \
  LUTRA_IF_F32(MACRO(float))                  \
  LUTRA_IF_F64(MACRO(double))                 \
  LUTRA_IF_C64(MACRO(Kokkos::complex<float>)) \
  LUTRA_IF_C128(MACRO(Kokkos::complex<double>))

/// MACRO(Ordinal, Offset): host functions on patterns.
#define LUTRA_FOR_EACH_PATTERN(MACRO)      \
  LUTRA_IF_INT32(MACRO(int, std::int64_t)) \
  LUTRA_IF_INT64(MACRO(std::int64_t, std::int64_t))

/// MACRO(Scalar, Ordinal, Offset): host functions on matrices.
#define LUTRA_FOR_EACH_MATRIX(MACRO)                                                      \
  LUTRA_IF_INT32(LUTRA_IF_F32(MACRO(float, int, std::int64_t)))                           \
  LUTRA_IF_INT32(LUTRA_IF_F64(MACRO(double, int, std::int64_t)))                          \
  LUTRA_IF_INT32(LUTRA_IF_C64(MACRO(Kokkos::complex<float>, int, std::int64_t)))          \
  LUTRA_IF_INT32(LUTRA_IF_C128(MACRO(Kokkos::complex<double>, int, std::int64_t)))        \
  LUTRA_IF_INT64(LUTRA_IF_F32(MACRO(float, std::int64_t, std::int64_t)))                  \
  LUTRA_IF_INT64(LUTRA_IF_F64(MACRO(double, std::int64_t, std::int64_t)))                 \
  LUTRA_IF_INT64(LUTRA_IF_C64(MACRO(Kokkos::complex<float>, std::int64_t, std::int64_t))) \
  LUTRA_IF_INT64(LUTRA_IF_C128(MACRO(Kokkos::complex<double>, std::int64_t, std::int64_t)))

/// MACRO(Ordinal, Offset, ExecutionSpace): device functions on patterns.
#define LUTRA_FOR_EACH_PATTERN_AND_SPACE(MACRO)                  \
  LUTRA_IF_INT32(LUTRA_FOR_EACH_SPACE(MACRO, int, std::int64_t)) \
  LUTRA_IF_INT64(LUTRA_FOR_EACH_SPACE(MACRO, std::int64_t, std::int64_t))

/// MACRO(Scalar, Ordinal, Offset, ExecutionSpace): device functions on matrices.
#define LUTRA_FOR_EACH_MATRIX_AND_SPACE(MACRO)                                                           \
  LUTRA_IF_INT32(LUTRA_IF_F32(LUTRA_FOR_EACH_SPACE(MACRO, float, int, std::int64_t)))                    \
  LUTRA_IF_INT32(LUTRA_IF_F64(LUTRA_FOR_EACH_SPACE(MACRO, double, int, std::int64_t)))                   \
  LUTRA_IF_INT32(LUTRA_IF_C64(LUTRA_FOR_EACH_SPACE(MACRO, Kokkos::complex<float>, int, std::int64_t)))   \
  LUTRA_IF_INT32(LUTRA_IF_C128(LUTRA_FOR_EACH_SPACE(MACRO, Kokkos::complex<double>, int, std::int64_t))) \
  LUTRA_IF_INT64(LUTRA_IF_F32(LUTRA_FOR_EACH_SPACE(MACRO, float, std::int64_t, std::int64_t)))           \
  LUTRA_IF_INT64(LUTRA_IF_F64(LUTRA_FOR_EACH_SPACE(MACRO, double, std::int64_t, std::int64_t)))          \
  LUTRA_IF_INT64(                                                                                        \
      LUTRA_IF_C64(LUTRA_FOR_EACH_SPACE(MACRO, Kokkos::complex<float>, std::int64_t, std::int64_t)))     \
  LUTRA_IF_INT64(                                                                                        \
      LUTRA_IF_C128(LUTRA_FOR_EACH_SPACE(MACRO, Kokkos::complex<double>, std::int64_t, std::int64_t)))

#endif
