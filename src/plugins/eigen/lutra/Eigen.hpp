// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_EIGEN_HPP
#define LUTRA_EIGEN_HPP

/// Lutra as a sparse solver of Eigen: Lutra::SparseLU and Lutra::SparseLDLT have the calls of Eigen::SparseLU
/// and Eigen::SimplicialLDLT. docs/plugins.md has examples.
///
/// The header uses the C interface alone (link Lutra::c), so that a program compiles no header of Kokkos.
/// C++14.

#include <Eigen/SparseCore>
#include <cmath>
#include <complex>
#include <functional>
#include <limits>
#include <locale>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>

#include "lutra.h"
#include "lutra/WrittenSolution.hpp"

namespace Lutra {
namespace internal {

template <class Scalar>
constexpr int scalar_code() {
  static_assert(std::is_same<Scalar, float>::value || std::is_same<Scalar, double>::value ||
                    std::is_same<Scalar, std::complex<float>>::value ||
                    std::is_same<Scalar, std::complex<double>>::value,
                "Lutra solves in float, double, std::complex<float> and std::complex<double>");
  return std::is_same<Scalar, float>::value                 ? LUTRA_F32
         : std::is_same<Scalar, double>::value              ? LUTRA_F64
         : std::is_same<Scalar, std::complex<float>>::value ? LUTRA_C64
                                                            : LUTRA_C128;
}

template <class Index>
constexpr int index_code() {
  static_assert(std::is_signed<Index>::value && (sizeof(Index) == 4 || sizeof(Index) == 8),
                "Lutra reads a StorageIndex of 32 or 64 bits");
  return sizeof(Index) == 4 ? LUTRA_INT32 : LUTRA_INT64;
}

/// op(A) in op(A) X = B.
enum class Operation { plain, transposed, adjoint };

/// An expression dec.transpose().solve(b) or dec.adjoint().solve(b) of a solver.
template <class Solver, Operation op>
class OperationView : public Eigen::SparseSolverBase<OperationView<Solver, op>> {
  using Base = Eigen::SparseSolverBase<OperationView<Solver, op>>;

 public:
  using MatrixType = typename Solver::MatrixType;
  using Scalar = typename Solver::Scalar;
  using StorageIndex = typename Solver::StorageIndex;
  enum { ColsAtCompileTime = Eigen::Dynamic, MaxColsAtCompileTime = Eigen::Dynamic };

  explicit OperationView(const Solver& solver) : m_solver(&solver) { this->m_isInitialized = true; }
  OperationView(const OperationView& other) : OperationView(*other.m_solver) {}
  OperationView& operator=(const OperationView&) = delete;

  Eigen::Index rows() const { return m_solver->cols(); }
  Eigen::Index cols() const { return m_solver->rows(); }

  using Base::_solve_impl;
  template <class Rhs, class Dest>
  void _solve_impl(const Eigen::MatrixBase<Rhs>& b, Eigen::MatrixBase<Dest>& x) const {
    m_solver->solve_into(op, b, x);
  }

 private:
  const Solver* m_solver;
};

/// What SparseLU and SparseLDLT share: a solver of the C interface with the calls of a solver of Eigen.
///
/// The compressed storage of A is read in place, as rows of A if A is stored by rows, and as rows of Aᵀ if it
/// is stored by columns. Uncompressed matrices are copied.
template <class Derived, class Matrix>
class SolverBase : public Eigen::SparseSolverBase<Derived> {
  using Base = Eigen::SparseSolverBase<Derived>;

 public:
  using MatrixType = Matrix;
  using Scalar = typename Matrix::Scalar;
  using RealScalar = typename Matrix::RealScalar;
  using StorageIndex = typename Matrix::StorageIndex;
  enum { ColsAtCompileTime = Eigen::Dynamic, MaxColsAtCompileTime = Eigen::Dynamic };

  SolverBase(const SolverBase&) = delete;
  SolverBase& operator=(const SolverBase&) = delete;
  ~SolverBase() { lutra_destroy(m_solver); }

