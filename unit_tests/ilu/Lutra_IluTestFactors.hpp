// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ILUTESTFACTORS_HPP
#define LUTRA_ILUTESTFACTORS_HPP

#include <catch2/catch_test_macros.hpp>
#include <random>
#include <vector>

#include "Lutra_IluPattern.hpp"
#include "Lutra_IncompleteFactors.hpp"
#include "Lutra_InspectFactors.hpp"
#include "Lutra_Reference_Ilu.hpp"
#include "Lutra_ScalarTraits.hpp"
#include "Lutra_TestDevice.hpp"
#include "Lutra_TestDominant.hpp"
#include "Lutra_TestMatrices.hpp"
#include "Lutra_TestTypes.hpp"

namespace lutra::Test {

/// Ordinal × execution space with one of the scalars of this build, for patterns.
using OneScalar = std::tuple_element_t<0, Scalars>;
using IluPatternTypes = decltype(Impl::with_ordinals<OneScalar>(static_cast<Ordinals*>(nullptr)));

template <class Types>
using FactorsOf = IncompleteFactors<typename Types::Scalar, typename Types::Memory>;

/// The pattern of ILU(k) of a host matrix.
template <class Types>
FactorsOf<Types> make_factors(const Matrix<Types>& matrix, int fill_level,
                              const MemoryBudget& budget = MemoryBudget()) {
  return make_incomplete_factors<typename Types::Scalar>(
      typename Types::Space(), to_space<typename Types::Space>(matrix).pattern(), fill_level, budget);
}

/// Values of factors by rows.
template <class Factors>
auto value_rows(const Factors& factors) {
  const auto row_map = to_vector(factors.row_map);
  const auto values = to_vector(factors.values);
  using Scalar = typename decltype(to_vector(factors.values))::value_type;
  std::vector<std::vector<Scalar>> rows;
  for (std::size_t i = 0; i + 1 < row_map.size(); ++i)
    rows.emplace_back(values.begin() + row_map[i], values.begin() + row_map[i + 1]);
  return rows;
}

/// Values by elimination.
template <class Types>
void eliminate(const Matrix<Types>& matrix, const FactorsOf<Types>& factors, IluSchedule schedule,
               double shift = 0) {
  const typename Types::Space exec;
  IluElimination<typename Types::Scalar, typename Types::Space> elimination(exec, factors, schedule,
                                                                            MemoryBudget());
  elimination.eliminate(exec, to_space<typename Types::Space>(matrix), shift, factors);
  CHECK(elimination.consume_timeout(exec) == -1);
}

template <class Types>
IncompleteOutcome inspect(const Matrix<Types>& matrix, const FactorsOf<Types>& factors,
                          bool symmetric = false) {
  using Space = typename Types::Space;
  const Space exec;
  MemoryReservation reservation{MemoryBudget()};
  const InspectWorkspace<typename Types::Scalar, Space> work(exec, reservation,
                                                             static_cast<std::size_t>(factors.n));
  return inspect_factors<typename Types::Scalar>(exec, to_space<Space>(matrix), factors, symmetric, work);
}

/// The largest difference of two lists of rows of the same lengths, relative where values exceed 1.
template <class Rows>
double difference(const Rows& a, const Rows& b) {
  using std::abs;
  double largest = 0;
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    REQUIRE(a[i].size() == b[i].size());
    for (std::size_t t = 0; t < a[i].size(); ++t) {
      const auto distance =
          static_cast<double>(abs(a[i][t] - b[i][t])) / (1 + static_cast<double>(abs(b[i][t])));
      if (!(distance <= largest)) largest = distance;
    }
  }
  return largest;
}

inline double tolerance_of(double) {
  return 1e-12;
}
inline double tolerance_of(float) {
  return 1e-4;
}
template <class Real>
double tolerance_of(const Kokkos::complex<Real>&) {
  return tolerance_of(Real());
}

}  // namespace lutra::Test

#endif
