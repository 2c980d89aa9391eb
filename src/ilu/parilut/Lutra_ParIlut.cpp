// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_IncompleteFactors.hpp"

#include <Kokkos_Profiling_ScopedRegion.hpp>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "Lutra_AsyncResult.hpp"
#include "Lutra_CheckLaunches.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_ParIlutArrays.hpp"
#include "Lutra_ParIlutCandidatesHost.hpp"
#include "Lutra_ParIlutDrop.hpp"
#include "Lutra_ParIlutRecord.hpp"
#include "Lutra_RowKernels.hpp"
#include "Lutra_RowKernelsHost.hpp"
#include "Lutra_Select.hpp"

namespace lutra {
namespace {

/// A run of ParILUT. L and U alternate between two sets of arrays:
///
///     m_now ──candidates──▶ m_arrays.wide ──sweep, drop──▶ m_arrays.kept[0 or 1] ──sweep──▶ m_now
///
/// The L and U before a step remain in the other set until their residual proves larger.
template <class Scalar, class ExecutionSpace>
class ParIlut {
 public:
  using Memory = typename ExecutionSpace::memory_space;
  using Real = RealOf<Scalar>;
  using Matrix = CsrView<Scalar, Ordinal, Offset, Memory>;
  using Factors = IncompleteFactors<Scalar, Memory>;
  using Arrays = Impl::ParIlutArrays<Scalar, ExecutionSpace>;

  ParIlut(const ExecutionSpace& exec, const Matrix& A, double shift, const IluOptions& options,
          const MemoryBudget& budget, const Factors& start)
      : m_exec(exec),
        m_A(A),
        m_shift(shift),
        m_options(options),
        m_budget(budget),
        m_rows(exec, Impl::vector_length_for<ExecutionSpace>(mean_row(start)), 1024),
        m_now(start),
        m_arrays(exec, A.n_rows, options, budget),
        m_news(exec, m_arrays.reservation, "lutra::ilu::news", 1),
        m_kept(exec, m_arrays.reservation, "lutra::ilu::kept_counts", 1) {
    measure();
    count_kept({});
  }

  ParIlutOutcome run() {
    bool is_too_full = !m_obeys;
    if (m_options.steps == 0 && is_too_full) {
      m_min_lower = m_min_upper = Kokkos::Experimental::infinity_v<Real>;
      add_candidates();
      m_outcome.is_finite = std::isfinite(m_news.host()(0).residual);
      if (!m_outcome.is_finite) return m_outcome;  // no memory for candidates was allocated
      sweep_and_drop();
    }
    while (m_outcome.steps < m_options.steps) {
      add_candidates();
      const bool is_worthwhile = take_residual();
      if (!(is_worthwhile || (is_too_full && m_outcome.is_finite))) return m_outcome;
      sweep_and_drop();
      for (int chunk = 1; chunk < m_chunks; ++chunk) {
        add_chunk(chunk);
        sweep_and_drop(true);
      }
      ++m_outcome.steps;
      is_too_full = false;
    }
    if (m_outcome.steps > 0) {
      measure_residual();
      take_residual();
    }
    return m_outcome;
  }

  /// L and U in Views of exact size. Waits.
  Factors result() const {
    Factors factors = m_now;
    if (!m_is_kept) return factors;
    Offset end = 0;
    Kokkos::deep_copy(m_exec, end, Kokkos::subview(m_now.row_map, m_A.n_rows));
    m_exec.fence("lutra::ilu: the number of entries is on the host");
    const auto nnz = static_cast<std::size_t>(end);
    factors.entries = Kokkos::subview(m_now.entries, std::make_pair(std::size_t(0), nnz));
    factors.values = Kokkos::subview(m_now.values, std::make_pair(std::size_t(0), nnz));
    return factors;
  }

 private:
  static constexpr int max_chunks = 8;  ///< most chunks of rows per step
  template <class T>
  using Array = Kokkos::View<T*, Memory>;
  using Threshold = SelectionThreshold<Real>;
  using Search = Impl::CandidateSearch<Scalar, Memory>;
  using Drop = Impl::DropEntries<Scalar, Memory>;
  using Keyed = Impl::KeyedFactors<Scalar, Memory>;
  using Rows = Impl::FactorRows<Scalar, Memory>;

