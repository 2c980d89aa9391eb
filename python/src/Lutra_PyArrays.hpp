// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PYARRAYS_HPP
#define LUTRA_PYARRAYS_HPP

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "Lutra_PySolver.hpp"

// Arrays of Python as arrays of the library.

namespace lutra::Python {

namespace nb = nanobind;

/// Whether memory of a device type of DLPack is that of a device.
inline bool is_on_device(int device_type) {
  return device_type == nb::device::cuda::value || device_type == nb::device::cuda_managed::value ||
         device_type == nb::device::rocm::value;
}

/// @throws TypeError unless the array has the type `wanted`
template <class Array>
void require_type(const Array& array, const char* name, const nb::dlpack::dtype& wanted,
                  const std::string& wanted_name) {
  if (array.dtype() != wanted)
    throw nb::type_error((std::string(name) + ": an array of " + wanted_name + " is wanted").c_str());
}

using Input = nb::ndarray<nb::ro>;
using Output = nb::ndarray<>;

/// A matrix in Python's arrays for a solver of the types named.
/// @throws TypeError, InputError if types, lengths or places do not match
MatrixArrays matrix_arrays(const std::string& scalar, const nb::dlpack::dtype& scalar_dtype,
                           const std::string& ordinal, std::pair<std::int64_t, std::int64_t> shape,
                           const Input& row_map, const Input& entries, const Input& values);
/// @throws InputError for other names than "N", "T" and "H"
Transposition transposition(const std::string& trans);

/// Vectors in memory of the library, for solutions on a device. Other libraries access them by DLPack and
/// keep the memory alive.
struct OwnVectors {
  std::shared_ptr<void> memory;
  std::vector<std::size_t> shape;
  nb::dlpack::dtype dtype;
  int device_type, device_id;

  /// A capsule. It needs no options, because writes to the vectors have completed.
  nb::object to_dlpack() const {
    auto* const kept = new std::shared_ptr<void>(memory);
    const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::shared_ptr<void>*>(p); });
    return nb::cast(
        Output(memory.get(), shape.size(), shape.data(), owner, nullptr, dtype, device_type, device_id));
  }
};

/// Vectors for op(A)⁻¹·B in the memory of B.
inline OwnVectors new_like(const nb::dlpack::dtype& dtype, std::size_t scalar_bytes, const Input& B) {
  OwnVectors vectors{nullptr, {}, dtype, B.device_type(), B.device_id()};
  std::size_t bytes = scalar_bytes;
  for (std::size_t d = 0; d < B.ndim(); ++d) {
    vectors.shape.push_back(B.shape(d));
    bytes *= B.shape(d);
  }
  vectors.memory = {allocate(std::max(bytes, scalar_bytes)), deallocate};
  return vectors;
}

template <class T>
nb::object to_numpy(std::vector<T>&& values) {
  auto* const kept = new std::vector<T>(std::move(values));
  const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T>(kept->data(), {kept->size()}, owner));
}

}  // namespace lutra::Python

#endif
