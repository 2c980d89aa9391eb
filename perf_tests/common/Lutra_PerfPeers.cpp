// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_PerfPeers.hpp"

#include <limits>
#include <stdexcept>

#include "Lutra_Numeric.hpp"

namespace lutra::Perf {

const std::vector<PeerKind>& peer_kinds() {
  static const std::vector<PeerKind> kinds = [] {
    std::vector<PeerKind> all;
    [[maybe_unused]] const auto append = [&](const std::vector<PeerKind>& some) {
      all.insert(all.end(), some.begin(), some.end());
    };
#ifdef LUTRA_PERF_KLU
    append(klu_kinds());
#endif
#ifdef LUTRA_PERF_UMFPACK
    append(umfpack_kinds());
#endif
#ifdef LUTRA_PERF_MUMPS
    append(mumps_kinds());
#endif
#ifdef LUTRA_PERF_PARDISO
    append(pardiso_kinds());
#endif
#ifdef LUTRA_PERF_CUDSS
    append(cudss_kinds());
#endif
#ifdef LUTRA_PERF_CUSOLVER_RF
    append(cusolver_rf_kinds());
#endif
    return all;
  }();
  return kinds;
}

std::vector<PeerKind> symmetric_peer_kinds([[maybe_unused]] bool definite) {
  std::vector<PeerKind> all;
  [[maybe_unused]] const auto append = [&](const std::vector<PeerKind>& some) {
    all.insert(all.end(), some.begin(), some.end());
  };
#ifdef LUTRA_PERF_MUMPS
  append(symmetric_mumps_kinds(definite));
#endif
#ifdef LUTRA_PERF_PARDISO
  append(symmetric_pardiso_kinds(definite));
#endif
#ifdef LUTRA_PERF_CUDSS
  append(symmetric_cudss_kinds(definite));
#endif
  return all;
}

HostMatrix<double> upper_triangle(const HostMatrix<double>& matrix) {
  HostMatrix<double> upper{matrix.n_rows, matrix.n_cols, {0}, {}, {}};
  const auto append = [&](int column, double value) {
    upper.entries.push_back(column);
    upper.values.push_back(value);
  };
  for (int i = 0; i < matrix.n_rows; ++i) {
    const auto row = static_cast<std::size_t>(i);
    auto p = static_cast<std::size_t>(matrix.row_map[row]);
    const auto end = static_cast<std::size_t>(matrix.row_map[row + 1]);
    while (p < end && matrix.entries[p] < i) ++p;
    if (p == end || matrix.entries[p] != i) append(i, 0);
    for (; p < end; ++p) append(matrix.entries[p], matrix.values[p]);
    upper.row_map.push_back(upper.nnz());
  }
  return upper;
}

ColumnMatrix to_columns(const HostMatrix<double>& matrix) {
  if (matrix.nnz() > std::numeric_limits<int>::max())
    throw std::runtime_error("more entries than this peer can count");
  const auto n = static_cast<std::size_t>(matrix.n_rows);
  const auto nnz = matrix.entries.size();
  ColumnMatrix result{matrix.n_rows, std::vector<int>(n + 1), std::vector<int>(nnz),
                      std::vector<double>(nnz)};
  for (const int column : matrix.entries) ++result.column_map[static_cast<std::size_t>(column) + 1];
  for (std::size_t j = 0; j < n; ++j) result.column_map[j + 1] += result.column_map[j];
  std::vector<int> next(result.column_map.begin(), result.column_map.end() - 1);
  for (std::size_t i = 0; i < n; ++i) {
    const auto end = static_cast<std::size_t>(matrix.row_map[i + 1]);
    for (auto p = static_cast<std::size_t>(matrix.row_map[i]); p < end; ++p) {
      const auto position = static_cast<std::size_t>(next[static_cast<std::size_t>(matrix.entries[p])]++);
      result.rows[position] = static_cast<int>(i);
      result.values[position] = matrix.values[p];
    }
  }
  return result;
}

PivotSequence lutra_pivot_sequence(const HostMatrix<double>& matrix) {
  const auto analysis = analyze(ExecutionSpace(), to_device(matrix), LuOptions{}, MemoryBudget());
  if (!analysis->plan) throw std::runtime_error(describe(analysis->report));
  return {to_host(analysis->F.row_order), to_host(analysis->F.col_order)};
}

}  // namespace lutra::Perf
