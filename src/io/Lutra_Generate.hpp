// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_GENERATE_HPP
#define LUTRA_GENERATE_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "Lutra_CsrView.hpp"

namespace lutra {

/// Kinds of `generate`: poisson2d, poisson3d, convdiff3d, aniso2d, circuit, kkt, random.
const std::vector<std::string>& generator_kinds();

/// Generates a test matrix. Equal arguments give the same matrix on every machine.
/// @param size grid points per side for poisson2d, poisson3d, convdiff3d and aniso2d; number of unknowns for
/// circuit, kkt (rounded to the nearest valid size) and random
/// @throws InputError for an unknown kind, or a size below 1 or too large
HostMatrix<double> generate(const std::string& kind, std::int64_t size, std::uint64_t seed = 1);

}  // namespace lutra

#endif
