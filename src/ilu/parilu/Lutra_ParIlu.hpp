// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PARILU_HPP
#define LUTRA_PARILU_HPP

#include <memory>

#include "Lutra_BuiltTypes.hpp"
#include "Lutra_CsrView.hpp"
#include "Lutra_IluOptions.hpp"
#include "Lutra_IncompleteFactors.hpp"
#include "Lutra_MemoryBudget.hpp"

namespace lutra {

/// Outcome of sweeps.
struct ParIluOutcome {
  int sweeps = 0;             ///< sweeps made
  double first_residual = 0;  ///< max |(A − L·U)(i, j)| on the pattern, before the first sweep
  double last_residual = 0;   ///< last one computed: before the last sweep made
};

/// Initial values of sweeps.
enum class ParIluStart {
  matrix,  ///< L = strict lower triangle of A over the diagonal, U = upper triangle, on the pattern
  factors  ///< present values of the factors
};

/// Values of incomplete factors on a fixed pattern by fixed-point sweeps (Chow and Patel, "Fine-Grained
/// Parallel Incomplete LU Factorization", 2015; ParILU in Anzt et al., docs/ilu.md).
///
/// A sweep eliminates every row with the present rows of U. Within a row the new L is used, so a sweep is
/// block Gauss-Seidel by rows, and a sweep on one thread in place is the exact elimination. Rows run in
/// parallel and read what others have written so far; deterministic sweeps read the values of the previous
/// sweep. Each sweep measures the residual of its own rows. The device decides whether another sweep is due.
template <class Scalar, class ExecutionSpace>
class ParIlu : Impl::RequireBuiltTypes<Scalar, ExecutionSpace> {
 public:
  using Memory = typename ExecutionSpace::memory_space;
  using Factors = IncompleteFactors<Scalar, Memory>;
  using Matrix = CsrView<Scalar, Ordinal, Offset, Memory>;

  /// @param pattern row_map, entries and diagonal equal to those of `compute`
  /// @param options sweeps, sweep_tolerance, deterministic
  /// @throws OutOfMemoryError
  ParIlu(const ExecutionSpace& exec, const Factors& pattern, const IluOptions& options,
         const MemoryBudget& budget);
  ~ParIlu();
  ParIlu(ParIlu&&) noexcept;
  ParIlu& operator=(ParIlu&&) noexcept;

  /// Sweeps until the residual is below options.sweep_tolerance times the first, or is rounding, at most
  /// options.sweeps times. Waits once and allocates nothing. Cost per sweep: an elimination without its
  /// waits; one more to measure the residual if sweeps start from factors.
  /// @param shift added to each a_ii, relative to max |entry of row i|, in the direction of a_ii
  ParIluOutcome compute(const ExecutionSpace& exec, const Matrix& A, double shift, const Factors& factors,
                        ParIluStart start = ParIluStart::matrix);

 private:
  struct Work;
  std::unique_ptr<Work> m_work;
};

}  // namespace lutra

#endif
