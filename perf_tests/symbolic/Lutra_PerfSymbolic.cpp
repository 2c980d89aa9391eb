// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pattern of L + U of a matrix in METIS order: by each method, under memory limits, with optimisations
// switched off one by one, and by peers. Each pattern is compared with that of fill1.
#include <memory>
#include <stdexcept>

#include "Lutra_AssemblyTree.hpp"
#include "Lutra_Gsofa.hpp"
#include "Lutra_PerfGilbertPeierls.hpp"
#include "Lutra_PerfOrdered.hpp"

namespace lutra::Perf {
namespace {

/// Ordered once, when the first line needs it.
struct SymbolicCase {
  const PerfRun& run;
  const PerfMatrix& matrix;
  std::shared_ptr<std::unique_ptr<Ordered>> kept = std::make_shared<std::unique_ptr<Ordered>>();

  const Ordered& ordered() const {
    if (!*kept) *kept = std::make_unique<Ordered>(matrix);
    return **kept;
  }
};

Measurement measure_method(const SymbolicCase& c, const SymbolicOptions& options) {
  const Ordered& ordered = c.ordered();
  const MemoryBudget budget;
  DeviceFilled filled;
  auto samples = measure(
      c.run.samples, [&] { filled = {}; },
      [&] { filled = factorize_symbolic(ExecutionSpace(), ordered.device, budget, options); });
  Measurement result = describe_pattern(c.run, std::move(samples), ordered, filled);
  result.counters["peak_bytes"] = static_cast<double>(budget.peak_bytes());
  return result;
}

/// fill2 with counts of its work: edges, revisits, bytes that its edges and entries must move, slots.
Measurement measure_fill2(const SymbolicCase& c, const Fill2Options& options, std::size_t limit) {
  const Ordered& ordered = c.ordered();
  const MemoryBudget budget(limit);
  DeviceFilled filled;
  Fill2Statistics statistics;
  auto samples = measure(
      c.run.samples, [&] { filled = {}; },
      [&] { filled = Impl::fill2(ExecutionSpace(), ordered.device, budget, options, &statistics); });
  Measurement result = describe_pattern(c.run, std::move(samples), ordered, filled);
  result.counters["peak_bytes"] = static_cast<double>(budget.peak_bytes());
  result.counters["edges"] = static_cast<double>(statistics.edges);
  result.counters["revisits"] = static_cast<double>(statistics.revisits);
  result.counters["edge_bytes"] = static_cast<double>(statistics.edges) * sizeof(int);
  result.counters["slots"] = static_cast<double>(statistics.slots);
  result.counters["slot_bytes"] = static_cast<double>(statistics.slot_bytes);
  result.counters["rows_searched_again"] = static_cast<double>(statistics.searched_again);
  return result;
}

/// The search works by columns, so it gets the transposed pattern by rows. nnz(L + U) is the same.
Measurement measure_gilbert_peierls(const SymbolicCase& c) {
  const Ordered& ordered = c.ordered();
  GilbertPeierls search(ordered.host.row_map, ordered.host.entries);
  std::int64_t nnz = 0;
  auto samples = measure(c.run.samples, [&] { nnz = search.factorize(); });
  Measurement result{std::move(samples), {}, "one host thread"};
  if (static_cast<double>(nnz) != ordered.nnz_lu)
    throw std::runtime_error("not as many entries as fill1 finds");
  result.counters["n"] = ordered.host.n_rows;
  result.counters["nnz_lu"] = static_cast<double>(nnz);
  return result;
}

/// Entries of the factors of A + Aᵀ: the numbers stored in fronts minus the zeros among them.
double exact_numbers(const AssemblyTree& tree) {
  double sum = -tree.zeros;
  for (std::size_t f = 0; f < tree.parent.size(); ++f) {
    const double pivots = tree.pivot_begin[f + 1] - tree.pivot_begin[f];
    sum += pivots * (pivots + 2 * static_cast<double>(tree.row_begin[f + 1] - tree.row_begin[f]));
  }
  return sum;
}

/// Data for the multifrontal engine: the tree, column counts and the rows of each front, for A + Aᵀ.
/// The pattern of the factors without a list for each row.
Measurement measure_assembly_tree(const SymbolicCase& c) {
  const Ordered& ordered = c.ordered();
  const HostMatrix<char>& host = ordered.host;
  const CsrPattern<int, std::int64_t, Kokkos::HostSpace> pattern = make_view(host).pattern();
  AssemblyTree tree;
  auto samples = measure(
      c.run.samples, [&] { tree = {}; }, [&] { tree = make_assembly_tree(pattern); });
  if (exact_numbers(tree) < ordered.nnz_lu)
    throw std::runtime_error("fronts do not hold all entries that fill1 finds");
  Measurement result{std::move(samples), {}, "one host thread, fronts of A + A^T"};
  result.counters["n"] = host.n_rows;
  result.counters["fronts"] = tree.count();
  result.counters["flops"] = tree.flops;
  return result;
}

Measurement measure_supernodes(const SymbolicCase& c, SupernodeSearch search) {
  const Ordered& ordered = c.ordered();
  const MemoryBudget budget;
  const auto filled = factorize_symbolic(ExecutionSpace(), ordered.device, budget);
  Supernodes<MemorySpace> found;
  SupernodeOptions options;
  options.search = search;
  auto samples =
      measure(c.run.samples, [&] { found = find_supernodes(ExecutionSpace(), filled, budget, options); });
  Measurement result{std::move(samples), {}, "T3"};
  result.counters["n"] = ordered.host.n_rows;
  result.counters["supernodes"] = found.count;
  return result;
}

void register_methods(const SymbolicCase& c) {
  const auto add = [&](const std::string& solver, const SymbolicOptions& options) {
    add_benchmark(c.matrix.name, "symbolic", solver, [c, options] { return measure_method(c, options); });
  };
  add("lutra", {});
  for (const SymbolicMethod method :
       {SymbolicMethod::fill1, SymbolicMethod::fill2, SymbolicMethod::etree, SymbolicMethod::ancestors})
    add("lutra-" + std::string(name_of(method)), {method});
  add("lutra-fill2-portable", {SymbolicMethod::fill2, true});
  add("lutra-ancestors-portable", {SymbolicMethod::ancestors, true});
  add_benchmark(c.matrix.name, "symbolic", "lutra-fronts", [c] { return measure_assembly_tree(c); });
  add_benchmark(c.matrix.name, "symbolic", "gilbert-peierls", [c] { return measure_gilbert_peierls(c); });
  add_benchmark(c.matrix.name, "supernodes", "lutra",
                [c] { return measure_supernodes(c, SupernodeSearch::automatic); });
#ifdef KOKKOS_ENABLE_CUDA
  add_benchmark(c.matrix.name, "supernodes", "lutra-threads",
                [c] { return measure_supernodes(c, SupernodeSearch::threads); });
  add_benchmark(c.matrix.name, "supernodes", "lutra-warps",
                [c] { return measure_supernodes(c, SupernodeSearch::warps); });
#endif
}

/// The settings of the paper and smaller ones, in MB.
constexpr std::size_t limits_mb[] = {16384, 5120, 1024, 256, 64, 16};

void register_fill2(const SymbolicCase& c) {
  const auto add = [&](const std::string& stage, const Fill2Options& options, std::size_t limit) {
    add_benchmark(c.matrix.name, stage, "lutra-fill2",
                  [c, options, limit] { return measure_fill2(c, options, limit); });
  };
  add("symbolic-properties", {}, 0);
  for (const std::size_t mb : limits_mb) add("symbolic-limit-" + std::to_string(mb), {}, mb << 20);
  const std::pair<const char*, bool Fill2Options::*> parts[] = {
      {"shared-marks", &Fill2Options::shared_marks},
      {"kept-rows", &Fill2Options::keep_rows},
      {"bubble-removal", &Fill2Options::remove_bubbles},
      {"last-first", &Fill2Options::last_first}};
  for (const auto& [name, part] : parts) {
    Fill2Options options;
    options.*part = false;
    add(std::string("symbolic-without-") + name, options, 0);
  }
#ifdef KOKKOS_ENABLE_CUDA
  add("symbolic-without-groups", {.kernel = Fill2Kernel::warps}, 0);
  add("symbolic-frontiers", {.kernel = Fill2Kernel::frontiers}, 0);
#endif
  Fill2Options portable{.kernel = Fill2Kernel::portable};
  add("symbolic-portable", portable, 0);
  portable.window_labels = false;
  add("symbolic-portable-without-windows", portable, 0);
}

void register_peers([[maybe_unused]] const SymbolicCase& c) {
#ifdef LUTRA_PERF_SYMBOLIC_KLU
  add_benchmark(c.matrix.name, "symbolic", "klu", [c] { return measure_klu_symbolic(c.run, c.ordered()); });
  if (const auto* values = std::get_if<HostMatrix<double>>(&c.matrix.values)) {
    add_benchmark(c.matrix.name, "symbolic", "klu-search",
                  [c, values] { return measure_klu_search(c.run, c.ordered(), *values); });
  }
#endif
#ifdef LUTRA_PERF_SYMBOLIC_UMFPACK
  add_benchmark(c.matrix.name, "symbolic", "umfpack",
                [c] { return measure_umfpack_symbolic(c.run, c.ordered()); });
#endif
#ifdef LUTRA_PERF_SYMBOLIC_SUPERLUDIST
  add_benchmark(c.matrix.name, "symbolic", "superlu-dist",
                [c] { return measure_superlu_symbolic(c.run, c.ordered()); });
  add_benchmark(c.matrix.name, "symbolic", "superlu-dist-parallel",
                [c] { return measure_superlu_parallel_symbolic(c.run, c.ordered()); });
#endif
#ifdef LUTRA_PERF_SYMBOLIC_CUDSS
  if (const auto* values = std::get_if<HostMatrix<double>>(&c.matrix.values)) {
    add_benchmark(c.matrix.name, "symbolic", "cudss",
                  [c, values] { return measure_cudss_symbolic(c.run, *values, c.ordered().permutation); });
    add_benchmark(c.matrix.name, "symbolic", "cudss-own-order",
                  [c, values] { return measure_cudss_symbolic(c.run, *values, {}); });
  }
#endif
}

}  // namespace

void register_benchmarks(const PerfRun& run) {
  for (const PerfMatrix& matrix : run.matrices) {
    const SymbolicCase c{run, matrix};
    register_methods(c);
    register_fill2(c);
    register_peers(c);
  }
}

}  // namespace lutra::Perf
