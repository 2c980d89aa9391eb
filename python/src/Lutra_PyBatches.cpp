// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The class Batch of lutra._core, which lutra.BatchedLU and BatchedLDLT make convenient.
#include <algorithm>
#include <optional>

#include "Lutra_PyBatch.hpp"
#include "Lutra_PyBindHandle.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace lutra::Python {
namespace {

using BatchHandle = HandleOf<Batch, make_batch>;
using Mask = nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// Python's array, whose dimension `dimensions[d]` is the extent d of the library's; those from the array's
/// rank on are absent.
template <class Array>
BatchArray batch_array(const BatchHandle& handle, const char* name, const Array& array,
                       const std::array<std::size_t, 3>& dimensions) {
  require_type(array, name, handle.scalar_dtype(), handle.scalar());
  BatchArray result;
  result.data = const_cast<void*>(static_cast<const void*>(array.data()));
  result.on_device = is_on_device(name, array);
  for (std::size_t d = 0; d < 3; ++d) {
    if (dimensions[d] >= array.ndim()) continue;
    result.extents[d] = array.shape(dimensions[d]);
    const std::int64_t stride = array.stride(dimensions[d]);
    if (result.extents[d] < 2) continue;
    if (stride < 0) throw InputError(std::string(name) + ": strides must not be negative; pass a copy");
    result.strides[d] = static_cast<std::size_t>(stride);
  }
  return result;
}

void require_dimensions(const char* name, std::size_t found, const char* wanted, std::size_t least,
                        std::size_t most) {
  if (found < least || found > most)
    throw InputError(std::string(name) + ": " + wanted + " are wanted, not " + std::to_string(found) +
                     " dimensions");
}

std::string factorize(const BatchHandle& handle, const Input& values, const std::optional<Mask>& mask) {
  require_dimensions("values", values.ndim(), "systems × entries", 2, 2);
  const BatchArray numbers = batch_array(handle, "values", values, {1, 0, 2});
  std::span<const bool> used;
  if (mask) used = {mask->data(), mask->size()};
  if (mask && used.empty() && numbers.extents[1] > 0)
    throw InputError("mask: it is empty, but the batch has " + std::to_string(numbers.extents[1]) +
                     " systems");
  return std::string(to_string(handle.use([&](Batch& batch) { return batch.factorize(numbers, used); })));
}

std::string solve(const BatchHandle& handle, const Input& B, const Output& X, const std::string& trans) {
  require_dimensions("b", B.ndim(), "systems × rows (× columns)", 2, 3);
  require_dimensions("out", X.ndim(), "systems × rows (× columns)", B.ndim(), B.ndim());
  const std::array<std::size_t, 3> dimensions{1, 2, 0};
  const BatchArray from = batch_array(handle, "b", B, dimensions);
  const BatchArray to = batch_array(handle, "out", X, dimensions);
  const Transposition op = transposition(trans);
  return std::string(to_string(handle.use([&](Batch& batch) { return batch.solve(from, to, op); })));
}

// As `factorize` and `solve` of contiguous arrays on the host, as those of Solver.

/// @param values [K × nnz], the last index fastest
/// @returns the status, and whether solves read the values again
std::pair<std::string, bool> factorize_at(const BatchHandle& handle, std::size_t nnz, std::size_t systems,
                                          std::uintptr_t values) {
  const BatchArray numbers{reinterpret_cast<void*>(values), {nnz, systems, 1}, {1, nnz, 1}};
  bool again = false;
  const Status status = handle.use([&](Batch& batch) {
    const Status found = batch.factorize(numbers, {});
    again = batch.report().chunks > 1;
    return found;
  });
  return {std::string(to_string(status)), again};
}

/// @param B, X [K × n × k], the last index fastest
std::string solve_at(const BatchHandle& handle, std::uintptr_t B, std::uintptr_t X, std::size_t n,
                     std::size_t k, std::size_t systems, const std::string& trans) {
  const Transposition op = transposition(trans);
  const auto at = [&](std::uintptr_t address) {
    return BatchArray{reinterpret_cast<void*>(address), {n, k, systems}, {k, 1, n * k}};
  };
  return std::string(to_string(handle.use([&](Batch& batch) { return batch.solve(at(B), at(X), op); })));
}

nb::list names(const std::vector<Status>& statuses) {
  nb::list result;
  for (const Status status : statuses) {
    const std::string_view name = to_string(status);
    result.append(nb::str(name.data(), name.size()));
  }
  return result;
}

/// Systems without a solution, ascending, with the names of their statuses.
nb::list failures(const BatchHandle& handle, bool with_inaccurate) {
  const auto statuses = handle.use([](const Batch& batch) { return batch.report().statuses; });
  nb::list result;
  for (std::size_t k = 0; k < statuses.size(); ++k) {
    const Status status = statuses[k];
    if (is_solved(status) || status == Status::not_solved) continue;
    if (status == Status::error_above_tolerance && !with_inaccurate) continue;
    result.append(nb::make_tuple(k, nb::str(to_string(status).data())));
  }
  return result;
}

}  // namespace