  /// Analyses the pattern of A. Scaling and matching read its values, too.
  void analyzePattern(const MatrixType& A) {
    this->m_isInitialized = true;  // solve() reports what follows by info()
    m_has_factors = false;
    m_rows = A.rows();
    m_cols = A.cols();
    if (m_is_unusable) return;
    set_status(
        with_stored(A, [this](const lutra_matrix& stored) { return lutra_analyze(m_solver, &stored); }));
  }

  /// Factorizes a matrix with the analysed pattern and any values.
  void factorize(const MatrixType& A) {
    m_has_factors = false;
    if (m_is_unusable) return;
    set_status(
        with_stored(A, [this](const lutra_matrix& stored) { return lutra_factorize(m_solver, &stored); }));
    m_has_factors = m_status >= 0;
  }

  Derived& compute(const MatrixType& A) {
    analyzePattern(A);
    if (m_status == LUTRA_SUCCESS) factorize(A);
    return this->derived();
  }

  Eigen::Index rows() const { return m_rows; }
  Eigen::Index cols() const { return m_cols; }

  /// Outcome of the last analyzePattern, factorize or evaluated solve. After a solve, Success means that the
  /// componentwise backward error of X was computed and is within the tolerance (or that the option `check`
  /// asks for no check).
  Eigen::ComputationInfo info() const {
    if (m_status == LUTRA_SUCCESS || m_status == LUTRA_UNCHECKED) return Eigen::Success;
    if (m_status == LUTRA_NOT_CONVERGED || m_status == LUTRA_CANCELLED) return Eigen::NoConvergence;
    return m_status > 0 ? Eigen::NumericalIssue : Eigen::InvalidInput;
  }

  /// The reason for info(), in a sentence. Empty after a success.
  std::string lastErrorMessage() const { return m_message; }

  /// Solver for Aᵀ X = B with the factors of A. It must not outlive this object.
  OperationView<Derived, Operation::transposed> transpose() const {
    return OperationView<Derived, Operation::transposed>(this->derived());
  }
  /// Solver for Aᴴ X = B with the factors of A. It must not outlive this object.
  OperationView<Derived, Operation::adjoint> adjoint() const {
    return OperationView<Derived, Operation::adjoint>(this->derived());
  }

  /// Sets an option by name, as lutra_set_option; effective with the next analyzePattern or compute. If Lutra
  /// rejects it, this object solves nothing more: info() is InvalidInput from then on.
  Derived& setOption(const std::string& name, const std::string& value) {
    if (!m_is_unusable) require(lutra_set_option(m_solver, name.c_str(), value.c_str()));
    return this->derived();
  }
  Derived& setOption(const std::string& name, const char* value) {
    return setOption(name, std::string(value));
  }
  Derived& setOption(const std::string& name, bool value) {
    return setOption(name, value ? "true" : "false");
  }
  template <class Number>
  typename std::enable_if<std::is_arithmetic<Number>::value, Derived&>::type setOption(
      const std::string& name, Number value) {
    std::ostringstream text;
    text.imbue(std::locale::classic());
    text.precision(std::numeric_limits<double>::max_digits10);
    text << value;
    return setOption(name, text.str());
  }

  /// The report of the last call as JSON.
  std::string report() const {
    const char* json = nullptr;
    return lutra_report_json(m_solver, &json) == LUTRA_SUCCESS ? json : "";
  }

  /// The solver of the C interface, for what has no name here. Null if it could not be made.
  lutra_solver* handle() const { return m_solver; }

  using Base::_solve_impl;
  template <class Rhs, class Dest>
  void _solve_impl(const Eigen::MatrixBase<Rhs>& b, Eigen::MatrixBase<Dest>& x) const {
    solve_into(Operation::plain, b, x);
  }

  /// Solves op(A) x = b. b may be x. x becomes NaN if nothing could be computed.
  template <class Rhs, class Dest>
  void solve_into(Operation op, const Eigen::MatrixBase<Rhs>& b, Eigen::MatrixBase<Dest>& x) const {
    const bool conjugates = is_complex && !is_stored_by_rows && op == Operation::adjoint;
    if (conjugates) {  // conj(M) x = b, where the stored rows M are those of Aᵀ
      Dense X = b.conjugate();
      solve_columns(LUTRA_NONE, X, X);
      x.derived() = X.conjugate();
    } else {
      using IsDirect = std::integral_constant<bool, (int(Dest::Flags) & Eigen::DirectAccessBit) != 0 &&
                                                        int(Dest::InnerStrideAtCompileTime) == 1 &&
                                                        !bool(Dest::IsRowMajor)>;
      solve_to(IsDirect(), operation(op), Columns(b.derived()), x.derived());
    }
  }

