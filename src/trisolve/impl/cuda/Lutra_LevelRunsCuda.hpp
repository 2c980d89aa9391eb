// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LEVELRUNSCUDA_HPP
#define LUTRA_LEVELRUNSCUDA_HPP

#include <Kokkos_Core.hpp>
#include <Kokkos_Profiling_ScopedRegion.hpp>

#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "Lutra_CheckCuda.hpp"
#include "Lutra_KernelGraphsCuda.hpp"
#include "Lutra_LevelKernelsCuda.hpp"

// Launches of the level-set method, recorded as CUDA graphs.

namespace lutra::Impl {

/// Launches of level-set solves of one plan, recorded as graphs: one for each combination of arrays that are
/// not the caller's. The caller's arrays are looked up anew at each solve.
class LevelGraph {
 public:
  KernelGraphs kernels;  ///< of the other methods

  /// Arrays a recording holds for, with the right-hand sides and whether values are conjugated.
  struct Key {
    std::array<const void*, 3> arrays{};
    int stride = 0;
    bool conjugate = false;
    bool operator==(const Key&) const = default;
  };
  /// The caller's side of a solve.
  struct Ends {
    std::array<const void*, 6> arrays{};
    std::array<std::size_t, 4> strides{};
    int n_columns = 0;
    bool operator==(const Ends&) const = default;
  };
  struct Recording {
    Key key;
    Ends ends;
    CudaOwner<cudaGraph_t> graph;
    CudaOwner<cudaGraphExec_t> exec;
    cudaGraphNode_t bring_in = nullptr, take_out = nullptr;  ///< belong to the graph
  };

  Recording* find(const Key& key) {
    for (auto& recording : m_recordings) {
      if (recording.key == key) return &recording;
    }
    return nullptr;
  }
  Recording& add(Recording&& recording) {
    if (m_recordings.size() == most_recordings) m_recordings.erase(m_recordings.begin());
    return m_recordings.emplace_back(std::move(recording));
  }

 private:
  static constexpr std::size_t most_recordings = 16;
  std::vector<Recording> m_recordings;
};

inline constexpr int early_launch_arch = 90;  ///< from which kernels know how to wait for the launch before

/// Launches a kernel that may begin while the one before in the stream still runs, where it knows how to
/// wait.
template <class... Parameters, class... Arguments>
void launch_early(cudaStream_t stream, void (*kernel)(Parameters...), unsigned teams, int threads,
                  std::size_t shared_bytes, const Arguments&... arguments) {
  cudaFuncAttributes compiled{};
  check_cuda(cudaFuncGetAttributes(&compiled, kernel), "looking up a kernel");
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(teams);
  config.blockDim = dim3(static_cast<unsigned>(threads));
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs =
      compiled.ptxVersion >= early_launch_arch && compiled.binaryVersion >= early_launch_arch ? 1 : 0;
  check_cuda(cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...),
             "launching a triangular solve");
}

template <int Stride, class Scalar, class Value, class Ordinal, class Offset>
void launch_thin_run(cudaStream_t stream, const BlockSolveData<Scalar, Value, Ordinal, Offset>& data,
                     const LevelRuns<Ordinal>& levels, const LevelRun<Ordinal>& run) {
  constexpr int threads = chain_warps * narrow_lanes;
  const Ordinal first = levels.first_task(run), end = levels.end_task(run);
  if constexpr (Stride == 1) {
    const auto kernel = thin_levels_kernel<chain_warps, Scalar, Value, Ordinal, Offset>;
    check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, chain_shared_bytes),
               "asking for shared memory");
    launch_early(stream, kernel, 1, threads, chain_shared_bytes, data, first, end, run.first_level,
                 run.end_level, levels.most_tasks(run));
  } else {
    launch_early(stream, thin_columns_kernel<Stride, Scalar, Value, Ordinal, Offset>, 1, threads, 0, data,
                 first, end, run.first_level, run.end_level);
  }
}

/// All launches of a solve, in their order.
template <int Stride, class Scalar, class Value, class Ordinal, class Offset>
void launch_levels(cudaStream_t stream, const BlockSolveData<Scalar, Value, Ordinal, Offset>& data,
                   std::int64_t n, const LevelRuns<Ordinal>& levels) {
  const auto teams = static_cast<unsigned>((n * Stride + staging_threads - 1) / staging_threads);
  bring_in_kernel<Stride><<<teams, staging_threads, 0, stream>>>(data, n);
  check_cuda(cudaGetLastError(), "launching a triangular solve");
  for (const auto& run : levels.runs) {
    if (run.thin) {
      launch_thin_run<Stride>(stream, data, levels, run);
      continue;
    }
    for (Ordinal level = run.first_level; level < run.end_level; ++level) {
      const Ordinal first = levels.level_begin[static_cast<std::size_t>(level)];
      const Ordinal end = first + levels.tasks(level);
      launch_early(stream, thick_level_kernel<Stride, Scalar, Value, Ordinal, Offset>,
                   static_cast<unsigned>((end - first + level_warps - 1) / level_warps),
                   level_warps * narrow_lanes, 0, data, first, end);
    }
  }
  launch_early(stream, take_out_kernel<Stride, Scalar, Value, Ordinal, Offset>, teams, staging_threads, 0,
               data, n);
}

