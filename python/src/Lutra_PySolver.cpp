// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_PySolver.hpp"

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <new>

#include "Lutra_Allocate.hpp"
#include "Lutra_PySpace.hpp"
#include "Lutra_Solver.hpp"
#include "Lutra_SparseILU.hpp"

namespace lutra::Python {
namespace {

/// Calls `action` with a matrix for the solver: Views of the arrays of the caller, or a HostMatrix if the
/// space cannot access them.
template <class Scalar, class Action>
void with_matrix(const MatrixArrays& A, OrdinalType columns, const Action& action) {
  const auto size = static_cast<std::size_t>(A.n_rows) + 1, nnz = static_cast<std::size_t>(A.nnz);
  const auto with_types = [&]<class Index, class Integer>(Index, Integer) {
    if (!std::in_range<Index>(A.n_rows) || !std::in_range<Index>(A.n_cols))
      throw InputError("A: " + std::to_string(A.n_rows) + " × " + std::to_string(A.n_cols) +
                       " is too large for its indices of 32 bits");
    const auto n_rows = static_cast<Index>(A.n_rows), n_cols = static_cast<Index>(A.n_cols);
    const auto* const row_map = elements<Integer>("indptr", A.row_map);
    const auto* const entries = elements<Index>("indices", A.entries);
    const auto* const values = elements<Scalar>("data", A.values);
    if constexpr (!on_host) {
      if (!A.on_device)
        return action(HostMatrix<Scalar, Index, Integer>{
            n_rows, n_cols, {row_map, row_map + size}, {entries, entries + nnz}, {values, values + nnz}});
    }
    action(CsrView<Scalar, Index, Integer, Memory>{
        n_rows, n_cols, Kokkos::View<const Integer*, Memory>(row_map, size),
        Kokkos::View<const Index*, Memory>(entries, nnz), Kokkos::View<const Scalar*, Memory>(values, nnz)});
  };
  const auto with_columns = [&](auto index) {
    if (A.wide) return with_types(index, std::int64_t());
    with_types(index, int());
  };
  if (columns == OrdinalType::int32) return with_columns(int());
  with_columns(std::int64_t());
}

template <class Scalar>
using Strided = Kokkos::View<Scalar**, Kokkos::LayoutStride, Memory>;

template <class Scalar>
Strided<Scalar> view_of(const char* name, const Vectors& V) {
  return Strided<Scalar>(elements<std::remove_const_t<Scalar>>(name, V.data),
                         Kokkos::LayoutStride(V.n, V.row_stride, V.k, V.column_stride));
}

/// X = f(B) by `views`, or, for host arrays and a device, by `spans` of values stored by columns.
template <class Scalar, class Views, class Spans>
void with_vectors(const Vectors& B, const Vectors& X, const Views& views, const Spans& spans) {
  if (B.on_device != X.on_device) throw InputError("out: it is not where b is");
  if constexpr (!on_host) {
    if (!B.on_device) {
      const auto* const from = elements<Scalar>("b", B.data);
      auto* const to = elements<Scalar>("out", X.data);
      std::vector<Scalar> in(B.n * B.k), out(X.n * X.k);
      for (std::size_t c = 0; c < B.k; ++c)
        for (std::size_t i = 0; i < B.n; ++i) in[c * B.n + i] = from[i * B.row_stride + c * B.column_stride];
      for (std::size_t c = 0; c < X.k; ++c)
        for (std::size_t i = 0; i < X.n; ++i) out[c * X.n + i] = to[i * X.row_stride + c * X.column_stride];
      spans(std::span<const Scalar>(in), std::span<Scalar>(out));
      for (std::size_t c = 0; c < X.k; ++c)
        for (std::size_t i = 0; i < X.n; ++i) to[i * X.row_stride + c * X.column_stride] = out[c * X.n + i];
      return;
    }
  }
  views(view_of<const Scalar>("b", B), view_of<Scalar>("out", X));
}

/// std::complex from Kokkos::complex; real numbers unchanged.
template <class Scalar>
ScalarVector to_scalar_vector(const std::vector<Scalar>& values) {
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    std::vector<std::complex<RealOf<Scalar>>> result;
    for (const Scalar& value : values) result.emplace_back(value.real(), value.imag());
    return result;
  } else {
    return values;
  }
}

template <class Scalar>
FactorArrays to_arrays(const FactorValues<Scalar>& factors) {
  FactorArrays arrays;
  arrays.row_order = factors.row_order;
  arrays.col_order = factors.col_order;
  arrays.rows = factors.rows;
  arrays.columns = factors.columns;
  arrays.row_scale.assign(factors.row_scale.begin(), factors.row_scale.end());
  arrays.col_scale.assign(factors.col_scale.begin(), factors.col_scale.end());
  arrays.values = to_scalar_vector(factors.values);
  arrays.diagonal = to_scalar_vector(factors.diagonal);
  arrays.off_diagonal = to_scalar_vector(factors.off_diagonal);
  return arrays;
}

/// Factors of A + diag(shift) for Views. It is never called with a HostMatrix.
template <class Library, class Matrix, class Shift>
void factorize_view(Library& solver, const Matrix& A, const Shift& shift) {
  if constexpr (requires { solver.factorize(A, shift); }) complete(solver.factorize(A, shift));
}

/// Shared by all solvers.
template <class Library, class Scalar>
class SolverOf : public Solver {
 public:
  template <class LibraryOptions>
  SolverOf(const LibraryOptions& options, OrdinalType columns)
      : m_exec(new_instance()), m_solver(options, m_exec), m_columns(columns) {}

