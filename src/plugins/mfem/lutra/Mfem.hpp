// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_MFEM_HPP
#define LUTRA_MFEM_HPP

/// Lutra as a direct solver of MFEM: Lutra::MfemSolver, an mfem::Solver for an mfem::SparseMatrix.
/// docs/plugins.md has an example.
///
/// The header uses the C interface alone (link Lutra::c), so that a program compiles no header of Kokkos.

#include <algorithm>
#include <cstddef>
#include <limits>
#include <mfem.hpp>
#include <numeric>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "lutra.h"
#include "lutra/WrittenSolution.hpp"

namespace Lutra {

/// Direct solver for sparse matrices.
///
/// SetOperator analyses and factorizes; with the pattern of the previous matrix it only factorizes. After
/// Mult, status() is LUTRA_SUCCESS only if the backward error of x was computed and is within the tolerance.
/// Any other outcome is reported by mfem_error, which ends the program or throws, as MFEM was told to
/// (mfem::set_error_action); after ReportOnly() it is left to status() and message(), and x is NaN if nothing
/// could be computed.
class MfemSolver : public mfem::Solver {
  using Real = typename std::decay<decltype(std::declval<mfem::Vector&>()[0])>::type;
  static_assert(std::is_same<Real, float>::value || std::is_same<Real, double>::value,
                "Lutra solves in float and double");

 public:
  /// @param method LUTRA_LU; for symmetric matrices LUTRA_LDLT or LUTRA_CHOLESKY; or LUTRA_AUTO
  explicit MfemSolver(lutra_method method = LUTRA_LU) {
    const int scalar = sizeof(Real) == 4 ? LUTRA_F32 : LUTRA_F64;
    keep(lutra_create(&m_solver, method, scalar, LUTRA_INT32, nullptr));
    m_is_unusable = m_status != LUTRA_SUCCESS;
    report("MfemSolver");
  }
  explicit MfemSolver(const mfem::SparseMatrix& A, lutra_method method = LUTRA_LU) : MfemSolver(method) {
    SetOperator(A);
  }
  MfemSolver(const MfemSolver&) = delete;
  MfemSolver& operator=(const MfemSolver&) = delete;
  ~MfemSolver() override { lutra_destroy(m_solver); }

  /// Sets an option by name, as lutra_set_option; effective with the next SetOperator, which analyses anew.
  void SetOption(const std::string& name, const std::string& value) {
    if (m_is_unusable) return report("SetOption");
    m_is_analyzed = m_has_factors = false;
    keep(lutra_set_option(m_solver, name.c_str(), value.c_str()));
    report("SetOption");
  }

  /// Leaves failures to status() and message().
  void ReportOnly() { m_reports_only = true; }

  /// @param op a finalized, square mfem::SparseMatrix. Its entries are copied.
  void SetOperator(const mfem::Operator& op) override {
    m_has_factors = false;
    const auto* A = dynamic_cast<const mfem::SparseMatrix*>(&op);
    if (m_is_unusable) {
    } else if (A == nullptr || !A->Finalized()) {
      fail(LUTRA_INPUT_ERROR, "the operator is not a finalized mfem::SparseMatrix");
    } else {
      height = A->Height();
      width = A->Width();
      factorize(*A);
    }
    report("SetOperator");
  }

  /// x = A⁻¹ b. x may be b.
  void Mult(const mfem::Vector& b, mfem::Vector& x) const override { solve(LUTRA_NONE, b, x, "Mult"); }
  /// x = A⁻ᵀ b. x may be b.
  void MultTranspose(const mfem::Vector& b, mfem::Vector& x) const override {
    solve(LUTRA_TRANSPOSED, b, x, "MultTranspose");
  }

  /// Status of the last SetOption, SetOperator, Mult or MultTranspose, and the reason for it, in a sentence.
  lutra_status status() const { return m_status; }
  const std::string& message() const { return m_message; }
  /// The solver of the C interface, for its report. Null if it could not be made.
  lutra_solver* handle() const { return m_solver; }

