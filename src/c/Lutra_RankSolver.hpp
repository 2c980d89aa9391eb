// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_RANKSOLVER_HPP
#define LUTRA_RANKSOLVER_HPP

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "Lutra_AnySolver.hpp"
#include "Lutra_CollectiveLU.hpp"
#include "Lutra_DescribeRun.hpp"
#include "Lutra_RankCalls.hpp"
#include "Lutra_TypedSolver.hpp"
#include "lutra_mpi.h"

namespace lutra::C {

/// AnySolver on several ranks. The functions for one process throw.
class AnyRankSolver : public AnySolver {
 public:
  virtual void factorize_rows(const lutra_rows* A) = 0;
  virtual void refactorize(std::int64_t nnz, const void* values) = 0;

  void set_memory(lutra_memory memory) override {
    require(memory == LUTRA_HOST, "memory: arrays of a solver on several ranks are in host memory");
  }
  void set_stream(void* stream) override {
    require(stream == nullptr, "stream: a solver on several ranks has none");
  }
  void set_observers(std::shared_ptr<const Observers> observers) override {
    require(observers == nullptr, "progress: a solver on several ranks tells none");
  }
  void analyze(const lutra_matrix&) override { refuse("lutra_analyze", "lutra_mpi_factorize"); }
  void factorize(const lutra_matrix&) override { refuse("lutra_factorize", "lutra_mpi_factorize"); }
  void factorize_shifted(const lutra_matrix&, const void*) override {
    refuse("lutra_factorize_shifted", "lutra_mpi_factorize");
  }
  void apply(Transposition, const Columns&) override { refuse("lutra_apply", "lutra_solve"); }
  void solve_parts(int, Transposition, const Columns&) override {
    refuse("lutra_solve_parts", "lutra_solve");
  }
  double determinant(void*) const override {
    throw InputError("lutra_determinant: it belongs to LUTRA_LDLT and LUTRA_CHOLESKY");
  }
  bool increase_quality() override {
    throw InputError("lutra_increase_quality: it belongs to LUTRA_LDLT and LUTRA_CHOLESKY");
  }
  std::optional<MemoryForecast> forecast(std::int64_t) const override { return std::nullopt; }

 private:
  [[noreturn]] static void refuse(const std::string& function, const char* other) {
    throw InputError(function + ": the solver is one of several ranks; use " + other);
  }
};

/// Checks rows as far as possible without reading their arrays, and that row_map fits nnz. @throws InputError
template <class Offset>
void check_row_arrays(const lutra_rows& A) {
  const auto* const row_map = static_cast<const Offset*>(A.row_map);
  require(static_cast<std::int64_t>(row_map[0]) == 0,
          "row_map: it begins with " + std::to_string(row_map[0]));
  for (std::int64_t i = 0; i < A.n_rows; ++i)
    require(row_map[i] <= row_map[i + 1],
            "row_map: it decreases after row " + std::to_string(i) + " of this rank");
  require(
      static_cast<std::int64_t>(row_map[A.n_rows]) == A.nnz,
      "row_map: it ends with " + std::to_string(row_map[A.n_rows]) + ", but nnz is " + std::to_string(A.nnz));
}

/// DistributedLU behind a handle.
template <class Scalar>
class RankSolver final : public AnyRankSolver {
 public:
  RankSolver(std::shared_ptr<Impl::RankCalls> calls, int index, bool on_device)
      : m_index(index), m_on_device(on_device), m_calls(std::move(calls)), m_lu(*m_calls) {}

  void set_option(std::string_view name, std::string_view value) override {
    Impl::set_rank_option(m_options, name, value);
  }
  std::vector<NamedOption> options() const override { return Impl::rank_options(m_options); }
  void set_stop(std::shared_ptr<StopFlag> stop) override { m_options.stop = std::move(stop); }
  void set_permutation(std::vector<std::int64_t> permutation) override {
    m_options.ordering = permutation.empty() ? Ordering::automatic : Ordering::user;
    m_options.user_permutation = std::move(permutation);
  }

  void factorize_rows(const lutra_rows* A) override {
    static_cast<void>(m_lu.factorize("lutra_mpi_factorize", m_options, m_on_device, A == nullptr ? 0 : A->n,
                                     [&] { return read(A); }));
  }

  void refactorize(std::int64_t nnz, const void* values) override {
    static_cast<void>(m_lu.refactorize("lutra_mpi_refactorize", [&] {
      require(nnz == static_cast<std::int64_t>(m_lu.entries()),
              "nnz: it is " + std::to_string(nnz) + ", but this rank has " + std::to_string(m_lu.entries()) +
                  " entries");
      require(nnz == 0 || values != nullptr, "values: it is null");
      return copy<Scalar, Scalar>(values, nnz);
    }));
  }

