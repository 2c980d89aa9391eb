// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_CampaignGenerator.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace lutra::Campaign {
namespace {

/// Rows of a matrix under construction: value by column.
using Rows = std::vector<std::map<std::size_t, double>>;
using Shape = Rows (*)(std::size_t, Random&);

void set_both(Rows& A, std::size_t i, std::size_t j, double value) {
  A[i][j] = A[j][i] = value;
}

std::size_t any_row(const Rows& A, Random& random) {
  return random.next() % A.size();
}

/// Entries at random positions, about `mean` per row, and a diagonal of which a part is missing.
Rows random_sparse(std::size_t n, Random& random) {
  Rows A(n);
  const int mean = random.integer(1, 6);
  const double diagonal = random.chance(0.5) ? 1.0 : 0.7;
  for (std::size_t i = 0; i < n; ++i) {
    if (random.chance(diagonal)) A[i][i] = random.value(3);
    for (int k = random.integer(0, 2 * mean); k > 0; --k) A[i][any_row(A, random)] = random.value(3);
  }
  return A;
}

/// The same with a diagonal larger than the sum of its row.
Rows dominant(std::size_t n, Random& random) {
  Rows A = random_sparse(n, random);
  for (std::size_t i = 0; i < n; ++i) {
    double sum = 0.5;
    for (const auto& [j, value] : A[i])
      if (j != i) sum += std::abs(value);
    A[i][i] = random.sign() * sum;
  }
  return A;
}

/// Symmetric, with positive, negative and missing diagonal entries.
Rows indefinite(std::size_t n, Random& random) {
  Rows A(n);
  const int mean = random.integer(1, 4);
  for (std::size_t i = 0; i < n; ++i) {
    if (random.chance(0.8)) A[i][i] = random.value(3);
    for (int k = random.integer(0, mean); k > 0; --k) set_both(A, i, any_row(A, random), random.value(3));
  }
  return A;
}

/// Entries that fall by powers of two from the first to the last row and column.
Rows graded(std::size_t n, Random& random) {
  Rows A = random.chance(0.5) ? indefinite(n, random) : dominant(n, random);
  const int steps = std::max(1, 200 / static_cast<int>(n));
  for (std::size_t i = 0; i < n; ++i)
    for (auto& [j, value] : A[i])
      value = std::ldexp(value, -steps * static_cast<int>(std::min(i + j, 2 * n)) / 2);
  return A;
}

/// A diagonal with a dense row and column, first or last.
Rows arrow(std::size_t n, Random& random) {
  Rows A(n);
  const std::size_t hub = random.chance(0.5) ? 0 : n - 1;
  const bool is_symmetric = random.chance(0.5);
  for (std::size_t i = 0; i < n; ++i) {
    A[i][i] = random.value(4);
    A[i][hub] = random.value(4);
    A[hub][i] = is_symmetric ? A[i][hub] : random.value(4);
  }
  return A;
}

Rows banded(std::size_t n, Random& random) {
  Rows A(n);
  const auto below = static_cast<std::size_t>(random.integer(1, 4));
  const auto above = static_cast<std::size_t>(random.integer(0, 4));
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = i - std::min(i, below); j <= std::min(n - 1, i + above); ++j)
      if (random.chance(0.9)) A[i][j] = random.value(4);
  return A;
}

Rows permuted(const Rows& A, bool both_sides, Random& random) {
  const auto rows = random.permutation(A.size());
  const auto columns = both_sides ? rows : random.permutation(A.size());
  Rows result(A.size());
  for (std::size_t i = 0; i < A.size(); ++i)
    for (const auto& [j, value] : A[i]) result[rows[i]][columns[j]] = value;
  return result;
}

/// Irreducible blocks on the diagonal, with entries above them, rows and columns mixed.
Rows block_triangular(std::size_t n, Random& random) {
  Rows A(n);
  for (std::size_t first = 0; first < n;) {
    const std::size_t end = std::min(n, first + static_cast<std::size_t>(random.integer(1, 8)));
    for (std::size_t i = first; i < end; ++i) {
      A[i][i] = 4 * random.value(1);
      A[i][i + 1 < end ? i + 1 : first] = random.value(2) + (end - first == 1 ? 4 : 0);
      if (end < n && random.chance(0.6))
        A[i][static_cast<std::size_t>(random.integer(static_cast<int>(end), static_cast<int>(n) - 1))] =
            random.value(2);
    }
    first = end;
  }
  return permuted(A, random.chance(0.5), random);
}

