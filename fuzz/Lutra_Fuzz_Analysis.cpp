// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <string>

#include "Lutra_BlockTriangularForm.hpp"
#include "Lutra_FuzzPattern.hpp"
#include "Lutra_Matching.hpp"
#include "Lutra_Ordering.hpp"
#include "Lutra_Reference_Fill.hpp"
#include "Lutra_Reference_Lu.hpp"
#include "Lutra_Reference_Matching.hpp"
#include "Lutra_SparseLU.hpp"

// Analysis and LU of any pattern. Orders are permutations, equal for equal patterns; matchings have the
// structural rank; the block triangular form has the strongly connected components; each symbolic method
// finds the fill of the reference; LU with any options has a small backward error where it says so, also for
// other values. First byte: size and kind of the pattern; three bytes of options; the pattern; the values.

namespace {

namespace Reference = lutra::Reference;
using lutra::Offset;
using lutra::Ordinal;
using lutra::Fuzz::accepted;
using lutra::Fuzz::Columns;
using lutra::Fuzz::Input;
using lutra::Fuzz::Matrix;
using lutra::Fuzz::require;
using lutra::Fuzz::require_permutation;
using Space = Kokkos::DefaultHostExecutionSpace;
using Pattern = lutra::CsrPattern<Ordinal, Offset, Kokkos::HostSpace>;
using Pairs = std::set<std::pair<std::size_t, std::size_t>>;

constexpr std::size_t most_for_reference = 64;

void check_orders(const Pattern& pattern) {
  using lutra::Ordering;
  for (const Ordering kind :
       {Ordering::metis, Ordering::nd, Ordering::amd, Ordering::rcm, Ordering::natural}) {
    const std::string name(lutra::name_of(kind));
    const auto order = lutra::order(pattern, kind);
    require_permutation(order, static_cast<std::size_t>(pattern.n_rows), "the order by " + name);
    require(order == lutra::order(pattern, kind), "equal patterns have equal orders by " + name);
  }
}

/// Which columns a path leads to from each column, by the algorithm of Warshall.
std::vector<std::vector<bool>> paths_of(const Matrix& a, const std::vector<Ordinal>& row_of_column) {
  const std::size_t n = row_of_column.size();
  std::vector<std::vector<bool>> leads(n, std::vector<bool>(n, false));
  for (std::size_t j = 0; j < n; ++j) {
    leads[j][j] = true;
    Reference::for_row(a, static_cast<std::size_t>(row_of_column[j]),
                       [&](std::size_t c, double) { leads[j][c] = true; });
  }
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; leads[i][k] && j < n; ++j)
        if (leads[k][j]) leads[i][j] = true;
  return leads;
}

void check_blocks(const Matrix& a, const std::vector<Ordinal>& row_of_column) {
  const auto form = lutra::block_triangular_form(make_view(a).pattern(), row_of_column);
  const std::size_t n = row_of_column.size();
  require(form.block_of_column.size() == n, "each column has a block");
  std::vector<Ordinal> sizes(static_cast<std::size_t>(form.count), 0);
  for (const Ordinal block : form.block_of_column) {
    require(block >= 0 && block < form.count, "blocks are in range");
    ++sizes[static_cast<std::size_t>(block)];
  }
  require(std::ranges::find(sizes, 0) == sizes.end(), "no block is empty");
  require(n == 0 || *std::ranges::max_element(sizes) == form.largest, "the largest block is counted");
  for (std::size_t j = 0; j < n; ++j)
    Reference::for_row(a, static_cast<std::size_t>(row_of_column[j]), [&](std::size_t c, double) {
      require(form.block_of_column[j] <= form.block_of_column[c], "the form is block upper triangular");
    });
  if (n > most_for_reference) return;
  const auto leads = paths_of(a, row_of_column);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      require((leads[i][j] && leads[j][i]) == (form.block_of_column[i] == form.block_of_column[j]),
              "blocks are the strongly connected components");
}

/// Checks that columns have different rows with which they have entries. @returns the matched columns
std::size_t count_matched(const Matrix& a, const std::vector<Ordinal>& row_of_column, bool nonzero) {
  std::set<Ordinal> rows;
  for (std::size_t j = 0; j < row_of_column.size(); ++j) {
    if (row_of_column[j] < 0) continue;
    bool is_entry = false;
    Reference::for_row(a, static_cast<std::size_t>(row_of_column[j]), [&](std::size_t c, double value) {
      is_entry = is_entry || (c == j && (value != 0 || !nonzero));
    });
    require(is_entry && rows.insert(row_of_column[j]).second, "columns are matched to rows of their own");
  }
  return rows.size();
}

