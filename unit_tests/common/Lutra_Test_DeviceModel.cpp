// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_DeviceModel.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "Lutra_DeviceSpeeds.hpp"
#include "Lutra_ExecutionTraits.hpp"

namespace {

using namespace lutra;
using Catch::Approx;

/// The model without its name.
DeviceModel unnamed(DeviceModel model) {
  model.name.clear();
  return model;
}

TEST_CASE("device models: built in for the H100 and the H200, whole", "[common]") {
  CHECK(built_in_device_model({"NVIDIA H200", 132}) == h200_device_model());
  CHECK(built_in_device_model({"NVIDIA H100 80GB HBM3", 132}) == h100_device_model());
  CHECK(built_in_device_model({"NVIDIA H100 80GB HBM3", 16}) == std::nullopt);  // a part of one
  CHECK(built_in_device_model({"NVIDIA H100 PCIe", 114}) == std::nullopt);
  CHECK(built_in_device_model({"NVIDIA GH200 480GB", 132}) == std::nullopt);
}

TEST_CASE("device models: an H100 differs from an H200 in its memory", "[common]") {
  const DeviceModel h100 = h100_device_model(), h200 = h200_device_model();
  const double ratio = h200.trisolve.methods.bandwidth / h100.trisolve.methods.bandwidth;
  CHECK(ratio == Approx(4.8 / 3.35));
  CHECK(h200.trisolve.distributed.min_block_bandwidth / h100.trisolve.distributed.min_block_bandwidth ==
        Approx(ratio));
  CHECK(h100.trisolve.methods.team_bandwidth == h200.trisolve.methods.team_bandwidth);
  CHECK(h100.trisolve.methods.dependency_seconds == h200.trisolve.methods.dependency_seconds);
  CHECK(h100.ordering == h200.ordering);
}

TEST_CASE("device models: each speed scales its own costs", "[common]") {
  const DeviceSpeeds h100 = h100_device_speeds();
  const DeviceModel built_in = h100_device_model();
  const auto scaled = [&](DeviceSpeeds speeds, int multiprocessors = 132) {
    return scaled_device_model(speeds, {"another", multiprocessors});
  };
  CHECK(unnamed(scaled(h100)) == unnamed(built_in));
  CHECK(unnamed(scaled({})) == unnamed(built_in));  // nothing was measured
  CHECK_THAT(scaled(h100).name, Catch::Matchers::StartsWith("another: "));
  DeviceSpeeds speeds = h100;
  DeviceModel expected = built_in;
  SECTION("launches") {
    speeds.launch_seconds *= 2;
    expected.trisolve.methods.start_seconds *= 2;
    expected.trisolve.methods.level_launch_seconds *= 2;
    expected.trisolve.distributed.start_seconds *= 2;
    for (LevelSetCosts* const costs :
         {&expected.trisolve.level_sets, &expected.trisolve.portable_level_sets}) {
      costs->start_seconds *= 2;
      costs->launch_seconds *= 2;
    }
    expected.ordering.multifrontal.factorization.start_seconds *= 2;
    expected.ordering.multifrontal.solve.start_seconds *= 2;
    expected.symbolic.ancestors_start_seconds *= 2;
    expected.ilu.level_seconds *= 2;
    expected.ilu.syncfree_start_seconds *= 2;
    CHECK(unnamed(scaled(speeds)) == unnamed(expected));
  }
  SECTION("flops") {
    speeds.flops_per_second /= 2;
    expected.ordering.multifrontal.factorization.flop_seconds *= 2;
    CHECK(unnamed(scaled(speeds)) == unnamed(expected));
  }
  SECTION("reads of one thread") {
    speeds.read_seconds *= 2;
    const DeviceModel slow = scaled(speeds);
    CHECK(slow.trisolve.methods.dependency_seconds == 2 * built_in.trisolve.methods.dependency_seconds);
    CHECK(slow.trisolve.methods.team_bandwidth == built_in.trisolve.methods.team_bandwidth / 2);
    CHECK(slow.trisolve.methods.bandwidth == built_in.trisolve.methods.bandwidth);
    CHECK(slow.ilu.dependency_seconds == 2 * built_in.ilu.dependency_seconds);
    CHECK(slow.ordering.multifrontal.solve.supernode_seconds ==
          2 * built_in.ordering.multifrontal.solve.supernode_seconds);
    CHECK(slow.ordering.amd == built_in.ordering.amd);
  }
  SECTION("bytes") {
    speeds.bandwidth /= 2;
    const DeviceModel slow = scaled(speeds);
    CHECK(slow.trisolve.methods.bandwidth == Approx(built_in.trisolve.methods.bandwidth / 2));
    CHECK(slow.trisolve.methods.dependency_seconds == built_in.trisolve.methods.dependency_seconds);
    CHECK(slow.ordering.multifrontal.factorization.entry_seconds ==
          Approx(2 * built_in.ordering.multifrontal.factorization.entry_seconds));
  }
  SECTION("fewer multiprocessors") {
    CHECK(scaled(h100, 66).trisolve.methods.concurrent_wide_blocks == 132);
    CHECK(scaled(h100, 66).trisolve.distributed.min_block_bandwidth ==
          2 * built_in.trisolve.distributed.min_block_bandwidth);
  }
  SECTION("a disturbed measurement is bounded") {
    speeds.launch_seconds = 1;
    CHECK(scaled(speeds).trisolve.methods.start_seconds ==
          Approx(30 * built_in.trisolve.methods.start_seconds));
  }
}

TEST_CASE("device models: measured speeds, near the built-in ones on an H100 and an H200", "[common]") {
  using Space = Kokkos::DefaultExecutionSpace;
  const DeviceSpeeds speeds = Impl::measure_device_speeds<Space>();
  CAPTURE(speeds.launch_seconds, speeds.read_seconds, speeds.bandwidth, speeds.flops_per_second);
  CHECK(speeds.launch_seconds > 0);
  CHECK(speeds.read_seconds > 0);
  CHECK(speeds.bandwidth > 1e8);
  CHECK(speeds.flops_per_second > 1e7);
  const DeviceModel model = default_device_model<Space>();
  CHECK(model == default_device_model<Space>());  // measured once
  if constexpr (Impl::is_host_space<Space>) {
    CHECK(model == host_device_model());
    CHECK(unmeasured_device_model<Space>() == host_device_model());
  } else if (model == h100_device_model() || model == h200_device_model()) {
    CHECK(unmeasured_device_model<Space>() == model);
    const DeviceSpeeds h100 = h100_device_speeds();
    const auto is_near = [](double a, double b) { return a < 2 * b && b < 2 * a; };
    CHECK(is_near(speeds.launch_seconds, h100.launch_seconds));
    CHECK(is_near(speeds.read_seconds, h100.read_seconds));
    CHECK(is_near(speeds.bandwidth, h100.bandwidth));
    CHECK(is_near(speeds.flops_per_second, h100.flops_per_second));
  } else {
    CHECK(unmeasured_device_model<Space>() == h100_device_model());
  }
}

}  // namespace
