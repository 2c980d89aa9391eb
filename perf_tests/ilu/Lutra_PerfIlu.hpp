// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PERFILU_HPP
#define LUTRA_PERFILU_HPP

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "Lutra_PerfMatrix.hpp"

namespace lutra::Perf {

/// L and U on the host in one pattern by rows: left of the diagonal L without its unit diagonal, then U.
using HostFactors = HostMatrix<double>;

/// The interface of the benchmarks to an incomplete factorization. The constructor converts the matrix to the
/// format of the solver. A step that fails throws.
class IluSolver {
 public:
  virtual ~IluSolver() = default;
  virtual void analyze() = 0;    ///< the pattern of L and U, and data for their computation
  virtual void factorize() = 0;  ///< values on an analyzed pattern; of ParILUT all steps, pattern included
  virtual int steps() const { return 0; }  ///< number of ParILUT steps
  /// The work of factorize() before the first step of ParILUT, whose time does not count for the steps.
  /// False: none.
  virtual bool start() { return false; }
  virtual HostFactors factors() const = 0;
};

/// The factorization to compute.
struct IluTask {
  int fill_level = 0;
  int parilut_steps = 0;  ///< 0: ILU(fill_level)
  double fill_factor = 1;
};

/// A kind of solver this build has.
struct IluKind {
  std::string name;
  std::string version;
  bool has_parilut = false, has_ilu = true;
  std::function<std::unique_ptr<IluSolver>(const HostMatrix<double>&, const IluTask&)> make;
};

// The solvers of each source file. A file is compiled if its library was found.
std::vector<IluKind> lutra_ilu_kinds();
std::vector<IluKind> kokkos_kernels_ilu_kinds();
std::vector<IluKind> cusparse_ilu_kinds();
std::vector<IluKind> ginkgo_ilu_kinds();
/// All of them.
std::vector<IluKind> all_ilu_kinds();

using SharedMatrix = std::shared_ptr<const HostMatrix<double>>;

/// The matrix for all solvers. Elimination on the pattern of A needs pivots in it, so this is A or, if a
/// diagonal entry is missing or zero, A with rows ordered and scaled by the exact matching; null if A is
/// singular.
SharedMatrix with_diagonal(const HostMatrix<double>& A);

/// Joins a lower and an upper triangle by rows, with columns in any order, to one pattern with sorted rows. A
/// unit diagonal of the lower triangle is omitted.
HostFactors join_factors(int n, const std::vector<std::int64_t>& lower_map, const std::vector<int>& lower,
                         const std::vector<double>& lower_values, const std::vector<std::int64_t>& upper_map,
                         const std::vector<int>& upper, const std::vector<double>& upper_values);

/// The residual of A on its pattern, in long double.
struct PatternErrors {
  double componentwise;  ///< max |A − L·U|ᵢⱼ / (|A| + |L|·|U|)ᵢⱼ; 1 if an entry of A was dropped
  double frobenius;      ///< ‖A − L·U‖ / ‖A‖
};
PatternErrors pattern_errors(const HostMatrix<double>& A, const HostFactors& LU);

/// A solve by a Krylov method.
struct KrylovRun {
  int iterations = -1;  ///< −1: not converged
  double seconds = 0;
};

/// GMRES(50) of Lutra with L and U from any solver, to a relative residual of 1e-10 in at most 1000
/// iterations.
KrylovRun run_gmres(const HostMatrix<double>& A, const HostFactors& LU);

}  // namespace lutra::Perf

#endif
