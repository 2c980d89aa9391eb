// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_GENERATED_HPP
#define LUTRA_GENERATED_HPP

#include <cstdint>
#include <string>

#include "Lutra_MatrixMarket.hpp"
#include "Lutra_TestMatrices.hpp"

namespace lutra::Test {

/// A matrix of `lutra generate`.
template <class Types>
Matrix<Types> generated(const std::string& kind, int size, std::uint64_t seed = 1) {
  const auto from = generate(kind, size, seed);
  Matrix<Types> A;
  A.n_rows = A.n_cols = static_cast<typename Types::Ordinal>(from.n_rows);
  A.row_map.assign(from.row_map.begin(), from.row_map.end());
  A.entries.assign(from.entries.begin(), from.entries.end());
  for (const double value : from.values) A.values.push_back(as_scalar<typename Types::Scalar>(value));
  return A;
}

}  // namespace lutra::Test

#endif
