// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_PerfRanks.hpp"

#include <algorithm>

namespace lutra::Perf {

Samples measure_on_ranks(Communicator& comm, int samples, const std::function<void()>& timed) {
  constexpr int warm_ups = 2;
  Samples result;
  for (int run = 0; run < warm_ups + samples; ++run) {
    Kokkos::fence("lutra::perf: timed from here");
    comm.barrier();
    const Kokkos::Timer timer;
    timed();
    Kokkos::fence("lutra::perf: timed to here");
    comm.barrier();
    if (run >= warm_ups) result.seconds.push_back(timer.seconds());
  }
  std::ranges::sort(result.seconds);
  return result;
}

Samples measure_on_first_rank(Communicator& comm, int samples, const std::function<void()>& timed) {
  return measure_on_ranks(comm, samples, [&] {
    const Communicator::Work work(comm);
    if (comm.rank() == 0) timed();
  });
}

}  // namespace lutra::Perf
