// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_EXCHANGE_HPP
#define LUTRA_EXCHANGE_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "Lutra_Communicator.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_Messages.hpp"

namespace lutra::Impl {

/// Where an element is: its rank, and its position there.
struct Place {
  std::int64_t rank = -1;
  std::size_t position = 0;
};

/// Reusable plan for an exchange of elements between ranks. For each pair of ranks, `sources` of one and
/// `targets` of the other have equal length and order.
struct Exchange {
  using Position = std::uint32_t;
  static constexpr std::size_t most = std::numeric_limits<Position>::max();  ///< elements of a rank
  using Lists = std::vector<std::vector<Position>>;

  Lists sources;  ///< [P] local positions of the elements sent to each rank
  Lists targets;  ///< [P] local positions of the elements received from each rank

  /// @throws InputError if a rank has too many elements
  static void check_size(std::size_t elements) {
    if (elements > most) throw InputError("a rank has more than " + std::to_string(most) + " elements");
  }

  /// Collective. Calls set(t, c, value) with value = get(s, c) of the source s of each target t, for columns
  /// c in [0, k).
  template <class T, class Get, class Set>
  void forward(Communicator& comm, std::size_t k, const Get& get, const Set& set) const {
    move<T>(comm, sources, targets, k, get, set);
  }
  /// Collective. Exchange from targets to sources.
  template <class T, class Get, class Set>
  void backward(Communicator& comm, std::size_t k, const Get& get, const Set& set) const {
    move<T>(comm, targets, sources, k, get, set);
  }

 private:
  template <class T, class Get, class Set>
  static void move(Communicator& comm, const Lists& out, const Lists& in, std::size_t k, const Get& get,
                   const Set& set) {
    // Its own tag: messages with one tag arrive in order, so calls in succession can share it.
    constexpr int tag = 31000;
    const auto me = static_cast<std::size_t>(comm.rank());
    for (std::size_t to = 0; to < out.size(); ++to) {
      if (to == me || out[to].empty()) continue;
      std::vector<T> values;
      values.reserve(out[to].size() * k);
      for (const Position position : out[to])
        for (std::size_t c = 0; c < k; ++c) values.push_back(get(position, c));
      comm.send(static_cast<int>(to), tag, values);
    }
    for (std::size_t e = 0; e < out[me].size(); ++e)
      for (std::size_t c = 0; c < k; ++c) set(in[me][e], c, get(out[me][e], c));
    for (std::size_t from = 0; from < in.size(); ++from) {
      if (from == me || in[from].empty()) continue;
      const std::vector<T> values = comm.receive<T>(static_cast<int>(from), tag);
      require_elements(values.size(), in[from].size() * k);
      for (std::size_t e = 0; e < in[from].size(); ++e)
        for (std::size_t c = 0; c < k; ++c) set(in[from][e], c, values[e * k + c]);
    }
  }
};

/// Elements that a rank needs: element e of the list comes to its position e.
class ElementRequests {
 public:
  using Position = Exchange::Position;

  explicit ElementRequests(int ranks)
      : m_wanted(static_cast<std::size_t>(ranks)), m_targets(static_cast<std::size_t>(ranks)) {}

  void add(const Place& place) {
    const auto rank = static_cast<std::size_t>(place.rank);
    m_highest = std::max(m_highest, place.position);
    m_wanted[rank].push_back(static_cast<Position>(place.position));
    m_targets[rank].push_back(static_cast<Position>(m_count++));
  }

  /// Collective. @throws InputError on all ranks if a rank has too many elements
  Exchange plan(Communicator& comm) && {
    comm.agree("exchange of elements", [&] { Exchange::check_size(std::max(m_count, m_highest)); });
    return {comm.all_to_all(m_wanted), std::move(m_targets)};
  }

 private:
  Exchange::Lists m_wanted;   ///< [P] positions on each rank
  Exchange::Lists m_targets;  ///< [P] positions on this rank
  std::size_t m_count = 0, m_highest = 0;
};

/// Collective. Plans the exchange that brings elements from their places to positions 0, 1, … of this rank.
/// @param places place of each element that this rank needs
inline Exchange plan_exchange(Communicator& comm, const std::vector<Place>& places) {
  ElementRequests requests(comm.size());
  for (const Place& place : places) requests.add(place);
  return std::move(requests).plan(comm);
}

}  // namespace lutra::Impl

#endif
