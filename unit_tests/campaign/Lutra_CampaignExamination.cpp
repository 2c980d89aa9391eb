// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_CampaignExamination.hpp"

#include <sstream>

#include "Lutra_MatrixMarket.hpp"
#include "Lutra_TestFile.hpp"

namespace lutra::Campaign {
namespace {

/// x*ᵢ = 1 + (i mod 7)/4, and b = A·x*.
template <class Scalar>
std::vector<Scalar> right_hand_side(const HostMatrix<Scalar>& A) {
  std::vector<Scalar> b(static_cast<std::size_t>(A.n_rows));
  for (std::size_t i = 0; i < b.size(); ++i)
    Reference::for_row(A, i, [&](std::size_t j, const Scalar& value) {
      b[i] += value * Scalar(1.0 + static_cast<double>(j % 7) / 4.0);
    });
  return b;
}

template <class... Parts>
std::string text_of(const Parts&... parts) {
  std::ostringstream text;
  text.precision(3);
  (text << ... << parts);
  return text.str();
}

/// A number of twice the precision, rounded.
template <class Scalar, class Wide>
Scalar narrow(const Wide& value) {
  if constexpr (std::is_floating_point_v<Scalar>) {
    return static_cast<Scalar>(value);
  } else {
    return {static_cast<RealOf<Scalar>>(value.real()), static_cast<RealOf<Scalar>>(value.imag())};
  }
}

std::string text_of_inertia(const Reference::Inertia& inertia) {
  return text_of("(", inertia.positive, ", ", inertia.negative, ", ", inertia.zero, ")");
}

}  // namespace

template <class Scalar>
Examination<Scalar>::Examination(const Case<Scalar>& matrix, std::uint64_t seed, const Limits& limits,
                                 Findings& findings)
    : m_name(matrix.name),
      m_system{matrix.A, right_hand_side(matrix.A), Campaign::is_symmetric(matrix.A)},
      m_random(seed),
      m_limits(limits),
      m_findings(findings) {}

template <class Scalar>
bool Examination<Scalar>::run() {
  split();
  solve_in_every_way();
  auto relations = all_relations<Scalar>();
  // where the time does not suffice, other relations are left out for each matrix
  std::ranges::rotate(relations,
                      relations.begin() + m_random.integer(0, static_cast<int>(relations.size()) - 1));
  for (const auto& relation : relations) vary(relation);
  refactorize();
  return !time_is_up();
}

template <class Scalar>
void Examination<Scalar>::solve_in_every_way() {
  for (const Way way : all_ways) {
    if (time_is_up() || (needs_symmetry(way) && !m_system.is_symmetric)) continue;
    if (way == Way::cholesky && !is_hermitian(m_system.A)) continue;
    auto outcome = Campaign::run(way, m_system.A, m_system.b, m_limits.flops);
    if (outcome.status == Status::not_solved) continue;
    judge(way, outcome);
    m_solved.emplace(way, std::move(outcome));
  }
}

template <class Scalar>
void Examination<Scalar>::judge(Way way, const Outcome<Scalar>& outcome) {
  constexpr std::string_view relation = "itself";
  auto& counts = m_findings.counts(relation, way);
  ++counts.compared;
  if (outcome.kind() == Kind::solved) ++counts.solved;
  require_sound(relation, way, outcome);
  if (way == Way::gmres) return;
  const bool may_pass = outcome.kind() == Kind::singular || way == Way::cholesky;
  if (is_singular() && !(may_pass && outcome.kind() != Kind::solved))
    m_findings.fail(m_name, relation, way,
                    text_of("is singular to the last bit, and ended as ", to_string(outcome.status)));
  if (way == Way::cholesky || outcome.kind() == Kind::solved || rows() > max_rows_of_condition) {
    judge_inertia(way, outcome);
    return;
  }
  if (!is_singular() && condition() < well_conditioned)
    m_findings.fail(
        m_name, relation, way,
        text_of("has the least condition ", condition(), " and ended as ", to_string(outcome.status)));
  judge_inertia(way, outcome);
}

template <class Scalar>
void Examination<Scalar>::judge_inertia(Way way, const Outcome<Scalar>& outcome) {
  if constexpr (std::is_same_v<Scalar, double>) {
    if (!m_system.is_symmetric || (!needs_symmetry(way) && !outcome.inertia)) return;
    const auto expected = separated_inertia(m_system.A);
    if (!expected) return;
    const bool definite = expected->negative == 0;
    if (way == Way::cholesky) {
      if ((outcome.kind() == Kind::solved) != definite)
        m_findings.fail(m_name, "itself", way,
                        text_of("has the inertia ", text_of_inertia(*expected), " and ended as ",
                                to_string(outcome.status)));
    } else if (outcome.inertia != expected) {
      m_findings.fail(m_name, "itself", way,
                      text_of("has the inertia ", text_of_inertia(*expected), ", not ",
                              outcome.inertia ? text_of_inertia(*outcome.inertia) : "none"));
    }
  }
}

template <class Scalar>
void Examination<Scalar>::vary(const Relation<Scalar>& relation) {
  const auto variant = relation.make(m_system, m_random);
  for (const auto& [way, solved] : m_solved) {
    if (time_is_up()) return;
    if (!relation.applies(way)) continue;
    const auto found = Campaign::run(way, variant.A, variant.b, m_limits.flops, variant.op);
    if (found.status == Status::not_solved) continue;
    require_sound(relation.name, way, found);
    compare(relation.name, way, variant, found);
  }
}

template <class Scalar>
void Examination<Scalar>::compare(std::string_view relation, Way way, const Variant<Scalar>& variant,
                                  const Outcome<Scalar>& found) {
  const auto& solved = m_solved.at(way);
  auto& counts = m_findings.counts(relation, way);
  ++counts.compared;
  if (found.kind() == Kind::solved) ++counts.solved;
  if (variant.exponent) compare_bits(relation, way, *variant.exponent, found);
  if (way == Way::gmres) return;  // rounding and order change the iteration
  const bool one_is_solved = found.kind() == Kind::solved || solved.kind() == Kind::solved;
  if (one_is_solved && found.kind() != solved.kind() && is_singular()) {
    m_findings.fail(m_name, relation, way, "is singular to the last bit, and was solved");
  } else if (found.kind() != solved.kind()) {
    differ(relation, way, text_of(to_string(found.status), " in place of ", to_string(solved.status)));
  } else if (variant.signs != Variant<Scalar>::Signs::unrelated && solved.inertia && found.inertia &&
             *found.inertia != expected_inertia(variant, *solved.inertia)) {
    differ(relation, way,
           text_of("the inertia ", text_of_inertia(*found.inertia), " in place of ",
                   text_of_inertia(expected_inertia(variant, *solved.inertia))));
  }
}

template <class Scalar>
void Examination<Scalar>::compare_bits(std::string_view relation, Way way, int exponent,
                                       const Outcome<Scalar>& found) {
  const auto& solved = m_solved.at(way);
  if (found.status != solved.status) {
    m_findings.fail(
        m_name, relation, way,
        text_of("units change the status from ", to_string(solved.status), " to ", to_string(found.status)));
    return;
  }
  if (solved.kind() != Kind::solved) return;
  auto x = solved.x;
  for (Scalar& value : x) value = times_power(value, exponent);
  const auto [low, high] = exponent_range(x);
  if (low < -900 || high > 900) return;  // room for what x is computed from
  if (found.x != x) m_findings.fail(m_name, relation, way, "units change the bits of x");
  if (found.refinement_steps != solved.refinement_steps || found.iterations != solved.iterations)
    m_findings.fail(m_name, relation, way, "units change the counts");
}

/// The matrix on the analysis of other values, after a factorization of those.
template <class Scalar>
void Examination<Scalar>::refactorize() {
  constexpr std::string_view relation = "refactorize";
  for (const auto& [way, solved] : m_solved) {
    if (time_is_up()) return;
    if (solved.status == Status::structurally_singular) continue;
    const auto other = scaled(m_system.A, std::vector<int>(rows(), 1), std::vector<int>(rows()));
    const auto exponents = random_exponents(rows(), m_random);
    const auto first = scaled(other, exponents, exponents);
    lutra::Solver<Scalar> solver(options_of(way));
    Outcome<Scalar> found;
    found.x.resize(rows());
    Status status = solver.analyze(first);
    if (status == Status::success && solver.factorize(first) == Status::success)
      solver.solve_host(m_system.b, found.x);
    if (status == Status::success) status = solver.factorize(m_system.A);
    found.inertia = inertia_of(solver.report());
    if (status == Status::success) status = solver.solve_host(m_system.b, found.x);
    found.status = status;
    if (status == Status::success) measure_error(way, m_system.A, m_system.b, found);
    require_sound(relation, way, found);
    compare(relation, way, {m_system.A, m_system.b}, found);
  }
}

/// Entries of a file that were split are summed to the same bits.
template <class Scalar>
void Examination<Scalar>::split() {
  const auto [low, high] = exponent_range(m_system.A.values);
  if (low < -1000 || m_system.A.entries.size() > 200000) return;
  auto& counts = m_findings.counts("split", Way::automatic);
  ++counts.compared;
  const Test::TemporaryFolder folder;
  const auto read = read_matrix_market(folder.write("A.mtx", split_text(m_system.A, m_random)));
  const auto* found = std::get_if<HostMatrix<Scalar>>(&read.matrix);
  if (!found || found->row_map != m_system.A.row_map || found->entries != m_system.A.entries ||
      found->values != m_system.A.values)
    m_findings.fail(m_name, "split", Way::automatic,
                    "the reader's sums of split entries differ from the entries");
}

template <class Scalar>
void Examination<Scalar>::require_sound(std::string_view relation, Way way, const Outcome<Scalar>& outcome) {
  const double tolerance = (way == Way::gmres ? krylov_tolerance : direct_tolerance) + outcome.rounding;
  if (outcome.kind() == Kind::solved && !(outcome.error <= tolerance))
    m_findings.fail(m_name, relation, way, text_of("a success with the error ", outcome.error));
}

template <class Scalar>
void Examination<Scalar>::differ(std::string_view relation, Way way, const std::string& text) {
  if (rows() <= max_rows_of_condition && condition() >= well_conditioned) {
    ++m_findings.counts(relation, way).borderline;
  } else if (rows() > max_rows_of_condition && nearness() <= near_singular) {
    ++m_findings.counts(relation, way).borderline;
  } else {
    m_findings.fail(m_name, relation, way,
                    rows() <= max_rows_of_condition
                        ? text_of(text, ", least condition ", condition())
                        : text_of(text, ", no nearer singular matrix than ", nearness()));
  }
}

template <class Scalar>
double Examination<Scalar>::condition() {
  if (!m_condition) m_condition = least_condition(m_system.A);
  return *m_condition;
}

template <class Scalar>
bool Examination<Scalar>::is_singular() {
  if constexpr (std::is_same_v<Scalar, double>) {
    if (!m_is_singular) m_is_singular = rows() <= max_rows_of_rank && is_exactly_singular(m_system.A);
    return *m_is_singular;
  } else {
    return false;
  }
}

/// The least distance to a singular matrix that computed vectors prove, for A and its transpose. A step of
/// inverse iteration with the factors of A + E finds the null vector of that; z ← z − (A + E)⁻¹·A·z removes
/// what E has left, if A is singular.
template <class Scalar>
double Examination<Scalar>::nearness() {
  if (m_nearness) return *m_nearness;
  m_nearness = 1;
  auto options = options_of(Way::lu);
  options.solve_singular = true;
  options.max_refinement_steps = 0;
  lutra::Solver<Scalar> solver(options);
  if (solver.analyze(m_system.A) != Status::success) return *m_nearness = 0;  // no perfect matching
  [[maybe_unused]] const Status any = solver.factorize(m_system.A);
  const auto transposed = Reference::transpose(m_system.A);
  for (const Transposition op : {Transposition::none, Transposition::transposed}) {
    const auto& A = op == Transposition::none ? m_system.A : transposed;
    std::vector<Scalar> v(rows()), w(rows());
    for (Scalar& value : v) value = Scalar(m_random.value());
    for (int step = 0; step < 6; ++step) {
      if (step < 3) {
        solver.solve_host(v, w, op);
        v = w;
      } else {
        const auto residual = Reference::multiply(A, Reference::widen_all(v));
        for (std::size_t i = 0; i < w.size(); ++i) w[i] = narrow<Scalar>(residual[i]);
        solver.solve_host(w, w, op);
        for (std::size_t i = 0; i < w.size(); ++i) v[i] -= w[i];
      }
      const int high = exponent_range(v).second;
      for (Scalar& value : v) value = times_power(value, -high);
      if (equilibrated_distance(A, v) <= near_singular_in_norm) return *m_nearness = 0;
      m_nearness = std::min(*m_nearness, distance_to_singular(A, v));
    }
  }
  return *m_nearness;
}

template class Examination<double>;
#ifdef LUTRA_HAS_C128
template class Examination<Kokkos::complex<double>>;
#endif

}  // namespace lutra::Campaign
