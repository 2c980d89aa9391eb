// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_PerfMpi.hpp"
#include "Lutra_PerfOrdered.hpp"
// Macros of SuperLU_DIST have names that Kokkos uses, so its header comes last.
#include <mpi.h>
#include <superlu_ddefs.h>

#include <algorithm>
#include <stdexcept>

namespace lutra::Perf {
namespace {

int world_size() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}
int world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

/// SuperLU_DIST frees its own memory, and that of its arguments, with its own functions.
int_t* copy_of(const std::vector<int_t>& values) {
  auto* const copy =
      static_cast<int_t*>(superlu_malloc_dist(std::max<std::size_t>(1, values.size()) * sizeof(int_t)));
  std::copy(values.begin(), values.end(), copy);
  return copy;
}

std::vector<int_t> numbers_to(int n) {
  std::vector<int_t> numbers(static_cast<std::size_t>(n));
  for (std::size_t k = 0; k < numbers.size(); ++k) numbers[k] = static_cast<int_t>(k);
  return numbers;
}

/// A pattern with its whole diagonal, which SuperLU_DIST requires and fill1 implies.
HostMatrix<char> with_diagonal(const HostMatrix<char>& matrix) {
  HostMatrix<char> result{matrix.n_rows, matrix.n_cols, {0}, {}, {}};
  for (std::size_t i = 0; i + 1 < matrix.row_map.size(); ++i) {
    const auto begin = matrix.entries.begin() + matrix.row_map[i],
               end = matrix.entries.begin() + matrix.row_map[i + 1];
    const auto position = std::lower_bound(begin, end, static_cast<int>(i));
    result.entries.insert(result.entries.end(), begin, position);
    if (position == end || *position != static_cast<int>(i)) result.entries.push_back(static_cast<int>(i));
    result.entries.insert(result.entries.end(), position, end);
    result.row_map.push_back(static_cast<std::int64_t>(result.entries.size()));
  }
  return result;
}

/// No relaxed supernodes, so that the pattern is exact.
superlu_dist_options_t exact_options() {
  superlu_dist_options_t options;
  set_default_options_dist(&options);
  options.PrintStat = NO;
  options.superlu_relax = 1;
  return options;
}

/// The sequential symbolic factorization of a pattern after a postordering of its elimination tree, which
/// does not change the fill.
class SequentialSymbolic {
 public:
  /// @param matrix with its diagonal
  explicit SequentialSymbolic(const HostMatrix<char>& matrix)
      : m_options(exact_options()),
        m_permutation(numbers_to(matrix.n_rows)),
        m_tree(static_cast<std::size_t>(matrix.n_rows)) {
    // By columns: the transposed pattern by rows, which has the same nnz(L + U).
    dCreate_CompCol_Matrix_dist(&m_A, matrix.n_rows, matrix.n_cols, static_cast<int_t>(matrix.nnz()), nullptr,
                                copy_of({matrix.entries.begin(), matrix.entries.end()}),
                                copy_of({matrix.row_map.begin(), matrix.row_map.end()}), SLU_NC, SLU_D,
                                SLU_GE);
    sp_colorder(&m_options, &m_A, m_permutation.data(), m_tree.data(), &m_permuted);
    auto* const rows = static_cast<NCPformat*>(m_permuted.Store)->rowind;
    for (std::int64_t k = 0; k < matrix.nnz(); ++k)
      rows[k] = m_permutation[static_cast<std::size_t>(rows[k])];
  }
  ~SequentialSymbolic() {
    free_result();
    Destroy_CompCol_Permuted_dist(&m_permuted);
    Destroy_CompCol_Matrix_dist(&m_A);
  }
  SequentialSymbolic(const SequentialSymbolic&) = delete;
  SequentialSymbolic& operator=(const SequentialSymbolic&) = delete;

  void factorize() {
    const auto needed =
        symbfact(&m_options, 0, &m_permuted, m_permutation.data(), m_tree.data(), &m_supernodes, &m_result);
    if (needed > 0) throw std::runtime_error("symbfact runs out of memory");
    m_there = true;
  }
  void free_result() {
    if (!m_there) return;
    symbfact_SubFree(&m_result);
    superlu_free_dist(m_supernodes.xsup);
    superlu_free_dist(m_supernodes.supno);
    m_there = false;
  }
  double nnz_lu() const { return static_cast<double>(m_result.nnzLU); }

