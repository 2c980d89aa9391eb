// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <utility>

#include "Lutra_DistributedTriangles.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_Instantiate.hpp"
#ifdef LUTRA_HAS_NVSHMEM
#include "Lutra_Nvshmem.hpp"
#endif
#include "Lutra_ScalarTraits.hpp"

using namespace lutra;

namespace {

/// A matrix by entries, whole on every rank.
template <class Scalar>
struct Entries {
  std::int64_t n = 0;
  std::vector<std::int64_t> rows, columns;
  std::vector<Scalar> values;
};

template <class Scalar>
Scalar random_value(std::mt19937_64& random) {
  const auto part = [&] {
    return static_cast<RealOf<Scalar>>(2e-3 * static_cast<double>(random() % 1000) - 1);
  };
  if constexpr (ScalarTraits<Scalar>::is_complex)
    return Scalar(part(), part());
  else
    return part();
}

/// Both triangles with a pattern in which row i has entries in columns that `reach(i)` gives.
template <class Scalar, class Reach>
Entries<Scalar> make_entries(std::int64_t n, std::uint64_t seed, const Reach& reach) {
  std::mt19937_64 random(seed);
  Entries<Scalar> A{n, {}, {}, {}};
  std::map<std::pair<std::int64_t, std::int64_t>, Scalar> entries;
  for (std::int64_t i = 0; i < n; ++i) {
    entries[{i, i}] = Scalar(3) + random_value<Scalar>(random);
    for (const std::int64_t j : reach(i, random)) {
      entries[{i, j}] = random_value<Scalar>(random) * Scalar(0.3);
      entries[{j, i}] = random_value<Scalar>(random) * Scalar(0.3);
    }
  }
  for (const auto& [at, value] : entries) {
    A.rows.push_back(at.first);
    A.columns.push_back(at.second);
    A.values.push_back(value);
  }
  return A;
}

using Reached = std::vector<std::int64_t>;

template <class Scalar>
std::vector<Entries<Scalar>> make_matrices() {
  const auto none = [](std::int64_t, auto&) { return Reached{}; };
  const auto band = [](std::int64_t i, auto&) {
    Reached to;
    for (std::int64_t j = std::max<std::int64_t>(i - 3, 0); j < i; ++j) to.push_back(j);
    return to;
  };
  const auto sparse = [](std::int64_t i, auto& random) {
    Reached to;
    for (int e = 0; e < 4 && i > 0; ++e)
      to.push_back(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(i)));
    return to;
  };
  const auto grid = [](std::int64_t i, auto&) {  // of 20 columns, and a dense last row of it
    Reached to;
    if (i % 20 != 0) to.push_back(i - 1);
    if (i >= 20) to.push_back(i - 20);
    if (i > 480)
      for (std::int64_t j = 0; j < i; j += 2) to.push_back(j);
    return to;
  };
  const auto dense = [](std::int64_t i, auto&) {
    Reached to;
    for (std::int64_t j = 0; j < i; ++j) to.push_back(j);
    return to;
  };
  return {make_entries<Scalar>(0, 1, none),     make_entries<Scalar>(1, 2, none),
          make_entries<Scalar>(100, 3, none),   make_entries<Scalar>(300, 4, band),
          make_entries<Scalar>(400, 5, sparse), make_entries<Scalar>(500, 6, grid),
          make_entries<Scalar>(90, 7, dense)};
}

/// What of a whole matrix and of whole vectors one rank has: rows in turn, or all on one rank.
struct Share {
  std::vector<std::size_t> entries;
  std::vector<std::int64_t> rows, columns, vector_rows;
};
template <class Scalar>
Share share_of(const Entries<Scalar>& A, const Communicator& comm, bool by_rows) {
  Share share;
  const auto is_mine = [&](std::int64_t row) {
    return by_rows ? row * comm.size() / A.n == comm.rank() : comm.rank() == comm.size() - 1;
  };
  for (std::size_t e = 0; e < A.rows.size(); ++e) {
    if (!is_mine(A.rows[e])) continue;
    share.entries.push_back(e);
    share.rows.push_back(A.rows[e]);
    share.columns.push_back(A.columns[e]);
  }
  for (std::int64_t i = A.n; i-- > 0;)
    if (is_mine(i)) share.vector_rows.push_back(i);
  return share;
}

