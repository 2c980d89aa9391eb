// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cusparse.h>

#include <stdexcept>
#include <type_traits>

#include "Lutra_PerfTriangle.hpp"

namespace lutra::Perf {
namespace {

void check(cusparseStatus_t status, const char* step) {
  if (status != CUSPARSE_STATUS_SUCCESS)
    throw std::runtime_error(std::string(step) + ": " + cusparseGetErrorString(status));
}

/// Deleter that calls `destroy` for a descriptor.
struct Destroyer {
  void operator()(cusparseContext* handle) const { cusparseDestroy(handle); }
  void operator()(cusparseSpMatDescr* matrix) const { cusparseDestroySpMat(matrix); }
  void operator()(cusparseDnVecDescr* vector) const { cusparseDestroyDnVec(vector); }
  void operator()(cusparseDnMatDescr* vectors) const { cusparseDestroyDnMat(vectors); }
  void operator()(cusparseSpSVDescr* solve) const { cusparseSpSV_destroyDescr(solve); }
  void operator()(cusparseSpSMDescr* solve) const { cusparseSpSM_destroyDescr(solve); }
};

template <class Descriptor>
using Owned = std::unique_ptr<Descriptor, Destroyer>;

constexpr auto plain = CUSPARSE_OPERATION_NON_TRANSPOSE;
constexpr double one = 1;

/// Shared by both kinds of solve: the triangle on the device with its descriptor, on the stream of Kokkos.
class CusparseTriangle : public TimedTriangle {
 public:
  explicit CusparseTriangle(const TriangleSystem& system);
  void prepare(int columns) override;
  std::vector<double> solution() const override { return to_host(m_X); }

 protected:
  /// Descriptors of the right-hand sides and their solutions.
  virtual void describe_vectors(int columns) = 0;
  virtual VectorOrder order() const = 0;
  virtual bool analyzed() const = 0;
  /// A buffer of at least the given size, kept from one analysis to the next, so that only the first analysis
  /// times an allocation.
  void* buffer_of(std::size_t bytes) {
    if (m_buffer.extent(0) < bytes || m_buffer.data() == nullptr)
      m_buffer = Kokkos::View<char*, MemorySpace>("lutra::perf::buffer", std::max<std::size_t>(bytes, 1));
    return m_buffer.data();
  }

  const TriangleSystem& m_system;
  Owned<cusparseContext> m_handle;
  Owned<cusparseSpMatDescr> m_matrix;
  Kokkos::View<int*, MemorySpace> m_row_map, m_entries;
  Kokkos::View<double*, MemorySpace> m_values, m_B, m_X;
  Kokkos::View<char*, MemorySpace> m_buffer;
};

CusparseTriangle::CusparseTriangle(const TriangleSystem& system) : m_system(system) {
  cusparseHandle_t handle = nullptr;
  check(cusparseCreate(&handle), "cusparseCreate");
  m_handle.reset(handle);
  check(cusparseSetStream(handle, ExecutionSpace().cuda_stream()), "cusparseSetStream");
  const IntTriangle host = to_int_triangle(system.matrix);
  m_row_map = to_device(host.row_map);
  m_entries = to_device(host.entries);
  m_values = to_device(host.values);
  cusparseSpMatDescr_t matrix = nullptr;
  const std::int64_t n = system.matrix.n_rows;
  check(cusparseCreateCsr(&matrix, n, n, system.matrix.nnz(), m_row_map.data(), m_entries.data(),
                          m_values.data(), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
                          CUDA_R_64F),
        "cusparseCreateCsr");
  m_matrix.reset(matrix);
  auto fill = system.side == TriangleSide::lower ? CUSPARSE_FILL_MODE_LOWER : CUSPARSE_FILL_MODE_UPPER;
  auto diagonal = CUSPARSE_DIAG_TYPE_NON_UNIT;
  check(cusparseSpMatSetAttribute(matrix, CUSPARSE_SPMAT_FILL_MODE, &fill, sizeof fill), "fill mode");
  check(cusparseSpMatSetAttribute(matrix, CUSPARSE_SPMAT_DIAG_TYPE, &diagonal, sizeof diagonal),
        "diagonal type");
}

void CusparseTriangle::prepare(int columns) {
  m_B = to_device(right_hand_sides(m_system, columns, order()));
  m_X = Kokkos::View<double*, MemorySpace>("lutra::perf::X", m_B.extent(0));
  describe_vectors(columns);
  if (analyzed()) analyze();
}

/// One right-hand side.
class SpsvTriangle final : public CusparseTriangle {
 public:
  using CusparseTriangle::CusparseTriangle;
  void analyze() override {
    cusparseSpSVDescr_t solve = nullptr;
    check(cusparseSpSV_createDescr(&solve), "cusparseSpSV_createDescr");
    m_solve.reset(solve);
    std::size_t bytes = 0;
    check(cusparseSpSV_bufferSize(m_handle.get(), plain, &one, m_matrix.get(), m_b.get(), m_x.get(),
                                  CUDA_R_64F, CUSPARSE_SPSV_ALG_DEFAULT, solve, &bytes),
          "cusparseSpSV_bufferSize");
    check(cusparseSpSV_analysis(m_handle.get(), plain, &one, m_matrix.get(), m_b.get(), m_x.get(), CUDA_R_64F,
                                CUSPARSE_SPSV_ALG_DEFAULT, solve, buffer_of(bytes)),
          "cusparseSpSV_analysis");
  }
  void update() override {
    check(cusparseSpSV_updateMatrix(m_handle.get(), m_solve.get(), m_values.data(),
                                    CUSPARSE_SPSV_UPDATE_GENERAL),
          "cusparseSpSV_updateMatrix");
  }
  void solve() override {
    check(cusparseSpSV_solve(m_handle.get(), plain, &one, m_matrix.get(), m_b.get(), m_x.get(), CUDA_R_64F,
                             CUSPARSE_SPSV_ALG_DEFAULT, m_solve.get()),
          "cusparseSpSV_solve");
  }

