// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <random>
#include <type_traits>

#include "Lutra_DistributedFrontSolver.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_FrontSolver.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_MatrixMarket.hpp"
#include "Lutra_Ordering.hpp"
#include "Lutra_Upload.hpp"

namespace lutra::Test {
namespace {

using Exec = Kokkos::DefaultHostExecutionSpace;
template <class Scalar, class Space = Exec>
using Columns = Kokkos::View<Scalar**, Kokkos::LayoutLeft, typename Space::memory_space>;

/// An unsymmetric matrix with orders of rows and columns that differ, its tree, and scales that are not
/// powers of two.
template <class Scalar>
struct System {
  HostMatrix<Scalar> A;
  std::vector<int> rows, columns;  ///< orders
  AssemblyTree tree;
  std::vector<RealOf<Scalar>> row_scale, col_scale;

  explicit System(const HostMatrix<double>& matrix) {
    const int n = matrix.n_rows;
    A = {n, n, matrix.row_map, matrix.entries, {}};
    std::mt19937 random(3);
    std::uniform_real_distribution<double> noise(-0.2, 0.2);
    for (const double value : matrix.values) {
      if constexpr (ScalarTraits<Scalar>::is_complex)
        A.values.push_back(Scalar(value + noise(random), noise(random)));
      else
        A.values.push_back(static_cast<Scalar>(value + noise(random)));
    }
    const auto first = order(make_view(A).pattern(), Ordering::amd);
    tree = make_assembly_tree(Exec(), make_view(A).pattern(), first, first, MemoryBudget());
    for (const int k : tree.order) columns.push_back(first[static_cast<std::size_t>(k)]);
    // the rows of A upside down: row n − 1 − i has the diagonal of column i
    HostMatrix<Scalar> turned{n, n, {0}, {}, {}};
    for (int i = n - 1; i >= 0; --i) {
      const auto begin = A.row_map[static_cast<std::size_t>(i)];
      const auto end = A.row_map[static_cast<std::size_t>(i) + 1];
      turned.entries.insert(turned.entries.end(), A.entries.begin() + begin, A.entries.begin() + end);
      turned.values.insert(turned.values.end(), A.values.begin() + begin, A.values.begin() + end);
      turned.row_map.push_back(static_cast<std::int64_t>(turned.entries.size()));
    }
    A = std::move(turned);
    for (const int j : columns) rows.push_back(n - 1 - j);
    for (int i = 0; i < n; ++i) {
      row_scale.push_back(static_cast<RealOf<Scalar>>(1 + 0.1 * (i % 7)));
      col_scale.push_back(static_cast<RealOf<Scalar>>(1 - 0.03 * (i % 11)));
    }
  }
  FrontEntries entries() const { return {make_view(A).pattern(), rows, columns}; }
  std::size_t n() const { return static_cast<std::size_t>(A.n_rows); }
};

/// Rows of each rank: every block of three in turn, the last first.
std::vector<std::vector<std::int64_t>> deal(int n, int size) {
  std::vector<std::vector<std::int64_t>> rows(static_cast<std::size_t>(size));
  for (int i = n - 1; i >= 0; --i) rows[static_cast<std::size_t>(i / 3 % size)].push_back(i);
  return rows;
}

template <class Scalar>
Columns<Scalar> right_sides(std::size_t n, std::size_t k) {
  Columns<Scalar> B("B", n, k);
  std::mt19937 random(5);
  std::uniform_real_distribution<double> any(-1, 1);
  for (std::size_t c = 0; c < k; ++c)
    for (std::size_t i = 0; i < n; ++i) {
      if constexpr (ScalarTraits<Scalar>::is_complex)
        B(i, c) = Scalar(any(random), any(random));
      else
        B(i, c) = static_cast<Scalar>(any(random));
    }
  return B;
}

template <class From, class To>
void copy(const From& from, const To& to) {
  for (std::size_t i = 0; i < from.extent(0); ++i)
    for (std::size_t c = 0; c < from.extent(1); ++c) to(i, c) = from(i, c);
}

/// A solve by FrontSolver on the whole tree.
template <class Scalar>
class OneRank {
 public:
  explicit OneRank(const System<Scalar>& system)
      : m_plan(plan_lu(m_exec, system.tree, system.entries(), m_budget, front_plan_options<Scalar, Exec>())),
        m_factors(make_front_factors<Scalar>(m_exec, make_front_schedule<Scalar>(m_exec, m_plan, m_budget),
                                             m_budget)),
        m_solver(m_exec, m_plan, m_budget),
        m_rows(m_exec, m_budget, system) {
    allocate_values(m_exec, m_plan, m_budget, m_factors);
    const Kokkos::View<unsigned char*, Kokkos::HostSpace> perturbed("perturbed", system.n());
    factorize_fronts<Scalar>(m_exec, m_plan, {make_view(system.A).values, m_rows.row_scale, m_rows.col_scale},
                             1e-10, m_factors, perturbed);
  }
  Columns<Scalar> solve(Transposition op, const Columns<Scalar>& B) {
    Columns<Scalar> X("X", B.extent(0), B.extent(1));
    const bool plain = op == Transposition::none;
    FrontSystem<Scalar, Kokkos::HostSpace> system;
    system.transposition = op;
    system.in = {B.data(), 1, B.extent(0), (plain ? m_rows.row_scale : m_rows.col_scale).data()};
    system.out = {X.data(), 1, B.extent(0), (plain ? m_rows.col_scale : m_rows.row_scale).data()};
    system.in_row = plain ? m_rows.rows : m_rows.columns;
    system.out_row = plain ? m_rows.columns : m_rows.rows;
    system.n_columns = static_cast<int>(B.extent(1));
    m_solver.solve(m_exec, m_plan, m_factors, system);
    return X;
  }

