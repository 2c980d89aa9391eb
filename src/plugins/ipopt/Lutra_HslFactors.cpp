// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_HslFactors.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "Lutra_HslFlags.hpp"

namespace lutra::Hsl {
namespace {

std::string text_of(double number) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), number).ptr};
}

std::string text_of(bool value) {
  return value ? "true" : "false";
}

/// Lutra's name of a value of ma97_control_d::ordering.
const char* ordering_name(int ordering) {
  switch (ordering) {
    case 1:
    case 2:
    case 4:
    case 7:
      return "amd";
    case 3:
    case 8:
      return "metis";
    default:
      return "auto";
  }
}

/// Whether HSL_MA97 keeps matched rows together in this ordering.
bool is_matched(int ordering) {
  return ordering >= 6;
}

/// Lutra's zero_tolerance, relative to the largest entry. That entry is 1 in a scaled matrix, and may reach
/// 1/ε in an unscaled one of an interior point method.
double zero_tolerance(double small, bool is_scaled) {
  constexpr double least = 1e-300;
  return std::clamp(is_scaled ? small : small * std::numeric_limits<double>::epsilon(), least, 0.5);
}

/// A matching needs finite values. A factorization finds others by itself. @throws Failure
void check_finite(const lutra_matrix& A) {
  const auto* const values = static_cast<const double*>(A.values);
  const auto* const found =
      std::find_if_not(values, values + A.nnz, [](double v) { return std::isfinite(v); });
  if (found != values + A.nnz)
    throw Failure(Flag::not_finite,
                  "val: entry " + std::to_string(found - values) + ", counted from 0, is NaN or infinity");
}

}  // namespace

/// Returns the values of S·A·S in the order of the pattern.
const double* Factors::scaled_values(const Pattern& pattern, const double* val) {
  const double* const values = pattern.values(val, m_values);
  if (m_scale.empty()) return values;
  m_values.resize(pattern.columns.size());
  for (std::size_t i = 0; i < m_scale.size(); ++i)
    for (auto p = static_cast<std::size_t>(pattern.row_map[i]);
         p < static_cast<std::size_t>(pattern.row_map[i + 1]); ++p)
      m_values[p] = m_scale[i] * values[p] * m_scale[static_cast<std::size_t>(pattern.columns[p])];
  return m_values.data();
}

void Factors::analyze(const std::shared_ptr<const Structure>& structure, const lutra_matrix& A,
                      const Kind& kind, double threshold) {
  m_structure.reset();
  check_finite(A);
  lutra_destroy(m_solver);
  m_solver = nullptr;
  const Options& options = structure->options;
  checked(lutra_create(&m_solver, LUTRA_LDLT, LUTRA_F64, LUTRA_INT32, options.backend.c_str()));
  const bool matched = is_matched(structure->ordering) && !kind.positive_definite;
  const std::pair<const char*, std::string> own[] = {
      {"triangle", "upper"},
      {"check", "never"},           // Ipopt refines
      {"validate_input", "false"},  // the pattern is Structure's
      {"trust_pivots", "true"},     // Ipopt looks at the inertia
      {"positive_definite", text_of(kind.positive_definite)},
      {"solve_singular", text_of(kind.goes_on)},
      {"ordering", ordering_name(structure->ordering)},
      {"pair_ordering", text_of(matched)},
      {"matching", kind.is_scaled || matched ? "auto" : "none"},
      {"zero_tolerance", text_of(zero_tolerance(kind.small, kind.is_scaled || matched))},
      {"pivot_threshold", text_of(threshold)}};
  for (const auto& [name, value] : own) set_option(m_solver, name, value);
  for (const auto& [name, value] : options.named) set_option(m_solver, name, value);
  const auto& order = structure->order;
  if (!order.empty())
    checked(lutra_set_permutation(m_solver, static_cast<std::int64_t>(order.size()), order.data()));
  checked(lutra_analyze(m_solver, &A));
  double flops = 0;
  lutra_get_number(m_solver, "factors.flops", &flops);
  m_flops = static_cast<long>(std::min(flops, 0x1p62));
  m_structure = structure;
  m_kind = kind;
  m_first_threshold = m_threshold = threshold;
}

/// Raises Lutra's threshold to at least this value: to u^0.75, again and again, as Ipopt raises its own.
void Factors::raise_threshold(double threshold) {
  constexpr double almost = 1 - 1e-9;
  for (int raised = 1; raised != 0 && m_threshold < almost * threshold;) {
    checked(lutra_increase_quality(m_solver, &raised));
    m_threshold = std::min(0.5, std::pow(m_threshold, 0.75));
  }
}

