// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Tpetra_BlockCrsMatrix.hpp>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <limits>
#include <string>
#include <vector>

#include "Lutra_MatrixMarket.hpp"
#include "Lutra_TestTpetra.hpp"
#include "Lutra_TpetraBatchedLU.hpp"
#include "Lutra_TpetraBlockDiagonalLU.hpp"

namespace lutra::Test {
namespace {

using Batch = TpetraBatchedLU<Matrix>;
using Blocks = TpetraBlockDiagonalLU<Matrix>;
using BlockMatrix = Blocks::block_matrix_type;
using Local = Map::local_ordinal_type;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
using Memory = Matrix::device_type::memory_space;
using Values = Kokkos::View<double**, Kokkos::LayoutRight, Memory>;  // interleaved

constexpr std::array modes{Teuchos::NO_TRANS, Teuchos::TRANS};
Transposition op_of(Teuchos::ETransp mode) {
  return mode == Teuchos::NO_TRANS ? Transposition::none : Transposition::transposed;
}
/// Vectors [first, first + count) of X.
Teuchos::RCP<const Vector> vectors_of(const Vector& X, std::size_t first, std::size_t count) {
  return X.subView(Teuchos::Range1D(static_cast<Teuchos::Ordinal>(first),
                                    static_cast<Teuchos::Ordinal>(first + count - 1)));
}
void put(Vector& X, std::size_t first, const Vector& columns) {
  for (std::size_t c = 0; c < columns.getNumVectors(); ++c)
    Tpetra::deep_copy(*X.getVectorNonConst(first + c), *columns.getVector(c));
}

/// K matrices with one graph on this process alone: A, 1.5·A + I, 2·A + 2·I, …
std::vector<MatrixPtr> sweep(std::size_t systems) {
  const MatrixPtr first = distributed(generate("convdiff3d", 3), self());
  std::vector<MatrixPtr> result;
  for (std::size_t k = 0; k < systems; ++k) {
    result.push_back(Teuchos::rcp(new Matrix(first->getCrsGraph())));
    result.back()->resumeFill();
    result.back()->setAllToScalar(0);
    result.back()->fillComplete();
    Kokkos::deep_copy(result.back()->getLocalMatrixDevice().values, first->getLocalMatrixDevice().values);
    change_values(*result.back(), 1.0 + 0.5 * static_cast<double>(k), static_cast<double>(k));
  }
  return result;
}
Teuchos::ArrayView<const Teuchos::RCP<const Matrix>> view_of(
    const std::vector<Teuchos::RCP<const Matrix>>& matrices) {
  return {matrices.data(), static_cast<Teuchos::Ordinal>(matrices.size())};
}
std::vector<Teuchos::RCP<const Matrix>> constant(const std::vector<MatrixPtr>& matrices) {
  return {matrices.begin(), matrices.end()};
}
/// Values of several matrices, interleaved.
Values values_of(const std::vector<MatrixPtr>& matrices) {
  const Values values("values", matrices[0]->getLocalNumEntries(), matrices.size());
  const auto host = Kokkos::create_mirror_view(values);
  for (std::size_t k = 0; k < matrices.size(); ++k) {
    const auto own = matrices[k]->getLocalMatrixHost().values;
    for (std::size_t p = 0; p < own.extent(0); ++p) host(p, k) = own(p);
  }
  Kokkos::deep_copy(values, host);
  return values;
}

/// Error of each system's solution of op(A_k)·X_k = B_k whose X_k is known.
std::vector<double> solve_known(Batch& batch, const std::vector<MatrixPtr>& matrices, std::size_t n_rhs,
                                Teuchos::ETransp mode = Teuchos::NO_TRANS) {
  const auto map = matrices[0]->getRowMap();
  const VectorPtr exact = some_vectors(map, n_rhs);
  Vector B(map, n_rhs * matrices.size()), X(map, n_rhs * matrices.size());
  for (std::size_t k = 0; k < matrices.size(); ++k) put(B, k * n_rhs, *product(*matrices[k], *exact, mode));
  CHECK(batch.solve(X, B, op_of(mode)) == batch.report().status);
  std::vector<double> errors;
  for (std::size_t k = 0; k < matrices.size(); ++k)
    errors.push_back(difference(*vectors_of(X, k * n_rhs, n_rhs), *exact));
  return errors;
}

TEST_CASE("TpetraBatchedLU: matrices with one graph", "[trilinos]") {
  const auto matrices = sweep(9);
  Batch batch;
  for (const auto mode : modes) {
    REQUIRE(batch.factorize(view_of(constant(matrices))) == Status::success);
    for (const double error : solve_known(batch, matrices, 2, mode)) CHECK(error < 1e-11);
    CHECK(batch.report().status == Status::success);
    for (const double error : batch.report().componentwise) CHECK(error < 1e-12);
  }
  for (const MatrixPtr& A : matrices) change_values(*A, 3.0, -0.5);
  REQUIRE(batch.factorize(view_of(constant(matrices))) == Status::success);
  for (const double error : solve_known(batch, matrices, 1)) CHECK(error < 1e-11);
  const std::vector<MatrixPtr> fewer(matrices.begin(), matrices.begin() + 2);
  REQUIRE(batch.factorize(view_of(constant(fewer))) == Status::success);
  CHECK(solve_known(batch, fewer, 3)[1] < 1e-11);
}

TEST_CASE("TpetraBatchedLU: values on a graph, and a mask", "[trilinos]") {
  const auto matrices = sweep(5);
  const auto graph = matrices[0]->getCrsGraph();
  const std::array mask{true, false, true, true, true};
  Teuchos::ParameterList list;
  list.set("ordering", "amd");
  Batch batch(list);
  REQUIRE(batch.factorize(*graph, values_of(matrices), mask) == Status::success);
  const auto errors = solve_known(batch, matrices, 1);
  for (std::size_t k = 0; k < 5; ++k) CHECK((errors[k] < 1e-11) == mask[k]);
  CHECK(errors[1] == 1);  // zeros as before
  CHECK(batch.report().statuses[1] == Status::not_solved);
}

TEST_CASE("TpetraBatchedLU: a singular matrix changes nothing in the others", "[trilinos]") {
  const auto matrices = sweep(4);
  matrices[2]->resumeFill();
  matrices[2]->setAllToScalar(0);
  matrices[2]->fillComplete();
  Batch batch;
  CHECK(batch.factorize(view_of(constant(matrices))) != Status::success);
  const auto errors = solve_known(batch, matrices, 1);
  for (const std::size_t k : {0u, 1u, 3u}) CHECK(errors[k] < 1e-11);
  CHECK(errors[2] == 1);
  const Status status = batch.report().statuses[2];
  CHECK((status == Status::numerically_singular || status == Status::structurally_singular));
  CHECK(batch.report().statuses[3] == Status::success);
}

TEST_CASE("TpetraBatchedLU: wrong calls", "[trilinos]") {
  const auto matrices = sweep(8);
  const auto graph = matrices[0]->getCrsGraph();
  const auto map = matrices[0]->getRowMap();
  Batch batch;
  Vector X(map, 8), B(map, 8);
  CHECK_THROWS_MATCHES(batch.solve(X, B), std::logic_error,
                       MessageMatches(ContainsSubstring("there are no factors")));
  const bool mask[] = {true, true};
  CHECK_THROWS_MATCHES(batch.factorize(*graph, values_of(matrices), mask), std::invalid_argument,
                       MessageMatches(ContainsSubstring("mask: it has 2 elements, but the batch has 8")));
  set_entry(*matrices[7], 8, 5, std::numeric_limits<double>::quiet_NaN());
  CHECK_THROWS_MATCHES(batch.factorize(view_of(constant(matrices))), std::invalid_argument,
                       MessageMatches(ContainsSubstring("system 7, row 8, column 5 holds NaN or infinity")));
  set_entry(*matrices[7], 8, 5, 1.0);
  REQUIRE(batch.factorize(view_of(constant(matrices))) == Status::success);
  Vector seven(map, 7);
  CHECK_THROWS_MATCHES(
      batch.solve(seven, seven), std::invalid_argument,
      MessageMatches(ContainsSubstring("B: it has 7 vectors, which is no multiple of the 8")));
  CHECK_THROWS_MATCHES(batch.factorize(*graph, Values("values", 3, 2)), std::invalid_argument,
                       MessageMatches(ContainsSubstring("values: they have 3 rows")));
  auto others = constant(matrices);
  others[3] = distributed(generate("poisson2d", 5), self());
  CHECK_THROWS_MATCHES(
      batch.factorize(view_of(others)), std::invalid_argument,
      MessageMatches(ContainsSubstring("matrices[3]: its pattern is not that of matrices[0]")));
  CHECK_THROWS_MATCHES(batch.factorize(view_of({})), std::invalid_argument,
                       MessageMatches(ContainsSubstring("matrices: there are none")));
  Teuchos::ParameterList list;
  list.set("orderng", "amd");
  CHECK_THROWS_AS(Batch(list), Teuchos::Exceptions::InvalidParameterName);
  if (world()->getSize() == 1) return;
  const MatrixPtr shared = distributed(generate("poisson2d", 12));
  const Values values("values", shared->getLocalNumEntries(), 2);
  CHECK_THROWS_MATCHES(batch.factorize(*shared->getCrsGraph(), values), std::invalid_argument,
                       MessageMatches(ContainsSubstring("columns of other processes")));
}

// ---- diagonal blocks
// ---------------------------------------------------------------------------------------

constexpr int n = 5;           // rows of a block
constexpr Global blocks = 12;  // on all processes

bool has_entry(Global block, int i, int j) {
  return i == j || (i + 2 * j + static_cast<int>(block)) % 3 == 0;
}
double entry(Global block, int i, int j) {
  return i == j ? 4.0 + 0.1 * static_cast<double>(block)
                : 1.0 / (1.0 + i + 2 * j + static_cast<double>(block));
}

/// A matrix of blocks; with entries far from the diagonal, unless it is block diagonal.
MatrixPtr of_blocks(bool is_block_diagonal, const Teuchos::RCP<const Map>& map) {
  const auto A = Teuchos::rcp(new Matrix(map, 2 * n));
  for (const Global row : map->getLocalElementList()) {
    const Global block = row / n;
    const int i = static_cast<int>(row % n);
    for (int j = 0; j < n; ++j)
      if (has_entry(block, i, j)) {
        const Global column = block * n + j;
        const double value = entry(block, i, j);
        A->insertGlobalValues(row, 1, &value, &column);
      }
    if (is_block_diagonal) continue;
    const Global far = (row + 2 * n) % (n * blocks);
    const double value = 0.3;
    A->insertGlobalValues(row, 1, &value, &far);
  }
  A->fillComplete();
  return A;
}
/// Whole blocks on each process; on all but the first if `leaves_first_empty`.
Teuchos::RCP<const Map> block_map(bool leaves_first_empty = false) {
  const int rank = world()->getRank(), size = world()->getSize();
  Global own = blocks / size + (rank < blocks % size ? 1 : 0);
  if (leaves_first_empty && size > 1) own = rank == 0 ? 0 : rank == size - 1 ? blocks - (size - 2) : 1;
  return Teuchos::rcp(new Map(Teuchos::OrdinalTraits<Tpetra::global_size_t>::invalid(),
                              static_cast<std::size_t>(own * n), 0, world()));
}

TEST_CASE("TpetraBlockDiagonalLU: block diagonal matrices", "[trilinos]") {
  for (const bool leaves_first_empty : {false, true}) {
    const auto map = block_map(leaves_first_empty);
    const MatrixPtr A = of_blocks(true, map);
    Blocks solver;
    for (int values = 0; values < 2; ++values) {
      REQUIRE(solver.factorize(*A, n) == Status::success);
      for (const auto mode : modes) {
        const VectorPtr exact = some_vectors(map, 3), B = product(*A, *exact, mode);
        Vector X(map, 3);
        CHECK(solver.solve(X, *B, op_of(mode)) == Status::success);
        CHECK(difference(X, *exact) < 1e-12);
      }
      CHECK(solver.report().systems == static_cast<std::int64_t>(map->getLocalNumElements()) / n);
      change_values(*A, 2.0, 1.0);
    }
  }
}

TEST_CASE("TpetraBlockDiagonalLU: blocks as a preconditioner", "[trilinos]") {
  const auto map = block_map();
  const MatrixPtr A = of_blocks(false, map), D = of_blocks(true, map);
  const auto blocks_of_A = Teuchos::rcp(new Blocks());
  REQUIRE(blocks_of_A->factorize(*A, n) == Status::success);
  const Tpetra::Operator<double>& M = *blocks_of_A;
  CHECK(M.getDomainMap()->isSameAs(*map));
  CHECK(M.hasTransposeApply());
  const VectorPtr X = some_vectors(map, 2);
  for (const auto mode : modes) {
    Vector Y(map, 2);
    Y.putScalar(std::numeric_limits<double>::quiet_NaN());
    M.apply(*X, Y, mode);
    CHECK(difference(*product(*D, Y, mode), *X) < 1e-13);
    Vector Z(*X, Teuchos::Copy);
    M.apply(*X, Z, mode, 2.0, -1.0);
    Z.update(-2.0, Y, 1.0);  // −X remains
    Z.scale(-1.0);
    CHECK(difference(Z, *X) < 1e-13);
  }
}

TEST_CASE("TpetraBlockDiagonalLU: a BlockCrsMatrix", "[trilinos]") {
  const auto map = block_map();
  const auto own = static_cast<Local>(map->getLocalNumElements() / n);
  const auto mesh = Teuchos::rcp(new Map(blocks, static_cast<std::size_t>(own), 0, world()));
  const auto graph = Teuchos::rcp(new Matrix::crs_graph_type(mesh, 2));
  for (const Global block : mesh->getLocalElementList()) {
    const std::array<Global, 2> columns{block, (block + 2) % blocks};
    graph->insertGlobalIndices(block, Teuchos::ArrayView<const Global>(columns.data(), 2));
  }
  graph->fillComplete();
  BlockMatrix A(*graph, n);
  A.setAllToScalar(0.3);
  for (Local k = 0; k < own; ++k) {
    const Global block = mesh->getGlobalElement(k);
    std::vector<double> values;
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) values.push_back(has_entry(block, i, j) ? entry(block, i, j) : 0.0);
    const Local column = graph->getColMap()->getLocalElement(block);
    REQUIRE(A.replaceLocalValues(k, &column, values.data(), 1) == 1);
  }
  Blocks solver;
  REQUIRE(solver.factorize(A) == Status::success);
  const auto points = A.getRangeMap();
  const MatrixPtr D = of_blocks(true, points);
  const VectorPtr exact = some_vectors(points, 2), B = product(*D, *exact);
  Vector X(points, 2);
  CHECK(solver.solve(X, *B) == Status::success);
  CHECK(difference(X, *exact) < 1e-12);
}

TEST_CASE("TpetraBlockDiagonalLU: singular blocks, masks and wrong calls", "[trilinos]") {
  const auto map = block_map();
  const MatrixPtr A = of_blocks(true, map);
  Blocks solver;
  Vector X(map, 1), B(map, 1);
  B.putScalar(1);
  CHECK_THROWS_MATCHES(solver.apply(B, X), std::logic_error,
                       MessageMatches(ContainsSubstring("there are no factors")));
  CHECK_THROWS_MATCHES(solver.factorize(*A, 7), std::invalid_argument,
                       MessageMatches(ContainsSubstring("block_size: ")));
  A->resumeFill();
  for (int i = 0; i < n; ++i) {  // block 1 of this process is zero
    Teuchos::ArrayRCP<const double> none;
    Matrix::nonconst_local_inds_host_view_type columns("columns", A->getNumEntriesInLocalRow(n + i));
    Matrix::nonconst_values_host_view_type values("values", columns.extent(0));
    std::size_t count = 0;
    A->getLocalRowCopy(n + i, columns, values, count);
    Kokkos::deep_copy(values, 0.0);
    A->replaceLocalValues(n + i, columns, values);
  }
  A->fillComplete();
  CHECK(solver.factorize(*A, n) != Status::success);
  X.putScalar(7);
  CHECK(solver.solve(X, B) == solver.report().status);
  CHECK(solver.report().statuses[0] == Status::success);
  CHECK(solver.report().statuses[1] != Status::success);
  CHECK(X.getLocalViewHost(Tpetra::Access::ReadOnly)(n, 0) == 7);
  CHECK_THROWS_MATCHES(solver.apply(B, X), std::runtime_error,
                       MessageMatches(ContainsSubstring("apply: block 1: ")));
  std::vector<char> used(map->getLocalNumElements() / n, 1);
  used[1] = 0;
  REQUIRE(solver.factorize(*A, n, {reinterpret_cast<const bool*>(used.data()), used.size()}) ==
          Status::success);
  CHECK(solver.solve(X, B) == Status::success);
  Vector elsewhere(Teuchos::rcp(new Map(3, 0, self())), 1);
  CHECK_THROWS_MATCHES(solver.solve(elsewhere, elsewhere), std::invalid_argument,
                       MessageMatches(ContainsSubstring("the maps of X and B")));
}

}  // namespace
}  // namespace lutra::Test
