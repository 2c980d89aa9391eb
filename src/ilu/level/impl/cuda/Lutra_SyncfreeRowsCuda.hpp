// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SYNCFREEROWSCUDA_HPP
#define LUTRA_SYNCFREEROWSCUDA_HPP

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "Lutra_DataFlow.hpp"
#include "Lutra_IluRow.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_RowUpdates.hpp"
#include "Lutra_SyncfreeRows.hpp"
#include "Lutra_TaskQueueCuda.hpp"
#ifdef KOKKOS_ENABLE_CUDA
#include "Lutra_CheckCuda.hpp"
#endif

namespace lutra::Impl {

/// The lanes of a warp, with the members of `VectorLanes`.
struct WarpLanes {
  static constexpr int count = 32;
  static constexpr unsigned all = ~0u;

  __device__ __forceinline__ static int lane() { return static_cast<int>(threadIdx.x) % count; }
  template <class Index, class Visit>
  __device__ __forceinline__ void each(Index begin, Index end, const Visit& visit) const {
    for (Index k = begin + lane(); k < end; k += count) visit(k);
    __syncwarp();
  }
  template <class T, class Index, class Term>
  __device__ __forceinline__ T largest(Index begin, Index end, const Term& term) const {
    T most(0);
    for (Index k = begin + lane(); k < end; k += count) most = Kokkos::max(most, T(term(k)));
    for (int distance = count / 2; distance > 0; distance /= 2)
      most = Kokkos::max(most, __shfl_xor_sync(all, most, distance));
    return most;
  }
  template <class Action>
  __device__ __forceinline__ void once(const Action& action) const {
    if (lane() == 0) action();
    __syncwarp();
  }
  template <class T>
  __device__ __forceinline__ static T from_lane(const T& value, int source) {
    return __shfl_sync(all, value, source);
  }
  template <class Real>
  __device__ __forceinline__ static Kokkos::complex<Real> from_lane(const Kokkos::complex<Real>& value,
                                                                    int source) {
    return {from_lane(value.real(), source), from_lane(value.imag(), source)};
  }
};

/// Rows on CUDA, one per warp, by the updates found in the analysis. All values start as sentinels. A lane
/// polls for its update's entry of U, so that a dependency costs one round trip through memory
/// (`Lutra_DataFlow.hpp`). Updates are applied in order, as far as their entries have arrived:
///
///     lanes     l₀ /= u │ −= l₀·u │ −= l₀·u │ l₁ /= u │ −= l₁·u │ …    32 updates of a row
///               applied ──────────────┘           ▲ the first that is missing: polls again
///
/// Warps take rows by tickets in the order of levels, so that a row only waits for rows that are running or
/// done, whatever the order in which the device starts them. A warp has one row, so no row waits for another
/// of its own warp.
template <class Scalar, class Memory>
struct SyncfreeRowsCuda {
  using Update = RowUpdate;
  /// 32 warps per multiprocessor: half as many took 1.3 times as long on convdiff3d:64, twice as many 1
  /// to 2 % longer on all matrices tried, since more warps poll.
  static constexpr int block_warps = 4, processor_warps = 32;
  /// 6 KiB per warp: a multiprocessor's memory holds the rows of all its warps
  static constexpr Ordinal max_scratch_length = (6 << 10) / sizeof(Scalar);

  FactorRows<Scalar, Memory> rows;
  SyncfreeOrder<Memory> order;
  std::int64_t* ticket;  ///< first position not taken by a warp
  RowUpdates<Memory> updates;
  Kokkos::View<Scalar*, Memory> long_rows;  ///< [nnz] rows too long for scratch, while they are processed
  Ordinal longest;                          ///< entries of the longest row

  /// Entries of a row in scratch.
  KOKKOS_FUNCTION Ordinal scratch_length() const {
    return longest < max_scratch_length ? longest : max_scratch_length;
  }

