// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_BATCHSOLVER_HPP
#define LUTRA_BATCHSOLVER_HPP

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <new>
#include <span>
#include <utility>
#include <variant>

#include "Lutra_AnyBatchSolver.hpp"
#include "Lutra_BatchedKrylov.hpp"
#include "Lutra_CSolver.hpp"
#include "Lutra_DescribeRun.hpp"
#include "Lutra_MatrixArguments.hpp"
#include "Lutra_MatrixInput.hpp"
#include "Lutra_MethodOptions.hpp"
#include "Lutra_ToDevice.hpp"

namespace lutra::C {

/// An array of up to three dimensions in a caller's memory.
struct StridedArray {
  std::array<std::int64_t, 3> extents, strides;

  bool is_empty() const {
    return std::ranges::any_of(extents, [](std::int64_t extent) { return extent == 0; });
  }
  /// Elements from the first to the last; huge ones are not exact.
  double span() const {
    double last = 0;
    for (std::size_t d = 0; d < 3; ++d)
      last += static_cast<double>(extents[d] - 1) * static_cast<double>(strides[d]);
    return is_empty() ? 0 : last + 1;
  }
  /// Whether each stride jumps over all elements of the smaller ones.
  bool is_without_overlap() const {
    std::array<std::size_t, 3> order = {0, 1, 2};
    std::ranges::sort(order, {}, [&](std::size_t d) { return strides[d]; });
    std::int64_t reach = 1;
    for (const std::size_t d : order) {
      if (extents[d] > 1 && strides[d] < reach) return false;
      if (extents[d] > 1) reach += (extents[d] - 1) * strides[d];
    }
    return true;
  }
  Kokkos::LayoutStride layout() const {
    const auto size = [](std::int64_t number) { return static_cast<std::size_t>(number); };
    return Kokkos::LayoutStride(size(extents[0]), size(strides[0]), size(extents[1]), size(strides[1]),
                                size(extents[2]), size(strides[2]));
  }
  /// @throws InputError
  void check(const char* name, const void* data, bool is_written) const {
    for (const std::int64_t stride : strides)
      require(stride >= 1, std::string(name) + ": a stride is " + std::to_string(stride));
    if (is_empty()) return;
    require(data != nullptr, std::string(name) + ": it is null");
    require(span() < 0x1p58, std::string(name) + ": its strides reach further than any memory");
    require(!is_written || is_without_overlap(),
            std::string(name) + ": by its strides, elements are in one place");
  }
};

/// AnyBatchSolver for the batches of the library. An analysis makes the C++ object.
template <class Scalar, class Space>
class BatchSolver final : public AnyBatchSolver {
  using Memory = typename Space::memory_space;
  using Batch = BatchedNumeric<Scalar, Space>;
  using Krylov = BatchedKrylov<Scalar, Space>;
  using Lu = BatchedLU<Scalar, Space>;
  using Ldlt = BatchedLDLT<Scalar, Space>;
  using Ilu = BatchedILU<Scalar, Space>;
  using Layout = Kokkos::LayoutStride;
  static constexpr bool on_host = Impl::is_host_space<Space>;

 public:
  BatchSolver(lutra_method method, const char* name, int index)
      : m_method(method), m_index(index), m_options(name) {}

  void set_option(std::string_view name, std::string_view value) override { m_options.set(name, value); }
  std::vector<NamedOption> options() const override { return m_options.list(); }
  void set_permutation(std::vector<std::int64_t> permutation) override {
    m_options.set_permutation(permutation);
  }
  void set_memory(lutra_memory memory) override { m_memory = memory; }
  void set_stream(void* stream) override {
    require(!on_host || stream == nullptr, "stream: the backend " + backend_name<Space>() + " has none");
    m_stream = stream;
  }
  void set_log(std::function<void(const Event&)> log) override { m_options.set_log(std::move(log)); }
  void set_stop(std::shared_ptr<StopFlag> stop) override { m_options.common().stop = std::move(stop); }
  void set_observers(std::shared_ptr<const Observers> observers) override {
    Observers all = observers ? *observers : Observers();
    if (const auto& own = m_options.common().observers) all.event = own->event;
    m_options.common().observers = std::make_shared<const Observers>(std::move(all));
  }

