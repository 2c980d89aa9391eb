// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PAPERGSOFA_HPP
#define LUTRA_PAPERGSOFA_HPP

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "Lutra_Gsofa.hpp"
#include "Lutra_PaperReport.hpp"
#include "Lutra_PerfOrdered.hpp"

namespace lutra::Perf {

#ifdef KOKKOS_ENABLE_CUDA
inline constexpr bool has_frontiers = true;
#else
inline constexpr bool has_frontiers = false;
#endif

/// A matrix in METIS order, and how often it is measured.
struct GsofaCase {
  std::string name;
  std::shared_ptr<const Ordered> ordered;
  PerfRun run;
};

/// One setting of fill2 on one matrix.
struct GsofaTime {
  double seconds = 0;  ///< median of the whole call, on memory that a pool keeps
  double search = 0;   ///< median of the searches alone
  Fill2Statistics statistics;
};

/// The kernel of the paper where there is one: frontiers, else the portable one.
Fill2Options fine_grained();

/// @throws std::runtime_error for a pattern other than that of fill1
GsofaTime measure_fill2(const GsofaCase& c, const Fill2Options& options, std::size_t limit = 0);

/// A table of times with and without a mechanism, and of the speed-up with it.
/// @param set set(options of `fine_grained`, on): switches the mechanism
PaperTable compare(const std::vector<GsofaCase>& cases, PaperTable table, const std::string& with,
                   const std::string& without, const std::function<void(Fill2Options&, bool)>& set);

using GsofaTables = std::vector<PaperTable>;
void add_speed(const std::vector<GsofaCase>& cases, const PaperRun& run,
               GsofaTables& tables);  // Figures 10–13
void add_memory(const std::vector<GsofaCase>& cases, const PaperRun& run,
                GsofaTables& tables);                                           // 5, 14–18, 20
void add_supernodes(const std::vector<GsofaCase>& cases, GsofaTables& tables);  // section 2.2, Figure 8
void add_ranks(const std::vector<GsofaCase>& cases, GsofaTables& tables);       // 17, 19, 21

}  // namespace lutra::Perf

#endif