 protected:
  explicit SolverBase(int method) {
    require(lutra_create(&m_solver, method, scalar_code<Scalar>(), index_code<StorageIndex>(), nullptr));
  }

  static Scalar not_a_number() { return Scalar(std::numeric_limits<RealScalar>::quiet_NaN()); }
  bool has_factors() const { return m_has_factors; }

  static constexpr bool is_stored_by_rows = bool(MatrixType::IsRowMajor);
  static constexpr bool is_complex = bool(Eigen::NumTraits<Scalar>::IsComplex);

 private:
  using Dense = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic>;
  using Columns = Eigen::Ref<const Dense, 0, Eigen::OuterStride<>>;

  void set_status(lutra_status status) const {
    m_status = status;
    m_message = status == LUTRA_SUCCESS ? "" : lutra_message();
    const bool names_places = m_message.find("row") != std::string::npos ||
                              m_message.find("column") != std::string::npos ||
                              m_message.find("triangle") != std::string::npos;
    if (!is_stored_by_rows && names_places)
      m_message += " (of the transpose, whose rows are the columns that Eigen stores)";
  }

  /// Keeps the reason for which this object can solve nothing.
  void require(lutra_status status) {
    if (status == LUTRA_SUCCESS) return;
    set_status(status);
    m_is_unusable = true;
    m_has_factors = false;
  }

  /// lutra_operation on the stored rows for op(A).
  static int operation(Operation op) {
    if (is_stored_by_rows)
      return op == Operation::plain        ? LUTRA_NONE
             : op == Operation::transposed ? LUTRA_TRANSPOSED
                                           : LUTRA_ADJOINT;
    return op == Operation::plain ? LUTRA_TRANSPOSED : LUTRA_NONE;
  }

  template <class Call>
  static lutra_status with_stored(const MatrixType& A, const Call& call) {
    // A block of another matrix does not begin at 0.
    if (A.isCompressed() && A.outerIndexPtr() != nullptr && A.outerIndexPtr()[0] == 0) return call(stored(A));
    Eigen::SparseMatrix<Scalar, is_stored_by_rows ? Eigen::RowMajor : Eigen::ColMajor, StorageIndex> copy(A);
    copy.makeCompressed();
    return call(stored(copy));
  }

  template <class Compressed>
  static lutra_matrix stored(const Compressed& A) {
    return {A.outerSize(),
            A.innerSize(),
            A.nonZeros(),
            A.outerIndexPtr(),
            A.innerIndexPtr(),
            A.valuePtr(),
            index_code<StorageIndex>()};
  }

  template <class Dest>
  void solve_to(std::true_type, int op, const Columns& B, Dest& x) const {
    if (overlap(B, x)) return solve_to(std::false_type(), op, B, x);
    solve_columns(op, B, x);
  }
  template <class Dest>
  void solve_to(std::false_type, int op, const Columns& B, Dest& x) const {
    Dense X(B.rows(), B.cols());
    solve_columns(op, B, X);
    x = X;
  }

  /// Whether B and X share memory without being the same columns.
  template <class Dest>
  static bool overlap(const Columns& B, const Dest& X) {
    const std::less<const Scalar*> before{};
    if (B.size() == 0 || (B.data() == X.data() && leading(B) == leading(X))) return false;
    const Scalar *end_of_B = B.data() + (B.cols() - 1) * leading(B) + B.rows(),
                 *end_of_X = X.data() + (X.cols() - 1) * leading(X) + X.rows();
    return before(B.data(), end_of_X) && before(X.data(), end_of_B);
  }

  template <class Columns_>
  static Eigen::Index leading(const Columns_& X) {
    return X.cols() == 1 ? X.rows() : X.outerStride();
  }