/// T·x, and |T|·|x|, for one triangle.
template <class Scalar>
void multiply(const Entries<Scalar>& A, const TriangleSweep& sweep, const std::vector<Scalar>& x,
              std::vector<Scalar>& product, std::vector<double>& absolute) {
  product.assign(x.size(), Scalar(0));
  absolute.assign(x.size(), 0);
  const auto add = [&](std::int64_t row, std::int64_t column, const Scalar& value) {
    const auto i = static_cast<std::size_t>(row), j = static_cast<std::size_t>(column);
    product[i] += value * x[j];
    absolute[i] +=
        static_cast<double>(ScalarTraits<Scalar>::magnitude(value) * ScalarTraits<Scalar>::magnitude(x[j]));
  };
  for (std::size_t e = 0; e < A.rows.size(); ++e) {
    if (A.rows[e] == A.columns[e])
      add(A.rows[e], A.rows[e], sweep.diagonal == DiagonalKind::unit ? Scalar(1) : A.values[e]);
    else if ((A.rows[e] > A.columns[e]) == (sweep.side == TriangleSide::lower))
      add(A.rows[e], A.columns[e], A.values[e]);
  }
}

/// One object, its share of everything, and solves whose solutions are checked and gathered on all ranks.
template <class Scalar>
class Solver {
 public:
  Solver(Communicator& comm, const Entries<Scalar>& A, std::vector<TriangleSweep> sweeps,
         const DistributedOptions& options, bool by_rows)
      : m_comm(comm),
        m_A(A),
        m_sweeps(sweeps),
        m_share(share_of(A, comm, by_rows)),
        m_solver(comm, {A.n, m_share.rows, m_share.columns, sweeps, m_share.vector_rows, m_share.vector_rows},
                 options) {
    std::vector<Scalar> values;
    for (const std::size_t e : m_share.entries) values.push_back(A.values[e]);
    m_solver.set_values(values);
  }
  ~Solver() {
    if (std::uncaught_exceptions() == 0) m_solver.close();
  }

  /// @returns X [n × k], the same on all ranks
  std::vector<Scalar> solve(const std::vector<Scalar>& B, std::size_t k) {
    const auto n = static_cast<std::size_t>(m_A.n);
    const std::size_t mine = m_share.vector_rows.size();
    std::vector<Scalar> local_B(mine * k), local_X(mine * k);
    for (std::size_t c = 0; c < k; ++c)
      for (std::size_t i = 0; i < mine; ++i)
        local_B[c * mine + i] = B[c * n + static_cast<std::size_t>(m_share.vector_rows[i])];
    m_solver.solve(local_B, local_X, k);
    std::vector<Scalar> X(n * k);
    const auto rows = m_comm.gather(m_share.vector_rows);
    const auto parts = m_comm.gather(local_X);
    for (std::size_t r = 0; r < rows.size(); ++r)
      for (std::size_t i = 0; i < rows[r].size(); ++i)
        for (std::size_t c = 0; c < k; ++c)
          X[c * n + static_cast<std::size_t>(rows[r][i])] = parts[r][c * rows[r].size() + i];
    m_comm.broadcast(X);
    return X;
  }
  RankStatistics statistics() const { return m_solver.statistics(); }

 private:
  Communicator& m_comm;
  const Entries<Scalar>& m_A;
  std::vector<TriangleSweep> m_sweeps;
  Share m_share;
  DistributedTriangles<Scalar> m_solver;
};

template <class Scalar>
std::vector<Scalar> random_vector(std::size_t size, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Scalar> b(size);
  for (Scalar& value : b) value = random_value<Scalar>(random);
  return b;
}

