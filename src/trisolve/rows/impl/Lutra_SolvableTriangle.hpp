// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SOLVABLETRIANGLE_HPP
#define LUTRA_SOLVABLETRIANGLE_HPP

#include <memory>
#include <utility>

#include "Lutra_Index.hpp"
#include "Lutra_TriangleEngine.hpp"

namespace lutra::Impl {

/// Computes levels, blocks, the choice of the method and the packed layout. The engine has no values yet.
/// @throws InputError naming a malformed row; OutOfMemoryError; TimeoutError. Fences.
template <class Scalar, class ExecutionSpace>
std::unique_ptr<TriangleEngine<Scalar, ExecutionSpace>> analyse_triangle(
    const ExecutionSpace& exec, const TriangleInput<ExecutionSpace>& input, const MemoryBudget& budget,
    const TimeoutFlag& timeout);

/// Solves with one triangle given by rows: analysis, values, and any number of solves. A transpose is a
/// separate triangle. Nothing is checked here.
template <class Scalar, class ExecutionSpace>
class SolvableTriangle {
 public:
  using Memory = typename ExecutionSpace::memory_space;
  using Engine = TriangleEngine<Scalar, ExecutionSpace>;
  using Rows = TriangleRows<Memory>;
  using Source = typename Engine::Source;
  using RowMap = Kokkos::View<const Ordinal*, Memory>;

  SolvableTriangle() = default;
  /// Analyses. If the caller's rows differ from the triangle's (a permutation on either side), `in_row` and
  /// `out_row` [n] map the triangle's rows to the caller's.
  /// @param timeout   receives the watchdog's record
  /// @param partition first rows of supernodes, which the supernodal method takes for blocks
  /// @throws InputError naming a malformed row; OutOfMemoryError; TimeoutError. Fences.
  SolvableTriangle(const ExecutionSpace& exec, const Rows& rows, const TriangularOptions& options,
                   const MemoryBudget& budget, const TimeoutFlag& timeout, const RowMap& in_row = {},
                   const RowMap& out_row = {}, const RowMap& partition = {})
      : SolvableTriangle(analyse_triangle<Scalar, ExecutionSpace>(
            exec, {rows, options, in_row, out_row, partition}, budget, timeout)) {}

  explicit SolvableTriangle(std::unique_ptr<Engine> engine)
      : m_engine(std::move(engine)), m_report(m_engine->report()) {
    m_report.bytes = m_engine->bytes();
  }

  /// Creates a solver on the same analysis, without values. Both may solve at the same time.
  SolvableTriangle with_own_values(const ExecutionSpace& exec, const MemoryBudget& budget,
                                   const TimeoutFlag& timeout) const {
    return is_empty() ? SolvableTriangle()
                      : SolvableTriangle(m_engine->with_own_values(exec, budget, timeout));
  }

  /// Sets the values. If the method substitutes rows on hosts, they are not copied and must live until the
  /// next ones are set. Does not fence on devices.
  void set_values(const ExecutionSpace& exec, const Source& values) {
    m_has_values = false;
    m_engine->set_values(exec, values);
    m_has_values = true;
    m_inverted_are_counted = false;
    m_report.bytes = m_engine->bytes();
  }
  /// Updates the report's `inverted_blocks` for the last values; fences if it was out of date.
  void count_inverted_blocks(const ExecutionSpace& exec) {
    if (m_inverted_are_counted) return;
    m_report.inverted_blocks = m_engine->count_inverted_blocks(exec);
    m_inverted_are_counted = true;
  }

  /// Solves for `n_columns` right-hand sides in groups of up to max_columns_at_once. Does not fence.
  /// @param conjugate take the conjugates of the triangle's values
  void solve(const ExecutionSpace& exec, const MappedColumns<const Scalar>& in,
             const MappedColumns<Scalar>& out, int n_columns, bool conjugate) {
    m_engine->solve(exec, in, out, n_columns, conjugate);
    m_report.bytes = m_engine->bytes();
  }

  std::size_t predict_bytes(int n_columns) const { return m_engine->predict_bytes(n_columns); }

  /// What solves, without a look at the report.
  Engine& engine() { return *m_engine; }
  /// The row of the triangle at which the watchdog ended a solve, or −1; makes the solver usable again.
  std::int64_t consume_timeout(const ExecutionSpace& exec) { return m_engine->consume_timeout(exec); }

  const TriangularReport& report() const noexcept { return m_report; }
  bool is_empty() const noexcept { return m_engine == nullptr; }
  bool has_values() const noexcept { return m_has_values; }

 private:
  std::unique_ptr<Engine> m_engine;
  TriangularReport m_report;
  bool m_has_values = false;
  bool m_inverted_are_counted = true;  ///< the report's count is up to date with the last values
};

}  // namespace lutra::Impl

#endif