/// The node that launches a kernel.
inline cudaGraphNode_t find_node(cudaGraph_t graph, const void* kernel) {
  std::size_t count = 0;
  check_cuda(cudaGraphGetNodes(graph, nullptr, &count), "counting the launches of a solve");
  std::vector<cudaGraphNode_t> nodes(count);
  check_cuda(cudaGraphGetNodes(graph, nodes.data(), &count), "listing the launches of a solve");
  for (const auto node : nodes) {
    cudaKernelNodeParams parameters{};
    if (cudaGraphKernelNodeGetParams(node, &parameters) == cudaSuccess && parameters.func == kernel)
      return node;
  }
  throw std::runtime_error("lutra: a launch of the triangular solve was not recorded");
}

template <int Stride, class Scalar, class Value, class Ordinal, class Offset>
LevelGraph::Recording record_levels(const BlockSolveData<Scalar, Value, Ordinal, Offset>& data,
                                    std::int64_t n, const LevelRuns<Ordinal>& levels) {
  LevelGraph::Recording result;
  cudaStream_t made = nullptr;
  check_cuda(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking), "making a stream to record");
  const CudaOwner<cudaStream_t> stream(made);
  check_cuda(cudaStreamBeginCapture(made, cudaStreamCaptureModeThreadLocal), "recording a triangular solve");
  cudaGraph_t graph = nullptr;
  try {
    launch_levels<Stride>(made, data, n, levels);
  } catch (...) {
    static_cast<void>(cudaStreamEndCapture(made, &graph));
    result.graph.reset(graph);
    throw;
  }
  check_cuda(cudaStreamEndCapture(made, &graph), "recording a triangular solve");
  result.graph.reset(graph);
  cudaGraphExec_t exec = nullptr;
  check_cuda(cudaGraphInstantiate(&exec, graph, 0), "preparing the recorded triangular solve");
  result.exec.reset(exec);
  result.bring_in = find_node(
      graph, reinterpret_cast<const void*>(bring_in_kernel<Stride, Scalar, Value, Ordinal, Offset>));
  result.take_out = find_node(
      graph, reinterpret_cast<const void*>(take_out_kernel<Stride, Scalar, Value, Ordinal, Offset>));
  return result;
}

/// Lets a recording begin and end at other arrays of the caller's.
template <int Stride, class Scalar, class Value, class Ordinal, class Offset>
void move_ends(const LevelGraph::Recording& recording, BlockSolveData<Scalar, Value, Ordinal, Offset> data,
               std::int64_t n) {
  void* arguments[] = {&data, &n};
  cudaKernelNodeParams parameters{};
  parameters.gridDim = dim3(static_cast<unsigned>((n * Stride + staging_threads - 1) / staging_threads));
  parameters.blockDim = dim3(staging_threads);
  parameters.kernelParams = arguments;
  parameters.func = reinterpret_cast<void*>(bring_in_kernel<Stride, Scalar, Value, Ordinal, Offset>);
  check_cuda(cudaGraphExecKernelNodeSetParams(recording.exec.get(), recording.bring_in, &parameters),
             "exchanging right-hand sides");
  parameters.func = reinterpret_cast<void*>(take_out_kernel<Stride, Scalar, Value, Ordinal, Offset>);
  check_cuda(cudaGraphExecKernelNodeSetParams(recording.exec.get(), recording.take_out, &parameters),
             "exchanging solutions");
}

/// The level-set method on CUDA. data.current holds right-hand sides, then solutions, by place. Does not
/// fence.
/// @param n rows
/// @param cache belongs to the plan: a new plan needs a new one
/// @throws std::runtime_error where CUDA refuses
template <int Stride, class Scalar, class Value, class Ordinal, class Offset>
void solve_levels_cuda(const Kokkos::Cuda& exec, const BlockSolveData<Scalar, Value, Ordinal, Offset>& data,
                       std::int64_t n, const LevelRuns<Ordinal>& levels, LevelGraph& cache) {
  const Kokkos::Profiling::ScopedRegion region("lutra::trisolve::levels");
  const LevelGraph::Key key{{data.current, data.entries, data.inverses}, Stride, data.conjugate};
  const LevelGraph::Ends ends{
      {data.in.data, data.in.scale, data.in_row, data.out.data, data.out.scale, data.out_row},
      {data.in.row_stride, data.in.column_stride, data.out.row_stride, data.out.column_stride},
      data.n_columns};
  LevelGraph::Recording* recording = cache.find(key);
  if (recording == nullptr) {
    recording = &cache.add(record_levels<Stride>(data, n, levels));
    recording->key = key;
    recording->ends = ends;
  } else if (!(recording->ends == ends)) {
    move_ends<Stride>(*recording, data, n);
    recording->ends = ends;
  }
  check_cuda(cudaGraphLaunch(recording->exec.get(), exec.cuda_stream()), "launching a triangular solve");
}

}  // namespace lutra::Impl

#endif