  void analyze(const MatrixArrays& A) override {
    with_matrix<Scalar>(A, m_columns, [&](const auto& matrix) { complete(m_solver.analyze(matrix)); });
  }
  void factorize(const MatrixArrays& A) override {
    with_matrix<Scalar>(A, m_columns, [&](const auto& matrix) { complete(m_solver.factorize(matrix)); });
  }
  const Report& report() const override { return m_solver.report(); }

 protected:
  Space m_exec;
  Library m_solver;
  OrdinalType m_columns;  ///< index type of the columns of matrices
};

/// Factors for a Krylov method of the same scalar type.
template <class Scalar>
class HasPreconditioner {
 public:
  virtual ~HasPreconditioner() = default;
  virtual Preconditioner<Scalar, Space>& preconditioner() = 0;
};

template <class Scalar>
class IluSolverOf final : public SolverOf<SparseILU<Scalar, Space>, Scalar>,
                          public HasPreconditioner<Scalar> {
 public:
  using SolverOf<SparseILU<Scalar, Space>, Scalar>::SolverOf;

  void solve(const Vectors& B, const Vectors& X, Transposition op) override {
    check_extents(B);
    with_vectors<Scalar>(
        B, X, [&](const auto& from, const auto& to) { this->m_solver.apply(from, to, op); },
        [&](const auto& from, const auto& to) { this->m_solver.apply_host(from, to, op); });
    this->m_exec.fence("lutra::python: X is complete");
  }
  FactorArrays factors() override {
    require_usable();
    return to_arrays(this->m_solver.factorization().write_out(this->m_exec));
  }
  Preconditioner<Scalar, Space>& preconditioner() override {
    require_usable();
    return *this->m_solver.factorization().parts();
  }

 private:
  void require_usable() const {
    const Status status = this->report().status;
    if (status != Status::not_solved)
      throw CallOrderError("there are no usable factors: " + describe(this->report()));
  }
  void check_extents(const Vectors& B) const {
    require_usable();
    const auto n = static_cast<std::size_t>(this->m_solver.factorization().factors().n);
    if (B.n != n)
      throw InputError("B: it has " + std::to_string(B.n) + " rows, but the matrix has " + std::to_string(n));
  }
};

/// A function as a preconditioner. It gets host memory.
template <class Scalar>
class FunctionPreconditioner final : public Preconditioner<Scalar, Space> {
 public:
  explicit FunctionPreconditioner(ApproximateInverse function) : m_function(std::move(function)) {}
  void apply(const Space& exec, Transposition op, const DenseRows<Scalar, Memory>& B,
             const DenseRows<Scalar, Memory>& X) override {
    const auto from = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), B);
    const auto to = Kokkos::create_mirror_view(Kokkos::HostSpace(), X);
    exec.fence("lutra::python: B is on the host");
    m_function(op, from.data(), to.data(), B.extent(0), B.extent(1));
    Kokkos::deep_copy(exec, X, to);
  }

 private:
  ApproximateInverse m_function;
};

/// All methods but incomplete factors.
template <class Scalar>
class MethodSolver final : public SolverOf<lutra::Solver<Scalar, Space>, Scalar> {
  using Base = SolverOf<lutra::Solver<Scalar, Space>, Scalar>;
  using Ldlt = SparseLDLT<Scalar, Space>;

 public:
  using Base::Base;

  void solve(const Vectors& B, const Vectors& X, Transposition op) override {
    with_vectors<Scalar>(
        B, X, [&](const auto& from, const auto& to) { complete(this->m_solver.solve(from, to, op)); },
        [&](const auto& from, const auto& to) { complete(this->m_solver.solve_host(from, to, op)); });
  }
  FactorStructure structure() const override { return this->m_solver.structure(); }
  std::optional<MemoryForecast> forecast(int n_rhs) const override { return this->m_solver.forecast(n_rhs); }
  FactorArrays factors() override {
    FactorArrays arrays;
    with_own("no factors", [&](auto& solver) -> decltype(solver.factors(), void()) {
      arrays = to_arrays(solver.factors());
    });
    return arrays;
  }