 private:
  void describe_vectors(int) override {
    const auto n = static_cast<std::int64_t>(m_system.n());
    cusparseDnVecDescr_t b = nullptr, x = nullptr;
    check(cusparseCreateDnVec(&b, n, m_B.data(), CUDA_R_64F), "cusparseCreateDnVec");
    m_b.reset(b);
    check(cusparseCreateDnVec(&x, n, m_X.data(), CUDA_R_64F), "cusparseCreateDnVec");
    m_x.reset(x);
  }
  VectorOrder order() const override { return VectorOrder::by_columns; }
  bool analyzed() const override { return m_solve != nullptr; }

  Owned<cusparseDnVecDescr> m_b, m_x;
  Owned<cusparseSpSVDescr> m_solve;
};

/// Many right-hand sides, by columns or by rows.
class SpsmTriangle final : public CusparseTriangle {
 public:
  SpsmTriangle(const TriangleSystem& system, VectorOrder order) : CusparseTriangle(system), m_order(order) {}
  void analyze() override {
    cusparseSpSMDescr_t solve = nullptr;
    check(cusparseSpSM_createDescr(&solve), "cusparseSpSM_createDescr");
    m_solve.reset(solve);
    std::size_t bytes = 0;
    check(cusparseSpSM_bufferSize(m_handle.get(), plain, plain, &one, m_matrix.get(), m_b.get(), m_x.get(),
                                  CUDA_R_64F, CUSPARSE_SPSM_ALG_DEFAULT, solve, &bytes),
          "cusparseSpSM_bufferSize");
    check(cusparseSpSM_analysis(m_handle.get(), plain, plain, &one, m_matrix.get(), m_b.get(), m_x.get(),
                                CUDA_R_64F, CUSPARSE_SPSM_ALG_DEFAULT, solve, buffer_of(bytes)),
          "cusparseSpSM_analysis");
  }
  void update() override {
    check(cusparseSpSM_updateMatrix(m_handle.get(), m_solve.get(), m_values.data(),
                                    CUSPARSE_SPSM_UPDATE_GENERAL),
          "cusparseSpSM_updateMatrix");
  }
  void solve() override {
    check(cusparseSpSM_solve(m_handle.get(), plain, plain, &one, m_matrix.get(), m_b.get(), m_x.get(),
                             CUDA_R_64F, CUSPARSE_SPSM_ALG_DEFAULT, m_solve.get()),
          "cusparseSpSM_solve");
  }

 private:
  void describe_vectors(int columns) override {
    m_b = described(m_B, columns);
    m_x = described(m_X, columns);
  }
  Owned<cusparseDnMatDescr> described(const Kokkos::View<double*, MemorySpace>& values, int columns) const {
    const bool by_rows = m_order == VectorOrder::by_rows;
    const auto n = static_cast<std::int64_t>(m_system.n());
    cusparseDnMatDescr_t vectors = nullptr;
    check(cusparseCreateDnMat(&vectors, n, columns, by_rows ? columns : n, values.data(), CUDA_R_64F,
                              by_rows ? CUSPARSE_ORDER_ROW : CUSPARSE_ORDER_COL),
          "cusparseCreateDnMat");
    return Owned<cusparseDnMatDescr>(vectors);
  }
  VectorOrder order() const override { return m_order; }
  bool analyzed() const override { return m_solve != nullptr; }

  VectorOrder m_order;
  Owned<cusparseDnMatDescr> m_b, m_x;
  Owned<cusparseSpSMDescr> m_solve;
};

TriangleKind spsm_kind(const char* name, VectorOrder order) {
  TriangleKind kind;
  kind.name = name;
  kind.order = order;
  kind.min_columns = order == VectorOrder::by_rows ? 2 : 1;
  kind.make = [order](const TriangleSystem& system) { return std::make_unique<SpsmTriangle>(system, order); };
  return kind;
}

std::string cusparse_version() {
  int numbers[3] = {0, 0, 0};
  cusparseGetProperty(MAJOR_VERSION, &numbers[0]);
  cusparseGetProperty(MINOR_VERSION, &numbers[1]);
  cusparseGetProperty(PATCH_LEVEL, &numbers[2]);
  return std::to_string(numbers[0]) + "." + std::to_string(numbers[1]) + "." + std::to_string(numbers[2]);
}

}  // namespace

std::vector<TriangleKind> cusparse_triangle_kinds() {
  TriangleKind spsv;
  spsv.name = "spsv";
  spsv.max_columns = 1;
  spsv.make = [](const TriangleSystem& system) { return std::make_unique<SpsvTriangle>(system); };
  std::vector<TriangleKind> kinds{spsv, spsm_kind("spsm", VectorOrder::by_columns),
                                  spsm_kind("spsm-rows", VectorOrder::by_rows)};
  for (TriangleKind& kind : kinds) kind.version = cusparse_version();
  return kinds;
}

}  // namespace lutra::Perf
