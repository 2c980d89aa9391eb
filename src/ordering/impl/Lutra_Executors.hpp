// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_EXECUTORS_HPP
#define LUTRA_EXECUTORS_HPP

#include <Kokkos_Core.hpp>
#include <Kokkos_Sort.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace lutra::Impl {

// Executors of the kernels of nested dissection. A kernel is a functor over an index range with the executor
// as a template parameter, so that one source runs on all threads of an execution space, on a team, or as a
// plain loop in one host thread.
//
//     WholeSpace<Space>  one launch for all subgraphs of a level of the dissection
//     TeamThreads        one subgraph by the threads of a team, inside a kernel
//     OneThread          one subgraph, in cache; different threads process different subgraphs
//
// Results do not depend on the executor: sums are of integers, sorted keys are distinct, and atomics only
// compute values independent of their order (minimum, maximum, flag).

/// All threads of an execution space. Calls that return a value wait for it; others are asynchronous.
template <class ExecutionSpace>
struct WholeSpace {
  using execution_space = ExecutionSpace;
  using memory_space = typename ExecutionSpace::memory_space;
  static constexpr bool one_thread = false;

  ExecutionSpace space;

  /// Calls f(i) for i = 0 … n − 1.
  template <class Index, class Functor>
  void for_each(const char* label, Index n, const Functor& f) const {
    if (n > 0) Kokkos::parallel_for(label, range(n), f);
  }

  /// Sum reduction of f(i, sum).
  template <class Value, class Index, class Functor>
  Value sum(const char* label, Index n, const Functor& f) const {
    Value result{};
    if (n > 0) Kokkos::parallel_reduce(label, range(n), f, result);
    return result;
  }

  /// Maximum reduction of f(i, largest); at least `lowest`.
  template <class Value, class Index, class Functor>
  Value max(const char* label, Index n, Value lowest, const Functor& f) const {
    Value result = lowest;
    if (n > 0) Kokkos::parallel_reduce(label, range(n), f, Kokkos::Max<Value>(result));
    return result > lowest ? result : lowest;
  }

  /// out[i] = in(0) + … + in(i − 1) for i = 0 … n. `in` is called twice and must not read `out`.
  /// @returns out[n]
  template <class Index, class Out, class In>
  auto exclusive_scan(const char* label, Index n, const Out& out, const In& in) const {
    using Value = typename Out::non_const_value_type;
    Value total{};
    Kokkos::parallel_scan(label, range(n), Scan<Index, Out, In>{out, in}, total);
    Kokkos::parallel_for(label, range(Index(1)), SetEnd<Index, Out>{out, n, total});
    return total;
  }

  /// Sorts 64-bit keys in ascending order. Keys must be distinct (an id in the low bits), for a unique order.
  template <class Keys>
  void sort(const Keys& keys) const {
    if (keys.extent(0) > 1) Kokkos::sort(space, keys);
  }

  template <class Out>
  void fill(const Out& out, const typename Out::non_const_value_type& value) const {
    if (out.extent(0) > 0) Kokkos::deep_copy(space, out, value);
  }

  /// Calls f(member) for `count` teams, each with the scratch memory that f requests (`scratch_bytes`). Host
  /// teams have at most two threads, to keep barriers cheap.
  /// @param size threads per team on a device, a power of two
  template <int max_size, class Index, class Functor>
  void for_each_team(const char* label, Index count, int size, const Functor& f) const {
    using Policy = Kokkos::TeamPolicy<ExecutionSpace, Kokkos::LaunchBounds<max_size, 1>>;
    constexpr bool on_host =
        Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename ExecutionSpace::memory_space>::accessible;
    if (count == 0) return;
    if (on_host) size = std::min(2, space.concurrency());
    Policy policy(space, static_cast<int>(count), size);
    policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(f.scratch_bytes())));
    Kokkos::parallel_for(label, policy, f);
  }

  /// Reads one entry after all previous work is complete.
  template <class In, class Index>
  typename In::non_const_value_type read(const In& in, Index i) const {
    typename In::non_const_value_type value{};
    Kokkos::deep_copy(space, Kokkos::View<typename In::non_const_value_type, Kokkos::HostSpace>(&value),
                      Kokkos::subview(in, i));
    space.fence("lutra::ordering::read");
    return value;
  }

  void fence() const { space.fence("lutra::ordering"); }

  template <class Value>
  KOKKOS_FUNCTION static Value fetch_add(Value* at, Value value) {
    return Kokkos::atomic_fetch_add(at, value);
  }
  /// @returns the previous value; equal to `expected` if the exchange took place
  template <class Value>
  KOKKOS_FUNCTION static Value compare_exchange(Value* at, Value expected, Value desired) {
    return Kokkos::atomic_compare_exchange(at, expected, desired);
  }

  template <class Index, class Out, class In>
  struct Scan {
    Out out;
    In in;
    using value_type = typename Out::non_const_value_type;
    KOKKOS_FUNCTION void operator()(const Index i, value_type& sum, const bool final) const {
      if (final) out(i) = sum;
      sum += in(i);
    }
  };

  template <class Index, class Out>
  struct SetEnd {
    Out out;
    Index n;
    typename Out::non_const_value_type total;
    KOKKOS_FUNCTION void operator()(const Index) const { out(n) = total; }
  };

 private:
  template <class Index>
  auto range(Index n) const {
    return Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<Index>>(space, 0, n);
  }
};

