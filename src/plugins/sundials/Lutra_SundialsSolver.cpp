// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SUNLinearSolver over the C interface: lutra/sunlinsol_lutra.h.
#include <memory>
#include <new>
#include <stdexcept>
#include <string>

#include "Lutra_SundialsMatrix.hpp"
#include "lutra/sunlinsol_lutra.h"

namespace lutra::Sundials {
namespace {

#if SUNDIALS_VERSION_MAJOR >= 7
constexpr int bad_input = SUN_ERR_ARG_CORRUPT, no_memory = SUN_ERR_MEM_FAIL, other_failure = SUN_ERR_EXT_FAIL;
#else
constexpr int bad_input = SUNLS_ILL_INPUT, no_memory = SUNLS_MEM_FAIL,
              other_failure = SUNLS_PACKAGE_FAIL_UNREC;
#endif

/// The content of an SUNLinearSolver.
class Content {
 public:
  explicit Content(Index rows) : m_rows(rows) {
    const int scalar = sizeof(Real) == 4 ? LUTRA_F32 : LUTRA_F64;
    const int index = sizeof(Index) == 4 ? LUTRA_INT32 : LUTRA_INT64;
    if (lutra_create(&m_solver, LUTRA_LU, scalar, index, nullptr) != LUTRA_SUCCESS)
      throw std::runtime_error(lutra_message());
  }
  Content(const Content&) = delete;
  Content& operator=(const Content&) = delete;
  ~Content() { lutra_destroy(m_solver); }

  int set_option(const char* name, const char* value) {
    m_is_analyzed = false;
    return failed(lutra_set_option(m_solver, name, value)) ? m_flag : succeeded();
  }

  int setup(SUNMatrix A) {
    m_has_factors = false;
    if (const char* why = wrong_matrix(A)) return fail(bad_input, why);
    if (!are_finite(SM_DATA_S(A), SM_INDEXPTRS_S(A)[SM_NP_S(A)]))
      return fail(SUNLS_PACKAGE_FAIL_REC, "setup: A has an entry that is NaN or infinite");
    if (!m_is_analyzed || !m_pattern.has_pattern_of(A)) {
      m_is_analyzed = false;
      m_pattern.assign(A);
      const lutra_matrix matrix = m_pattern.matrix(A);
      if (failed(lutra_analyze(m_solver, &matrix))) return m_flag;
      m_is_analyzed = true;
    }
    const lutra_matrix matrix = m_pattern.matrix(A);
    if (failed(lutra_factorize(m_solver, &matrix))) return m_flag;
    m_has_factors = true;
    return succeeded();
  }

  int solve(N_Vector x, N_Vector b) {
    if (!m_has_factors) return fail(bad_input, "solve: there are no factors; the last setup failed");
    if (wrong_vector(x, m_rows) || wrong_vector(b, m_rows))
      return fail(bad_input,
                  "solve: x or b is not a vector of the length and type that the solver was made for");
    const Real* B = N_VGetArrayPointer(b);
    if (!are_finite(B, m_rows))
      return fail(SUNLS_PACKAGE_FAIL_REC, "solve: b has an element that is NaN or infinite");
    const int op = m_pattern.is_by_columns() ? LUTRA_TRANSPOSED : LUTRA_NONE;
    const lutra_status status = lutra_solve(m_solver, op, 1, B, m_rows, N_VGetArrayPointer(x), m_rows);
    return status != LUTRA_UNCHECKED && failed(status) ? m_flag : succeeded();
  }

  int space(long* reals, long* integers) {
    std::int64_t lower = 0, upper = 0;
    lutra_get_integer(m_solver, "factors.nnz_l", &lower);
    lutra_get_integer(m_solver, "factors.nnz_u", &upper);
    *reals = static_cast<long>(lower + upper) + static_cast<long>(m_pattern.reals());
    *integers = static_cast<long>(m_pattern.indices());
    return succeeded();
  }

  int flag() const { return m_flag; }
  const char* message() const { return m_message.c_str(); }
  lutra_solver* handle() const { return m_solver; }

  int fail(int flag, const char* why) {
    m_flag = flag;
    m_message = why;
    return flag;
  }

  /// Whether the vector has no array of this length on the host.
  static bool wrong_vector(N_Vector v, Index length) {
    if (v == nullptr || v->ops->nvgetarraypointer == nullptr || v->ops->nvgetlength == nullptr) return true;
    const N_Vector_ID id = N_VGetVectorID(v);
    if (id != SUNDIALS_NVEC_SERIAL && id != SUNDIALS_NVEC_OPENMP && id != SUNDIALS_NVEC_PTHREADS) return true;
    return N_VGetLength(v) != length;
  }

 private:
  const char* wrong_matrix(SUNMatrix A) const {
    if (A == nullptr || SUNMatGetID(A) != SUNMATRIX_SPARSE) return "setup: A is not an SUNMatrix_Sparse";
    if (SM_ROWS_S(A) != m_rows || SM_COLUMNS_S(A) != m_rows)
      return "setup: A is not of the size that the solver was made for";
    const Index* offsets = SM_INDEXPTRS_S(A);
    if (offsets[0] != 0 || offsets[m_rows] < 0 || offsets[m_rows] > SM_NNZ_S(A))
      return "setup: the index pointers of A do not begin at 0 or end beyond its entries";
    for (Index i = 0; i < m_rows; ++i)
      if (offsets[i] > offsets[i + 1]) return "setup: the index pointers of A descend";
    return nullptr;
  }