 private:
  void factorize(const mfem::SparseMatrix& A) {
    const int *I = A.HostReadI(), *J = A.HostReadJ();
    const auto n = static_cast<std::size_t>(height);
    if (!m_is_analyzed || m_I.size() != n + 1 || !std::equal(m_I.begin(), m_I.end(), I) ||
        !std::equal(m_J.begin(), m_J.end(), J)) {
      m_is_analyzed = false;
      m_I.assign(I, I + n + 1);
      m_J.assign(J, J + I[n]);
      sort();
      const lutra_matrix matrix = sorted(A.HostReadData());
      keep(lutra_analyze(m_solver, &matrix));
      if (m_status != LUTRA_SUCCESS) return;
      m_is_analyzed = true;
    }
    const lutra_matrix matrix = sorted(A.HostReadData());
    keep(lutra_factorize(m_solver, &matrix));
    m_has_factors = m_status >= 0;
  }

  /// Sorts columns if those of a row do not ascend, which MFEM does not ask for.
  void sort() {
    m_sorted.clear();
    m_source.resize(m_J.size());
    std::iota(m_source.begin(), m_source.end(), std::size_t(0));
    bool ascend = true;
    for (std::size_t i = 0; i + 1 < m_I.size(); ++i) {
      const auto begin = m_source.begin() + m_I[i], end = m_source.begin() + m_I[i + 1];
      const auto before = [this](std::size_t a, std::size_t b) { return m_J[a] < m_J[b]; };
      if (std::is_sorted(begin, end, before)) continue;
      ascend = false;
      std::sort(begin, end, before);
    }
    if (ascend) return m_source.clear();
    for (const std::size_t p : m_source) m_sorted.push_back(m_J[p]);
  }

  /// The matrix as Lutra reads it, with these values, which are copied if columns were sorted.
  lutra_matrix sorted(const Real* values) {
    if (!m_sorted.empty()) {
      m_values.resize(m_source.size());
      for (std::size_t p = 0; p < m_source.size(); ++p) m_values[p] = values[m_source[p]];
      values = m_values.data();
    }
    return {height, width,      m_I.back(), m_I.data(), (m_sorted.empty() ? m_J : m_sorted).data(),
            values, LUTRA_INT32};
  }

  void solve(int op, const mfem::Vector& b, mfem::Vector& x, const char* function) const {
    if (m_has_factors && (b.Size() != height || x.Size() != width)) {
      fail(LUTRA_INPUT_ERROR, "b or x has not as many elements as A has rows");
    } else if (m_has_factors) {
      keep(lutra_solve(m_solver, op, 1, b.HostRead(), height, x.HostReadWrite(), width));
    } else if (m_status == LUTRA_SUCCESS) {
      fail(LUTRA_CALL_ORDER_ERROR, "there are no factors; call SetOperator first");
    }
    if (!m_has_factors || !internal::has_written_solution(m_solver, m_status))
      x = std::numeric_limits<Real>::quiet_NaN();
    report(function);
  }

  void fail(lutra_status status, const char* message) const {
    m_status = status;
    m_message = message;
  }

  void keep(lutra_status status) const { fail(status, status == LUTRA_SUCCESS ? "" : lutra_message()); }

  /// Reports the last status by MFEM's own means.
  void report(const char* function) const {
    if (m_status == LUTRA_SUCCESS || m_status == LUTRA_UNCHECKED || m_reports_only) return;
    mfem::mfem_error(("Lutra::MfemSolver::" + std::string(function) + ": " + m_message).c_str());
  }

  lutra_solver* m_solver = nullptr;
  mutable lutra_status m_status = LUTRA_SUCCESS;
  mutable std::string m_message;
  bool m_is_unusable = false;  ///< no solver could be made
  bool m_reports_only = false;
  bool m_is_analyzed = false;
  bool m_has_factors = false;         ///< of the operator last set
  std::vector<int> m_I, m_J;          ///< pattern that was analysed, as in MFEM's matrix
  std::vector<int> m_sorted;          ///< its columns, ascending in each row; empty if those of m_J ascend
  std::vector<std::size_t> m_source;  ///< position in MFEM's matrix of each entry of m_sorted
  std::vector<Real> m_values;         ///< values in the order of m_sorted
};

}  // namespace Lutra

#endif