/// max over rows and columns of |b − T₁⋯Tₖ·x| / (|T₁|⋯|Tₖ||x| + |b|)
template <class Scalar>
double backward_error(const Entries<Scalar>& A, const std::vector<TriangleSweep>& sweeps,
                      const std::vector<Scalar>& X, const std::vector<Scalar>& B, std::size_t k) {
  const auto n = static_cast<std::size_t>(A.n);
  double worst = 0;
  for (std::size_t c = 0; c < k; ++c) {
    std::vector<Scalar> x(X.begin() + static_cast<std::ptrdiff_t>(c * n),
                          X.begin() + static_cast<std::ptrdiff_t>((c + 1) * n)),
        product;
    std::vector<double> size(n), part;
    for (std::size_t i = 0; i < n; ++i) size[i] = static_cast<double>(ScalarTraits<Scalar>::magnitude(x[i]));
    for (auto sweep = sweeps.rbegin(); sweep != sweeps.rend(); ++sweep) {
      Entries<Scalar> absolute = A;
      for (Scalar& value : absolute.values) value = Scalar(ScalarTraits<Scalar>::magnitude(value));
      std::vector<Scalar> sizes(size.begin(), size.end()), sizes_after;
      multiply(absolute, *sweep, sizes, sizes_after, size);
      multiply(A, *sweep, x, product, part);
      x = product;
    }
    for (std::size_t i = 0; i < n; ++i) {
      const Scalar b = B[c * n + i];
      const double scale = size[i] + static_cast<double>(ScalarTraits<Scalar>::magnitude(b));
      const double error = static_cast<double>(ScalarTraits<Scalar>::magnitude(b - x[i]));
      if (!(error <= 1e300)) return error;
      if (scale > 0) worst = std::max(worst, error / scale);
    }
  }
  return worst;
}

const std::vector<std::vector<TriangleSweep>> all_sweeps{
    {{TriangleSide::lower, DiagonalKind::stored}},
    {{TriangleSide::upper, DiagonalKind::unit}},
    {{TriangleSide::lower, DiagonalKind::unit}, {TriangleSide::upper, DiagonalKind::stored}},
    {{TriangleSide::upper, DiagonalKind::stored}, {TriangleSide::lower, DiagonalKind::stored}}};

template <class Scalar>
void check_all() {
  Communicator comm;
  const double tolerance = 1e3 * static_cast<double>(epsilon_of<Scalar>);  // 2e-13 in double precision
  for (const Entries<Scalar>& A : make_matrices<Scalar>()) {
    for (const ProcessGrid& grid : grids_of(comm.size())) {
      for (std::size_t which = 0; which < all_sweeps.size(); ++which) {
        const auto& sweeps = all_sweeps[which];
        DistributedOptions options;
        options.grid = grid;
        options.deterministic = (which + static_cast<std::size_t>(A.n)) % 2 == 0;
        options.max_width = A.n == 90 ? 7 : 64;
        Solver<Scalar> solver(comm, A, sweeps, options, which % 2 == 1);
        std::int64_t entries = 0;
        for (const std::int64_t part : comm.all_gather(solver.statistics().entries)) entries += part;
        if (sweeps.size() == 2)
          CHECK(entries == static_cast<std::int64_t>(A.rows.size()) +
                               (sweeps[0].diagonal == sweeps[1].diagonal ? A.n : 0));
        for (const std::size_t k : {std::size_t{1}, std::size_t{19}}) {
          const auto B = random_vector<Scalar>(static_cast<std::size_t>(A.n) * k, 11 * k);
          const auto X = solver.solve(B, k);
          INFO("n " << A.n << ", grid " << name_of(grid) << ", sweeps " << which << ", k " << k);
          CHECK(backward_error(A, sweeps, X, B, k) <= tolerance);
        }
      }
    }
  }
  comm.close();
}