  void analyze(const lutra_matrix& A) override {
    with_matrix_types<Scalar, Space>(A, m_index, m_memory, [&](const auto& matrix) {
      const Space exec = instance_on<Space>(m_stream);
      const MemoryBudget budget(m_options.memory_limit());
      MemoryReservation copy(budget);
      Impl::MatrixReader<Scalar, Space> reader;  // frees converted arrays when it is destroyed
      if constexpr (requires {
                      matrix.row_map.data();
                      matrix.row_map.extent(0);
                    }) {
        analyze_by_method(exec, reader.read(exec, matrix, budget));
      } else {
        analyze_by_method(exec, reader.read(exec, Impl::to_device(exec, copy, matrix), budget));
      }
      exec.fence("lutra::c: copies of the matrix are freed");
    });
    m_rows = A.n_rows;
    m_nnz = A.nnz;
  }

  void factorize_batch(const BatchValues& v) override {
    analyzed("lutra_batch_factorize");
    require(v.systems >= 0, "n_systems: it is " + std::to_string(v.systems));
    const StridedArray array{{m_nnz, 1, v.systems}, {v.entry, 1, v.system}};
    array.check("values", v.values, false);
    const auto count = static_cast<std::size_t>(v.systems);
    const auto mask = std::make_unique<bool[]>(count);
    for (std::size_t k = 0; k < count; ++k) mask[k] = v.mask == nullptr || v.mask[k] != 0;
    const auto values = reach(static_cast<const Scalar*>(v.values), array);
    const Kokkos::View<const Scalar**, Layout, Memory> view(
        values.data, Layout(static_cast<std::size_t>(m_nnz), static_cast<std::size_t>(v.entry), count,
                            static_cast<std::size_t>(v.system)));
    with_any([&](auto& solver) {
      const Status status = solver.factorize(view, std::span<const bool>(mask.get(), count));
      m_values = values.copy;
      m_systems = v.systems;
      complete(status, status == Status::success ? Status::not_solved : status);
    });
  }

  void solve_batch(Transposition op, const BatchColumns& columns) override {
    analyzed("lutra_batch_solve");
    with_any([&](auto& solver) {
      if constexpr (std::is_same_v<std::decay_t<decltype(solver)>, Ilu>) {
        throw InputError(
            "lutra_batch_solve: incomplete factors are no solver; use lutra_batch_apply, or LUTRA_KRYLOV");
      } else {
        run(columns, [&](const auto& B, const auto& X) {
          const Status status = solver.solve(B, X, op);
          complete(status, status);
        });
      }
    });
  }
  void apply_batch(Transposition op, const BatchColumns& columns) override {
    analyzed("lutra_batch_apply");
    with_any([&](auto& solver) {
      if constexpr (std::is_same_v<std::decay_t<decltype(solver)>, Ilu>) {
        run(columns, [&](const auto& B, const auto& X) { solver.apply(B, X, op); });
      } else {
        throw InputError("lutra_batch_apply: it belongs to LUTRA_ILU; use lutra_batch_solve");
      }
    });
  }

  std::vector<std::int64_t> integers(const std::string& key) const override {
    std::vector<std::int64_t> list;
    const auto take = [&](const auto& numbers) { list.assign(numbers.begin(), numbers.end()); };
    with_report([&](const auto& report) {
      if (key == "statuses") {
        for (const Status status : report.statuses) list.push_back(to_c(status));
      } else if constexpr (std::is_same_v<std::decay_t<decltype(report)>, BatchedKrylovReport>) {
        if (key == "iterations") return take(report.iterations);
        if (key == "restarts") return take(report.restarts);
        unknown(key, "statuses, iterations, restarts");
      } else {
        if (key == "refinement_steps") return take(report.refinement_steps);
        if (key == "perturbed_pivots") return take(report.perturbed_pivots);
        if (key == "alone") return take(report.alone);
        if (key == "chunks") return list.push_back(report.chunks);
        const auto of = [&](std::optional<std::int64_t> Inertia::*number) {
          for (const Inertia& inertia : report.inertia) list.push_back((inertia.*number).value_or(-1));
        };
        if (key == "inertia.positive") return of(&Inertia::positive);
        if (key == "inertia.negative") return of(&Inertia::negative);
        if (key == "inertia.zero") return of(&Inertia::zero);
        unknown(key,
                "statuses, refinement_steps, perturbed_pivots, alone, chunks, inertia.positive, "
                "inertia.negative, inertia.zero");
      }
    });
    return list;
  }
  std::vector<double> numbers(const std::string& key) const override {
    std::vector<double> list;
    with_report([&](const auto& report) {
      if constexpr (std::is_same_v<std::decay_t<decltype(report)>, BatchedKrylovReport>) {
        if (key != "residuals") unknown(key, "residuals");
        list = report.residuals;
      } else {
        if (key != "errors.backward_componentwise" && key != "errors.backward_normwise")
          unknown(key, "errors.backward_componentwise, errors.backward_normwise");
        list = key == "errors.backward_normwise" ? report.normwise : report.componentwise;
      }
    });
    return list;
  }

