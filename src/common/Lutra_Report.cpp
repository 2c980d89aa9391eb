// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_Report.hpp"

#include <algorithm>

#include "Lutra_Formatted.hpp"

namespace lutra {
namespace {

constexpr std::size_t max_names = 8;  // rows or columns listed before "and N more"

std::string named_list(const char* singular, const char* plural, const std::vector<std::int64_t>& indices,
                       int base) {
  std::string text = indices.size() == 1 ? singular : plural;
  for (std::size_t i = 0; i < std::min(indices.size(), max_names); ++i) {
    text += (i == 0 ? " " : ", ") + std::to_string(indices[i] + base);
  }
  if (indices.size() > max_names) text += " and " + std::to_string(indices.size() - max_names) + " more";
  return text;
}

std::string singular_indices(const Report& report, int base) {
  std::string text;
  if (!report.singular_rows.empty()) text += named_list("row", "rows", report.singular_rows, base);
  if (!report.singular_columns.empty()) {
    text += (text.empty() ? "" : "; ") + named_list("column", "columns", report.singular_columns, base);
  }
  if (text.empty()) return text;
  return " (" + text + (base == 0 ? ", counted from 0)" : ")");
}

std::string scientific(const std::optional<double>& value) {
  if (!value) return "unknown";
  return Impl::formatted("%.2e", *value);
}

/// Number of iterations of a Krylov method, as text.
std::string iterations_of(const Report& report) {
  if (!report.iterations) return "";
  const auto& history = report.residual_history;
  return " after " + std::to_string(*report.iterations) + " iterations, relative residual " +
         scientific(history.empty() ? std::nullopt : std::optional(history.back()));
}

}  // namespace

std::string describe(const Report& report, int index_base) {
  switch (report.status) {
    case Status::not_solved:
      return "no solve yet";
    case Status::success:
      if (report.iterations) return "converged" + iterations_of(report);
      return "solved, componentwise backward error " + scientific(report.errors.backward_componentwise);
    case Status::structurally_singular:
      return "the matrix is structurally singular" +
             (report.structural_rank ? ", structural rank " + std::to_string(*report.structural_rank)
                                     : std::string()) +
             singular_indices(report, index_base);
    case Status::numerically_singular:
      return "the matrix is singular to working precision" + singular_indices(report, index_base);
    case Status::not_positive_definite:
      return "the matrix is not positive definite" +
             (report.indefinite_column
                  ? ": the pivot of column " + std::to_string(*report.indefinite_column + index_base) +
                        (index_base == 0 ? ", counted from 0," : "") + " is not positive"
                  : std::string());
    case Status::error_above_tolerance:
      return "the componentwise backward error " + scientific(report.errors.backward_componentwise) +
             " is above the tolerance";
    case Status::breakdown:
      if (report.iterations) return "the Krylov method broke down" + iterations_of(report);
      if (report.pivots.shift) return "no diagonal shift gave incomplete factors that can be applied";
      if (report.choice.pivot == "none")
        return "a pivot on the diagonal is zero, or the factors hold NaN or infinity; without pivoting "
               "there is nothing else to take";
      return "the factors or the solution hold NaN or infinity: overflow in the elimination";
    case Status::not_converged:
      return "not converged" + iterations_of(report);
    case Status::out_of_memory:
      return "out of memory";
    case Status::unchecked:
      return "the solution has not been checked";
    case Status::cancelled:
      return "stopped before the end: the deadline has passed, or a stop was asked for";
  }
  return "unknown status";
}

}  // namespace lutra