Rows transposed(const Rows& A) {
  Rows result(A.size());
  for (std::size_t i = 0; i < A.size(); ++i)
    for (const auto& [j, value] : A[i]) result[j][i] = value;
  return result;
}

/// A row that is another one times a power of two: singular to the last bit.
Rows dependent_rows(std::size_t n, Random& random) {
  Rows A = dominant(n, random);
  const std::size_t from = any_row(A, random), to = any_row(A, random);
  if (from == to) {
    for (auto& [j, value] : A[to]) value = 0;
    return A;
  }
  A[to].clear();
  const int shift = random.integer(-8, 8);
  for (const auto& [j, value] : A[from]) A[to][j] = std::ldexp(value, shift);
  return A;
}

Rows dependent_columns(std::size_t n, Random& random) {
  return transposed(dependent_rows(n, random));
}

/// Dependent rows, one of whose entries is then changed by 2^-15 to 2^-52 of itself.
Rows nearly_singular(std::size_t n, Random& random) {
  Rows A = dependent_rows(n, random);
  for (auto& [j, value] : A[any_row(A, random)]) {
    value += std::ldexp(value, -random.integer(15, 52));
    break;
  }
  return A;
}

/// Rows and columns in units up to 2^120 apart.
Rows badly_scaled(std::size_t n, Random& random) {
  Rows A = random.chance(0.5) ? dominant(n, random) : random_sparse(n, random);
  std::vector<int> units(n);
  for (int& unit : units) unit = random.integer(-30, 30);
  for (std::size_t i = 0; i < n; ++i) {
    const int row = random.integer(-30, 30);
    for (auto& [j, value] : A[i]) value = std::ldexp(value, row + units[j]);
  }
  return A;
}

/// [H Bᵀ; B −D] with H dominant, D zero or small, rows mixed. `spread`: diagonal of H over 2^±spread.
Rows saddle(std::size_t n, int spread, Random& random) {
  const std::size_t m = n / 3, k = n - m;  // m constraints
  Rows A(n);
  for (std::size_t i = 0; i < k; ++i) {
    A[i][i] = std::ldexp(4 + random.unit(), random.integer(-spread, spread));
    if (i > 0 && random.chance(0.5))
      set_both(A, i, i - 1, std::min(A[i][i], A[i - 1][i - 1]) * random.value(1) / 8);
  }
  const bool regularized = random.chance(0.3);
  for (std::size_t c = k; c < n; ++c) {
    set_both(A, c, c - k, random.value(1));
    for (int e = random.integer(0, 3); e > 0; --e) set_both(A, c, random.next() % k, random.value(2));
    if (regularized) A[c][c] = -0x1p-20;
  }
  return permuted(A, true, random);
}

Rows saddle_point(std::size_t n, Random& random) {
  return saddle(n, 0, random);
}

Rows barrier(std::size_t n, Random& random) {
  return saddle(n, 20, random);
}

/// Positive definite: dominant with a positive diagonal, the rows in units up to 2^40 apart now and then.
Rows definite(std::size_t n, Random& random) {
  Rows A(n);
  std::vector<double> sums(n, 0.25 + random.unit());
  for (std::size_t i = 1; i < n; ++i) {
    for (int k = random.integer(0, 3); k > 0; --k) {
      const std::size_t j = random.next() % i;
      if (A[i].contains(j)) continue;
      set_both(A, i, j, random.value(2));
      sums[i] += std::abs(A[i][j]);
      sums[j] += std::abs(A[i][j]);
    }
  }
  const int spread = random.chance(0.3) ? 10 : 0;
  std::vector<int> units(n);
  for (int& unit : units) unit = random.integer(-spread, spread);
  for (std::size_t i = 0; i < n; ++i) {
    A[i][i] = sums[i];
    for (auto& [j, value] : A[i]) value = std::ldexp(value, units[i] + units[j]);
  }
  return A;
}

