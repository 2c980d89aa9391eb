// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_PerfTriangleCases.hpp"

#include <algorithm>
#include <random>

#include "Lutra_PerfFactored.hpp"

namespace lutra::Perf {
namespace {

/// Levels of the rows: one more than the highest a row waits for.
std::int64_t count_levels(const HostMatrix<double>& T, TriangleSide side) {
  const auto n = static_cast<std::size_t>(T.n_rows);
  std::vector<std::int64_t> level(n, 0);
  std::int64_t levels = 0;
  for (std::size_t k = 0; k < n; ++k) {
    const std::size_t i = side == TriangleSide::lower ? k : n - 1 - k;
    const auto end = static_cast<std::size_t>(T.row_map[i + 1]);
    std::int64_t highest = 0;
    for (auto p = static_cast<std::size_t>(T.row_map[i]); p < end; ++p) {
      highest = std::max(highest, level[static_cast<std::size_t>(T.entries[p])]);
    }
    level[i] = highest + 1;  // its own level is still 0 in the loop
    levels = std::max(levels, level[i]);
  }
  return levels;
}

TriangleSystem make_system(HostMatrix<double> matrix, TriangleSide side) {
  TriangleSystem system{std::move(matrix), side, {}, 0};
  system.b = make_right_hand_side(system.matrix);
  system.levels = count_levels(system.matrix, side);
  return system;
}

HostMatrix<double> part_of(const HostMatrix<double>& LU, const std::vector<std::int64_t>& diagonal,
                           TriangleSide side) {
  HostMatrix<double> result{LU.n_rows, LU.n_cols, {0}, {}, {}};
  for (std::size_t i = 0; i < diagonal.size(); ++i) {
    const auto begin = side == TriangleSide::lower ? LU.row_map[i] : diagonal[i];
    const auto end = side == TriangleSide::lower ? diagonal[i] : LU.row_map[i + 1];
    result.entries.insert(result.entries.end(), LU.entries.begin() + begin, LU.entries.begin() + end);
    result.values.insert(result.values.end(), LU.values.begin() + begin, LU.values.begin() + end);
    if (side == TriangleSide::lower) {
      result.entries.push_back(static_cast<int>(i));
      result.values.push_back(1);
    }
    result.row_map.push_back(result.nnz());
  }
  return result;
}

/// Reverses rows and columns: a lower triangle becomes an upper one.
HostMatrix<double> reversed(const HostMatrix<double>& T) {
  HostMatrix<double> result{T.n_rows, T.n_cols, {0}, {}, {}};
  for (int i = T.n_rows - 1; i >= 0; --i) {
    const auto row = static_cast<std::size_t>(i);
    for (auto p = static_cast<std::size_t>(T.row_map[row + 1]);
         p-- > static_cast<std::size_t>(T.row_map[row]);) {
      result.entries.push_back(T.n_rows - 1 - T.entries[p]);
      result.values.push_back(T.values[p]);
    }
    result.row_map.push_back(result.nnz());
  }
  return result;
}

/// A lower triangle and its reverse. Off-diagonal values of a row sum to less than half of its diagonal.
/// @param columns_of (i, columns) appends the dependencies of row i, in any order, possibly repeated
TrianglePair from_pattern(int n, const std::function<void(int, std::vector<int>&)>& columns_of) {
  HostMatrix<double> T{n, n, {0}, {}, {}};
  std::mt19937 random(20);
  std::uniform_real_distribution<double> between(-1.0, 1.0);
  std::vector<int> columns;
  for (int i = 0; i < n; ++i) {
    columns.clear();
    columns_of(i, columns);
    std::ranges::sort(columns);
    const auto repeated = std::ranges::unique(columns);
    columns.erase(repeated.begin(), repeated.end());
    for (const int j : columns) {
      T.entries.push_back(j);
      T.values.push_back(between(random) / (2.0 * static_cast<double>(columns.size())));
    }
    T.entries.push_back(i);
    T.values.push_back(1.5 + 0.5 * between(random));
    T.row_map.push_back(T.nnz());
  }
  HostMatrix<double> upper = reversed(T);
  return {make_system(std::move(T), TriangleSide::lower), make_system(std::move(upper), TriangleSide::upper)};
}

/// A pattern and how large its benchmark may become.
struct Pattern {
  const char* name;
  TrianglePair (*make)(int n);
  int max_rows;
};

void add_sources_of(const PerfMatrix& matrix, std::vector<TriangleSource>& sources) {
  const auto* const values = std::get_if<HostMatrix<double>>(&matrix.values);
  if (values == nullptr) return;
  sources.push_back({matrix.name, "ilu0", [values] { return incomplete_factors(*values); }});
  sources.push_back({matrix.name, "full", [values] { return complete_factors(*values); }});
}

}  // namespace

TrianglePair split_factors(const HostMatrix<double>& LU, const std::vector<std::int64_t>& diagonal) {
  return {make_system(part_of(LU, diagonal, TriangleSide::lower), TriangleSide::lower),
          make_system(part_of(LU, diagonal, TriangleSide::upper), TriangleSide::upper)};
}

TrianglePair complete_factors(const HostMatrix<double>& A) {
  const Factored<double> factored(A);
  const auto& rows = factored.simplicial().plan().lu.rows;
  const HostMatrix<double> LU{rows.n, rows.n, to_host(rows.row_map), to_host(rows.entries),
                              to_host(factored.simplicial().factors().row_values)};
  return split_factors(LU, to_host(rows.diagonal));
}

TrianglePair chain(int n) {
  return from_pattern(n, [](int i, std::vector<int>& columns) {
    if (i > 0) columns.push_back(i - 1);
  });
}

TrianglePair banded(int n) {
  return from_pattern(n, [](int i, std::vector<int>& columns) {
    for (int j = std::max(0, i - 16); j < i; ++j) columns.push_back(j);
  });
}

TrianglePair random_rows(int n) {
  std::mt19937 random(21);
  return from_pattern(n, [&](int i, std::vector<int>& columns) {
    for (int e = 0; e < 8 && i > 0; ++e)
      columns.push_back(static_cast<int>(random() % static_cast<unsigned>(i)));
  });
}

TrianglePair one_level(int n) {
  std::mt19937 random(22);
  return from_pattern(n, [&](int i, std::vector<int>& columns) {
    for (int e = 0; e < 8 && i >= 32; ++e) columns.push_back(static_cast<int>(random() % 32));
  });
}

std::vector<TriangleSource> triangle_sources(const PerfRun& run) {
  static constexpr Pattern patterns[] = {{"chain", chain, 20000},
                                         {"banded", banded, 20000},
                                         {"random", random_rows, 100000},
                                         {"onelevel", one_level, 200000}};
  std::vector<TriangleSource> sources;
  int largest = 0;
  for (const PerfMatrix& matrix : run.matrices) {
    add_sources_of(matrix, sources);
    with_scalar(matrix, [&](const auto& values) { largest = std::max(largest, values.n_rows); });
  }
  for (const Pattern& pattern : patterns) {
    const int n = std::min(largest, pattern.max_rows);
    sources.push_back(
        {pattern.name + (":" + std::to_string(n)), "pattern", [make = pattern.make, n] { return make(n); }});
  }
  return sources;
}

}  // namespace lutra::Perf
