// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstring>
#include <string_view>

#include "Lutra_PetscFactor.hpp"

// Options of the options database: backend and threads of the library, and all of lutra::SolverOptions.

namespace lutra::Petsc {
namespace {

constexpr const char* key_start = "mat_lutra_";
constexpr std::size_t text_length = 256;

/// Whether an option belongs to the library, not to the solver.
bool is_library_option(std::string_view name) {
  return name == "backend" || name == "threads";
}

/// Sets one option, if the database has it for the prefix of F.
PetscErrorCode set_option(Mat F, lutra_solver* solver, const char* name) {
  PetscFunctionBegin;
  const auto object = reinterpret_cast<PetscObject>(F);
  char key[text_length], value[text_length];
  PetscBool is_set = PETSC_FALSE;
  PetscCall(PetscSNPrintf(key, sizeof key, "-%s%s", key_start, name));
  PetscCall(PetscOptionsGetString(object->options, object->prefix, key, value, sizeof value, &is_set));
  if (!is_set) PetscFunctionReturn(ok);
  const char* text = value[0] == '\0' ? "true" : value;  // a flag without a value
  PetscCheck(lutra_set_option(solver, name, text) == LUTRA_SUCCESS, PetscObjectComm(object),
             PETSC_ERR_USER_INPUT, "-%s%s%s: %s", object->prefix ? object->prefix : "", key_start, name,
             lutra_message());
  PetscFunctionReturn(ok);
}

/// Scalars and indices of this PETSc, for Lutra.
constexpr int scalar_type = PetscDefined(USE_COMPLEX) ? LUTRA_C128 : LUTRA_F64;
constexpr int index_type = sizeof(PetscInt) == 8 ? LUTRA_INT64 : LUTRA_INT32;
static_assert(sizeof(PetscReal) == sizeof(double), "Lutra needs a PETSc of double precision");

PetscErrorCode set(lutra_solver* solver, const char* name, const char* value) {
  PetscFunctionBegin;
  PetscCheck(lutra_set_option(solver, name, value) == LUTRA_SUCCESS, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "Lutra: option %s: %s", name, lutra_message());
  PetscFunctionReturn(ok);
}

/// Defaults that follow from the type of the factors and from what the user has told PETSc about A.
PetscErrorCode set_defaults(MatFactorType type, Mat A, lutra_solver* solver) {
  PetscFunctionBegin;
  if (type == MAT_FACTOR_LU) PetscFunctionReturn(ok);
  PetscBool known = PETSC_FALSE, positive_definite = PETSC_FALSE, hermitian = PETSC_FALSE;
  PetscCall(MatIsSPDKnown(A, &known, &positive_definite));
  positive_definite = known && positive_definite ? PETSC_TRUE : PETSC_FALSE;
  PetscCall(set(solver, "method", positive_definite ? "cholesky" : "ldlt"));
  PetscCall(set(solver, "ldlt.triangle", "upper"));
  if (PetscDefined(USE_COMPLEX)) {
    PetscCall(MatIsHermitianKnown(A, &known, &hermitian));
    if (positive_definite || (known && hermitian)) PetscCall(set(solver, "ldlt.symmetry", "hermitian"));
  }
  PetscFunctionReturn(ok);
}

/// Sets the options that a text, `-key value -key value …`, names. Changes the text.
PetscErrorCode set_named_options(Mat F, lutra_solver* solver, char* text) {
  PetscFunctionBegin;
  for (char* word = text; *word != '\0';) {
    char* const end = std::strchr(word, ' ');
    if (end != nullptr) *end = '\0';
    const char* const start = word[0] == '-' ? std::strstr(word, key_start) : nullptr;
    if (start != nullptr) {
      const char* const name = start + std::strlen(key_start);
      if (!is_library_option(name)) PetscCall(set_option(F, solver, name));
    }
    if (end == nullptr) break;
    word = end + 1;
  }
  PetscFunctionReturn(ok);
}

/// Sets all options -<prefix>mat_lutra_<option> of the options database.
PetscErrorCode read_options(Mat F, lutra_solver* solver) {
  PetscFunctionBegin;
  char* all = nullptr;
  PetscCall(PetscOptionsGetAll(reinterpret_cast<PetscObject>(F)->options, &all));
  const PetscErrorCode error = set_named_options(F, solver, all);
  PetscCall(PetscFree(all));
  PetscFunctionReturn(error);
}

}  // namespace

PetscErrorCode create_solver(Mat F, Mat A, lutra_solver** solver) {
  PetscFunctionBegin;
  const auto object = reinterpret_cast<PetscObject>(F);
  char backend[text_length] = "auto";
  PetscInt threads = 0;
  PetscOptionsBegin(PetscObjectComm(object), object->prefix,
                    "Lutra, with its options as -mat_lutra_<option> <value>", "Mat");
  PetscCall(PetscOptionsString("-mat_lutra_backend", "serial, openmp, cuda, hip or auto", "MATSOLVERLUTRA",
                               backend, backend, sizeof backend, nullptr));
  PetscCall(PetscOptionsInt("-mat_lutra_threads", "host threads, from the first factorization on; 0: all",
                            "MATSOLVERLUTRA", threads, &threads, nullptr));
  PetscOptionsEnd();
  PetscCheck(threads >= 0 && threads <= 4096, PetscObjectComm(object), PETSC_ERR_USER_INPUT,
             "-mat_lutra_threads: %" PetscInt_FMT " is not between 0 and 4096", threads);
  if (threads > 0)
    PetscCheck(lutra_initialize(static_cast<int>(threads), -1) == LUTRA_SUCCESS, PetscObjectComm(object),
               PETSC_ERR_LIB, "Lutra: %s", lutra_message());
  const lutra_status status = factor_of(F)->over_ranks
                                  ? create_on_ranks(F, scalar_type, index_type, backend, solver)
                                  : lutra_create(solver, LUTRA_AUTO, scalar_type, index_type, backend);
  PetscCheck(status == LUTRA_SUCCESS, PetscObjectComm(object), PETSC_ERR_SUP, "Lutra: %s", lutra_message());
  PetscCall(set_defaults(F->factortype, A, *solver));
  PetscCall(read_options(F, *solver));
  PetscFunctionReturn(ok);
}

}  // namespace lutra::Petsc