  /// Keeps flag and message of a status, if it is none of success.
  bool failed(lutra_status status) {
    if (status == LUTRA_SUCCESS) return false;
    fail(to_flag(status), lutra_message());
    return true;
  }

  static int to_flag(lutra_status status) {
    if (status == LUTRA_NUMERICALLY_SINGULAR || status == LUTRA_STRUCTURALLY_SINGULAR)
      return SUNLS_LUFACT_FAIL;
    if (status > 0) return SUNLS_PACKAGE_FAIL_REC;
    if (status == LUTRA_INPUT_ERROR) return bad_input;
    return status == LUTRA_OUT_OF_MEMORY ? no_memory : other_failure;
  }

  int succeeded() {
    m_message.clear();
    return m_flag = 0;
  }

  lutra_solver* m_solver = nullptr;
  Index m_rows;
  SortedRows m_pattern;  ///< of the matrix last analysed
  bool m_is_analyzed = false;
  bool m_has_factors = false;  ///< of the matrix last passed to setup
  int m_flag = 0;              ///< last return value
  std::string m_message;       ///< reason for it
};

/// Reason for the last SUNLinSol_Lutra of this thread that returned NULL.
std::string& last_refusal() {
  thread_local std::string text;
  return text;
}

Content& content(SUNLinearSolver S) {
  return *static_cast<Content*>(S->content);
}

/// Runs call(content); an exception becomes a return value.
template <class Call>
int guarded(SUNLinearSolver S, const Call& call) noexcept {
  Content& c = content(S);
  try {
    return call(c);
  } catch (const std::bad_alloc&) {
    return c.fail(no_memory, "");
  } catch (...) {
    return c.fail(other_failure, "");
  }
}

SUNLinearSolver_Type get_type(SUNLinearSolver) {
  return SUNLINEARSOLVER_DIRECT;
}
SUNLinearSolver_ID get_id(SUNLinearSolver) {
  return SUNLINEARSOLVER_CUSTOM;
}
int initialize(SUNLinearSolver) {
  return 0;
}
int setup(SUNLinearSolver S, SUNMatrix A) {
  return guarded(S, [&](Content& c) { return c.setup(A); });
}
int solve(SUNLinearSolver S, SUNMatrix, N_Vector x, N_Vector b, Real) {
  return guarded(S, [&](Content& c) { return c.solve(x, b); });
}
Index last_flag(SUNLinearSolver S) {
  return content(S).flag();
}
int space(SUNLinearSolver S, long* reals, long* integers) {
  return guarded(S, [&](Content& c) { return c.space(reals, integers); });
}
int free_solver(SUNLinearSolver S) {
  if (S == nullptr) return 0;
  delete static_cast<Content*>(S->content);
  S->content = nullptr;
  SUNLinSolFreeEmpty(S);
  return 0;
}

/// Why no solver can be made, or null.
const char* wrong_arguments(N_Vector y, SUNMatrix A) {
  if (A == nullptr || SUNMatGetID(A) != SUNMATRIX_SPARSE) return "A is not an SUNMatrix_Sparse";
  if (SM_ROWS_S(A) != SM_COLUMNS_S(A)) return "A is not square";
  if (Content::wrong_vector(y, SM_ROWS_S(A)))
    return "y is not a serial, OpenMP or Pthreads vector of as many elements as A has rows";
  return nullptr;
}

SUNLinearSolver make(N_Vector y, SUNMatrix A, SUNContext context) {
  if (const char* why = wrong_arguments(y, A)) throw std::runtime_error(why);
  auto c = std::make_unique<Content>(SM_ROWS_S(A));
  SUNLinearSolver S = SUNLinSolNewEmpty(context);
  if (S == nullptr) throw std::bad_alloc();
  S->ops->gettype = get_type;
  S->ops->getid = get_id;
  S->ops->initialize = initialize;
  S->ops->setup = setup;
  S->ops->solve = solve;
  S->ops->lastflag = last_flag;
  S->ops->space = space;
  S->ops->free = free_solver;
  S->content = c.release();
  return S;
}

}  // namespace
}  // namespace lutra::Sundials

using namespace lutra::Sundials;

SUNLinearSolver SUNLinSol_Lutra(N_Vector y, SUNMatrix A, SUNContext sunctx) {
  try {
    return make(y, A, sunctx);
  } catch (const std::exception& error) {
    try {
      last_refusal() = error.what();
    } catch (const std::bad_alloc&) {
      last_refusal().clear();
    }
    return nullptr;
  }
}

int SUNLinSol_LutraSetOption(SUNLinearSolver S, const char* name, const char* value) {
  return guarded(S, [&](Content& c) { return c.set_option(name, value); });
}

const char* SUNLinSol_LutraMessage(SUNLinearSolver S) {
  return S == nullptr ? last_refusal().c_str() : content(S).message();
}

lutra_solver* SUNLinSol_LutraHandle(SUNLinearSolver S) {
  return content(S).handle();
}