  static double mean_row(const Factors& factors) {
    return static_cast<double>(factors.nnz()) / static_cast<double>(factors.n);
  }

  template <class Functor>
  void for_rows(const char* label, const Functor& functor) const {
    Kokkos::parallel_for(label, Impl::by_argument(m_rows.policy(m_exec, m_A.n_rows)), functor);
  }
  Kokkos::RangePolicy<ExecutionSpace> range(std::int64_t end) const { return {m_exec, 0, end}; }

  /// Measures the rows of A, and sets the limits on entries of L and U.
  void measure() {
    const std::int64_t n = m_A.n_rows;
    Kokkos::parallel_for("lutra::ilu::clear", range(n),
                         Impl::FillValues<Real, Memory>{m_arrays.scaling.column, 0});
    for (int factor = 0; factor < 2; ++factor) keep_all(factor);
    Impl::MeasureMatrix<Scalar, Memory> kernel{m_A, m_arrays.scaling, m_arrays.A_lower, m_arrays.A_upper,
                                               m_rows};
    for_rows("lutra::ilu::measure_rows", kernel);
    Real largest = 0;
    Kokkos::parallel_reduce("lutra::ilu::largest", range(n), kernel, Kokkos::Max<Real>(largest));
    kernel.exponent = m_exponent = Impl::exponent_of(largest);
    Impl::TriangleCounts counts;
    Kokkos::parallel_reduce("lutra::ilu::finish_scaling", range(n), kernel, counts);
    m_arrays.max_lower = fill_limit(m_options.symmetric ? counts.upper : counts.lower);
    m_arrays.max_upper = fill_limit(counts.upper);
    m_obeys = obeys_limits();
    // residuals have about twice as many columns; long rows three times as many
    const std::int64_t longest = std::min<std::int64_t>(3 * counts.longest, m_A.n_rows);
    m_work.emplace(m_exec, m_A.n_rows, m_A.n_rows, 2 * mean_row(m_now), m_budget,
                   static_cast<Ordinal>(longest));
    m_arrays.store.allocate(m_exec, m_A.n_rows, 8 * std::int64_t(m_now.nnz()), m_budget);
  }

  /// Whether the initial L and U obey the limits and drop rules, as far as counts tell, so that a step may be
  /// reverted to them.
  bool obeys_limits() const {
    const bool in_rows = m_options.fill_rule == FillRule::total ||
                         (m_options.fill_factor >= 1 && m_now.nnz() <= m_A.nnz() + m_A.n_rows);
    return m_now.nnz() <= m_arrays.n_limit() && in_rows && m_options.drop_tolerance == 0;
  }

  std::int64_t fill_limit(std::int64_t entries) const {
    const double n = static_cast<double>(m_A.n_rows), all = n * (n - 1) / 2;
    return static_cast<std::int64_t>(std::min(m_options.fill_factor * static_cast<double>(entries), all));
  }

  /// Search for candidates around m_now in a chunk of the rows, with keys of at least m_min_lower (L) or
  /// m_min_upper (U).
  Search prepare_search(int chunk = 0) const {
    m_budget.run().poll();
    const auto row = [&](int c) {
      return static_cast<Ordinal>(static_cast<std::int64_t>(m_A.n_rows) * c / m_chunks);
    };
    const Search search{m_A,
                        m_shift,
                        m_now,
                        m_arrays.wide,
                        m_arrays.lower_map,
                        m_arrays.n_columns,
                        m_arrays.n_row,
                        m_arrays.n_left,
                        m_arrays.row_residual,
                        m_arrays.scaling,
                        m_arrays.weights,
                        m_arrays.thresholds,
                        m_min_lower,
                        m_min_upper,
                        m_options.symmetric,
                        row(chunk),
                        row(chunk + 1),
                        m_rows};
    for_rows("lutra::ilu::prepare_rows", Impl::PrepareRows<Search>{search});
    return search;
  }
  Search find_candidates(int chunk = 0) const {
    const Search search = prepare_search(chunk);
    m_arrays.store.clear(m_exec);
    count_candidates(search, Impl::SearchPass::count);
    return search;
  }
  /// Residual over all rows. Waits.
  void measure_residual() {
    m_chunks = 1;
    count_candidates(prepare_search(), Impl::SearchPass::norm);
    fetch_news();
  }
  /// Reads what kernels know of the candidates and of m_now. Waits.
  const Impl::ParIlutNews& fetch_news() const {
    m_kept.queue_fetch(m_exec);
    return m_news.fetch(m_exec)(0);
  }

