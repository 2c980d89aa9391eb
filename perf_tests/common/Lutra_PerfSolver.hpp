// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PERFSOLVER_HPP
#define LUTRA_PERFSOLVER_HPP

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "Lutra_PerfMatrix.hpp"

namespace lutra::Perf {

/// What a solver says of its own work.
struct SolverProperties {
  std::map<std::string, double> counters{};  ///< nnz_lu, flops, peak_bytes, …
  std::string label{};                       ///< ordering and other choices
};

/// A solver as the benchmarks drive it: one matrix, one right-hand side, both in its own form since
/// construction. A step that fails throws.
template <class Scalar>
class Solver {
 public:
  virtual ~Solver() = default;
  virtual void analyze() = 0;
  /// Brings it to where a first factorization starts: analyzed, without factors.
  virtual void prepare_factorization() = 0;
  virtual void factorize() = 0;    ///< the first after an analysis
  virtual void refactorize() = 0;  ///< again, keeping whatever may be kept
  /// Solves, and refines until the answer is within the tolerance or the solver gives up.
  virtual void solve() = 0;
  virtual std::vector<Scalar> solution() const = 0;
  virtual SolverProperties properties() const = 0;
};

/// A peer: can solve without refinement too. It works on the host, or like cuDSS on the device.
class Peer : public Solver<double> {
 public:
  virtual void solve_once() = 0;
};

/// A kind of peer this build has.
struct PeerKind {
  std::string name;
  std::string version;
  std::unique_ptr<Peer> (*make)(const HostMatrix<double>& matrix, const std::vector<double>& b);
};

/// Empty where none of their libraries was found.
const std::vector<PeerKind>& peer_kinds();

/// Lutra by its public interface, with default options; matrix and vectors in the default execution space's
/// memory.
template <class Scalar>
std::unique_ptr<Solver<Scalar>> make_lutra(const HostMatrix<Scalar>& matrix, const std::vector<Scalar>& b);

}  // namespace lutra::Perf

#endif
