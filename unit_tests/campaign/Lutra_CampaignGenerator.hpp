// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CAMPAIGNGENERATOR_HPP
#define LUTRA_CAMPAIGNGENERATOR_HPP

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "Lutra_CsrView.hpp"

namespace lutra::Campaign {

/// Random numbers that are the same on every machine (splitmix64: Steele, Lea and Flood 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) : m_state(seed) {}

  std::uint64_t next() {
    std::uint64_t z = m_state += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  /// A number in [0, 1).
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  /// An integer from `low` to `high`, both included.
  int integer(int low, int high) {
    return low + static_cast<int>(next() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool chance(double probability) { return unit() < probability; }
  double sign() { return chance(0.5) ? 1.0 : -1.0; }
  /// A value of random sign with a magnitude in [2^-binades, 2).
  double value(int binades = 1) { return sign() * std::ldexp(1.0 + unit(), -integer(0, binades)); }
  /// A permutation of 0 … n − 1.
  std::vector<std::size_t> permutation(std::size_t n) {
    std::vector<std::size_t> order(n);
    for (std::size_t i = 0; i < n; ++i) order[i] = i;
    for (std::size_t i = n; i-- > 1;) std::swap(order[i], order[next() % (i + 1)]);
    return order;
  }

 private:
  std::uint64_t m_state;
};

/// A matrix of the campaign.
template <class Scalar>
struct Case {
  std::string name;
  HostMatrix<Scalar> A;
};

/// Names of the shapes of generated matrices, in the order in which they take turns.
const std::vector<std::string>& shape_names();

/// The matrix of a number, the same on every machine. Its shape is shape_names()[number mod shapes]. Most
/// have 1 to 60 rows, one in twenty has up to 400.
Case<double> generated(std::uint64_t number);

}  // namespace lutra::Campaign

#endif
