// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PERFSOLVER_HPP
#define LUTRA_PERFSOLVER_HPP

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "Lutra_PerfMatrix.hpp"
#include "Lutra_Report.hpp"

namespace lutra::Perf {

/// Counts and choices that a solver reports.
struct SolverProperties {
  std::map<std::string, double> counters{};  ///< nnz_lu, flops, peak_bytes, …
  std::string label{};                       ///< ordering and other choices
};

/// Values of a report of Lutra for every method: times of solve and refinement, memory, choices.
void add_report(SolverProperties& properties, const Report& report);

/// The interface of the benchmarks to a solver: one matrix and one right-hand side, converted at
/// construction. A step that fails throws.
template <class Scalar>
class Solver {
 public:
  virtual ~Solver() = default;
  virtual void analyze() = 0;
  /// Returns the solver to the state before the first factorization: analyzed, without factors.
  virtual void prepare_factorization() = 0;
  virtual void factorize() = 0;    ///< the first after an analysis
  virtual void refactorize() = 0;  ///< again, with everything that can be reused
  /// Solves, and refines until the backward error is within the tolerance or the solver gives up.
  virtual void solve() = 0;
  virtual std::vector<Scalar> solution() const = 0;
  virtual SolverProperties properties() const = 0;
};

/// A peer, on the host or (cuDSS, cuSOLVER Rf) on the device; can also solve without refinement.
class Peer : public Solver<double> {
 public:
  virtual void solve_once() = 0;
};

/// A peer of this build.
struct PeerKind {
  std::string name;
  std::string version;
  std::unique_ptr<Peer> (*make)(const HostMatrix<double>& matrix, const std::vector<double>& b);
  bool takes_pivots = false;  ///< uses matching and ordering of Lutra, because it has none
};

/// Empty if no library of a peer was found.
const std::vector<PeerKind>& peer_kinds();

/// Lutra through its public interface with default options. Matrix and vectors are in the memory of the
/// default execution space.
template <class Scalar>
std::unique_ptr<Solver<Scalar>> make_lutra(const HostMatrix<Scalar>& matrix, const std::vector<Scalar>& b);

}  // namespace lutra::Perf

#endif
