// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ARGSORTDESCENDING_HPP
#define LUTRA_ARGSORTDESCENDING_HPP

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace lutra::Impl {

/// Maps a key to unsigned bits with the same order.
inline std::uint64_t ordered_bits(std::int64_t key) {
  return static_cast<std::uint64_t>(key) ^ std::uint64_t(1) << 63;
}
inline std::uint64_t ordered_bits(double key) {
  const auto bits = std::bit_cast<std::uint64_t>(key + 0.0);  // maps −0 to 0
  return bits ^ (bits >> 63 != 0 ? ~std::uint64_t(0) : std::uint64_t(1) << 63);
}

/// Stable sort of indices by descending key. Radix sort: linear in the number of indices for each group of 11
/// bits in which keys differ.
/// @param order indices below `count`, sorted in place
/// @param key_of key_of(i): an integer or a double, not NaN
template <class Index, class Key>
void sort_descending(std::vector<Index>& order, const Key& key_of) {
  // Six digits of 11 bits cover 64; digits of 8 bits would need eight passes. 2048 counters fit in L1.
  constexpr int bits = 11, digits = 6;
  constexpr std::size_t values = std::size_t(1) << bits;
  struct Keyed {
    std::uint64_t key;
    Index index;
  };
  const auto digit_of = [](std::uint64_t key, int digit) {
    return static_cast<std::size_t>(key >> digit * bits) & (values - 1);
  };
  std::vector<Keyed> from(order.size()), to(order.size());
  std::vector<std::array<std::size_t, digits>> counts(values);
  for (std::size_t k = 0; k < order.size(); ++k) {
    from[k] = {~ordered_bits(key_of(order[k])), order[k]};
    for (int d = 0; d < digits; ++d) ++counts[digit_of(from[k].key, d)][static_cast<std::size_t>(d)];
  }
  for (int d = 0; d < digits && !order.empty(); ++d) {
    const auto digit = static_cast<std::size_t>(d);
    if (counts[digit_of(from[0].key, d)][digit] == order.size()) continue;  // digit equal for all keys
    std::size_t sum = 0;
    for (auto& count : counts) sum += std::exchange(count[digit], sum);
    for (const Keyed& item : from) to[counts[digit_of(item.key, d)][digit]++] = item;
    from.swap(to);
  }
  for (std::size_t k = 0; k < order.size(); ++k) order[k] = from[k].index;
}

/// 0 … n − 1 by descending key.
template <class Index, class Key>
std::vector<Index> argsort_descending(std::size_t n, const Key& key_of) {
  std::vector<Index> order(n);
  std::iota(order.begin(), order.end(), Index(0));
  sort_descending(order, key_of);
  return order;
}

}  // namespace lutra::Impl

#endif
