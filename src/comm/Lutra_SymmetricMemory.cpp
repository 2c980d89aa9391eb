// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_Communicator.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include <Kokkos_Core.hpp>

#include "Lutra_Config.hpp"
#include "Lutra_Error.hpp"
#ifdef KOKKOS_ENABLE_CUDA
#include "Lutra_CheckCuda.hpp"
#include "Lutra_PeerArena.hpp"
#endif

namespace lutra {

std::string_view to_string(CommBackend backend) {
  switch (backend) {
    case CommBackend::mpi:
      return "mpi";
    case CommBackend::peer:
      return "peer";
    case CommBackend::nvshmem:
      return "nvshmem";
  }
  return "unknown";
}

bool is_built(CommBackend backend) {
#ifdef KOKKOS_ENABLE_CUDA
  if (backend == CommBackend::peer) return true;
#endif
#ifdef LUTRA_HAS_NVSHMEM
  if (backend == CommBackend::nvshmem) return true;
#endif
  return backend == CommBackend::mpi;
}

bool can_use(Communicator& comm, CommBackend backend) {
  try {
    SymmetricMemory trial(comm, 16, 1, backend);
    trial.close();
    return true;
  } catch (const InputError&) {  // thrown on all ranks
    return false;
  }
}

std::optional<std::array<int, 2>> ranks_that_share_a_device([[maybe_unused]] Communicator& comm) {
#ifdef KOKKOS_ENABLE_CUDA
  using Identity = std::array<char, sizeof(cudaUUID_t::bytes)>;
  Identity mine{};
  comm.agree("identification of devices", [&] {
    cudaDeviceProp properties{};
    Impl::check_cuda(cudaGetDeviceProperties(&properties, Kokkos::Cuda().cuda_device()),
                     "identifying the device");
    std::copy_n(properties.uuid.bytes, mine.size(), mine.begin());
  });
  const std::vector<Identity> all = comm.all_gather(mine);
  for (std::size_t rank = 1; rank < all.size(); ++rank)
    for (std::size_t other = 0; other < rank; ++other)
      if (all[rank] == all[other]) return std::array{static_cast<int>(other), static_cast<int>(rank)};
#endif
  return {};
}

SymmetricMemory::SymmetricMemory(Communicator& comm, std::size_t bytes, std::size_t signals,
                                 CommBackend backend)
    : m_comm(comm), m_backend(backend) {
  comm.agree("allocation of symmetric memory", [&] {
    if (!is_built(backend))
      throw InputError("communication backend '" + std::string(to_string(backend)) +
                       "' is not in this build of Lutra; there is mpi" +
                       (is_built(CommBackend::peer) ? ", peer" : "") +
                       (is_built(CommBackend::nvshmem) ? ", nvshmem" : ""));
    if (backend == CommBackend::nvshmem && !comm.nvshmem())
      throw InputError("communication backend 'nvshmem' is not started: call use_nvshmem(comm) first");
    if (backend != CommBackend::mpi) return;
    try {
      m_bytes.resize((bytes + sizeof(Chunk) - 1) / sizeof(Chunk));
      m_signals.assign(signals, 0);
    } catch (const std::bad_alloc&) {
      throw OutOfMemoryError("symmetric memory of " + std::to_string(bytes) + " bytes and " +
                                 std::to_string(signals) + " signals does not fit",
                             bytes);
    } catch (const std::length_error&) {
      throw OutOfMemoryError("symmetric memory of " + std::to_string(bytes) + " bytes does not fit", bytes);
    }
  });
#ifdef KOKKOS_ENABLE_CUDA
  if (backend == CommBackend::peer) m_arena = std::make_shared<Impl::PeerArena>(comm, bytes, signals);
#endif
  if (backend == CommBackend::nvshmem) m_arena = comm.nvshmem()(comm, bytes, signals);
  if (m_arena) {
    m_data = m_arena->bytes();
    m_sizes = comm.all_gather(Sizes{bytes, signals});
    return;
  }
  m_data = reinterpret_cast<std::byte*>(m_bytes.data());
  m_number = comm.add_target(this);  // before any rank knows that all have arrived
  m_sizes = comm.all_gather(Sizes{bytes, signals});
}

SymmetricMemory::~SymmetricMemory() {
  if (m_number >= 0) m_comm.remove_target(m_number);
}

const Impl::PeerWindow& SymmetricMemory::peer_window() const {
#ifdef KOKKOS_ENABLE_CUDA
  if (m_arena && m_backend == CommBackend::peer)
    return static_cast<const Impl::PeerArena&>(*m_arena).window();
#endif
  throw CallOrderError("peer_window: the memory is of backend '" + std::string(to_string(m_backend)) +
                       "', not peer");
}

void SymmetricMemory::close() {
  if (m_arena) {
    m_arena->close();
    m_arena.reset();
    return;
  }
  m_comm.barrier();
  m_comm.remove_target(m_number);
  m_number = -1;
}

void SymmetricMemory::operate(int to, const Impl::PutHeader& header, std::span<const std::byte> data) {
  if (m_backend != CommBackend::mpi)
    throw CallOrderError("put: with backend '" + std::string(to_string(m_backend)) +
                         "' kernels put, not hosts");
  const Sizes& target = m_sizes[static_cast<std::size_t>(to)];
  const auto offset = static_cast<std::size_t>(header.offset);
  if (data.size() > target.bytes || offset > target.bytes - data.size() ||
      static_cast<std::size_t>(header.signal) >= target.signals)
    throw InputError("put: " + std::to_string(data.size()) + " bytes at " + std::to_string(offset) +
                     " with signal " + std::to_string(header.signal) + " do not fit into the " +
                     std::to_string(target.bytes) + " bytes and " + std::to_string(target.signals) +
                     " signals of rank " + std::to_string(to));
  if (to == m_comm.rank())
    deliver(header, data);
  else
    m_comm.post_put(to, header, data);
}

void SymmetricMemory::put(int to, std::size_t offset, std::span<const std::byte> data, std::size_t signal,
                          std::uint64_t value) {
  operate(to, {m_number, static_cast<std::int64_t>(offset), static_cast<std::int64_t>(signal), value, 0},
          data);
}

void SymmetricMemory::add(int to, std::size_t signal, std::uint64_t value) {
  operate(to, {m_number, 0, static_cast<std::int64_t>(signal), value, 1}, {});
}

void SymmetricMemory::deliver(const Impl::PutHeader& header, std::span<const std::byte> data) {
  Impl::check_put(header, data.size(), m_bytes.size() * sizeof(Chunk), m_signals.size());
  std::copy(data.begin(), data.end(), m_data + header.offset);
  const auto at = static_cast<std::size_t>(header.signal);
  m_signals[at] = header.adds != 0 ? m_signals[at] + header.value : header.value;
  m_arrivals.push_back({at, m_signals[at]});
}

std::optional<Arrival> SymmetricMemory::next_arrival() {
  if (m_arrivals.empty()) m_comm.progress();
  if (m_arrivals.empty()) return std::nullopt;
  const Arrival arrival = m_arrivals.front();
  m_arrivals.pop_front();
  return arrival;
}

void SymmetricMemory::wait(std::size_t signal, std::uint64_t value, const char* what) {
  m_comm.wait_until(what, [&] { return m_signals[signal] >= value; });
}

}  // namespace lutra
