// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_RANDOMSTREAM_HPP
#define LUTRA_RANDOMSTREAM_HPP

#include <cstdint>
#include <utility>
#include <vector>

namespace lutra::Impl {

/// Random numbers that are equal on every machine: splitmix64 (Steele, Lea and Flood, OOPSLA 2014) and
/// integer arithmetic. The distributions of <random> differ between libraries.
class RandomStream {
 public:
  explicit RandomStream(std::uint64_t seed) : m_state(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (m_state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  /// Integer in 0 … bound − 1; the bias of the remainder is below 2⁻³² for the bounds used here.
  int below(int bound) { return static_cast<int>(next() % static_cast<std::uint64_t>(bound)); }

  /// True once in `count` calls, on average.
  bool once_in(int count) { return below(count) == 0; }

  /// A multiple of 1/256 in (0, 1]: sums are exact in any order, fused operations included.
  double fraction() { return static_cast<double>(below(256) + 1) / 256; }

  /// A fraction with a random sign.
  double signed_fraction() {
    const double size = fraction();
    return once_in(2) ? -size : size;
  }

  /// Random permutation of 0 … n − 1.
  std::vector<int> permutation(int n) {
    std::vector<int> order(static_cast<std::size_t>(n));
    for (int k = 0; k < n; ++k) {
      const int other = below(k + 1);
      order[static_cast<std::size_t>(k)] = k;
      std::swap(order[static_cast<std::size_t>(k)], order[static_cast<std::size_t>(other)]);
    }
    return order;
  }

 private:
  std::uint64_t m_state;
};

}  // namespace lutra::Impl

#endif
