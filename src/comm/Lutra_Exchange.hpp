// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_EXCHANGE_HPP
#define LUTRA_EXCHANGE_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

#include "Lutra_Communicator.hpp"

namespace lutra::Impl {

/// Where an element is: its rank, and its position there.
struct Place {
  std::int64_t rank = -1;
  std::size_t position = 0;
};

/// Reusable plan for an exchange of elements between ranks. For each pair of ranks, `sources` of one and
/// `targets` of the other have equal length and order.
struct Exchange {
  std::vector<std::vector<std::size_t>> sources;  ///< [P] local positions of the elements sent to each rank
  std::vector<std::vector<std::size_t>> targets;  ///< [P] local positions of the elements received from each
                                                  ///< rank

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
  using Lists = std::vector<std::vector<std::size_t>>;
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
      for (const std::size_t position : out[to])
        for (std::size_t c = 0; c < k; ++c) values.push_back(get(position, c));
      comm.send(static_cast<int>(to), tag, values);
    }
    for (std::size_t e = 0; e < out[me].size(); ++e)
      for (std::size_t c = 0; c < k; ++c) set(in[me][e], c, get(out[me][e], c));
    for (std::size_t from = 0; from < in.size(); ++from) {
      if (from == me || in[from].empty()) continue;
      const std::vector<T> values = comm.receive<T>(static_cast<int>(from), tag);
      for (std::size_t e = 0; e < in[from].size(); ++e)
        for (std::size_t c = 0; c < k; ++c) set(in[from][e], c, values[e * k + c]);
    }
  }
};

/// Collective. Plans the exchange that brings elements from their places to positions 0, 1, … of this rank.
/// @param places place of each element that this rank needs
inline Exchange plan_exchange(Communicator& comm, const std::vector<Place>& places) {
  const auto P = static_cast<std::size_t>(comm.size());
  Exchange exchange{{}, std::vector<std::vector<std::size_t>>(P)};
  std::vector<std::vector<std::size_t>> wanted(P);
  std::vector<std::size_t> counts(P, 0);
  for (const Place& place : places) ++counts[static_cast<std::size_t>(place.rank)];
  for (std::size_t rank = 0; rank < P; ++rank) {
    wanted[rank].reserve(counts[rank]);
    exchange.targets[rank].reserve(counts[rank]);
  }
  for (std::size_t e = 0; e < places.size(); ++e) {
    const auto rank = static_cast<std::size_t>(places[e].rank);
    wanted[rank].push_back(places[e].position);
    exchange.targets[rank].push_back(e);
  }
  exchange.sources = comm.all_to_all(wanted);
  return exchange;
}

}  // namespace lutra::Impl

#endif
