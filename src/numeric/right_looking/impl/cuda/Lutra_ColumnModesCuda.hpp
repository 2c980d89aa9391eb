// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_COLUMNMODESCUDA_HPP
#define LUTRA_COLUMNMODESCUDA_HPP

#include <algorithm>
#include <array>
#include <memory>

#include "Lutra_ColumnModeBlockCuda.hpp"
#include "Lutra_ColumnModes.hpp"
#include "Lutra_RightLookingTasksCuda.hpp"

namespace lutra::Impl {

// Modes A, B and C of GLU 3.0 ("End-to-End LU Factorization of Large Matrices on GPUs", Algorithm 2 and
// section 2.2), a launch per level or per column. L(:, j) stays undivided, as in Lutra_RightLookingCuda.hpp:
// an update subtracts L(:, j)·(U(j, k)/pivot), and one launch at the end divides all columns. So no kernel
// has to divide a column before its sub-columns.
//
//   mode   block                                 warps
//   A      column j, 4 warps                     a sub-column k each, in turn
//   B      column j, 32 warps                    a sub-column k each, in turn
//   C      sub-column k of the launch's column   its entries, all 8 warps together
//
// Format dense is that of GLU 3.0: a block spreads L(:, j) out in an array of n values, then runs down all
// entries of each sub-column below row j and takes L(i, j) from the array. Mode C has an array per stream.

inline constexpr int mode_a_threads = 128, mode_b_threads = 1024, mode_c_threads = 256;

/// Modes A and B.
template <ColumnFormat format, int threads, class Scalar>
__global__ void __launch_bounds__(threads)
    mode_columns_kernel(ColumnLaunch<Scalar> launch, const Ordinal* columns, Ordinal count, Scalar* dense) {
  work_columns<format>(launch, columns, count, dense,
                       ModeBlock{static_cast<int>(blockIdx.x), static_cast<int>(gridDim.x),
                                 static_cast<int>(threadIdx.x), threads});
}

/// Mode C: a sub-column of column j per block.
template <ColumnFormat format, class Scalar>
__global__ void __launch_bounds__(mode_c_threads)
    mode_subcolumns_kernel(ColumnLaunch<Scalar> launch, Ordinal j, const Scalar* dense) {
  const ModeColumn column(launch, j);
  update_subcolumn<format>(launch, column, column.pivot(launch), static_cast<int>(blockIdx.x), dense,
                           static_cast<int>(threadIdx.x), mode_c_threads);
}

/// Mode C: spreads column j out, or clears it.
template <class Scalar>
__global__ void __launch_bounds__(mode_c_threads)
    mode_dense_kernel(ColumnLaunch<Scalar> launch, Ordinal j, Scalar* dense, bool zero) {
  write_dense(launch, ModeColumn(launch, j), dense, zero,
              static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x),
              static_cast<int>(gridDim.x * blockDim.x));
}

/// Streams of mode C. They start after the main stream and are awaited by it.
class ColumnStreams {
 public:
  ColumnStreams() {
    for (auto& stream : m_streams)
      check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making streams of columns");
    for (auto& event : m_events)
      check_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "making events of columns");
  }
  ColumnStreams(const ColumnStreams&) = delete;
  ColumnStreams& operator=(const ColumnStreams&) = delete;
  ~ColumnStreams() {
    for (const auto stream : m_streams) cudaStreamDestroy(stream);
    for (const auto event : m_events) cudaEventDestroy(event);
  }
  /// The first `count` streams wait for what `main` has queued.
  void fork(cudaStream_t main, int count) const {
    check_cuda(cudaEventRecord(m_events.back(), main), "starting streams of columns");
    for (int s = 0; s < count; ++s)
      check_cuda(cudaStreamWaitEvent(at(s), m_events.back()), "starting streams of columns");
  }
  void join(cudaStream_t main, int count) const {
    for (int s = 0; s < count; ++s) {
      const auto event = m_events[static_cast<std::size_t>(s)];
      check_cuda(cudaEventRecord(event, at(s)), "waiting for streams of columns");
      check_cuda(cudaStreamWaitEvent(main, event), "waiting for streams of columns");
    }
  }
  cudaStream_t at(int s) const { return m_streams[static_cast<std::size_t>(s)]; }

 private:
  std::array<cudaStream_t, stream_columns> m_streams{};
  std::array<cudaEvent_t, stream_columns + 1> m_events{};
};

