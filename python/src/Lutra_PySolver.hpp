// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PYSOLVER_HPP
#define LUTRA_PYSOLVER_HPP

#include <complex>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "Lutra_CsrView.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_Event.hpp"
#include "Lutra_Factorization.hpp"
#include "Lutra_Report.hpp"

// The solvers of Lutra behind one interface without template parameters, Kokkos or Python. The module binds
// it.

namespace lutra::Python {

enum class ScalarType { f32, f64, c64, c128 };
enum class OrdinalType { int32, int64 };

/// Names and values of options for `set_option`, a permutation for Ordering::user, and an observer of events.
struct Options {
  std::vector<std::pair<std::string, std::string>> named;
  std::vector<std::int64_t> user_permutation;
  /// Asked on the calling thread, at most 20 times a second, while a call runs; false stops the call, which
  /// then throws CancelledError. Empty: nothing does.
  std::function<bool()> goes_on{};
  std::function<void(const Event&)> log{};  ///< empty: none
};

/// A square matrix by rows, in the types of the solver, in memory of the caller.
struct MatrixArrays {
  std::int64_t n_rows = 0, n_cols = 0, nnz = 0;
  const void* row_map = nullptr;  ///< [n_rows + 1]
  bool wide = true;               ///< row_map has 64 bits, otherwise 32
  const void* entries = nullptr;  ///< [nnz]
  const void* values = nullptr;   ///< [nnz]
  bool on_device = false;
};

/// k vectors of n elements in the scalar type of the solver. Strides count elements.
struct Vectors {
  void* data = nullptr;
  std::size_t n = 0, k = 0, row_stride = 1, column_stride = 0;
  bool on_device = false;
};

/// The factors among L, D and Lᵀ (or Lᴴ) to solve with.
struct Parts {
  bool lower, diagonal, upper;
};

template <class... Scalars>
using VectorOfOne = std::variant<std::vector<Scalars>...>;
using ScalarVector = VectorOfOne<float, double, std::complex<float>, std::complex<double>>;

/// FactorValues of any scalar type.
struct FactorArrays {
  std::vector<std::int64_t> row_order, col_order, rows, columns;
  std::vector<double> row_scale, col_scale;
  ScalarVector values, diagonal, off_diagonal;
};

/// X ≈ op(A)⁻¹·B for [n × k] blocks by rows in host memory.
using ApproximateInverse =
    std::function<void(Transposition op, const void* B, void* X, std::size_t n, std::size_t k)>;

/// One solver of the library. It throws the exceptions of the library.
class Solver {
 public:
  virtual ~Solver() = default;
  virtual void analyze(const MatrixArrays& A) = 0;
  virtual void factorize(const MatrixArrays& A) = 0;
  virtual void solve(const Vectors& B, const Vectors& X, Transposition op) = 0;
  virtual const Report& report() const = 0;
  // Functions that not all solvers have. @throws InputError if the solver lacks them
  /// Factors of A + diag(shift). @param shift [n] real numbers of the scalar's precision, where A is
  virtual void factorize_shifted(const MatrixArrays&, const void*) { refuse("no shift"); }
  virtual void solve_parts(const Vectors&, const Vectors&, Parts, Transposition) { refuse("no L, D and U"); }
  /// Sign or phase, and logarithm of the magnitude.
  virtual std::pair<std::complex<double>, double> determinant() { refuse("no determinant"); }
  virtual bool increase_quality() { refuse("no threshold to raise"); }
  /// Empty if there is none.
  virtual std::optional<MemoryForecast> forecast(int) const { return std::nullopt; }
  virtual FactorArrays factors() { refuse("no factors"); }
  virtual FactorStructure structure() const { refuse("no picture"); }
  /// For Krylov methods: the factors of a SparseILU of the same scalar type, which outlive it, or a function.
  virtual void precondition_by(Solver&) { refuse("no preconditioner"); }
  virtual void precondition_by(ApproximateInverse) { refuse("no preconditioner"); }

 protected:
  [[noreturn]] static void refuse(const char* what) {
    throw InputError(std::string("this solver has ") + what);
  }
};

/// @param method "auto", "lu", "ldlt", "cholesky", "ilu" or "krylov"
/// @throws InputError for types that the library was built without, and for invalid names and values of
/// options
std::unique_ptr<Solver> make_solver(const std::string& method, ScalarType scalar, OrdinalType ordinal,
                                    const Options& options);

/// A line for each option of a method: its name, what it does, its values and default.
std::string list_options(const std::string& method);

/// Starts Kokkos unless it is running. `stop_kokkos` ends it if this function started it.
void start_kokkos();
void stop_kokkos() noexcept;
/// Name of the backend, and whether its memory is that of a CUDA or HIP device.
std::string backend();
bool has_device();
/// Number of the device on which the solvers work; −1: on none, or Kokkos is not running.
int device_id();
/// @throws InputError if an array is on another device than that
void require_own_device(const char* name, int device);
/// Memory of the device or of the host. That of the device is not freed after Kokkos has ended.
/// @throws OutOfMemoryError
std::shared_ptr<void> allocate(std::size_t bytes, bool on_device);
// Bytes in memory of the solvers, or of the host. All fence.
/// NaN in numbers of any type.
void set_to_nan(void* memory, std::size_t bytes, bool on_device);
void copy_bytes(void* to, const void* from, std::size_t bytes, bool on_device);
bool are_same_bytes(const void* one, const void* other, std::size_t bytes, bool on_device);

}  // namespace lutra::Python

#endif
