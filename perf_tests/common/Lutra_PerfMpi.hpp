// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PERFMPI_HPP
#define LUTRA_PERFMPI_HPP

#include <mpi.h>

#include <cstdlib>

namespace lutra::Perf {

/// Starts MPI at the first use and ends it with the process.
inline void require_mpi() {
  int running = 0;
  MPI_Initialized(&running);
  if (running) return;
  MPI_Init(nullptr, nullptr);
  std::atexit([] {
    int ended = 0;
    MPI_Finalized(&ended);
    if (!ended) MPI_Finalize();
  });
}

}  // namespace lutra::Perf

#endif
