// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PYBINDHANDLE_HPP
#define LUTRA_PYBINDHANDLE_HPP

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "Lutra_PyArrays.hpp"
#include "Lutra_PyHandle.hpp"

namespace lutra::Python {

template <class Handle>
MatrixArrays matrix_of(const Handle& handle, std::pair<std::int64_t, std::int64_t> shape,
                       const Input& row_map, const Input& entries, const Input& values) {
  return matrix_arrays(handle.scalar(), handle.scalar_dtype(), handle.ordinal(), shape, row_map, entries,
                       values);
}

/// The class in Python of a HandleOf<…>, with what solvers and batches have in common.
template <class Handle>
nb::class_<Handle> bind_handle(nb::module_& m, const char* name, const char* doc) {
  using namespace nb::literals;
  nb::class_<Handle> result(m, name, doc);
  result
      .def(nb::init<const std::string&, const std::string&, const std::string&,
                    std::vector<std::pair<std::string, std::string>>, std::vector<std::int64_t>,
                    const nb::object&>(),
           "method"_a, "scalar"_a, "ordinal"_a, "options"_a, "user_permutation"_a, "log"_a = nb::none())
      .def_prop_ro("scalar", &Handle::scalar)
      .def_prop_ro("ordinal", &Handle::ordinal)
      .def_prop_ro("closed", &Handle::is_closed)
      .def_prop_ro("report", [](const Handle& h) { return h.use([](const auto& s) { return s.report(); }); })
      .def("close",
           [](Handle& h) {
             if (Life::instance().is_finished()) return;  // and closed
             const Life::Call call;
             const nb::gil_scoped_release release;
             h.close();
           })
      .def(
          "analyze",
          [](const Handle& h, std::pair<std::int64_t, std::int64_t> shape, const Input& indptr,
             const Input& indices, const Input& data) {
            const MatrixArrays A = matrix_of(h, shape, indptr, indices, data);
            h.use([&](auto& s) { s.analyze(A); });
          },
          "shape"_a, "indptr"_a, "indices"_a, "data"_a);
  return result;
}

}  // namespace lutra::Python

#endif
