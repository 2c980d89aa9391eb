// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <random>

#include "Lutra_FrontSources.hpp"
#include "Lutra_TestDevice.hpp"
#include "Lutra_TestMatrices.hpp"
#include "Lutra_TestTypes.hpp"

namespace lutra::Test {

TEMPLATE_LIST_TEST_CASE("sources of fronts from sorted pairs equal those from counting", "[trisolve]",
                        PatternTypes) {
  using Space = typename TestType::Space;
  std::mt19937 random(5);
  const Space exec;
  for (const int n : {0, 1, 30, 200}) {
    for (const double mean : {0.0, 1.0, 3.0}) {
      INFO("n " << n << ", mean " << mean);
      const auto A = random_matrix<Matrix<TestType>>(n, n > 0 ? mean / n : 0, 0.0, random);
      const auto tree = make_assembly_tree(make_view(A).pattern());
      const auto plan = plan_fronts(exec, tree, FrontEntries{make_view(A).pattern(), tree.order, tree.order},
                                    MemoryBudget());
      const auto relative = to_vector(plan.relative);
      // each contribution row of a front stands in its parent's list, or among its pivots
      for (const auto& front : plan.layout.fronts) {
        for (Offset r = front.rows; r < front.rows + front.cb_rows; ++r) {
          const auto& parent = plan.layout.fronts[static_cast<std::size_t>(front.parent)];
          const int position = relative[static_cast<std::size_t>(r)];
          const auto row = position < parent.pivots
                               ? parent.first_pivot + static_cast<Ordinal>(position)
                               : tree.rows[static_cast<std::size_t>(parent.rows + position - parent.pivots)];
          REQUIRE(row == tree.rows[static_cast<std::size_t>(r)]);
        }
      }
      const auto expected = lutra::Impl::list_sources(plan.layout.fronts, static_cast<std::int64_t>(plan.n),
                                                      relative.data(), relative.size());
      const auto lists = lutra::Impl::list_sources(exec, plan, MemoryBudget());
      REQUIRE(to_vector(lists.source_begin) == expected.begin);
      REQUIRE(to_vector(lists.source) == expected.source);
    }
  }
}

}  // namespace lutra::Test
