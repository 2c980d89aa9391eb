// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "Lutra_TrisolveModel.hpp"

namespace lutra::Test {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("the model compares latency with bytes", "[trisolve]") {
  const TrisolveCosts costs = h200_device_model().trisolve.methods;
  TriangleProperties properties;
  properties.rows = 50000;
  properties.entries = 200000;
  properties.levels = 600;
  const double levels = predict_seconds(properties, TrisolveMethod::levels, costs);
  const double syncfree = predict_seconds(properties, TrisolveMethod::syncfree, costs);
  CHECK(levels < syncfree);  // small levels belong inside a team
  CHECK(predict_seconds(properties, TrisolveMethod::automatic, costs) == levels);
  properties.blocks = 2000;
  properties.block_levels = 30;
  auto choice = choose_method(properties, costs, TrisolveMethod::automatic);
  CHECK(choice.method == TrisolveMethod::supernodal);
  CHECK(choice.seconds < levels);
  CHECK_THAT(choice.reason, ContainsSubstring("30 levels of blocks"));
  properties.blocks = 0;
  properties.several_columns = true;  // levels would win for one
  choice = choose_method(properties, costs, TrisolveMethod::automatic);
  CHECK(choice.method == TrisolveMethod::syncfree);
  properties.several_columns = false;
  properties.levels = 3;  // a launch each
  choice = choose_method(properties, costs, TrisolveMethod::automatic);
  CHECK(choice.method == TrisolveMethod::levels);
  CHECK(choice.supernodal_seconds == 0);
  properties.rows = 2e5;  // two wide levels, whose rows would wait for the same positions
  properties.entries = 1.4e6;
  properties.levels = 2;
  properties.levels_seconds = 34e-6;
  choice = choose_method(properties, costs, TrisolveMethod::automatic);
  CHECK(choice.method == TrisolveMethod::levels);
  properties.levels_seconds = 0;
  properties.rows = 1e6;  // too wide for a team, too many for launches
  properties.entries = 3e6;
  properties.levels = 100;
  choice = choose_method(properties, costs, TrisolveMethod::automatic);
  CHECK(choice.method == TrisolveMethod::syncfree);
}

}  // namespace lutra::Test
