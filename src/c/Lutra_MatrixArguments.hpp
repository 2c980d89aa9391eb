// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_MATRIXARGUMENTS_HPP
#define LUTRA_MATRIXARGUMENTS_HPP

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "Lutra_CsrView.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_ExecutionTraits.hpp"
#include "lutra.h"

// Arguments of C calls as Views of the library.

namespace lutra::C {

template <class Scalar>
constexpr lutra_scalar scalar_of = std::is_same_v<Scalar, float>                    ? LUTRA_F32
                                   : std::is_same_v<Scalar, double>                 ? LUTRA_F64
                                   : std::is_same_v<Scalar, Kokkos::complex<float>> ? LUTRA_C64
                                                                                    : LUTRA_C128;

/// @throws InputError
inline void require(bool condition, const std::string& message) {
  if (!condition) throw InputError(message);
}

/// Checks a matrix as far as possible without reading its arrays.
/// @param index LUTRA_INT32 or LUTRA_INT64, of its columns
/// @throws InputError
inline void check_matrix_arguments(const lutra_matrix& A, int index) {
  const std::int64_t max_index =
      index == LUTRA_INT32 ? std::numeric_limits<int>::max() : std::numeric_limits<std::int64_t>::max();
  require(A.n_rows >= 0 && A.n_cols >= 0 && A.nnz >= 0,
          "matrix: n_rows " + std::to_string(A.n_rows) + ", n_cols " + std::to_string(A.n_cols) +
              " and nnz " + std::to_string(A.nnz) + " must be 0 or more");
  require(std::max(A.n_rows, A.n_cols) <= max_index,
          "matrix: " + std::to_string(std::max(A.n_rows, A.n_cols)) +
              " rows or columns are too many for LUTRA_INT32; create the solver with LUTRA_INT64");
  require(A.row_map != nullptr, "matrix: row_map is null");
  require(A.nnz == 0 || A.columns != nullptr, "matrix: columns is null");
  require(A.nnz == 0 || A.values != nullptr, "matrix: values is null");
  require(A.row_map_type == LUTRA_INT32 || A.row_map_type == LUTRA_INT64,
          "matrix: row_map_type is neither LUTRA_INT32 nor LUTRA_INT64");
}

/// The execution space on a stream; null: Kokkos' default.
template <class Space>
Space instance_on([[maybe_unused]] void* stream) {
#ifdef KOKKOS_ENABLE_CUDA
  if constexpr (std::is_same_v<Space, Kokkos::Cuda>)
    if (stream != nullptr) return Space(static_cast<cudaStream_t>(stream));
#endif
#ifdef KOKKOS_ENABLE_HIP
  if constexpr (std::is_same_v<Space, Kokkos::HIP>)
    if (stream != nullptr) return Space(static_cast<hipStream_t>(stream));
#endif
  return Space();
}

template <class Scalar, class Index, class Integer, class Memory>
CsrView<Scalar, Index, Integer, Memory> matrix_view(const lutra_matrix& A) {
  const auto nnz = static_cast<std::size_t>(A.nnz);
  return {static_cast<Index>(A.n_rows), static_cast<Index>(A.n_cols),
          Kokkos::View<const Integer*, Memory>(static_cast<const Integer*>(A.row_map),
                                               static_cast<std::size_t>(A.n_rows) + 1),
          Kokkos::View<const Index*, Memory>(static_cast<const Index*>(A.columns), nnz),
          Kokkos::View<const Scalar*, Memory>(static_cast<const Scalar*>(A.values), nnz)};
}

template <class Scalar, class Index, class Integer>
HostMatrix<Scalar, Index> copy_matrix(const CsrView<Scalar, Index, Integer, Kokkos::HostSpace>& A) {
  const auto array = [](const auto& view) { return std::pair(view.data(), view.data() + view.extent(0)); };
  const auto [rows, rows_end] = array(A.row_map);
  const auto [columns, columns_end] = array(A.entries);
  const auto [values, values_end] = array(A.values);
  return {A.n_rows, A.n_cols, {rows, rows_end}, {columns, columns_end}, {values, values_end}};
}

/// Calls call(matrix) with the matrix in place, or, for host arrays and a device backend, with a HostMatrix
/// that the library copies to the device.
/// @param index of the columns
/// @throws InputError as check_matrix_arguments
template <class Scalar, class Space, class Call>
void with_matrix_types(const lutra_matrix& A, int index, lutra_memory memory, const Call& call) {
  check_matrix_arguments(A, index);
  const auto with_types = [&]<class Index, class Integer>(Index, Integer) {
    if constexpr (!Impl::is_host_space<Space>) {
      if (memory == LUTRA_HOST)
        return call(copy_matrix(matrix_view<Scalar, Index, Integer, Kokkos::HostSpace>(A)));
    }
    call(matrix_view<Scalar, Index, Integer, typename Space::memory_space>(A));
  };
  const auto with_columns = [&](auto column) {
    if (A.row_map_type == LUTRA_INT32) return with_types(column, int());
    with_types(column, std::int64_t());
  };
  if (index == LUTRA_INT32) return with_columns(int());
  with_columns(std::int64_t());
}

}  // namespace lutra::C

#endif