/// No diagonal entries; one cycle through all rows keeps the pattern of full structural rank.
Rows zero_diagonal(std::size_t n, Random& random) {
  Rows A(n);
  for (std::size_t i = 0; i < n; ++i) {
    A[i][(i + 1) % n] = 2 * random.value(2);
    for (int k = random.integer(0, 3); k > 0; --k) {
      const std::size_t j = any_row(A, random);
      if (j != i) A[i].emplace(j, random.value(2));
    }
  }
  return A;
}

/// Laplacian of a graph with integer weights: singular to the last bit, unless one vertex is tied down.
Rows laplacian(std::size_t n, Random& random) {
  Rows A(n);
  const auto tie = [&](std::size_t i, std::size_t j) {
    if (i == j) return;
    const double weight = random.integer(1, 16);
    set_both(A, i, j, A[i][j] - weight);
    A[i][i] += weight;
    A[j][j] += weight;
  };
  for (std::size_t i = 0; i < n; ++i) {
    A[i][i] += 0;
    if (i > 0) tie(i, random.next() % i);
    if (random.chance(0.7)) tie(i, any_row(A, random));
  }
  const std::size_t tied_down = any_row(A, random);
  if (random.chance(0.4)) A[tied_down][tied_down] += 1;
  return A;
}

/// Several rows with entries in fewer columns, or an empty row or column.
Rows structurally_singular(std::size_t n, Random& random) {
  Rows A = random.chance(0.5) ? random_sparse(n, random) : indefinite(n, random);
  const std::size_t k = 1 + random.next() % std::min<std::size_t>(n, 4);
  const auto rows = random.permutation(n), columns = random.permutation(n);
  for (std::size_t r = 0; r < k; ++r) {
    A[rows[r]].clear();
    for (std::size_t c = 0; c + 1 < k; ++c) A[rows[r]][columns[c]] = random.value(2);
  }
  return A;
}

/// Small integers, symmetric or not: often singular to the last bit.
Rows integers(std::size_t n, Random& random) {
  Rows A(n);
  const bool is_symmetric = random.chance(0.6);
  for (std::size_t i = 0; i < n; ++i) {
    for (int k = random.integer(1, 3); k > 0; --k) {
      const std::size_t j = any_row(A, random);
      A[i][j] = random.integer(-2, 2);
      if (is_symmetric) A[j][i] = A[i][j];
    }
  }
  return A;
}

struct NamedShape {
  const char* name;
  Shape make;
};

constexpr NamedShape shapes[] = {{"random_sparse", random_sparse},
                                 {"dominant", dominant},
                                 {"indefinite", indefinite},
                                 {"graded", graded},
                                 {"arrow", arrow},
                                 {"banded", banded},
                                 {"block_triangular", block_triangular},
                                 {"dependent_rows", dependent_rows},
                                 {"dependent_columns", dependent_columns},
                                 {"nearly_singular", nearly_singular},
                                 {"badly_scaled", badly_scaled},
                                 {"saddle_point", saddle_point},
                                 {"barrier", barrier},
                                 {"definite", definite},
                                 {"zero_diagonal", zero_diagonal},
                                 {"laplacian", laplacian},
                                 {"structurally_singular", structurally_singular},
                                 {"integers", integers}};

HostMatrix<double> compressed(const Rows& rows) {
  HostMatrix<double> A;
  A.n_rows = A.n_cols = static_cast<int>(rows.size());
  A.row_map.push_back(0);
  for (const auto& row : rows) {
    for (const auto& [j, value] : row) {
      A.entries.push_back(static_cast<int>(j));
      A.values.push_back(value);
    }
    A.row_map.push_back(A.nnz());
  }
  return A;
}

}  // namespace

const std::vector<std::string>& shape_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const NamedShape& shape : shapes) all.emplace_back(shape.name);
    return all;
  }();
  return names;
}

Case<double> generated(std::uint64_t number) {
  Random random(0x4c75747261 + 0x10001 * number);
  const NamedShape& shape = shapes[number % std::size(shapes)];
  const double u = random.unit();
  const int n = random.chance(0.05) ? random.integer(61, 400) : 1 + static_cast<int>(60 * u * u);
  return {shape.name + std::string(" ") + std::to_string(number),
          compressed(shape.make(static_cast<std::size_t>(n), random))};
}

}  // namespace lutra::Campaign