void check_scales(const Matrix& a, const lutra::MatchingResult& matching) {
  for (std::size_t i = 0; i < matching.row_scale.size(); ++i)
    Reference::for_row(a, i, [&](std::size_t j, double value) {
      const double scaled = matching.row_scale[i] * std::abs(value) * matching.col_scale[j];
      require(scaled <= 1 + 1e-10, "scaled entries are at most 1");
      require(matching.row_of_column[j] != static_cast<Ordinal>(i) || scaled >= 1 - 1e-10,
              "matched entries are scaled to 1");
    });
}

void check_matchings(const Matrix& a) {
  const auto pattern = make_view(a).pattern();
  const auto rank = Reference::structural_rank(a, false), without_zeros = Reference::structural_rank(a, true);
  const auto transversal = lutra::maximum_transversal(pattern);
  require(static_cast<std::size_t>(transversal.rank) == rank, "a transversal has the structural rank");
  require(count_matched(a, transversal.row_of_column, false) == rank, "a transversal is of that size");
  const auto exact = lutra::match_exact(make_view(a));
  require(static_cast<std::size_t>(exact.structural_rank) == rank, "a matching knows the structural rank");
  require(static_cast<std::size_t>(exact.numeric_rank_bound) == without_zeros,
          "a matching knows the rank of the nonzero entries");
  require(count_matched(a, exact.row_of_column, true) == without_zeros, "a matching is of that size");
  if (without_zeros == static_cast<std::size_t>(a.n_rows)) check_scales(a, exact);
  if (rank == static_cast<std::size_t>(a.n_rows)) check_blocks(a, transversal.row_of_column);
}

Pairs pairs_of(const Reference::Rows& rows) {
  Pairs pairs;
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (const std::size_t j : rows[i]) pairs.insert({i, j});
  return pairs;
}

template <class RowMap, class Entries>
Pairs pairs_of(std::size_t n, const RowMap& row_map, const Entries& entries) {
  Pairs pairs;
  for (std::size_t i = 0; i < n; ++i)
    for (auto k = row_map[i]; k < row_map[i + 1]; ++k)
      pairs.insert({i, static_cast<std::size_t>(entries[static_cast<std::size_t>(k)])});
  return pairs;
}

/// The fill of A + Aᵀ.
Pairs symmetric_fill(const Matrix& a) {
  std::vector<Ordinal> natural(static_cast<std::size_t>(a.n_rows));
  for (std::size_t k = 0; k < natural.size(); ++k) natural[k] = static_cast<Ordinal>(k);
  const auto below = Reference::eliminate(a, natural);
  Pairs pairs;
  for (std::size_t j = 0; j < below.size(); ++j) {
    pairs.insert({j, j});
    for (const std::size_t i : below[j]) pairs.insert({{i, j}, {j, i}});
  }
  return pairs;
}

void check_symbolic(const Matrix& a) {
  using lutra::SymbolicMethod;
  const Pairs exact = pairs_of(Reference::lu_pattern(a)), superset = symmetric_fill(a);
  for (const SymbolicMethod method : {SymbolicMethod::automatic, SymbolicMethod::fill2, SymbolicMethod::fill1,
                                      SymbolicMethod::etree, SymbolicMethod::ancestors}) {
    const auto found =
        lutra::factorize_symbolic(Space(), make_view(a).pattern(), lutra::MemoryBudget(), {method});
    const Pairs pairs = pairs_of(static_cast<std::size_t>(a.n_rows), found.row_map.data(), found.entries);
    const std::string name(lutra::name_of(found.method));
    require(pairs == (found.exact ? exact : superset), "the fill by " + name + " is that of the reference");
    require(found.nnz_l + found.nnz_u == static_cast<Offset>(pairs.size()), name + " counts its entries");
  }
}

lutra::LuOptions take_options(Input& input, std::size_t n) {
  const unsigned a = input.take_byte(), b = input.take_byte(), c = input.take_byte();
  lutra::LuOptions options;
  options.engine =
      std::array{lutra::Engine::automatic, lutra::Engine::simplicial, lutra::Engine::multifrontal}[a % 3];
  options.ordering = std::array{lutra::Ordering::automatic, lutra::Ordering::metis, lutra::Ordering::nd,
                                lutra::Ordering::amd,       lutra::Ordering::rcm,   lutra::Ordering::natural,
                                lutra::Ordering::user}[b % 7];
  options.matching = std::array{lutra::Matching::automatic, lutra::Matching::none, lutra::Matching::auction,
                                lutra::Matching::exact}[a / 4 % 4];
  options.symbolic =
      std::array{lutra::SymbolicMethod::automatic, lutra::SymbolicMethod::fill2, lutra::SymbolicMethod::fill1,
                 lutra::SymbolicMethod::etree, lutra::SymbolicMethod::ancestors}[a / 16 % 5];
  options.trisolve =
      std::array{lutra::TrisolveMethod::automatic, lutra::TrisolveMethod::levels,
                 lutra::TrisolveMethod::syncfree, lutra::TrisolveMethod::supernodal}[b / 8 % 4];
  if ((b & 32) != 0) options.pivoting = lutra::Pivoting::threshold;
  if ((b & 64) != 0) options.solve_precision = lutra::FactorPrecision::single;
  if ((b & 128) != 0) options.solve_singular = true;
  options.expected_factorizations = 1 + static_cast<int>(c % 64);
  if ((c & 64) != 0) options.columns.supernodes = lutra::ColumnSupernodes::on;
  for (std::size_t k = 0; options.ordering == lutra::Ordering::user && k < n; ++k)
    options.user_permutation.push_back(static_cast<std::int64_t>((k + c) % n));
  return options;
}

