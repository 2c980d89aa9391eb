// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PERFTRIANGLECASES_HPP
#define LUTRA_PERFTRIANGLECASES_HPP

#include <functional>
#include <string>
#include <vector>

#include "Lutra_PerfRun.hpp"
#include "Lutra_PerfTriangle.hpp"

namespace lutra::Perf {

/// A lower and an upper triangle that belong together.
struct TrianglePair {
  TriangleSystem lower, upper;

  const TriangleSystem& operator[](TriangleSide side) const {
    return side == TriangleSide::lower ? lower : upper;
  }
};

/// Where a pair comes from; made when a benchmark asks for it.
struct TriangleSource {
  std::string matrix;  ///< in the benchmarks' names, before the triangle's side
  std::string group;   ///< in the benchmarks' names, before the step: one geometric mean each
  std::function<TrianglePair()> make;
};

/// ILU(0) and complete factors of each real matrix of the run (groups ilu0, full), and triangles that are
/// nothing but a pattern, as large as the largest of these up to a limit each (group pattern): chain, banded,
/// random, onelevel. Complex matrices are left out.
std::vector<TriangleSource> triangle_sources(const PerfRun& run);

/// L and U as systems of their own, L's unit diagonal written out.
/// @param LU       L \ U in one
/// @param diagonal [n] position of (i, i) in it
TrianglePair split_factors(const HostMatrix<double>& LU, const std::vector<std::int64_t>& diagonal);

/// The factors L (unit diagonal written out) and U of an incomplete factorization on the pattern of A and its
/// diagonal, in A's own order. A pivot below 1e-8 of its row's largest value is replaced by that value: these
/// are triangles to solve with, not a preconditioner to trust.
/// @throws std::runtime_error where values overflow
TrianglePair incomplete_factors(const HostMatrix<double>& A);

/// The factors of Lutra's own analysis and factorization with default options.
/// @throws std::runtime_error where the matrix cannot be factorized
TrianglePair complete_factors(const HostMatrix<double>& A);

/// Row i of each lower triangle waits for: row i − 1; the 16 rows before it; 8 rows anywhere before it; 8 of
/// the first 32 rows, which wait for none. The upper triangles are the same ones with rows and columns in
/// reverse.
TrianglePair chain(int n);
TrianglePair banded(int n);
TrianglePair random_rows(int n);
TrianglePair one_level(int n);

}  // namespace lutra::Perf

#endif
