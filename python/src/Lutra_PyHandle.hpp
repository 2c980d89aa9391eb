// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PYHANDLE_HPP
#define LUTRA_PYHANDLE_HPP

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "Lutra_Error.hpp"
#include "Lutra_PySolver.hpp"

namespace lutra::Python {

namespace nb = nanobind;

/// Something with a solver of the library, which must not outlive Kokkos.
class Closable {
 public:
  /// Frees the solver, without waiting for other processes.
  virtual void drop() = 0;

 protected:
  ~Closable() = default;
};

/// Knows all solvers and Kokkos, which they must not outlive, and ends them with the interpreter. This is the
/// only global object.
class Life {
 public:
  static Life& instance() {
    static Life life;
    return life;
  }
  /// A call during which the GIL is released. When the interpreter has begun to end, a thread that requests
  /// the GIL is killed together with its C++ frames. So `finish` waits for calls, and later ones are refused.
  class Call {
   public:
    Call() {
      Life& life = instance();
      ++life.m_calls;
      if (!life.m_finished) return;
      --life.m_calls;
      throw InputError("the solver is closed: Python is shutting down");
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    ~Call() { --instance().m_calls; }
  };

  void begin(Closable* handle);
  void end(Closable* handle);
  bool is_finished() const { return m_finished; }
  /// Waits for calls, closes all solvers, and stops Kokkos.
  void finish();

 private:
  std::mutex m_mutex;
  std::set<Closable*> m_handles;
  std::atomic<int> m_calls = 0;
  std::atomic<bool> m_finished = false;
};

/// An observer that calls log(kind, name, text, seconds, bytes, peak_bytes) with the GIL. An exception of it
/// is printed by Python and otherwise ignored.
/// @param log None: an empty observer
std::function<void(const Event&)> observer_of(const nb::object& log);

/// Ctrl-C, and other signals whose handlers raise, while the library works without the GIL. Signals reach the
/// main thread only, as everywhere in Python.
class Interrupts {
 public:
  /// Runs pending handlers. @returns false if one has raised; the exception is kept
  bool goes_on() {
    const nb::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() == 0) return true;
    m_raised.emplace();
    return false;
  }
  /// Throws what a handler has raised, if anything.
  void rethrow() {
    if (!m_raised) return;
    nb::python_error raised(std::move(*m_raised));
    m_raised.reset();
    throw raised;
  }

 private:
  std::optional<nb::python_error> m_raised;
};

/// The object that Python holds: a solver, used by one thread at a time, until it is closed.
/// @tparam Interface Solver or Batch
/// @tparam make makes one, as make_solver does
template <class Interface, auto make>
class HandleOf final : public Closable {
 public:
  HandleOf(const std::string& method, const std::string& scalar, const std::string& ordinal,
           std::vector<std::pair<std::string, std::string>> options,
           std::vector<std::int64_t> user_permutation, const nb::object& log) {
    Life::instance().begin(this);
    try {
      m_solver = make(method, scalar_of(scalar), ordinal_of(ordinal),
                      {std::move(options), std::move(user_permutation),
                       [this] { return m_interrupts.goes_on(); }, observer_of(log)});
    } catch (...) {
      Life::instance().end(this);
      throw;
    }
    m_scalar = scalar;
    m_ordinal = ordinal;
  }
  HandleOf(const HandleOf&) = delete;
  HandleOf& operator=(const HandleOf&) = delete;
  ~HandleOf() {
    close();
    Life::instance().end(this);
  }

  void close() {
    const std::lock_guard lock(m_mutex);
    m_solver.reset();
  }
  void drop() override { close(); }
  bool is_closed() const {
    const std::lock_guard lock(m_mutex);
    return m_solver == nullptr;
  }

  /// Calls `action` with the solver, without the GIL, while no other thread uses it.
  template <class Action>
  auto use(const Action& action) const {
    const Life::Call call;
    const nb::gil_scoped_release release;
    return borrow(action);
  }
  /// Overload for callers that have released the GIL.
  template <class Action>
  auto borrow(const Action& action) const {
    const std::lock_guard lock(m_mutex);
    if (!m_solver) throw InputError("the solver is closed");
    try {
      return action(*m_solver);
    } catch (const CancelledError&) {
      m_interrupts.rethrow();
      throw;  // the deadline
    }
  }

  const std::string& scalar() const { return m_scalar; }
  const std::string& ordinal() const { return m_ordinal; }
  nb::dlpack::dtype scalar_dtype() const {
    const bool is_complex = m_scalar.starts_with("complex");
    const auto code = is_complex ? nb::dlpack::dtype_code::Complex : nb::dlpack::dtype_code::Float;
    return {static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(8 * scalar_bytes()), 1};
  }
  std::size_t scalar_bytes() const {
    return m_scalar == "float32" ? 4 : m_scalar == "float64" || m_scalar == "complex64" ? 8 : 16;
  }

 private:
  static ScalarType scalar_of(const std::string& name) {
    if (name == "float32") return ScalarType::f32;
    if (name == "complex64") return ScalarType::c64;
    if (name == "complex128") return ScalarType::c128;
    return ScalarType::f64;
  }
  static OrdinalType ordinal_of(const std::string& name) {
    return name == "int32" ? OrdinalType::int32 : OrdinalType::int64;
  }

  mutable std::mutex m_mutex;
  mutable Interrupts m_interrupts;
  std::unique_ptr<Interface> m_solver;
  std::string m_scalar, m_ordinal;
};

using Handle = HandleOf<Solver, make_solver>;

inline void Life::begin(Closable* handle) {
  const std::lock_guard lock(m_mutex);
  if (m_finished) throw InputError("Python is shutting down; nothing can be solved any more");
  start_kokkos();
  m_handles.insert(handle);
}

inline void Life::end(Closable* handle) {
  const std::lock_guard lock(m_mutex);
  m_handles.erase(handle);
}

inline void Life::finish() {
  m_finished = true;
  const nb::gil_scoped_release release;
  while (m_calls > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const std::lock_guard lock(m_mutex);
  for (Closable* handle : m_handles) handle->drop();
  stop_kokkos();
}

/// The part of the module for batches.
void bind_batches(nb::module_& m);
/// The part of the module that XLA calls; built where its headers are.
void bind_xla(nb::module_& m);
/// The part of the module for several ranks of MPI.
void bind_ranks(nb::module_& m);

}  // namespace lutra::Python

#endif
