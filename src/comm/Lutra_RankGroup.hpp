// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_RANKGROUP_HPP
#define LUTRA_RANKGROUP_HPP

#include "Lutra_Config.hpp"
#ifdef LUTRA_HAS_MPI
#include <mpi.h>
#else
#include <memory>
#endif

namespace lutra {

#ifdef LUTRA_HAS_MPI
/// Processes that may form a Communicator.
using RankGroup = MPI_Comm;
inline constexpr bool has_mpi = true;
#else
namespace Impl {
struct OneRankMessages;
}
/// Lutra_ENABLE_MPI is OFF: this process alone, and what it has sent to itself.
struct RankGroup {
  std::shared_ptr<Impl::OneRankMessages> messages;
};
inline constexpr bool has_mpi = false;
#endif

/// All processes that were started together.
RankGroup all_ranks();
RankGroup this_rank_alone();

}  // namespace lutra

#endif
