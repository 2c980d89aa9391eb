// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <random>

#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_FrontKernels.hpp"
#include "Lutra_TestDevice.hpp"
#include "Lutra_TestMatrices.hpp"
#include "Lutra_TestTypes.hpp"

namespace lutra::Test {

/// Notes perturbed pivots of a front.
struct NotePivots {
  unsigned char* flags;
  KOKKOS_FUNCTION void operator()(int j, bool is_perturbed) const { flags[j] = is_perturbed ? 1 : 0; }
};

/// Partial LU of the front in three arrays, by one team.
template <class Space, class Scalar>
void factorize_on(const lutra::Impl::DenseFront<Scalar>& front, const lutra::Impl::PivotRule<Scalar>& rule,
                  unsigned char* flags) {
  using Policy = Kokkos::TeamPolicy<Space>;
  constexpr bool on_host = lutra::Impl::is_host_space<Space>;
  Kokkos::parallel_for(
      "lutra::test::front", Policy(1, on_host ? 1 : 8, on_host ? 1 : 32),
      KOKKOS_LAMBDA(const typename Policy::member_type& team) {
        using Member = typename Policy::member_type;
        lutra::Impl::factorize_front(lutra::Impl::KokkosFrontTeam<Member, Scalar>{team}, front, rule,
                                     NotePivots{flags});
      });
  Kokkos::fence();
}

namespace {

template <class Scalar>
using Dense = std::vector<std::vector<Scalar>>;

/// The same, entry by entry.
template <class Scalar>
Dense<Scalar> eliminate(Dense<Scalar> A, int pivots, RealOf<Scalar> threshold,
                        std::vector<unsigned char>& flags) {
  for (std::size_t j = 0; j < static_cast<std::size_t>(pivots); ++j) {
    const auto size = ScalarTraits<Scalar>::magnitude(A[j][j]);
    flags.push_back(size < threshold ? 1 : 0);
    if (size < threshold) A[j][j] = size > 0 ? A[j][j] * (threshold / size) : Scalar(threshold);
    for (std::size_t i = j + 1; i < A.size(); ++i) {
      A[i][j] /= A[j][j];
      for (std::size_t c = j + 1; c < A.size(); ++c) A[i][c] -= A[i][j] * A[j][c];
    }
  }
  return A;
}

template <class Scalar>
Dense<Scalar> random_front(int size, std::mt19937& random) {
  Dense<Scalar> A(static_cast<std::size_t>(size), std::vector<Scalar>(static_cast<std::size_t>(size)));
  for (std::size_t i = 0; i < A.size(); ++i) {
    for (Scalar& value : A[i]) value = random_value<Scalar>(random, 1);
    A[i][i] = as_scalar<Scalar>(4.0 * size);
  }
  return A;
}

/// Runs the library on a front and compares every entry of its three blocks.
template <class Types>
void compare(const Dense<typename Types::Scalar>& A, int pivots, RealOf<typename Types::Scalar> threshold) {
  using Scalar = typename Types::Scalar;
  using Space = typename Types::Space;
  const int size = static_cast<int>(A.size()), cb_rows = size - pivots;
  std::vector<unsigned char> expected_flags;
  const auto expected = eliminate(A, pivots, threshold, expected_flags);
  std::vector<Scalar> lower(static_cast<std::size_t>(size * pivots)),
      upper(static_cast<std::size_t>(pivots * cb_rows)),
      contribution(static_cast<std::size_t>(cb_rows * cb_rows));
  lutra::Impl::DenseFront<Scalar> front{lower.data(), upper.data(), contribution.data(), pivots, cb_rows};
  for (int i = 0; i < size; ++i) {
    for (int j = 0; j < size; ++j)
      front.at(i, j) = A[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
  }
  const auto L = to_space<Space>(lower), U = to_space<Space>(upper), C = to_space<Space>(contribution);
  const auto flags = to_space<Space>(std::vector<unsigned char>(static_cast<std::size_t>(pivots), 9));
  factorize_on<Space, Scalar>({L.data(), U.data(), C.data(), pivots, cb_rows}, {threshold}, flags.data());
  auto got_lower = to_vector(L), got_upper = to_vector(U), got_contribution = to_vector(C);
  front = {got_lower.data(), got_upper.data(), got_contribution.data(), pivots, cb_rows};
  const double bound = 100.0 * static_cast<double>(epsilon_of<Scalar>);
  for (int i = 0; i < size; ++i) {
    for (int j = 0; j < size; ++j) {
      const Scalar wanted = expected[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
      INFO("entry " << i << ", " << j << " of " << size << " with " << pivots << " pivots");
      REQUIRE(static_cast<double>(Kokkos::abs(front.at(i, j) - wanted)) <=
              bound * (static_cast<double>(Kokkos::abs(wanted)) + 1));
    }
  }
  CHECK(to_vector(flags) == expected_flags);
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("partial LU of dense fronts agrees with plain elimination", "[numeric]", AllTypes) {
  std::mt19937 random(3);
  for (const auto& [size, pivots] : std::vector<std::pair<int, int>>{
           {1, 1}, {2, 1}, {5, 5}, {9, 3}, {31, 8}, {33, 33}, {40, 32}, {70, 65}, {77, 1}, {97, 64}}) {
    compare<TestType>(random_front<typename TestType::Scalar>(size, random), pivots, 0);
  }
}

TEMPLATE_LIST_TEST_CASE("small pivots of dense fronts are perturbed", "[numeric]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  // the second pivot cancels to zero, the third to −0.25
  Dense<Scalar> A{{Scalar(1), Scalar(1), Scalar(0), Scalar(2)},
                  {Scalar(1), Scalar(1), Scalar(0), Scalar(1)},
                  {Scalar(0), Scalar(0), as_scalar<Scalar>(-0.25), Scalar(1)},
                  {Scalar(1), Scalar(2), Scalar(1), Scalar(1)}};
  compare<TestType>(A, 3, 0.5f);
}

}  // namespace lutra::Test
