// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_WORKMARK_HPP
#define LUTRA_WORKMARK_HPP

#include <Kokkos_Core.hpp>

#include <optional>

#ifdef KOKKOS_ENABLE_CUDA
#include <utility>

#include "Lutra_CheckCuda.hpp"
#endif

namespace lutra::Impl {

/// A point in the work of one execution space instance for which another one waits. Where a space has no
/// events, the calling thread waits.
template <class ExecutionSpace>
class WorkMark {
 public:
  /// Marks the end of what is queued on `exec` now.
  void set(const ExecutionSpace& exec) { m_exec = exec; }
  /// What is queued on `exec` from now on starts after the marked work; at once if nothing is marked.
  void hold_back(const ExecutionSpace&) const {
    if (m_exec) m_exec->fence("lutra: the work of another instance is complete");
  }

 private:
  std::optional<ExecutionSpace> m_exec;
};

#ifdef KOKKOS_ENABLE_CUDA
/// By an event: the calling thread does not wait.
template <>
class WorkMark<Kokkos::Cuda> {
 public:
  WorkMark() = default;
  WorkMark(const WorkMark&) = delete;
  WorkMark(WorkMark&& other) noexcept : m_event(std::exchange(other.m_event, nullptr)) {}
  WorkMark& operator=(WorkMark other) noexcept {
    std::swap(m_event, other.m_event);
    return *this;
  }
  ~WorkMark() {
    if (m_event != nullptr) cudaEventDestroy(m_event);
  }

  void set(const Kokkos::Cuda& exec) {
    if (m_event == nullptr)
      check_cuda(cudaEventCreateWithFlags(&m_event, cudaEventDisableTiming), "making an event");
    check_cuda(cudaEventRecord(m_event, exec.cuda_stream()), "marking work");
  }
  void hold_back(const Kokkos::Cuda& exec) const {
    if (m_event != nullptr)
      check_cuda(cudaStreamWaitEvent(exec.cuda_stream(), m_event, 0), "waiting for marked work");
  }

 private:
  cudaEvent_t m_event = nullptr;
};
#endif

}  // namespace lutra::Impl

#endif
