// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <string>

#include "Lutra_Distributed.hpp"
#include "Lutra_MatrixMarket.hpp"
#include "Lutra_RankDivision.hpp"
#include "Lutra_TestStatus.hpp"

using namespace lutra;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("ranks pay if they spare more than their plans take", "[distributed]") {
  const auto A = generate("poisson3d", 12);
  const AssemblyTree tree = make_assembly_tree(make_view(A).pattern());
  DivisionCosts costs;
  costs.flops_per_second = 1e12;
  const auto nnz = static_cast<double>(A.nnz());
  CHECK_THAT(lutra::Impl::divide_among_ranks(tree, 2, costs, nnz, 1).why_one_rank,
             ContainsSubstring("2 ranks would spare") && ContainsSubstring(" in 1 factorization,"));
  const auto many = lutra::Impl::divide_among_ranks(tree, 2, costs, nnz, 100000);
  CHECK(many.why_one_rank.empty());
  CHECK(many.ranks.part == distribute_fronts(tree, 2, DivisionGoal::time, costs).part);
}

TEST_CASE("rank 0 factorizes alone where ranks do not pay", "[distributed]") {
  Communicator comm;
  const auto A = deal_rows(comm, generate("poisson3d", 12));
  for (const int factorizations : {1, 1000000}) {
    LuOptions options;
    options.ordering = Ordering::nd;
    options.expected_factorizations = factorizations;
    DistributedLU<double> solver(comm, options);
    lutra::Test::succeed(solver.factorize(A));
    const std::string& why = solver.report().choice.why;
    if (comm.rank() == 0 && comm.size() > 1) {
      if (factorizations == 1)
        CHECK_THAT(why, ContainsSubstring("rank 0 factorized alone: ") && ContainsSubstring("would spare"));
      else
        CHECK_THAT(why, ContainsSubstring("parts of the assembly tree on"));
    }
    solver.close();
  }
  comm.close();
}
