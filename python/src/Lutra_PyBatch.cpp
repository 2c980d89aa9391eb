// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_PyBatch.hpp"

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "Lutra_BuiltTypes.hpp"
#include "Lutra_PySpace.hpp"

namespace lutra::Python {
namespace {

/// Calls visit(offset) for each element in the order of the extents, the first one fastest.
template <class Visit>
void for_elements(const BatchArray& array, const Visit& visit) {
  for (std::size_t k = 0; k < array.extents[2]; ++k)
    for (std::size_t c = 0; c < array.extents[1]; ++c)
      for (std::size_t i = 0; i < array.extents[0]; ++i)
        visit(i * array.strides[0] + c * array.strides[1] + k * array.strides[2]);
}

/// An array in the memory of the solver: that of the caller, or a copy of it, without gaps.
template <class Scalar>
class Reached {
 public:
  using Plain = std::remove_const_t<Scalar>;
  using Flat = Kokkos::View<Plain*, Memory>;

  Reached(const char* name, const BatchArray& array)
      : m_array(array), m_data(elements<Plain>(name, array.data)) {
    if constexpr (!on_host) {
      if (!array.on_device) copy_in();
    }
  }
  /// [extent 0 × extent 1], for values.
  Kokkos::View<Scalar**, Kokkos::LayoutStride, Memory> matrix() const {
    const auto& [n, k, one] = m_array.extents;
    const Kokkos::LayoutStride layout(n, m_array.strides[0], k, m_array.strides[1]);
    return Kokkos::View<Scalar**, Kokkos::LayoutStride, Memory>(m_data, layout);
  }
  Kokkos::View<Scalar***, Kokkos::LayoutStride, Memory> block() const {
    const auto& [n, c, k] = m_array.extents;
    const auto& s = m_array.strides;
    const Kokkos::LayoutStride layout(n, s[0], c, s[1], k, s[2]);
    return Kokkos::View<Scalar***, Kokkos::LayoutStride, Memory>(m_data, layout);
  }
  /// Writes the copy, if there is one, back to the array of the caller.
  void copy_out() {
    if (m_copy.extent(0) == 0) return;
    const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), m_copy);
    auto* const to = static_cast<Plain*>(m_callers.data);
    std::size_t t = 0;
    for_elements(m_callers, [&](std::size_t offset) { to[offset] = host(t++); });
  }

 private:
  void copy_in() {
    const auto& [n, c, k] = m_array.extents;
    std::vector<Plain> packed;
    packed.reserve(n * c * k);
    for_elements(m_array, [&](std::size_t offset) { packed.push_back(m_data[offset]); });
    m_callers = m_array;
    m_copy = Flat("lutra::python::batch", packed.size());
    Kokkos::deep_copy(m_copy, Kokkos::View<const Plain*, Kokkos::HostSpace>(packed.data(), packed.size()));
    m_array.strides = {1, n, n * c};
    m_data = m_copy.data();
  }

  BatchArray m_array;    ///< as the solver sees it
  BatchArray m_callers;  ///< where there is a copy: as the caller sees it
  Plain* m_data;
  Flat m_copy;
};

/// A matrix in the types of an analysis, in the memory of the solver.
template <class Matrix, class Scalar>
class OwnMatrix {
 public:
  OwnMatrix(const MatrixArrays& A, OrdinalType columns) : m_values("data", one_system(A)) {
    m_matrix.n_rows = to_index(A.n_rows);
    m_matrix.n_cols = to_index(A.n_cols);
    const auto size = static_cast<std::size_t>(A.n_rows) + 1, nnz = static_cast<std::size_t>(A.nnz);
    const bool wide = columns == OrdinalType::int64;
    m_matrix.row_map = converted<RowMap>(A.row_map, size, A.wide, A.on_device);
    m_matrix.entries = converted<Entries>(A.entries, nnz, wide, A.on_device);
    m_matrix.values = decltype(Matrix::values)(m_values.matrix().data(), nnz);
  }
  const Matrix& view() const { return m_matrix; }

 private:
  using RowMap = decltype(Matrix::row_map);
  using Entries = decltype(Matrix::entries);
  using Index = decltype(Matrix::n_rows);