/// Launches the kernels of all levels.
template <ColumnFormat format, class Scalar>
struct ColumnModesCuda {
  const Kokkos::Cuda& exec;
  const RightLookingLuPlan<Kokkos::CudaSpace>& plan;
  const RightLookingLuWorkspace<Kokkos::CudaSpace>& work;
  const ColumnLaunch<Scalar>& launch;
  static constexpr bool is_dense = format == ColumnFormat::dense;

  Scalar* dense() const { return reinterpret_cast<Scalar*>(work.dense.data()); }

  void run() const {
    for (std::size_t l = 0; l < plan.levels.size(); ++l) {
      work.budget.run().poll(static_cast<double>(l), static_cast<double>(plan.levels.size()));
      const Ordinal begin = plan.levels.level_map[l], end = plan.levels.level_map[l + 1];
      switch (plan.modes.modes[l]) {
        case ColumnMode::A:
          launch_level<mode_a_threads>(begin, end - begin);
          break;
        case ColumnMode::B:
          launch_level<mode_b_threads>(begin, end - begin);
          break;
        default:
          launch_columns(begin, end);
      }
    }
    check_cuda(cudaGetLastError(), "launching levels of columns");
  }

  template <int threads>
  void launch_level(Ordinal begin, Ordinal count) const {
    const auto blocks = is_dense ? std::min(static_cast<std::size_t>(count), work.dense_columns)
                                 : static_cast<std::size_t>(count);
    mode_columns_kernel<format, threads><<<static_cast<unsigned>(blocks), threads, 0, exec.cuda_stream()>>>(
        launch, plan.levels.order.data() + begin, count, dense());
  }

  /// Mode C: columns in turn on the streams; a single column on the main one.
  void launch_columns(Ordinal begin, Ordinal end) const {
    const auto& streams = *static_cast<const ColumnStreams*>(work.streams.get());
    const std::size_t most = is_dense ? work.dense_columns : stream_columns;
    const int used = static_cast<int>(
        std::min({static_cast<std::size_t>(end - begin), static_cast<std::size_t>(stream_columns), most}));
    if (used > 1) streams.fork(exec.cuda_stream(), used);
    for (Ordinal c = begin; c < end; ++c) {
      const int s = static_cast<int>((c - begin) % used);
      launch_column(static_cast<std::size_t>(c), used > 1 ? streams.at(s) : exec.cuda_stream(), s);
    }
    if (used > 1) streams.join(exec.cuda_stream(), used);
  }

  void launch_column(std::size_t c, cudaStream_t stream, int s) const {
    const Ordinal j = plan.modes.columns[c];
    const auto subcolumns = static_cast<unsigned>(plan.modes.subcolumns[c]);
    if (subcolumns == 0) return;
    constexpr unsigned dense_blocks = 4;
    Scalar* const own = is_dense ? dense() + static_cast<Offset>(s) * launch.n : nullptr;
    if constexpr (is_dense)
      mode_dense_kernel<<<dense_blocks, mode_c_threads, 0, stream>>>(launch, j, own, false);
    mode_subcolumns_kernel<format><<<subcolumns, mode_c_threads, 0, stream>>>(launch, j, own);
    if constexpr (is_dense)
      mode_dense_kernel<<<dense_blocks, mode_c_threads, 0, stream>>>(launch, j, own, true);
  }
};

/// Dense columns that the modes of a plan use at once: resident blocks of A or B, streams of C.
template <class Scalar>
std::size_t usable_dense_columns(const Kokkos::Cuda& exec, const ColumnLevels& modes,
                                 std::size_t max_blocks) {
  std::size_t most = stream_columns;
  if (modes.of(ColumnMode::B) > 0) most = std::max(most, max_blocks);
  if (modes.of(ColumnMode::A) == 0) return most;
  const auto kernel = mode_columns_kernel<ColumnFormat::dense, mode_a_threads, Scalar>;
  return std::max(most, static_cast<std::size_t>(resident_blocks(exec, kernel, mode_a_threads, 0)));
}

