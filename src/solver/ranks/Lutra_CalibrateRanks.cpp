// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_CalibrateRanks.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "Lutra_Communicator.hpp"
#include "Lutra_DistributedTriangles.hpp"
#include "Lutra_Factorization.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_MatrixMarket.hpp"
#include "Lutra_SparseLU.hpp"

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

/// A solve of this rank alone: the number of its blocks, their bytes, and the least time of several runs.
struct Sample {
  double blocks = 0, bytes = 0, seconds = HUGE_VAL;
};

template <class Scalar>
Sample solve_alone(Communicator& self, const char* kind, std::int64_t size) {
  const HostMatrix<Scalar> A = generate(kind, size);
  LuOptions options;
  options.ordering = Ordering::amd;
  SparseLU<Scalar, Kokkos::DefaultHostExecutionSpace> solver(options);
  // The generated matrices can be factorized; otherwise `factors` throws.
  static_cast<void>(solver.analyze(A));
  static_cast<void>(solver.factorize(A));
  const FactorValues<Scalar> factors = solver.factors();
  std::vector<std::int64_t> rows(static_cast<std::size_t>(A.n_rows));
  std::iota(rows.begin(), rows.end(), std::int64_t{0});
  const DistributedPattern pattern{
      A.n_rows,
      factors.rows,
      factors.columns,
      {{TriangleSide::lower, DiagonalKind::unit}, {TriangleSide::upper, DiagonalKind::stored}},
      rows,
      rows};
  DistributedOptions distribution;
  const auto predicted = [&](double block_seconds, double bandwidth) {
    distribution.costs = {0, block_seconds, bandwidth, bandwidth, bandwidth, 0, 1};
    return predict_grids(self, pattern, distribution, {{1, 1}})[0].seconds;
  };
  Sample sample{predicted(1, 1e300), predicted(0, 1), HUGE_VAL};
  distribution.grid = {1, 1};
  DistributedTriangles<Scalar> triangles(self, pattern, distribution);
  std::vector<Scalar> b(rows.size(), Scalar(1)), x(rows.size());
  for (int run = 0; run < 20; ++run) {
    triangles.set_values(factors.values);  // as after a new factorization
    const Kokkos::Timer timer;
    triangles.solve(b, x);
    sample.seconds = std::min(sample.seconds, timer.seconds());
  }
  triangles.close();
  return sample;
}

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

}  // namespace

template <class Scalar>
DistributedCosts measure_distributed_costs(Communicator& comm) {
  std::array<double, 2> fitted{};
  {
    const Communicator::Work work(comm);
    Communicator self(MPI_COMM_SELF);
    std::vector<Sample> samples;
    for (const auto& [kind, size] :
         {std::pair("poisson2d", 80), std::pair("poisson3d", 14), std::pair("circuit", 4000)})
      samples.push_back(solve_alone<Scalar>(self, kind, size));
    fitted = fit(samples);
    self.close();
  }
  std::vector<double> measured{fitted[0], fitted[1]};
  comm.all_max(measured);
  DistributedCosts costs = host_device_model().trisolve.distributed;
  costs.dependency_seconds = measured[0];
  costs.bandwidth = costs.min_block_bandwidth = costs.max_block_bandwidth = 1 / measured[1];
  if (comm.size() > 1) {
    constexpr std::size_t few = 8, many = 2048;
    const double seconds_few = put_seconds(comm, few), seconds_many = put_seconds(comm, many);
    std::vector<double> link{seconds_few, std::max(seconds_many - seconds_few, 1e-9) / (many - few)};
    comm.broadcast(link);
    costs.latency_seconds = link[0];
    costs.link_bandwidth = 1 / link[1];
  }
  return costs;
}

LUTRA_IF_F64(template DistributedCosts measure_distributed_costs<double>(Communicator&);)

}  // namespace lutra