 private:
  struct Uploaded {
    MemoryReservation reservation;
    Kokkos::View<const Ordinal*, Kokkos::HostSpace> rows, columns;
    Kokkos::View<const RealOf<Scalar>*, Kokkos::HostSpace> row_scale, col_scale;
    Uploaded(const Exec& exec, const MemoryBudget& budget, const System<Scalar>& system)
        : reservation(budget),
          rows(lutra::Impl::upload(exec, reservation, "rows", system.rows)),
          columns(lutra::Impl::upload(exec, reservation, "columns", system.columns)),
          row_scale(lutra::Impl::upload(exec, reservation, "row_scale", system.row_scale)),
          col_scale(lutra::Impl::upload(exec, reservation, "col_scale", system.col_scale)) {}
  };
  Exec m_exec;
  MemoryBudget m_budget;
  LuPlan<Kokkos::HostSpace> m_plan;
  FrontFactors<Scalar, Exec> m_factors;
  FrontSolver<Scalar, Exec> m_solver;
  Uploaded m_rows;
};

/// @param length if positive, fronts change their rank after that many, so that parts alternate between ranks
/// @param divided fronts of that many pivots and more are divided among all ranks; 0: none
/// @param Space of each rank; on hosts solutions have the bits of one rank's, unless fronts are divided
template <class Scalar, class Space = Exec>
void check_matrix(Communicator& comm, const HostMatrix<double>& matrix, bool forest = false, int length = 0,
                  int divided = 0) {
  const System<Scalar> system(matrix), nothing(HostMatrix<double>{0, 0, {0}, {}, {}});
  const System<Scalar>& mine = comm.rank() == 0 ? system : nothing;
  const auto rows = deal(matrix.n_rows, comm.size());
  const auto& own = rows[static_cast<std::size_t>(comm.rank())];
  std::vector<int> rank;
  for (int f = 0; length > 0 && f < mine.tree.count(); ++f) rank.push_back(f / length % comm.size());
  std::vector<bool> is_divided;
  for (int f = 0; divided > 0 && f < mine.tree.count(); ++f)
    is_divided.push_back(mine.tree.pivot_begin[static_cast<std::size_t>(f) + 1] -
                             mine.tree.pivot_begin[static_cast<std::size_t>(f)] >=
                         divided);
  FrontRanks forced = make_parts(length > 0 ? mine.tree : AssemblyTree(), rank, comm.size(), {}, is_divided);
  for (int& width : forced.block_columns) width = 5;
  DistributedFronts<Scalar, Space> fronts(comm, mine.tree, mine.entries(), rows, MemoryBudget(),
                                          length > 0 ? &forced : nullptr);
  std::vector<RealOf<Scalar>> row_scale, col_scale;
  for (const std::int64_t i : own) {
    row_scale.push_back(system.row_scale[static_cast<std::size_t>(i)]);
    col_scale.push_back(system.col_scale[static_cast<std::size_t>(i)]);
  }
  fronts.set_scales(row_scale, col_scale);
  DistributedFrontSolver<Scalar, Space> solver(comm, fronts);
  std::vector<Scalar> values;
  for (const std::int64_t i : own)
    values.insert(values.end(), system.A.values.begin() + system.A.row_map[static_cast<std::size_t>(i)],
                  system.A.values.begin() + system.A.row_map[static_cast<std::size_t>(i) + 1]);
  const Kokkos::View<const Scalar*, Kokkos::HostSpace> host_values(values.data(), values.size());
  static_cast<void>(fronts.factorize(
      Kokkos::create_mirror_view_and_copy(typename Space::memory_space(), host_values), 1e-10));
  OneRank<Scalar> alone(system);
  for (const std::size_t k : {std::size_t(3), std::size_t(1), std::size_t(6), std::size_t(5)}) {
    const auto B = right_sides<Scalar>(system.n(), k);
    Columns<Scalar> part("part", own.size(), k);
    for (const auto op : {Transposition::none, Transposition::transposed, Transposition::adjoint}) {
      const auto expected = alone.solve(op, B);
      for (std::size_t c = 0; c < k; ++c)
        for (std::size_t i = 0; i < own.size(); ++i) part(i, c) = B(static_cast<std::size_t>(own[i]), c);
      if (k == 6) {  // vectors by rows
        const DenseRows<Scalar, Kokkos::HostSpace> rows_of_B("B", own.size(), k);
        copy(part, rows_of_B);
        const auto X = Kokkos::create_mirror_view_and_copy(typename Space::memory_space(), rows_of_B);
        solver.solve(op, X, X);
        Kokkos::deep_copy(rows_of_B, X);
        copy(rows_of_B, part);
      } else {
        const auto X = Kokkos::create_mirror_view_and_copy(typename Space::memory_space(), part);
        solver.solve(op, X, X);
        Kokkos::deep_copy(part, X);
      }
      double worst = 0, size = 0;
      for (std::size_t c = 0; c < k; ++c)
        for (std::size_t i = 0; i < own.size(); ++i) {
          const Scalar& x = expected(static_cast<std::size_t>(own[i]), c);
          worst = std::max(worst, static_cast<double>(ScalarTraits<Scalar>::magnitude(part(i, c) - x)));
          size = std::max(size, static_cast<double>(ScalarTraits<Scalar>::magnitude(x)));
        }
      const double bound = std::is_same_v<RealOf<Scalar>, float> ? 1e-3 : 1e-9;
      CHECK(worst <= (std::is_same_v<Space, Exec> && divided == 0 ? 0 : bound * size));
    }
  }
  const RankStatistics statistics = solver.statistics();
  const auto all = comm.all_gather(statistics);
  std::int64_t pivots = 0;
  for (const RankStatistics& one : all) pivots += one.rows;
  CHECK(pivots == static_cast<std::int64_t>(system.n()));
  if (comm.size() == 1) CHECK(statistics.messages == 0);
  if (comm.size() > 1 && !forest && comm.rank() == 1) CHECK(statistics.messages > 0);
}

}  // namespace

TEST_CASE("solves on the fronts of several ranks have the bits of one rank's", "[trisolve]") {
  Communicator comm;
  LUTRA_IF_F64(check_matrix<double>(comm, generate("poisson2d", 17));
               check_matrix<double>(comm, generate("convdiff3d", 7));
               check_matrix<double>(comm, generate("circuit", 300, 3));)
  LUTRA_IF_F32(check_matrix<float>(comm, generate("convdiff3d", 5));)
  LUTRA_IF_C128(check_matrix<Kokkos::complex<double>>(comm, generate("convdiff3d", 6));)
  HostMatrix<double> blocks{9, 9, {0}, {}, {}};  // a forest of single rows
  for (int i = 0; i < 9; ++i) {
    blocks.entries.push_back(i);
    blocks.values.push_back(i + 1);
    blocks.row_map.push_back(i + 1);
  }
  LUTRA_IF_F64(check_matrix<double>(comm, blocks, true);
               check_matrix<double>(comm, HostMatrix<double>{1, 1, {0, 1}, {0}, {2.0}}, true);)
  comm.close();
}

TEST_CASE("solves on parts that alternate between ranks have the bits of one rank's", "[trisolve]") {
  Communicator comm;
  LUTRA_IF_F64(check_matrix<double>(comm, generate("poisson3d", 12), false, 7);
               check_matrix<double>(comm, generate("poisson2d", 30), false, 1);
               check_matrix<double>(comm, generate("circuit", 300, 3), false, 3);)
  LUTRA_IF_C128(check_matrix<Kokkos::complex<double>>(comm, generate("convdiff3d", 6), false, 2);)
  comm.close();
}

TEST_CASE("solves on divided fronts are those of one rank", "[trisolve]") {
  Communicator comm;
  LUTRA_IF_F64(check_matrix<double>(comm, generate("poisson3d", 10), false, 7, 16);
               check_matrix<double>(comm, generate("poisson2d", 20), false, 1, 6);)
  LUTRA_IF_F32(check_matrix<float>(comm, generate("convdiff3d", 8), false, 20, 12);)
  LUTRA_IF_C64(check_matrix<Kokkos::complex<float>>(comm, generate("convdiff3d", 6), false, 2, 8);)
  LUTRA_IF_C128(check_matrix<Kokkos::complex<double>>(comm, generate("convdiff3d", 8), false, 20, 12);)
  comm.close();
}

TEST_CASE("ranks solve on the fronts of their devices", "[trisolve][device]") {
  using Space = Kokkos::DefaultExecutionSpace;
  Communicator comm;
  if constexpr (!std::is_same_v<Space, Exec>) {
    check_matrix<double, Space>(comm, generate("poisson2d", 60));
    check_matrix<double, Space>(comm, generate("convdiff3d", 14));
    check_matrix<double, Space>(comm, generate("convdiff3d", 14), false, 20);
    check_matrix<double, Space>(comm, generate("poisson3d", 12), false, 7);
  }
  comm.close();
}

}  // namespace lutra::Test