/// Modes A, B and C.
template <class Scalar>
RightLookingLuOutcome factorize_by_modes(const Kokkos::Cuda& exec,
                                         const RightLookingLuPlan<Kokkos::CudaSpace>& plan,
                                         RightLookingLuWorkspace<Kokkos::CudaSpace>& work,
                                         const Kokkos::View<Scalar*, Kokkos::CudaSpace>& values,
                                         const PivotThreshold& threshold,
                                         const Kokkos::View<unsigned char*, Kokkos::CudaSpace>& perturbed) {
  const auto block_kernel = mode_columns_kernel<ColumnFormat::search, mode_b_threads, Scalar>;
  const auto max_blocks = static_cast<std::size_t>(resident_blocks(exec, block_kernel, mode_b_threads, 0));
  if (work.format == ColumnFormat::automatic)
    choose_column_format<Scalar>(exec, plan, work, max_blocks,
                                 usable_dense_columns<Scalar>(exec, plan.modes, max_blocks));
  if (!work.streams && plan.modes.of(ColumnMode::C) > 0) work.streams = std::make_shared<ColumnStreams>();
  auto outcome = plan.tasks->factorize(
      exec, plan, work, values, threshold, perturbed, [&](const ColumnLaunch<Scalar>& launch) {
        if (work.format == ColumnFormat::dense) {
          ColumnModesCuda<ColumnFormat::dense, Scalar>{exec, plan, work, launch}.run();
        } else if (work.format == ColumnFormat::map) {
          ColumnModesCuda<ColumnFormat::map, Scalar>{exec, plan, work, launch}.run();
        } else {
          ColumnModesCuda<ColumnFormat::search, Scalar>{exec, plan, work, launch}.run();
        }
      });
  outcome.columns = report_of_columns(plan, work, max_blocks);
  return outcome;
}

// ---- overloads

template <>
inline constexpr bool has_column_kernels<Kokkos::Cuda> = true;

inline std::shared_ptr<const ColumnTaskPlan<Kokkos::CudaSpace>> plan_column_tasks(
    const Kokkos::Cuda& exec, const RightLookingLuPlan<Kokkos::CudaSpace>& plan, const MemoryBudget& budget,
    const ColumnAblation& ablation) {
  if (plan.options.portable) return {};
  return std::make_shared<const ColumnTaskPlan<Kokkos::CudaSpace>>(exec, plan, budget, ablation);
}

inline void make_column_flags(const Kokkos::Cuda& exec, const RightLookingLuPlan<Kokkos::CudaSpace>& plan,
                              RightLookingLuWorkspace<Kokkos::CudaSpace>& work) {
  if (!plan.tasks) return;
  work.state = {exec, work.reservation, "lutra::numeric::column_state", 1};
  if (plan.options.mode != ColumnMode::flow) return;
  work.arrived = work.reservation.template allocate<decltype(work.arrived)>(
      exec, "lutra::numeric::arrived_tasks", static_cast<std::size_t>(plan.n()));
  Kokkos::deep_copy(exec, work.arrived, 0u);
}

template <class Scalar>
RightLookingLuOutcome factorize_columns(const Kokkos::Cuda& exec,
                                        const RightLookingLuPlan<Kokkos::CudaSpace>& plan,
                                        RightLookingLuWorkspace<Kokkos::CudaSpace>& work,
                                        const Kokkos::View<Scalar*, Kokkos::CudaSpace>& values,
                                        const PivotThreshold& threshold,
                                        const Kokkos::View<unsigned char*, Kokkos::CudaSpace>& perturbed) {
  if (!plan.tasks) return factorize_portable(exec, plan, work, values, threshold, perturbed);
  if (plan.options.mode != ColumnMode::flow)
    return factorize_by_modes(exec, plan, work, values, threshold, perturbed);
  return plan.tasks->factorize(
      exec, plan, work, values, threshold, perturbed,
      [&](const ColumnLaunch<Scalar>& launch) { plan.tasks->launch_flow(exec, launch); });
}

}  // namespace lutra::Impl

#endif
