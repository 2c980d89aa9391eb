// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TESTBITS_HPP
#define LUTRA_TESTBITS_HPP

#include <algorithm>
#include <cstddef>
#include <optional>
#include <type_traits>
#include <vector>

#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_Options.hpp"
#include "Lutra_ScalarTraits.hpp"

// Comparisons of solutions of the same calls, by bits wherever docs/deterministic.md promises these.

namespace lutra::Test {

/// Whether results have the same bits in every run. Supernodes on several host threads add in any order.
template <class Space, class Options>
bool repeats_bits(const Options& options) {
  if constexpr (std::is_same_v<Options, LuOptions>) {
    return lutra::Impl::is_serial_space<Space> || !lutra::Impl::is_host_space<Space> ||
           options.columns.supernodes != ColumnSupernodes::on;
  } else {
    return true;
  }
}

/// Options whose results repeat bit by bit on several host threads, where sweeps of incomplete factorizations
/// read what others have written. Unchanged for Serial.
template <class Space, class Options>
Options with_repeated_sweeps(Options options) {
  if constexpr (!lutra::Impl::is_serial_space<Space> && lutra::Impl::is_host_space<Space>) {
    if constexpr (requires { options.ilu; }) {
      options.ilu.deterministic = true;
    } else if constexpr (std::is_base_of_v<IluOptions, Options>) {
      options.deterministic = true;
    }
  }
  return options;
}

/// Compares solutions of well-conditioned systems.
/// @param by_bits else within rounding errors
template <class Scalar>
bool agree(const std::vector<Scalar>& a, const std::vector<Scalar>& b, bool by_bits) {
  if (by_bits || a.size() != b.size()) return a == b;
  using Traits = ScalarTraits<Scalar>;
  double error = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    error = std::max<double>(error, Traits::magnitude(a[i] - b[i]));
    size = std::max<double>(size, Traits::magnitude(b[i]));
  }
  return error <= (sizeof(RealOf<Scalar>) == 8 ? 1e-10 : 1e-4) * size;  // not of NaN
}
template <class Scalar>
bool agree(const std::optional<std::vector<Scalar>>& a, const std::optional<std::vector<Scalar>>& b,
           bool by_bits) {
  return a.has_value() == b.has_value() && (!a || agree(*a, *b, by_bits));
}

}  // namespace lutra::Test

#endif
