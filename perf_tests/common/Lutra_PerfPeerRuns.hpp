// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PERFPEERRUNS_HPP
#define LUTRA_PERFPEERRUNS_HPP

#include "Lutra_PerfMeasure.hpp"
#include "Lutra_PerfRun.hpp"
#include "Lutra_PerfSolver.hpp"

namespace lutra::Perf {

/// A step of a peer, for programs that time one stage. The peer is factorized before the first call of
/// `timed`.
struct PeerStep {
  const char* stage;
  void (*prepare)(Peer& peer);  ///< before each run, untimed
  void (*timed)(Peer& peer);
};

/// Registers the step for every peer, with properties and the backward errors of one solve without
/// refinement.
void add_peer_benchmarks(const PerfRun& run, const std::string& name, const HostMatrix<double>& matrix,
                         const PeerStep& step);

}  // namespace lutra::Perf

#endif
