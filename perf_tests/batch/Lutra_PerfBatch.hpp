// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PERFBATCH_HPP
#define LUTRA_PERFBATCH_HPP

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "Lutra_PerfMatrix.hpp"

namespace lutra::Perf {

/// K systems with the pattern of one matrix, one right-hand side each, one after the other on the host.
struct BatchProblem {
  HostMatrix<double> pattern;
  std::size_t systems = 0;
  std::vector<double> values;       ///< [K][nnz]
  std::vector<double> right_sides;  ///< [K][n]

  HostMatrix<double> matrix(std::size_t k) const;
  std::vector<double> right_side(std::size_t k) const;
};

/// A solver of batches; a step that fails throws.
class BatchSolver {
 public:
  virtual ~BatchSolver() = default;
  virtual void factorize() = 0;  ///< after the first call: new values on a known pattern
  virtual void solve() = 0;
  virtual std::vector<double> solutions() const = 0;  ///< [K][n]
  virtual std::string label() const { return {}; }
};
using MakeBatch = std::function<std::unique_ptr<BatchSolver>(const BatchProblem&)>;

/// Numbers [rows × K], and blocks [n × 1 × K], with neighbouring systems.
using Interleaved = Kokkos::View<const double**, Kokkos::LayoutStride, MemorySpace>;
using InterleavedBlock = Kokkos::View<double***, Kokkos::LayoutRight, MemorySpace>;
/// @param systems [K][rows] on the host
Interleaved interleaved(std::size_t rows, std::size_t K, const std::vector<double>& systems);
/// @returns [K][n] on the host
std::vector<double> one_after_another(const InterleavedBlock& X, std::size_t n, std::size_t K);

/// A Krylov method with its preconditioner, over a batch or in turn. Its `solve` includes `factorize`.
struct KrylovKind {
  std::string name;
  MakeBatch make;
};
/// @param words "method:preconditioning", such as "cg:ilu"
std::vector<KrylovKind> krylov_kinds(const std::vector<std::string>& words);
/// The matrix with its diagonal multiplied by a number between 1 and 1.1, another one for each system: it
/// stays symmetric.
BatchProblem krylov_problem(const HostMatrix<double>& matrix, std::size_t K);

/// cuDSS with a uniform batch.
std::unique_ptr<BatchSolver> make_cudss_batch(const BatchProblem& problem);

}  // namespace lutra::Perf

#endif
