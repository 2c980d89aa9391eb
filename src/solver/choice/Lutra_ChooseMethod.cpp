// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_ChooseMethod.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "Lutra_ColumnCounts.hpp"
#include "Lutra_Formatted.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_MatrixProperties.hpp"
#include "Lutra_OrderGraph.hpp"
#include "Lutra_ScalarTraits.hpp"

namespace lutra {
namespace {

/// Returns whether a_ji = a_ij, or a_ji = conj(a_ij), for all entries.
template <class Scalar>
bool is_symmetric(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& A, Symmetry symmetry) {
  const auto* const columns = A.entries.data();
  for (Ordinal i = 0; i < A.n_rows; ++i) {
    for (Offset p = A.row_map(i); p < A.row_map(i + 1); ++p) {
      const Ordinal j = A.entries(p);
      const auto* const end = columns + A.row_map(j + 1);
      const auto* const found = std::lower_bound(columns + A.row_map(j), end, i);
      if (found == end || *found != i) return false;
      const Scalar mirrored = A.values(static_cast<Offset>(found - columns));
      const Scalar value = A.values(p);
      if (mirrored != (symmetry == Symmetry::hermitian ? ScalarTraits<Scalar>::conjugate(value) : value))
        return false;
    }
  }
  return true;
}

/// Returns whether a Hermitian matrix has a positive and weakly dominant diagonal, and whether a graph search
/// from the strictly dominant rows reaches all other rows.
template <class Scalar>
bool is_dominant(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& A) {
  constexpr double epsilon = static_cast<double>(epsilon_of<Scalar>);
  std::vector<Ordinal> reached;
  std::vector<char> seen(static_cast<std::size_t>(A.n_rows), 0);
  const auto reach = [&](Ordinal i) {
    if (!std::exchange(seen[static_cast<std::size_t>(i)], 1)) reached.push_back(i);
  };
  for (Ordinal i = 0; i < A.n_rows; ++i) {
    double diagonal = 0, others = 0;
    // Bounds the rounding errors of the entries and their sum; a row that is dominant by less may be so by
    // chance.
    const double rounding = static_cast<double>(A.row_map(i + 1) - A.row_map(i)) * epsilon;
    for (Offset p = A.row_map(i); p < A.row_map(i + 1); ++p) {
      if (A.entries(p) == i) {
        const auto magnitude = ScalarTraits<Scalar>::magnitude(A.values(p));
        if (A.values(p) == Scalar(magnitude)) diagonal = static_cast<double>(magnitude);
      } else {
        others += static_cast<double>(ScalarTraits<Scalar>::magnitude(A.values(p)));
      }
    }
    if (!(diagonal > 0 && diagonal >= others)) return false;
    if (diagonal > others * (1 + rounding)) reach(i);
  }
  for (std::size_t k = 0; k < reached.size(); ++k) {
    const Ordinal i = reached[k];
    for (Offset p = A.row_map(i); p < A.row_map(i + 1); ++p)
      if (A.values(p) != Scalar(0)) reach(A.entries(p));
  }
  return reached.size() == seen.size();
}

/// Returns the flops per entry with the AMD order, or 0 for a matrix without rows.
double flops_per_entry(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& A) {
  if (A.n_rows == 0) return 0;
  const auto forecast_with = [&A]<class Index>(Index) {
    const auto graph = symmetric_graph<Index>(A);
    return forecast_fill(graph, order(graph, Ordering::amd));
  };
  const FillForecast forecast = graph_fits_int(A) ? forecast_with(int()) : forecast_with(std::int64_t());
  return forecast.flops / static_cast<double>(2 * forecast.nnz_l + A.n_rows);
}

}  // namespace

template <class Scalar>
MethodProperties method_properties(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& A,
                                   bool with_flops) {
  MethodProperties result;
  if (A.n_rows != A.n_cols) return result;
  result.symmetric = is_symmetric(A, Symmetry::symmetric);
  result.hermitian =
      ScalarTraits<Scalar>::is_complex ? is_symmetric(A, Symmetry::hermitian) : result.symmetric;
  if (!result.symmetric && !result.hermitian) return result;
  const MatrixProperties known = matrix_properties(A);
  result.diagonally_dominant = result.hermitian && is_dominant(A);
  result.structurally_singular = known.structural_rank.value_or(known.rows) < known.rows;
  result.zero_diagonals = known.zero_diagonals;
  if (with_flops) result.flops_per_entry = flops_per_entry(A.pattern());
  return result;
}

MethodChoice choose_method(const MethodProperties& properties, const DeviceModel& model) {
  const SymmetricCosts& costs = model.symmetric;
  MethodChoice choice;
  const char* const kind = properties.hermitian && !properties.symmetric ? "Hermitian" : "symmetric";
  const auto because = [&](DirectMethod method, const std::string& reason) {
    choice.method = method;
    choice.reason = reason;
    return choice;
  };
  if (!properties.symmetric && !properties.hermitian)
    return because(DirectMethod::lu, "lu: the matrix is not symmetric");
  if (properties.structurally_singular)
    return because(DirectMethod::lu, "lu: it names the rows and columns of a structurally singular matrix");
  if (properties.lu_asked) return because(DirectMethod::lu, "lu: it has options or limits of its own");
  if (properties.hermitian) choice.symmetry = Symmetry::hermitian;
  const DirectMethod method = properties.diagonally_dominant ? DirectMethod::cholesky : DirectMethod::ldlt;
  const bool exchanges = properties.zero_diagonals > 0;
  const double ratio = method == DirectMethod::cholesky ? costs.cholesky
                       : exchanges                      ? costs.ldlt_zero_diagonals
                                                        : costs.ldlt;
  std::string matrix = std::string("the matrix is ") + kind;
  if (method == DirectMethod::cholesky) matrix += " and diagonally dominant";
  if (exchanges) matrix += " with " + std::to_string(properties.zero_diagonals) + " zeros on the diagonal";
  if (ratio == 0)
    return because(DirectMethod::lu, "lu: " + matrix + ", but the time of LDLᵀ is not known on this device");
  if (properties.flops_per_entry < model.numeric.min_flops_per_entry)
    return because(DirectMethod::lu, "lu: " + matrix + ", but fronts would perform no more than " +
                                         std::to_string(std::lround(properties.flops_per_entry)) +
                                         " flops per stored entry");
  const std::string text = Impl::formatted("%.2g times the time of LU", ratio);
  if (ratio >= 1)
    return because(DirectMethod::lu, "lu: " + matrix + ", but LDLᵀ is predicted to take " + text);
  return because(method, (method == DirectMethod::cholesky ? "cholesky: " : "ldlt: ") + matrix +
                             ", predicted to take " + text);
}

#define LUTRA_METHOD_PROPERTIES(Scalar)                                                                   \
  template MethodProperties method_properties(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>&, \
                                              bool);
LUTRA_FOR_EACH_SCALAR(LUTRA_METHOD_PROPERTIES)

}  // namespace lutra
