// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SWEEPKERNELSCUDA_HPP
#define LUTRA_SWEEPKERNELSCUDA_HPP

#include <algorithm>

#include "Lutra_CheckCuda.hpp"
#include "Lutra_MessageKernelsCuda.hpp"
#include "Lutra_ResidentBlocksCuda.hpp"
#include "Lutra_RowTasksCuda.hpp"

namespace lutra::Impl {

/// The kernels of a distributed triangular solve, for any backend whose kernels put. Launches do not wait.
///
///     peer      WindowKernels<Scalar, PeerWindow>, made by KernelSweeps
///     nvshmem   WindowKernels<Scalar, NvshmemWindow>, a base of the memory's DeviceArena, which is compiled
///               in Lutra::nvshmem; so Lutra::lutra needs no symbol of that library
template <class Scalar>
class SweepKernels {
 public:
  virtual ~SweepKernels() = default;
  /// The persistent kernel. @param n number of tasks @param sum_bytes of the longest row's sum
  /// @param ticket set to zero first
  virtual void launch_rows(const Kokkos::Cuda& exec, const RowTaskArrays<Scalar>& data, std::size_t n,
                           std::size_t sum_bytes, int* ticket, unsigned long long epoch) const = 0;
  /// @param is_resident as for `wait_for_messages_kernel`
  virtual void launch_wait(cudaStream_t stream, const MessageArrays<Scalar>& arrays, unsigned long long epoch,
                           int* is_resident) const = 0;
  /// @param ticket zero
  virtual void launch_solve(const Kokkos::Cuda& exec, const MessageArrays<Scalar>& arrays, int* ticket,
                            unsigned long long epoch) const = 0;
  /// Ends the waits of this rank's kernels while they run.
  virtual void end_waits() const = 0;
  /// After the kernels: number of the rank that gave up first plus one, or 0.
  virtual unsigned long long aborted_by() const = 0;
};

template <class Scalar, class Window>
class WindowKernels : public SweepKernels<Scalar> {
 public:
  explicit WindowKernels(const Window& window) : m_window(window) {}
  const Window& window() const { return m_window; }

  void launch_rows(const Kokkos::Cuda& exec, const RowTaskArrays<Scalar>& data, std::size_t n,
                   std::size_t sum_bytes, int* ticket, unsigned long long epoch) const override {
    if (n == 0) return;
    const std::size_t triangle_bytes = bytes_of_triangle<Scalar>(data.max_width, default_shared_memory);
    const bool in_shared = Window::puts_from_anywhere && triangle_bytes + sum_bytes <= default_shared_memory;
    const std::size_t bytes = triangle_bytes + (in_shared ? sum_bytes : 0);
    const int at_once = resident_blocks(exec, row_tasks_kernel<Scalar, Window>, row_task_threads, bytes);
    const auto blocks =
        std::min(n, static_cast<std::size_t>(std::max(at_once, exec.cuda_device_prop().multiProcessorCount)));
    check_cuda(cudaMemsetAsync(ticket, 0, sizeof(int), exec.cuda_stream()), "starting a triangular solve");
    row_tasks_kernel<Scalar, Window>
        <<<static_cast<unsigned>(blocks), row_task_threads, bytes, exec.cuda_stream()>>>(
            data, m_window, static_cast<int>(n), ticket, epoch, static_cast<unsigned>(triangle_bytes),
            in_shared);
    check_cuda(cudaGetLastError(), "launching a triangular solve");
  }

  void launch_wait(cudaStream_t stream, const MessageArrays<Scalar>& arrays, unsigned long long epoch,
                   int* is_resident) const override {
    // CUDA loads a kernel when it is first asked for, which may wait for kernels that run: SOLVE before WAIT.
    cudaFuncAttributes loaded{};
    check_cuda(cudaFuncGetAttributes(&loaded, solve_columns_kernel<Scalar, Window>),
               "loading the kernel SOLVE");
    wait_for_messages_kernel<Scalar, Window>
        <<<2, wait_threads, 0, stream>>>(arrays, m_window, epoch, is_resident);
    check_cuda(cudaGetLastError(), "launching the kernel WAIT");
  }

  void launch_solve(const Kokkos::Cuda& exec, const MessageArrays<Scalar>& arrays, int* ticket,
                    unsigned long long epoch) const override {
    const std::size_t bytes = bytes_of_triangle<Scalar>(arrays.data.max_width, default_shared_memory);
    const int most =
        std::max(resident_blocks(exec, solve_columns_kernel<Scalar, Window>, message_threads, bytes), 1);
    const int blocks = std::min(arrays.n_columns, most);
    if (blocks == 0) return;
    solve_columns_kernel<Scalar, Window>
        <<<static_cast<unsigned>(blocks), message_threads, bytes, exec.cuda_stream()>>>(
            arrays, m_window, ticket, epoch, bytes > 0);
    check_cuda(cudaGetLastError(), "launching the kernel SOLVE");
  }

  void end_waits() const override { m_window.abort_from_host(); }
  unsigned long long aborted_by() const override { return m_window.aborted_on_host(); }

 private:
  Window m_window;
};

}  // namespace lutra::Impl

#endif
