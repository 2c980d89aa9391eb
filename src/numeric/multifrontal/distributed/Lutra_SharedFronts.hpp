// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SHAREDFRONTS_HPP
#define LUTRA_SHAREDFRONTS_HPP

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "Lutra_At.hpp"
#include "Lutra_Communicator.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_FrontPart.hpp"
#include "Lutra_MemoryBudget.hpp"
#include "Lutra_PartBoundaries.hpp"

namespace lutra::Impl {

/// Memory of the fronts that devices divide, where each stores its tiles of L for all. On hosts nothing.
template <class Scalar, class ExecutionSpace>
class SharedFronts {
 public:
  using Part = FrontPart<Scalar, ExecutionSpace>;
  using Parts = std::vector<std::unique_ptr<Part>>;

  SharedFronts(Communicator& comm, const MemoryBudget& budget) : m_comm(comm), m_budget(budget) {}
  /// Without `close`, memory that other ranks may still write to is kept.
  ~SharedFronts() { m_budget.release(m_charged); }
  SharedFronts(const SharedFronts&) = delete;
  SharedFronts& operator=(const SharedFronts&) = delete;
  /// Collective. The parts must not be used any more.
  void close() {
    if (m_memory) m_memory->close();
    m_memory.reset();
    m_budget.release(m_charged);
    m_charged = 0;
  }

  /// Collective: allocates the memory and puts the values of divided parts there.
  /// @param boundaries of the parts
  /// @throws OutOfMemoryError, or InputError if devices cannot map each other's memory or two ranks share
  /// one, on all ranks
  void place([[maybe_unused]] const Parts& parts,
             [[maybe_unused]] const std::vector<PartBoundary>& boundaries) {
#ifdef KOKKOS_ENABLE_CUDA
    if constexpr (Part::divides_on_devices) place_on_devices(parts, boundaries);
#endif
  }
  void wait_at_least([[maybe_unused]] double seconds, [[maybe_unused]] const Parts& parts,
                     [[maybe_unused]] const std::vector<PartBoundary>& boundaries) const {
#ifdef KOKKOS_ENABLE_CUDA
    if constexpr (Part::divides_on_devices) {
      for (std::size_t p = 0; p < parts.size(); ++p)
        if (boundaries[p].members.are_several())
          parts[p]->wait_at_least(std::max(seconds, m_comm.options().watchdog_seconds));
    }
#endif
  }

 private:
#ifdef KOKKOS_ENABLE_CUDA
  /// Where a rank has a part.
  struct Place {
    int part;
    std::size_t begin;  ///< in the bytes of the rank
    SharedFrontLayout layout;
  };

  void place_on_devices(const Parts& parts, const std::vector<PartBoundary>& boundaries) {
    constexpr std::size_t alignment = 256;
    std::vector<Place> mine;
    std::vector<std::size_t> bytes{0};
    m_comm.agree("numeric: divided fronts", [&] {
      for (std::size_t p = 0; p < parts.size(); ++p) {
        if (!boundaries[p].members.are_several()) continue;
        mine.push_back({boundaries[p].number, bytes[0], parts[p]->shared_layout()});
        bytes[0] += mine.back().layout.bytes;
      }
      if (bytes[0] > 0) m_budget.charge("lutra::numeric::divided fronts", bytes[0] + alignment);
      m_charged = bytes[0] > 0 ? bytes[0] + alignment : 0;
    });
    std::vector<std::size_t> most(bytes);
    m_comm.all_max(most);
    if (most[0] == 0) return;                                // no rank divides any
    if (const auto two = ranks_that_share_a_device(m_comm))  // kernels would wait for each other in turns
      throw InputError("fronts are divided among devices, but ranks " + std::to_string((*two)[0]) + " and " +
                       std::to_string((*two)[1]) + " share one");
    m_memory = std::make_unique<SymmetricMemory>(m_comm, bytes[0] + alignment, 1, CommBackend::peer);
    const PeerWindow& window = m_memory->peer_window();
    const auto address = reinterpret_cast<std::uintptr_t>(window.bytes[m_comm.rank()]);
    for (Place& place : mine) place.begin += (alignment - address % alignment) % alignment;
    const auto all =
        m_comm.all_to_all(std::vector<std::vector<Place>>(static_cast<std::size_t>(m_comm.size()), mine));
    m_comm.agree("numeric: memory of divided fronts", [&] {
      for (std::size_t p = 0; p < parts.size(); ++p) {
        if (!boundaries[p].members.are_several()) continue;
        std::vector<SharedFront> others;
        std::byte* own = nullptr;
        for (const int rank : boundaries[p].members.ranks) {
          const auto& places = at(all, rank);
          const auto found = std::ranges::find(places, boundaries[p].number, &Place::part);
          require_elements(found != places.end() ? 1 : 0, 1);
          std::byte* const there = window.bytes[rank] + found->begin;
          if (rank == m_comm.rank())
            own = there;
          else
            others.push_back({there, found->layout});
        }
        parts[p]->place_shared(own, others);
      }
    });
  }
#endif

  Communicator& m_comm;
  MemoryBudget m_budget;
  std::size_t m_charged = 0;
  std::unique_ptr<SymmetricMemory> m_memory;
};

}  // namespace lutra::Impl

#endif
