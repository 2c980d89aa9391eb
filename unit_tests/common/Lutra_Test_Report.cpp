// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_test_macros.hpp>

#include "Lutra_Formatted.hpp"
#include "Lutra_Report.hpp"
#include "Lutra_TestLocale.hpp"

namespace lutra::Test {

TEST_CASE("a report has a one-sentence summary", "[common]") {
  Report report;
  CHECK(describe(report) == "no solve yet");
  report.status = Status::success;
  report.errors.backward_componentwise = 2.5e-16;
  CHECK(describe(report) == "solved, componentwise backward error 2.50e-16");
  report.status = Status::error_above_tolerance;
  CHECK(describe(report) == "the componentwise backward error 2.50e-16 is above the tolerance");
  report.status = Status::breakdown;
  CHECK(describe(report) == "the factors or the solution hold NaN or infinity: overflow in the elimination");
  report.choice.pivot = "none";  // of LDLᵀ, which uses the diagonal unchanged
  CHECK(describe(report).starts_with("a pivot on the diagonal is zero"));
  report.status = Status::out_of_memory;
  CHECK(describe(report) == "out of memory");
}

TEST_CASE("singular rows and columns are numbered from 1 in messages", "[common]") {
  Report report;
  report.status = Status::structurally_singular;
  report.structural_rank = 7;
  report.singular_rows = {4};
  report.singular_columns = {0, 2};
  CHECK(describe(report) ==
        "the matrix is structurally singular, structural rank 7 (row 4; columns 0, 2, counted from 0)");
  CHECK(describe(report, 1) ==
        "the matrix is structurally singular, structural rank 7 (row 5; columns 1, 3)");
  report.status = Status::numerically_singular;
  report.singular_rows.clear();
  report.singular_columns = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  CHECK(describe(report, 1) ==
        "the matrix is singular to working precision (columns 1, 2, 3, 4, 5, 6, 7, 8 and 2 more)");
}

TEST_CASE("numbers have decimal points in every locale", "[common]") {
  Report report;
  report.status = Status::success;
  report.errors.backward_componentwise = 2.5e-16;
  const CommaLocale comma;
  if (comma.is_there()) CHECK(std::to_string(1.5) == "1,500000");
  CHECK(describe(report) == "solved, componentwise backward error 2.50e-16");
  CHECK(Impl::formatted("%.3g of %s, %d", 1.25, "2,5", 3) == "1.25 of 2,5, 3");
  if (comma.is_there()) CHECK(std::to_string(1.5) == "1,500000");  // the locale of the program is not changed
}

}  // namespace lutra::Test
