// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The class RankSolver of lutra._core, which lutra.mpi makes convenient.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <mutex>
#include <new>

#include "Lutra_PyHandle.hpp"
#include "Lutra_PyRankSolver.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace lutra::Python {
namespace {

using Indices = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Values = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Columns = nb::ndarray<nb::ndim<2>, nb::f_contig, nb::device::cpu>;
using RightSides = nb::ndarray<nb::ro, nb::ndim<2>, nb::f_contig, nb::device::cpu>;

constexpr std::array<const char*, 4> scalar_names = {"float32", "float64", "complex64", "complex128"};

ScalarType scalar_of(const std::string& name) {
  for (std::size_t s = 0; s < scalar_names.size(); ++s)
    if (name == scalar_names[s]) return static_cast<ScalarType>(s);
  throw InputError("scalar: there is no " + name);
}

/// A solver of several ranks, used by one thread at a time, until it is closed.
class RankHandle final : public Closable {
 public:
  RankHandle(int communicator, std::vector<std::pair<std::string, std::string>> options,
             std::vector<std::int64_t> user_permutation, const std::string& problem) {
    const bool is_known = begin();
    try {
      const nb::gil_scoped_release release;
      m_solver = make_rank_solver(communicator, {std::move(options), std::move(user_permutation)},
                                  is_known ? problem : "out of memory");
    } catch (...) {
      Life::instance().end(this);
      if (!is_known) throw std::bad_alloc();
      throw;
    }
  }
  RankHandle(const RankHandle&) = delete;
  RankHandle& operator=(const RankHandle&) = delete;
  ~RankHandle() {
    drop();
    Life::instance().end(this);
  }

  /// Calls `action` with the solver, without the GIL.
  template <class Action>
  auto use(const Action& action) const {
    const Life::Call call;
    const nb::gil_scoped_release release;
    const std::lock_guard lock(m_mutex);
    if (!m_solver) throw InputError("the solver is closed");
    return action(*m_solver);
  }

  /// Does not wait for other ranks.
  void drop() override {
    const std::lock_guard lock(m_mutex);
    m_solver.reset();
  }
  void close() {
    if (is_closed()) return;
    use([](RankSolver& solver) { solver.close(); });
    drop();
  }
  bool is_closed() const {
    const std::lock_guard lock(m_mutex);
    return m_solver == nullptr;
  }

 private:
  /// @returns false without memory, which the other ranks have to learn: they wait for this one
  bool begin() {
    try {
      Life::instance().begin(this);
    } catch (const std::bad_alloc&) {
      return false;
    }
    return true;
  }

  mutable std::mutex m_mutex;
  std::unique_ptr<RankSolver> m_solver;
};

std::pair<std::string, std::int64_t> agree(const RankHandle& handle, const std::string& scalar,
                                           std::size_t rows, const std::string& problem) {
  const auto agreed =
      handle.use([&](RankSolver& solver) { return solver.agree(scalar_of(scalar), rows, problem); });
  return {scalar_names[static_cast<std::size_t>(agreed.scalar)], agreed.rows_before};
}

/// lutra.mpi has checked lengths and types.
std::string factorize(const RankHandle& handle, const std::string& scalar, std::int64_t n,
                      const Indices& rows, const Indices& indptr, const Indices& indices,
                      const Values& data) {
  const RowArrays A{n, rows.size(), data.size(), rows.data(), indptr.data(), indices.data(), data.data()};
  return std::string(
      to_string(handle.use([&](RankSolver& solver) { return solver.factorize(scalar_of(scalar), A); })));
}

std::string solve(const RankHandle& handle, const RightSides& B, const Columns& X, const std::string& trans,
                  const std::string& problem) {
  const Transposition op = trans == "N"   ? Transposition::none
                           : trans == "T" ? Transposition::transposed
                                          : Transposition::adjoint;
  return std::string(to_string(handle.use([&](RankSolver& solver) {
    return solver.solve(B.data(), X.data(), B.shape(0), B.shape(1), op, problem);
  })));
}

}  // namespace

void bind_ranks(nb::module_& m) {
  nb::class_<RankHandle>(m, "RankSolver", "LU on several ranks of MPI, on arrays of its own types.")
      .def(nb::init<int, std::vector<std::pair<std::string, std::string>>, std::vector<std::int64_t>,
                    const std::string&>(),
           "communicator"_a, "options"_a, "user_permutation"_a, "problem"_a)
      .def_prop_ro("closed", &RankHandle::is_closed)
      .def_prop_ro(
          "report",
          [](const RankHandle& h) { return h.use([](const RankSolver& solver) { return solver.report(); }); })
      .def("agree", &agree, "scalar"_a, "rows"_a, "problem"_a)
      .def("factorize", &factorize, "scalar"_a, "n"_a, "rows"_a, "indptr"_a, "indices"_a, "data"_a)
      .def(
          "refactorize",
          [](const RankHandle& h, const Values& data, const std::string& problem) {
            return std::string(to_string(h.use(
                [&](RankSolver& solver) { return solver.refactorize(data.data(), data.size(), problem); })));
          },
          "data"_a, "problem"_a)
      .def("solve", &solve, "b"_a, "out"_a, "trans"_a, "problem"_a)
      .def("close", &RankHandle::close)
      .def("drop",
           [](RankHandle& h) {
             const nb::gil_scoped_release release;
             h.drop();
           })
      .def(
          "abandon",
          [](RankHandle& h, const std::string& reason) {
            if (!h.is_closed()) h.use([&](RankSolver& solver) { solver.abandon(reason); });
          },
          "reason"_a);
  m.def("list_rank_options", &list_rank_options, "A line for each option of a solver on several ranks.");
  m.def("mpi_library", &mpi_library, "Name and version of the MPI that Lutra is linked with.");
}

}  // namespace lutra::Python
