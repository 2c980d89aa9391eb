// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_DistributedSymbolic.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <string>

#include "Lutra_Amalgamate.hpp"
#include "Lutra_At.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_Timer.hpp"
#include "Lutra_Upload.hpp"

namespace lutra {
namespace Impl {

/// Data about a row that other ranks need.
struct GatheredRow {
  Ordinal lower = 0, upper = 0;  ///< entries in L and in U
  Ordinal adjacent = 0;  ///< entries of L adjacent to the diagonal without a gap, at most a supernode's rows
  Ordinal next = -1;     ///< first column of U right of the diagonal; −1: none
};

}  // namespace Impl

namespace {

using Impl::at;
using Impl::GatheredRow;

/// 128 MiB of ordinals: bounds the buffers of a message; smaller: more messages.
constexpr std::int64_t message_entries = 1 << 25;
constexpr int rows_tag = 220;  // used by no other exchange

/// Ranks per host if all hosts have the same number of successive ranks; else 1.
int ranks_of_a_host(Communicator& comm) {
  std::array<char, HOST_NAME_MAX + 1> name{};
  ::gethostname(name.data(), name.size());
  const auto names = comm.all_gather(name);
  const auto size = names.size();
  std::size_t together = 1;
  while (together < size && names[together] == names[0]) ++together;
  for (std::size_t first = 0; first < size; first += together) {
    const std::size_t end = std::min(first + together, size);
    const auto same = [&](const auto& other) { return other == names[first]; };
    if (end - first != together ||
        std::count_if(names.begin(), names.end(), same) != std::int64_t(together) ||
        !std::all_of(names.begin() + std::int64_t(first), names.begin() + std::int64_t(end), same))
      return 1;
  }
  return static_cast<int>(together);
}

SourceSchedule make_schedule(Communicator& comm, std::int64_t n, const DistributedSymbolicOptions& options) {
  comm.agree("symbolic: options", [&] {
    if (options.supernodes.search != SupernodeSearch::automatic)
      throw InputError("search: ranks find supernodes on the host, from the lengths of the rows");
    if (options.supernodes.max_size < 1) throw InputError("max_size: a supernode has one row at least");
    if (!(options.supernodes.relaxation >= 0))
      throw InputError("relaxation: it has to be a number from 0 on");
    if (options.ranks_per_node < 0 ||
        (options.ranks_per_node > 0 && comm.size() % options.ranks_per_node != 0)) {
      throw InputError("ranks_per_node: " + std::to_string(options.ranks_per_node) + " does not divide " +
                       std::to_string(comm.size()) + " ranks");
    }
    if (options.sources_in_flight < 0) throw InputError("sources_in_flight: it is negative");
  });
  const auto sizes = comm.all_gather(n);
  comm.agree("symbolic: patterns", [&] {
    if (n != sizes.front())
      throw InputError("pattern: it has " + std::to_string(n) + " rows, rank 0's " +
                       std::to_string(sizes.front()));
  });
  const int together = options.ranks_per_node > 0 ? options.ranks_per_node : ranks_of_a_host(comm);
  return {options.supernodes.max_size, comm.size() / together, together};
}

/// Rows of a rank, ascending.
std::vector<Ordinal> rows_of_rank(const SourceSchedule& schedule, Ordinal n, int rank) {
  std::vector<Ordinal> rows;
  const std::int64_t together = schedule.ranks_per_node, node = rank / together, place = rank % together;
  for (std::int64_t number = node, before = 0; number * schedule.chunk < n;
       number += schedule.nodes, before += schedule.chunk) {
    const std::int64_t begin = number * schedule.chunk;
    const std::int64_t end = std::min<std::int64_t>(begin + schedule.chunk, n);
    // the first row whose position among the node's rows is the rank's
    for (std::int64_t row = begin + (place - before % together + together) % together; row < end;
         row += together)
      rows.push_back(static_cast<Ordinal>(row));
  }
  return rows;
}

/// Searches a rank's rows, batch by batch.
template <class ExecutionSpace>
void search(const ExecutionSpace& exec,
            const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
            const MemoryBudget& budget, const DistributedSymbolicOptions& options,
            DistributedLuPattern& part) {
  const auto all = static_cast<std::int64_t>(part.rows.size());
  // Eq. 1: chunk · chunks in flight on a node = #C · ranks of the node
  const SourceSchedule& schedule = part.schedule;
  const std::int64_t chunks =
      (options.sources_in_flight * schedule.ranks_per_node + schedule.chunk - 1) / schedule.chunk;
  std::int64_t batch = options.sources_in_flight == 0
                           ? all
                           : std::max<std::int64_t>(1, chunks * schedule.chunk / schedule.ranks_per_node);
  part.row_map.assign(1, 0);
  for (std::int64_t first = 0; first < all;) {
    const std::int64_t size = std::min(batch, all - first);
    try {
      MemoryReservation reservation(budget);
      const auto sources =
          Impl::upload(exec, reservation, "lutra::symbolic::sources",
                       std::vector<Ordinal>(part.rows.begin() + first, part.rows.begin() + first + size));
      const auto found = factorize_symbolic_rows(exec, pattern, sources, budget, options.symbolic);
      const auto row_map = Impl::download(exec, found.row_map);
      const auto entries = Impl::download(exec, found.entries);
      exec.fence("lutra::symbolic: rows are on the host");
      const Offset before = part.row_map.back();
      for (std::int64_t k = 1; k <= size; ++k) part.row_map.push_back(before + row_map(k));
      part.entries.insert(part.entries.end(), entries.data(), entries.data() + row_map(size));
      part.edges += found.edges;
      first += size;
      ++part.batches;
    } catch (const OutOfMemoryError&) {
      if (size == 1) throw;
      batch = (size + 1) / 2;
    }
  }
}

std::vector<GatheredRow> summarize(const DistributedLuPattern& part, std::int64_t max_size) {
  std::vector<GatheredRow> summaries;
  summaries.reserve(part.rows.size());
  for (std::size_t k = 0; k < part.rows.size(); ++k) {
    const Ordinal row = part.rows[k];
    const auto begin = part.entries.begin() + part.row_map[k],
               end = part.entries.begin() + part.row_map[k + 1];
    const auto diagonal = std::lower_bound(begin, end, row);
    GatheredRow summary{static_cast<Ordinal>(diagonal - begin), static_cast<Ordinal>(end - diagonal)};
    const auto longest = static_cast<Ordinal>(std::min<std::int64_t>(max_size, summary.lower));
    while (summary.adjacent < longest && *(diagonal - summary.adjacent - 1) == row - summary.adjacent - 1)
      ++summary.adjacent;
    if (diagonal + 1 < end) summary.next = *(diagonal + 1);
    summaries.push_back(summary);
  }
  return summaries;
}

/// Collects the summaries of all rows on all ranks.
std::vector<GatheredRow> exchange(Communicator& comm, const DistributedLuPattern& part,
                                  const std::vector<GatheredRow>& own) {
  const auto gathered = comm.gather(own);
  std::vector<GatheredRow> all;
  if (comm.rank() == 0) {
    std::vector<std::size_t> next(gathered.size(), 0);
    for (Ordinal row = 0; row < part.n; ++row) {
      const auto rank = static_cast<std::size_t>(part.schedule.rank_of(row));
      all.push_back(gathered[rank][next[rank]++]);
    }
  }
  comm.broadcast(all);
  return all;
}

/// Marks with 1 each row that starts a supernode.
std::vector<Ordinal> find_leaders(const std::vector<GatheredRow>& rows, std::int64_t max_size) {
  std::vector<Ordinal> leads(rows.size(), 1);
  std::size_t leader = 0;
  for (std::size_t s = 1; s < rows.size(); ++s) {
    const auto before = static_cast<std::int64_t>(s - leader);
    const bool follows = rows[s].upper == rows[s - 1].upper - 1;
    if (follows && before < max_size && rows[s].adjacent >= before) {
      leads[s] = 0;
    } else {
      leader = s;
    }
  }
  return leads;
}

Kokkos::View<Ordinal*, Kokkos::HostSpace> host_view(std::string_view label, std::size_t size) {
  return Impl::allocating(label, size * sizeof(Ordinal), [&] {
    return Kokkos::View<Ordinal*, Kokkos::HostSpace>(
        Kokkos::view_alloc(Kokkos::WithoutInitializing, std::string(label)), size);
  });
}

/// Numbers supernodes and finds their parents.
Supernodes<Kokkos::HostSpace> make_supernodes(const std::vector<GatheredRow>& rows,
                                              const SupernodeOptions& options) {
  const std::size_t n = rows.size();
  auto leads = find_leaders(rows, options.max_size);
  Supernodes<Kokkos::HostSpace> result;
  result.n = static_cast<Ordinal>(n);
  if (options.relaxation > 0) {
    std::vector<Ordinal> joints(n, 0), lengths;
    for (std::size_t s = 1; s < n; ++s)
      joints[s] = rows[s].adjacent > 0 && rows[s - 1].next == static_cast<Ordinal>(s) ? 1 : 0;
    for (const auto& row : rows) lengths.push_back(row.upper);
    result.zeros = Impl::amalgamate(joints, lengths, options, leads);
  }
  result.count =
      static_cast<Ordinal>(std::count_if(leads.begin(), leads.end(), [](Ordinal l) { return l != 0; }));
  const auto count = static_cast<std::size_t>(result.count);
  const auto begin = host_view("lutra::symbolic::supernode_begin", count + 1);
  const auto parent = host_view("lutra::symbolic::supernode_parent", count);
  const auto of_row = host_view("lutra::symbolic::supernode_of_row", n);
  const auto lower = host_view("lutra::symbolic::row_lengths_l", n);
  const auto upper = host_view("lutra::symbolic::row_lengths_u", n);
  std::size_t number = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (leads[i] != 0) begin(number++) = static_cast<Ordinal>(i);
    of_row(i) = static_cast<Ordinal>(number - 1);
    lower(i) = rows[i].lower;
    upper(i) = rows[i].upper;
  }
  begin(count) = static_cast<Ordinal>(n);
  for (std::size_t k = 0; k < count; ++k) {
    const Ordinal next = at(rows, begin(k + 1) - 1).next;
    parent(k) = next < 0 ? Ordinal(-1) : of_row(static_cast<std::size_t>(next));
  }
  result.begin = begin;
  result.parent = parent;
  result.of_row = of_row;
  result.lower = lower;
  result.upper = upper;
  return result;
}

/// A range of a rank's rows sent in one message.
struct RowRange {
  std::size_t first, end;  ///< indices into the rank's rows
};

/// Divides a rank's rows into messages; sender and receiver compute the same. @param length [rows] length of
/// each
std::vector<RowRange> cut_into_messages(const std::vector<std::int64_t>& length) {
  std::vector<RowRange> ranges;
  std::int64_t entries = 0;
  for (std::size_t k = 0; k < length.size(); ++k) {
    if (ranges.empty() || entries + length[k] > message_entries) {
      ranges.push_back({k, k});
      entries = 0;
    }
    entries += length[k];
    ranges.back().end = k + 1;
  }
  return ranges;
}

/// Lengths of the given rows of L + U.
std::vector<std::int64_t> lengths_of(const DistributedLuPattern& part, const std::vector<Ordinal>& rows) {
  const auto& [lower, upper] = std::tie(part.supernodes.lower, part.supernodes.upper);
  std::vector<std::int64_t> lengths;
  for (const Ordinal row : rows) lengths.push_back(std::int64_t(lower(row)) + upper(row));
  return lengths;
}

}  // namespace