lutra_status Factors::factorize(const std::shared_ptr<const Structure>& structure, const double* val,
                                const Request& request, double* scale, ma97_info_d& info) {
  constexpr double least_threshold = 1e-12;
  const Pattern& pattern = structure->pattern;
  if (pattern.n == 0) {  // Lutra takes no matrix without rows
    m_structure = structure;
    m_has_factors = true;
    return LUTRA_SUCCESS;
  }
  const double threshold = std::clamp(request.threshold, least_threshold, 0.5);
  m_has_factors = false;
  m_scale.clear();
  if (request.rescales && scale != nullptr)
    std::fill_n(scale, pattern.n, 1.0);
  else if (scale != nullptr && std::any_of(scale, scale + pattern.n, [](double s) { return s != 1; }))
    m_scale.assign(scale, scale + pattern.n);
  const lutra_matrix A = {pattern.n,
                          pattern.n,
                          static_cast<std::int64_t>(pattern.columns.size()),
                          pattern.row_map.data(),
                          pattern.columns.data(),
                          scaled_values(pattern, val),
                          LUTRA_INT32};
  const bool known = m_structure == structure;
  const bool keeps_scales = known && scale != nullptr && m_scale.empty() && m_kind.is_scaled;
  const Kind kind{request.positive_definite, request.goes_on, request.rescales || keeps_scales,
                  request.small};
  if (!known || m_kind != kind || threshold < m_first_threshold) {
    analyze(structure, A, kind, threshold);
  } else if (request.rescales) {
    check_finite(A);
    m_structure.reset();                   // if that fails, the next call analyzes anew
    checked(lutra_analyze(m_solver, &A));  // keeps the order
    m_structure = structure;
    m_threshold = m_first_threshold;
  }
  raise_threshold(threshold);
  lutra_status status = checked(lutra_factorize(m_solver, &A));
  if (!describe(info) && status == LUTRA_SUCCESS) status = LUTRA_NUMERICALLY_SINGULAR;
  m_has_factors = status == LUTRA_SUCCESS || (request.goes_on && status == LUTRA_NUMERICALLY_SINGULAR);
  return status;
}

/// Copies counts of the report. Returns whether there is an inertia.
bool Factors::describe(ma97_info_d& info) {
  const auto get = [&](const char* key) {
    std::int64_t value = 0;
    lutra_get_integer(m_solver, key, &value);
    return value;
  };
  const auto count = [&](const char* key) {
    return static_cast<int>(std::min<std::int64_t>(get(key), std::numeric_limits<int>::max()));
  };
  std::int64_t negative = 0;
  const bool has_inertia = lutra_get_integer(m_solver, "inertia.negative", &negative) == LUTRA_SUCCESS;
  info.num_neg = static_cast<int>(negative);
  info.matrix_rank = m_structure->pattern.n - count("pivots.zero");
  info.num_delay = count("pivots.delayed");
  info.num_two = count("pivots.two_by_two");
  info.num_sup = count("factors.supernodes");
  info.num_factor = static_cast<long>(get("factors.nnz_l"));
  info.num_flops = m_flops;
  return has_inertia;
}

void Factors::multiply_by_scale(int nrhs, double* x, int ldx) const {
  for (std::size_t j = 0; j < static_cast<std::size_t>(nrhs); ++j)
    for (std::size_t i = 0; i < m_scale.size(); ++i) x[j * static_cast<std::size_t>(ldx) + i] *= m_scale[i];
}

void Factors::solve(const Structure& structure, int parts, int nrhs, double* x, int ldx) {
  if (!m_has_factors || m_structure.get() != &structure)
    throw Failure(Flag::call_order, "there are no factors of this analysis: call ma97_factor first");
  if (structure.pattern.n == 0) return;
  if (parts == 0 || (parts & LUTRA_LOWER) != 0) multiply_by_scale(nrhs, x, ldx);
  const lutra_status status = parts == 0
                                  ? lutra_solve(m_solver, LUTRA_NONE, nrhs, x, ldx, x, ldx)
                                  : lutra_solve_parts(m_solver, parts, LUTRA_NONE, nrhs, x, ldx, x, ldx);
  if (status == LUTRA_BREAKDOWN || status == LUTRA_INPUT_ERROR)  // NaN or infinity in x
    throw Failure(Flag::not_finite, lutra_message());
  checked(status);
  if (parts == 0 || (parts & LUTRA_UPPER) != 0) multiply_by_scale(nrhs, x, ldx);
}

std::string Factors::report() {
  if (m_solver == nullptr) return "{}";
  const char* json = "";
  checked(lutra_report_json(m_solver, &json));
  return json;
}

}  // namespace lutra::Hsl
