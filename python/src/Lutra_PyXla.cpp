// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Solves that XLA calls by its foreign function interface, for lutra.jax.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <list>
#include <mutex>
#include <sstream>
#include <string>
#include <string_view>

#ifdef LUTRA_XLA_CUDA
#include <cuda_runtime_api.h>
#endif

#include "Lutra_Error.hpp"
#include "Lutra_PyFactorCache.hpp"
#include "Lutra_PyHandle.hpp"
#include "xla/ffi/api/ffi.h"

using namespace nanobind::literals;

namespace lutra::Python {
namespace {

namespace ffi = xla::ffi;

/// The factors of one pattern, which end before Kokkos.
class XlaPattern final : public Closable {
 public:
  XlaPattern(std::int64_t key, PureOptions options) : m_key(key), m_cache(std::move(options)) {
    Life::instance().begin(this);
  }
  XlaPattern(const XlaPattern&) = delete;
  XlaPattern& operator=(const XlaPattern&) = delete;
  ~XlaPattern() {
    m_cache.clear();
    Life::instance().end(this);
  }
  void drop() override { m_cache.clear(); }
  std::int64_t key() const { return m_key; }
  FactorCache& cache() { return m_cache; }

 private:
  std::int64_t m_key;
  FactorCache m_cache;
};

/// The patterns that were used last, by the key of their contents and options. Calls have all that makes a
/// pattern, so that one that is not here any more is only slower.
class XlaPatterns {
 public:
  static constexpr std::size_t most = 32;
  static XlaPatterns& instance() {
    static auto* const patterns = new XlaPatterns();  // never destroyed: Life closes what it holds
    return *patterns;
  }
  template <class Make>
  std::shared_ptr<XlaPattern> get(std::int64_t key, const Make& options) {
    const std::lock_guard lock(m_mutex);
    auto found = find(key);
    if (found == m_patterns.end()) {
      m_patterns.push_front(std::make_shared<XlaPattern>(key, options()));
      if (m_patterns.size() > most) m_patterns.pop_back();
    } else if (found != m_patterns.begin()) {
      m_patterns.splice(m_patterns.begin(), m_patterns, found);
    }
    return m_patterns.front();
  }
  void forget(std::int64_t key) {
    const std::lock_guard lock(m_mutex);
    m_patterns.remove_if([&](const auto& pattern) { return pattern->key() == key; });
  }
  std::int64_t factorizations(std::int64_t key) {
    const std::lock_guard lock(m_mutex);
    const auto found = find(key);
    return found == m_patterns.end() ? 0 : (*found)->cache().factorizations();
  }

