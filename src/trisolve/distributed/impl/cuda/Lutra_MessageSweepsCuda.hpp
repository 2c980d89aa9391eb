// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_MESSAGESWEEPSCUDA_HPP
#define LUTRA_MESSAGESWEEPSCUDA_HPP

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "Lutra_CheckCuda.hpp"
#include "Lutra_MessageTaskList.hpp"
#include "Lutra_SweepKernelsCuda.hpp"
#include "Lutra_Upload.hpp"

namespace lutra::Impl {

/// The kernels WAIT and SOLVE of one rank: data, streams and launches.
template <class Scalar>
class MessageSweeps {
 public:
  using Exec = Kokkos::Cuda;
  using Memory = Kokkos::CudaSpace;

  MessageSweeps(const Exec& exec, MemoryReservation& reservation, const MessageTaskList<Scalar>& list)
      : m_exec(exec),
        m_columns(upload(exec, reservation, "lutra::trisolve::columns", list.columns)),
        m_pieces(upload(exec, reservation, "lutra::trisolve::pieces", list.pieces)),
        m_rows(upload(exec, reservation, "lutra::trisolve::rows", list.rows)),
        m_x_arrivals(upload(exec, reservation, "lutra::trisolve::x_arrivals", list.x_arrivals)),
        m_sum_arrivals(upload(exec, reservation, "lutra::trisolve::sum_arrivals", list.sum_arrivals)),
        m_targets(upload(exec, reservation, "lutra::trisolve::broadcasts", list.targets)),
        m_contributions(upload(exec, reservation, "lutra::trisolve::contributions", list.contributions())),
        m_missing(reservation.template allocate<Flags>(exec, "lutra::trisolve::missing", list.rows.size())),
        m_flags(
            reservation.template allocate<Flags>(exec, "lutra::trisolve::has_x", list.columns.size() + 1)),
        m_mask(reservation.template allocate<Kokkos::View<unsigned char*, Memory>>(
            exec, "lutra::trisolve::mask", list.x_arrivals.size() + list.sum_arrivals.size())) {
    check_cuda(cudaStreamCreateWithFlags(&m_wait_stream, cudaStreamNonBlocking), "creating a stream");
    check_cuda(cudaEventCreateWithFlags(&m_ready, cudaEventDisableTiming), "creating an event");
    void* memory = nullptr;
    check_cuda(cudaHostAlloc(&memory, 2 * sizeof(int), cudaHostAllocMapped), "allocating a flag");
    m_is_resident = static_cast<volatile int*>(memory);
  }
  ~MessageSweeps() {
    cudaStreamSynchronize(m_wait_stream);
    cudaStreamDestroy(m_wait_stream);
    cudaEventDestroy(m_ready);
    cudaFreeHost(const_cast<int*>(m_is_resident));
  }
  MessageSweeps(const MessageSweeps&) = delete;
  MessageSweeps& operator=(const MessageSweeps&) = delete;

  /// Resets counters, masks and sums, and launches WAIT. SOLVE may follow once `is_waiting`.
  /// @param sums all sums of `data`
  void launch_wait(const RowTaskArrays<Scalar>& data, const Kokkos::View<Scalar*, Memory>& sums,
                   const SweepKernels<Scalar>& kernels, std::uint64_t epoch) {
    const auto stream = m_exec.cuda_stream();
    Kokkos::deep_copy(m_exec, m_missing, m_contributions);
    const auto clear = [&](const auto& view) {
      using Value = typename std::decay_t<decltype(view)>::value_type;
      check_cuda(cudaMemsetAsync(view.data(), 0, view.extent(0) * sizeof(Value), stream),
                 "starting a triangular solve");
    };
    clear(m_flags);
    clear(m_mask);
    clear(sums);
    check_cuda(cudaEventRecord(m_ready, stream), "starting a triangular solve");
    check_cuda(cudaStreamWaitEvent(m_wait_stream, m_ready, 0), "starting a triangular solve");
    m_is_resident[0] = 0;
    m_is_resident[1] = 0;
    int* on_device = nullptr;
    check_cuda(cudaHostGetDevicePointer(&on_device, const_cast<int*>(m_is_resident), 0), "mapping a flag");
    kernels.launch_wait(m_wait_stream, arrays(data), epoch, on_device);
  }
  /// Whether both blocks of WAIT are on the device (the paper's flag_w).
  bool is_waiting() const { return m_is_resident[0] != 0 && m_is_resident[1] != 0; }

  void launch_solve(const RowTaskArrays<Scalar>& data, const SweepKernels<Scalar>& kernels,
                    std::uint64_t epoch) {
    kernels.launch_solve(m_exec, arrays(data), m_flags.data() + m_columns.extent(0), epoch);
  }
  bool is_done() const {
    return cudaStreamQuery(m_wait_stream) != cudaErrorNotReady &&
           cudaStreamQuery(m_exec.cuda_stream()) != cudaErrorNotReady;
  }
  /// Waits for both kernels and reports an error of either.
  cudaError_t synchronize() const {
    const cudaError_t of_wait = cudaStreamSynchronize(m_wait_stream);
    const cudaError_t of_solve = cudaStreamSynchronize(m_exec.cuda_stream());
    return of_wait != cudaSuccess ? of_wait : of_solve;
  }

 private:
  using Flags = Kokkos::View<int*, Memory>;

  MessageArrays<Scalar> arrays(const RowTaskArrays<Scalar>& data) const {
    return {data,
            m_columns.data(),
            m_pieces.data(),
            m_rows.data(),
            m_x_arrivals.data(),
            m_sum_arrivals.data(),
            m_targets.data(),
            static_cast<int>(m_columns.extent(0)),
            static_cast<int>(m_x_arrivals.extent(0)),
            static_cast<int>(m_sum_arrivals.extent(0)),
            m_missing.data(),
            m_flags.data(),
            m_mask.data()};
  }

  Exec m_exec;
  cudaStream_t m_wait_stream = nullptr;
  cudaEvent_t m_ready = nullptr;
  volatile int* m_is_resident = nullptr;  ///< [2] in host memory, a flag for each block of WAIT
  Kokkos::View<const MessageColumn*, Memory> m_columns;
  Kokkos::View<const MessagePiece*, Memory> m_pieces;
  Kokkos::View<const MessageRow*, Memory> m_rows;
  Kokkos::View<const MessageArrival*, Memory> m_x_arrivals, m_sum_arrivals;
  Kokkos::View<const RowSlot*, Memory> m_targets;
  Kokkos::View<const int*, Memory> m_contributions;
  Flags m_missing, m_flags;  ///< [rows]; [columns + 1] whether x has arrived, then the ticket
  Kokkos::View<unsigned char*, Memory> m_mask;
};

}  // namespace lutra::Impl

#endif