template <class ExecutionSpace>
DistributedLuPattern factorize_symbolic_distributed(
    Communicator& comm, const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
    const MemoryBudget& budget, const DistributedSymbolicOptions& options) {
  DistributedLuPattern part;
  part.n = pattern.n_rows;
  part.schedule = make_schedule(comm, pattern.n_rows, options);
  std::vector<GatheredRow> own;
  comm.agree("symbolic: search", [&] {
    const Communicator::Work alone(comm);
    const Kokkos::Timer timer;
    if (pattern.n_rows != pattern.n_cols) throw InputError("pattern: it is not square");
    part.rows = rows_of_rank(part.schedule, part.n, comm.rank());
    search(exec, pattern, budget, options, part);
    own = summarize(part, options.supernodes.max_size);
    part.search_seconds = timer.seconds();
  });
  const auto all = exchange(comm, part, own);
  part.supernodes = make_supernodes(all, options.supernodes);
  for (const auto& row : all) {
    part.nnz_l += row.lower;
    part.nnz_u += row.upper;
  }
  return part;
}

template <class ExecutionSpace>
RowsOfRank<typename ExecutionSpace::memory_space> find_rows_of_rank(
    Communicator& comm, const ExecutionSpace& exec,
    const CsrPattern<Ordinal, Offset, typename ExecutionSpace::memory_space>& pattern,
    const MemoryBudget& budget, const DistributedSymbolicOptions& options) {
  RowsOfRank<typename ExecutionSpace::memory_space> part;
  part.n = pattern.n_rows;
  part.schedule = make_schedule(comm, pattern.n_rows, options);
  std::array<Offset, 2> entries{};  // all, and left of the diagonal
  comm.agree("symbolic: search", [&] {
    const Communicator::Work alone(comm);
    if (pattern.n_rows != pattern.n_cols) throw InputError("pattern: it is not square");
    part.rows = rows_of_rank(part.schedule, part.n, comm.rank());
    if (part.rows.empty()) return;
    SymbolicOptions of_fill2 = options.symbolic;
    of_fill2.method = SymbolicMethod::fill2;
    MemoryReservation reservation(budget);
    const auto sources = Impl::upload(exec, reservation, "lutra::symbolic::sources", part.rows);
    part.found =
        Impl::fill2_rows(exec, pattern, sources, budget, Impl::fill2_options<ExecutionSpace>(of_fill2));
    entries = {static_cast<Offset>(part.found.entries.extent(0)), part.found.nnz_l};
  });
  for (const auto& [all, lower] : comm.all_gather(entries)) {
    part.nnz_l += lower;
    part.nnz_u += all - lower;
  }
  return part;
}