  const Report& report() const override { return m_report; }
  std::string message() const override {
    const auto statuses = integers("statuses");
    std::int64_t count = 0, first = -1;
    for (std::size_t k = 0; k < statuses.size(); ++k) {
      if (statuses[k] != to_c(m_report.status)) continue;
      if (count++ == 0) first = static_cast<std::int64_t>(k);
    }
    if (first < 0) return describe(m_report);
    return std::to_string(count) + " of " + std::to_string(m_systems) +
           " systems: " + lutra_status_name(to_c(m_report.status)) + "; the first is system " +
           std::to_string(first);
  }
  ReportRecord record() const override {
    ReportRecord record;
    record.run = describe_run<Space>();
    record.matrix.rows = record.matrix.cols = m_rows;
    record.matrix.nnz = m_nnz;
    constexpr const char* names[] = {"f32", "f64", "c64", "c128"};
    record.matrix.scalar = names[scalar_of<Scalar>];
    record.report = m_report;
    if (m_report.status != Status::success) record.message = message();
    return record;
  }

 private:
  /// A caller's array where the backend reaches it.
  template <class Element>
  struct Reached {
    Element* data;
    Kokkos::View<Scalar*, Memory> copy;  ///< empty if it is in place
  };

  [[noreturn]] static void unknown(const std::string& key, const char* known) {
    throw InputError("key '" + key + "' is unknown (choose from " + known + ")");
  }
  /// Writes the outcome of a call. @throws CancelledError if it was stopped
  void complete(Status returned, Status reported) {
    m_report = choices();
    m_report.status = reported;
    if (returned == Status::cancelled) throw CancelledError();
    with_report([&](const auto& report) {
      if constexpr (std::is_same_v<std::decay_t<decltype(report)>, BatchedKrylovReport>) {
        for (const int iterations : report.iterations)
          m_report.iterations = std::max<std::int64_t>(m_report.iterations.value_or(0), iterations);
      } else {
        raise(m_report.errors.backward_componentwise, report.componentwise);
        raise(m_report.errors.backward_normwise, report.normwise);
      }
    });
  }
  /// A report without the outcome of a call: choices of the analysis, and the engine that the batch takes.
  /// Krylov methods have none.
  Report choices() const {
    Report report;
    std::visit(
        [&](const auto& solver) {
          using Held = std::decay_t<decltype(solver)>;
          if constexpr (!std::is_same_v<Held, std::monostate> &&
                        !std::is_same_v<Held, std::unique_ptr<Krylov>>) {
            const auto& of_analysis = solver->analysis()->report.choice;
            report.choice.method = of_analysis.method;
            report.choice.ordering = of_analysis.ordering;
            report.choice.matching = of_analysis.matching;
            report.choice.engine = name_of(solver->report().engine);
          }
        },
        m_solver);
    return report;
  }
  /// To the largest number; NaN are systems without a solution.
  static void raise(std::optional<double>& most, const std::vector<double>& numbers) {
    for (const double number : numbers)
      if (!std::isnan(number)) most = std::max(most.value_or(0), number);
  }