  __device__ void run(Scalar* scratch) const {
    while (true) {
      const std::int64_t position = take_ticket_of_warp(ticket);
      if (position >= static_cast<std::int64_t>(order.n)) return;
      const Ordinal i = order.row(position);
      const Offset begin = rows.row_map(i), diagonal = rows.diagonal(i), end = rows.row_map(i + 1);
      Scalar* const w = end - begin <= scratch_length() ? scratch : long_rows.data() + begin;
      load(w, i, begin, end);
      if (!eliminate(w, i)) return;
      const WarpLanes lanes;
      lanes.each(diagonal, end, [&](const Offset p) { write_through(&rows.to(p), storable(w[p - begin])); });
      lanes.each(begin, diagonal, [&](const Offset p) { rows.to(p) = w[p - begin]; });
    }
  }

  /// w := row i of A on the pattern
  __device__ void load(Scalar* w, Ordinal i, Offset begin, Offset end) const {
    const WarpLanes lanes;
    const auto& A = rows.A;
    const Offset a_begin = A.row_map(i), a_end = A.row_map(i + 1);
    lanes.each(begin, end, [&](const Offset p) {
      const Ordinal j = rows.entries(p);
      const Offset q = a_begin + (p - begin);  // its position if A has all preceding entries
      w[p - begin] = q < a_end && A.entries(q) == j ? A.values(q) : entry_of(A, i, j);
    });
    if (rows.shift == 0) return;
    const auto largest = largest_in_row(lanes, A, i);
    lanes.once([&]() {
      Scalar& a = w[rows.diagonal(i) - begin];
      a += shift_of(a, rows.shift, largest);
    });
  }

  __device__ __forceinline__ Update update_at(Offset position, Offset end) const {
    return position < end ? updates.updates(position) : Update();
  }

  /// @returns false if the watchdog has ended the elimination
  __device__ bool eliminate(Scalar* w, Ordinal i) const {
    const int lane = WarpLanes::lane();
    const Offset end = updates.row_map(i + 1);
    Offset first = updates.row_map(i);
    Update ahead = update_at(first + lane, end);
    Scalar l(0);
    for (; first < end; first += WarpLanes::count) {
      const Update mine = ahead;
      ahead = update_at(first + WarpLanes::count + lane, end);
      const int held = end - first < WarpLanes::count ? static_cast<int>(end - first) : WarpLanes::count;
      const unsigned divisions = __ballot_sync(WarpLanes::all, mine.divides());
      bool is_missing = lane < held;
      Scalar u(0);
      WaitTimer<> timer;
      unsigned readings = 0;
      for (int taken = 0; taken < held;) {
        if (is_missing) {
          u = read_fresh(&rows.from(mine.from));
          is_missing = is_sentinel(u);
        }
        const unsigned missing = __ballot_sync(WarpLanes::all, is_missing);
        const int here = missing == 0 ? held : __ffs(static_cast<int>(missing)) - 1;
        if (here == taken && ++readings % 1024 == 0 &&
            __any_sync(WarpLanes::all, lane == 0 && order.watchdog.ends(timer, static_cast<std::int64_t>(i))))
          return false;
        while (taken < here) taken = take_pivot(w, mine, u, divisions, taken, here, l);
      }
    }
    return true;
  }