/// Rows or, in the order of arrival, columns worked by kernels of the default execution space; each solve
/// twice, for the same bits. Where ranks share a device each message between kernels takes time slices: less
/// is tried there.
template <class Scalar>
void check_kernels(Communicator& comm, CommBackend backend, bool few, bool deterministic = true) {
  const double tolerance = 1e3 * static_cast<double>(epsilon_of<Scalar>);
  const auto matrices = make_matrices<Scalar>();
  for (const std::size_t number : {0, 4, 5, 6}) {
    if (few && number % 2 == 1) continue;
    const Entries<Scalar>& A = matrices[number];
    for (const ProcessGrid& grid : grids_of(comm.size())) {
      for (const std::size_t which : {1, 2}) {
        if ((few || number == 5) && which == 1) continue;
        DistributedOptions options;
        options.grid = grid;
        options.max_width = A.n == 90 ? 7 : 64;
        options.on_device = true;
        options.backend = backend;
        options.deterministic = deterministic;
        Solver<Scalar> solver(comm, A, all_sweeps[which], options, which == 1);
        for (const std::size_t k : {std::size_t{1}, few ? std::size_t{5} : std::size_t{19}}) {
          INFO(to_string(backend) << ", n " << A.n << ", grid " << name_of(grid) << ", sweeps " << which
                                  << ", k " << k);
          const auto B = random_vector<Scalar>(static_cast<std::size_t>(A.n) * k, 11 * k);
          const auto X = solver.solve(B, k);
          CHECK(backward_error(A, all_sweeps[which], X, B, k) <= tolerance);
          const auto again = solver.solve(B, k);
          if (deterministic) {
            CHECK(std::equal(X.begin(), X.end(), again.begin(), again.end()));
          } else {
            CHECK(backward_error(A, all_sweeps[which], again, B, k) <= tolerance);
          }
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("kernels solve distributed triangles with every way of sending messages", "[distributed][device]") {
  Communicator comm;
  for (const CommBackend backend : {CommBackend::mpi, CommBackend::peer}) {
    if (!is_built(backend)) continue;
    const bool shared = backend == CommBackend::peer;
    LUTRA_IF_F64(check_kernels<double>(comm, backend, shared);)
    LUTRA_IF_C128(if (!shared) check_kernels<Kokkos::complex<double>>(comm, backend, true);)
    if (!shared) continue;
    LUTRA_IF_F64(check_kernels<double>(comm, backend, true, false);)
    LUTRA_IF_C128(check_kernels<Kokkos::complex<double>>(comm, backend, true, false);)
  }
  const std::vector<std::int64_t> rows(comm.rank() == 0 ? 1 : 0, 0);
  const auto refusal = [&](bool on_device, CommBackend backend, bool deterministic = true) -> std::string {
    DistributedOptions options;
    options.on_device = on_device;
    options.backend = backend;
    options.deterministic = deterministic;
    try {
      DistributedTriangles<double>(comm, {1, rows, rows, {{}}, rows, rows}, options);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  if (!is_built(CommBackend::peer))
    CHECK(refusal(true, CommBackend::peer).find("'peer' is not in this build") != std::string::npos);
  CHECK(refusal(false, CommBackend::peer).find("'peer' is") != std::string::npos);
  CHECK(refusal(true, CommBackend::mpi, false).find("deterministic: on devices sums have one order") !=
        std::string::npos);
  comm.close();
}

TEST_CASE("kernels solve distributed triangles by NVSHMEM", "[distributed][device][nvshmem]") {
#ifdef LUTRA_HAS_NVSHMEM
  Communicator comm;
  std::string refusal;
  try {
    use_nvshmem(comm);
  } catch (const InputError& error) {
    refusal = error.what();
  }
  if (!refusal.empty()) {
    CHECK(refusal.find("is for one rank a device; ranks 0 and ") != std::string::npos);
    comm.close();
    SKIP(refusal);
  }
  CHECK(can_use(comm, CommBackend::nvshmem));
  for (const bool deterministic : {true, false}) {
    LUTRA_IF_F64(check_kernels<double>(comm, CommBackend::nvshmem, false, deterministic);)
    LUTRA_IF_C128(check_kernels<Kokkos::complex<double>>(comm, CommBackend::nvshmem, true, deterministic);)
  }
  comm.close();
#else
  SKIP("Lutra_ENABLE_NVSHMEM is OFF");
#endif
}

TEST_CASE("distributed triangles solve on every grid", "[distributed]") {
  LUTRA_IF_F64(check_all<double>();)
  LUTRA_IF_C128(check_all<Kokkos::complex<double>>();)
}

TEST_CASE("a block of three rows by hand", "[distributed]") {
  Communicator comm;
  // rows 0 to 2 of L on rank 0: 2; 4 1; 1 0 5. b = 2, 5, 11: x = 1, 1, 2
  std::vector<std::int64_t> rows, columns, all;
  std::vector<double> values, b;
  if (comm.rank() == 0) {
    rows = {0, 1, 1, 2, 2};
    columns = {0, 0, 1, 0, 2};
    values = {2, 4, 1, 1, 5};
    all = {0, 1, 2};
    b = {2, 5, 11};
  }
  DistributedTriangles<double> L(comm, {3, rows, columns, {{}}, all, all}, {{}, true, 1});
  L.set_values(values);
  std::vector<double> x(b.size());
  L.solve(b, x);
  if (comm.rank() == 0) CHECK(x == std::vector<double>{1, 1, 2});
  const RankStatistics mine = L.statistics();
  std::int64_t counted = 0;
  for (const std::int64_t part : comm.all_gather(mine.rows)) counted += part;
  CHECK(counted == 3);
  L.close();
  comm.close();
}

TEST_CASE("the deterministic mode gives the same bits in every run", "[distributed]") {
  Communicator comm;
  const auto A = make_matrices<double>()[4];
  std::mt19937_64 random(static_cast<std::uint64_t>(comm.rank()));
  for (const ProcessGrid& grid : grids_of(comm.size())) {
    DistributedOptions options;
    options.grid = grid;
    Solver<double> solver(comm, A, all_sweeps[2], options, true);
    for (const std::size_t k : {std::size_t{1}, std::size_t{3}}) {
      const auto B = random_vector<double>(static_cast<std::size_t>(A.n) * k, 5);
      const auto X = solver.solve(B, k);
      for (int run = 0; run < 10; ++run) {
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));  // other orders of messages
        const auto again = solver.solve(B, k);
        CHECK(std::memcmp(again.data(), X.data(), X.size() * sizeof(double)) == 0);
      }
    }
  }
  comm.close();
}

TEST_CASE("a hundred solves under load", "[distributed]") {
  Communicator comm;
  const auto A = make_matrices<double>()[5];
  DistributedOptions options;
  options.grid = grids_of(comm.size())[grids_of(comm.size()).size() / 2];
  options.deterministic = false;
  double worst = 0;
  {
    Solver<double> solver(comm, A, all_sweeps[2], options, false);
    const auto B = random_vector<double>(static_cast<std::size_t>(A.n), 5);
    const char* const solves = std::getenv("LUTRA_RANK_SOLVES");  // scripts/ranks.sh
    for (int run = 0, runs = solves != nullptr ? std::atoi(solves) : 100; run < runs; ++run)
      worst = std::max(worst, backward_error(A, all_sweeps[2], solver.solve(B, 1), B, 1));
  }
  CHECK(worst <= 2e-13);
  comm.close();
}

TEST_CASE("wrong input to distributed triangles is refused on all ranks", "[distributed]") {
  Communicator comm;
  const bool first = comm.rank() == 0;
  const auto message = [&](std::vector<std::int64_t> rows, std::vector<std::int64_t> columns,
                           std::vector<std::int64_t> vector_rows, ProcessGrid grid = {}) -> std::string {
    if (!first) rows = columns = vector_rows = {};
    DistributedOptions options;
    options.grid = grid;
    try {
      DistributedTriangles<double>(comm, {3, rows, columns, {{}}, vector_rows, vector_rows}, options);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  CHECK(message({0, 1, 2}, {0, 1, 2}, {0, 1, 2}).empty());
  CHECK(message({0, 1, 3}, {0, 1, 2}, {0, 1, 2}).find("rows[2] = 3 is not in a matrix of 3") !=
        std::string::npos);
  CHECK(message({0, 1, 2, 1}, {0, 1, 2, 1}, {0, 1, 2}) == "entry (1, 1) of the triangle stands twice");
  CHECK(message({0, 2, 2}, {0, 0, 2}, {0, 1, 2}).find("no diagonal entry") != std::string::npos);
  CHECK(message({0, 1, 2, 2}, {0, 0, 2, 1}, {0, 1, 2}) == "row 1 of the triangle has no diagonal entry");
  CHECK(message({0, 1, 2}, {0, 1, 2}, {0, 1, 1}) == "rhs_rows: row 1 stands twice");
  CHECK(message({0, 1, 2}, {0, 1, 2}, {0, 1}) == "rhs_rows: a row of the matrix is on no rank");
  CHECK(message({0, 1, 2}, {0, 1, 2}, {0, 1, 2}, {5, 2}).find("5x2 is not one of") != std::string::npos);

  std::vector<std::int64_t> rows;
  if (first) rows = {0};
  DistributedTriangles<double> T(comm, {1, rows, rows, {{}}, rows, rows});
  std::vector<double> x(rows.size());
  CHECK_THROWS_AS(T.solve(x, x), CallOrderError);
  T.set_values(std::vector<double>(rows.size(), 2.0));
  CHECK_THROWS_AS(T.solve(std::vector<double>(first ? 2 : 0), x), InputError);
  T.solve(std::vector<double>(rows.size(), 3.0), x);
  if (first) CHECK(x[0] == 1.5);
  T.close();
  comm.close();
}
