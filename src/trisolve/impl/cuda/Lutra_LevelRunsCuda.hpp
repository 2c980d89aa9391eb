// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LEVELRUNSCUDA_HPP
#define LUTRA_LEVELRUNSCUDA_HPP

#include <Kokkos_Core.hpp>
#include <Kokkos_Profiling_ScopedRegion.hpp>

#include <array>
#include <stdexcept>
#include <utility>
#include <vector>

#include "Lutra_CheckCuda.hpp"
#include "Lutra_KernelGraphsCuda.hpp"
#include "Lutra_LevelKernelsCuda.hpp"
#include "Lutra_LevelRuns.hpp"

// Launches of the level-set method, recorded as CUDA graphs.

namespace lutra::Impl {

/// Level-set solves of one plan, recorded as graphs: one for each combination of the solver's own arrays.
/// The caller's arrays are replaced where they differ from those of the last solve.
class LevelGraph {
 public:
  /// The solver's arrays, right-hand sides and conjugation that a recording was made for.
  struct Key {
    std::array<const void*, 3> arrays{};
    bool conjugate = false;
    bool operator==(const Key&) const = default;
  };
  /// The caller's arrays of a solve.
  struct CallerArrays {
    std::array<const void*, 6> arrays{};
    std::array<std::size_t, 2> row_strides{};
    bool operator==(const CallerArrays&) const = default;
  };
  /// A launch that accesses the caller's arrays, by its first argument.
  struct BoundaryNode {
    cudaGraphNode_t node = nullptr;  ///< belongs to the graph
    std::size_t arguments = 0;
  };
  struct Recording {
    Key key;
    CallerArrays ends;
    CudaOwner<cudaGraph_t> graph;
    CudaOwner<cudaGraphExec_t> exec;
    std::vector<BoundaryNode> boundary;
  };

  Recording* find(const Key& key) {
    for (auto& recording : m_recordings) {
      if (recording.key == key) return &recording;
    }
    return nullptr;
  }
  Recording& add(Recording&& recording) {
    if (m_recordings.size() == max_recordings) m_recordings.erase(m_recordings.begin());
    return m_recordings.emplace_back(std::move(recording));
  }

 private:
  static constexpr std::size_t max_recordings = 16;
  std::vector<Recording> m_recordings;
};

inline constexpr int early_launch_arch = 90;  ///< from which on kernels can wait for the launch before

/// Launches a kernel that may begin while the one before in the stream still runs, if the kernel waits for
/// it itself.
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

template <class Scalar, class Value, class Ordinal, class Offset>
void launch_small_run(cudaStream_t stream, const BlockSolveData<Scalar, Value, Ordinal, Offset>& data,
                      const LevelRuns<Ordinal>& levels, const LevelRun<Ordinal>& run) {
  const auto kernel = small_levels_kernel<chain_warps, Scalar, Value, Ordinal, Offset>;
  check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, chain_shared_bytes),
             "asking for shared memory");
  launch_early(stream, kernel, 1, chain_warps * narrow_lanes, chain_shared_bytes, data,
               levels.first_task(run), levels.end_task(run), run.first_level, run.end_level,
               levels.max_tasks(run));
}

/// Whether all levels access the caller's arrays themselves: they are few and large, so that replacing these
/// arrays in all of them is cheap.
template <class Ordinal>
bool takes_whole_levels(const LevelRuns<Ordinal>& levels) {
  constexpr Ordinal few = 8;
  return levels.runs.size() == 1 && !levels.runs[0].small && levels.runs[0].end_level <= few;
}

/// Teams for the tasks of a large level, a warp each.
template <class Ordinal>
unsigned level_teams(Ordinal tasks) {
  return static_cast<unsigned>((tasks + level_warps - 1) / level_warps);
}

/// Launches of a solve whose levels access the caller's arrays.
template <class Scalar, class Value, class Ordinal, class Offset>
void launch_whole_levels(cudaStream_t stream, const BlockSolveData<Scalar, Value, Ordinal, Offset>& data,
                         const LevelRuns<Ordinal>& levels) {
  const Ordinal end_level = levels.runs[0].end_level;
  for (Ordinal level = 0; level < end_level; ++level) {
    const Ordinal first = levels.first_task(level);
    launch_early(stream, whole_level_kernel<Scalar, Value, Ordinal, Offset>, level_teams(levels.tasks(level)),
                 level_warps * narrow_lanes, 0, data, first, first + levels.tasks(level),
                 level + 1 < end_level);
  }
}

/// All launches of a solve, in their order.
template <class Scalar, class Value, class Ordinal, class Offset>
void launch_levels(cudaStream_t stream, const BlockSolveData<Scalar, Value, Ordinal, Offset>& data,
                   std::int64_t n, const LevelRuns<Ordinal>& levels) {
  if (takes_whole_levels(levels)) return launch_whole_levels(stream, data, levels);
  const auto teams = static_cast<unsigned>((n + staging_threads - 1) / staging_threads);
  gather_rhs_kernel<<<teams, staging_threads, 0, stream>>>(data, n);
  check_cuda(cudaGetLastError(), "launching a triangular solve");
  for (const auto& run : levels.runs) {
    if (run.small) {
      launch_small_run(stream, data, levels, run);
      continue;
    }
    for (Ordinal level = run.first_level; level < run.end_level; ++level) {
      const Ordinal first = levels.first_task(level);
      launch_early(stream, large_level_kernel<Scalar, Value, Ordinal, Offset>,
                   level_teams(levels.tasks(level)), level_warps * narrow_lanes, 0, data, first,
                   first + levels.tasks(level));
    }
  }
  launch_early(stream, scatter_solution_kernel<Scalar, Value, Ordinal, Offset>, teams, staging_threads, 0,
               data, n);
}

