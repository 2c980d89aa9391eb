// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>

#include "Lutra_ScalingChoice.hpp"

namespace lutra {
namespace {

using Catch::Matchers::ContainsSubstring;

constexpr ScalingProperties large{.rows = 100000, .entries = 1000000};

TEST_CASE("symmetric matrices are scaled by the method of least predicted time", "[preprocess][scaling]") {
  AuctionCosts costs{.exact_row_seconds = 1e-8, .exact_entry_seconds = 1e-8, .start_seconds = 1e-3};
  const ScalingChoice fast = choose_scaling(large, Matching::automatic, costs);  // 1 of 11 ms
  CHECK(fast.matching == Matching::auction);
  CHECK_THAT(fast.reason, ContainsSubstring("0.001 s in place of 0.011 s"));
  SECTION("each cost counts") {
    auto cost = &AuctionCosts::start_seconds;
    for (const auto& [member, enough] : {std::pair{cost, 0.011},
                                         {&AuctionCosts::row_seconds, 1.1e-7},
                                         {&AuctionCosts::entry_seconds, 1.1e-8},
                                         {&AuctionCosts::round_seconds, 1e-4}}) {
      AuctionCosts slow = costs;
      slow.*member = enough;
      CHECK(choose_scaling(large, Matching::automatic, slow).matching == Matching::exact);
    }
    costs.exact_row_seconds = costs.exact_entry_seconds = 0;
    CHECK(choose_scaling(large, Matching::automatic, costs).matching == Matching::exact);
  }
  SECTION("small matrices") {
    CHECK(choose_scaling({.rows = 1000, .entries = 10000}, Matching::automatic, costs).matching ==
          Matching::exact);
    CHECK(choose_scaling({}, Matching::automatic, costs).matching == Matching::exact);
  }
  SECTION("what the auction does not replace") {
    ScalingProperties pairs = large, limited = large;
    pairs.needs_pairs = limited.has_memory_limit = true;
    CHECK(choose_scaling(pairs, Matching::automatic, costs).matching == Matching::exact);
    CHECK(choose_scaling(limited, Matching::automatic, costs).matching == Matching::exact);
  }
  SECTION("the user's choice") {
    for (const Matching wanted : {Matching::none, Matching::auction, Matching::exact}) {
      const ScalingChoice choice = choose_scaling(large, wanted, costs);
      CHECK(choice.matching == wanted);
      CHECK(choice.reason.empty());
    }
  }
}

TEST_CASE("built-in models: hosts scale by exact matchings, devices large matrices by auctions",
          "[preprocess][scaling]") {
  constexpr ScalingProperties many{.rows = 100000, .entries = 3000000};
  CHECK(choose_scaling(many, Matching::automatic, host_device_model().auction).matching == Matching::exact);
  for (const DeviceModel& model : {h200_device_model(), h100_device_model()}) {
    CHECK(choose_scaling(many, Matching::automatic, model.auction).matching == Matching::auction);
    CHECK(choose_scaling({.rows = 5000, .entries = 50000}, Matching::automatic, model.auction).matching ==
          Matching::exact);
  }
}

TEST_CASE("an auction suffices by its bound and by the rows it leaves", "[preprocess][scaling]") {
  AuctionStatistics statistics;
  CHECK(suffices(statistics, 640));
  statistics.left_to_paths = 10;
  CHECK(suffices(statistics, 640));
  statistics.log_loss_bound = -630 * std::log(0.951);
  CHECK(suffices(statistics, 640));
  statistics.log_loss_bound = -630 * std::log(0.949);
  CHECK_FALSE(suffices(statistics, 640));
  statistics.log_loss_bound = 0;
  statistics.left_to_paths = 11;
  CHECK_FALSE(suffices(statistics, 640));
  CHECK_FALSE(suffices(statistics, 11));
}

}  // namespace
}  // namespace lutra
