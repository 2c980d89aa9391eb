// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include "Lutra_BatchCases.hpp"
#include "Lutra_SparseILU.hpp"

namespace lutra::Test {
namespace {

/// Dominant matrices on a random pattern with a full diagonal.
template <class Scalar>
HostMatrix<Scalar> dominant(std::size_t n) {
  std::mt19937 random(8);
  std::vector<std::vector<double>> picture(n, std::vector<double>(n, nothing));
  for (std::size_t i = 0; i < n; ++i) {
    for (int t = 0; t < 3; ++t) picture[i][random() % n] = -1.0 + 0.1 * static_cast<double>(t);
    picture[i][i] = 5;
  }
  return from_dense<HostMatrix<Scalar>>(picture);
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("batch: incomplete factors are those of single systems", "[batch]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  using Space = typename TestType::Space;
  constexpr std::size_t n = 40, K = 10;
  const auto pattern = dominant<Scalar>(n);
  auto values = perturbed_values<TestType>(pattern, K, Storage::interleaved);
  for (auto p = static_cast<std::size_t>(pattern.row_map[6]);
       p < static_cast<std::size_t>(pattern.row_map[7]); ++p)
    if (pattern.entries[p] == 6) values(p, 0, 3) = Scalar(0);  // system 3 needs a shift, or has large growth
  values.to_device();
  const auto B = random_block<TestType>(n, 2, K, Storage::interleaved);
  for (const Ordering ordering : {Ordering::natural, Ordering::amd}) {
    for (const int level : {0, 1}) {
      CAPTURE(level);
      SparseIluOptions options;
      options.fill_level = level;
      options.ordering = ordering;
      options.apply = IluApply::exact;  // single systems are applied by sweeps where these are faster
      BatchedILU<Scalar, Space> batch(options);
      REQUIRE(batch.analyze(on_device<TestType>(pattern)) == Status::success);
      REQUIRE(batch.factorize(values.matrix()) == Status::success);
      CHECK_THROWS_AS(batch.solve(B.view(), B.view()), InputError);
      for (const Transposition op :
           {Transposition::none, Transposition::transposed, Transposition::adjoint}) {
        BatchArray<TestType> X(n, 2, K, Storage::interleaved), Y(n, 2, K, Storage::interleaved);
        batch.apply(B.view(), X.view(), op);
        X.to_host();
        for (std::size_t k = 0; k < K; ++k) {
          Numeric<Scalar, Space> single(batch.analysis());
          const auto A = on_device<TestType>(with_values(pattern, values, k));
          REQUIRE(single.factorize(A) == Status::success);
          single.apply(Kokkos::subview(B.view(), Kokkos::ALL, Kokkos::ALL, k),
                       Kokkos::subview(Y.view(), Kokkos::ALL, Kokkos::ALL, k), op);
          Space().fence();
        }
        Y.to_host();
        double largest = 0;
        for (const Scalar& y : Y.host)
          largest = std::max(largest, static_cast<double>(ScalarTraits<Scalar>::magnitude(y)));
        for (std::size_t s = 0; s < X.host.size(); ++s)
          REQUIRE(static_cast<double>(ScalarTraits<Scalar>::magnitude(X.host[s] - Y.host[s])) <=
                  1000 * static_cast<double>(epsilon_of<Scalar>) * largest);
      }
    }
  }
}

TEMPLATE_LIST_TEST_CASE("batch: incomplete factors that it does not have", "[batch]", AllTypes) {
  using Scalar = typename TestType::Scalar;
  const auto pattern = dominant<Scalar>(10);
  for (const IluMethod method : {IluMethod::parilu, IluMethod::parilut}) {
    SparseIluOptions options;
    options.method = method;
    BatchedILU<Scalar, typename TestType::Space> batch(options);
    CHECK_THROWS_AS(batch.analyze(on_device<TestType>(pattern)), InputError);
  }
}

}  // namespace lutra::Test
