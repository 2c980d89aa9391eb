// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PAPERENDTOEND_HPP
#define LUTRA_PAPERENDTOEND_HPP

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "Lutra_PaperReport.hpp"
#include "Lutra_PerfMeasure.hpp"
#include "Lutra_RightLookingLu.hpp"
#include "Lutra_Symbolic.hpp"

// Tables of "End-to-End LU Factorization of Large Matrices on GPUs" (Xia, Jiang, Agrawal, Ramnath).

namespace lutra::Perf {

/// A matrix in a fill-reducing order, and the pattern of its factors.
struct PaperCase {
  explicit PaperCase(const PerfMatrix& matrix);

  std::string name;
  HostMatrix<double> original;
  HostMatrix<double> F;  ///< rows and columns permuted alike, rows sorted
  CsrPattern<Ordinal, Offset, MemorySpace> device;
  LuPattern<MemorySpace> filled;

  double nnz_lu() const { return static_cast<double>(filled.nnz_l + filled.nnz_u); }
};

/// Times of right-looking factorizations of one case.
struct ColumnTimes {
  double seconds = 0;
  double error = 0;  ///< ‖L·U·x − F·x‖∞ / ‖|F|·|x|‖∞ for one vector x
  std::optional<ColumnReport> report;
};

/// Median time of a factorization on a known pattern. @throws OutOfMemoryError
/// @param dense_columns if positive, memory is limited so that this many dense columns fit
ColumnTimes time_columns(const PaperCase& c, const PaperRun& run, const ColumnOptions& options,
                         std::size_t dense_columns = 0);

/// TBmax of the modes: columns of modes B that run at once.
std::int64_t max_blocks(const PaperCase& c);

/// Median time of levelization and all else that the plan of columns holds.
double time_plan(const PaperCase& c, const PaperRun& run, const ColumnOptions& options);

/// Median time of the symbolic factorization, on the execution space.
double time_symbolic(const PaperCase& c, const PaperRun& run, const SymbolicOptions& options);

/// The options of modes level by level, with an execution space's own kernels.
inline ColumnOptions mode_options(ColumnMode mode, ColumnFormat format = ColumnFormat::automatic) {
  ColumnOptions options;
  options.mode = mode;
  options.format = format;
  return options;
}

inline std::string ratio_text(double numerator, double denominator) {
  return denominator > 0 ? format_number(numerator / denominator) : "—";
}

PaperTable figure_3(const std::vector<PaperCase>& cases, const PaperRun& run);
PaperTable figure_4(const std::vector<PaperCase>& cases, const PaperRun& run);
PaperTable figure_5(const std::vector<PaperCase>& cases, const PaperRun& run);
PaperTable figure_6(const std::vector<PaperCase>& cases, const PaperRun& run);
PaperTable figure_7(const std::vector<PaperCase>& cases, const PaperRun& run);
PaperTable ablations(const std::vector<PaperCase>& cases, const PaperRun& run);
PaperTable levelizations(const std::vector<PaperCase>& cases, const PaperRun& run);
PaperTable table_4_of_paper();
PaperTable figure_8(const std::vector<PaperCase>& cases, const PaperRun& run);

}  // namespace lutra::Perf

#endif
