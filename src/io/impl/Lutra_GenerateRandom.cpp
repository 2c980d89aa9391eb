// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cmath>

#include "Lutra_CooToCsr.hpp"
#include "Lutra_GenerateKinds.hpp"
#include "Lutra_RandomStream.hpp"

namespace lutra::Impl {

// Row i has an entry in column p(i) of a random permutation p that dominates the rest of the row. With its
// columns so permuted the matrix is strictly dominant, hence nonsingular; its own diagonal is mostly empty.
HostMatrix<double> generate_random(int n, std::uint64_t seed) {
  constexpr int max_others = 4;
  RandomStream random(seed);
  const std::vector<int> partner = random.permutation(n);
  CooEntries<double> entries;
  for (int row = 0; row < n; ++row) {
    double weight = random.fraction();
    for (int k = random.below(max_others + 1); k > 0; --k) {
      const int column = random.below(n);
      if (column == partner[static_cast<std::size_t>(row)]) continue;
      const double value = random.signed_fraction();
      weight += std::abs(value);
      entries.add(row, column, value);
    }
    entries.add(row, partner[static_cast<std::size_t>(row)], random.once_in(2) ? weight : -weight);
  }
  return coo_to_csr(n, n, entries);
}

}  // namespace lutra::Impl