void bind_batches(nb::module_& m) {
  nb::class_<BatchReport>(m, "BatchReport", "Outcome of the last calls for a batch, an element per system.")
      .def_prop_ro("statuses", [](const BatchReport& r) { return names(r.statuses); })
      .def_prop_ro("componentwise",
                   [](const BatchReport& r) { return to_numpy(std::vector(r.componentwise)); })
      .def_prop_ro("normwise", [](const BatchReport& r) { return to_numpy(std::vector(r.normwise)); })
      .def_prop_ro("refinement_steps",
                   [](const BatchReport& r) { return to_numpy(std::vector(r.refinement_steps)); })
      .def_prop_ro("perturbed_pivots",
                   [](const BatchReport& r) { return to_numpy(std::vector(r.perturbed_pivots)); })
      .def_ro("inertia", &BatchReport::inertia)
      .def_prop_ro("alone", [](const BatchReport& r) { return to_numpy(std::vector(r.alone)); })
      .def_ro("systems", &BatchReport::systems)
      .def_ro("chunks", &BatchReport::chunks)
      .def_ro("group_size", &BatchReport::group_size)
      .def_prop_ro(
          "engine", [](const BatchReport& r) { return std::string(name_of(r.engine)); },
          "\"simplicial\": the systems have lanes; \"multifrontal\": a forest of fronts.")
      .def_ro("bytes", &BatchReport::bytes)
      .def_ro("factorize_seconds", &BatchReport::factorize_seconds)
      .def_ro("solve_seconds", &BatchReport::solve_seconds)
      .def_prop_ro("status", [](const BatchReport& r) { return std::string(to_string(r.status)); })
      .def("__repr__", [](const BatchReport& r) {
        return "<lutra.BatchReport " + std::to_string(r.systems) +
               " systems: " + std::string(to_string(r.status)) + ">";
      });
  bind_handle<BatchHandle>(m, "Batch", "A batch of the library on arrays of its own types.")
      .def("factorize", &factorize, "values"_a, "mask"_a = nb::none())
      .def("solve", &solve, "b"_a, "out"_a, "trans"_a = "N")
      .def("factorize_at", &factorize_at, "nnz"_a, "systems"_a, "values"_a)
      .def("solve_at", &solve_at, "b"_a, "out"_a, "n"_a, "k"_a, "systems"_a, "trans"_a)
      .def("failures", &failures, "with_inaccurate"_a)
      .def_prop_ro(
          "chunks",
          [](const BatchHandle& h) { return h.use([](const Batch& b) { return b.report().chunks; }); })
      .def(
          "new_like",
          [](const BatchHandle& h, const Input& B) {
            const Life::Call call;
            OwnVectors vectors = new_like(h.scalar_dtype(), h.scalar_bytes(), B);
            set_to_nan(vectors.memory.get(), vectors.bytes, vectors.device_type != nb::device::cpu::value);
            return vectors;
          },
          "b"_a);
}

}  // namespace lutra::Python
