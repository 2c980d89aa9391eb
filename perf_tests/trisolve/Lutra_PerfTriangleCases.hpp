// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PERFTRIANGLECASES_HPP
#define LUTRA_PERFTRIANGLECASES_HPP

#include <functional>
#include <string>
#include <vector>

#include "Lutra_PerfRun.hpp"
#include "Lutra_PerfTriangle.hpp"

namespace lutra::Perf {

/// A lower and an upper triangle of one factorization or pattern.
struct TrianglePair {
  TriangleSystem lower, upper;

  const TriangleSystem& operator[](TriangleSide side) const {
    return side == TriangleSide::lower ? lower : upper;
  }
};

/// The source of a pair, which is made when a benchmark needs it.
struct TriangleSource {
  std::string matrix;  ///< in names of benchmarks, before the side of the triangle
  std::string group;   ///< in names of benchmarks, before the step; each group has one geometric mean
  std::function<TrianglePair()> make;
};

/// ILU(0) and complete factors of each real matrix of the run (groups ilu0, full), and artificial patterns as
/// large as the largest of these, each up to a limit (group pattern): chain, banded, random, onelevel.
/// Complex matrices are omitted.
std::vector<TriangleSource> triangle_sources(const PerfRun& run);

/// L and U as separate systems, with an explicit unit diagonal of L.
/// @param LU       L \ U in one
/// @param diagonal [n] position of (i, i) in it
TrianglePair split_factors(const HostMatrix<double>& LU, const std::vector<std::int64_t>& diagonal);

/// The factors L (with explicit unit diagonal) and U of an incomplete factorization on the pattern of A and
/// its diagonal, in the order of A. A pivot below 1e-8 of the largest value in its row is replaced by that
/// value, since these triangles only serve for timing solves, not as a preconditioner.
/// @throws std::runtime_error if values overflow
TrianglePair incomplete_factors(const HostMatrix<double>& A);

/// The factors of an analysis and factorization by Lutra with default options.
/// @throws std::runtime_error if the matrix cannot be factorized
TrianglePair complete_factors(const HostMatrix<double>& A);

/// Row i of each lower triangle waits for: row i − 1; the 16 rows before it; 8 rows anywhere before it; 8 of
/// the first 32 rows, which wait for none. The upper triangles are the same with reversed rows and columns.
TrianglePair chain(int n);
TrianglePair banded(int n);
TrianglePair random_rows(int n);
TrianglePair one_level(int n);

}  // namespace lutra::Perf

#endif
