// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reading of Matrix Market files, compressed or not; a generated matrix is written to a temporary file first.
// The file cache is warm: decompression, parsing and sorting are timed.
#include <unistd.h>

#include <filesystem>
#include <stdexcept>

#include "Lutra_MatrixMarket.hpp"
#include "Lutra_PerfMeasure.hpp"
#include "Lutra_PerfRun.hpp"

namespace lutra::Perf {
namespace {

/// The file of a matrix; a temporary one is removed by the destructor.
template <class Scalar>
class MatrixFile {
 public:
  MatrixFile(const PerfMatrix& matrix, const HostMatrix<Scalar>& values)
      : m_temporary(matrix.file.empty()), m_name(matrix.file) {
    if (!m_temporary) return;
    const std::string name = "lutra_perf_io." + std::to_string(::getpid()) + ".mtx";
    m_name = (std::filesystem::temp_directory_path() / name).string();
    write_matrix_market(m_name, values);
  }
  ~MatrixFile() {
    std::error_code ignored;
    if (m_temporary) std::filesystem::remove(m_name, ignored);
  }
  MatrixFile(const MatrixFile&) = delete;
  MatrixFile& operator=(const MatrixFile&) = delete;
  const std::string& name() const { return m_name; }

 private:
  bool m_temporary;
  std::string m_name;
};

/// Bytes that must move: the file is read and the matrix written, once.
template <class Scalar>
Measurement measure_read(const PerfRun& run, const PerfMatrix& matrix, const HostMatrix<Scalar>& values) {
  const MatrixFile<Scalar> file(matrix, values);
  MatrixMarketMatrix read;
  Measurement result{measure(run.samples, [&] { read = read_matrix_market(file.name()); })};
  const auto* const same = std::get_if<HostMatrix<Scalar>>(&read.matrix);
  if (same == nullptr || same->row_map != values.row_map || same->entries != values.entries ||
      !std::ranges::equal(same->values, values.values)) {
    throw std::runtime_error("the matrix that was read is another one");
  }
  const auto file_bytes = static_cast<double>(std::filesystem::file_size(file.name()));
  const double n = values.n_rows, nnz = static_cast<double>(values.nnz());
  result.counters["n"] = n;
  result.counters["nnz"] = nnz;
  result.counters["file_bytes"] = file_bytes;
  result.add_limits(run.limits, file_bytes + csr_bytes(n, nnz, true, sizeof(Scalar)));
  result.label = "read back equal";
  return result;
}

}  // namespace

void register_benchmarks(const PerfRun& run) {
  for (const PerfMatrix& matrix : run.matrices) {
    with_scalar(matrix, [&](const auto& values) {
      add_benchmark(matrix.name, "read", "lutra", [&] { return measure_read(run, matrix, values); });
    });
  }
}

}  // namespace lutra::Perf
