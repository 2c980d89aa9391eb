// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_PlannedPart.hpp"

#include <exception>
#include <utility>

namespace lutra::Impl {
namespace {

constexpr int plan_tag = 230, boundary_tag = 231;  // used by no other exchange

/// Calls visit(array) for each array of a plan that ranks need.
template <class Plan, class Visit>
void for_each_array(Plan& plan, const Visit& visit) {
  visit(plan.tree.pivot_begin);
  visit(plan.tree.parent);
  visit(plan.tree.row_begin);
  visit(plan.tree.rows);
  visit(plan.position);
  visit(plan.row_map);
  visit(plan.columns);
  visit(plan.user_row);
  visit(plan.user_column);
  visit(plan.in_row);
}

void send_plan(Communicator& comm, int to, const Impl::FrontPartPlan& plan) {
  for_each_array(plan, [&](const auto& array) { comm.send(to, plan_tag, array); });
}

Impl::FrontPartPlan receive_plan(Communicator& comm) {
  Impl::FrontPartPlan plan;
  for_each_array(plan, [&]<class T>(std::vector<T>& array) { array = comm.receive<T>(0, plan_tag); });
  plan.tree.n = static_cast<int>(plan.position.size());
  return plan;
}

}  // namespace

AllParts plan_parts(const AssemblyTree& tree, const FrontEntries& entries,
                    const std::vector<std::vector<std::int64_t>>& rows_of_ranks, const FrontRanks& ranks,
                    int n_ranks) {
  AllParts all;
  all.numbers.resize(static_cast<std::size_t>(n_ranks));
  for (int p = 0; p < ranks.n_parts(); ++p)
    for (const int r : ranks.members(p)) at(all.numbers, r).push_back(p);
  all.places = find_rows(rows_of_ranks, entries.A);
  const FrontPartMaker maker(tree, entries, ranks.part);
  std::vector<FrontPartPlan>& plans = all.plans;
  plans.resize(static_cast<std::size_t>(ranks.n_parts()));
  std::vector<std::exception_ptr> failures(plans.size());
  Kokkos::parallel_for(
      "lutra::numeric::plans of parts",
      Kokkos::RangePolicy<Kokkos::DefaultHostExecutionSpace, Kokkos::Schedule<Kokkos::Dynamic>>(
          0, ranks.n_parts()),
      [&](const int p) {
        try {
          at(plans, p) = maker.make(p);
        } catch (...) {
          at(failures, p) = std::current_exception();
        }
      });
  for (const auto& failure : failures)
    if (failure) std::rethrow_exception(failure);
  std::vector<PartOutline> outlines;
  for (const FrontPartPlan& plan : plans) outlines.emplace_back(plan);
  all.boundaries = find_boundaries(tree, ranks, outlines);
  return all;
}

void send_parts(Communicator& comm, const FrontRanks& ranks, const AllParts& all) {
  for (int r = 0; r < comm.size(); ++r) comm.send(r, plan_tag, at(all.numbers, r));
  for (int p = 0; p < ranks.n_parts(); ++p) {
    const FrontPartPlan& plan = at(all.plans, p);
    for (const int to : ranks.members(p)) {
      send_plan(comm, to, plan);
      comm.send(to, plan_tag, select(all.places, plan.user_row));
      comm.send(to, plan_tag, select(all.places, plan.user_column));
    }
  }
  for (const PartBoundary& boundary : all.boundaries) {
    const int of_part = at(ranks.rank_of_part, boundary.number);
    for (const int to : ranks.members(boundary.number))
      comm.send(to, boundary_tag, packed(to == of_part ? boundary : for_helpers(boundary)));
  }
}

std::vector<PlannedPart> receive_parts(Communicator& comm) {
  std::vector<PlannedPart> planned(comm.receive<int>(0, plan_tag).size());
  for (PlannedPart& part : planned) {
    part.plan = receive_plan(comm);
    part.of_rows = comm.receive<RowPlace>(0, plan_tag);
    part.of_columns = comm.receive<RowPlace>(0, plan_tag);
  }
  for (PlannedPart& part : planned) part.boundary = unpacked(comm.receive<int>(0, boundary_tag));
  return planned;
}

}  // namespace lutra::Impl
