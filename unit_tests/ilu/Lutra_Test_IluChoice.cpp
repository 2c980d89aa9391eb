// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_test_macros.hpp>
#include <limits>

#include "Lutra_IluChoice.hpp"

namespace lutra::Test {

TEST_CASE("the schedule with less predicted time is chosen on a device", "[ilu]") {
  IluCosts costs;
  costs.level_seconds = 10e-6;
  costs.syncfree_start_seconds = 20e-6;
  costs.dependency_seconds = 2e-6;
  const auto choose = [&](std::int64_t levels, IluSchedule wanted) {
    return choose_schedule({1000, levels, 0}, wanted, costs);
  };
  CHECK(choose(2, IluSchedule::automatic).schedule == IluSchedule::levels);    // 20 us against 24
  CHECK(choose(3, IluSchedule::automatic).schedule == IluSchedule::syncfree);  // 30 us against 26
  CHECK(choose(3, IluSchedule::automatic).reason ==
        "elimination: predicted levels 30 us, syncfree 26 us for 3 levels");
  for (const IluSchedule wanted : {IluSchedule::levels, IluSchedule::syncfree}) {
    CHECK(choose(3, wanted).schedule == wanted);
    CHECK(choose(3, wanted).reason.empty());
  }
  const IluCosts h200 = h200_device_model().ilu;
  CHECK(choose_schedule({1000, 1, 0}, IluSchedule::automatic, h200).schedule == IluSchedule::levels);
  CHECK(choose_schedule({64000, 118, 0}, IluSchedule::automatic, h200).schedule == IluSchedule::syncfree);
}

TEST_CASE("host threads share an elimination if its levels are wide enough", "[ilu]") {
  const IluCosts costs;  // 256 rows of a level for each thread
  const auto choose = [&](std::int64_t rows, int threads, IluSchedule wanted) {
    return choose_schedule({rows, 10, threads}, wanted, costs);
  };
  CHECK(choose(10 * 256 * 2, 2, IluSchedule::automatic).threads == 2);
  CHECK(choose(10 * 256 * 2 - 1, 2, IluSchedule::automatic).threads == 1);
  CHECK(choose(10 * 256 * 2, 2, IluSchedule::automatic).schedule == IluSchedule::syncfree);
  CHECK_FALSE(choose(10, 2, IluSchedule::automatic).reason.empty());
  CHECK(choose(10, 1, IluSchedule::automatic).reason.empty());  // no choice
  CHECK(choose(10, 4, IluSchedule::syncfree).threads == 4);
  CHECK(choose(10, 4, IluSchedule::levels).threads == 1);
}

TEST_CASE("Jacobi sweeps are chosen if they are fast and accurate enough", "[ilu]") {
  IluCosts costs;
  costs.max_jacobi_share = 0.5;
  costs.max_jacobi_difference = 0.25;
  const auto choose = [&](double jacobi, std::optional<double> difference) {
    return choose_apply({100e-6, jacobi, difference}, IluApply::automatic, costs);
  };
  CHECK(choose(50e-6, {}).apply == IluApply::exact);
  CHECK(choose(50e-6, {}).reason == "applied exactly: predicted 100 us, Jacobi sweeps 50 us");
  CHECK(choose(49e-6, {}).apply == IluApply::jacobi);  // comes into question
  CHECK(choose(49e-6, {}).reason.empty());
  CHECK(choose(49e-6, 0.25).apply == IluApply::jacobi);
  CHECK(choose(49e-6, 0.26).apply == IluApply::exact);
  CHECK(choose(49e-6, 0.26).reason.find("differ from exact solves by 0.26") != std::string::npos);
  CHECK(choose(49e-6, std::numeric_limits<double>::quiet_NaN()).apply == IluApply::exact);
  for (const IluApply wanted : {IluApply::exact, IluApply::jacobi}) {
    CHECK(choose_apply({1, 2, 1e3}, wanted, costs).apply == wanted);
    CHECK(choose_apply({1, 2, 1e3}, wanted, costs).reason.empty());
  }
}

}  // namespace lutra::Test