  /// Applies updates from lane `taken` on, up to the next division or to lane `here`; returns the lane after
  /// them.
  /// @param l of the pivot, possibly computed by preceding lanes
  __device__ __forceinline__ int take_pivot(Scalar* w, const Update& mine, const Scalar& u,
                                            unsigned divisions, int taken, int here, Scalar& l) const {
    const int lane = WarpLanes::lane();
    const unsigned later = divisions & ~((2u << taken) - 1);
    const int next = later == 0 ? here : Kokkos::min(here, __ffs(static_cast<int>(later)) - 1);
    const bool is_due = lane >= taken && lane < next;
    Scalar value = is_due ? w[mine.target] : Scalar(0);
    if ((divisions >> taken & 1) != 0) {
      if (lane == taken) value = divide_by_pivot(value, u);
      l = WarpLanes::from_lane(value, taken);
    }
    if (is_due) {
      if (!mine.divides()) subtract_product(value, l, u);
      w[mine.target] = value;
    }
    __syncwarp();
    return next;
  }
};

#ifdef KOKKOS_ENABLE_CUDA
template <class Rows>
__global__ void __launch_bounds__(Rows::block_warps* WarpLanes::count) eliminate_rows(const Rows rows) {
  extern __shared__ double2 row_scratch[];
  using Scalar = std::remove_pointer_t<decltype(rows.long_rows.data())>;
  rows.run(reinterpret_cast<Scalar*>(row_scratch) +
           threadIdx.x / WarpLanes::count * static_cast<std::size_t>(rows.scratch_length()));
}

template <class Rows>
void launch_rows(const Kokkos::Cuda& exec, const Rows& rows) {
  using Scalar = std::remove_pointer_t<decltype(rows.long_rows.data())>;
  constexpr int warps = Rows::block_warps;
  const std::int64_t blocks = (static_cast<std::int64_t>(rows.order.n) + warps - 1) / warps;
  const std::int64_t at_once = static_cast<std::int64_t>(exec.cuda_device_prop().multiProcessorCount) *
                               (Rows::processor_warps / warps);
  const std::size_t shared_bytes = warps * static_cast<std::size_t>(rows.scratch_length()) * sizeof(Scalar);
  eliminate_rows<<<static_cast<unsigned>(std::min(blocks, at_once)), warps * WarpLanes::count, shared_bytes,
                   exec.cuda_stream()>>>(rows);
  check_cuda(cudaGetLastError(), "eliminating rows");
}

/// Prepares a run: all values missing, no row taken.
template <class Scalar>
struct ClearValues {
  Kokkos::View<Scalar*, Kokkos::CudaSpace> values;
  Kokkos::View<std::int64_t*, Kokkos::CudaSpace> state;
  KOKKOS_FUNCTION void operator()(std::int64_t p) const {
    if (p < static_cast<std::int64_t>(state.extent(0))) state(p) = 0;
    if (p < static_cast<std::int64_t>(values.extent(0))) values(p) = sentinel_value<Scalar>();
  }
};

template <class Scalar>
struct SyncfreeEngine<Scalar, Kokkos::Cuda> {
  using Memory = Kokkos::CudaSpace;
  using Rows = SyncfreeRowsCuda<Scalar, Memory>;
  static constexpr bool needs_workspace = false;
  RowUpdates<Memory> updates;
  Kokkos::View<Scalar*, Memory> long_rows;  ///< see SyncfreeRowsCuda
  Ordinal longest = 0;                      ///< entries of the longest row

  /// @returns false if the updates do not fit into the remaining memory
  template <class Factors>
  bool analyze(const Kokkos::Cuda& exec, const Factors& pattern, Ordinal longest_row,
               const MemoryBudget& budget, MemoryReservation& reservation) {
    longest = longest_row;
    const auto found = find_row_updates(exec, pattern, longest, budget, reservation);
    if (found) updates = *found;
    return found.has_value() && updates.row_map.extent(0) > 0;
  }
  void allocate(const Kokkos::Cuda& exec, Ordinal, std::size_t n_entries, MemoryReservation& reservation) {
    if (longest <= Rows::max_scratch_length) return;
    long_rows = reservation.template allocate<decltype(long_rows)>(exec, "lutra::ilu::long_rows", n_entries);
  }
  template <class Workspace, class Levels>
  void run(const Kokkos::Cuda& exec, const SyncfreeRun<Scalar, Kokkos::Cuda>& with, const Workspace*,
           const Levels&, int) {
    const auto entries = static_cast<std::int64_t>(with.rows.to.extent(0));
    Kokkos::parallel_for("lutra::ilu::clear_values",
                         Kokkos::RangePolicy<Kokkos::Cuda>(exec, 0, std::max<std::int64_t>(entries, 2)),
                         ClearValues<Scalar>{with.rows.to, with.state.device()});
    launch_rows(exec, Rows{with.rows, with.order, with.state.device().data(), updates, long_rows, longest});
  }
};
#endif

}  // namespace lutra::Impl

#endif
