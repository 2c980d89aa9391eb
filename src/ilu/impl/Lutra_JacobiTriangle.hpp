// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_JACOBITRIANGLE_HPP
#define LUTRA_JACOBITRIANGLE_HPP

#include <memory>
#include <utility>

#include "Lutra_Index.hpp"
#include "Lutra_TriangleEngine.hpp"
#include "Lutra_TriangleRows.hpp"

namespace lutra::Impl {

/// Arrays of JacobiTriangle's kernels; the columns of a row are contiguous in b and x.
template <class Scalar>
struct JacobiData {
  RowAccess rows;
  ArrayRef<const Scalar> values;
  ArrayRef<const Offset> source;  ///< position in `values` of each entry; null: the entry's own
  bool conjugate = false;
  int columns = 1;
  ArrayRef<Scalar> b;        ///< [n × columns] right-hand sides in the rows of the triangle
  ArrayRef<const Scalar> x;  ///< [n × columns] previous sweep
  ArrayRef<Scalar> next;     ///< [n × columns] this sweep; null: writes to `out`, in the caller's rows
  ArrayRef<const Ordinal> in_row, out_row;  ///< the caller's rows; null: identity
  MappedColumns<const Scalar> in;
  MappedColumns<Scalar> out;

  KOKKOS_FORCEINLINE_FUNCTION Scalar value(Offset p) const {
    const Scalar stored = values(source.data == nullptr ? p : source(p));
    return conjugate ? ScalarTraits<Scalar>::conjugate(stored) : stored;
  }
  KOKKOS_FORCEINLINE_FUNCTION Scalar divided(Ordinal row, const Scalar& sum) const {
    return rows.is_unit() ? sum : sum / value(rows.diagonal(row));
  }
  static KOKKOS_FORCEINLINE_FUNCTION std::int64_t mapped(const ArrayRef<const Ordinal>& map, Ordinal row) {
    return static_cast<std::int64_t>(map.data == nullptr ? row : map(row));
  }
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t at(Ordinal row, int c) const {
    return static_cast<std::int64_t>(row) * columns + c;
  }
};

/// Computes b and the start D⁻¹·b, by element.
template <class Scalar>
struct JacobiStart {
  JacobiData<Scalar> data;

  KOKKOS_FUNCTION void operator()(std::int64_t k) const {
    const auto row = static_cast<Ordinal>(k / data.columns);
    const auto c = static_cast<int>(k % data.columns);
    const std::int64_t from = data.mapped(data.in_row, row);
    const Scalar b = data.in.scaled(from, data.in.at(from, c));
    data.b(k) = b;
    data.next(k) = data.divided(row, b);
  }
};

/// next = D⁻¹·(b − S·x) for the strict triangle S; the lanes of a thread process a row.
template <class Member, class Scalar>
struct JacobiSweep {
  RowTeams share;
  JacobiData<Scalar> data;

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    share.visit_rows(team, data.rows.n, [&](const Ordinal row) {
      const Offset begin = data.rows.begin(row);
      for (int c = 0; c < data.columns; ++c) {
        Scalar sum(0);
        Kokkos::parallel_reduce(
            Kokkos::ThreadVectorRange(team, data.rows.length(row)),
            [&](const Offset t, Scalar& part) {
              part += data.value(begin + t) * data.x(data.at(data.rows.entries(begin + t), c));
            },
            sum);
        Kokkos::single(Kokkos::PerThread(team), [&]() {
          const Scalar x = data.divided(row, data.b(data.at(row, c)) - sum);
          if (data.next.data != nullptr) {
            data.next(data.at(row, c)) = x;
          } else {
            const std::int64_t to = data.mapped(data.out_row, row);
            data.out.at(to, c) = data.out.scaled(to, x);
          }
        });
      }
    });
  }
};

/// The analysed triangle and the number of sweeps.
template <class ExecutionSpace>
struct JacobiPlan : AnalysedTriangle<ExecutionSpace> {
  int sweeps = 1;
};

