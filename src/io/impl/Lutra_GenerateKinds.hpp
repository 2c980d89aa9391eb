// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_GENERATEKINDS_HPP
#define LUTRA_GENERATEKINDS_HPP

#include <cstdint>

#include "Lutra_CsrView.hpp"

namespace lutra::Impl {

// One function per kind. Callers check sizes. Values are equal on every machine: all operations are exact or
// rounded once.

/// −Δu on a square, 5-point stencil, `side` interior points per side.
HostMatrix<double> generate_poisson2d(int side);
/// −Δu on a cube, 7-point stencil.
HostMatrix<double> generate_poisson3d(int side);
/// −Δu + w·∇u on a cube, upwind differences; w rotates about the third axis and rises along it.
HostMatrix<double> generate_convdiff3d(int side);
/// −∇·(D∇u) on a square, D stretched by 1000 along a direction 36.87° off the axis, 9-point stencil.
HostMatrix<double> generate_aniso2d(int side);
/// Modified nodal analysis of a random circuit.
HostMatrix<double> generate_circuit(int n, std::uint64_t seed);
/// Saddle-point matrix [H Aᵀ; A 0].
HostMatrix<double> generate_kkt(int n, std::uint64_t seed);
/// Random pattern; the entries of a random permutation dominate.
HostMatrix<double> generate_random(int n, std::uint64_t seed);

}  // namespace lutra::Impl

#endif