  /// m_arrays.wide := m_now with candidates, or with those of the first chunk of rows if not all fit.
  void add_candidates() {
    const Kokkos::Profiling::ScopedRegion region("lutra::ilu::parilut: candidates");
    m_chunks = 1;
    Search search = find_candidates();
    if (m_arrays.wide.nnz() > 0) fill(search);
    const Impl::ParIlutNews& news = fetch_news();
    if (news.n_entries > m_arrays.wide.nnz() && std::isfinite(news.residual)) {
      make_room(search);
      if (m_chunks > 1) return add_chunk(0);
      fill(search);
    }
    m_outcome.max_entries = std::max(m_outcome.max_entries, news.n_entries);
  }

  /// m_arrays.wide := m_now with the candidates of a chunk, or with the largest if not all fit.
  void add_chunk(int chunk) {
    Search search = find_candidates(chunk);
    const Impl::ParIlutNews& news = fetch_news();
    if (news.n_entries > m_arrays.wide.nnz()) limit_candidates(search, m_arrays.wide.nnz(), true);
    fill(search);
    m_outcome.max_entries = std::max(m_outcome.max_entries, news.n_entries);
  }

  void pass_rows(const char* label, const Search& search, Impl::SearchPass pass,
                 const Array<std::int64_t>& bins = {}) const {
    m_arrays.store.pass(Impl::SearchRow<Search, Memory>{search, pass, bins},
                        [&](const auto& body) { for_each_row(label, body); });
  }
  template <class Body>
  void for_each_row(const char* label, const Body& body) const {
    Impl::for_each_row(m_exec, label, Ordinal(0), m_A.n_rows, *m_work, body);
  }

  void count_candidates(const Search& search, Impl::SearchPass pass) const {
    pass_rows("lutra::ilu::count_candidates", search, pass);
    Kokkos::parallel_scan("lutra::ilu::place_candidates", range(std::int64_t(m_A.n_rows) + 1),
                          Impl::PlaceCandidates<Memory>(search, m_news.device()));
    if (Impl::is_host_space<ExecutionSpace> && m_options.deterministic)
      Kokkos::parallel_for("lutra::ilu::add_residuals", range(1),
                           Impl::AddResiduals<Memory>{m_arrays.row_residual, m_news.device()});
  }

  void fill(const Search& search) const {
    pass_rows("lutra::ilu::fill_candidates", search, Impl::SearchPass::fill);
  }

  /// Allocates memory for the counted candidates. Leaves out the smallest beyond twice the limits on fill. If
  /// the budget is short, finds how many chunks of rows suffice.
  void make_room(Search& search) {
    const Impl::ParIlutNews& news = m_news.host()(0);
    const std::int64_t limit = m_arrays.max_lower + m_arrays.max_upper, enough = 2 * limit + m_A.n_rows;
    if (news.n_entries > enough) limit_candidates(search, limit, false);
    search.to = {};  // frees its memory
    m_arrays.widen(std::max(news.n_entries, std::min(news.n_entries + news.n_entries / 4, enough)),
                   max_kept());
    search.to = m_arrays.wide;
    if (news.n_entries <= m_arrays.wide.nnz()) return;
    const std::int64_t room = m_arrays.wide.nnz() - max_kept(), wanted = news.n_entries - max_kept();
    m_chunks = room > 0
                   ? static_cast<int>(std::clamp<std::int64_t>((wanted + room - 1) / room, 2, max_chunks))
                   : max_chunks;
    m_outcome.chunks = std::max(m_outcome.chunks, m_chunks);
  }