/// Approximate triangular solve: a fixed number of Jacobi sweeps x ← D⁻¹·(b − S·x) from x = D⁻¹·b (Anzt, Chow
/// and Dongarra, "Iterative sparse triangular solves for preconditioning", Euro-Par 2015). Exact after as
/// many sweeps as the triangle has levels. One launch for the start and one per sweep; no thread waits.
/// Values are not copied: they must live until the next ones are set.
template <class Scalar, class ExecutionSpace>
class JacobiTriangle final : public TriangleEngine<Scalar, ExecutionSpace> {
 public:
  using Base = TriangleEngine<Scalar, ExecutionSpace>;
  using Plan = JacobiPlan<ExecutionSpace>;
  using typename Base::Source;

  JacobiTriangle(std::shared_ptr<const Plan> plan, const MemoryBudget& budget)
      : m_plan(std::move(plan)), m_budget(budget) {}

  std::unique_ptr<Base> with_own_values(const ExecutionSpace&, const MemoryBudget& budget,
                                        const TimeoutFlag&) const override {
    return std::make_unique<JacobiTriangle>(m_plan, budget);
  }
  void set_values(const ExecutionSpace&, const Source& values) override { m_values = values; }

  void solve(const ExecutionSpace& exec, MappedColumns<const Scalar> in, MappedColumns<Scalar> out,
             int n_columns, bool conjugate) override {
    if (m_plan->rows.n == 0) return;
    for_column_groups(
        in, out, n_columns, max_columns_at_once,
        [&](const auto& b, const auto& x, int columns) { solve_group(exec, b, x, columns, conjugate); });
  }

  std::int64_t consume_timeout(const ExecutionSpace&) override { return -1; }
  std::int64_t count_inverted_blocks(const ExecutionSpace&) const override { return 0; }
  const TriangularReport& report() const override { return m_plan->report; }
  std::size_t bytes() const override { return m_reservation.bytes(); }
  std::size_t predict_bytes(int n_columns) const override {
    return 3 * static_cast<std::size_t>(m_plan->rows.n) * static_cast<std::size_t>(n_columns) *
           sizeof(Scalar);
  }

 private:
  void solve_group(const ExecutionSpace& exec, const MappedColumns<const Scalar>& in,
                   const MappedColumns<Scalar>& out, int columns, bool conjugate) {
    reserve(exec, columns);
    const auto& rows = m_plan->rows;
    const std::size_t size = static_cast<std::size_t>(rows.n) * static_cast<std::size_t>(columns);
    JacobiData<Scalar> data;
    data.rows = rows.access();
    data.values = {m_values.values.data()};
    data.source = {m_values.source.data()};
    data.conjugate = conjugate;
    data.columns = columns;
    data.b = {m_vectors.data()};
    data.in_row = {m_plan->in_row.data()};
    data.out_row = {m_plan->out_row.data()};
    data.in = in;
    data.out = out;
    Scalar* x = data.b.data + size;
    Scalar* next = x + size;
    data.next = {x};
    Kokkos::parallel_for("lutra::ilu::jacobi_start",
                         Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(size)),
                         JacobiStart<Scalar>{data});
    const RowTeams share = teams_for_rows(exec, static_cast<std::size_t>(rows.n), rows.entries.extent(0) / 2);
    const auto policy = share.policy(exec, rows.n);
    using Member = typename decltype(policy)::member_type;
    for (int sweep = 1; sweep <= m_plan->sweeps; ++sweep) {
      m_budget.run().poll();
      data.x = {x};
      data.next = {sweep == m_plan->sweeps ? nullptr : next};
      Kokkos::parallel_for("lutra::ilu::jacobi_sweep", policy, JacobiSweep<Member, Scalar>{share, data});
      std::swap(x, next);
    }
  }

  /// Allocates b, x and the next x, and fences, if there are more columns than ever before.
  void reserve(const ExecutionSpace& exec, int columns) {
    const std::size_t size = 3 * static_cast<std::size_t>(m_plan->rows.n) * static_cast<std::size_t>(columns);
    if (m_vectors.extent(0) >= size) return;
    exec.fence("lutra::ilu: the smaller vectors are freed");
    m_vectors = {};
    m_reservation = MemoryReservation(m_budget);
    m_vectors = m_reservation.template allocate<decltype(m_vectors)>(exec, "lutra::ilu::jacobi", size);
  }

  std::shared_ptr<const Plan> m_plan;
  MemoryBudget m_budget;
  MemoryReservation m_reservation;
  Source m_values;
  Kokkos::View<Scalar*, typename ExecutionSpace::memory_space> m_vectors;  ///< [3·n × columns] b, x, next x
};

}  // namespace lutra::Impl

#endif