/// Appends the nodes that launch a kernel.
template <class... Parameters>
void add_nodes_of(void (*kernel)(Parameters...), const std::vector<cudaGraphNode_t>& nodes,
                  std::vector<LevelGraph::BoundaryNode>& found) {
  for (const auto node : nodes) {
    cudaKernelNodeParams parameters{};
    check_cuda(cudaGraphKernelNodeGetParams(node, &parameters), "looking up a launch of a solve");
    if (parameters.func == reinterpret_cast<const void*>(kernel))
      found.push_back({node, sizeof...(Parameters)});
  }
}

/// The launches that access the caller's arrays.
template <class Scalar, class Value, class Ordinal, class Offset>
std::vector<LevelGraph::BoundaryNode> find_boundary_nodes(cudaGraph_t graph) {
  std::size_t count = 0;
  check_cuda(cudaGraphGetNodes(graph, nullptr, &count), "counting the launches of a solve");
  std::vector<cudaGraphNode_t> nodes(count);
  check_cuda(cudaGraphGetNodes(graph, nodes.data(), &count), "listing the launches of a solve");
  std::vector<LevelGraph::BoundaryNode> found;
  add_nodes_of(gather_rhs_kernel<Scalar, Value, Ordinal, Offset>, nodes, found);
  add_nodes_of(whole_level_kernel<Scalar, Value, Ordinal, Offset>, nodes, found);
  add_nodes_of(scatter_solution_kernel<Scalar, Value, Ordinal, Offset>, nodes, found);
  if (found.empty())
    throw std::runtime_error("lutra: the launches of the triangular solve were not recorded");
  return found;
}

template <class Scalar, class Value, class Ordinal, class Offset>
LevelGraph::Recording record_levels(const BlockSolveData<Scalar, Value, Ordinal, Offset>& data,
                                    std::int64_t n, const LevelRuns<Ordinal>& levels) {
  LevelGraph::Recording result;
  cudaStream_t made = nullptr;
  check_cuda(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking), "making a stream to record");
  const CudaOwner<cudaStream_t> stream(made);
  check_cuda(cudaStreamBeginCapture(made, cudaStreamCaptureModeThreadLocal), "recording a triangular solve");
  cudaGraph_t graph = nullptr;
  try {
    launch_levels(made, data, n, levels);
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
  result.boundary = find_boundary_nodes<Scalar, Value, Ordinal, Offset>(graph);
  return result;
}

/// Replaces the caller's arrays in a recording.
template <class Data>
void replace_caller_arrays(const LevelGraph::Recording& recording, Data data) {
  for (const auto& end : recording.boundary) {
    cudaKernelNodeParams parameters{};
    check_cuda(cudaGraphKernelNodeGetParams(end.node, &parameters), "looking up a launch of a solve");
    std::vector<void*> arguments(parameters.kernelParams, parameters.kernelParams + end.arguments);
    arguments[0] = &data;
    parameters.kernelParams = arguments.data();
    check_cuda(cudaGraphExecKernelNodeSetParams(recording.exec.get(), end.node, &parameters),
               "exchanging the ends of a triangular solve");
  }
}

/// The level-set method on CUDA. data.current holds solutions by position, and right-hand sides before,
/// unless levels access the caller's arrays. Does not fence.
/// One right-hand side.
/// @param n     rows
/// @param cache belongs to the plan: a new plan needs a new one
/// @throws std::runtime_error where CUDA refuses
template <class Scalar, class Value, class Ordinal, class Offset>
void solve_levels_cuda(const Kokkos::Cuda& exec, const BlockSolveData<Scalar, Value, Ordinal, Offset>& data,
                       std::int64_t n, const LevelRuns<Ordinal>& levels, LevelGraph& cache) {
  const Kokkos::Profiling::ScopedRegion region("lutra::trisolve::levels");
  const LevelGraph::Key key{{data.current, data.entries, data.inverses}, data.conjugate};
  const LevelGraph::CallerArrays ends{
      {data.in.data, data.in.scale, data.in_row, data.out.data, data.out.scale, data.out_row},
      {data.in.row_stride, data.out.row_stride}};
  LevelGraph::Recording* recording = cache.find(key);
  if (recording == nullptr) {
    recording = &cache.add(record_levels(data, n, levels));
    recording->key = key;
    recording->ends = ends;
  } else if (!(recording->ends == ends)) {
    replace_caller_arrays(*recording, data);
    recording->ends = ends;
  }
  check_cuda(cudaGraphLaunch(recording->exec.get(), exec.cuda_stream()), "launching a triangular solve");
}

}  // namespace lutra::Impl

#endif