LuPattern<Kokkos::HostSpace> gather_pattern(Communicator& comm, const DistributedLuPattern& part, int root,
                                            const MemoryBudget& budget) {
  const int first_root = std::max(root, 0);
  const auto n = static_cast<std::size_t>(part.n);
  LuPattern<Kokkos::HostSpace> result;
  Kokkos::View<Offset*, Kokkos::HostSpace> row_map, diagonal;
  Kokkos::View<Ordinal*, Kokkos::HostSpace> entries;
  comm.agree("symbolic: memory for the pattern", [&] {
    if (root >= 0 && comm.rank() != root) return;
    MemoryReservation memory(budget);
    const Kokkos::DefaultHostExecutionSpace exec;
    row_map = memory.allocate<decltype(row_map)>(exec, "lutra::symbolic::row_map", n + 1);
    diagonal = memory.allocate<decltype(diagonal)>(exec, "lutra::symbolic::diagonal", n);
    entries = memory.allocate<decltype(entries)>(exec, "lutra::symbolic::entries",
                                                 static_cast<std::size_t>(part.nnz_l + part.nnz_u));
    result.reservation = memory;
    row_map(0) = 0;
    for (std::size_t i = 0; i < n; ++i) {
      diagonal(i) = row_map(i) + part.supernodes.lower(i);
      row_map(i + 1) = diagonal(i) + part.supernodes.upper(i);
    }
  });
  const auto place = [&](const std::vector<Ordinal>& rows, const RowRange& range, const Ordinal* next) {
    for (std::size_t k = range.first; k < range.end; ++k) {
      const auto length = row_map(rows[k] + 1) - row_map(rows[k]);
      std::copy(next, next + length, entries.data() + row_map(rows[k]));
      next += length;
    }
  };
  if (comm.rank() != first_root) {
    for (const RowRange& range : cut_into_messages(lengths_of(part, part.rows)))
      comm.send(first_root, rows_tag,
                std::span<const Ordinal>(part.entries.data() + part.row_map[range.first],
                                         part.entries.data() + part.row_map[range.end]));
  } else {
    place(part.rows, {0, part.rows.size()}, part.entries.data());
    for (int from = 0; from < comm.size(); ++from) {
      if (from == first_root) continue;
      const auto rows = rows_of_rank(part.schedule, part.n, from);
      for (const RowRange& range : cut_into_messages(lengths_of(part, rows)))
        place(rows, range, comm.receive<Ordinal>(from, rows_tag).data());
    }
  }
  const Offset nnz = part.nnz_l + part.nnz_u;
  for (Offset done = 0; root < 0 && done < nnz; done += message_entries) {
    const Offset end = std::min<Offset>(nnz, done + message_entries);
    std::vector<Ordinal> piece;
    if (comm.rank() == first_root) piece.assign(entries.data() + done, entries.data() + end);
    comm.broadcast(piece, first_root);
    std::copy(piece.begin(), piece.end(), entries.data() + done);
  }
  if (row_map.data() == nullptr) return result;
  result.n = part.n;
  result.row_map = row_map;
  result.entries = entries;
  result.diagonal = diagonal;
  result.nnz_l = part.nnz_l;
  result.nnz_u = part.nnz_u;
  result.method = SymbolicMethod::fill2;
  result.reason = "fill2: its rows were searched for by " + std::to_string(comm.size()) + " ranks";
  return result;
}

#define LUTRA_DISTRIBUTED_SYMBOLIC(Space)                                                            \
  template DistributedLuPattern factorize_symbolic_distributed(                                      \
      Communicator&, const Space&, const CsrPattern<Ordinal, Offset, typename Space::memory_space>&, \
      const MemoryBudget&, const DistributedSymbolicOptions&);                                       \
  template RowsOfRank<typename Space::memory_space> find_rows_of_rank(                               \
      Communicator&, const Space&, const CsrPattern<Ordinal, Offset, typename Space::memory_space>&, \
      const MemoryBudget&, const DistributedSymbolicOptions&);
LUTRA_FOR_EACH_SPACE(LUTRA_DISTRIBUTED_SYMBOLIC)

}  // namespace lutra
