// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The module lutra._core: solvers on arrays. The package lutra adds a convenient interface in Python.
#include <nanobind/stl/complex.h>

#include "Lutra_Communicator.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_PyBindHandle.hpp"
#include "Lutra_Report.hpp"
#include "Lutra_StructureSvg.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace lutra::Python {
namespace {

// ---- arrays
// ------------------------------------------------------------------------------------------------

/// @throws for a shift whose type, length or memory does not match the rows of A
void check_shift(const Handle& handle, const Input& shift, const MatrixArrays& A) {
  const bool is_single = handle.scalar() == "float32" || handle.scalar() == "complex64";
  require_type(shift, "shift", is_single ? nb::dtype<float>() : nb::dtype<double>(),
               is_single ? "float32" : "float64");
  if (shift.ndim() != 1 || static_cast<std::int64_t>(shift.shape(0)) != A.n_rows ||
      (A.n_rows > 1 && shift.stride(0) != 1))
    throw InputError("shift: " + std::to_string(A.n_rows) + " contiguous elements are wanted");
  if (is_on_device("shift", shift) != A.on_device) throw InputError("shift: it is not where A is");
}

template <class Array>
Vectors vectors(const Handle& handle, const char* name, const Array& array) {
  require_type(array, name, handle.scalar_dtype(), handle.scalar());
  if (array.ndim() != 1 && array.ndim() != 2)
    throw InputError(std::string(name) + ": one or two dimensions are wanted");
  Vectors result;
  result.data = const_cast<void*>(static_cast<const void*>(array.data()));
  result.n = array.shape(0);
  result.k = array.ndim() == 2 ? array.shape(1) : 1;
  if (result.n * result.k == 0) return result;
  const std::int64_t row = array.stride(0), column = array.ndim() == 2 ? array.stride(1) : 1;
  if ((result.n > 1 && row < 1) || (result.k > 1 && column < 1))
    throw InputError(std::string(name) + ": strides have to be positive; pass a copy");
  result.row_stride = static_cast<std::size_t>(result.n > 1 ? row : 1);
  result.column_stride = static_cast<std::size_t>(result.k > 1 ? column : 1);
  result.on_device = is_on_device(name, array);
  return result;
}

nb::object numbers_to_numpy(ScalarVector&& values) {
  return std::visit([](auto&& list) { return to_numpy(std::move(list)); }, std::move(values));
}

nb::dict factors(const Handle& handle) {
  FactorArrays arrays = handle.use([](Solver& solver) { return solver.factors(); });
  nb::dict result;
  result["row_order"] = to_numpy(std::move(arrays.row_order));
  result["col_order"] = to_numpy(std::move(arrays.col_order));
  result["row_scale"] = to_numpy(std::move(arrays.row_scale));
  result["col_scale"] = to_numpy(std::move(arrays.col_scale));
  result["rows"] = to_numpy(std::move(arrays.rows));
  result["columns"] = to_numpy(std::move(arrays.columns));
  result["values"] = numbers_to_numpy(std::move(arrays.values));
  result["diagonal"] = numbers_to_numpy(std::move(arrays.diagonal));
  result["off_diagonal"] = numbers_to_numpy(std::move(arrays.off_diagonal));
  return result;
}

nb::dict structure(const Handle& handle) {
  FactorStructure found = handle.use([](const Solver& solver) { return solver.structure(); });
  nb::dict result;
  result["row_order"] = to_numpy(std::move(found.row_order));
  result["col_order"] = to_numpy(std::move(found.col_order));
  result["indptr"] = to_numpy(std::move(found.row_map));
  result["indices"] = to_numpy(std::move(found.entries));
  result["level_widths"] = to_numpy(std::move(found.level_widths));
  return result;
}

/// @param M factors that precondition a Krylov method, or null
std::string solve(const Handle& handle, const Input& B, const Output& X, const std::string& trans,
                  const Handle* M) {
  const Vectors from = vectors(handle, "b", B), to = vectors(handle, "out", X);
  const Transposition op = transposition(trans);
  const Status status = handle.use([&](Solver& solver) {
    if (M == nullptr) {
      solver.solve(from, to, op);
    } else {
      M->borrow([&](Solver& factors) {
        solver.precondition_by(factors);
        solver.solve(from, to, op);
      });
    }
    return solver.report().status;
  });
  return std::string(to_string(status));
}

/// Solves with the factors L, D and Lᵀ that `parts` names by "L", "D" and "U".
void solve_parts(const Handle& handle, const Input& B, const Output& X, const std::string& parts,
                 const std::string& trans) {
  if (parts.empty() || parts.find_first_not_of("LDU") != std::string::npos)
    throw InputError("parts has to be made of 'L', 'D' and 'U'");
  const auto has = [&parts](char part) { return parts.find(part) != std::string::npos; };
  const Vectors from = vectors(handle, "b", B), to = vectors(handle, "out", X);
  const Transposition op = transposition(trans);
  handle.use([&](Solver& solver) { solver.solve_parts(from, to, {has('L'), has('D'), has('U')}, op); });
}

/// Status after a factorization of A, or of A + diag(shift).
std::string factorize(const Handle& handle, std::pair<std::int64_t, std::int64_t> shape, const Input& indptr,
                      const Input& indices, const Input& data, const std::optional<Input>& shift) {
  const MatrixArrays A = matrix_of(handle, shape, indptr, indices, data);
  if (shift) check_shift(handle, *shift, A);
  return std::string(to_string(handle.use([&](Solver& solver) {
    if (shift) {
      solver.factorize_shifted(A, shift->data());
    } else {
      solver.factorize(A);
    }
    return solver.report().status;
  })));
}

// As `factorize` and `solve` of contiguous arrays on the host, by their addresses; the caller has checked
// types and lengths. To convert arrays takes longer than to solve small systems.

std::string factorize_at(const Handle& handle, std::int64_t n, std::int64_t nnz, std::uintptr_t indptr,
                         std::uintptr_t indices, bool wide, std::uintptr_t data) {
  const MatrixArrays A{n,
                       n,
                       nnz,
                       reinterpret_cast<const void*>(indptr),
                       wide,
                       reinterpret_cast<const void*>(indices),
                       reinterpret_cast<const void*>(data)};
  return std::string(to_string(handle.use([&](Solver& solver) {
    solver.factorize(A);
    return solver.report().status;
  })));
}

/// @param B, X [n × k], the last index fastest
std::string solve_at(const Handle& handle, std::uintptr_t B, std::uintptr_t X, std::size_t n, std::size_t k,
                     const std::string& trans) {
  const Transposition op = transposition(trans);
  return std::string(to_string(handle.use([&](Solver& solver) {
    solver.solve({reinterpret_cast<void*>(B), n, k, k, 1}, {reinterpret_cast<void*>(X), n, k, k, 1}, op);
    return solver.report().status;
  })));
}

/// A Python function of (b, x, trans) on arrays as a preconditioner. Its exceptions are passed on.
ApproximateInverse call_python(const Handle& handle, nb::callable function) {
  const nb::dlpack::dtype type = handle.scalar_dtype();
  // The function object must be destroyed while the GIL is held.
  const std::shared_ptr<nb::callable> kept(new nb::callable(std::move(function)), [](nb::callable* f) {
    const nb::gil_scoped_acquire acquire;
    delete f;
  });
  return [kept, type](Transposition op, const void* B, void* X, std::size_t n, std::size_t k) {
    const nb::gil_scoped_acquire acquire;
    const std::size_t shape[2] = {n, k};
    const auto array = [&](void* data) {
      return nb::ndarray<nb::numpy>(data, 2, shape, nb::handle(), nullptr, type, nb::device::cpu::value);
    };
    const nb::object from = nb::cast(array(const_cast<void*>(B)), nb::rv_policy::reference);
    const nb::object to = nb::cast(array(X), nb::rv_policy::reference);
    (*kept)(from, to, op == Transposition::none ? "N" : op == Transposition::transposed ? "T" : "H");
  };
}

/// Entries of a pattern counted on a grid, for drawing.
DensityGrid panel(const std::string& title, std::pair<std::int64_t, std::int64_t> shape,
                  const std::vector<std::int64_t>& row_map, const std::vector<std::int64_t>& entries,
                  const std::vector<std::int64_t>& row_position,
                  const std::vector<std::int64_t>& col_position) {
  return bin_density<std::int64_t>(title, shape.first, shape.second, row_map, entries, row_position,
                                   col_position);
}

// ---- the module
// --------------------------------------------------------------------------------------------

void bind_report(nb::module_& m) {
  nb::class_<Choice>(m, "Choice", "What automatic options became.")
      .def_ro("method", &Choice::method)
      .def_ro("engine", &Choice::engine)
      .def_ro("ordering", &Choice::ordering)
      .def_ro("matching", &Choice::matching)
      .def_ro("symbolic", &Choice::symbolic)
      .def_ro("pivot", &Choice::pivot)
      .def_ro("trisolve", &Choice::trisolve)
      .def_ro("precond", &Choice::precond)
      .def_ro("device_model", &Choice::device_model)
      .def_ro("why", &Choice::why);
  nb::class_<StageTimes>(m, "StageTimes", "Seconds a stage took when it last ran.")
      .def_ro("matching", &StageTimes::matching)
      .def_ro("ordering", &StageTimes::ordering)
      .def_ro("symbolic", &StageTimes::symbolic)
      .def_ro("levelization", &StageTimes::levelization)
      .def_ro("distribution", &StageTimes::distribution)
      .def_ro("numeric", &StageTimes::numeric)
      .def_ro("refactor", &StageTimes::refactor)
      .def_ro("solve", &StageTimes::solve)
      .def_ro("refine", &StageTimes::refine);
  nb::class_<PredictedTimes>(m, "PredictedTimes", "Seconds that were predicted for the ordering chosen.")
      .def_ro("ordering", &PredictedTimes::ordering)
      .def_ro("analysis", &PredictedTimes::analysis)
      .def_ro("factorization", &PredictedTimes::factorization)
      .def_ro("solve", &PredictedTimes::solve)
      .def_ro("over_measured", &PredictedTimes::over_measured);
  nb::class_<FactorCounts>(m, "FactorCounts", "Size of the factors.")
      .def_ro("nnz_l", &FactorCounts::nnz_l)
      .def_ro("nnz_u", &FactorCounts::nnz_u)
      .def_ro("fill_ratio", &FactorCounts::fill_ratio)
      .def_ro("flops", &FactorCounts::flops)
      .def_ro("supernodes", &FactorCounts::supernodes)
      .def_ro("supernode_zeros", &FactorCounts::supernode_zeros)
      .def_ro("supernode_bytes", &FactorCounts::supernode_bytes)
      .def_ro("levels", &FactorCounts::levels)
      .def_ro("tree_height", &FactorCounts::tree_height);
  nb::class_<PivotCounts>(m, "PivotCounts", "What happened to pivots in the last factorization.")
      .def_ro("perturbed", &PivotCounts::perturbed)
      .def_ro("delayed", &PivotCounts::delayed)
      .def_ro("two_by_two", &PivotCounts::two_by_two)
      .def_ro("zero", &PivotCounts::zero)
      .def_ro("interchanged", &PivotCounts::interchanged)
      .def_ro("growth", &PivotCounts::growth)
      .def_ro("shift", &PivotCounts::shift)
      .def_ro("attempt", &PivotCounts::attempt);
  nb::class_<ColumnReport>(m, "ColumnReport", "Modes and format of columns, level by level on devices.")
      .def_ro("levels_a", &ColumnReport::levels_a)
      .def_ro("levels_b", &ColumnReport::levels_b)
      .def_ro("levels_c", &ColumnReport::levels_c)
      .def_ro("format", &ColumnReport::format)
      .def_ro("blocks", &ColumnReport::blocks)
      .def_ro("max_blocks", &ColumnReport::max_blocks);
  nb::class_<ParIlutStep>(m, "ParIlutStep", "One step of ParILUT.")
      .def_ro("nnz_l", &ParIlutStep::nnz_l)
      .def_ro("nnz_u", &ParIlutStep::nnz_u)
      .def_ro("candidates", &ParIlutStep::candidates)
      .def_ro("threshold_l", &ParIlutStep::threshold_l)
      .def_ro("threshold_u", &ParIlutStep::threshold_u)
      .def_ro("sweeps", &ParIlutStep::sweeps)
      .def_ro("nonlinear_residual", &ParIlutStep::nonlinear_residual)
      .def_ro("is_taken_back", &ParIlutStep::is_taken_back);
  nb::class_<lutra::Inertia>(m, "Inertia", "Eigenvalue signs, where the factorization gives them.")
      .def_ro("positive", &Inertia::positive)
      .def_ro("negative", &Inertia::negative)
      .def_ro("zero", &Inertia::zero);
  nb::class_<SolveErrors>(m, "SolveErrors", "How good the last solution is.")
      .def_ro("backward_normwise", &SolveErrors::backward_normwise)
      .def_ro("backward_componentwise", &SolveErrors::backward_componentwise)
      .def_ro("condition", &SolveErrors::condition)
      .def_ro("forward_bound", &SolveErrors::forward_bound);
  nb::class_<SpaceBytes>(m, "SpaceBytes", "Bytes of the backend's memory, and of host memory beside it.")
      .def_ro("device", &SpaceBytes::device)
      .def_ro("host", &SpaceBytes::host);
  nb::class_<MemoryForecast>(m, "MemoryForecast", "Bytes that factors will hold, with those of the analysis.")
      .def_ro("factors", &MemoryForecast::factors)
      .def_ro("factorization", &MemoryForecast::factorization)
      .def_ro("solve", &MemoryForecast::solve);
  nb::class_<MemoryUse>(m, "MemoryUse", "Bytes held by the library, at the worst moment.")
      .def_ro("device_peak_bytes", &MemoryUse::device_peak_bytes)
      .def_ro("host_peak_bytes", &MemoryUse::host_peak_bytes)
      .def_ro("limit_bytes", &MemoryUse::limit_bytes)
      .def_ro("forecast", &MemoryUse::forecast)
      .def_ro("moved_by_factorization", &MemoryUse::moved_by_factorization)
      .def_ro("moved_by_solve", &MemoryUse::moved_by_solve);
  nb::class_<Report>(m, "Report", "Everything a solver has to say about its last calls.")
      .def_prop_ro("status", [](const Report& r) { return std::string(to_string(r.status)); })
      .def_ro("choice", &Report::choice)
      .def_ro("times", &Report::times)
      .def_ro("predicted", &Report::predicted)
      .def_ro("factors", &Report::factors)
      .def_ro("pivots", &Report::pivots)
      .def_ro("columns", &Report::columns)
      .def_ro("parilut_steps", &Report::parilut_steps)
      .def_ro("inertia", &Report::inertia)
      .def_ro("iterations", &Report::iterations)
      .def_ro("residual_history", &Report::residual_history)
      .def_ro("refinement_steps", &Report::refinement_steps)
      .def_ro("escalations", &Report::escalations)
      .def_ro("errors", &Report::errors)
      .def_ro("memory", &Report::memory)
      .def_ro("structural_rank", &Report::structural_rank)
      .def_ro("singular_rows", &Report::singular_rows)
      .def_ro("singular_columns", &Report::singular_columns)
      .def_ro("indefinite_column", &Report::indefinite_column)
      .def(
          "describe", [](const Report& r) { return describe(r); }, "One sentence on the status.")
      .def("__repr__", [](const Report& r) {
        return "<lutra.Report " + std::string(to_string(r.status)) + ": " + describe(r) + ">";
      });
}

void bind_solver(nb::module_& m) {
  nb::class_<OwnVectors>(m, "Vectors", "Vectors in memory of the library, for any library with DLPack.")
      .def(
          "__dlpack__", [](const OwnVectors& v, const nb::kwargs& options) { return v.to_dlpack(options); },
          nb::sig("def __dlpack__(self, **options: object) -> object"))
      .def("__dlpack_device__", [](const OwnVectors& v) { return std::pair(v.device_type, v.device_id); })
      .def_ro("shape", &OwnVectors::shape);
  bind_handle<Handle>(m, "Solver", "A solver of the library on arrays of its own types.")
      .def("factorize", &factorize, "shape"_a, "indptr"_a, "indices"_a, "data"_a, "shift"_a = nb::none())
      .def("solve", &solve, "b"_a, "out"_a, "trans"_a = "N", "M"_a = nb::none())
      .def("factorize_at", &factorize_at, "n"_a, "nnz"_a, "indptr"_a, "indices"_a, "wide"_a, "data"_a)
      .def("solve_at", &solve_at, "b"_a, "out"_a, "n"_a, "k"_a, "trans"_a)
      .def("solve_parts", &solve_parts, "b"_a, "out"_a, "parts"_a, "trans"_a = "N")
      .def("determinant", [](const Handle& h) { return h.use([](Solver& s) { return s.determinant(); }); })
      .def("increase_quality",
           [](const Handle& h) { return h.use([](Solver& s) { return s.increase_quality(); }); })
      .def(
          "forecast",
          [](const Handle& h, int n_rhs) { return h.use([&](Solver& s) { return s.forecast(n_rhs); }); },
          "n_rhs"_a)
      .def(
          "new_like",
          [](const Handle& h, const Input& B) {
            const Life::Call call;
            return new_like(h.scalar_dtype(), h.scalar_bytes(), B);
          },
          "b"_a)
      .def("factors", &factors)
      .def("structure", &structure)
      .def("precondition_by", [](const Handle& h, nb::callable function) {
        auto M = call_python(h, std::move(function));
        h.use([&](Solver& s) { s.precondition_by(std::move(M)); });
      });
}

void bind_errors() {
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const OutOfMemoryError& error) {
      PyErr_SetString(PyExc_MemoryError, error.what());
    } catch (const InputError& error) {
      PyErr_SetString(PyExc_ValueError, error.what());
    } catch (const CallOrderError& error) {
      PyErr_SetString(PyExc_RuntimeError, error.what());
    } catch (const CancelledError& error) {
      PyErr_SetString(PyExc_TimeoutError, error.what());
    } catch (const TimeoutError& error) {
      PyErr_SetString(PyExc_TimeoutError, error.what());
    } catch (const RemoteError& error) {
      const bool late = error.failure().kind == FailureKind::timeout;
      PyErr_SetString(late ? PyExc_TimeoutError : PyExc_RuntimeError, error.what());
    }
  });
}

}  // namespace