  template <class Solver, class Options, class Matrix>
  void analyze_with(const Options& options, const Space& exec, const Matrix& A) {
    auto solver = std::make_unique<Solver>(options, exec);
    const Status status = solver->analyze(A);
    if (status == Status::cancelled) throw CancelledError();
    m_solver = std::move(solver);
    m_systems = 0;
    m_values = {};
    m_report = choices();
    m_report.status = status == Status::success ? Status::not_solved : status;
  }
  template <class Matrix>
  void analyze_by_method(const Space& exec, const Matrix& A) {
    if (m_method == LUTRA_ILU) return analyze_with<Ilu>(m_options.ilu_options(), exec, A);
    const SolverOptions options = m_options.solver_options();
    if (m_method == LUTRA_LU) return analyze_with<Lu>(options.lu_options(), exec, A);
    if (m_method == LUTRA_KRYLOV) return analyze_with<Krylov>(options.krylov_options(), exec, A);
    analyze_with<Ldlt>(options.ldlt_options(m_method == LUTRA_CHOLESKY), exec, A);
  }
  void analyzed(const char* function) const {
    if (std::holds_alternative<std::monostate>(m_solver))
      throw CallOrderError(std::string(function) + ": there is no analysis; call lutra_analyze first");
  }
  /// If memory runs out, the report says so, as that of the C++ object.
  template <class Call>
  void with_any(const Call& call) {
    try {
      std::visit(
          [&](auto& solver) {
            if constexpr (!std::is_same_v<std::decay_t<decltype(solver)>, std::monostate>) call(*solver);
          },
          m_solver);
    } catch (const std::bad_alloc&) {
      with_report([&](const auto& report) { m_report.status = report.status; });
      throw;
    }
  }
  template <class Call>
  void with_report(const Call& call) const {
    std::visit(
        [&](const auto& solver) {
          if constexpr (std::is_same_v<std::decay_t<decltype(solver)>, std::monostate>)
            call(BatchReport());
          else
            call(solver->report());
        },
        m_solver);
  }

  /// Copies an array with its gaps to a device that cannot read host memory.
  template <class Element>
  Reached<Element> reach(Element* data, const StridedArray& array) const {
    if constexpr (!on_host) {
      if (m_memory == LUTRA_HOST && !array.is_empty()) {
        const auto length = static_cast<std::size_t>(array.span());
        Kokkos::View<Scalar*, Memory> copy(
            Kokkos::view_alloc(Kokkos::WithoutInitializing, "lutra::c::from_host"), length);
        Kokkos::deep_copy(copy, Kokkos::View<const Scalar*, Kokkos::HostSpace>(data, length));
        return {copy.data(), copy};
      }
    }
    return {data, {}};
  }

  template <class Call>
  void run(const BatchColumns& c, const Call& call) const {
    require(c.count >= 0, "n_rhs: it is " + std::to_string(c.count));
    require(c.B_strides != nullptr, "B_strides: it is null");
    require(c.X_strides != nullptr, "X_strides: it is null");
    const auto array = [&](const lutra_strides& s) {
      return StridedArray{{m_rows, c.count, m_systems}, {s.row, s.column, s.system}};
    };
    const StridedArray of_B = array(*c.B_strides), of_X = array(*c.X_strides);
    of_B.check("B", c.B, false);
    of_X.check("X", c.X, true);
    auto* const X = static_cast<Scalar*>(c.X);
    const auto from = reach(static_cast<const Scalar*>(c.B), of_B);
    const auto to = reach(X, of_X);
    const typename Batch::const_block_type B_view(from.data, of_B.layout());
    const typename Batch::block_type X_view(to.data, of_X.layout());
    const auto copy_back = [&] {
      if (to.copy.extent(0) > 0)
        Kokkos::deep_copy(Kokkos::View<Scalar*, Kokkos::HostSpace>(X, to.copy.extent(0)), to.copy);
    };
    call(B_view, X_view);
    copy_back();
    if constexpr (on_host) Space().fence("lutra::c: X is complete on the host");
  }

  lutra_method m_method;
  int m_index;  ///< LUTRA_INT32 or LUTRA_INT64, of columns
  Impl::MethodOptions m_options;
  lutra_memory m_memory = LUTRA_HOST;
  void* m_stream = nullptr;
  /// Empty before the first analysis.
  std::variant<std::monostate, std::unique_ptr<Lu>, std::unique_ptr<Ldlt>, std::unique_ptr<Ilu>,
               std::unique_ptr<Krylov>>
      m_solver;
  Kokkos::View<Scalar*, Memory> m_values;  ///< copy of host arrays that chunks read again
  Report m_report;                         ///< status and worst numbers of the last call
  std::int64_t m_rows = 0, m_nnz = 0, m_systems = 0;
};

}  // namespace lutra::C

#endif
