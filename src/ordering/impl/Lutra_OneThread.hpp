// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ONETHREAD_HPP
#define LUTRA_ONETHREAD_HPP

#include <algorithm>

namespace lutra::Impl {

/// Executor of the kernels of nested dissection: plain loops in the calling host thread, usable inside
/// parallel regions. A kernel is a functor over an index range; the other executor is `SharedThreads`
/// (Lutra_SharedLoops.hpp). Results do not depend on the executor: sums are of integers, sorted keys are
/// distinct, and what threads exchange does not depend on their order.
struct OneThread {
  static constexpr bool one_thread = true;

  /// Calls f(i) for i = 0 … n − 1.
  template <class Index, class Functor>
  void for_each(Index n, const Functor& f) const {
    for (Index i = 0; i < n; ++i) f(i);
  }

  /// Sum reduction of f(i, sum).
  template <class Value, class Index, class Functor>
  Value sum(Index n, const Functor& f) const {
    Value result{};
    for (Index i = 0; i < n; ++i) f(i, result);
    return result;
  }

  /// out[i] = in(0) + … + in(i − 1) for i = 0 … n. `in` must not read `out`.
  /// @returns out[n]
  template <class Index, class Out, class In>
  auto exclusive_scan(Index n, const Out& out, const In& in) const {
    typename Out::non_const_value_type total{};
    for (Index i = 0; i < n; ++i) {
      const auto value = in(i);
      out(i) = total;
      total += value;
    }
    out(n) = total;
    return total;
  }

  /// Sorts 64-bit keys in ascending order. Keys must be distinct (an id in the low bits), for a unique order.
  template <class Keys>
  void sort(const Keys& keys) const {
    std::sort(keys.data(), keys.data() + keys.extent(0));
  }

  template <class Out>
  void fill(const Out& out, const typename Out::non_const_value_type& value) const {
    std::fill_n(out.data(), out.extent(0), value);
  }

  /// @returns the previous value; equal to `expected` if the exchange took place
  template <class Value>
  static Value compare_exchange(Value* at, Value expected, Value desired) {
    const Value before = *at;
    if (before == expected) *at = desired;
    return before;
  }
};

}  // namespace lutra::Impl

#endif