 private:
  std::list<std::shared_ptr<XlaPattern>>::iterator find(std::int64_t key) {
    return std::find_if(m_patterns.begin(), m_patterns.end(),
                        [&](const auto& pattern) { return pattern->key() == key; });
  }
  std::mutex m_mutex;
  std::list<std::shared_ptr<XlaPattern>> m_patterns;  ///< the last used first
};

ScalarType scalar_of(ffi::DataType type) {
  switch (type) {
    case ffi::DataType::F32:
      return ScalarType::f32;
    case ffi::DataType::F64:
      return ScalarType::f64;
    case ffi::DataType::C64:
      return ScalarType::c64;
    case ffi::DataType::C128:
      return ScalarType::c128;
    default:
      throw InputError("values: float32, float64, complex64 and complex128 can be solved");
  }
}

/// @param text "method on_failure kept name=value name=value …", separated by newlines
PureOptions parse(std::string_view text, ScalarType scalar) {
  std::istringstream lines{std::string(text)};
  PureOptions options;
  options.scalar = scalar;
  std::string line;
  std::getline(lines, options.method);
  std::getline(lines, line);
  options.nan_on_failure = line == "nan";
  std::getline(lines, line);
  options.kept = static_cast<std::size_t>(std::max(1, std::stoi(line)));
  while (std::getline(lines, line)) {
    const auto split = line.find('=');
    options.named.emplace_back(line.substr(0, split), line.substr(split + 1));
  }
  return options;
}

/// lutra.jax has checked ranks and lengths: values [… × nnz], B and X [… × n × n_rhs].
PureSystems systems_of(const ffi::AnyBuffer& row_map, const ffi::AnyBuffer& columns,
                       const ffi::AnyBuffer& values, const ffi::AnyBuffer& B, ffi::AnyBuffer& X,
                       bool transposed, bool on_device) {
  const auto shape = values.dimensions();
  const auto block = B.dimensions();
  PureSystems systems;
  const auto n = static_cast<std::int64_t>(row_map.element_count()) - 1;
  systems.A = {n,
               n,
               static_cast<std::int64_t>(columns.element_count()),
               row_map.untyped_data(),
               false,
               columns.untyped_data(),
               values.untyped_data(),
               on_device};
  systems.is_batch = shape.size() > 1;
  for (std::size_t d = 0; d + 1 < shape.size(); ++d) systems.systems *= static_cast<std::size_t>(shape[d]);
  systems.n_rhs = static_cast<std::size_t>(block[block.size() - 1]);
  systems.B = B.untyped_data();
  systems.X = X.untyped_data();
  systems.op = transposed ? Transposition::transposed : Transposition::none;
  return systems;
}

/// Kokkos must be running. @throws InputError for memory of another device than that of the solvers
void require_own_memory([[maybe_unused]] const char* name, [[maybe_unused]] const void* array) {
#ifdef LUTRA_XLA_CUDA
  cudaPointerAttributes found{};
  if (cudaPointerGetAttributes(&found, array) != cudaSuccess) {
    cudaGetLastError();  // which Kokkos would take for its own
  } else if (found.type == cudaMemoryTypeDevice) {
    require_own_device(name, found.device);
  }
#endif
}

ffi::Error solve(const ffi::AnyBuffer& row_map, const ffi::AnyBuffer& columns, const ffi::AnyBuffer& values,
                 const ffi::AnyBuffer& B, ffi::AnyBuffer& X, std::string_view options, std::int64_t key,
                 bool transposed, bool on_device) {
  try {
    const Life::Call call;
    const ScalarType scalar = scalar_of(values.element_type());
    const auto pattern = XlaPatterns::instance().get(key, [&] { return parse(options, scalar); });
    if (on_device) require_own_memory("values", values.untyped_data());
    pattern->cache().solve(systems_of(row_map, columns, values, B, X, transposed, on_device));
    return ffi::Error::Success();
  } catch (const InputError& error) {
    return ffi::Error::InvalidArgument(error.what());
  } catch (const OutOfMemoryError& error) {
    return {ffi::ErrorCode::kResourceExhausted, error.what()};
  } catch (const std::exception& error) {
    return ffi::Error::Internal(error.what());
  }
}

ffi::Error solve_on_host(ffi::AnyBuffer row_map, ffi::AnyBuffer columns, ffi::AnyBuffer values,
                         ffi::AnyBuffer B, ffi::Result<ffi::AnyBuffer> X, std::string_view options,
                         std::int64_t key, bool transposed) {
  return solve(row_map, columns, values, B, *X, options, key, transposed, false);
}

XLA_FFI_DEFINE_HANDLER(solve_handler, solve_on_host,
                       ffi::Ffi::Bind()
                           .Arg<ffi::AnyBuffer>()
                           .Arg<ffi::AnyBuffer>()
                           .Arg<ffi::AnyBuffer>()
                           .Arg<ffi::AnyBuffer>()
                           .Ret<ffi::AnyBuffer>()
                           .Attr<std::string_view>("options")
                           .Attr<std::int64_t>("key")
                           .Attr<bool>("transposed"));

#ifdef LUTRA_XLA_CUDA
/// Waits for the stream that computes the arguments; the solution is complete at the return.
ffi::Error solve_on_device(cudaStream_t stream, ffi::AnyBuffer row_map, ffi::AnyBuffer columns,
                           ffi::AnyBuffer values, ffi::AnyBuffer B, ffi::Result<ffi::AnyBuffer> X,
                           std::string_view options, std::int64_t key, bool transposed) {
  if (cudaStreamSynchronize(stream) != cudaSuccess)
    return ffi::Error::Internal("the stream of the call has failed");
  return solve(row_map, columns, values, B, *X, options, key, transposed, true);
}

XLA_FFI_DEFINE_HANDLER(solve_cuda_handler, solve_on_device,
                       ffi::Ffi::Bind()
                           .Ctx<ffi::PlatformStream<cudaStream_t>>()
                           .Arg<ffi::AnyBuffer>()
                           .Arg<ffi::AnyBuffer>()
                           .Arg<ffi::AnyBuffer>()
                           .Arg<ffi::AnyBuffer>()
                           .Ret<ffi::AnyBuffer>()
                           .Attr<std::string_view>("options")
                           .Attr<std::int64_t>("key")
                           .Attr<bool>("transposed"));
#endif

template <class Handler>
nb::capsule capsule_of(Handler* handler) {
  return nb::capsule(reinterpret_cast<void*>(handler));
}

}  // namespace

void bind_xla(nb::module_& m) {
  m.def(
      "xla_handlers",
      [] {
        nb::dict handlers;
        handlers["cpu"] = capsule_of(solve_handler);
#ifdef LUTRA_XLA_CUDA
        handlers["CUDA"] = capsule_of(solve_cuda_handler);
#endif
        return handlers;
      },
      "The handler of lutra.jax for each platform of XLA.");
  m.def(
      "xla_forget",
      [](std::int64_t key) {
        if (Life::instance().is_finished()) return;
        const Life::Call call;
        const nb::gil_scoped_release release;
        XlaPatterns::instance().forget(key);
      },
      "key"_a, "Frees the factors of a pattern.");
  m.def(
      "xla_factorizations",
      [](std::int64_t key) {
        const nb::gil_scoped_release release;
        return XlaPatterns::instance().factorizations(key);
      },
      "key"_a, "How many factorizations there have been for a pattern.");
}

}  // namespace lutra::Python
