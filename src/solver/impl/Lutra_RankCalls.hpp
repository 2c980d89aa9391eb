// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_RANKCALLS_HPP
#define LUTRA_RANKCALLS_HPP

#include <mpi.h>

#include <array>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "Lutra_AllocateTogether.hpp"
#include "Lutra_Communicator.hpp"
#include "Lutra_Options.hpp"

namespace lutra::Impl {

/// Whether MPI runs: between MPI_Init and MPI_Finalize.
bool is_mpi_running();

/// A communicator, and the collective calls that the interfaces to other languages make on it. What one rank
/// does wrong is an error on all: wrong arguments, and a call that is not the one of the other ranks.
///
///     rank 0   caller … ──► run ─ request, own arguments ──┐ compares ──► action ──► caller …
///     rank 1   caller …………………………………………… ──► run ─ request ──┘ or all throw
///                 └ Work: the others wait for it without a limit
class RankCalls {
 public:
  /// Seconds after which a rank that is silent inside a call is taken for stalled. Longer than CommOptions
  /// has it, since programs of these callers also run where ranks share processors with others.
  static constexpr double patience = 60;

  /// Without a communicator, until `open`: so that the memory of this object and of others can be allocated
  /// where the other ranks learn of a failure (`allocate_together`).
  RankCalls() = default;
  /// Opens at once.
  explicit RankCalls(MPI_Comm ranks, double watchdog_seconds = patience) { open(ranks, watchdog_seconds); }
  /// Collective.
  /// @throws on this rank alone: CallOrderError if MPI does not run; InputError for a null communicator, and
  ///         for one between two groups. std::bad_alloc on all ranks
  void open(MPI_Comm ranks, double watchdog_seconds = patience);
  /// @returns the communicator. @throws as `open`
  static MPI_Comm checked(MPI_Comm ranks);
  /// Does not wait for other ranks. They get an error from their next call.
  ~RankCalls();
  RankCalls(const RankCalls&) = delete;
  RankCalls& operator=(const RankCalls&) = delete;
  /// Collective: waits until all ranks have called it, then frees the communicator.
  void close();

  Communicator& communicator() noexcept { return *m_comm; }

  /// Collective. Runs `check` on each rank, compares the requests of all ranks, and then runs `action`. Costs
  /// a gather and an all-gather of a few bytes.
  /// Whatever needs memory belongs into one of the three: the other ranks wait from here on.
  /// @param name    of the caller's function, the same on all ranks
  /// @param request returns what all ranks must pass alike, one a line; may throw as `check`
  /// @param check   throws for wrong arguments of this rank
  /// @param action  collective; its errors are thrown on all ranks
  /// @throws on all ranks: the exception of the lowest rank whose request or check threw; InputError if
  ///         requests differ
  template <class Request, class Check, class Action>
  void run(std::string_view name, const Request& request, const Check& check, const Action& action) {
    const char* const where = begin(name);
    std::string asked;
    std::exception_ptr problem;
    try {
      asked = request();
      check();
    } catch (...) {
      problem = std::current_exception();
    }
    try {
      m_comm->collectively(where, [&] {
        agree(name, asked, problem);
        action();
      });
    } catch (...) {
      m_away.emplace(*m_comm);
      throw;
    }
    m_away.emplace(*m_comm);
  }
  /// The same for a function without other arguments.
  template <class Check, class Action>
  void run(std::string_view name, const Check& check, const Action& action) {
    run(
        name, [] { return std::string(); }, check, action);
  }

  /// Tells the ranks that wait for this one that it will not come; they throw RemoteError.
  void abandon(const std::string& reason);

 private:
  const char* begin(std::string_view name);
  void agree(std::string_view name, std::string_view request, const std::exception_ptr& problem);

  std::optional<Communicator> m_comm;        ///< between `open` and `close`
  std::optional<Communicator::Work> m_away;  ///< while the caller computes
  std::array<char, 64> m_name{};             ///< of the function that runs
};

/// Sets an option of DistributedLU.
/// @throws InputError as set_option, and for options without effect on several ranks
void set_rank_option(LuOptions& options, std::string_view name, std::string_view value);
/// The options that set_rank_option takes.
std::vector<NamedOption> rank_options(const LuOptions& options);
/// Names and values, a line each, for the request of a factorization.
std::string text_of(const LuOptions& options);

}  // namespace lutra::Impl

#endif
