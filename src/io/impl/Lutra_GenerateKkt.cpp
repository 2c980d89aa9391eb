// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>

#include "Lutra_CooToCsr.hpp"
#include "Lutra_GenerateKinds.hpp"
#include "Lutra_RandomStream.hpp"

namespace lutra::Impl {
namespace {

// H is strictly diagonally dominant with a positive diagonal, hence positive definite. It couples neighbours
// and a few other variables.
void add_hessian(CooEntries<double>& entries, int n_variables, RandomStream& random) {
  const auto couple = [&](int a, int b) {
    if (a == b) return;
    const double h = random.signed_fraction();
    entries.add(a, b, h);
    entries.add(b, a, h);
    entries.add(a, a, std::max(h, -h));
    entries.add(b, b, std::max(h, -h));
  };
  for (int variable = 0; variable < n_variables; ++variable) {
    entries.add(variable, variable, random.fraction());
    if (variable > 0) couple(variable, variable - 1);
    if (random.once_in(4)) couple(variable, random.below(n_variables));
  }
}

// A and its transpose. Constraint c is the only one with variable 2c and shares odd variables: A = [D R] up
// to column order, so A has full rank.
void add_constraints(CooEntries<double>& entries, int n_variables, int n_constraints, RandomStream& random) {
  const auto add = [&](int constraint, int variable, double value) {
    entries.add(n_variables + constraint, variable, value);
    entries.add(variable, n_variables + constraint, value);
  };
  for (int constraint = 0; constraint < n_constraints; ++constraint) {
    add(constraint, 2 * constraint, 1 + random.fraction());
    for (int k = 0; k < 2; ++k) {
      const int near = std::clamp(constraint + random.below(21) - 10, 0, n_constraints - 1);
      add(constraint, 2 * near + 1, random.signed_fraction());
    }
  }
}

}  // namespace

HostMatrix<double> generate_kkt(int n, std::uint64_t seed) {
  RandomStream random(seed);
  const int n_constraints = n / 3;
  const int n_variables = n - n_constraints;
  CooEntries<double> entries;
  add_hessian(entries, n_variables, random);
  add_constraints(entries, n_variables, n_constraints, random);
  return coo_to_csr(n, n, entries);
}

}  // namespace lutra::Impl
