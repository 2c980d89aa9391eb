// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LEVELRUNSCUDA_HPP
#define LUTRA_LEVELRUNSCUDA_HPP

#include <Kokkos_Core.hpp>
#include <Kokkos_Profiling_ScopedRegion.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "Lutra_CheckCuda.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_KernelGraphsCuda.hpp"
#include "Lutra_LevelKernelsCuda.hpp"
#include "Lutra_LevelRuns.hpp"

// Launches of the level-set method, recorded as CUDA graphs.

namespace lutra::Impl {

/// Level-set solves of one plan, recorded as graphs: one for each combination of the solver's own arrays. The
/// caller's arrays are replaced if they differ from those of the last solve.
class LevelGraph {
 public:
  /// The solver's arrays, right-hand sides and conjugation of a recording.
  struct Key {
    std::array<const void*, 3> arrays{};
    bool conjugate = false;
    bool operator==(const Key&) const = default;
  };
  /// The caller's arrays in a solve.
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
  static constexpr std::size_t max_recordings = 16;  ///< bounds the memory of graphs; the oldest is dropped
  std::vector<Recording> m_recordings;
};

inline constexpr int early_launch_arch = 90;  ///< first with kernels that wait for the preceding launch

/// Creates a graph of successive launches. The nodes are added individually: a captured stream would be
/// invalidated if another thread waited for the device meanwhile.
class LaunchChain {
 public:
  LaunchChain() {
    cudaGraph_t graph = nullptr;
    check_cuda(cudaGraphCreate(&graph, 0), "making a graph");
    m_graph.reset(graph);
  }

  /// Appends a launch. One that itself waits for the preceding launch may start while that is still running.
  /// @param waits whether the kernel calls wait_for_launch_before
  template <class... Parameters, class... Arguments>
  cudaGraphNode_t add(bool waits, void (*kernel)(Parameters...), unsigned teams, int threads,
                      std::size_t shared_bytes, const Arguments&... arguments) {
    std::tuple<Parameters...> values(static_cast<Parameters>(arguments)...);
    auto pointers = std::apply(
        [](auto&... value) { return std::array<void*, sizeof...(Parameters)>{&value...}; }, values);
    cudaKernelNodeParams parameters{};
    parameters.func = reinterpret_cast<void*>(kernel);
    parameters.gridDim = dim3(teams);
    parameters.blockDim = dim3(static_cast<unsigned>(threads));
    parameters.sharedMemBytes = static_cast<unsigned>(shared_bytes);
    parameters.kernelParams = pointers.data();
    cudaGraphNode_t node = nullptr;
    check_cuda(cudaGraphAddKernelNode(&node, m_graph.get(), nullptr, 0, &parameters),
               "recording a triangular solve");
    if (m_last != nullptr) add_dependency(node, waits && can_begin_early(parameters.func));
    return m_last = node;
  }

  /// Appends a launch whose first argument holds the caller's arrays.
  template <class... Parameters, class... Arguments>
  void add_boundary(bool waits, void (*kernel)(Parameters...), const Arguments&... arguments) {
    m_boundary.push_back({add(waits, kernel, arguments...), sizeof...(Parameters)});
  }

  LevelGraph::Recording finish() {
    LevelGraph::Recording result;
    cudaGraphExec_t exec = nullptr;
    check_cuda(cudaGraphInstantiate(&exec, m_graph.get(), 0), "preparing the recorded triangular solve");
    result.exec.reset(exec);
    result.graph = std::move(m_graph);
    result.boundary = std::move(m_boundary);
    return result;
  }

 private:
  static bool can_begin_early(const void* kernel) {
    cudaFuncAttributes compiled{};
    check_cuda(cudaFuncGetAttributes(&compiled, kernel), "looking up a kernel");
    return compiled.ptxVersion >= early_launch_arch && compiled.binaryVersion >= early_launch_arch;
  }

  void add_dependency(cudaGraphNode_t node, bool early) const {
#if CUDART_VERSION >= 12030
    cudaGraphEdgeData edge{};
    if (early) {
      edge.type = cudaGraphDependencyTypeProgrammatic;
      edge.from_port = cudaGraphKernelNodePortProgrammatic;
    }
#endif
#if CUDART_VERSION >= 13000
    const auto status = cudaGraphAddDependencies(m_graph.get(), &m_last, &node, &edge, 1);
#elif CUDART_VERSION >= 12030
    const auto status = cudaGraphAddDependencies_v2(m_graph.get(), &m_last, &node, &edge, 1);
#else
    static_cast<void>(early);
    const auto status = cudaGraphAddDependencies(m_graph.get(), &m_last, &node, 1);
#endif
    check_cuda(status, "recording a triangular solve");
  }

