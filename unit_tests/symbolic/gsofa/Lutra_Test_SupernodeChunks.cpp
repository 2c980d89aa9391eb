// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Kokkos_Core.hpp>

// Tests the CUDA search for supernodes with warps emulated on hosts.
#ifndef KOKKOS_ENABLE_CUDA
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <random>
#include <vector>

#include "Lutra_Gsofa.hpp"
#include "Lutra_TestDevice.hpp"
#include "Lutra_TestMatrices.hpp"
#include "Lutra_TestTypes.hpp"
#include "Lutra_TestWarps.hpp"

/// Of fibers, which run one at a time.
inline int atomicAdd(int* counter, int more) {
  const int before = *counter;
  *counter += more;
  return before;
}

#include "Lutra_SupernodesCuda.hpp"

namespace lutra::Test {
namespace {

using Host = Kokkos::DefaultHostExecutionSpace;
using Pattern = LuPattern<Kokkos::HostSpace>;

/// First rows of supernodes by emulated blocks, one after another; −1 where no block has written.
template <int Lanes>
std::vector<Ordinal> leads_by_chunks(const Pattern& filled, int max_size, std::mt19937& random) {
  using Chunk = lutra::Impl::SupernodeChunk<Lanes>;
  std::vector<Ordinal> leads(static_cast<std::size_t>(filled.n), -1);
  const Chunk chunk{{filled.n, filled.row_map.data(), filled.diagonal.data(), filled.entries.data(),
                     leads.data(), max_size}};
  for (Ordinal first = 0; first < filled.n; first += Chunk::chunk) {
    typename Chunk::Shared shared{};
    Warps warps;
    REQUIRE(warps.run(
        Chunk::threads / 32, random, [&] { chunk.run(shared, first, warps.thread()); }, Chunk::threads / 32));
  }
  return leads;
}

/// Those of the portable search.
std::vector<Ordinal> leads_by_portable(const Pattern& filled, int max_size) {
  const auto found = find_supernodes(Host(), filled, MemoryBudget(), {max_size, 0});
  std::vector<Ordinal> leads(static_cast<std::size_t>(filled.n), 0);
  for (Ordinal s = 0; s < found.count; ++s) leads[static_cast<std::size_t>(found.begin(s))] = 1;
  return leads;
}

/// Block diagonal, with full blocks of these sizes.
HostMatrix<double> full_blocks(const std::vector<int>& sizes) {
  HostMatrix<double> matrix;
  matrix.row_map.push_back(0);
  int first = 0;
  for (const int size : sizes) {
    for (int i = 0; i < size; ++i) {
      for (int j = 0; j < size; ++j) matrix.entries.push_back(first + j);
      matrix.row_map.push_back(static_cast<Offset>(matrix.entries.size()));
    }
    first += size;
  }
  matrix.n_rows = matrix.n_cols = first;
  matrix.values.assign(matrix.entries.size(), 1.0);
  return matrix;
}

void check(const HostMatrix<double>& matrix, int max_size, std::mt19937& random) {
  INFO("n " << matrix.n_rows << ", max_size " << max_size);
  const auto filled = factorize_symbolic(Host(), to_space<Host>(matrix).pattern(), MemoryBudget());
  const auto expected = leads_by_portable(filled, max_size);
  CHECK(leads_by_chunks<1>(filled, max_size, random) == expected);
  CHECK(leads_by_chunks<32>(filled, max_size, random) == expected);
}

}  // namespace

TEST_CASE("supernodes by emulated blocks equal the portable ones", "[symbolic]") {
  std::mt19937 random(5);
  const int max_size = GENERATE(1, 3, 31, 33, 5000);
  for (const int n : {1, 33, 500, 2049}) {
    const auto one_sided = random_matrix<HostMatrix<double>>(n, (n > 1000 ? 1.2 : 2.5) / n, 0.0, random);
    check(one_sided, max_size, random);
    check(add_mirror(one_sided), max_size, random);
  }
  // A supernode that begins before and ends behind the rows of a chunk and its bitmap.
  check(full_blocks({2000, 70, 2, 1}), max_size, random);
  check(full_blocks({2040, 2200}), max_size, random);
}

}  // namespace lutra::Test
#endif