MatrixArrays matrix_arrays(const std::string& scalar, const nb::dlpack::dtype& scalar_dtype,
                           const std::string& ordinal, std::pair<std::int64_t, std::int64_t> shape,
                           const Input& row_map, const Input& entries, const Input& values) {
  const bool wide = row_map.dtype() == nb::dtype<std::int64_t>();
  if (!wide) require_type(row_map, "indptr", nb::dtype<std::int32_t>(), "int32 or int64");
  require_type(entries, "indices", ordinal == "int32" ? nb::dtype<std::int32_t>() : nb::dtype<std::int64_t>(),
               ordinal);
  require_type(values, "data", scalar_dtype, scalar);
  const bool on_device = is_on_device("A", values);
  const auto require = [&](const Input& array, const char* name) {
    if (array.ndim() != 1 || (array.shape(0) > 1 && array.stride(0) != 1))
      throw InputError(std::string(name) + ": one contiguous dimension is wanted");
    if (is_on_device(name, array) != on_device)
      throw InputError(std::string(name) + ": it is not where data is");
  };
  require(row_map, "indptr");
  require(entries, "indices");
  require(values, "data");
  if (static_cast<std::int64_t>(row_map.shape(0)) != shape.first + 1)
    throw InputError("indptr: it has " + std::to_string(row_map.shape(0)) + " elements, but A has " +
                     std::to_string(shape.first) + " rows");
  if (entries.shape(0) != values.shape(0)) throw InputError("indices and data differ in length");
  return {shape.first,    shape.second, static_cast<std::int64_t>(values.shape(0)),
          row_map.data(), wide,         entries.data(),
          values.data(),  on_device};
}