  CudaOwner<cudaGraph_t> m_graph;
  std::vector<LevelGraph::BoundaryNode> m_boundary;
  cudaGraphNode_t m_last = nullptr;
};

template <class Scalar, class Value>
void add_small_run(LaunchChain& chain, const BlockSolveData<Scalar, Value>& data, const LevelRuns& levels,
                   const LevelRun& run) {
  const auto kernel = small_levels_kernel<chain_warps, Scalar, Value>;
  check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, chain_shared_bytes),
             "asking for shared memory");
  chain.add(true, kernel, 1, chain_warps * narrow_lanes, chain_shared_bytes, data, levels.first_task(run),
            levels.end_task(run), run.first_level, run.end_level, levels.max_tasks(run));
}

/// Whether all levels access the caller's arrays directly: they are few and large, so that replacing these
/// arrays in all of them is cheap.
inline bool takes_whole_levels(const LevelRuns& levels) {
  constexpr Ordinal few = 8;
  return levels.runs.size() == 1 && !levels.runs[0].small && levels.runs[0].end_level <= few;
}

/// Teams for the tasks of a large level, one warp per task.
inline unsigned level_teams(Ordinal tasks) {
  return static_cast<unsigned>((tasks + level_warps - 1) / level_warps);
}

/// Adds the launches of a solve whose levels access the caller's arrays.
template <class Scalar, class Value>
void add_whole_levels(LaunchChain& chain, const BlockSolveData<Scalar, Value>& data,
                      const LevelRuns& levels) {
  const Ordinal end_level = levels.runs[0].end_level;
  for (Ordinal level = 0; level < end_level; ++level) {
    const Ordinal first = levels.first_task(level);
    chain.add_boundary(true, whole_level_kernel<Scalar, Value>, level_teams(levels.tasks(level)),
                       level_warps * narrow_lanes, 0, data, first, first + levels.tasks(level),
                       level + 1 < end_level);
  }
}

/// Adds all launches of a solve in order.
template <class Scalar, class Value>
void add_levels(LaunchChain& chain, const BlockSolveData<Scalar, Value>& data, std::int64_t n,
                const LevelRuns& levels) {
  if (takes_whole_levels(levels)) return add_whole_levels(chain, data, levels);
  const auto teams = static_cast<unsigned>((n + staging_threads - 1) / staging_threads);
  chain.add_boundary(false, gather_rhs_kernel<Scalar, Value>, teams, staging_threads, 0, data, n);
  for (const auto& run : levels.runs) {
    if (run.small) {
      add_small_run(chain, data, levels, run);
      continue;
    }
    for (Ordinal level = run.first_level; level < run.end_level; ++level) {
      const Ordinal first = levels.first_task(level);
      chain.add(true, large_level_kernel<Scalar, Value>, level_teams(levels.tasks(level)),
                level_warps * narrow_lanes, 0, data, first, first + levels.tasks(level));
    }
  }
  chain.add_boundary(true, scatter_solution_kernel<Scalar, Value>, teams, staging_threads, 0, data, n);
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

/// The level-set method on CUDA for one right-hand side. data.current holds solutions by position, and before
/// them right-hand sides, unless levels access the caller's arrays. Does not fence.
/// @param n     rows
/// @param cache belongs to the plan: a new plan needs a new one
/// @throws std::runtime_error on a CUDA error
template <class Scalar, class Value>
void solve_levels_cuda(const Kokkos::Cuda& exec, const BlockSolveData<Scalar, Value>& data, std::int64_t n,
                       const LevelRuns& levels, LevelGraph& cache) {
  const Kokkos::Profiling::ScopedRegion region("lutra::trisolve::levels");
  const LevelGraph::Key key{{data.current, data.entries, data.inverses}, data.conjugate};
  const LevelGraph::CallerArrays ends{
      {data.in.data, data.in.scale, data.in_row, data.out.data, data.out.scale, data.out_row},
      {data.in.row_stride, data.out.row_stride}};
  LevelGraph::Recording* recording = cache.find(key);
  if (recording == nullptr) {
    LaunchChain chain;
    add_levels(chain, data, n, levels);
    recording = &cache.add(chain.finish());
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
