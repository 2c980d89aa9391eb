// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <array>
#include <limits>
#include <memory>
#include <vector>

#include "Lutra_FuzzSystem.hpp"

// Sequences of calls of lutra.h with a small matrix. Each call ends with a status of lutra.h and a message;
// an error leaves the solver's status as it was; a solution that is called a success has a small backward
// error. Each byte chooses a call, the bytes after it the arguments.

namespace {

using lutra::Fuzz::checked;
using lutra::Fuzz::Input;
using lutra::Fuzz::Matrix;
using lutra::Fuzz::require;

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr std::array some_values = {0.0,   1.0,    -1.0,  2.0,    -3.0,   4.0,      10.0,      0.5,
                                    1e-16, -1e-16, 1e300, -1e300, 1e-320, infinite, -infinite, 1e150};

double take_value(Input& input) {
  const std::uint8_t byte = input.take_byte();
  return byte < 64 ? some_values[byte % some_values.size()] : (byte - 160) / 16.0;
}

// A matrix with up to eight rows; the flags of its first byte break the rules of the format.
Matrix take_matrix(Input& input) {
  const std::uint8_t first = input.take_byte();
  const std::int64_t n = first % 9;
  Matrix matrix;
  for (std::int64_t row = 0; row < n; ++row) {
    const unsigned pattern = input.take_byte() | (1u << row);
    for (std::int64_t column = 0; column < n; ++column)
      if ((pattern >> column & 1) != 0) matrix.add(column, take_value(input));
    matrix.end_row();
  }
  if (first >= 240 && n > 0)
    matrix.columns[input.take_byte() % matrix.columns.size()] = input.take_byte() - 100;
  if (first >= 248 && n > 1) matrix.row_map[1] = input.take_byte() - 100;
  return matrix;
}

const char* take_option(Input& input) {
  constexpr std::array names = {
      "ordering", "matching",        "engine",         "pivoting",      "max_refinement_steps",
      "check",    "pivot_threshold", "triangle",       "perturbation",  "estimate_condition",
      "method",   "restart",         "ilu.fill_level", "no such option"};
  return names[input.take_byte() % names.size()];
}

const char* take_option_value(Input& input) {
  constexpr std::array values = {"auto", "amd",        "natural",      "none",  "0",     "1",    "0.1",
                                 "-1",   "simplicial", "true",         "false", "lower", "full", "exact",
                                 "cg",   "gmres",      "multifrontal", "user"};
  return values[input.take_byte() % values.size()];
}

/// A solver, the matrix it may have factorized and what it was told.
class Session {
 public:
  Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() { lutra_destroy(m_solver); }

  void call(Input& input) {
    switch (input.take_byte() % 12) {
      case 0:
        return create(input);
      case 1:
        return set_option(input);
      case 2:
        return set_permutation(input);
      case 3:
        m_matrix = take_matrix(input);
        return analyze();
      case 4:
        return analyze();
      case 5:
        return factorize();
      case 6:
        for (double& value : m_matrix.values) value = take_value(input);
        return factorize();
      case 7:
      case 8:
        return solve(input);
      case 9:
        return solve_parts(input);
      case 10:
        return report(input);
      default:
        return others(input);
    }
  }

 private:
  // A call that is refused leaves the status as it was.
  template <class Call>
  lutra_status guarded(const Call& call) {
    const lutra_status before = m_solver == nullptr ? LUTRA_SUCCESS : lutra_report_status(m_solver);
    const lutra_status status = checked(call());
    const bool is_refused = status == LUTRA_INPUT_ERROR || status == LUTRA_CALL_ORDER_ERROR;
    if (is_refused && m_solver != nullptr)
      require(lutra_report_status(m_solver) == before, "a refused call leaves the status as it was");
    return status;
  }

