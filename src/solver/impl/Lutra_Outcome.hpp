// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_OUTCOME_HPP
#define LUTRA_OUTCOME_HPP

#include <cstddef>
#include <new>

#include "Lutra_CheckEnumerator.hpp"
#include "Lutra_CsrView.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_MemoryBudget.hpp"
#include "Lutra_RankTwo.hpp"
#include "Lutra_Report.hpp"

// Common prologue and epilogue of the solvers' calls.

namespace lutra::Impl {

/// Returns the status that analyze and factorize return: success if the next call is allowed, although the
/// report, which describes the solution, still says not_solved.
constexpr Status outcome_of(Status reported) {
  return reported == Status::not_solved ? Status::success : reported;
}

/// Runs a factorization or a solve. If memory or time runs out, or the call is stopped, calls report(status)
/// before rethrowing the exception.
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
  } catch (const CancelledError&) {
    report(Status::cancelled);
    throw;
  }
}

/// @throws CallOrderError if there is no factorization; InputError if op is unknown or the extents do not
///         match
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
