// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_PerfMatrix.hpp"

#include <charconv>
#include <cmath>
#include <complex>
#include <filesystem>

#include "Lutra_Error.hpp"
#include "Lutra_MatrixMarket.hpp"

namespace lutra::Perf {
namespace {

std::string name_of_file(const std::string& file) {
  std::filesystem::path name = std::filesystem::path(file).filename();
  for (const char* ending : {".xz", ".gz", ".mtx"}) {
    if (name.extension() == ending) name = name.stem();
  }
  return name.string();
}

template <class Integer>
Integer to_integer(const std::string& spec, const std::string& text) {
  Integer value{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size()) {
    throw InputError("--generate=" + spec + ": '" + text +
                     "' is not a number (write KIND:SIZE or KIND:SIZE:SEED)");
  }
  return value;
}

/// Element i of the solution: 1 + the fraction of (i + 1)/φ, which fills [1, 2) evenly without repeating.
long double solution_element(std::size_t i) {
  long double whole = 0;
  return 1 + std::modf(static_cast<long double>(i + 1) * 0.61803398874989484820458683436563812L, &whole);
}

}  // namespace

PerfMatrix load_matrix(const std::string& file) {
  auto read = read_matrix_market(file);
#ifndef LUTRA_HAS_C128
  if (!std::holds_alternative<HostMatrix<double>>(read.matrix))
    throw InputError(file + ": is complex, and Lutra was built without complex double (Lutra_SCALARS)");
#endif
  return {name_of_file(file), file, std::move(read.matrix)};
}

PerfMatrix generate_matrix(const std::string& spec) {
  const auto first = spec.find(':');
  if (first == std::string::npos)
    throw InputError("--generate=" + spec + ": invalid matrix (write KIND:SIZE or KIND:SIZE:SEED)");
  const auto second = spec.find(':', first + 1);
  const auto size = to_integer<std::int64_t>(spec, spec.substr(first + 1, second - first - 1));
  const auto seed =
      second == std::string::npos ? 1 : to_integer<std::uint64_t>(spec, spec.substr(second + 1));
  return {spec, "", generate(spec.substr(0, first), size, seed)};
}

template <class Scalar>
std::vector<Scalar> make_right_hand_side(const HostMatrix<Scalar>& matrix) {
  std::vector<Scalar> b;
  b.reserve(static_cast<std::size_t>(matrix.n_rows));
  for (std::size_t i = 0; i < static_cast<std::size_t>(matrix.n_rows); ++i) {
    std::complex<long double> sum = 0;
    for (auto p = static_cast<std::size_t>(matrix.row_map[i]);
         p < static_cast<std::size_t>(matrix.row_map[i + 1]); ++p) {
      const std::complex<double> value = matrix.values[p];
      sum += std::complex<long double>(value) * solution_element(static_cast<std::size_t>(matrix.entries[p]));
    }
    if constexpr (std::is_same_v<Scalar, double>) {
      b.push_back(static_cast<double>(sum.real()));
    } else {
      b.emplace_back(static_cast<double>(sum.real()), static_cast<double>(sum.imag()));
    }
  }
  return b;
}

template std::vector<double> make_right_hand_side(const HostMatrix<double>&);
template std::vector<Kokkos::complex<double>> make_right_hand_side(
    const HostMatrix<Kokkos::complex<double>>&);

}  // namespace lutra::Perf
