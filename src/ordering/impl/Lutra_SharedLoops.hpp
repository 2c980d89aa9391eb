// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SHAREDLOOPS_HPP
#define LUTRA_SHAREDLOOPS_HPP

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <exception>
#include <thread>
#include <utility>

namespace lutra::Impl {

/// Loop of one host thread that idle threads join dynamically.
///
///     owner                          helpers
///     number of chunks, body         is_open? ──> n_inside += 1, is_open still? ──> next chunk …
///     is_open = true
///     next chunk …                   no chunk is left: n_inside -= 1
///     is_open = false
///     until n_inside == 0            (pairs with the helpers' last step: `body` is the owner's)
///
/// Either a helper sees that the loop is closed, or the owner sees that the helper is inside.
class SharedLoop {
 public:
  /// Calls body(k) for k = 0 … n_chunks − 1; rethrows an exception of a call.
  template <class Body>
  void run(std::size_t n_chunks, const Body& body) {
    m_n_chunks = n_chunks;
    m_body = &body;
    m_call = [](const void* of, std::size_t k) { (*static_cast<const Body*>(of))(k); };
    m_next = 0;
    m_is_open = true;
    take_chunks();
    m_is_open = false;
    while (m_n_inside > 0) std::this_thread::yield();
    if (m_has_failed.exchange(false)) std::rethrow_exception(std::exchange(m_failure, nullptr));
  }

  /// Processes chunks if the loop is open. @returns whether it processed any
  bool help() {
    if (!m_is_open) return false;
    ++m_n_inside;
    const bool took = m_is_open && take_chunks();
    --m_n_inside;
    return took;
  }

 private:
  bool take_chunks() {
    bool took = false;
    for (std::size_t k = m_next++; k < m_n_chunks; k = m_next++) {
      took = true;
      try {
        m_call(m_body, k);
      } catch (...) {
        if (!m_has_failed.exchange(true)) m_failure = std::current_exception();
        m_next = m_n_chunks;
      }
    }
    return took;
  }

  std::size_t m_n_chunks = 0;
  const void* m_body = nullptr;
  void (*m_call)(const void*, std::size_t) = nullptr;
  std::exception_ptr m_failure;
  std::atomic<bool> m_is_open = false, m_has_failed = false;
  std::atomic<int> m_n_inside = 0;
  alignas(64) std::atomic<std::size_t> m_next = 0;
};

/// Executor for one subgraph, as `OneThread` (Lutra_OneThread.hpp), by the thread that owns `loop` and its
/// helpers.
struct SharedThreads {
  static constexpr bool one_thread = false;
  /// Four for each of 16 threads; `sum` keeps a value of each on the stack.
  static constexpr std::size_t max_parts = 64;

  SharedLoop* loop;
  std::size_t n_threads;

  /// Calls f(begin, end, number) for ranges that cover 0 … n − 1. @returns their number
  template <class Index, class Function>
  std::size_t for_parts(Index n, const Function& f) const {
    // Smaller: better balance, but a shorter part is worth less than its start by another thread.
    constexpr Index min_length = 2048;
    const std::size_t n_parts = std::clamp(static_cast<std::size_t>(n / min_length), std::size_t(1),
                                           std::min(max_parts, 4 * n_threads));
    const auto begin = [n, n_parts](std::size_t part) {
      return static_cast<Index>(static_cast<std::size_t>(n) * part / n_parts);
    };
    const auto body = [&](std::size_t part) { f(begin(part), begin(part + 1), part); };
    if (n_parts == 1) {
      body(0);
    } else {
      loop->run(n_parts, body);
    }
    return n_parts;
  }

  template <class Index, class Functor>
  void for_each(Index n, const Functor& f) const {
    for_parts(n, [&f](Index begin, Index end, std::size_t) {
      for (Index i = begin; i < end; ++i) f(i);
    });
  }

  template <class Value, class Index, class Functor>
  Value sum(Index n, const Functor& f) const {
    std::array<Value, max_parts> of_part{};
    for_parts(n, [&](Index begin, Index end, std::size_t part) {
      Value value{};
      for (Index i = begin; i < end; ++i) f(i, value);
      of_part[part] = value;
    });
    Value result{};
    for (const Value& value : of_part) result += value;
    return result;
  }

  template <class Index, class Out, class In>
  auto exclusive_scan(Index n, const Out& out, const In& in) const {
    using Value = typename Out::non_const_value_type;
    std::array<Value, max_parts> of_part{};
    for_parts(n, [&](Index begin, Index end, std::size_t part) {
      Value value{};
      for (Index i = begin; i < end; ++i) value += in(i);
      of_part[part] = value;
    });
    Value total{};
    for (Value& value : of_part) total += std::exchange(value, total);
    for_parts(n, [&](Index begin, Index end, std::size_t part) {
      Value value = of_part[part];
      for (Index i = begin; i < end; ++i) {
        out(i) = value;
        value += in(i);
      }
    });
    out(n) = total;
    return total;
  }

  /// Sorts parts, then merges them pairwise.
  template <class Keys>
  void sort(const Keys& keys) const {
    auto* const begin = keys.data();
    std::array<std::size_t, max_parts + 1> end{};
    std::size_t n_parts =
        for_parts(keys.extent(0), [&](std::size_t first, std::size_t last, std::size_t part) {
          std::sort(begin + first, begin + last);
          end[part + 1] = last;
        });
    for (; n_parts > 1; n_parts = (n_parts + 1) / 2) {
      loop->run(n_parts / 2, [&](std::size_t k) {
        std::inplace_merge(begin + end[2 * k], begin + end[2 * k + 1], begin + end[2 * k + 2]);
      });
      for (std::size_t k = 1; k <= n_parts; ++k) end[(k + 1) / 2] = end[k];
    }
  }

  template <class Out>
  void fill(const Out& out, const typename Out::non_const_value_type& value) const {
    for_parts(out.extent(0), [&](std::size_t begin, std::size_t end, std::size_t) {
      std::fill(out.data() + begin, out.data() + end, value);
    });
  }

  template <class Value>
  static Value compare_exchange(Value* at, Value expected, Value desired) {
    return Kokkos::atomic_compare_exchange(at, expected, desired);
  }
};

}  // namespace lutra::Impl

#endif