/// Checks that the pattern of the factors has the fill of the permuted matrix.
void check_structure(const Matrix& a, const lutra::FactorStructure& structure) {
  const auto n = static_cast<std::size_t>(a.n_rows);
  require_permutation(structure.row_order, n, "the order of rows");
  require_permutation(structure.col_order, n, "the order of columns");
  std::vector<std::size_t> position(n);
  for (std::size_t k = 0; k < n; ++k) position[static_cast<std::size_t>(structure.col_order[k])] = k;
  Matrix permuted{a.n_rows, a.n_cols, {0}, {}, {}};
  for (const std::int64_t row : structure.row_order) {
    Reference::for_row(a, static_cast<std::size_t>(row), [&](std::size_t c, double value) {
      permuted.entries.push_back(static_cast<Ordinal>(position[c]));
      permuted.values.push_back(value);
    });
    permuted.row_map.push_back(permuted.nnz());
  }
  require(std::ranges::includes(pairs_of(n, structure.row_map, structure.entries),
                                pairs_of(Reference::lu_pattern(permuted))),
          "the pattern of L + U has the fill of the reference");
}

void check_solution(lutra::SparseLU<double, Space>& solver, const Matrix& a, lutra::Transposition op) {
  const auto n = static_cast<std::size_t>(a.n_rows);
  std::vector<double> b(n), x(n, 0.0);
  for (std::size_t i = 0; i < n; ++i) b[i] = 1 + static_cast<double>(i % 3);
  if (solver.solve_host(b, x, op) != lutra::Status::success) return;
  const Matrix solved = op == lutra::Transposition::none ? a : Reference::transpose(a);
  const auto error = static_cast<double>(Reference::backward_errors(solved, x, b).componentwise);
  require(error <= 1.01e-12, "a success has a small backward error: " + std::to_string(error));
}

void check_lu(const Matrix& a, const Matrix& other, const lutra::LuOptions& options) {
  lutra::SparseLU<double, Space> solver(options);
  const lutra::Status analyzed = solver.analyze(make_view(a));
  if (analyzed == lutra::Status::structurally_singular) return;
  if (a.n_rows <= static_cast<Ordinal>(most_for_reference) && options.pivoting != lutra::Pivoting::threshold)
    check_structure(a, solver.structure());
  for (const Matrix* const values : {&a, &other, &a}) {
    if (solver.factorize(make_view(*values)) == lutra::Status::structurally_singular) continue;
    check_solution(solver, *values, lutra::Transposition::none);
    check_solution(solver, *values, lutra::Transposition::transposed);
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (!Kokkos::is_initialized()) Kokkos::initialize(Kokkos::InitializationSettings().set_num_threads(1));
  Input input(data, size);
  const unsigned kind = input.take_byte();
  std::array<std::uint8_t, 3> choices{};
  for (auto& byte : choices) byte = input.take_byte();
  const bool only_orders = kind % 8 == 7;
  Columns rows = kind % 8 < 5 ? lutra::Fuzz::take_any_pattern(input)
                              : lutra::Fuzz::take_large_pattern(input, only_orders ? 2000 : 250);
  if ((kind & 8) != 0) lutra::Fuzz::add_diagonal(rows);
  if ((kind & 16) != 0) lutra::Fuzz::mirror(rows);
  const Matrix a = lutra::Fuzz::with_values(rows, input);
  check_orders(make_view(a).pattern());
  if (only_orders) return 0;
  check_matchings(a);
  if (rows.size() <= most_for_reference) check_symbolic(a);
  Matrix other = a;
  std::ranges::reverse(other.values);
  Input of_options(choices.data(), choices.size());
  accepted([&] { check_lu(a, other, take_options(of_options, rows.size())); });
  return 0;
}
