// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pivoting: its cost, what it finds, whether it repeats, and the scaling it starts from.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "Lutra_PaperSsids.hpp"
#include "Lutra_PerfErrors.hpp"
#include "Lutra_SymmetricAuction.hpp"

namespace lutra::Perf {
namespace {

std::string format_count(const std::optional<std::int64_t>& count) {
  return count ? format_number(static_cast<double>(*count)) : "";
}

bool has_same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

template <class Scalar>
bool are_equal(const FactorValues<Scalar>& a, const FactorValues<Scalar>& b) {
  return a.row_order == b.row_order && a.rows == b.rows && a.columns == b.columns &&
         has_same_bits(a.values, b.values) && has_same_bits(a.diagonal, b.diagonal) &&
         has_same_bits(a.off_diagonal, b.off_diagonal);
}

/// Factors and X of several factorizations and solvers have the same bits.
struct Repeated {
  bool factors = true, solutions = true;
  int runs = 1;
};
template <class Space>
Repeated repeat(const HostMatrix<double>& A) {
  Repeated result;
  LdltRun<Space> first(A, ldlt_options());
  first.analyze();
  first.factorize();
  first.factorize();
  first.solve();
  const auto factors = first.solver().factors();
  const auto x = first.solution();
  const auto compare = [&](LdltRun<Space>& other) {
    other.factorize();
    other.solve();
    ++result.runs;
    result.factors = result.factors && are_equal(other.solver().factors(), factors);
    result.solutions = result.solutions && has_same_bits(other.solution(), x);
  };
  for (int k = 0; k < 2; ++k) compare(first);
  for (int k = 0; k < 2; ++k) {
    LdltRun<Space> other(A, ldlt_options());
    other.analyze();
    other.factorize();
    compare(other);
  }
  return result;
}

}  // namespace

PaperTable pivoting_cost(const PaperRun& run, const std::vector<SymmetricMatrix>& matrices) {
  PaperTable table;
  table.place = "Factorization: parallel pivoting";
  table.claim = "Testing blocks of pivots a posteriori avoids all-to-all communication for each column";
  table.columns = {"matrix",
                   "pivoted",
                   "delays only",
                   "easy values, pivoted",
                   "easy, unpivoted",
                   "easy, Cholesky",
                   "pivoted over easy, unpivoted"};
  std::vector<double> ratios;
  for (const auto& [name, A] : matrices) {
    const HostMatrix<double> easy = with_easy_values(*A);
    const auto factor_seconds = [&](const HostMatrix<double>& values, const LdltOptions& options) {
      LdltRun<ExecutionSpace> of(values, options);
      return ldlt_seconds(run, of).factorize;
    };
    LdltOptions delays = ldlt_options(), unpivoted = ldlt_options(), cholesky = ldlt_options();
    delays.in_place_first = false;
    unpivoted.pivoting = Pivoting::none;
    cholesky.positive_definite = true;
    bool definite = true;
    for (int i = 0; i < easy.n_rows; ++i)
      for (auto p = easy.row_map[static_cast<std::size_t>(i)];
           p < easy.row_map[static_cast<std::size_t>(i) + 1]; ++p)
        definite = definite && (easy.entries[static_cast<std::size_t>(p)] != i ||
                                easy.values[static_cast<std::size_t>(p)] > 0);
    const double hard = factor_seconds(*A, ldlt_options()), none = factor_seconds(easy, unpivoted);
    ratios.push_back(hard / none);
    table.add_row({name, format_seconds(hard), format_seconds(factor_seconds(*A, delays)),
                   format_seconds(factor_seconds(easy, ldlt_options())), format_seconds(none),
                   definite ? format_seconds(factor_seconds(easy, cholesky)) : "",
                   format_number(ratios.back())});
  }
  table.result = "time with pivoting over that of the pattern without: " + format_ratios(ratios);
  table.note =
      "Refactorizations. `delays only` switches off pivots in place, which CUDA tries first and hosts "
      "do not. Easy values: the diagonal dominates; another order may then be found.";
  return table;
}

PaperTable aposteriori(const PaperRun& run, const std::vector<SymmetricMatrix>& matrices) {
  PaperTable table;
  table.place = "A posteriori pivoting samples";
  table.claim = "A posteriori pivoting by blocks of 32 × 8 is fast unless many pivots are rejected";
  table.columns = {"matrix",  "automatic",      "columns", "blocks", "blocks over automatic",
                   "delayed", "delayed, blocks"};
  std::vector<double> ratios;
  for (const auto& [name, A] : matrices) {
    std::vector<std::string> row{name};
    std::vector<double> seconds;
    std::vector<std::string> delayed;
    for (const auto way : {FrontPivoting::automatic, FrontPivoting::columns, FrontPivoting::blocks}) {
      LdltOptions options = ldlt_options();
      options.front_pivoting = way;
      LdltRun<HostSpace> of(*A, options);
      seconds.push_back(ldlt_seconds(run, of).factorize);
      delayed.push_back(format_count(of.report().pivots.delayed));
      row.push_back(format_seconds(seconds.back()));
    }
    ratios.push_back(seconds[2] / seconds[0]);
    row.push_back(format_number(ratios.back()));
    row.push_back(delayed[0]);
    row.push_back(delayed[2]);
    table.add_row(row);
  }
  table.result = "on hosts, blocks in all fronts over blocks in large ones only: " + format_ratios(ratios);
  table.note =
      "`LdltOptions::front_pivoting` (`--front-pivoting`), on hosts. Automatic: by columns in fronts of "
      "up to 512 rows. Devices pivot by blocks in all fronts of more than 96 rows.";
  return table;
}

PaperTable pivots_found(const std::vector<SymmetricMatrix>& matrices) {
  PaperTable table;
  table.place = "Stability";
  table.claim = "Entries of L are at most 1/u, u = 0.01, whatever the matrix";
  table.columns = {"matrix",  "pivots from",        "2 × 2",         "delayed", "zero",
                   "inertia", "entries of L and D", "backward error"};
  double worst = 0;
  for (const auto& [name, A] : matrices) {
    LdltRun<ExecutionSpace> of(*A, ldlt_options());
    of.analyze();
    of.factorize();
    of.solve();
    const Report& report = of.report();
    const double error = backward_errors(*A, make_right_hand_side(*A), of.solution()).componentwise;
    worst = std::max(worst, error);
    const Inertia& signs = report.inertia;
    table.add_row({name, report.pivots.attempt, format_count(report.pivots.two_by_two),
                   format_count(report.pivots.delayed), format_count(report.pivots.zero),
                   format_count(signs.positive) + " +, " + format_count(signs.negative) + " −, " +
                       format_count(signs.zero) + " 0",
                   format_count(report.factors.nnz_l), format_number(error)});
  }
  table.result = "largest componentwise backward error " + format_number(worst);
  table.note = "Pivots from: the attempt that was kept; `delays` is threshold pivoting as in the slides.";
  return table;
}

PaperTable repetition(const std::vector<SymmetricMatrix>& matrices) {
  PaperTable table;
  table.place = "Aim to be bit-compatible";
  table.claim = "The same bits in every run";
  table.columns = {"matrix", "space", "runs", "factors", "solutions"};
  bool all = true;
  const auto add = [&]<class Space>(const std::string& name, const HostMatrix<double>& A, Space) {
    const Repeated found = repeat<Space>(A);
    all = all && found.factors && found.solutions;
    table.add_row({name, Space::name(), format_number(found.runs), found.factors ? "equal" : "differ",
                   found.solutions ? "equal" : "differ"});
  };
  for (const auto& [name, A] : matrices) {
    add(name, *A, HostSpace());
    if constexpr (has_device) add(name, *A, ExecutionSpace());
  }
  table.result = all ? "all bits of factors and solutions are equal" : "some bits differ";
  table.note = "Three factorizations by one solver and one by each of two others, each with a solve.";
  return table;
}

PaperTable auction_scaling(const PaperRun& run, const std::vector<SymmetricMatrix>& matrices) {
  PaperTable table;
  table.place = "Auction-based scaling";
  table.claim = "95 % of the quality of MC64 in 10 % of its time";
  table.columns = {"matrix",         "exact, host", "auction",        "exact over auction",
                   "proven quality", "rows left",   "delayed, exact", "delayed, auction",
                   "chosen"};
  std::vector<double> ratios;
  for (const auto& [name, A] : matrices) {
    const auto on_host = make_view(*A);
    const auto in_space = to_device(*A);
    const ExecutionSpace exec;
    const double exact =
        measure(run.samples, [&] { static_cast<void>(symmetrize(on_host, match_exact(on_host))); }).median();
    SymmetricAuction found;
    const double auction = measure(run.samples, [&] {
                             found = match_symmetric_auction(exec, in_space, on_host, MemoryBudget());
                           }).median();
    const auto left = found.statistics.left_to_paths;
    const double quality = std::exp(-found.statistics.log_loss_bound /
                                    static_cast<double>(std::max<std::int64_t>(1, A->n_rows - left)));
    ratios.push_back(exact / auction);
    std::vector<std::string> row{name,
                                 format_seconds(exact),
                                 format_seconds(auction),
                                 format_number(ratios.back()),
                                 format_number(quality),
                                 format_number(static_cast<double>(left))};
    for (const Matching matching : {Matching::exact, Matching::auction, Matching::automatic}) {
      LdltOptions options = ldlt_options();
      options.matching = matching;
      LdltRun<ExecutionSpace> of(*A, options);
      of.analyze();
      of.factorize();
      row.push_back(matching == Matching::automatic ? of.report().choice.matching
                                                    : format_count(of.report().pivots.delayed));
    }
    table.add_row(row);
  }
  table.result = "time of the exact matching on the host over that of the auction: " + format_ratios(ratios);
  table.note =
      "Quality: geometric mean of the matched entries over the greatest one, as the auction proves it. "
      "`chosen`: the automatic scaling (`choose_scaling`).";
  return table;
}

}  // namespace lutra::Perf
