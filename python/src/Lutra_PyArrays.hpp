// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PYARRAYS_HPP
#define LUTRA_PYARRAYS_HPP

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "Lutra_Error.hpp"
#include "Lutra_PySolver.hpp"

// Arrays of Python as arrays of the library.

namespace lutra::Python {

namespace nb = nanobind;

/// Whether an array is in the memory of the solvers' device, and not in that of the host.
/// @throws InputError for memory that the solvers cannot reach: a kernel that reads it ends the process
template <class Array>
bool is_on_device(const char* name, const Array& array) {
  const int type = array.device_type();
  if (type == nb::device::cpu::value || type == nb::device::cuda_host::value ||
      type == nb::device::rocm_host::value)
    return false;
  if (!has_device())
    throw InputError(std::string(name) + ": the array is on a device, but Lutra works with " + backend() +
                     " here");
  if (type == nb::device::cuda_managed::value) return true;  // all devices reach it
  if (type != (backend() == "hip" ? nb::device::rocm::value : nb::device::cuda::value))
    throw InputError(std::string(name) + ": the array is on a device of DLPack's type " +
                     std::to_string(type) + ", but Lutra works with " + backend() + " here");
  require_own_device(name, array.device_id());
  return true;
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

/// Vectors in memory of the library, for solutions on a device. Other libraries access them by DLPack, whose
/// device is where the memory is, and keep it alive.
struct OwnVectors {
  std::shared_ptr<void> memory;
  std::vector<std::size_t> shape;
  std::size_t bytes;
  nb::dlpack::dtype dtype;
  int device_type, device_id;

  /// A capsule. It needs no stream, because writes to the vectors have completed.
  /// @throws BufferError if the options ask for a copy or for another device
  nb::object to_dlpack(const nb::kwargs& options) const {
    const auto asks = [&options](const char* name) {
      return options.contains(name) && !options[name].is_none();
    };
    if (asks("copy") && nb::cast<bool>(options["copy"]))
      throw nb::buffer_error("the vectors are shared, not copied; convert them without copy=True first");
    if (asks("dl_device") &&
        nb::cast<std::pair<int, int>>(options["dl_device"]) != std::pair(device_type, device_id))
      throw nb::buffer_error(("the vectors are on the device " + std::to_string(device_id) +
                              " of DLPack's type " + std::to_string(device_type) +
                              " and cannot be read elsewhere; convert them there and copy the result")
                                 .c_str());
    auto* const kept = new std::shared_ptr<void>(memory);
    const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::shared_ptr<void>*>(p); });
    return nb::cast(
        Output(memory.get(), shape.size(), shape.data(), owner, nullptr, dtype, device_type, device_id));
  }
};

/// Vectors for op(A)⁻¹·B on the side of B, the host or the solvers' device.
inline OwnVectors new_like(const nb::dlpack::dtype& dtype, std::size_t scalar_bytes, const Input& B) {
  OwnVectors vectors{nullptr, {}, scalar_bytes, dtype, nb::device::cpu::value, 0};
  const bool on_device = is_on_device("b", B);
  if (on_device) {
    // Also where B is managed, since this memory is not.
    const bool managed = B.device_type() == nb::device::cuda_managed::value;
    vectors.device_type = managed ? nb::device::cuda::value : B.device_type();
    vectors.device_id = managed ? device_id() : B.device_id();
  }
  for (std::size_t d = 0; d < B.ndim(); ++d) {
    vectors.shape.push_back(B.shape(d));
    vectors.bytes *= B.shape(d);
  }
  vectors.memory = allocate(std::max(vectors.bytes, scalar_bytes), on_device);
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