Transposition transposition(const std::string& trans) {
  if (trans == "N") return Transposition::none;
  if (trans == "T") return Transposition::transposed;
  if (trans == "H") return Transposition::adjoint;
  throw InputError("trans has to be 'N', 'T' or 'H'");
}

std::function<void(const Event&)> observer_of(const nb::object& log) {
  if (log.is_none()) return {};
  // The object must be destroyed while the GIL is held.
  const std::shared_ptr<nb::object> kept(new nb::object(log), [](nb::object* object) {
    const nb::gil_scoped_acquire acquire;
    delete object;
  });
  return [kept](const Event& event) {
    const nb::gil_scoped_acquire acquire;
    try {
      const auto text = [](std::string_view view) { return nb::str(view.data(), view.size()); };
      (*kept)(text(to_string(event.kind)), text(event.name), text(event.text), event.seconds, event.bytes,
              event.peak_bytes);
    } catch (nb::python_error& error) {
      error.restore();
      PyErr_WriteUnraisable(kept->ptr());
    } catch (const std::exception&) {  // no memory for the texts
    }
  };
}

}  // namespace lutra::Python

NB_MODULE(_core, m) {
  using namespace lutra::Python;
  m.doc() = "Lutra's solvers on arrays; the package lutra is what to use.";
  nb::set_leak_warnings(false);  // solvers alive at exit are closed
  bind_errors();
  bind_report(m);
  bind_solver(m);
  bind_batches(m);
#ifdef LUTRA_HAS_XLA
  bind_xla(m);
#endif
#ifdef LUTRA_HAS_MPI
  bind_ranks(m);
#endif
  nb::class_<lutra::DensityGrid>(m, "DensityGrid", "A pattern counted over the cells of a grid.")
      .def_ro("title", &lutra::DensityGrid::title)
      .def_ro("nnz", &lutra::DensityGrid::nnz);
  m.def("panel", &panel, "title"_a, "shape"_a, "indptr"_a, "indices"_a, "row_position"_a, "col_position"_a);
  m.def(
      "to_svg",
      [](const std::string& title, const std::vector<lutra::DensityGrid>& panels,
         const std::vector<std::int64_t>& level_widths) {
        return lutra::to_svg({title, panels, level_widths});
      },
      "title"_a, "panels"_a, "level_widths"_a);
  m.def("list_options", &list_options, "method"_a, "A line for each option of a method.");
  m.def("build_info", [] {
    const lutra::VersionInfo info = lutra::version_info();
    nb::dict result;
    result["version"] = info.version;
    result["git"] = info.git;
    result["kokkos"] = info.kokkos;
    result["backend"] = backend();
    result["scalars"] = info.scalars;
    result["ordinals"] = info.ordinals;
    return result;
  });
  // At exit, live solvers are closed before Kokkos ends, and Kokkos ends before the interpreter.
  m.def("_finish", [] { Life::instance().finish(); });
  nb::module_::import_("atexit").attr("register")(m.attr("_finish"));
}
