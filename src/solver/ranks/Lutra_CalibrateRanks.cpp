// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_CalibrateRanks.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "Lutra_Communicator.hpp"
#include "Lutra_DistributedTriangles.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_Factorization.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_MatrixMarket.hpp"
#include "Lutra_SparseLU.hpp"
#ifdef KOKKOS_ENABLE_CUDA
#include "Lutra_PingPongCuda.hpp"
#endif

namespace lutra {
namespace {

/// Returns the seconds of one put of `bytes` bytes and its arrival between rank 0 and the last rank, the
/// least of several hundred runs.
double put_seconds(Communicator& comm, std::size_t bytes) {
  constexpr int runs = 20, turns = 50;
  SymmetricMemory memory(comm, bytes, 1);
  const std::vector<std::byte> data(bytes);
  const int last = comm.size() - 1, peer = comm.rank() == 0 ? last : 0;
  double least = HUGE_VAL;
  std::uint64_t epoch = 0;
  const auto wait = [&] { memory.wait(0, epoch, "a put of the calibration"); };
  for (int run = 0; run < runs; ++run) {
    comm.barrier();
    const Kokkos::Timer timer;
    for (int turn = 0; turn < turns; ++turn) {
      ++epoch;
      if (comm.rank() == 0) {
        memory.put<std::byte>(peer, 0, data, 0, epoch);
        wait();
      } else if (comm.rank() == last) {
        wait();
        memory.put<std::byte>(peer, 0, data, 0, epoch);
      }
    }
    least = std::min(least, timer.seconds() / (2 * turns));
  }
  memory.close();
  return least;
}

#ifdef KOKKOS_ENABLE_CUDA
/// The same between devices, by a kernel of each.
double put_seconds_of_devices(Communicator& comm, std::size_t bytes) {
  constexpr int runs = 5, turns = 200;
  SymmetricMemory memory(comm, bytes, 1, CommBackend::peer);
  const Kokkos::Cuda exec;
  const Kokkos::View<double*, Kokkos::CudaSpace> data("lutra::solver::put", bytes / sizeof(double));
  const int last = comm.size() - 1, peer = comm.rank() == 0 ? last : 0;
  double least = HUGE_VAL;
  for (int run = 0; run < runs; ++run) {
    comm.barrier();
    const Kokkos::Timer timer;
    if (comm.rank() == 0 || comm.rank() == last)
      Impl::launch_ping_pong(exec, memory.peer_window(), peer, data, turns,
                             static_cast<unsigned long long>(run) * turns, comm.rank() == 0);
    comm.wait_until("puts between devices",
                    [&] { return cudaStreamQuery(exec.cuda_stream()) != cudaErrorNotReady; });
    if (run > 0) least = std::min(least, timer.seconds() / (2 * turns));  // the first loads the kernel
  }
  comm.agree("puts between devices", [&] {
    Impl::check_cuda(cudaStreamSynchronize(exec.cuda_stream()), "puts between devices");
    if (memory.peer_window().aborted_on_host() != 0)
      throw TimeoutError("puts between devices: a rank waited too long");
  });
  memory.close();
  return least;
}
#endif

/// A solve with complete factors on the ranks of a communicator, to be predicted and measured. Each rank
/// computes all factors and takes every P-th row.
template <class Scalar>
class SampleSolve {
 public:
  SampleSolve(Communicator& comm, const char* kind, std::int64_t size, bool on_device) : m_comm(comm) {
    const HostMatrix<Scalar> A = generate(kind, size);
    LuOptions options;
    options.ordering = Ordering::amd;
    SparseLU<Scalar, Kokkos::DefaultHostExecutionSpace> solver(options);
    // The generated matrices can be factorized; otherwise `factors` throws.
    static_cast<void>(solver.analyze(A));
    static_cast<void>(solver.factorize(A));
    const FactorValues<Scalar> factors = solver.factors();
    m_n = A.n_rows;
    const auto is_own = [&](std::int64_t row) { return row % comm.size() == comm.rank(); };
    for (std::size_t e = 0; e < factors.rows.size(); ++e) {
      if (!is_own(factors.rows[e])) continue;
      m_rows.push_back(factors.rows[e]);
      m_columns.push_back(factors.columns[e]);
      m_values.push_back(factors.values[e]);
    }
    for (std::int64_t row = 0; row < m_n; ++row)
      if (is_own(row)) m_own_rows.push_back(row);
    m_distribution.on_device = on_device;
#ifdef KOKKOS_ENABLE_CUDA
    if (on_device && can_use(comm, CommBackend::peer)) m_distribution.backend = CommBackend::peer;
#endif
  }
  /// Collective.
  double predict(const DistributedCosts& costs, const ProcessGrid& grid) {
    m_distribution.costs = costs;
    return predict_grids(m_comm, pattern(), m_distribution, {grid})[0].seconds;
  }
  /// Collective. The least time of several runs.
  double measure(const ProcessGrid& grid) {
    m_distribution.grid = grid;
    DistributedTriangles<Scalar> triangles(m_comm, pattern(), m_distribution);
    std::vector<Scalar> b(m_own_rows.size(), Scalar(1)), x(b.size());
    double least = HUGE_VAL;
    for (int run = 0; run < 20; ++run) {
      triangles.set_values(m_values);  // as after a new factorization
      m_comm.barrier();
      const Kokkos::Timer timer;
      triangles.solve(b, x);
      least = std::min(least, timer.seconds());
    }
    triangles.close();
    std::vector<double> slowest{least};
    m_comm.all_max(slowest);
    return slowest[0];
  }

