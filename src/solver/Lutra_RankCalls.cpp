// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_RankCalls.hpp"

#include <algorithm>
#include <functional>
#include <sstream>
#include <stdexcept>

#include "Lutra_Error.hpp"

namespace lutra::Impl {
namespace {

/// On hosts or devices of several ranks solves are always checked, and take the fronts as they are.
constexpr std::string_view without_effect[] = {"check",           "estimate_condition", "factor_precision",
                                               "solve_precision", "solve_singular",     "trisolve",
                                               "trust_pivots"};

bool has_effect(std::string_view name) {
  return std::ranges::find(without_effect, name) == std::end(without_effect);
}

std::vector<std::string> lines_of(const std::vector<char>& text) {
  std::vector<std::string> lines;
  std::istringstream stream(std::string(text.begin(), text.end()));
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// @param requests of all ranks on rank 0, else empty
/// @throws InputError naming the first line that differs
void compare(const std::vector<std::vector<char>>& requests) {
  for (std::size_t r = 1; r < requests.size(); ++r) {
    if (requests[r] == requests[0]) continue;
    const auto here = lines_of(requests[0]), there = lines_of(requests[r]);
    const auto [mine, other] = std::ranges::mismatch(here, there);
    throw InputError("it asks for '" + (mine == here.end() ? std::string() : *mine) + "', rank " +
                     std::to_string(r) + " for '" + (other == there.end() ? std::string() : *other) +
                     "'; all ranks have to ask for the same");
  }
}

}  // namespace

bool is_mpi_running() {
  int begun = 0, ended = 0;
  MPI_Initialized(&begun);
  MPI_Finalized(&ended);
  return begun != 0 && ended == 0;
}

MPI_Comm RankCalls::checked(MPI_Comm ranks) {
  if (!is_mpi_running()) throw CallOrderError("communicator: MPI does not run; call MPI_Init first");
  if (ranks == MPI_COMM_NULL) throw InputError("communicator: it is null");
  int between_groups = 0;
  MPI_Comm_test_inter(ranks, &between_groups);
  if (between_groups != 0) throw InputError("communicator: it is between two groups of processes");
  return ranks;
}

void RankCalls::open(MPI_Comm ranks, double watchdog_seconds) {
  m_comm.emplace(checked(ranks), CommOptions{watchdog_seconds});
  m_away.emplace(*m_comm);
}

RankCalls::~RankCalls() {
  if (m_away && !is_mpi_running()) m_away->forget();
}

void RankCalls::close() {
  if (!m_comm) return;
  if (is_mpi_running() && !m_comm->failure())
    run(
        "close", [] {}, [] {});
  if (m_away && !is_mpi_running()) m_away->forget();
  m_away.reset();
  if (is_mpi_running() && !m_comm->failure()) m_comm->close();
  m_comm.reset();
}

/// Returns the name of the function. Allocates nothing: where this rank has no memory, the others, which wait
/// for it, have to learn of it in the call.
const char* RankCalls::begin(std::string_view name) {
  const std::size_t length = std::min(name.size(), m_name.size() - 1);
  m_name[name.copy(m_name.data(), length)] = '\0';
  if (!m_comm) throw CallOrderError(std::string(m_name.data()) + ": the solver is closed");
  if (!is_mpi_running()) throw CallOrderError(std::string(m_name.data()) + ": MPI has ended");
  if (m_comm->failure()) throw RemoteError(*m_comm->failure());
  m_away.reset();
  return m_name.data();
}

void RankCalls::abandon(const std::string& reason) {
  if (!m_comm || !is_mpi_running()) return;
  try {
    m_comm->collectively("the caller's program", [&reason] { throw std::runtime_error(reason); });
  } catch (const std::runtime_error&) {  // this rank knows
  }
}

/// Throws on all ranks what is wrong on the lowest rank with a problem; if there is none, that requests
/// differ.
void RankCalls::agree(std::string_view name, std::string_view request, const std::exception_ptr& problem) {
  std::vector<char> mine;
  if (!problem) {
    mine.assign(name.begin(), name.end());
    if (!request.empty()) mine.push_back('\n');
    mine.insert(mine.end(), request.begin(), request.end());
  }
  const auto requests = m_comm->gather(mine);
  m_comm->agree(m_name.data(), [&] {
    if (problem) std::rethrow_exception(problem);
    const auto is_empty = [](const std::vector<char>& one) { return one.empty(); };
    if (std::ranges::none_of(requests, is_empty)) compare(requests);
  });
}

void set_rank_option(LuOptions& options, std::string_view name, std::string_view value) {
  if (!has_effect(name))
    throw InputError("option '" + std::string(name) + "' has no effect on several ranks");
  set_option(options, name, value);
}

std::vector<NamedOption> rank_options(const LuOptions& options) {
  std::vector<NamedOption> list = named_options(options);
  std::erase_if(list, [](const NamedOption& option) { return !has_effect(option.name); });
  return list;
}

std::string text_of(const LuOptions& options) {
  std::string text;
  for (const NamedOption& option : rank_options(options)) text += option.name + " " + option.value + "\n";
  const auto& order = options.user_permutation;
  const std::string_view bytes(reinterpret_cast<const char*>(order.data()), order.size() * sizeof order[0]);
  return text + "permutation of " + std::to_string(order.size()) + " columns, checksum " +
         std::to_string(std::hash<std::string_view>()(bytes)) + "\n";
}

}  // namespace lutra::Impl
