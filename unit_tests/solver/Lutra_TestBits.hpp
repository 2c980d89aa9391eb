// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TESTBITS_HPP
#define LUTRA_TESTBITS_HPP

#include <catch2/catch_message.hpp>

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

/// Whether LU repeats bits. Supernodes on several host threads add in any order, and so does the simplicial
/// engine on devices, which the automatic choice may take.
template <class Space>
bool lu_repeats_bits(const LuChoices& lu, bool deterministic) {
  if (deterministic || lutra::Impl::is_serial_space<Space>) return true;
  return lutra::Impl::is_host_space<Space> ? lu.columns.supernodes != ColumnSupernodes::on
                                           : lu.engine == Engine::multifrontal;
}

/// Whether results have the same bits in every run.
template <class Space, class Options>
bool repeats_bits(const Options& options) {
  if constexpr (std::is_same_v<Options, LuOptions>) {
    return lu_repeats_bits<Space>(options, options.deterministic);
  } else if constexpr (std::is_same_v<Options, SolverOptions>) {
    return lu_repeats_bits<Space>(options.lu, options.deterministic);
  } else if constexpr (std::is_same_v<Options, KrylovSolverOptions>) {
    return options.preconditioning != Preconditioning::lu ||
           lu_repeats_bits<Space>(options.lu, options.deterministic);
  } else {
    return true;
  }
}

/// Options whose results repeat bit by bit on several threads, where sweeps of incomplete factorizations
/// read what others have written. On devices a Krylov method promises that only as a whole. Unchanged for
/// Serial.
template <class Space, class Options>
Options with_repeated_sweeps(Options options) {
  if constexpr (!lutra::Impl::is_serial_space<Space>) {
    if constexpr (requires { options.ilu; }) {
      options.ilu.deterministic = true;
      if (!lutra::Impl::is_host_space<Space>) options.deterministic = true;
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
  if (a == b) return true;
  if (a.size() != b.size()) return false;
  using Traits = ScalarTraits<Scalar>;
  double error = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = Traits::magnitude(a[i] - b[i]);
    if (!(difference <= error)) error = difference;  // NaN, too, which then remains
    size = std::max<double>(size, Traits::magnitude(b[i]));
  }
  UNSCOPED_INFO("solutions differ by " << error / size << (by_bits ? ", but their bits are promised" : ""));
  return !by_bits && error <= (sizeof(RealOf<Scalar>) == 8 ? 1e-10 : 1e-4) * size;
}
template <class Scalar>
bool agree(const std::optional<std::vector<Scalar>>& a, const std::optional<std::vector<Scalar>>& b,
           bool by_bits) {
  return a.has_value() == b.has_value() && (!a || agree(*a, *b, by_bits));
}

}  // namespace lutra::Test

#endif
