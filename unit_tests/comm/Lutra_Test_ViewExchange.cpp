// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_test_macros.hpp>
#include <type_traits>
#include <vector>

#include "Lutra_Error.hpp"
#include "Lutra_ViewExchange.hpp"

namespace lutra::Test {
namespace {

using Host = Kokkos::DefaultHostExecutionSpace;
using Device = Kokkos::DefaultExecutionSpace;

/// Each rank has seven elements and needs one of each rank, itself included: element (its rank) mod 7.
std::vector<lutra::Impl::Place> places(const Communicator& comm) {
  std::vector<lutra::Impl::Place> result;
  for (int r = comm.size() - 1; r >= 0; --r) result.push_back({r, static_cast<std::size_t>(comm.rank() % 7)});
  return result;
}

double element(int rank, std::size_t i, std::size_t c, int round) {
  return 1000.0 * rank + 10.0 * static_cast<double>(i) + static_cast<double>(c) + 0.5 * round;
}

template <class Space>
void check_exchange() {
  using Memory = typename Space::memory_space;
  using Columns = Kokkos::View<double**, Kokkos::LayoutLeft, Memory>;
  using Rows = Kokkos::View<double**, Kokkos::LayoutRight, Memory>;
  Communicator comm;
  const auto P = static_cast<std::size_t>(comm.size());
  lutra::Impl::ViewChannel<Space> channel(comm);
  const auto plan = lutra::Impl::plan_exchange(comm, places(comm));
  lutra::Impl::ViewExchange<Space> exchange(Space(), plan, MemoryBudget());
  CHECK(exchange.n_targets() == P);
  int round = 0;
  for (const std::size_t k : {1, 3, 2, 5}) {  // room grows twice
    exchange.reserve(Space(), k * sizeof(double));
    std::vector<std::size_t> room(P);
    for (std::size_t r = 0; r < P; ++r) room[r] = 2 * exchange.room_from(r, k * sizeof(double));
    channel.reserve(room);
    for (int repetition = 0; repetition < 3; ++repetition, ++round) {
      const Columns own("own", 7, k), back("back", 7, k);
      const Rows needed("needed", P, k);
      const auto host = Kokkos::create_mirror_view(own);
      for (std::size_t i = 0; i < 7; ++i)
        for (std::size_t c = 0; c < k; ++c) host(i, c) = element(comm.rank(), i, c, round);
      Kokkos::deep_copy(own, host);
      exchange.forward(channel, own, needed);
      exchange.backward(channel, needed, back);  // in the same round
      channel.end_round("test of an exchange");
      const auto found = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), needed);
      const auto returned = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), back);
      for (std::size_t e = 0; e < P; ++e)
        for (std::size_t c = 0; c < k; ++c)
          CHECK(found(e, c) == element(comm.size() - 1 - static_cast<int>(e),
                                       static_cast<std::size_t>(comm.rank() % 7), c, round));
      for (std::size_t i = 0; i < 7; ++i)  // elements 0, …, P − 1 came back, if P ≤ 7
        for (std::size_t c = 0; c < k; ++c)
          CHECK(returned(i, c) == (i < P ? element(comm.rank(), i, c, round) : 0.0));
    }
  }
  channel.close();
  comm.close();
}

}  // namespace

TEST_CASE("Views of hosts are exchanged between ranks", "[comm]") {
  check_exchange<Host>();
}

TEST_CASE("Views of devices are exchanged between ranks", "[comm][device]") {
  if constexpr (!std::is_same_v<Host, Device>) check_exchange<Device>();
}

TEST_CASE("messages between devices take no more than their room", "[comm][device]") {
  Communicator comm;
  lutra::Impl::ViewChannel<Device> channel(comm);
  if (channel.is_direct()) {
    channel.reserve(std::vector<std::size_t>(static_cast<std::size_t>(comm.size()), 256));
    const Kokkos::View<const double*, typename Device::memory_space> values(
        Kokkos::View<double*, typename Device::memory_space>("values", 100));
    CHECK_THROWS_AS(channel.send(comm.rank(), values), CallOrderError);
  }
  channel.close();
  comm.close();
}

}  // namespace lutra::Test
