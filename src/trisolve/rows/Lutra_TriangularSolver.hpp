// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TRIANGULARSOLVER_HPP
#define LUTRA_TRIANGULARSOLVER_HPP

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "Lutra_BuiltTypes.hpp"
#include "Lutra_CsrView.hpp"
#include "Lutra_DeviceModel.hpp"
#include "Lutra_MatrixInput.hpp"
#include "Lutra_RankTwo.hpp"

namespace lutra {

/// Triangle of a matrix; entries on the other side of the diagonal are ignored.
enum class TriangleSide { lower, upper };

/// Source of the diagonal.
enum class DiagonalKind {
  stored,  ///< from the matrix: a missing or zero entry is an error
  unit     ///< ones, whatever the matrix holds there
};

/// Algorithm that solves with a triangle.
enum class TrisolveMethod {
  automatic,  ///< the method of least predicted time
  levels,     ///< level sets; one team processes runs of small levels
  syncfree,   ///< synchronization-free: rows poll for the values they need
  supernodal  ///< like syncfree, for blocks of rows with inverted diagonal blocks
};

/// Command-line name of a method.
std::string_view name_of(TrisolveMethod method);

/// Precision in which the triangle's values are stored.
enum class FactorPrecision {
  working,  ///< the solver's scalar type
  single    ///< float, or complex of float; right-hand sides and solutions keep the solver's scalar type
};

/// Options of `TriangularSolver`. The defaults suit most problems.
struct TriangularOptions {
  TrisolveMethod method = TrisolveMethod::automatic;
  FactorPrecision precision = FactorPrecision::working;
  int expected_rhs = 1;          ///< usual number of right-hand sides per solve, for the automatic choice
  bool portable = false;         ///< use the portable kernels even where specialized ones exist
  double watchdog_seconds = 10;  ///< longest wait of a row; a longer one ends the solve with a TimeoutError
  std::size_t memory_limit = 0;  ///< bytes in the execution space's memory; 0: no limit
  /// model that predicts times; empty: the execution space's built-in model
  std::optional<DeviceModel> device_model = {};
};

/// Choices and statistics of an analysis, for op(T) = T or Tᵀ.
struct TriangularReport {
  TrisolveMethod method = TrisolveMethod::automatic;  ///< never `automatic` after an analysis
  std::string reason;                                 ///< reason for the method, in a sentence
  std::int64_t n = 0;
  std::int64_t nnz = 0;              ///< entries of the triangle, including its diagonal even if unit
  std::int64_t levels = 0;           ///< level sets of the rows
  std::int64_t blocks = 0;           ///< blocks of rows; n if every row is its own block
  std::int64_t block_levels = 0;     ///< levels of the blocks: steps on the critical path
  std::int64_t inverted_blocks = 0;  ///< diagonal blocks applied by their inverses, with the last values
  std::int64_t stored_entries = 0;   ///< entries packed for the kernels, including padding and inverses
  std::size_t bytes = 0;             ///< bytes of device memory in use
  double predicted_seconds = 0;      ///< prediction for one right-hand side, by the performance model
  /// predictions by method; supernodal: 0 if blocks were not considered
  double predicted_levels_seconds = 0, predicted_syncfree_seconds = 0, predicted_supernodal_seconds = 0;
};

namespace Impl {
/// Interface of the implementation.
template <class Scalar, class ExecutionSpace>
class TransposableTriangle {
 public:
  using Memory = typename ExecutionSpace::memory_space;
  using Pattern = CsrPattern<Ordinal, Offset, Memory>;
  using Values = Kokkos::View<const Scalar*, Memory>;
  using Input = Kokkos::View<const Scalar**, Kokkos::LayoutStride, Memory>;
  using Output = Kokkos::View<Scalar**, Kokkos::LayoutStride, Memory>;

  virtual ~TransposableTriangle() = default;
  using Partition = Kokkos::View<const Ordinal*, Memory>;
  virtual void analyze(const Pattern& pattern, TriangleSide side, DiagonalKind diagonal,
                       const Partition& partition) = 0;
  virtual void set_values(const Values& values) = 0;
  virtual void solve(const Input& B, const Output& X, Transposition op) = 0;
  virtual void wait() = 0;
  virtual const TriangularReport& report(Transposition op) = 0;
};
template <class Scalar, class ExecutionSpace>
std::unique_ptr<TransposableTriangle<Scalar, ExecutionSpace>> make_transposable_triangle(
    const TriangularOptions& options, const ExecutionSpace& exec);
}  // namespace Impl

/// Solves with a sparse triangle: op(T)·X = B for op(T) = T, Tᵀ, Tᴴ and any number of right-hand sides.
///
/// Call analyze once per pattern, set_values once per set of values, and solve any number of times. Compiled
/// into the library for float, double and complex of both, int columns, int64_t offsets, and each execution
/// space of Kokkos. docs/trisolve.md describes the three methods and their costs.
template <class Scalar, class ExecutionSpace = Kokkos::DefaultExecutionSpace>
class TriangularSolver : Impl::RequireBuiltTypes<Scalar, ExecutionSpace> {
 public:
  using memory_space = typename ExecutionSpace::memory_space;
  using matrix_type = CsrView<Scalar, Ordinal, Offset, memory_space>;
  using pattern_type = CsrPattern<Ordinal, Offset, memory_space>;
  using values_type = Kokkos::View<const Scalar*, memory_space>;
  using const_multivector_type = Kokkos::View<const Scalar**, Kokkos::LayoutStride, memory_space>;
  using multivector_type = Kokkos::View<Scalar**, Kokkos::LayoutStride, memory_space>;

