// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Figure 8 and section 2.2: the search for supernodes, and a factorization that uses them.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "Lutra_PaperGsofa.hpp"
#include "Lutra_RightLookingLu.hpp"
#include "Lutra_SupernodalLu.hpp"
#include "Lutra_UpLookingLu.hpp"

namespace lutra::Perf {
namespace {

double time_search(const GsofaCase& c, const DeviceFilled& filled, SupernodeSearch search,
                   Supernodes<MemorySpace>& found) {
  SupernodeOptions options;
  options.search = search;
  return measure(c.run.samples,
                 [&] { found = find_supernodes(ExecutionSpace(), filled, MemoryBudget(), options); })
      .median();
}

PaperTable figure_8(const std::vector<GsofaCase>& cases) {
  PaperTable table;
  table.place = "Section 5, Figure 8";
  table.claim =
      "Two phases with a bitmap and a queue in shared memory fit the GPU; the paper times none alone.";
  table.columns = {"matrix",
                   "supernodes",
                   "mean size",
                   "portable (default)",
                   "a thread a leading row",
                   "a warp a leading row"};
  std::vector<double> ratios;
  for (const GsofaCase& c : cases) {
    const auto filled = factorize_symbolic(ExecutionSpace(), c.ordered->device, MemoryBudget());
    Supernodes<MemorySpace> portable, other;
    const double standard = time_search(c, filled, SupernodeSearch::portable, portable);
    std::vector<std::string> cells{c.name, format_number(portable.count),
                                   format_number(static_cast<double>(portable.n) / portable.count),
                                   format_seconds(standard)};
    for (const SupernodeSearch search : {SupernodeSearch::threads, SupernodeSearch::warps}) {
      if (!has_frontiers) {
        cells.push_back("needs a device");
        continue;
      }
      const double seconds = time_search(c, filled, search, other);
      if (to_host(other.begin) != to_host(portable.begin))
        throw std::runtime_error(c.name + ": the searches find different supernodes");
      if (search == SupernodeSearch::threads) ratios.push_back(standard / seconds);
      cells.push_back(format_seconds(seconds));
    }
    table.add_row(std::move(cells));
  }
  table.result = ratios.empty() ? "needs a device" : format_ratios(ratios) + " by threads over portable";
  table.note = "Times of find_supernodes: lengths of rows, search, numbers, tree.";
  return table;
}

/// A dominant matrix on the pattern of a case and the diagonal, by rows of L + U, zero at fill.
std::vector<double> dominant_values(const GsofaCase& c, const DeviceFilled& filled) {
  const auto row_map = to_host(filled.row_map), diagonal = to_host(filled.diagonal);
  const auto entries = to_host(filled.entries);
  const auto& A = c.ordered->host;
  std::vector<double> values(entries.size(), 0);
  for (std::size_t i = 0; i + 1 < row_map.size(); ++i) {
    auto at = static_cast<std::size_t>(row_map[i]);
    for (auto p = static_cast<std::size_t>(A.row_map[i]); p < static_cast<std::size_t>(A.row_map[i + 1]);
         ++p) {
      while (entries[at] != A.entries[p]) ++at;
      values[at] = -1.0 + 0.125 * static_cast<double>(p % 4);
    }
    values[static_cast<std::size_t>(diagonal[i])] =
        1.0 + static_cast<double>(A.row_map[i + 1] - A.row_map[i]);
  }
  return values;
}

/// [size] values at map(p).
std::vector<double> scatter(const std::vector<double>& values, const std::vector<std::int64_t>& map,
                            std::size_t size) {
  std::vector<double> scattered(size, 0);
  for (std::size_t p = 0; p < values.size(); ++p) scattered[static_cast<std::size_t>(map[p])] = values[p];
  return scattered;
}

/// Seconds of a factorization and L\U by rows.
struct Factors {
  double seconds = 0;
  std::vector<double> by_rows;
};

/// @param map       position of each entry by rows among the values
/// @param factorize factorizes (values, perturbed) in place
template <class Map, class Factorize>
Factors time_factorization(const GsofaCase& c, const std::vector<double>& by_rows, const Map& map,
                           std::size_t size, const Factorize& factorize) {
  const auto positions = to_host(map);
  const auto start = to_device(scatter(by_rows, positions, size));
  const Kokkos::View<double*, MemorySpace> values("lutra::perf::values", size);
  const Kokkos::View<unsigned char*, MemorySpace> perturbed("lutra::perf::perturbed",
                                                            static_cast<std::size_t>(c.ordered->host.n_rows));
  Factors result;
  result.seconds =
      measure(
          c.run.samples, [&] { Kokkos::deep_copy(values, start); }, [&] { factorize(values, perturbed); })
          .median();
  const auto factored = to_host(values);
  for (const auto position : positions)
    result.by_rows.push_back(factored[static_cast<std::size_t>(position)]);
  return result;
}

/// Largest difference over the largest entry.
double difference(const Factors& a, const Factors& b) {
  double most = 0, largest = 0;
  for (std::size_t p = 0; p < a.by_rows.size(); ++p) {
    most = std::max(most, std::abs(a.by_rows[p] - b.by_rows[p]));
    largest = std::max(largest, std::abs(a.by_rows[p]));
  }
  return most / largest;
}

PaperTable section_2_2(const std::vector<GsofaCase>& cases) {
  PaperTable table;
  table.place = "Section 2.2";
  table.claim = "Supernodes let a factorization work on dense blocks, which is often faster.";
  table.columns = {"matrix",
                   "supernodes",
                   "mean size",
                   "zeros",
                   "levels of columns",
                   "of supernodes",
                   "columns, data flow",
                   "columns, portable",
                   "supernodes",
                   "of half the size",
                   "of twice the size",
                   "without zeros",
                   "speed-up over columns",
                   "over portable",
                   "difference"};
  std::vector<double> over_columns, over_portable;
  const ExecutionSpace exec;
  for (const GsofaCase& c : cases) {
    const auto filled = factorize_symbolic(exec, c.ordered->device, MemoryBudget());
    const auto values = dominant_values(c, filled);
    const auto by_columns = [&](bool portable, std::size_t& levels) {
      ColumnOptions options;
      options.portable = portable;
      const auto plan = plan_right_looking_lu(exec, filled, MemoryBudget(), options);
      auto work = make_right_looking_lu_workspace(exec, plan, MemoryBudget());
      levels = plan.levels.size();
      return time_factorization(
          c, values, plan.row_to_column, values.size(), [&](const auto& v, const auto& p) {
            factorize_right_looking<double>(exec, plan, work, v, PivotThreshold(1e-10), p);
          });
    };
    const auto work = make_supernodal_lu_workspace(exec, MemoryBudget());
    const auto by_supernodes = [&](const SupernodalLuPlan<MemorySpace>& plan) {
      return time_factorization(c, values, plan.row_to_panel, static_cast<std::size_t>(plan.n_values),
                                [&](const auto& v, const auto& p) {
                                  factorize_supernodal<double>(exec, plan, work, v, PivotThreshold(1e-10), p);
                                });
    };
    const auto plan_with = [&](int size, double zeros) {
      return plan_supernodal_lu(exec, filled, MemoryBudget(), {size, zeros});
    };
    const double zeros = ColumnOptions().supernode_zeros;
    const int size = default_supernode_size<ExecutionSpace>;
    const auto plan = plan_with(size, zeros);
    std::size_t levels = 0;
    const Factors columns = by_columns(false, levels), portable = by_columns(true, levels),
                  supernodes = by_supernodes(plan);
    const double half = by_supernodes(plan_with(size / 2, zeros)).seconds;
    const double twice = by_supernodes(plan_with(2 * size, zeros)).seconds;
    const double exact = by_supernodes(plan_with(size, 0)).seconds;
    over_columns.push_back(columns.seconds / supernodes.seconds);
    over_portable.push_back(portable.seconds / supernodes.seconds);
    table.add_row({c.name, format_number(plan.count),
                   format_number(static_cast<double>(plan.n()) / plan.count),
                   format_number(static_cast<double>(plan.zeros) / static_cast<double>(plan.n_values)),
                   format_number(static_cast<double>(levels)),
                   format_number(static_cast<double>(plan.levels.size())), format_seconds(columns.seconds),
                   format_seconds(portable.seconds), format_seconds(supernodes.seconds), format_seconds(half),
                   format_seconds(twice), format_seconds(exact), format_number(over_columns.back()),
                   format_number(over_portable.back()), format_number(difference(columns, supernodes))});
  }
  table.result =
      format_ratios(over_columns) + " over columns, " + format_ratios(over_portable) + " over portable ones";
  table.note =
      "The paper refers to SuperLU_DIST and times no factorization. Dominant values, known pattern. On hosts "
      "the "
      "default is by rows (lutra_perf_numeric).";
  return table;
}

}  // namespace

void add_supernodes(const std::vector<GsofaCase>& cases, GsofaTables& tables) {
  tables.push_back(figure_8(cases));
  tables.push_back(section_2_2(cases));
}

}  // namespace lutra::Perf