  /// Raises the smallest accepted key so that at most `limit` candidates remain, or, if `is_hard`, `limit`
  /// entries including those of L and U. Bins of keys are kept whole: without a hard limit, the first bin is
  /// kept anyway.
  void limit_candidates(Search& search, std::int64_t limit, bool is_hard) {
    constexpr int n_bins = Impl::KeyBins<Real>::count;
    MemoryReservation reservation(m_budget);
    const Impl::AsyncResult<std::int64_t, ExecutionSpace> bins(m_exec, reservation, "lutra::ilu::key_bins",
                                                               2 * n_bins);
    bins.fill(m_exec, 0);
    pass_rows("lutra::ilu::count_bins", search, Impl::SearchPass::bins, bins.device());
    const std::int64_t* const counts = bins.fetch(m_exec).data();
    if (is_hard)
      limit -= m_news.host()(0).n_entries - std::accumulate(counts, counts + 2 * n_bins, std::int64_t(0));
    const double lower = static_cast<double>(m_arrays.max_lower),
                 upper = static_cast<double>(m_arrays.max_upper);
    const double share = static_cast<double>(limit) / std::max(1.0, lower + upper);
    search.min_lower = std::max(search.min_lower, min_key(counts, share * lower, is_hard));
    search.min_upper = std::max(search.min_upper, min_key(counts + n_bins, share * upper, is_hard));
    if (!is_hard) m_min_lower = search.min_lower, m_min_upper = search.min_upper;
    count_candidates(search, Impl::SearchPass::recount);
    m_news.fetch(m_exec);
    m_is_limited = true;
  }

  static Real min_key(const std::int64_t* bins, double limit, bool is_hard) {
    constexpr int n_bins = Impl::KeyBins<Real>::count;
    int bin = n_bins;
    double sum = 0;
    while (bin > 0 && sum + static_cast<double>(bins[bin - 1]) <= limit)
      sum += static_cast<double>(bins[--bin]);
    if (!is_hard && sum == 0 && bin > 0) --bin;
    return bin < n_bins ? Impl::KeyBins<Real>::least(bin) : Kokkos::Experimental::infinity_v<Real>;
  }

  /// Most entries of m_now.
  std::int64_t max_kept() const {
    return std::max<std::int64_t>(m_arrays.n_limit(), m_is_kept ? 0 : m_now.nnz());
  }

  /// Updates the residual of m_now. Returns whether another step is worthwhile. Reverts a step that raised
  /// the residual, unless the previous L and U violated the limits.
  bool take_residual() {
    const double before = m_outcome.residual, n = static_cast<double>(m_A.n_rows);
    const double residual = std::sqrt(m_news.host()(0).residual / n);
    m_outcome.limited_steps += m_is_limited ? 1 : 0;
    m_is_limited = false;
    if (m_outcome.steps > 0) {
      Impl::finish_record(m_kept.host()(0), m_options.nonlinear_residual, m_exponent, m_step);
      m_outcome.records.push_back(std::exchange(m_step, {}));
    }
    if (m_outcome.steps == 0) m_outcome.first_residual = residual;
    if (m_outcome.steps > 0 && !(residual <= before) && m_previous.n > 0) {
      m_now = m_previous;
      m_is_kept = m_outcome.steps > 1;
      m_outcome.is_taken_back = m_outcome.records.back().is_taken_back = true;
      return false;
    }
    m_outcome.residual = residual;
    m_outcome.is_finite = std::isfinite(residual);
    const bool is_exact = residual <= 8 * static_cast<double>(epsilon_of<Scalar>);
    const bool has_stalled =
        m_outcome.steps > 0 && std::abs(before - residual) <= m_options.step_tolerance * before;
    return m_outcome.is_finite && !is_exact && !has_stalled;
  }

  /// Sweeps over `factors`; a deterministic sweep writes to `spare` and swaps the two.
  /// @param body of a row, constructed from the arguments of a sweep
  template <class MakeBody>
  void sweep(Factors& factors, Array<Scalar>& spare, const MakeBody& body) const {
    const Kokkos::Profiling::ScopedRegion region("lutra::ilu::parilut: sweep");
    const Array<Scalar> to = m_options.deterministic ? spare : factors.values;
    for_each_row("lutra::ilu::sweep", body(Rows{m_A, m_shift, factors.row_map, factors.diagonal,
                                                factors.entries, factors.values, to}));
    if (m_options.deterministic) std::swap(factors.values, spare);
  }