  /// @throws InputError for options out of range, or a method this execution space cannot run
  explicit TriangularSolver(const TriangularOptions& options = {},
                            const ExecutionSpace& exec = ExecutionSpace())
      : m_solve(Impl::make_transposable_triangle<Scalar, ExecutionSpace>(options, exec)) {}

  /// Computes dependencies, levels, blocks and the packed layout of one triangle of a square pattern by rows,
  /// columns strictly ascending. The pattern may contain more than the triangle, for example a whole matrix,
  /// or L and U of an incomplete factorization. The Views of the pattern must outlive the solver.
  /// @throws InputError naming the row if the pattern is malformed or a stored diagonal is missing;
  ///         OutOfMemoryError. The solver is then unchanged.
  void analyze(const pattern_type& T, TriangleSide side, DiagonalKind diagonal) {
    m_solve->analyze(T, side, diagonal, {});
  }

  /// As above, with given supernodes: the supernodal method takes them for its blocks instead of searching
  /// for them, cut into blocks of up to 32 rows. Solves with Tᵀ take them too.
  /// @param partition [supernodes + 1] first row of each, ascending from 0 to n, as `Supernodes::begin`; it
  ///                  must outlive the solver
  /// @throws InputError also for another method than `supernodal`, which would ignore them, and for a
  ///         partition that does not ascend from 0 to n
  void analyze(const pattern_type& T, TriangleSide side, DiagonalKind diagonal,
               const Kokkos::View<const Ordinal*, memory_space>& partition) {
    m_solve->analyze(T, side, diagonal, partition);
  }

  /// Copies new values, [nnz] in the order of the pattern, without a new analysis. Fences.
  /// @throws CallOrderError without an analysis; InputError naming the first row with a zero diagonal or a
  ///         value that is not finite
  void set_values(const values_type& values) { m_solve->set_values(values); }

  /// Calls analyze and set_values.
  void analyze(const matrix_type& T, TriangleSide side, DiagonalKind diagonal) {
    analyze(T.pattern(), side, diagonal);
    set_values(T.values);
  }
  /// Overload for a row map of `std::size_t`, and for any memory the execution space can access. Copies only
  /// the values.
  template <class Value, class Index, class Integer, class Memory>
  void analyze(const CsrView<Value, Index, Integer, Memory>& T, TriangleSide side, DiagonalKind diagonal) {
    static_assert(
        sizeof(Integer) == sizeof(Offset) && std::is_same_v<Index, Ordinal>,
        "lutra: TriangularSolver keeps the pattern of a matrix and takes columns of int and row maps "
        "of std::int64_t or std::size_t");
    const auto read = Impl::MatrixReader<Scalar, ExecutionSpace>().read(ExecutionSpace(), T, MemoryBudget());
    analyze(read, side, diagonal);  // no array was converted
  }

  /// X = op(T)⁻¹·B for all columns. Does not fence, except that the first solve with a transposed op analyses
  /// Tᵀ, which allocates and fences. Cost: reads the triangle once for up to 16 right-hand sides.
  /// @param B [n × k] or [n] View accessible to the execution space, of any layout
  /// @param X like B; may be B itself, may not overlap it otherwise
  /// @throws CallOrderError without values; InputError if extents do not match; TimeoutError if the watchdog
  ///         ended an earlier solve
  template <class BView, class XView>
  void solve(const BView& B, const XView& X, Transposition op = Transposition::none) {
    Impl::require_solvable_views<Scalar, ExecutionSpace, BView, XView>();
    m_solve->solve(Impl::as_rank_two<const_multivector_type>(B), Impl::as_rank_two<multivector_type>(X), op);
  }

  /// Waits for the solves queued so far.
  /// @throws TimeoutError naming the row at which the watchdog ended one
  void wait() { m_solve->wait(); }

  /// Choices and statistics for op(T); the report of Tᵀ is empty before the first transposed solve. Fences if
  /// values have been set since the last report.
  const TriangularReport& report(Transposition op = Transposition::none) const { return m_solve->report(op); }

 private:
  std::unique_ptr<Impl::TransposableTriangle<Scalar, ExecutionSpace>> m_solve;
};

}  // namespace lutra

#endif
