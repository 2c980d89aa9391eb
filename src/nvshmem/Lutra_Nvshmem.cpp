// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled with relocatable device code and linked with NVSHMEM's device library. Instantiates no kernels of
// Kokkos, which would have to be the same in Lutra::lutra.
#include "Lutra_Nvshmem.hpp"

#include <string>
#include <vector>

#include "Lutra_CheckCuda.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_NvshmemWindow.hpp"
#include "Lutra_SweepKernelsCuda.hpp"

namespace lutra {
namespace Impl {
namespace {

/// Symmetric memory of one size on all ranks, signals first, and the kernels that put into it.
#define LUTRA_BASE(Scalar) , public WindowKernels<Scalar, NvshmemWindow>
#define LUTRA_INITIALIZE(Scalar) , WindowKernels<Scalar, NvshmemWindow>(window)
class NvshmemArena final : public DeviceArena LUTRA_FOR_EACH_SCALAR(LUTRA_BASE) {
 public:
  NvshmemArena(Communicator& comm, const NvshmemWindow& window)
      : DeviceArena() LUTRA_FOR_EACH_SCALAR(LUTRA_INITIALIZE), m_comm(comm), m_window(window) {}
  std::byte* bytes() const override { return m_window.bytes; }
  void close() override {
    m_comm.barrier();
    const Communicator::Work work(m_comm);
    nvshmem_free(m_window.signals);
  }

 private:
  Communicator& m_comm;
  NvshmemWindow m_window;
};
#undef LUTRA_BASE
#undef LUTRA_INITIALIZE

[[noreturn]] void throw_too_large(std::size_t bytes) {
  throw OutOfMemoryError("symmetric memory of NVSHMEM of " + std::to_string(bytes) +
                             " bytes does not fit; NVSHMEM_SYMMETRIC_SIZE may limit it",
                         bytes);
}

std::shared_ptr<DeviceArena> make_arena(Communicator& comm, std::size_t bytes, std::size_t signals) {
  std::vector<std::size_t> most{bytes, signals};
  comm.all_max(most);
  const std::size_t head = ((most[1] + 1) * sizeof(std::uint64_t) + 15) / 16 * 16, all = head + most[0];
  NvshmemWindow window;
  window.rank = comm.rank();
  window.size = comm.size();
  window.watchdog = static_cast<std::uint64_t>(1e9 * comm.options().watchdog_seconds);
  comm.agree("allocation of NVSHMEM memory", [&] {  // NVSHMEM ends the process if its heap cannot grow
    std::size_t free = 0, total = 0;
    check_cuda(cudaMemGetInfo(&free, &total), "asking for free memory");
    if (all > free) throw_too_large(all);
  });
  comm.agree("allocation of NVSHMEM memory", [&] {
    const Communicator::Work work(comm);
    void* const memory = nvshmem_calloc(1, all);  // collective; returns once all ranks have the memory
    if (memory == nullptr) throw_too_large(all);
    check_cuda(cudaDeviceSynchronize(), "clearing memory of NVSHMEM");
    window.n_signals = most[1];
    window.signals = static_cast<std::uint64_t*>(memory);
    window.bytes = static_cast<std::byte*>(memory) + head;
  });
  return std::make_shared<NvshmemArena>(comm, window);
}

/// NVSHMEM could share devices between ranks, but kernels that wait for each other would take turns there.
void check_devices(Communicator& comm) {
  if (const auto shared = ranks_that_share_a_device(comm))
    throw InputError("communication backend 'nvshmem' is for one rank a device; ranks " +
                     std::to_string((*shared)[0]) + " and " + std::to_string((*shared)[1]) + " share one");
}

/// Whether NVSHMEM already runs, with the ranks of the communicator.
bool is_started(Communicator& comm) {
  const bool runs = nvshmemx_init_status() >= NVSHMEM_STATUS_IS_INITIALIZED;
  std::vector<int> anywhere{runs ? 1 : 0};
  comm.all_max(anywhere);
  comm.agree("start of NVSHMEM", [&] {
    if (anywhere[0] != 0 && (!runs || nvshmem_my_pe() != comm.rank() || nvshmem_n_pes() != comm.size()))
      throw InputError("NVSHMEM runs already, with other ranks than those of the communicator");
  });
  return anywhere[0] != 0;
}

void start(Communicator& comm) {
  struct Id {  // has the name that the type of NVSHMEM lacks
    nvshmemx_uniqueid_t value = NVSHMEMX_UNIQUEID_INITIALIZER;
  };
  std::vector<Id> id(1);
  comm.agree("start of NVSHMEM", [&] {
    if (comm.rank() == 0 && nvshmemx_get_uniqueid(&id[0].value) != 0)
      throw InputError("NVSHMEM has no unique id for its ranks: it found no network interface");
  });
  comm.broadcast(id);
  comm.agree("start of NVSHMEM", [&] {
    const Communicator::Work work(comm);
    nvshmemx_init_attr_t attributes = NVSHMEMX_INIT_ATTR_INITIALIZER;
    if (nvshmemx_set_attr_uniqueid_args(comm.rank(), comm.size(), &id[0].value, &attributes) != 0 ||
        nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attributes) != 0)
      throw InputError("NVSHMEM does not start");
  });
}

}  // namespace
}  // namespace Impl

void use_nvshmem(Communicator& comm) {
  Impl::check_devices(comm);
  if (!Impl::is_started(comm)) Impl::start(comm);
  comm.set_nvshmem(Impl::make_arena);
}

}  // namespace lutra
