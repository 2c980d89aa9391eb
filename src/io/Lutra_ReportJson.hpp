// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_REPORTJSON_HPP
#define LUTRA_REPORTJSON_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "Lutra_Report.hpp"
#include "Lutra_Version.hpp"

namespace lutra {

/// Share of one rank in solves on a grid of ranks.
struct RankRecord {
  std::int64_t rows = 0, blocks = 0, entries = 0;  ///< of L and U
  std::int64_t messages = 0, message_bytes = 0;    ///< sent during solves
  double flops = 0, solve_seconds = 0, wait_seconds = 0;
};

/// Grid of ranks, with one record per rank.
struct GridRecord {
  std::string name;                         ///< "2x2"
  std::optional<double> predicted_seconds;  ///< predicted time of a solve with one right-hand side
  std::vector<RankRecord> ranks;
};

/// Backend of a report.
struct RunInfo {
  std::string backend;                ///< "serial", "openmp", "cuda" or "hip"
  int threads = 1;                    ///< host threads the backend uses
  std::optional<std::string> device;  ///< name of the GPU; empty for host backends
  std::optional<GridRecord> grid;     ///< empty: one rank
};

/// Matrix of a report.
struct MatrixSummary {
  std::string file;
  std::int64_t rows = 0, cols = 0, nnz = 0;
  std::string scalar;  ///< scalar type of the solve: "f32", "f64", "c64" or "c128"
  std::optional<double> pattern_symmetry, value_symmetry;
  std::optional<std::int64_t> structural_rank, zero_diagonals;
};

/// Record of one solve.
struct ReportRecord {
  RunInfo run;
  MatrixSummary matrix;
  Report report;
  std::string message;  ///< empty on success
};

/// JSON text of one record, with the keys of docs/json.md in that order. Unknown and non-finite
/// numbers are null.
std::string to_json(const ReportRecord& record);

/// JSON text of several records: {"steps": […]}.
std::string to_json(const std::vector<ReportRecord>& steps);

std::string to_json(const VersionInfo& info);

}  // namespace lutra

#endif
