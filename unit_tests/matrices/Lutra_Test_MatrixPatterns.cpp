// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <string>
#include <variant>
#include <vector>

#include "Lutra_Error.hpp"
#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_Fill1.hpp"
#include "Lutra_Gsofa.hpp"
#include "Lutra_MatrixMarket.hpp"
#include "Lutra_Ordering.hpp"
#include "Lutra_Reference_Lu.hpp"
#include "Lutra_TestDevice.hpp"

namespace lutra::Test {
namespace {

using Space = Kokkos::DefaultExecutionSpace;

// Entries of L + U beyond which a pattern is left out; LUTRA_MATRICES_FILL sets another figure.
constexpr double default_max_entries = 2e6;
// Entries up to which the slow methods are taken as well.
constexpr std::size_t max_slow_entries = 100000;
// Rows up to which plain elimination is asked as well.
constexpr int max_plain_rows = 1500;

double max_entries() {
  const char* text = std::getenv("LUTRA_MATRICES_FILL");
  return text ? std::strtod(text, nullptr) : default_max_entries;
}

/// The pattern of A with rows and columns taken in the order given.
template <class Scalar>
HostMatrix<char> permute(const HostMatrix<Scalar>& A, const std::vector<int>& order) {
  std::vector<int> position(order.size());
  for (std::size_t k = 0; k < order.size(); ++k)
    position[static_cast<std::size_t>(order[k])] = static_cast<int>(k);
  HostMatrix<char> P;
  P.n_rows = P.n_cols = A.n_rows;
  P.row_map.push_back(0);
  for (const int row : order) {
    const auto r = static_cast<std::size_t>(row);
    for (auto k = A.row_map[r]; k < A.row_map[r + 1]; ++k) {
      P.entries.push_back(position[static_cast<std::size_t>(A.entries[static_cast<std::size_t>(k)])]);
    }
    P.row_map.push_back(static_cast<std::int64_t>(P.entries.size()));
  }
  P.values.assign(P.entries.size(), 1);
  return P;
}

template <class First, class Second>
void check_same(const First& first, const Second& second) {
  CHECK(to_vector(first.row_map) == to_vector(second.row_map));
  CHECK(to_vector(first.diagonal) == to_vector(second.diagonal));
  CHECK((to_vector(first.entries) == to_vector(second.entries)));
}

/// Definition 1 of GSoFa, row after row.
template <class Pattern>
std::vector<int> plain_supernodes(const Pattern& filled, int max_size) {
  const auto map = to_vector(filled.row_map), diagonal = to_vector(filled.diagonal);
  const auto entries = to_vector(filled.entries);
  std::vector<int> begin;
  int leader = 0;
  for (int s = 0; s < filled.n; ++s) {
    const auto row = static_cast<std::size_t>(s);
    const auto upper = map[row + 1] - diagonal[row];
    const auto before = s == 0 ? 0 : map[row] - diagonal[row - 1];
    const bool below =
        std::binary_search(entries.begin() + map[row], entries.begin() + diagonal[row], leader);
    if (s == 0 || upper != before - 1 || !below || s - leader >= max_size) begin.push_back(leader = s);
  }
  begin.push_back(filled.n);
  return begin;
}

/// fill2 to host memory with the least bytes that suffice, within an eighth.
template <class Pattern>
auto stream_with_least(const Space& exec, const Pattern& pattern) {
  for (std::size_t limit = std::size_t(1) << 14;; limit += limit / 8) {
    try {
      return factorize_symbolic_to_host(exec, pattern, MemoryBudget(limit), {SymbolicMethod::fill2});
    } catch (const OutOfMemoryError&) {
    }
  }
}

/// What takes too long for every pattern: fill2's portable kernels where there are others, and its search
/// with the least memory.
template <class Pattern, class Expected>
void check_slow_methods(const Space& exec, const Pattern& pattern, const Expected& expected) {
  if (!lutra::Impl::is_host_space<Space>) {
    check_same(factorize_symbolic(exec, pattern, MemoryBudget(), {SymbolicMethod::fill2, true}), expected);
  }
  check_same(stream_with_least(exec, pattern), expected);
#ifdef KOKKOS_ENABLE_CUDA
  SymbolicOptions frontiers{SymbolicMethod::fill2};
  frontiers.fill2.kernel = Fill2Kernel::frontiers;
  check_same(factorize_symbolic(exec, pattern, MemoryBudget(), frontiers), expected);
  frontiers.fill2.queue_share = 0.01;
  frontiers.fill2.external = Fill2External::host;
  frontiers.fill2.two_parts = true;
  check_same(factorize_symbolic(exec, pattern, MemoryBudget(), frontiers), expected);
#endif
}

/// All methods on one pattern; false where it fills too much.
bool check_pattern(const HostMatrix<char>& matrix) {
  const Space exec;
  const auto device = to_space<Space>(matrix);
  const auto bytes = static_cast<std::size_t>(max_entries() * 16) + (std::size_t(1) << 20);
  const Kokkos::DefaultHostExecutionSpace host;
  LuPattern<Kokkos::HostSpace> expected;
  try {
    expected =
        factorize_symbolic(host, make_view(matrix).pattern(), MemoryBudget(bytes), {SymbolicMethod::fill1});
  } catch (const OutOfMemoryError&) {
    return false;
  }
  if (matrix.n_rows <= max_plain_rows) CHECK((to_rows(expected) == Reference::lu_pattern(matrix)));
  const auto searched = factorize_symbolic(exec, device.pattern(), MemoryBudget(), {SymbolicMethod::fill2});
  check_same(searched, expected);
  check_same(factorize_symbolic(exec, device.pattern(), MemoryBudget(), {SymbolicMethod::ancestors}),
             expected);
  check_same(factorize_symbolic(exec, device.pattern(), MemoryBudget()), expected);
  check_same(lutra::Impl::fill1(make_view(matrix).pattern(), MemoryBudget(), 3), expected);
  if (expected.entries.extent(0) <= max_slow_entries) check_slow_methods(exec, device.pattern(), expected);
  const auto tree = factorize_symbolic(exec, device.pattern(), MemoryBudget(), {SymbolicMethod::etree});
  if (tree.exact) {
    check_same(tree, expected);
  } else {
    CHECK(tree.entries.extent(0) >= expected.entries.extent(0));
  }
  for (const int max_size : {8, 128}) {
    const auto found = find_supernodes(exec, searched, MemoryBudget(), {max_size, 0});
    CHECK(to_vector(found.begin) == plain_supernodes(expected, max_size));
  }
  return true;
}

}  // namespace

TEST_CASE("all methods give one pattern on every matrix of a folder", "[matrices]") {
  const char* folder = std::getenv("LUTRA_MATRICES");
  if (!folder) SKIP("LUTRA_MATRICES names no folder");
  int checked = 0, left_out = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    const std::string name = file.path().filename().string();
    if (name.find(".mtx") == std::string::npos) continue;
    INFO(name);
    const auto read = read_matrix_market(file.path().string());
    std::visit(
        [&](const auto& A) {
          if (A.n_rows != A.n_cols) return;
          std::vector<int> natural(static_cast<std::size_t>(A.n_rows));
          std::iota(natural.begin(), natural.end(), 0);
          const auto metis = order(make_view(A).pattern(), Ordering::metis);
          for (const auto& permutation : {natural, metis}) {
            ++(check_pattern(permute(A, permutation)) ? checked : left_out);
          }
        },
        read.matrix);
  }
  std::printf("%d patterns checked, %d left out for their fill\n", checked, left_out);
  CHECK(checked > 0);
}

}  // namespace lutra::Test
