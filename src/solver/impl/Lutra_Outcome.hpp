// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_OUTCOME_HPP
#define LUTRA_OUTCOME_HPP

#include <cstddef>
#include <new>

#include "Lutra_CheckEnumerator.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_MemoryBudget.hpp"
#include "Lutra_RankTwo.hpp"
#include "Lutra_Report.hpp"
#include "Lutra_Transposition.hpp"

// How calls of solvers begin and end.

namespace lutra::Impl {

/// What analyze and factorize return: success where the next call can be made, though the report, which is
/// about the solution, still says not_solved.
constexpr Status outcome_of(Status reported) {
  return reported == Status::not_solved ? Status::success : reported;
}

/// Runs a factorization or a solve. Where memory or time end, report(status) has the report say so, before
/// the exception goes on.
template <class Call, class ReportStatus>
auto report_failure(const Call& call, const ReportStatus& report) {
  try {
    return call();
  } catch (const TimeoutError&) {
    report(Status::not_solved);
    throw;
  } catch (const std::bad_alloc&) {
    report(Status::out_of_memory);
    throw;
  }
}

/// @throws CallOrderError without a factorization; InputError for an unknown op, or extents that do not fit
template <class BView, class XView>
void check_solve(bool is_factorized, Transposition op, std::size_t n, const BView& B, const XView& X) {
  if (!is_factorized)
    throw CallOrderError("solve: there is no factorization; call analyze and factorize first");
  check_enumerator("op", op, Transposition::adjoint);
  check_extents(n, B, X);
}

inline void report_memory(const MemoryBudget& budget, Report& report) {
  report.memory.device_peak_bytes = budget.peak_bytes();
  if (budget.limit_bytes() > 0) report.memory.limit_bytes = budget.limit_bytes();
}

}  // namespace lutra::Impl

#endif
