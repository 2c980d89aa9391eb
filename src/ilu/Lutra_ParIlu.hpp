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

/// What sweeps came to.
struct ParIluOutcome {
  int sweeps = 0;             ///< made
  double first_residual = 0;  ///< max |(A − L·U)(i, j)| on the pattern, before the first sweep
  double last_residual = 0;   ///< the last that was computed: before the last sweep made
};

/// Where sweeps start.
enum class ParIluStart {
  matrix,  ///< L = strict lower triangle of A over the diagonal, U = upper triangle, on the pattern
  factors  ///< the values the factors have
};

/// The values of incomplete factors on a fixed pattern by fixed-point sweeps (Chow and Patel, "Fine-Grained
/// Parallel Incomplete LU Factorization", 2015; ParILU in Anzt et al., docs/ilu.md).
///
/// A sweep eliminates every row by rows of U as they are: within a row L is new, so that it is block Gauss-
/// Seidel by rows, and sweeps on one thread in place are the exact elimination. Rows go side by side and read
/// what others have by then written; deterministic sweeps read the values of the sweep before. The residual
/// is that of a sweep's own rows, measured as it goes; whether a sweep is still due is decided on the device.
template <class Scalar, class ExecutionSpace>
class ParIlu : Impl::RequireBuiltTypes<Scalar, ExecutionSpace> {
 public:
  using Memory = typename ExecutionSpace::memory_space;
  using Factors = IncompleteFactors<Scalar, Memory>;
  using Matrix = CsrView<Scalar, Ordinal, Offset, Memory>;

  /// @param pattern whose row_map, entries and diagonal those of `compute` equal
  /// @param options sweeps, sweep_tolerance, deterministic
  /// @throws OutOfMemoryError
  ParIlu(const ExecutionSpace& exec, const Factors& pattern, const IluOptions& options,
         const MemoryBudget& budget);
  ~ParIlu();
  ParIlu(ParIlu&&) noexcept;
  ParIlu& operator=(ParIlu&&) noexcept;

  /// Sweeps until the residual is below options.sweep_tolerance times the first, or rounding, at most
  /// options.sweeps times. Waits once and allocates nothing. Cost of a sweep: that of an elimination without
  /// its waits, and of one more to measure where it starts from factors.
  /// @param shift added to each a_ii in parts of max |entry of row i|, in the direction of a_ii
  ParIluOutcome compute(const ExecutionSpace& exec, const Matrix& A, double shift, const Factors& factors,
                        ParIluStart start = ParIluStart::matrix);

 private:
  struct Work;
  std::unique_ptr<Work> m_work;
};

}  // namespace lutra

#endif