 private:
  DistributedPattern pattern() const {
    return {
        m_n,        m_rows,
        m_columns,  {{TriangleSide::lower, DiagonalKind::unit}, {TriangleSide::upper, DiagonalKind::stored}},
        m_own_rows, m_own_rows};
  }

  Communicator& m_comm;
  std::int64_t m_n = 0;
  std::vector<std::int64_t> m_rows, m_columns;  ///< of this rank's entries of L + U
  std::vector<Scalar> m_values;
  std::vector<std::int64_t> m_own_rows;  ///< of B and X
  DistributedOptions m_distribution;
};

template <class Scalar>
std::vector<SampleSolve<Scalar>> make_solves(Communicator& comm, bool on_device) {
  std::vector<SampleSolve<Scalar>> solves;
  for (const auto& [kind, size] :
       {std::pair("poisson2d", 80), std::pair("poisson3d", 14), std::pair("circuit", 4000)})
    solves.emplace_back(comm, kind, size, on_device);
  return solves;
}

/// The number of blocks of a solve, their bytes, and its time.
struct Sample {
  double blocks = 0, bytes = 0, seconds = 0;
};

/// Fits the seconds per block and per byte by least squares of the relative errors.
std::array<double, 2> fit(const std::vector<Sample>& samples) {
  double aa = 0, ab = 0, bb = 0, a1 = 0, b1 = 0;
  for (const Sample& sample : samples) {
    const double a = sample.blocks / sample.seconds, b = sample.bytes / sample.seconds;
    aa += a * a, ab += a * b, bb += b * b, a1 += a, b1 += b;
  }
  const double determinant = aa * bb - ab * ab;
  const double block = (a1 * bb - b1 * ab) / determinant, byte = (b1 * aa - a1 * ab) / determinant;
  if (block > 0 && byte > 0 && std::isfinite(block) && std::isfinite(byte)) return {block, byte};
  return {a1 / aa / 2, b1 / bb / 2};  // attribute half of the time to each
}

/// Costs of blocks on a host, where times are sums over them.
template <class Scalar>
DistributedCosts fit_host(Communicator& self, DistributedCosts costs) {
  std::vector<Sample> samples;
  const ProcessGrid one{1, 1};
  for (SampleSolve<Scalar>& solve : make_solves<Scalar>(self, false))
    samples.push_back({solve.predict({0, 1, 1e300, 1e300, 1e300, 0, 1}, one),
                       solve.predict({0, 0, 1, 1, 1, 0, 1}, one), solve.measure(one)});
  const auto [block, byte] = fit(samples);
  costs.dependency_seconds = block;
  costs.bandwidth = costs.min_block_bandwidth = costs.max_block_bandwidth = 1 / byte;
  return costs;
}

/// Solves with their times on some grids.
template <class Scalar>
class MeasuredSolves {
 public:
  /// Collective.
  MeasuredSolves(Communicator& comm, bool on_device, const std::vector<ProcessGrid>& grids)
      : m_grids(grids), m_solves(make_solves<Scalar>(comm, on_device)) {
    for (auto& solve : m_solves)
      for (const ProcessGrid& grid : grids) m_seconds.push_back(solve.measure(grid));
  }
  /// Collective. Sum of squares of the logarithms of predicted over measured times.
  double error(const DistributedCosts& costs) const {
    double sum = 0;
    auto measured = m_seconds.begin();
    for (auto& solve : m_solves)
      for (const ProcessGrid& grid : m_grids) {
        const double ratio = std::log(solve.predict(costs, grid) / *measured++);
        sum += ratio * ratio;
      }
    return sum;
  }

