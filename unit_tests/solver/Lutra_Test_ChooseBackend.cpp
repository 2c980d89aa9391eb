// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <random>
#include <set>
#include <vector>

#include "Lutra_ChooseOrdering.hpp"
#include "Lutra_TestChoices.hpp"
#include "Lutra_TestMatrices.hpp"
#include "Lutra_TwoOrders.hpp"

namespace {

using namespace lutra;
using Test::DoubleMatrix, Test::shuffled, Test::simple_model;

TEST_CASE("host or device: the faster first solution decides", "[ordering]") {
  const DoubleMatrix a = Test::grid_matrix<DoubleMatrix>(10, shuffled(100, 3));
  const auto pattern = make_view(a).pattern();
  const auto graph = symmetric_graph<std::int64_t>(pattern);
  const double flops = forecast_fill(graph, order(graph, Ordering::amd)).flops;
  DeviceModel host = simple_model(), device = simple_model();
  for (DeviceModel* const model : {&host, &device}) model->ordering.multifrontal.factorization = {};
  host.ordering.multifrontal.factorization.flop_seconds = 1;
  device.ordering.multifrontal.factorization.flop_seconds = 0.01;
  device.ordering.device_start_seconds = flops;
  host.ordering.amd.row_seconds = flops / 100;
  CHECK(choose_backend(pattern, {1}, host, device) == BackendChoice::host);
  CHECK(choose_backend(pattern, {2}, host, device) == BackendChoice::device);
  host.ordering.multifrontal.factorization.flop_seconds = 1.02;
  CHECK(choose_backend(pattern, {1}, host, device) == BackendChoice::device);
  host.ordering.multifrontal.factorization.flop_seconds = 1;
  host.ordering.amd.row_seconds *=
      1.01;  // ordering alone takes the host longer than the device needs to begin
  CHECK(choose_backend(pattern, {1}, host, device) == BackendChoice::device);
}

TEST_CASE("host or device: AMD stops when the device would have begun", "[ordering]") {
  // Random edges: AMD visits 1.4 times as many list entries as predicted.
  constexpr int n = 1000;
  std::vector<std::set<int>> rows(n);
  std::mt19937 random(1);
  for (int v = 0; v < n; ++v) rows[static_cast<std::size_t>(v)].insert(v);
  for (int k = 0; k < 3 * n; ++k) {
    const auto v = static_cast<int>(random() % n), u = static_cast<int>(random() % n);
    rows[static_cast<std::size_t>(v)].insert(u);
    rows[static_cast<std::size_t>(u)].insert(v);
  }
  DoubleMatrix a;
  a.n_rows = a.n_cols = n;
  a.row_map = {0};
  for (const std::set<int>& row : rows) {
    a.entries.insert(a.entries.end(), row.begin(), row.end());
    a.row_map.push_back(static_cast<Offset>(a.entries.size()));
  }
  a.values.assign(a.entries.size(), 1);
  const auto pattern = make_view(a).pattern();
  TwoOrders<std::int64_t> orders(symmetric_graph<std::int64_t>(pattern));
  orders.advance_degree();
  const double predicted = 20.0 * static_cast<double>(pattern.nnz());
  REQUIRE(static_cast<double>(orders.visits()) > predicted + 1);
  DeviceModel host, device;
  host.ordering.amd_visit_seconds = 1;
  device.ordering.device_start_seconds = static_cast<double>(orders.visits());
  CHECK(choose_backend(pattern, {}, host, device) == BackendChoice::host);
  device.ordering.device_start_seconds = predicted;
  CHECK(choose_backend(pattern, {}, host, device) == BackendChoice::device);
}

TEST_CASE("built-in models: small matrices are solved on the host, large ones on the device", "[ordering]") {
  const auto choice = [](int n) {
    const DoubleMatrix a = Test::grid_matrix<DoubleMatrix>(n, shuffled(n * n, 3));
    return choose_backend(make_view(a).pattern(), {}, host_device_model(), h200_device_model());
  };
  CHECK(choice(20) == BackendChoice::host);
  CHECK(choice(100) == BackendChoice::host);
  CHECK(choice(300) == BackendChoice::device);
}

}  // namespace
