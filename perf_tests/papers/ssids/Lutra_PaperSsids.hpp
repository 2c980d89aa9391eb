// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PAPERSSIDS_HPP
#define LUTRA_PAPERSSIDS_HPP

#include <string>
#include <type_traits>
#include <vector>

#include "Lutra_PaperReport.hpp"
#include "Lutra_PerfMeasure.hpp"
#include "Lutra_SparseLDLT.hpp"

// J. Hogg, E. Ovtchinnikov and J. Scott, "A GPU Sparse Symmetric Indefinite Solver with Pivoting", slides of
// Sparse Days 2014: SSIDS of SPRAL.

namespace lutra::Perf {

using HostSpace = Kokkos::DefaultHostExecutionSpace;
inline constexpr bool has_device = !std::is_same_v<ExecutionSpace, HostSpace>;

struct SymmetricMatrix {
  std::string name;
  const HostMatrix<double>* A = nullptr;
};

/// SparseLDLT in one space, on one matrix, with its right-hand side there.
template <class Space>
class LdltRun {
 public:
  using Memory = typename Space::memory_space;

  LdltRun(const HostMatrix<double>& A, const LdltOptions& options = {});
  void analyze();
  void factorize();
  void solve();
  std::vector<double> solution() const;
  const Report& report() const { return m_solver.report(); }
  SparseLDLT<double, Space>& solver() { return m_solver; }

 private:
  void require(Status status) const;

  CsrView<double, int, std::int64_t, Memory> m_A;
  Kokkos::View<double*, Memory> m_b, m_x;
  SparseLDLT<double, Space> m_solver;
};

/// Median seconds of a factorization on a known pattern, and of a refined solve.
struct LdltSeconds {
  double factorize = 0, solve = 0;
  double sum() const { return factorize + solve; }
};
template <class Space>
LdltSeconds ldlt_seconds(const PaperRun& run, LdltRun<Space>& of);

/// Options of a sequence of factorizations.
LdltOptions ldlt_options();
/// The pattern of A and its diagonal, with values that need no pivoting: each diagonal entry exceeds the sum
/// of its row, and keeps its sign.
HostMatrix<double> with_easy_values(const HostMatrix<double>& A);

PaperTable speedup(const PaperRun& run, const std::vector<SymmetricMatrix>& matrices);
PaperTable hot_spots();
PaperTable dense_factor(const PaperRun& run);
PaperTable kernels(const PaperRun& run, const std::vector<SymmetricMatrix>& matrices);
PaperTable pivoting_cost(const PaperRun& run, const std::vector<SymmetricMatrix>& matrices);
PaperTable aposteriori(const PaperRun& run, const std::vector<SymmetricMatrix>& matrices);
PaperTable pivots_found(const std::vector<SymmetricMatrix>& matrices);
PaperTable repetition(const std::vector<SymmetricMatrix>& matrices);
PaperTable auction_scaling(const PaperRun& run, const std::vector<SymmetricMatrix>& matrices);

}  // namespace lutra::Perf

#endif