  void factorize_shifted(const MatrixArrays& A, const void* shift) override {
    using Real = RealOf<Scalar>;
    const auto n = static_cast<std::size_t>(A.n_rows), nnz = static_cast<std::size_t>(A.nnz);
    const auto with_views = [&](const MatrixArrays& arrays,
                                const Kokkos::View<const Real*, Memory>& diagonal) {
      with_own("no shift", [&](Ldlt& solver) {
        with_matrix<Scalar>(arrays, this->m_columns,
                            [&](const auto& matrix) { factorize_view(solver, matrix, diagonal); });
      });
    };
    const auto* const numbers = elements<Real>("shift", shift);
    if (on_host || A.on_device) return with_views(A, Kokkos::View<const Real*, Memory>(numbers, n));
    const auto bytes = [](const void* array, std::size_t count, bool wide) {
      return to_memory(static_cast<const std::byte*>(array), count * (wide ? 8 : 4));
    };
    const auto offsets = bytes(A.row_map, n + 1, A.wide);
    const auto entries = bytes(A.entries, nnz, this->m_columns == OrdinalType::int64);
    const auto values = to_memory(elements<Scalar>("data", A.values), nnz);
    with_views({A.n_rows, A.n_cols, A.nnz, offsets.data(), A.wide, entries.data(), values.data(), true},
               to_memory(numbers, n));
  }

  void solve_parts(const Vectors& B, const Vectors& X, Parts parts, Transposition op) override {
    using Columns = Kokkos::View<Scalar**, Kokkos::LayoutLeft, Memory>;
    using HostColumns = Kokkos::View<Scalar**, Kokkos::LayoutLeft, Kokkos::HostSpace>;
    using ConstHostColumns = Kokkos::View<const Scalar**, Kokkos::LayoutLeft, Kokkos::HostSpace>;
    const auto solve_views = [&](const auto& from, const auto& to) {
      with_own("no L, D and U", [&](Ldlt& solver) {
        solver.solve_parts(from, to, {parts.lower, parts.diagonal, parts.upper}, op);
      });
    };
    with_vectors<Scalar>(B, X, solve_views, [&](const auto& from, const auto& to) {
      const Columns in("lutra::python::B", B.n, B.k), out("lutra::python::X", X.n, X.k);
      Kokkos::deep_copy(in, ConstHostColumns(from.data(), B.n, B.k));
      solve_views(in, out);
      Kokkos::deep_copy(HostColumns(to.data(), X.n, X.k), out);
    });
  }

  std::pair<std::complex<double>, double> determinant() override {
    std::pair<std::complex<double>, double> result;
    with_own("no determinant", [&](Ldlt& solver) {
      const auto found = solver.determinant();
      const Kokkos::complex<double> sign(found.sign);
      result = {{sign.real(), sign.imag()}, found.log_magnitude};
    });
    return result;
  }
  bool increase_quality() override {
    bool raised = false;
    with_own("no threshold to raise", [&](Ldlt& solver) { raised = solver.increase_quality(); });
    return raised;
  }

  void precondition_by(Solver& M) override {
    auto* const factors = dynamic_cast<HasPreconditioner<Scalar>*>(&M);
    if (factors == nullptr) throw InputError("M: these factors are of another scalar type than A");
    precondition({&factors->preconditioner(), [](auto*) {}});  // not owned
  }
  void precondition_by(ApproximateInverse M) override {
    precondition(std::make_shared<FunctionPreconditioner<Scalar>>(std::move(M)));
  }

 private:
  void precondition(std::shared_ptr<Preconditioner<Scalar, Space>> M) {
    with_own("no preconditioner", [&](KrylovSolver<Scalar, Space>& solver) { solver.set_preconditioner(M); });
  }

  /// Calls call(solver) with the solver of the method, where it takes that.
  /// @param lacks what the solver has not, otherwise
  template <class Call>
  void with_own(const char* lacks, const Call& call) {
    this->m_solver.with_method([&](auto& solver) {
      if constexpr (requires { call(solver); })
        call(solver);
      else
        this->refuse(lacks);
    });
  }
};

template <class Scalar>
std::unique_ptr<Solver> make_typed(const Impl::MethodOptions& options, OrdinalType columns) {
  if (options.is_incomplete()) return std::make_unique<IluSolverOf<Scalar>>(options.ilu_options(), columns);
  return std::make_unique<MethodSolver<Scalar>>(options.solver_options(), columns);
}

bool started_here = false;  // Kokkos, by start_kokkos

using BytesOnDevice = Kokkos::View<unsigned char*, Memory>;
using ConstBytesOnDevice = Kokkos::View<const unsigned char*, Memory>;

