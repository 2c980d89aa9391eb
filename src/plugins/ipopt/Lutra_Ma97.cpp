// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_Ma97.h"

#include <cstddef>
#include <cstdio>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "Lutra_HslFactors.hpp"
#include "Lutra_HslFlags.hpp"
#include "Lutra_HslHandles.hpp"

// The functions that Ipopt calls. No exception leaves them.

// The layout that callers are compiled with, where long has 64 bits.
static_assert(sizeof(long) != 8 || sizeof(ma97_control_d) == 216);
static_assert(sizeof(long) != 8 || offsetof(ma97_control_d, rspare) == 136);
static_assert(sizeof(long) != 8 || sizeof(ma97_info_d) == 176);
static_assert(sizeof(long) != 8 || offsetof(ma97_info_d, num_neg) == 56);

namespace lutra::Hsl {
namespace {

// Never destroyed: hosts free their factors at the very end of a process, too.
Handles<const Structure>& structures() {
  static auto& handles = *new Handles<const Structure>();
  return handles;
}

Handles<Factors>& factors() {
  static auto& handles = *new Handles<Factors>();
  return handles;
}

/// Prints a line where a Fortran unit points to, unless it is negative.
void print(int unit, const char* text) noexcept {
  if (unit >= 0) std::fprintf(unit == 6 ? stdout : stderr, "lutra_hsl: %s\n", text);
}

/// Runs a call and writes its flag. Prints the message of a failure if `control` asks for it.
template <class Call>
void guarded(const ma97_control_d& control, ma97_info_d& info, const Call& call) noexcept {
  const auto fail = [&](Flag flag, const char* message) {
    info.flag = static_cast<int>(flag);
    if (flag == Flag::out_of_memory) info.stat = 1;
    if (control.print_level >= 0) print(control.unit_error, message);
  };
  info = {};
  try {
    info.flag = static_cast<int>(call());
  } catch (const Failure& failure) {
    fail(failure.flag, failure.what());
  } catch (const std::bad_alloc&) {
    fail(Flag::out_of_memory, "out of memory");
  } catch (const std::exception& error) {
    fail(Flag::other, error.what());
  } catch (...) {
    fail(Flag::other, "an exception that is not one of C++'s");
  }
}

/// Flag for what was found in a pattern.
Flag flag_of(const Pattern& pattern, bool check) {
  const int merged = (pattern.out_of_range > 0 ? 1 : 0) + (pattern.duplicates > 0 ? 2 : 0);
  if (!check || pattern.missing_diagonal == 0) return static_cast<Flag>(merged);
  return merged == 0 ? Flag::missing_diagonal : Flag::missing_diagonal_and_more;
}

/// The caller's elimination order as rows: order[i] is the position of row i, and the sign does not count.
std::vector<std::int64_t> rows_in_order(int n, const int* order, int first) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(n), -1);
  for (int i = 0; i < n; ++i) {
    const std::int64_t given = order == nullptr ? i + first : order[i];
    const std::int64_t position = (given < 0 ? -given : given) - first;
    if (position < 0 || position >= n || rows[static_cast<std::size_t>(position)] >= 0)
      throw Failure(Flag::bad_order, "order: it is no permutation, by row " + std::to_string(i + first));
    rows[static_cast<std::size_t>(position)] = i;
  }
  return rows;
}

/// The options of the environment. A message about them is printed in any case, since the user set them by
/// hand.
Options options_of_environment(const ma97_control_d& control) {
  try {
    return environment_options();
  } catch (const Failure& failure) {
    const std::string message = std::string("LUTRA_HSL_OPTIONS: ") + failure.what();
    if (control.print_level < 0 || control.unit_error < 0) print(0, message.c_str());
    throw Failure(failure.flag, message);
  }
}

Flag analyse(bool check, int n, const int* ptr, const int* row, void** akeep, const ma97_control_d& control,
             ma97_info_d& info, const int* order) {
  if (akeep == nullptr) throw Failure(Flag::missing_array, "akeep: it is null");
  if (lutra_version() == nullptr) throw Failure(Flag::other, lutra_message());  // no liblutra_c
  const int first = control.f_arrays != 0 ? 1 : 0;
  auto structure = std::make_shared<Structure>(
      Structure{Pattern(n, ptr, row, first), control.ordering, {}, options_of_environment(control)});
  if (control.ordering == 0)
    structure->order = rows_in_order(n, order, first);
  else if (order != nullptr)
    throw Failure(Flag::bad_order, "order: Lutra writes none; pass null, or ordering 0");
  const Pattern& pattern = structure->pattern;
  info.matrix_dup = pattern.duplicates;
  info.matrix_outrange = pattern.out_of_range;
  info.matrix_missing_diag = pattern.missing_diagonal;
  info.matrix_rank = n;
  info.ordering = control.ordering;
  const Flag flag = flag_of(pattern, check);
  structures().store(*akeep, std::move(structure));
  return flag;
}

/// Objects behind the handles of a call.
struct Kept {
  std::shared_ptr<const Structure> structure;
  std::shared_ptr<Factors> factors;
};

Kept kept(void** akeep, void** fkeep) {
  if (akeep == nullptr || fkeep == nullptr) throw Failure(Flag::missing_array, "akeep or fkeep: it is null");
  Kept result{structures().find(*akeep), factors().find(*fkeep)};
  if (!result.structure) throw Failure(Flag::call_order, "there is no analysis: call ma97_analyse first");
  return result;
}

