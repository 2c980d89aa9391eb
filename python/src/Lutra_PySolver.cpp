// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_PySolver.hpp"

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <limits>

#include "Lutra_BuiltTypes.hpp"
#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_KrylovSolver.hpp"
#include "Lutra_NamedOptions.hpp"
#include "Lutra_SparseILU.hpp"
#include "Lutra_SparseLDLT.hpp"
#include "Lutra_SparseLU.hpp"

namespace lutra::Python {
namespace {

/// Kokkos' default, or where Lutra was built without it the host's.
using Space = std::conditional_t<Impl::is_built_space<Kokkos::DefaultExecutionSpace>,
                                 Kokkos::DefaultExecutionSpace, Kokkos::DefaultHostExecutionSpace>;
using Memory = Space::memory_space;
constexpr bool on_host = Impl::is_host_space<Space>;

/// An instance of its own for each solver, so that several may work at the same time.
Space new_instance() {
  return Kokkos::Experimental::partition_space(Space(), 1).front();
}

template <class Scalar>
constexpr ScalarType scalar_type =
    sizeof(RealOf<Scalar>) == 4 ? (ScalarTraits<Scalar>::is_complex ? ScalarType::c64 : ScalarType::f32)
                                : (ScalarTraits<Scalar>::is_complex ? ScalarType::c128 : ScalarType::f64);
/// The array as T, which has to be where T may be.
template <class T>
T* elements(const char* name, const void* data) {
  if (reinterpret_cast<std::uintptr_t>(data) % alignof(T) != 0)
    throw InputError(std::string(name) + ": the array is not aligned to " + std::to_string(alignof(T)) +
                     " bytes; pass a copy");
  return const_cast<T*>(static_cast<const T*>(data));
}

/// Where Python's arrays are, as far as the solver's space is concerned.
void require_reachable(const char* name, bool on_device) {
  if (on_device && on_host)
    throw InputError(std::string(name) + ": the array is on a device, but Lutra works with " + backend() +
                     " here");
}

/// Calls `action` with a matrix the solver takes: Views of the caller's arrays, or a HostMatrix where the
/// space cannot reach them.
template <class Scalar, class Action>
void with_matrix(const MatrixArrays& A, OrdinalType columns, const Action& action) {
  require_reachable("A", A.on_device);
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

/// A copy of a host's array in the solver's memory.
template <class T>
auto to_memory(const T* array, std::size_t size) {
  return Kokkos::create_mirror_view_and_copy(Memory(),
                                             Kokkos::View<const T*, Kokkos::HostSpace>(array, size));
}

template <class Scalar>
using Strided = Kokkos::View<Scalar**, Kokkos::LayoutStride, Memory>;

template <class Scalar>
Strided<Scalar> view_of(const char* name, const Vectors& V) {
  return Strided<Scalar>(elements<std::remove_const_t<Scalar>>(name, V.data),
                         Kokkos::LayoutStride(V.n, V.row_stride, V.k, V.column_stride));
}

/// X = f(B) by `views`, or for host arrays of a device by `spans` of values by columns.
template <class Scalar, class Views, class Spans>
void with_vectors(const Vectors& B, const Vectors& X, const Views& views, const Spans& spans) {
  require_reachable("b", B.on_device);
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

/// std::complex of Kokkos' complex, real numbers as they are.
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

/// A solve with complete factors or a Krylov method, or an application of incomplete factors.
template <class Library, class View, class Out>
void solve_views(Library& solver, const View& B, const Out& X, Transposition op) {
  if constexpr (requires { solver.solve(B, X, op); }) {
    solver.solve(B, X, op);
  } else {
    solver.apply(B, X, op);
  }
}
template <class Library, class Span, class Out>
void solve_spans(Library& solver, const Span& B, const Out& X, Transposition op) {
  if constexpr (requires { solver.solve_host(B, X, op); }) {
    solver.solve_host(B, X, op);
  } else {
    solver.apply_host(B, X, op);
  }
}

/// Factors of A + diag(shift) for Views; a HostMatrix does not come here.
template <class Library, class Matrix, class Shift>
void factorize_view(Library& solver, const Matrix& A, const Shift& shift) {
  if constexpr (requires { solver.factorize(A, shift); }) static_cast<void>(solver.factorize(A, shift));
}

/// The part that all solvers share.
template <class Library, class Scalar>
class SolverOf : public Solver {
 public:
  template <class LibraryOptions>
  SolverOf(const LibraryOptions& options, OrdinalType columns)
      : m_exec(new_instance()), m_solver(options, m_exec), m_columns(columns) {}

  void analyze(const MatrixArrays& A) override {
    with_matrix<Scalar>(A, m_columns,
                        [&](const auto& matrix) { static_cast<void>(m_solver.analyze(matrix)); });
  }
  void factorize(const MatrixArrays& A) override {
    with_matrix<Scalar>(A, m_columns,
                        [&](const auto& matrix) { static_cast<void>(m_solver.factorize(matrix)); });
  }
  void solve(const Vectors& B, const Vectors& X, Transposition op) override {
    with_vectors<Scalar>(
        B, X, [&](const auto& from, const auto& to) { solve_views(m_solver, from, to, op); },
        [&](const auto& from, const auto& to) { solve_spans(m_solver, from, to, op); });
  }
  const Report& report() const override { return m_solver.report(); }

 protected:
  Space m_exec;
  Library m_solver;
  OrdinalType m_columns;  ///< index type of the columns of matrices
};

template <class Library, class Scalar>
class DirectSolverOf : public SolverOf<Library, Scalar> {
 public:
  using SolverOf<Library, Scalar>::SolverOf;
  FactorArrays factors() const override { return to_arrays(this->m_solver.factors()); }
  FactorStructure structure() const override { return this->m_solver.structure(); }
};

template <class Scalar>
class LdltSolverOf final : public DirectSolverOf<SparseLDLT<Scalar, Space>, Scalar> {
 public:
  using DirectSolverOf<SparseLDLT<Scalar, Space>, Scalar>::DirectSolverOf;

  void factorize_shifted(const MatrixArrays& A, const void* shift) override {
    using Real = RealOf<Scalar>;
    const auto n = static_cast<std::size_t>(A.n_rows);
    const auto with_views = [&](const MatrixArrays& arrays,
                                const Kokkos::View<const Real*, Memory>& diagonal) {
      with_matrix<Scalar>(arrays, this->m_columns,
                          [&](const auto& matrix) { factorize_view(this->m_solver, matrix, diagonal); });
    };
    const auto* const numbers = elements<Real>("shift", shift);
    if (on_host || A.on_device) return with_views(A, Kokkos::View<const Real*, Memory>(numbers, n));
    const auto nnz = static_cast<std::size_t>(A.nnz);
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
    const LdltParts chosen{parts.lower, parts.diagonal, parts.upper};
    with_vectors<Scalar>(
        B, X, [&](const auto& from, const auto& to) { this->m_solver.solve_parts(from, to, chosen, op); },
        [&](const auto& from, const auto& to) {
          using Columns = Kokkos::View<Scalar**, Kokkos::LayoutLeft, Memory>;
          const Columns in("lutra::python::B", B.n, B.k), out("lutra::python::X", X.n, X.k);
          Kokkos::deep_copy(
              in, Kokkos::View<const Scalar**, Kokkos::LayoutLeft, Kokkos::HostSpace>(from.data(), B.n, B.k));
          this->m_solver.solve_parts(in, out, chosen, op);
          Kokkos::deep_copy(
              Kokkos::View<Scalar**, Kokkos::LayoutLeft, Kokkos::HostSpace>(to.data(), X.n, X.k), out);
        });
  }

  std::pair<std::complex<double>, double> determinant() const override {
    const auto found = this->m_solver.determinant();
    const Kokkos::complex<double> sign(found.sign);
    return {{sign.real(), sign.imag()}, found.log_magnitude};
  }
  bool increase_quality() override { return this->m_solver.increase_quality(); }
};

/// Factors as a Krylov method of the same scalar type takes them.
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
    SolverOf<SparseILU<Scalar, Space>, Scalar>::solve(B, X, op);
    this->m_exec.fence("lutra::python: X is complete");
  }
  FactorArrays factors() const override {
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

/// A function as a preconditioner. It is given host memory.
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

template <class Scalar>
class KrylovSolverOf final : public SolverOf<KrylovSolver<Scalar, Space>, Scalar> {
 public:
  using SolverOf<KrylovSolver<Scalar, Space>, Scalar>::SolverOf;

  void precondition_by(Solver& M) override {
    auto* const factors = dynamic_cast<HasPreconditioner<Scalar>*>(&M);
    if (factors == nullptr) throw InputError("M: these factors are of another scalar type than A");
    // not owned
    this->m_solver.set_preconditioner({&factors->preconditioner(), [](auto*) {}});
  }
  void precondition_by(ApproximateInverse M) override {
    this->m_solver.set_preconditioner(std::make_shared<FunctionPreconditioner<Scalar>>(std::move(M)));
  }
};

template <class Struct>
Struct parse_options(const Options& options) {
  Struct result;
  for (const auto& [name, value] : options.named) set_option(result, name, value);
  if (options.user_permutation.empty()) return result;
  if constexpr (requires { result.user_permutation; }) {
    if (result.ordering != Ordering::automatic)
      throw InputError("options: ordering and user_permutation are two orderings; give one of them");
    result.ordering = Ordering::user;
    result.user_permutation = options.user_permutation;
    return result;
  } else {
    throw InputError("user_permutation: this solver has no ordering");
  }
}

template <class Scalar>
std::unique_ptr<Solver> make_typed(const std::string& method, OrdinalType columns, const Options& options) {
  using Lu = SparseLU<Scalar, Space>;
  if (method == "lu")
    return std::make_unique<DirectSolverOf<Lu, Scalar>>(parse_options<LuOptions>(options), columns);
  if (method == "ldlt")
    return std::make_unique<LdltSolverOf<Scalar>>(parse_options<LdltOptions>(options), columns);
  if (method == "ilu")
    return std::make_unique<IluSolverOf<Scalar>>(parse_options<SparseIluOptions>(options), columns);
  return std::make_unique<KrylovSolverOf<Scalar>>(parse_options<KrylovSolverOptions>(options), columns);
}

bool started_here = false;  // Kokkos, by start_kokkos

}  // namespace

void Solver::factorize_shifted(const MatrixArrays&, const void*) {
  throw InputError("shift: this solver takes none");
}
void Solver::solve_parts(const Vectors&, const Vectors&, Parts, Transposition) {
  throw InputError("this solver has no factors L, D and U");
}
std::pair<std::complex<double>, double> Solver::determinant() const {
  throw InputError("this solver has no determinant");
}
bool Solver::increase_quality() {
  throw InputError("this solver has no threshold to raise");
}
FactorArrays Solver::factors() const {
  throw InputError("this solver has no factors");
}
FactorStructure Solver::structure() const {
  throw InputError("this solver has no picture");
}
void Solver::precondition_by(Solver&) {
  throw InputError("this solver takes no preconditioner");
}
void Solver::precondition_by(ApproximateInverse) {
  throw InputError("this solver takes no preconditioner");
}

std::unique_ptr<Solver> make_solver(const std::string& method, ScalarType scalar, OrdinalType ordinal,
                                    const Options& options) {
#define LUTRA_TRY_TYPES(Scalar) \
  if (scalar == scalar_type<Scalar>) return make_typed<Scalar>(method, ordinal, options);
  LUTRA_FOR_EACH_SCALAR(LUTRA_TRY_TYPES)
#undef LUTRA_TRY_TYPES
  throw InputError("Lutra was built without these types; lutra.build_info() lists those it has");
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

void* allocate(std::size_t bytes) {
  return Kokkos::kokkos_malloc<Memory>("lutra::python::X", bytes);
}

void deallocate(void* memory) noexcept {
  if (Kokkos::is_initialized()) Kokkos::kokkos_free<Memory>(memory);
}

}  // namespace lutra::Python