/// Words in which two arrays differ.
struct DifferentWords {
  const std::uint32_t *one, *other;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t& count) const { count += one[i] != other[i]; }
};

}  // namespace

Impl::MethodOptions parse_options(const std::string& method, const Options& options) {
  Impl::MethodOptions result(method);
  for (const auto& [name, value] : options.named) {
    result.set(name, value);
    if (name == "ordering" && value != "auto" && !options.user_permutation.empty())
      throw InputError("options: ordering and user_permutation are two orderings; give one of them");
  }
  if (options.goes_on) {
    Observers observers;
    observers.progress = [goes_on = options.goes_on](const Progress&) { return goes_on(); };
    result.common().observers = std::make_shared<const Observers>(std::move(observers));
  }
  if (options.log) result.set_log(options.log);
  if (options.user_permutation.empty()) return result;
  if (method == "krylov") throw InputError("user_permutation: this solver has no ordering");
  result.set_permutation(options.user_permutation);
  return result;
}

std::unique_ptr<Solver> make_solver(const std::string& method, ScalarType scalar, OrdinalType ordinal,
                                    const Options& options) {
#define LUTRA_TRY_TYPES(Scalar) \
  if (scalar == scalar_type<Scalar>) return make_typed<Scalar>(parse_options(method, options), ordinal);
  LUTRA_FOR_EACH_SCALAR(LUTRA_TRY_TYPES)
#undef LUTRA_TRY_TYPES
  throw InputError("Lutra was built without these types; lutra.build_info() lists those it has");
}

std::string list_options(const std::string& method) {
  std::string text;
  for (const NamedOption& option : Impl::MethodOptions(method).list())
    text += option.name + ": " + option.help + " (" + describe_values(option) + ")\n";
  return text;
}

void start_kokkos() {
  if (Kokkos::is_initialized()) return;
  if (Kokkos::is_finalized()) throw InputError("Kokkos has ended; nothing can be solved any more");
  Kokkos::InitializationSettings settings;
  if (std::getenv("KOKKOS_DISABLE_WARNINGS") == nullptr) settings.set_disable_warnings(true);
  Kokkos::initialize(settings);
  started_here = true;
}

void stop_kokkos() noexcept {
  if (started_here && Kokkos::is_initialized()) Kokkos::finalize();
  started_here = false;
}

std::string backend() {
  std::string name = Space::name();
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

bool has_device() {
  return !on_host;
}

int device_id() {
  return !on_host && Kokkos::is_initialized() ? Kokkos::device_id() : -1;
}

void require_own_device(const char* name, int device) {
  const int own = device_id();
  if (own < 0 || device == own) return;
  throw InputError(std::string(name) + ": the array is on device " + std::to_string(device) +
                   ", but Lutra works on device " + std::to_string(own) +
                   "; pass a copy there, or set KOKKOS_DEVICE_ID before the first solver is made");
}

std::shared_ptr<void> allocate(std::size_t bytes, bool on_device) {
  if (!on_device) return {::operator new(bytes), [](void* memory) { ::operator delete(memory); }};
  constexpr auto label = "lutra::python::X";
  return {Impl::allocating(label, bytes, [&] { return Kokkos::kokkos_malloc<Memory>(label, bytes); }),
          [](void* memory) {
            if (Kokkos::is_initialized()) Kokkos::kokkos_free<Memory>(memory);
          }};
}

void set_to_nan(void* memory, std::size_t bytes, bool on_device) {
  constexpr unsigned char quiet = 0xff;  // in all bytes of a number of IEEE 754
  if (!on_device) {
    std::memset(memory, quiet, bytes);
    return;
  }
  Kokkos::deep_copy(BytesOnDevice(static_cast<unsigned char*>(memory), bytes), quiet);
}

void copy_bytes(void* to, const void* from, std::size_t bytes, bool on_device) {
  if (!on_device) {
    if (bytes > 0) std::memcpy(to, from, bytes);
    return;
  }
  Kokkos::deep_copy(BytesOnDevice(static_cast<unsigned char*>(to), bytes),
                    ConstBytesOnDevice(static_cast<const unsigned char*>(from), bytes));
}

bool are_same_bytes(const void* one, const void* other, std::size_t bytes, bool on_device) {
  if (!on_device) return bytes == 0 || std::memcmp(one, other, bytes) == 0;
  const DifferentWords count{static_cast<const std::uint32_t*>(one),
                             static_cast<const std::uint32_t*>(other)};
  std::int64_t differ = 0;
  Kokkos::parallel_reduce("lutra::python::are_same_bytes",
                          Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(
                              0, static_cast<std::int64_t>(bytes / sizeof(std::uint32_t))),
                          count, differ);
  return differ == 0;
}

}  // namespace lutra::Python