 private:
  superlu_dist_options_t m_options;
  std::vector<int_t> m_permutation, m_tree;
  SuperMatrix m_A{}, m_permuted{};
  Glu_persist_t m_supernodes{};
  Glu_freeable_t m_result{};
  bool m_there = false;
};

/// Splits an order into two parts without edges between them and a separator: vertices [0, middle), [middle,
/// end) and [end, n).
struct Bisection {
  int middle = 0, end = 0;
};

/// The split whose smaller part is largest. In dissection orders the search takes n·log n steps.
Bisection find_bisection(const HostMatrix<char>& matrix) {
  std::vector<int> least(static_cast<std::size_t>(matrix.n_rows));  // neighbour in A + Aᵀ
  for (std::size_t i = 0; i < least.size(); ++i) least[i] = static_cast<int>(i);
  for (std::size_t i = 0; i < least.size(); ++i) {
    for (auto p = matrix.row_map[i]; p < matrix.row_map[i + 1]; ++p) {
      const int j = matrix.entries[static_cast<std::size_t>(p)];
      const auto late = static_cast<std::size_t>(std::max(j, static_cast<int>(i)));
      least[late] = std::min({least[late], j, static_cast<int>(i)});
    }
  }
  Bisection best;
  int smaller_part = 0;
  for (int middle = 1; middle < matrix.n_rows; ++middle) {
    int end = middle;
    while (end < matrix.n_rows && least[static_cast<std::size_t>(end)] >= middle) ++end;
    const int smaller = std::min(middle, end - middle);
    if (smaller <= smaller_part) continue;
    smaller_part = smaller;
    best = {middle, end};
  }
  if (smaller_part == 0)
    throw std::runtime_error("the order has no separator that two processes could share");
  return best;
}

/// The parallel symbolic factorization, on one process or two.
class ParallelSymbolic {
 public:
  /// @param matrix with its diagonal
  explicit ParallelSymbolic(const HostMatrix<char>& matrix)
      : m_options(exact_options()), m_permutation(numbers_to(matrix.n_rows)), m_processes(world_size()) {
    if (m_processes > 2) throw std::runtime_error("more than two processes");
    m_sizes = {matrix.n_rows};
    m_first_vertices = {0};
    if (m_processes == 2) {
      const Bisection parts = find_bisection(matrix);
      m_sizes = {parts.middle, parts.end - parts.middle, matrix.n_rows - parts.end};
      m_first_vertices = {0, parts.middle, parts.end};
    }
    m_sizes.resize(2 * static_cast<std::size_t>(m_processes));
    m_first_vertices.resize(2 * static_cast<std::size_t>(m_processes));
    const int share = matrix.n_rows / m_processes, first = share * world_rank();
    const int end = world_rank() + 1 == m_processes ? matrix.n_rows : first + share;
    const auto begin_entry = matrix.row_map[static_cast<std::size_t>(first)];
    const auto end_entry = matrix.row_map[static_cast<std::size_t>(end)];
    std::vector<int_t> map;
    for (int i = first; i <= end; ++i)
      map.push_back(static_cast<int_t>(matrix.row_map[static_cast<std::size_t>(i)] - begin_entry));
    dCreate_CompRowLoc_Matrix_dist(
        &m_A, matrix.n_rows, matrix.n_cols, static_cast<int_t>(end_entry - begin_entry), end - first, first,
        nullptr, copy_of({matrix.entries.begin() + begin_entry, matrix.entries.begin() + end_entry}),
        copy_of(map), SLU_NR_loc, SLU_D, SLU_GE);
    MPI_Comm_dup(MPI_COMM_WORLD, &m_all);
    MPI_Comm_dup(MPI_COMM_WORLD, &m_searching);
  }
  ~ParallelSymbolic() {
    free_result();
    Destroy_CompRowLoc_Matrix_dist(&m_A);
    MPI_Comm_free(&m_all);
    MPI_Comm_free(&m_searching);
  }
  ParallelSymbolic(const ParallelSymbolic&) = delete;
  ParallelSymbolic& operator=(const ParallelSymbolic&) = delete;

  /// All processes begin and end together.
  void factorize() {
    MPI_Barrier(m_all);
    superlu_dist_mem_usage_t memory;
    const float allocated =
        symbfact_dist(&m_options, m_processes, m_processes, &m_A, m_permutation.data(), m_permutation.data(),
                      m_sizes.data(), m_first_vertices.data(), &m_result, &m_all, &m_searching, &memory);
    if (allocated > 0) throw std::runtime_error("symbfact_dist runs out of memory");
    m_there = true;
    MPI_Barrier(m_all);
  }
  void free_result() {
    if (!m_there) return;
    for (int_t* array : {m_result.xlsub, m_result.lsub, m_result.xusub, m_result.usub, m_result.supno_loc,
                         m_result.xsup_beg_loc, m_result.xsup_end_loc, m_result.globToLoc}) {
      superlu_free_dist(array);
    }
    m_there = false;
  }
  int processes() const { return m_processes; }

 private:
  superlu_dist_options_t m_options;
  std::vector<int_t> m_permutation, m_sizes, m_first_vertices;
  int m_processes;
  SuperMatrix m_A{};
  Pslu_freeable_t m_result{};
  MPI_Comm m_all = MPI_COMM_NULL, m_searching = MPI_COMM_NULL;
  bool m_there = false;
};

}  // namespace

Measurement measure_superlu_symbolic(const PerfRun& run, const Ordered& ordered) {
  require_mpi();
  SequentialSymbolic symbolic(with_diagonal(ordered.host));
  auto samples = measure(
      run.samples, [&] { symbolic.free_result(); }, [&] { symbolic.factorize(); });
  // Its supernodes may hold zeros: rows of U within one begin together.
  if (symbolic.nnz_lu() < ordered.nnz_lu) throw std::runtime_error("fewer entries than fill1 finds");
  Measurement result{std::move(samples), {}, "the same order, one thread"};
  result.counters["n"] = ordered.host.n_rows;
  result.counters["nnz_lu"] = symbolic.nnz_lu();
  return result;
}

Measurement measure_superlu_parallel_symbolic(const PerfRun& run, const Ordered& ordered) {
  require_mpi();
  ParallelSymbolic symbolic(with_diagonal(ordered.host));
  auto samples = measure(
      run.samples, [&] { symbolic.free_result(); }, [&] { symbolic.factorize(); });
  Measurement result{
      std::move(samples), {}, "the same order, processes: " + std::to_string(symbolic.processes())};
  result.counters["n"] = ordered.host.n_rows;
  return result;
}

}  // namespace lutra::Perf