 private:
  std::vector<ProcessGrid> m_grids;
  mutable std::vector<SampleSolve<Scalar>> m_solves;
  std::vector<double> m_seconds;  ///< [solves × grids]
};

/// Costs of dependencies, of a lone team's bytes and of rows on a device: where the simulated times fit best,
/// by a search along each of them with steps that become smaller.
template <class Scalar>
DistributedCosts fit_device(Communicator& self, DistributedCosts costs) {
  const MeasuredSolves<Scalar> solves(self, true, {{1, 1}});
  if (costs.row_seconds == 0) costs.row_seconds = 1e-8;
  double least = solves.error(costs);
  for (const double step : {4.0, 2.0, 1.4, 1.2, 1.1}) {
    for (double DistributedCosts::*const cost :
         {&DistributedCosts::dependency_seconds, &DistributedCosts::row_seconds,
          &DistributedCosts::max_block_bandwidth}) {
      for (const double factor : {step, 1 / step}) {
        DistributedCosts other = costs;
        other.*cost *= factor;
        other.max_block_bandwidth = std::max(other.max_block_bandwidth, other.min_block_bandwidth);
        const double of_other = solves.error(other);
        if (of_other >= least) continue;
        least = of_other;
        costs = other;
        break;
      }
    }
  }
  return costs;
}

/// The latency of messages within solves, where each rank has other work before it looks for them: the
/// multiple of a put's alone with which times on all ranks fit best. Collective.
template <class Scalar>
double fit_latency(Communicator& comm, const DistributedCosts& costs, bool on_device) {
  const MeasuredSolves<Scalar> solves(comm, on_device, {{comm.size(), 1}, {1, comm.size()}});
  double best = 1, least = HUGE_VAL;
  for (const double factor : {1.0, 1.25, 1.6, 2.0, 2.5, 3.2, 4.0, 5.0, 6.4, 8.0}) {
    DistributedCosts with = costs;
    with.latency_seconds *= factor;
    const double error = solves.error(with);
    if (error >= least) continue;
    least = error;
    best = factor;
  }
  return best * costs.latency_seconds;
}

}  // namespace

double measure_put_seconds(Communicator& comm, std::size_t bytes, bool by_devices) {
#ifdef KOKKOS_ENABLE_CUDA
  if (by_devices) return put_seconds_of_devices(comm, bytes);
#else
  if (by_devices) throw InputError("puts by devices: this build has none that map each other's memory");
#endif
  return put_seconds(comm, bytes);
}

namespace {

/// Seconds of a put of few bytes, and seconds per byte: from a put of so many bytes that it takes longer by
/// more than times vary. Collective; rank 0's numbers hold.
std::vector<double> fit_link(Communicator& comm, bool by_devices) {
  constexpr std::size_t few = 8, most = std::size_t(1) << 20;
  const double seconds_few = measure_put_seconds(comm, few, by_devices);
  for (std::size_t many = by_devices ? 16384 : 2048;; many *= 4) {
    std::vector<double> seconds{seconds_few, measure_put_seconds(comm, many, by_devices)};
    comm.broadcast(seconds);
    const double longer = seconds[1] - seconds[0];
    if (longer > 0.5 * seconds[0] || 4 * many > most)
      return {seconds[0], std::max(longer, 0.01 * seconds[1]) / static_cast<double>(many - few)};
  }
}

}  // namespace

template <class Scalar>
DistributedCosts measure_distributed_costs(Communicator& comm, bool on_device) {
  DistributedCosts costs = on_device
                               ? default_device_model<Kokkos::DefaultExecutionSpace>().trisolve.distributed
                               : host_device_model().trisolve.distributed;
  comm.agree("calibration of solves", [&] {
    const Communicator::Work work(comm);
    Communicator self(this_rank_alone());
    costs = on_device ? fit_device<Scalar>(self, costs) : fit_host<Scalar>(self, costs);
    self.close();
  });
  std::vector<double> measured{costs.dependency_seconds, 1 / costs.bandwidth, 1 / costs.min_block_bandwidth,
                               1 / costs.max_block_bandwidth, costs.row_seconds};
  comm.all_max(measured);
  costs.dependency_seconds = measured[0];
  costs.bandwidth = 1 / measured[1];
  costs.min_block_bandwidth = 1 / measured[2];
  costs.max_block_bandwidth = 1 / measured[3];
  costs.row_seconds = measured[4];
  if (comm.size() > 1) {
    bool by_devices = false;
#ifdef KOKKOS_ENABLE_CUDA
    by_devices = on_device && can_use(comm, CommBackend::peer);
#endif
    const std::vector<double> link = fit_link(comm, by_devices);
    costs.latency_seconds = link[0];
    costs.link_bandwidth = 1 / link[1];
    costs.latency_seconds = fit_latency<Scalar>(comm, costs, on_device);
  }
  return costs;
}

LUTRA_IF_F64(template DistributedCosts measure_distributed_costs<double>(Communicator&, bool);)

}  // namespace lutra