  /// m_now := the entries of m_arrays.wide that are kept. May reuse the memory of m_now if the L and U before
  /// the step are stored already.
  void sweep_and_drop(bool is_later_chunk = false) {
    const auto [n_entries, n_lower, residual] = m_news.host()(0);
    const auto n_keys = n_entries - m_A.n_rows;
    m_step.candidates += n_entries - m_kept.host()(0).lower - m_kept.host()(0).upper;
    m_step.sweeps += 2;
    Keyed keyed{m_arrays.wide, m_arrays.lower_map,
                Kokkos::subview(m_arrays.keys, std::make_pair(std::int64_t(0), n_lower)),
                Kokkos::subview(m_arrays.keys, std::make_pair(n_lower, n_keys))};
    sweep(m_arrays.wide, m_arrays.wide_spare, [&](const Rows& rows) {
      return Impl::KeyedSweepRow<Scalar, Memory>{rows, keyed, m_arrays.scaling};
    });
    keyed.factors.values = m_arrays.wide.values;
    set_thresholds(keyed);
    if (!is_later_chunk) {
      m_previous = m_obeys || m_is_kept ? m_now : Factors();
      m_parity = 1 - m_parity;
    }
    m_now = {};
    Factors& kept = m_arrays.allocate_kept(
        m_parity, std::min(m_arrays.n_limit(), static_cast<std::int64_t>(m_arrays.wide.nnz())));
    drop(Drop{keyed, kept, m_arrays.thresholds, m_arrays.lower_count, m_arrays.upper_count,
              m_arrays.lower_ties, m_arrays.upper_ties, m_rows});
    sweep(kept, m_arrays.kept_spare[m_parity],
          [](const Rows& rows) { return Impl::SweepRow<Scalar, Memory>{rows}; });
    m_now = kept;
    m_is_kept = true;
    if (m_options.nonlinear_residual)
      for_each_row("lutra::ilu::nonlinear_residual",
                   Impl::PatternResidualRow<Scalar, Memory>{
                       Rows{m_A, m_shift, kept.row_map, kept.diagonal, kept.entries, kept.values, {}},
                       m_arrays.row_residual, m_exponent});
    count_kept(m_options.nonlinear_residual ? m_arrays.row_residual : Array<double>());
  }

  /// Counts the entries of m_now, for the next fetch_news.
  /// @param squares  [n] of the nonlinear residual, or empty
  void count_kept(const Array<double>& squares) const {
    Kokkos::parallel_reduce("lutra::ilu::count_kept_entries", range(m_A.n_rows),
                            Impl::CountKeptEntries<Threshold, Memory>{m_now.row_map, m_now.diagonal,
                                                                      m_arrays.thresholds, squares},
                            Kokkos::subview(m_kept.device(), 0));
  }

  void set_thresholds(const Keyed& keyed) {
    const Kokkos::Profiling::ScopedRegion region("lutra::ilu::parilut: selection");
    if (m_options.drop_tolerance > 0)
      for_rows("lutra::ilu::drop_small",
               Impl::DropSmall<Scalar, Memory>{keyed, m_arrays.scaling.row_size,
                                               static_cast<Real>(m_options.drop_tolerance), m_rows});
    if (m_options.symmetric) for_rows("lutra::ilu::drop_unpaired", Impl::DropUnpaired<Keyed>{keyed, m_rows});
    const bool by_row = m_options.fill_rule == FillRule::row;
    if (by_row) {
      for_rows("lutra::ilu::limit_rows",
               Impl::LimitRows<Scalar, Memory>{keyed, m_arrays.A_lower, m_arrays.A_upper,
                                               m_options.fill_factor, m_rows});
    }
    select(0, keyed.lower_keys,
           by_row || m_options.symmetric ? keyed.lower_keys.extent(0) : m_arrays.max_lower);
    select(1, keyed.upper_keys, by_row ? keyed.upper_keys.extent(0) : m_arrays.max_upper);
  }

  /// Sets a threshold below all keys.
  void keep_all(int factor) const {
    Kokkos::parallel_for("lutra::ilu::keep_all", range(1),
                         Impl::KeepAll<Real, Memory>{Kokkos::subview(m_arrays.thresholds, factor)});
  }

  void select(int factor, const Array<Real>& keys, std::int64_t limit) {
    if (static_cast<std::int64_t>(keys.extent(0)) <= limit) {
      keep_all(factor);
    } else {
      const Kokkos::View<Threshold, Memory> to = Kokkos::subview(m_arrays.thresholds, factor);
      m_arrays.selection.find(m_exec, Kokkos::View<const Real*, Memory>(keys), limit, to);
    }
  }

