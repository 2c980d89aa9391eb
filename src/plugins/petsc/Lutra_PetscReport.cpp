// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_PetscFactor.hpp"

// What PETSc's users can ask of a factored matrix: MatView, MatGetInfo, MatGetInertia. Only these read the
// report, which the library converts to JSON first.

namespace lutra::Petsc {
namespace {

/// A word of the report; "-" if it has none.
const char* text(lutra_solver* solver, const char* key) {
  const char* found = nullptr;
  return lutra_get_text(solver, key, &found) == LUTRA_SUCCESS ? found : "-";
}

std::int64_t count(lutra_solver* solver, const char* key) {
  std::int64_t found = 0;
  return lutra_get_integer(solver, key, &found) == LUTRA_SUCCESS ? found : 0;
}

/// A number of the report; -1 if it has none, which is positive otherwise.
double number(lutra_solver* solver, const char* key) {
  double found = -1;
  return lutra_get_number(solver, key, &found) == LUTRA_SUCCESS ? found : -1;
}

PetscErrorCode view_analysis(const Factor& factor, PetscViewer viewer) {
  PetscFunctionBegin;
  lutra_solver* s = factor.solver;
  PetscCall(PetscViewerASCIIPrintf(
      viewer, "method %s, engine %s, ordering %s, matching %s, backend %s, %lld threads\n",
      text(s, "choice.method"), text(s, "choice.engine"), text(s, "choice.ordering"),
      text(s, "choice.matching"), text(s, "backend"), static_cast<long long>(count(s, "threads"))));
  PetscCall(PetscViewerASCIIPrintf(
      viewer,
      "entries of L and U: %lld, fill ratio %.3g, %.3g flops, factorizations with this analysis: "
      "%" PetscInt_FMT "\n",
      static_cast<long long>(count(s, "factors.nnz_l") + count(s, "factors.nnz_u")),
      number(s, "factors.fill_ratio"), number(s, "factors.flops"), factor.factorizations));
  PetscFunctionReturn(ok);
}

PetscErrorCode view_outcome(const Factor& factor, PetscViewer viewer) {
  PetscFunctionBegin;
  lutra_solver* s = factor.solver;
  PetscCall(PetscViewerASCIIPrintf(viewer,
                                   "pivots: %lld perturbed, %lld delayed, %lld of order two, %lld zero\n",
                                   static_cast<long long>(count(s, "pivots.perturbed")),
                                   static_cast<long long>(count(s, "pivots.delayed")),
                                   static_cast<long long>(count(s, "pivots.two_by_two")),
                                   static_cast<long long>(count(s, "pivots.zero"))));
  const double error = number(s, "errors.backward_componentwise");
  if (error >= 0)
    PetscCall(PetscViewerASCIIPrintf(
        viewer, "last solution: componentwise backward error %.1e, steps of refinement: %lld\n", error,
        static_cast<long long>(count(s, "refinement_steps"))));
  const lutra_status status = lutra_report_status(s);
  PetscCall(PetscViewerASCIIPrintf(viewer, "status: %s%s%s\n", lutra_status_name(status),
                                   status == LUTRA_SUCCESS ? "" : ": ",
                                   status == LUTRA_SUCCESS ? "" : lutra_message()));
  PetscFunctionReturn(ok);
}

}  // namespace

PetscErrorCode view(Mat F, PetscViewer viewer) {
  PetscFunctionBegin;
  const Factor& factor = *factor_of(F);
  PetscBool is_ascii = PETSC_FALSE;
  PetscViewerFormat format = PETSC_VIEWER_DEFAULT;
  PetscCall(PetscObjectTypeCompare(reinterpret_cast<PetscObject>(viewer), PETSCVIEWERASCII, &is_ascii));
  PetscCall(PetscViewerGetFormat(viewer, &format));
  if (!is_ascii || factor.solver == nullptr) PetscFunctionReturn(ok);
  if (format == PETSC_VIEWER_ASCII_INFO) {
    PetscCall(view_analysis(factor, viewer));
    PetscCall(view_outcome(factor, viewer));
  } else if (format == PETSC_VIEWER_ASCII_INFO_DETAIL) {
    const char* json = nullptr;
    if (lutra_report_json(factor.solver, &json) == LUTRA_SUCCESS)
      PetscCall(PetscViewerASCIIPrintf(viewer, "%s\n", json));
  }
  PetscFunctionReturn(ok);
}

PetscErrorCode info(Mat F, MatInfoType, MatInfo* info) {
  PetscFunctionBegin;
  PetscCall(PetscMemzero(info, sizeof *info));
  info->block_size = 1;
  if (lutra_solver* s = factor_of(F)->solver; s != nullptr) {
    info->nz_used = info->nz_allocated =
        static_cast<PetscLogDouble>(count(s, "factors.nnz_l") + count(s, "factors.nnz_u"));
    info->memory = static_cast<PetscLogDouble>(count(s, "memory.host_peak_bytes"));
    const double fill = number(s, "factors.fill_ratio");
    info->fill_ratio_given = info->fill_ratio_needed = fill < 0 ? 0 : fill;
  }
  PetscFunctionReturn(ok);
}

PetscErrorCode inertia(Mat F, PetscInt* negative, PetscInt* zero, PetscInt* positive) {
  PetscFunctionBegin;
  lutra_solver* s = factor_of(F)->solver;
  const struct {
    const char* key;
    PetscInt* value;
  } numbers[] = {{"inertia.negative", negative}, {"inertia.zero", zero}, {"inertia.positive", positive}};
  for (const auto& [key, value] : numbers) {
    std::int64_t found = 0;
    PetscCheck(F->rmap->n == 0 || lutra_get_integer(s, key, &found) == LUTRA_SUCCESS, PETSC_COMM_SELF,
               PETSC_ERR_ARG_WRONGSTATE, "Lutra: the inertia is not known: %s", lutra_message());
    if (value != nullptr) *value = static_cast<PetscInt>(found);
  }
  PetscFunctionReturn(ok);
}

}  // namespace lutra::Petsc
