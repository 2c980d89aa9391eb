// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TESTCHOICES_HPP
#define LUTRA_TESTCHOICES_HPP

#include <algorithm>
#include <numeric>
#include <random>
#include <tuple>
#include <vector>

#include "Lutra_DeviceModel.hpp"
#include "Lutra_TestTypes.hpp"

namespace lutra::Test {

using DoubleMatrix = HostMatrix<double, std::tuple_element_t<0, Ordinals>>;

inline std::vector<int> shuffled(int n, unsigned seed) {
  std::vector<int> label(static_cast<std::size_t>(n));
  std::iota(label.begin(), label.end(), 0);
  std::mt19937 random(seed);
  std::shuffle(label.begin(), label.end(), random);
  return label;
}

/// A model in which a factorization takes a second a flop, or a step, and nothing else takes time but
/// dissection.
inline DeviceModel simple_model() {
  DeviceModel model;
  model.ordering.multifrontal.factorization.flop_seconds = 1;
  model.ordering.multifrontal.factorization.step_seconds = 100;
  model.ordering.dissection.row_seconds = 10;  // times log2 of the rows
  model.ordering.saved_share = model.ordering.max_saved_share = 0.5;
  model.ordering.saved_from_flops_per_row = 1;
  return model;
}

}  // namespace lutra::Test

#endif