  void drop(const Drop& kernels) {
    const Kokkos::Profiling::ScopedRegion region("lutra::ilu::parilut: removal");
    find_kept_rows(kernels);
    if (m_options.symmetric) {
      for_rows("lutra::ilu::mirror", Impl::MirrorKept<Drop>{kernels});
      find_kept_rows(kernels);
    }
    for_rows("lutra::ilu::compact", Impl::CompactKept<Drop>{kernels});
  }

  void find_kept_rows(const Drop& kernels) {
    for_rows("lutra::ilu::count_kept", Impl::CountKept<Drop>{kernels});
    Kokkos::parallel_scan("lutra::ilu::kept_rows", range(std::int64_t(m_A.n_rows) + 1),
                          Impl::KeptRowMap<Threshold, Offset, Memory>(kernels));
    Impl::check_launches_on<ExecutionSpace>();  // before the offsets are used
  }

  ExecutionSpace m_exec;
  Matrix m_A;
  double m_shift;
  IluOptions m_options;
  MemoryBudget m_budget;
  Impl::RowTeams m_rows;
  Factors m_now;  ///< L and U
  Arrays m_arrays;
  std::optional<Impl::RowWorkspace<Scalar, ExecutionSpace>> m_work;
  Impl::AsyncResult<Impl::ParIlutNews, ExecutionSpace> m_news;
  Impl::AsyncResult<Impl::KeptCounts, ExecutionSpace> m_kept;  ///< entries of m_now
  ParIlutStep m_step;                                          ///< record of the present step
  int m_exponent = 0;                                          ///< of A's largest entry
  Factors m_previous;      ///< before the last step; n = 0 if it cannot be reverted
  int m_parity = 0;        ///< index of the m_arrays.kept written last
  bool m_is_kept = false;  ///< m_now is one of m_arrays.kept
  bool m_obeys = false;    ///< obeys_limits of the initial L and U
  Real m_min_lower = 0, m_min_upper = 0;
  int m_chunks = 1;           ///< chunks of rows in the present step
  bool m_is_limited = false;  ///< the step left out some candidates
  ParIlutOutcome m_outcome;
};

}  // namespace

template <class Scalar, class ExecutionSpace>
ParIlutOutcome parilut(const ExecutionSpace& exec,
                       const CsrView<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& A,
                       double shift, const IluOptions& options, const MemoryBudget& budget,
                       IncompleteFactors<Scalar, typename ExecutionSpace::memory_space>& factors) {
  check_options(options);
  if (A.n_rows != A.n_cols || factors.n != A.n_rows) {
    throw InputError("parilut: A is " + std::to_string(A.n_rows) + " x " + std::to_string(A.n_cols) +
                     ", the factors are " + std::to_string(factors.n) + " x " + std::to_string(factors.n));
  }
  if (A.n_rows == 0) return {};
  using Run = ParIlut<Scalar, ExecutionSpace>;
  const std::size_t used = budget.used_bytes();
  try {
    Run run(exec, A, shift, options, budget, factors);
    const ParIlutOutcome outcome = run.run();
    factors = run.result();
    return outcome;
  } catch (const OutOfMemoryError& error) {
    if (budget.limit_bytes() == 0) throw;
    const std::size_t bytes = used + Run::Arrays::sufficient_bytes(exec, static_cast<std::size_t>(A.n_rows),
                                                                   static_cast<std::size_t>(A.nnz()), options,
                                                                   static_cast<std::size_t>(factors.nnz()));
    throw OutOfMemoryError("ParILUT needs a memory limit of " + std::to_string(bytes) + " bytes instead of " +
                               std::to_string(budget.limit_bytes()) + ", of which " + std::to_string(used) +
                               " are in use: " + error.what(),
                           bytes);
  }
}

#define LUTRA_INSTANTIATE(Scalar, ExecutionSpace)                                                           \
  template ParIlutOutcome parilut(                                                                          \
      const ExecutionSpace&, const CsrView<Scalar, Ordinal, Offset, ExecutionSpace::memory_space>&, double, \
      const IluOptions&, const MemoryBudget&, IncompleteFactors<Scalar, ExecutionSpace::memory_space>&);
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_INSTANTIATE)
#undef LUTRA_INSTANTIATE

}  // namespace lutra
