// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Kokkos_Core.hpp>
#include <catch2/catch_test_macros.hpp>

#include "Lutra_Communicator.hpp"

#ifdef KOKKOS_ENABLE_CUDA
#include "Lutra_PeerWindow.hpp"

namespace {

constexpr std::size_t length = 512;  // doubles of a message

// One block. In each epoch it puts to the next rank, waits for the previous one, checks the received values,
// tells that rank that its slot is free again, and waits for the same signal from the next rank. Rank 0
// counts all epochs of all ranks.
__global__ void pass_around(lutra::Impl::PeerWindow window, double* own, unsigned long long epochs,
                            int* wrong) {
  const int next = (window.rank + 1) % window.size, before = (window.rank + window.size - 1) % window.size;
  for (unsigned long long epoch = 1; epoch <= epochs; ++epoch) {
    own[threadIdx.x] = 1000.0 * static_cast<double>(epoch) + window.rank;
    __syncthreads();
    window.put(next, 0, own, length, 0, epoch);
    bool good = window.wait(0, epoch);
    const auto* const come = reinterpret_cast<volatile double*>(window.bytes[window.rank]);
    if (good && come[threadIdx.x] != 1000.0 * static_cast<double>(epoch) + before) atomicAdd(wrong, 1);
    __syncthreads();
    if (threadIdx.x == 0) {
      window.add(before, 1, 1);
      window.add(0, 2, 1);
    }
    good = good && window.wait(1, epoch);
    if (!good) {
      atomicExch(wrong, -1);
      return;
    }
  }
  if (window.rank == 0 && !window.wait(2, epochs * window.size)) atomicExch(wrong, -1);
}

// One block waits for a value that no rank sends.
__global__ void wait_in_vain(lutra::Impl::PeerWindow window, int* came) {
  const bool there = window.wait(0, 1);
  if (threadIdx.x == 0) *came = there ? 1 : 0;
}

}  // namespace
#endif

TEST_CASE("kernels write into the memory of other ranks' devices", "[comm]") {
#ifdef KOKKOS_ENABLE_CUDA
  lutra::Communicator comm;
  lutra::SymmetricMemory memory(comm, length * sizeof(double), 3, lutra::CommBackend::peer);
  Kokkos::View<double*, Kokkos::CudaSpace> own("own", length);
  Kokkos::View<int, Kokkos::CudaSpace> wrong("wrong");
  pass_around<<<1, length>>>(memory.peer_window(), own.data(), 100, wrong.data());
  int found = 0;
  Kokkos::deep_copy(found, wrong);
  CHECK(found == 0);
  comm.barrier();
  memory.close();
  comm.close();
#else
  SUCCEED("this build has no CUDA");
#endif
}

TEST_CASE("a kernel that waits too long ends the waits of all ranks", "[comm]") {
#ifdef KOKKOS_ENABLE_CUDA
  lutra::Communicator comm(MPI_COMM_WORLD, {.watchdog_seconds = 2});
  lutra::SymmetricMemory memory(comm, 16, 1, lutra::CommBackend::peer);
  const lutra::Impl::PeerWindow window = memory.peer_window();
  Kokkos::View<int, Kokkos::CudaSpace> came("came");
  Kokkos::deep_copy(came, -1);
  {
    const lutra::Communicator::Work work(comm);
    wait_in_vain<<<1, 64>>>(window, came.data());
    int found = -1;
    Kokkos::deep_copy(found, came);
    CHECK(found == 0);
  }
  const auto by = window.aborted_on_host();  // the rank that gave up first, plus one
  CHECK(by >= 1);
  CHECK(by <= static_cast<unsigned long long>(comm.size()));
  memory.close();
  comm.close();
#else
  SUCCEED("this build has no CUDA");
#endif
}
