// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PLANNEDPART_HPP
#define LUTRA_PLANNEDPART_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "Lutra_At.hpp"
#include "Lutra_Communicator.hpp"
#include "Lutra_CsrView.hpp"
#include "Lutra_Exchange.hpp"
#include "Lutra_FrontPart.hpp"
#include "Lutra_PartBoundaries.hpp"

namespace lutra::Impl {

/// Where a row of A is: its rank, its position there, and its first entry among those of the rank.
struct RowPlace {
  std::int64_t rank = -1;
  std::size_t position = 0, first_entry = 0;
};

/// A part as its rank gets it, with the places of the rows of A, and of those with the numbers of the
/// columns, at all positions.
struct PlannedPart {
  FrontPartPlan plan;
  PartBoundary boundary;
  std::vector<RowPlace> of_rows, of_columns;

  /// Whether another rank keeps the factors, and solves.
  bool is_helped(int rank) const {
    return boundary.members.are_several() && boundary.members.ranks.front() != rank;
  }
};

/// The places of all rows of A.
inline std::vector<RowPlace> find_rows(const std::vector<std::vector<std::int64_t>>& rows_of_ranks,
                                       const CsrPattern<int, std::int64_t, Kokkos::HostSpace>& A) {
  std::vector<RowPlace> places(static_cast<std::size_t>(A.n_rows));
  for (std::size_t r = 0; r < rows_of_ranks.size(); ++r) {
    std::size_t entries = 0;
    for (std::size_t k = 0; k < rows_of_ranks[r].size(); ++k) {
      const std::int64_t i = rows_of_ranks[r][k];
      at(places, i) = {static_cast<std::int64_t>(r), k, entries};
      entries += static_cast<std::size_t>(A.row_map(i + 1) - A.row_map(i));
    }
  }
  return places;
}

/// The elements of `places` at some indices.
inline std::vector<RowPlace> select(const std::vector<RowPlace>& places, std::span<const int> indices) {
  std::vector<RowPlace> result;
  result.reserve(indices.size());
  for (const int i : indices) result.push_back(at(places, i));
  return result;
}

/// What a rank's parts read: rows and columns of their pivots, those of other parts' pivots in their fronts,
/// and entries of A.
struct PartRequests {
  ElementRequests rows, columns, other_rows, other_columns, entries;

  explicit PartRequests(int ranks)
      : rows(ranks), columns(ranks), other_rows(ranks), other_columns(ranks), entries(ranks) {}

  void add(const PlannedPart& part, int rank) {
    const auto& [plan, boundary, of_rows, of_columns] = part;
    const auto pivots = part.is_helped(rank) ? 0 : static_cast<std::size_t>(plan.n_pivots());
    for (std::size_t k = 0; k < of_rows.size(); ++k) {
      (k < pivots ? rows : other_rows).add({of_rows[k].rank, of_rows[k].position});
      (k < pivots ? columns : other_columns).add({of_columns[k].rank, of_columns[k].position});
    }
    for (std::size_t k = 0; k < of_rows.size(); ++k) {
      for (auto e = plan.row_map[k]; e < plan.row_map[k + 1]; ++e)
        entries.add({of_rows[k].rank, of_rows[k].first_entry + static_cast<std::size_t>(at(plan.in_row, e))});
    }
  }
};

/// What rank 0 plans for all ranks.
struct AllParts {
  std::vector<std::vector<int>> numbers;  ///< [P] of the parts that each rank works on
  std::vector<RowPlace> places;           ///< of the rows of A
  std::vector<FrontPartPlan> plans;
  std::vector<PartBoundary> boundaries;
};

/// @param entries       A and its orders, which already follow `tree.order`
/// @param rows_of_ranks [ranks] rows of A of each rank
AllParts plan_parts(const AssemblyTree& tree, const FrontEntries& entries,
                    const std::vector<std::vector<std::int64_t>>& rows_of_ranks, const FrontRanks& ranks,
                    int n_ranks);
/// To be called on rank 0 once all ranks have agreed that every plan exists. Sent earlier, messages would
/// remain unread if a rank failed.
void send_parts(Communicator& comm, const FrontRanks& ranks, const AllParts& all);
/// The parts that this rank works on, ascending.
std::vector<PlannedPart> receive_parts(Communicator& comm);

}  // namespace lutra::Impl

#endif
