// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <mkl_spblas.h>

#include <memory>
#include <stdexcept>

#include "Lutra_PerfMkl.hpp"
#include "Lutra_PerfTriangle.hpp"

namespace lutra::Perf {
namespace {

constexpr int expected_calls = 1000;  // for which the analysis may optimize

/// The functions of MKL used here.
struct Mkl {
  decltype(mkl_sparse_d_create_csr)* create_csr;
  decltype(mkl_sparse_destroy)* destroy;
  decltype(mkl_sparse_d_update_values)* update_values;
  decltype(mkl_sparse_set_sv_hint)* set_sv_hint;
  decltype(mkl_sparse_set_sm_hint)* set_sm_hint;
  decltype(mkl_sparse_optimize)* optimize;
  decltype(mkl_sparse_d_trsv)* trsv;
  decltype(mkl_sparse_d_trsm)* trsm;
};

Mkl load_mkl() {
  Mkl mkl{};
  find_mkl(mkl.create_csr, "mkl_sparse_d_create_csr");
  find_mkl(mkl.destroy, "mkl_sparse_destroy");
  find_mkl(mkl.update_values, "mkl_sparse_d_update_values");
  find_mkl(mkl.set_sv_hint, "mkl_sparse_set_sv_hint");
  find_mkl(mkl.set_sm_hint, "mkl_sparse_set_sm_hint");
  find_mkl(mkl.optimize, "mkl_sparse_optimize");
  find_mkl(mkl.trsv, "mkl_sparse_d_trsv");
  find_mkl(mkl.trsm, "mkl_sparse_d_trsm");
  return mkl;
}

const Mkl& mkl() {
  static const Mkl functions = load_mkl();
  return functions;
}

void check(sparse_status_t status, const char* step) {
  if (status != SPARSE_STATUS_SUCCESS)
    throw std::runtime_error(std::string(step) + " ends with status " + std::to_string(status));
}

struct Destroyer {
  void operator()(sparse_matrix* matrix) const { mkl().destroy(matrix); }
};

/// The inspector-executor routines of MKL on the host: trsv for one right-hand side, trsm for more.
class MklTriangle final : public TimedTriangle {
 public:
  MklTriangle(const TriangleSystem& system, VectorOrder order)
      : m_system(system), m_order(order), m_triangle(to_int_triangle(system.matrix)) {
    m_description.type = SPARSE_MATRIX_TYPE_TRIANGULAR;
    m_description.mode = system.side == TriangleSide::lower ? SPARSE_FILL_MODE_LOWER : SPARSE_FILL_MODE_UPPER;
    m_description.diag = SPARSE_DIAG_NON_UNIT;
  }

  void prepare(int columns) override {
    m_columns = columns;
    m_B = right_hand_sides(m_system, columns, m_order);
    m_X.assign(m_B.size(), 0.0);
    if (m_matrix != nullptr) analyze();
  }
  void analyze() override;
  /// Updates the values in the copy of MKL if possible. Otherwise the inspection is repeated.
  void update() override {
    const auto status = mkl().update_values(m_matrix.get(), static_cast<MKL_INT>(m_system.matrix.nnz()),
                                            nullptr, nullptr, m_triangle.values.data());
    if (status != SPARSE_STATUS_SUCCESS) analyze();
  }
  void solve() override;
  std::vector<double> solution() const override { return m_X; }

 private:
  sparse_layout_t layout() const {
    return m_order == VectorOrder::by_rows ? SPARSE_LAYOUT_ROW_MAJOR : SPARSE_LAYOUT_COLUMN_MAJOR;
  }

  const TriangleSystem& m_system;
  VectorOrder m_order;
  IntTriangle m_triangle;
  matrix_descr m_description{};
  std::unique_ptr<sparse_matrix, Destroyer> m_matrix;
  int m_columns = 0;
  std::vector<double> m_B, m_X;
};

void MklTriangle::analyze() {
  sparse_matrix_t matrix = nullptr;
  const MKL_INT n = m_system.matrix.n_rows;
  int* const row_map = m_triangle.row_map.data();
  check(mkl().create_csr(&matrix, SPARSE_INDEX_BASE_ZERO, n, n, row_map, row_map + 1,
                         m_triangle.entries.data(), m_triangle.values.data()),
        "mkl_sparse_d_create_csr");
  m_matrix.reset(matrix);
  constexpr auto plain = SPARSE_OPERATION_NON_TRANSPOSE;
  if (m_columns == 1) {
    check(mkl().set_sv_hint(matrix, plain, m_description, expected_calls), "mkl_sparse_set_sv_hint");
  } else {
    check(mkl().set_sm_hint(matrix, plain, m_description, layout(), m_columns, expected_calls),
          "mkl_sparse_set_sm_hint");
  }
  check(mkl().optimize(matrix), "mkl_sparse_optimize");
}

void MklTriangle::solve() {
  constexpr auto plain = SPARSE_OPERATION_NON_TRANSPOSE;
  if (m_columns == 1) {
    check(mkl().trsv(plain, 1.0, m_matrix.get(), m_description, m_B.data(), m_X.data()), "mkl_sparse_d_trsv");
    return;
  }
  const MKL_INT stride = m_order == VectorOrder::by_rows ? m_columns : m_system.matrix.n_rows;
  check(mkl().trsm(plain, 1.0, m_matrix.get(), m_description, layout(), m_B.data(), m_columns, stride,
                   m_X.data(), stride),
        "mkl_sparse_d_trsm");
}

TriangleKind mkl_kind(const char* name, const std::string& version, VectorOrder order) {
  TriangleKind kind;
  kind.name = name;
  kind.version = version;
  kind.order = order;
  kind.min_columns = order == VectorOrder::by_rows ? 2 : 1;
  kind.make = [order](const TriangleSystem& system) { return std::make_unique<MklTriangle>(system, order); };
  return kind;
}

}  // namespace

std::vector<TriangleKind> mkl_triangle_kinds() {
  const std::string text = mkl_version();
  return {mkl_kind("mkl", text, VectorOrder::by_columns), mkl_kind("mkl-rows", text, VectorOrder::by_rows)};
}

}  // namespace lutra::Perf