  void create(Input& input) {
    lutra_destroy(m_solver);
    m_solver = nullptr;
    const std::uint8_t kind = input.take_byte();
    m_method = kind % 7;
    const int index = kind < 250 ? LUTRA_INT32 : 7;
    const lutra_status status = checked(lutra_create(&m_solver, m_method, LUTRA_F64, index, "serial"));
    require((m_solver != nullptr) == (status == LUTRA_SUCCESS), "a solver exists after success");
    m_factorized = {};
  }
  void set_option(Input& input) {
    const char* const name = take_option(input);
    const char* const value = take_option_value(input);
    guarded([&] { return lutra_set_option(m_solver, name, value); });
    const char* shown = nullptr;
    if (guarded([&] { return lutra_get_option(m_solver, name, &shown); }) == LUTRA_SUCCESS)
      require(shown != nullptr, "an option has a value");
  }
  void set_permutation(Input& input) {
    std::vector<std::int64_t> permutation(input.take_byte() % 10);
    for (auto& column : permutation) column = input.take_byte() % 11 - 1;
    guarded([&] {
      return lutra_set_permutation(m_solver, static_cast<std::int64_t>(permutation.size()),
                                   permutation.data());
    });
  }
  void analyze() {
    const lutra_matrix a = m_matrix.c();
    const lutra_status status = guarded([&] { return lutra_analyze(m_solver, &a); });
    if (status != LUTRA_INPUT_ERROR) m_factorized = {};
  }
  void factorize() {
    const lutra_matrix a = m_matrix.c();
    const lutra_status status = guarded([&] { return lutra_factorize(m_solver, &a); });
    if (status >= 0) m_factorized = m_matrix;
  }
  void solve(Input& input) {
    const std::int64_t n = m_factorized.n;
    const int op = input.take_byte() % 4;
    const auto size = static_cast<std::size_t>(n);
    std::vector<double> b(size + 8), x(size + 8, 7);
    for (std::size_t k = 0; k < size; ++k) b[k] = take_value(input);
    const auto call = m_method == LUTRA_ILU ? lutra_apply : lutra_solve;
    const lutra_status status = guarded([&] { return call(m_solver, op, 1, b.data(), n, x.data(), n); });
    if (status != LUTRA_SUCCESS || m_method == LUTRA_ILU || m_method == LUTRA_KRYLOV) return;
    b.resize(size);
    x.resize(size);
    const double error = lutra::Fuzz::backward_error(m_factorized, op != LUTRA_NONE, x, b);
    require(error <= 1e-10, "the backward error of a success is " + lutra::Fuzz::to_text(error));
  }
  void solve_parts(Input& input) {
    const std::int64_t n = m_factorized.n;
    const int parts = input.take_byte() % 9, op = input.take_byte() % 3;
    const std::vector<double> b(8, 1);
    std::vector<double> x(8);
    guarded([&] { return lutra_solve_parts(m_solver, parts, op, 1, b.data(), n, x.data(), n); });
  }
  void report(Input& input) {
    constexpr std::array keys = {"inertia.negative",
                                 "pivots.perturbed",
                                 "iterations",
                                 "choice.engine",
                                 "errors.backward_componentwise",
                                 "",
                                 "inertia",
                                 "no.such.key\n",
                                 "a~b",
                                 "inertia.01"};
    const char* const key = keys[input.take_byte() % keys.size()];
    std::int64_t integer = 0;
    double number = 0;
    const char* text = nullptr;
    guarded([&] { return lutra_get_integer(m_solver, key, &integer); });
    guarded([&] { return lutra_get_number(m_solver, key, &number); });
    guarded([&] { return lutra_get_text(m_solver, key, &text); });
    if (guarded([&] { return lutra_report_json(m_solver, &text); }) == LUTRA_SUCCESS)
      require(text != nullptr && *text == '{', "a report is an object");
  }
  void others(Input& input) {
    double sign = 0, log_magnitude = 0;
    int raised = 0;
    std::vector<double> shift(8);
    for (double& value : shift) value = take_value(input);
    guarded([&] { return lutra_determinant(m_solver, &sign, &log_magnitude); });
    guarded([&] { return lutra_increase_quality(m_solver, &raised); });
    const lutra_matrix a = m_matrix.c();
    Matrix shifted = m_matrix;
    const lutra_status status = guarded([&] { return lutra_factorize_shifted(m_solver, &a, shift.data()); });
    if (status < 0) return;
    for (std::size_t row = 0; row < static_cast<std::size_t>(a.n_rows); ++row)
      for (auto k = static_cast<std::size_t>(shifted.row_map[row]);
           k < static_cast<std::size_t>(shifted.row_map[row + 1]); ++k)
        if (shifted.columns[k] == static_cast<std::int32_t>(row)) shifted.values[k] += shift[row];
    m_factorized = shifted;
  }

  lutra_solver* m_solver = nullptr;
  int m_method = LUTRA_LU;
  Matrix m_matrix;      // of the next analyze or factorize
  Matrix m_factorized;  // n = 0: none
};

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  Session session;
  for (int calls = 0; calls < 40 && !input.empty(); ++calls) session.call(input);
  return 0;
}
