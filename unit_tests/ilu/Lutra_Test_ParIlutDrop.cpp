// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The entries that a step of ParILUT removes.
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <limits>
#include <vector>

#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_ParIlutDrop.hpp"
#include "Lutra_TestDevice.hpp"
#include "Lutra_TestTypes.hpp"

namespace lutra::Test {

TEMPLATE_LIST_TEST_CASE("ParILUT: a row keeps its limit of entries, whatever the signs of NaN", "[ilu]",
                        AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  using Memory = typename TestType::Memory;
  using Real = RealOf<Scalar>;
  using Keyed = lutra::Impl::KeyedFactors<Scalar, Memory>;
  const Real nan = std::numeric_limits<Real>::quiet_NaN();
  const Real inf = std::numeric_limits<Real>::infinity();
  // one row: the diagonal, and seven entries of U
  const auto kept_of = [&](const std::vector<Real>& keys, int limit) {
    Keyed keyed;
    keyed.factors.n = 1;
    keyed.factors.row_map = to_space<Space>(std::vector<Offset>{0, 8});
    keyed.factors.diagonal = to_space<Space>(std::vector<Offset>{0});
    keyed.lower_map = to_space<Space>(std::vector<Offset>{0, 0});
    keyed.lower_keys = to_space<Space>(std::vector<Real>{});
    keyed.upper_keys = to_space<Space>(keys);
    const lutra::Impl::RowTeams rows(Space(), lutra::Impl::vector_length_for<Space>(8.0), 1);
    const auto none = to_space<Space>(std::vector<Ordinal>{0}),
               entries = to_space<Space>(std::vector<Ordinal>{limit});
    Kokkos::parallel_for("lutra::test::limit_rows", rows.policy(Space(), 1),
                         lutra::Impl::LimitRows<Scalar, Memory>{keyed, none, entries, 1.0, rows});
    Space().fence();
    std::vector<int> kept;
    const auto result = to_vector(keyed.upper_keys);
    for (std::size_t t = 0; t < result.size(); ++t)
      if (!(result[t] < 0)) kept.push_back(static_cast<int>(t));
    return kept;
  };
  using Kept = std::vector<int>;
  CHECK(kept_of({3, 1, 4, 1, 5, 9, 2}, 3) == Kept{2, 4, 5});
  CHECK(kept_of({2, 2, 2, 1, 2, 2, 2}, 3) == Kept{0, 1, 2});
  CHECK(kept_of({3, -1, -1, 1, -1, 0, -1}, 3) == Kept{0, 3, 5});
  CHECK(kept_of({1, nan, 2, nan, inf, 3, 4}, 3) == Kept{1, 3, 4});
  CHECK(kept_of({1, -nan, 2, -nan, inf, 3, 4}, 3) == Kept{1, 3, 4});
  CHECK(kept_of({-nan, nan, -nan, nan, -nan, 1, inf}, 3) == Kept{0, 1, 2});
  CHECK(kept_of({-nan, -nan, -nan, -nan, -nan, -nan, -nan}, 0) == Kept{});
}

}  // namespace lutra::Test