  template <class Rhs, class Dest>
  void solve_columns(int op, const Rhs& B, Dest& X) const {
    if (m_has_factors)
      set_status(lutra_solve(m_solver, op, B.cols(), B.data(), leading(B), X.data(), leading(X)));
    else if (m_status == LUTRA_SUCCESS) {
      m_status = LUTRA_CALL_ORDER_ERROR;
      m_message = "solve: there are no factors; call factorize or compute first";
    }
    if (!m_has_factors || !has_written_solution(m_solver, m_status)) X.setConstant(not_a_number());
  }

  lutra_solver* m_solver = nullptr;
  mutable lutra_status m_status = LUTRA_CALL_ORDER_ERROR;  ///< of the last call
  mutable std::string m_message = "no matrix was passed to compute";
  bool m_is_unusable = false;  ///< no solver could be made, or an option was rejected
  bool m_has_factors = false;  ///< of the matrix last passed to factorize
  Eigen::Index m_rows = 0, m_cols = 0;
};

}  // namespace internal

/// Sparse LU with the calls of Eigen::SparseLU.
/// @tparam MatrixType an Eigen::SparseMatrix, by columns or rows, or an Eigen::Map or Eigen::Ref of one
template <class MatrixType>
class SparseLU : public internal::SolverBase<SparseLU<MatrixType>, MatrixType> {
  using Base = internal::SolverBase<SparseLU<MatrixType>, MatrixType>;

 public:
  SparseLU() : Base(LUTRA_LU) {}
  explicit SparseLU(const MatrixType& A) : SparseLU() { this->compute(A); }

  /// Pivots within fronts, with an entry at least `threshold` times the largest of its column.
  SparseLU& setPivotThreshold(double threshold) {
    return this->setOption("pivoting", "threshold").setOption("pivot_threshold", threshold);
  }
};

/// Symmetric indefinite L D Lᵀ, of a complex matrix the Hermitian L D Lᴴ, with the calls of
/// Eigen::SimplicialLDLT. For complex symmetric matrices: setOption("symmetry", "symmetric").
/// @tparam MatrixType as of SparseLU
/// @tparam UpLo triangle that is read, Eigen::Lower or Eigen::Upper
template <class MatrixType, int UpLo_ = Eigen::Lower>
class SparseLDLT : public internal::SolverBase<SparseLDLT<MatrixType, UpLo_>, MatrixType> {
  using Base = internal::SolverBase<SparseLDLT<MatrixType, UpLo_>, MatrixType>;
  static_assert(UpLo_ == Eigen::Lower || UpLo_ == Eigen::Upper, "UpLo is Eigen::Lower or Eigen::Upper");

 public:
  using typename Base::RealScalar;
  using typename Base::Scalar;
  enum { UpLo = UpLo_ };

  SparseLDLT() : Base(LUTRA_LDLT) {
    if (Base::is_complex) this->setOption("symmetry", "hermitian");
    this->setOption("triangle", (UpLo_ == Eigen::Lower) == Base::is_stored_by_rows ? "lower" : "upper");
  }
  explicit SparseLDLT(const MatrixType& A) : SparseLDLT() { this->compute(A); }

  /// Determinant of the matrix last factorized. NaN if there is none.
  Scalar determinant() const {
    const std::pair<Scalar, double> parts = determinant_parts();
    return parts.first * Scalar(static_cast<RealScalar>(std::exp(parts.second)));
  }
  /// Natural logarithm of its magnitude, and the determinant divided by its magnitude.
  RealScalar logAbsDeterminant() const { return static_cast<RealScalar>(determinant_parts().second); }
  Scalar signDeterminant() const { return determinant_parts().first; }

 private:
  std::pair<Scalar, double> determinant_parts() const {
    std::pair<Scalar, double> parts;
    if (this->has_factors() &&
        lutra_determinant(this->handle(), &parts.first, &parts.second) == LUTRA_SUCCESS)
      return parts;
    return {Base::not_a_number(), std::numeric_limits<double>::quiet_NaN()};
  }
};

}  // namespace Lutra

#endif
