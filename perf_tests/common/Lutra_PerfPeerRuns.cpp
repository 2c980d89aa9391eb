// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_PerfPeerRuns.hpp"

namespace lutra::Perf {
namespace {

Measurement measure_peer(const PerfRun& run, const HostMatrix<double>& matrix, const PeerKind& kind,
                         const PeerStep& step) {
  const auto b = make_right_hand_side(matrix);
  const auto peer = kind.make(matrix, b);
  peer->prepare_factorization();
  peer->factorize();
  auto samples = measure(
      run.samples, [&] { step.prepare(*peer); }, [&] { step.timed(*peer); });
  peer->solve_once();
  SolverProperties properties = peer->properties();
  Measurement result{std::move(samples), std::move(properties.counters), std::move(properties.label)};
  result.counters["n"] = matrix.n_rows;
  result.counters["nnz"] = static_cast<double>(matrix.nnz());
  result.add_errors(backward_errors(matrix, b, peer->solution()));
  return result;
}

}  // namespace

void add_peer_benchmarks(const PerfRun& run, const std::string& name, const HostMatrix<double>& matrix,
                         const PeerStep& step) {
  for (const PeerKind& kind : peer_kinds()) {
    add_benchmark(name, step.stage, kind.name,
                  [&run, &matrix, &kind, step] { return measure_peer(run, matrix, kind, step); });
  }
}

}  // namespace lutra::Perf