/// Threads of a team, inside a kernel. All threads make each call. Calls end with a barrier, so previous
/// writes of one thread are visible to all. Atomics are those of `WholeSpace`.
template <class Member>
struct TeamThreads {
  const Member& member;

  /// Calls f(i) for i = 0 … n − 1.
  template <class Index, class Functor>
  KOKKOS_FUNCTION void for_each(Index n, const Functor& f) const {
    const auto size = static_cast<Index>(member.team_size());
    for (auto i = static_cast<Index>(member.team_rank()); i < n; i += size) f(i);
    member.team_barrier();
  }

  /// Variant of `for_each` for few, long calls: spreads them over the team, so that they do not share a warp.
  template <class Index, class Functor>
  KOKKOS_FUNCTION void for_each_apart(Index n, const Functor& f) const {
    const auto size = static_cast<Index>(member.team_size()), rank = static_cast<Index>(member.team_rank());
    const Index distance = n < size ? size / n : Index(1);
    if (rank % distance == 0)
      for (Index i = rank / distance; i < n; i += (size + distance - 1) / distance) f(i);
    member.team_barrier();
  }

  /// Calls f() on one thread.
  template <class Functor>
  KOKKOS_FUNCTION void once(const Functor& f) const {
    if (member.team_rank() == 0) f();
    member.team_barrier();
  }

  /// Sum reduction of f(i, sum).
  template <class Index, class Functor>
  KOKKOS_FUNCTION Index sum(Index n, const Functor& f) const {
    Index result = 0;
    Kokkos::parallel_reduce(Kokkos::TeamThreadRange(member, n), f, result);
    member.team_barrier();
    return result;
  }

  /// out[i] = in(0) + … + in(i − 1) for i = 0 … n. @returns out[n]
  template <class Index, class Out, class In>
  KOKKOS_FUNCTION Index exclusive_scan(Index n, const Out& out, const In& in) const {
    const auto size = static_cast<Index>(member.team_size()), rank = static_cast<Index>(member.team_rank());
    const Index share = (n + size - 1) / size, begin = rank * share < n ? rank * share : n,
                end = begin + share < n ? begin + share : n;
    Index own = 0;
    for (Index i = begin; i < end; ++i) own += in(i);
    Index sum = member.team_scan(own);
    for (Index i = begin; i < end; ++i) {
      out(i) = sum;
      sum += in(i);
    }
    if (rank == size - 1) out(n) = sum;
    member.team_barrier();
    return out(n);
  }
};

/// Plain loops in the calling host thread, without Kokkos dispatch; usable inside parallel regions.
struct OneThread {
  using memory_space = Kokkos::HostSpace;
  static constexpr bool one_thread = true;

  template <class Index, class Functor>
  void for_each(const char*, Index n, const Functor& f) const {
    for (Index i = 0; i < n; ++i) f(i);
  }

  template <class Value, class Index, class Functor>
  Value sum(const char*, Index n, const Functor& f) const {
    Value result{};
    for (Index i = 0; i < n; ++i) f(i, result);
    return result;
  }

  template <class Value, class Index, class Functor>
  Value max(const char*, Index n, Value lowest, const Functor& f) const {
    for (Index i = 0; i < n; ++i) f(i, lowest);
    return lowest;
  }

  template <class Index, class Out, class In>
  auto exclusive_scan(const char*, Index n, const Out& out, const In& in) const {
    typename Out::non_const_value_type total{};
    for (Index i = 0; i < n; ++i) {
      const auto value = in(i);
      out(i) = total;
      total += value;
    }
    out(n) = total;
    return total;
  }

  template <class Keys>
  void sort(const Keys& keys) const {
    std::sort(keys.data(), keys.data() + keys.extent(0));
  }

  template <class Out>
  void fill(const Out& out, const typename Out::non_const_value_type& value) const {
    std::fill_n(out.data(), out.extent(0), value);
  }

  template <class In, class Index>
  typename In::non_const_value_type read(const In& in, Index i) const {
    return in(i);
  }

  void fence() const {}

  template <class Value>
  static Value fetch_add(Value* at, Value value) {
    const Value before = *at;
    *at += value;
    return before;
  }
  template <class Value>
  static Value compare_exchange(Value* at, Value expected, Value desired) {
    const Value before = *at;
    if (before == expected) *at = desired;
    return before;
  }
};

/// Pseudorandom bijection of the 64-bit integers: the finalizer of MurmurHash3.
KOKKOS_INLINE_FUNCTION std::uint64_t mix_bits(std::uint64_t x) {
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdULL;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53ULL;
  return x ^ (x >> 33);
}

}  // namespace lutra::Impl

#endif