  void solve(int op, const Columns& c) override {
    const bool is_operation = op == LUTRA_NONE || op == LUTRA_TRANSPOSED || op == LUTRA_ADJOINT;
    m_lu.solve(
        "lutra_solve", c.count, is_operation ? to_transposition(op) : Transposition::none,
        [&] {
          static_cast<void>(to_transposition(op));
          return read(c);
        },
        [&](const std::vector<Scalar>& X) {
          for (std::size_t j = 0; j < static_cast<std::size_t>(c.count); ++j)
            std::copy_n(X.data() + j * m_lu.rows(), m_lu.rows(),
                        static_cast<Scalar*>(c.X) + j * static_cast<std::size_t>(c.ldx));
        });
  }

  const Report& report() const override { return m_lu.report(); }

  ReportRecord record() const override {
    ReportRecord record;
    record.run = describe_run<Kokkos::DefaultHostExecutionSpace>();
    if (m_on_device) record.run = describe_run<Kokkos::DefaultExecutionSpace>();
    record.matrix.rows = record.matrix.cols = m_lu.n();
    record.matrix.nnz = m_lu.all_entries();
    constexpr const char* names[] = {"f32", "f64", "c64", "c128"};
    record.matrix.scalar = names[scalar_of<Scalar>];
    record.report = report();
    if (record.report.status != Status::success) record.message = describe(record.report);
    return record;
  }

  void close() override {
    m_lu.close();
    m_calls->close();
  }

 private:
  template <class To, class From>
  static std::vector<To> copy(const void* from, std::int64_t count) {
    const auto* const begin = static_cast<const From*>(from);
    return {begin, begin + count};
  }
  std::vector<std::int64_t> copy_indices(const void* from, std::int64_t count, int type) const {
    return type == LUTRA_INT32 ? copy<std::int64_t, std::int32_t>(from, count)
                               : copy<std::int64_t, std::int64_t>(from, count);
  }

  /// @throws InputError
  DistributedRows<Scalar> read(const lutra_rows* A) const {
    require(A != nullptr, "rows: they are null");
    require(A->n_rows >= 0 && A->nnz >= 0, "rows: n_rows " + std::to_string(A->n_rows) + " and nnz " +
                                               std::to_string(A->nnz) + " must be 0 or more");
    require(A->row_map_type == LUTRA_INT32 || A->row_map_type == LUTRA_INT64,
            "rows: row_map_type is neither LUTRA_INT32 nor LUTRA_INT64");
    require(A->row_map != nullptr, "row_map: it is null");
    require(A->n_rows == 0 || A->rows != nullptr, "rows: the array of indices is null");
    require(A->nnz == 0 || A->columns != nullptr, "columns: it is null");
    require(A->nnz == 0 || A->values != nullptr, "values: it is null");
    A->row_map_type == LUTRA_INT32 ? check_row_arrays<std::int32_t>(*A) : check_row_arrays<std::int64_t>(*A);
    return {A->n, copy_indices(A->rows, A->n_rows, m_index),
            copy_indices(A->row_map, A->n_rows + 1, A->row_map_type),
            copy_indices(A->columns, A->nnz, m_index), copy<Scalar, Scalar>(A->values, A->nnz)};
  }

  /// @throws InputError
  std::vector<Scalar> read(const Columns& c) const {
    const auto rows = static_cast<std::int64_t>(m_lu.rows());
    require(c.count >= 0, "n_rhs: it is " + std::to_string(c.count));
    require(c.ldb >= rows && c.ldx >= rows, "ldb " + std::to_string(c.ldb) + " and ldx " +
                                                std::to_string(c.ldx) + " must be at least the " +
                                                std::to_string(rows) + " rows of this rank");
    require(rows * c.count == 0 || (c.B != nullptr && c.X != nullptr),
            c.B == nullptr ? "B: it is null" : "X: it is null");
    require(rows == 0 || c.count <= std::numeric_limits<std::int64_t>::max() / std::max(c.ldb, c.ldx) / 16,
            "n_rhs: " + std::to_string(c.count) + " columns are more than any memory holds");
    std::vector<Scalar> B;
    B.reserve(m_lu.rows() * static_cast<std::size_t>(c.count));
    for (std::int64_t j = 0; j < c.count; ++j) {
      const auto* const column = static_cast<const Scalar*>(c.B) + j * c.ldb;
      B.insert(B.end(), column, column + rows);
    }
    return B;
  }

  int m_index;  ///< LUTRA_INT32 or LUTRA_INT64, of rows and columns
  bool m_on_device;
  LuOptions m_options;
  std::shared_ptr<Impl::RankCalls> m_calls;
  Impl::CollectiveLU<Scalar> m_lu;
};

}  // namespace lutra::C

#endif
