// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_VIEWEXCHANGE_HPP
#define LUTRA_VIEWEXCHANGE_HPP

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "Lutra_Exchange.hpp"
#include "Lutra_ForRange.hpp"
#include "Lutra_MemoryBudget.hpp"
#include "Lutra_Upload.hpp"
#include "Lutra_ViewChannel.hpp"

namespace lutra::Impl {

/// packed(e·k + c) = from(list(e), c)
template <class List, class From, class T>
struct PackElements {
  List list;
  From from;
  T* packed;
  std::int64_t k;
  KOKKOS_FUNCTION void operator()(const std::int64_t i) const { packed[i] = from(list(i / k), i % k); }
};

/// to(list(e), c) = packed(e·k + c); elements that stay on the rank are those of the packed message to it.
template <class List, class To, class T>
struct UnpackElements {
  List list;
  To to;
  const T* packed;
  const T* own;                     ///< packed elements that stay
  std::int64_t own_begin, own_end;  ///< their positions in `list`
  std::int64_t k;
  KOKKOS_FUNCTION void operator()(const std::int64_t i) const {
    const std::int64_t e = i / k;
    const bool stays = e >= own_begin && e < own_end;
    to(list(e), i % k) = stays ? own[i - own_begin * k] : packed[i];
  }
};

/// An exchange of elements between Views in the memory of the ranks' execution spaces, by the plan of an
/// Exchange: packed by a kernel, one message per pair of ranks, unpacked by a kernel.
template <class ExecutionSpace>
class ViewExchange {
 public:
  using Memory = typename ExecutionSpace::memory_space;
  using Channel = ViewChannel<ExecutionSpace>;

  ViewExchange() = default;
  /// @throws OutOfMemoryError
  ViewExchange(const ExecutionSpace& exec, const Exchange& plan, const MemoryBudget& budget)
      : m_budget(budget),
        m_lists(budget),
        m_sources(exec, m_lists, plan.sources),
        m_targets(exec, m_lists, plan.targets) {}

  /// Number of elements that this rank sends, and receives, in a forward exchange.
  std::size_t n_sources() const { return m_sources.begin.back(); }
  std::size_t n_targets() const { return m_targets.begin.back(); }
  /// The number of them sent to a rank.
  std::size_t sources_of(std::size_t rank) const { return m_sources.count(rank); }
  std::size_t targets_of(std::size_t rank) const { return m_targets.count(rank); }

  /// Allocates the buffers for elements of `bytes` each, all columns of one together.
  /// @throws OutOfMemoryError
  void reserve(const ExecutionSpace& exec, std::size_t bytes) {
    if (bytes <= m_bytes) return;
    m_bytes = 0;
    m_packed_sources = m_packed_targets = {};
    m_buffers = MemoryReservation(m_budget);
    const auto allocate = [&](std::size_t count) {
      return m_buffers.template allocate<Buffer>(exec, "lutra::comm::elements of messages", count * bytes);
    };
    m_packed_sources = allocate(n_sources());
    m_packed_targets = allocate(n_targets());
    m_bytes = bytes;
  }
  /// Room that the messages from each rank take in one exchange, forward or backward.
  /// @param bytes of an element, all columns together
  std::size_t room_from(std::size_t rank, std::size_t bytes) const {
    return Channel::room(std::max(m_sources.count(rank), m_targets.count(rank)) * bytes);
  }

  /// Collective. to(t, c) = from(s, c) for the source s of each target t, and all columns c. Views may be the
  /// same. Does not wait if the channel is direct.
  /// @param from, to [elements × k]
  template <class From, class To>
  void forward(Channel& channel, const From& from, const To& to) const {
    move(channel, m_sources, m_packed_sources, m_targets, m_packed_targets, from, to);
  }
  /// Collective. Exchange from targets to sources.
  template <class From, class To>
  void backward(Channel& channel, const From& from, const To& to) const {
    move(channel, m_targets, m_packed_targets, m_sources, m_packed_sources, from, to);
  }

 private:
  using Buffer = Kokkos::View<unsigned char*, Memory>;  // allocations are aligned for any scalar

  /// Positions of elements, rank by rank.
  struct Lists {
    std::vector<std::size_t> begin{0};  ///< [P + 1]
    Kokkos::View<const Exchange::Position*, Memory> positions;

    Lists() = default;
    Lists(const ExecutionSpace& exec, MemoryReservation& reservation, const Exchange::Lists& of_ranks) {
      std::vector<std::span<const Exchange::Position>> parts;
      for (const auto& list : of_ranks) {
        begin.push_back(begin.back() + list.size());
        parts.emplace_back(list);
      }
      positions = upload_parts(exec, reservation, "lutra::comm::elements of an exchange", parts);
    }
    std::size_t count(std::size_t rank) const {
      return rank + 1 < begin.size() ? begin[rank + 1] - begin[rank] : 0;
    }
  };

  template <class From, class To>
  static void move(Channel& channel, const Lists& out, const Buffer& packed_out, const Lists& in,
                   const Buffer& packed_in, const From& from, const To& to) {
    using T = typename To::non_const_value_type;
    const auto me = static_cast<std::size_t>(channel.comm().rank());
    const auto& exec = channel.exec();
    const std::size_t k = from.extent(1);
    auto* const sent = reinterpret_cast<T*>(packed_out.data());
    auto* const received = reinterpret_cast<T*>(packed_in.data());
    const auto columns = static_cast<std::int64_t>(k);
    for_range(exec, "lutra::comm::pack", static_cast<std::int64_t>(out.begin.back() * k),
              PackElements<decltype(out.positions), From, T>{out.positions, from, sent, columns});
    for (std::size_t r = 0; r + 1 < out.begin.size(); ++r)
      if (r != me && out.count(r) > 0)
        channel.template send<T>(static_cast<int>(r),
                                 Kokkos::View<const T*, Memory>(sent + out.begin[r] * k, out.count(r) * k));
    for (std::size_t r = 0; r + 1 < in.begin.size(); ++r)
      if (r != me && in.count(r) > 0)
        channel.template receive<T>(static_cast<int>(r),
                                    Kokkos::View<T*, Memory>(received + in.begin[r] * k, in.count(r) * k));
    for_range(
        exec, "lutra::comm::unpack", static_cast<std::int64_t>(in.begin.back() * k),
        UnpackElements<decltype(in.positions), To, T>{in.positions, to, received, sent + out.begin[me] * k,
                                                      static_cast<std::int64_t>(in.begin[me]),
                                                      static_cast<std::int64_t>(in.begin[me + 1]), columns});
  }

  MemoryBudget m_budget;
  MemoryReservation m_lists, m_buffers;
  Lists m_sources, m_targets;
  std::size_t m_bytes = 0;  ///< of an element, for which there are buffers
  Buffer m_packed_sources, m_packed_targets;
};

}  // namespace lutra::Impl

#endif