  static BatchArray one_system(const MatrixArrays& A) {
    return {const_cast<void*>(A.values), {static_cast<std::size_t>(A.nnz), 1, 1}, {1, 1, 1}, A.on_device};
  }
  template <class Value = Index>
  static Value to_index(std::int64_t value) {
    if (!std::in_range<Value>(value))
      throw InputError("A: " + std::to_string(value) + " is beyond the indices of this build");
    return static_cast<Value>(value);
  }
  template <class View>
  static View converted(const void* array, std::size_t size, bool wide, bool on_device) {
    if (wide) return converted<View>(static_cast<const std::int64_t*>(array), size, on_device);
    return converted<View>(static_cast<const std::int32_t*>(array), size, on_device);
  }
  template <class View, class Integer>
  static View converted(const Integer* array, std::size_t size, bool on_device) {
    using Value = typename View::non_const_value_type;
    std::vector<Integer> host(size);
    const Kokkos::View<Integer*, Kokkos::HostSpace> target(host.data(), size);
    if (on_device) {
      Kokkos::deep_copy(target, Kokkos::View<const Integer*, Memory>(array, size));
    } else {
      std::copy_n(array, size, host.data());
    }
    const Kokkos::View<Value*, Memory> result("lutra::python::pattern", size);
    const auto mirror = Kokkos::create_mirror_view(Kokkos::HostSpace(), result);
    for (std::size_t t = 0; t < size; ++t) mirror(t) = to_index<Value>(host[t]);
    Kokkos::deep_copy(result, mirror);
    return result;
  }

  Matrix m_matrix;
  Reached<const Scalar> m_values;
};

template <class Scalar, class BatchOptions>
class BatchOf final : public Batch {
  using Library = Batched<Scalar, Space, BatchOptions>;
  using Numeric = typename Library::numeric_type;
  using Values = typename Library::values_type;

 public:
  BatchOf(const BatchOptions& options, OrdinalType columns)
      : m_options(options), m_columns(columns), m_exec(new_instance()) {
    check_options(m_options);
  }

  void analyze(const MatrixArrays& A) override {
    if (A.n_rows != A.n_cols) throw InputError("A: it is not square");
    Library library(m_options, m_exec);
    const OwnMatrix<typename Library::matrix_type, Scalar> matrix(A, m_columns);
    complete(library.analyze(matrix.view()));
    set_analysis(library.analysis());
  }
  Status factorize(const BatchArray& values, std::span<const bool> mask) override {
    m_values.reset();
    auto reached = std::make_unique<Reached<const Scalar>>("values", values);
    const Status status = numeric().factorize(reached->matrix(), mask);
    complete(status);
    if (numeric().report().chunks > 1) m_values = std::move(reached);  // read again by solves
    return status;
  }
  Status solve(const BatchArray& B, const BatchArray& X, Transposition op) override {
    if (B.on_device != X.on_device) throw InputError("out: it is not where b is");
    const Reached<const Scalar> from("b", B);
    Reached<Scalar> to("out", X);
    const Status status = numeric().solve(from.block(), to.block(), op);
    complete(status);
    to.copy_out();
    return status;
  }
  const BatchReport& report() const override { return numeric().report(); }
  std::unique_ptr<Batch> sibling() const override {
    auto other = std::make_unique<BatchOf>(m_options, m_columns);
    other->set_analysis(numeric().analysis());
    return other;
  }

 private:
  void set_analysis(const std::shared_ptr<const typename Numeric::analysis_type>& analysis) {
    m_numeric = std::make_unique<Numeric>(analysis, Impl::numeric_options(m_options), m_exec);
  }
  Numeric& numeric() const {
    if (!m_numeric) throw InputError("the batch has no analysis");
    return *m_numeric;
  }

  BatchOptions m_options;
  OrdinalType m_columns;  ///< index type of the columns of matrices
  Space m_exec;
  std::unique_ptr<Numeric> m_numeric;               ///< null before the analysis
  std::unique_ptr<Reached<const Scalar>> m_values;  ///< of the last factorization, where solves read them
};

template <class Scalar>
std::unique_ptr<Batch> make_typed_batch(const std::string& method, const Impl::MethodOptions& options,
                                        OrdinalType columns) {
  const SolverOptions all = options.solver_options();
  if (options.is_ldlt())
    return std::make_unique<BatchOf<Scalar, LdltOptions>>(all.ldlt_options(all.method == Method::cholesky),
                                                          columns);
  if (method != "lu") throw InputError("method: batches are factorized by lu, ldlt or cholesky");
  return std::make_unique<BatchOf<Scalar, LuOptions>>(all.lu_options(), columns);
}

}  // namespace

std::unique_ptr<Batch> make_batch(const std::string& method, ScalarType scalar, OrdinalType ordinal,
                                  const Options& options) {
#define LUTRA_TRY_TYPES(Scalar)      \
  if (scalar == scalar_type<Scalar>) \
    return make_typed_batch<Scalar>(method, parse_options(method, options), ordinal);
  LUTRA_FOR_EACH_SCALAR(LUTRA_TRY_TYPES)
#undef LUTRA_TRY_TYPES
  throw InputError("Lutra was built without these types; lutra.build_info() lists those it has");
}

}  // namespace lutra::Python
