// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PERFBATCH_HPP
#define LUTRA_PERFBATCH_HPP

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

/// cuDSS with a uniform batch.
std::unique_ptr<BatchSolver> make_cudss_batch(const BatchProblem& problem);

}  // namespace lutra::Perf

#endif
