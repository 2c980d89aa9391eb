// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PERFTRIANGLE_HPP
#define LUTRA_PERFTRIANGLE_HPP

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "Lutra_PerfErrors.hpp"
#include "Lutra_PerfMatrix.hpp"
#include "Lutra_TriangularSolver.hpp"

namespace lutra::Perf {

/// A triangle with its right-hand sides, on the host. All solvers get the same one.
struct TriangleSystem {
  HostMatrix<double> matrix;  ///< the triangle alone, its diagonal stored: ones for the L of a factorization
  TriangleSide side = TriangleSide::lower;
  std::vector<double> b;    ///< [n] the first right-hand side, for a solution between 1 and 2
  std::int64_t levels = 0;  ///< of its rows

  std::size_t n() const { return static_cast<std::size_t>(matrix.n_rows); }
  /// Column c of several right-hand sides is this times `b`. No two are equal, so that a solver that mixes
  /// them up is detected.
  static double scale(int column) { return 1 + column / 256.0; }
};

/// Storage order of the k values of a row of right-hand sides.
enum class VectorOrder { by_columns, by_rows };

/// [n × k] right-hand sides of a system in either order.
std::vector<double> right_hand_sides(const TriangleSystem& system, int columns, VectorOrder order);

/// Backward errors of [n × k] solutions of the right-hand sides above, in long double; the worst column
/// counts.
Errors triangle_errors(const TriangleSystem& system, const std::vector<double>& x, int columns,
                       VectorOrder order);

/// A triangular solver's report of its work.
struct TriangleProperties {
  std::map<std::string, double> counters{};
  std::string label{};
};

/// The interface of the benchmarks to a triangular solver. The constructor converts one triangle to the
/// format of the solver. A step that fails throws.
class TimedTriangle {
 public:
  virtual ~TimedTriangle() = default;
  /// Allocates and sets k right-hand sides. It is called before anything else, and again for another k. If
  /// the analysis of a solver depends on k, it is repeated.
  virtual void prepare(int columns) = 0;
  virtual void analyze() = 0;                        ///< from pattern and values until it can solve
  virtual void update() = 0;                         ///< accepts new values on the known pattern
  virtual void solve() = 0;                          ///< all right-hand sides
  virtual std::vector<double> solution() const = 0;  ///< [n × k] in the storage order of its kind
  virtual TriangleProperties properties() const { return {}; }
};

/// A kind of solver this build has.
struct TriangleKind {
  std::string name;
  std::string version;
  int min_columns = 1, max_columns = 128;  ///< range of numbers of right-hand sides
  VectorOrder order = VectorOrder::by_columns;
  bool single = false;  ///< keeps factors in float, with a tolerance for that
  std::function<std::unique_ptr<TimedTriangle>(const TriangleSystem&)> make;
};

// The solvers of each source file. A file is compiled if its library was found.
std::vector<TriangleKind> lutra_triangle_kinds();
std::vector<TriangleKind> kokkos_kernels_triangle_kinds();
std::vector<TriangleKind> cusparse_triangle_kinds();
std::vector<TriangleKind> mkl_triangle_kinds();

/// A triangle with 32-bit indices, the format of libraries other than Lutra.
struct IntTriangle {
  std::vector<int> row_map;    ///< [n + 1]
  std::vector<int> entries;    ///< [nnz]
  std::vector<double> values;  ///< [nnz]
};

/// @throws std::runtime_error if there are more entries than an int can count
IntTriangle to_int_triangle(const HostMatrix<double>& matrix);

}  // namespace lutra::Perf

#endif