Flag flag_of(lutra_status status, bool goes_on) {
  switch (status) {
    case LUTRA_STRUCTURALLY_SINGULAR:
    case LUTRA_NUMERICALLY_SINGULAR:
      return goes_on ? Flag::singular : Flag::is_singular;
    case LUTRA_NOT_POSITIVE_DEFINITE:
      return Flag::not_definite;
    case LUTRA_BREAKDOWN:
      return Flag::not_finite;
    default:
      return Flag::success;
  }
}

Flag factor(int matrix_type, const double* val, void** akeep, void** fkeep, const ma97_control_d& control,
            ma97_info_d& info, double* scale) {
  Kept keep = kept(akeep, fkeep);
  const Pattern& pattern = keep.structure->pattern;
  if (matrix_type != 3 && matrix_type != 4)
    throw Failure(Flag::bad_matrix_type,
                  "matrix_type: it is " + std::to_string(matrix_type) + ", neither 3 nor 4");
  if (val == nullptr && !pattern.columns.empty()) throw Failure(Flag::missing_array, "val: it is null");
  if (!keep.factors) {
    keep.factors = std::make_shared<Factors>();
    factors().store(*fkeep, keep.factors);
  }
  info.ordering = keep.structure->ordering;
  info.matrix_rank = pattern.n;
  const Request request{matrix_type == 3, control.action != 0, control.scaling > 0, control.small, control.u};
  const lutra_status status = keep.factors->factorize(keep.structure, val, request, scale, info);
  if (control.print_level > 1) print(control.unit_diagnostics, keep.factors->report().c_str());
  const Flag flag = flag_of(status, request.goes_on);
  if (static_cast<int>(flag) < 0 && control.print_level >= 0) print(control.unit_error, lutra_message());
  return flag;
}

/// Sum of lutra_parts for a job of HSL_MA97.
int parts_of(int job) {
  switch (job) {
    case 0:
      return 0;
    case 1:
      return LUTRA_LOWER;
    case 2:
      return LUTRA_DIAGONAL;
    case 3:
      return LUTRA_UPPER;
    case 4:
      return LUTRA_DIAGONAL + LUTRA_UPPER;
    default:
      throw Failure(Flag::bad_job, "job: it is " + std::to_string(job) + ", not one of 0 to 4");
  }
}

Flag solve(int job, int nrhs, double* x, int ldx, void** akeep, void** fkeep, ma97_info_d& info) {
  const Kept keep = kept(akeep, fkeep);
  if (!keep.factors) throw Failure(Flag::call_order, "there are no factors: call ma97_factor first");
  const int n = keep.structure->pattern.n;
  if (nrhs < 1 || ldx < n)
    throw Failure(Flag::bad_size, "nrhs or ldx: " + std::to_string(nrhs) + " columns, " +
                                      std::to_string(ldx) + " apart, do not fit " + std::to_string(n) +
                                      " rows");
  const int parts = parts_of(job);
  if (x == nullptr && n > 0) throw Failure(Flag::missing_array, "x: it is null");
  keep.factors->solve(*keep.structure, parts, nrhs, x, ldx);
  return static_cast<Flag>(info.flag);
}

}  // namespace
}  // namespace lutra::Hsl

using namespace lutra::Hsl;

void ma97_default_control_d(ma97_control_d* control) {
  *control = {};
  control->action = 1;
  control->nemin = 8;
  control->multiplier = 1.1;
  control->ordering = 5;
  control->small = 1e-20;
  control->u = 0.01;
  control->unit_diagnostics = control->unit_error = control->unit_warning = 6;
  control->factor_min = 20000000;
  control->solve_min = 100000;
  control->consist_tol = std::numeric_limits<double>::epsilon();
}

void ma97_analyse_d(int check, int n, const int ptr[], const int row[], double[], void** akeep,
                    const ma97_control_d* control, ma97_info_d* info, int order[]) {
  guarded(*control, *info, [&] { return analyse(check != 0, n, ptr, row, akeep, *control, *info, order); });
}

void ma97_factor_d(int matrix_type, const int[], const int[], const double val[], void** akeep, void** fkeep,
                   const ma97_control_d* control, ma97_info_d* info, double scale[]) {
  guarded(*control, *info, [&] { return factor(matrix_type, val, akeep, fkeep, *control, *info, scale); });
}

void ma97_factor_solve_d(int matrix_type, const int[], const int[], const double val[], int nrhs, double x[],
                         int ldx, void** akeep, void** fkeep, const ma97_control_d* control,
                         ma97_info_d* info, double scale[]) {
  guarded(*control, *info, [&] {
    const Flag flag = factor(matrix_type, val, akeep, fkeep, *control, *info, scale);
    info->flag = static_cast<int>(flag);
    return static_cast<int>(flag) < 0 ? flag : solve(0, nrhs, x, ldx, akeep, fkeep, *info);
  });
}

void ma97_solve_d(int job, int nrhs, double x[], int ldx, void** akeep, void** fkeep,
                  const ma97_control_d* control, ma97_info_d* info) {
  // Callers read the counts of the factorization after a solve, so a solve changes the flag alone.
  const ma97_info_d counts = *info;
  guarded(*control, *info, [&] { return solve(job, nrhs, x, ldx, akeep, fkeep, *info); });
  const int flag = info->flag;
  *info = counts;
  info->flag = flag;
}

void ma97_finalise_d(void** akeep, void** fkeep) {
  ma97_free_akeep_d(akeep);
  if (fkeep != nullptr) factors().remove(*fkeep);
}

void ma97_free_akeep_d(void** akeep) {
  if (akeep != nullptr) structures().remove(*akeep);
}
