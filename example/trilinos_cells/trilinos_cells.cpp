// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Robertson's reaction of three species in many cells of other temperatures, by the implicit Euler method:
// the Jacobian is block diagonal, and all cells of a process are one batch. mpiexec -n 2 ./trilinos_cells
#include <Tpetra_Core.hpp>
#include <Tpetra_CrsMatrix.hpp>

#include <array>
#include <cmath>
#include <cstdio>

#include "Lutra_TpetraBlockDiagonalLU.hpp"

using Matrix = Tpetra::CrsMatrix<double>;
using Vector = Tpetra::MultiVector<double>;
using Map = Matrix::map_type;
using Global = Map::global_ordinal_type;
using Local = Map::local_ordinal_type;

constexpr int species = 3;

// Rates of change of one cell, and their derivatives; `speed` stands for the temperature.
struct Reaction {
  double speed;
  std::array<double, species> rates(const double* c) const {
    const double slow = 0.04 * speed * c[0], fast = 1e4 * speed * c[1] * c[2], fastest = 3e7 * c[1] * c[1];
    return {-slow + fast, slow - fast - fastest, fastest};
  }
  std::array<std::array<double, species>, species> derivatives(const double* c) const {
    const double a = 0.04 * speed, b = 1e4 * speed, d = 6e7 * c[1];
    return {{{-a, b * c[2], b * c[1]}, {a, -b * c[2] - d, -b * c[1]}, {0, d, 0}}};
  }
};
double speed_of(Global cell) {
  return 0.5 + 0.01 * static_cast<double>(cell % 100);
}

// A matrix with a full block for each cell of this process; its values come later.
Teuchos::RCP<Matrix> make_matrix(const Teuchos::RCP<const Map>& map) {
  const auto J = Teuchos::rcp(new Matrix(map, species));
  const std::array<double, species> zeros{};
  for (const Global row : map->getLocalElementList()) {
    const Global first = row / species * species;
    const std::array<Global, species> columns{first, first + 1, first + 2};
    J->insertGlobalValues(row, species, zeros.data(), columns.data());
  }
  J->fillComplete();
  return J;
}

// J = I − dt·∂f/∂c and F = c − dt·f(c) − old, for all cells of this process.
void linearize(double dt, const Vector& c, const Vector& old, Matrix& J, Vector& F) {
  const auto values = c.getLocalViewHost(Tpetra::Access::ReadOnly);
  const auto before = old.getLocalViewHost(Tpetra::Access::ReadOnly);
  const auto residual = F.getLocalViewHost(Tpetra::Access::OverwriteAll);
  J.resumeFill();
  for (std::size_t first = 0; first < values.extent(0); first += species) {
    const Global cell = c.getMap()->getGlobalElement(static_cast<Local>(first)) / species;
    const Reaction reaction{speed_of(cell)};
    const double* const own = &values(first, 0);
    const auto rates = reaction.rates(own);
    const auto derivatives = reaction.derivatives(own);
    for (std::size_t i = 0; i < species; ++i) {
      residual(first + i, 0) = own[i] - dt * rates[i] - before(first + i, 0);
      for (std::size_t j = 0; j < species; ++j) {
        const double value = (i == j ? 1.0 : 0.0) - dt * derivatives[i][j];
        const Global row = cell * species + static_cast<Global>(i),
                     column = cell * species + static_cast<Global>(j);
        J.replaceGlobalValues(row, 1, &value, &column);
      }
    }
  }
  J.fillComplete();
}

int main(int argc, char* argv[]) {
  const Tpetra::ScopeGuard tpetra(&argc, &argv);  // starts MPI and Kokkos
  const auto comm = Tpetra::getDefaultComm();
  const std::size_t cells = 500;  // of each process
  const auto map = Teuchos::rcp(
      new Map(Teuchos::OrdinalTraits<Tpetra::global_size_t>::invalid(), species * cells, 0, comm));
  Vector c(map, 1), old(map, 1), F(map, 1), change(map, 1);
  for (std::size_t cell = 0; cell < cells; ++cell)
    c.replaceLocalValue(static_cast<Local>(species * cell), 0, 1.0);

  const auto J = make_matrix(map);
  lutra::TpetraBlockDiagonalLU<Matrix> blocks;
  bool solved = true;
  for (double dt = 1e-4; dt < 1e3; dt *= 2) {
    Tpetra::deep_copy(old, c);
    for (int iteration = 0; iteration < 6; ++iteration) {
      linearize(dt, c, old, *J, F);
      solved = blocks.factorize(*J, species) == lutra::Status::success && solved;
      solved = blocks.solve(change, F) == lutra::Status::success && solved;
      c.update(-1.0, change, 1.0);
    }
  }
  // c₁ + c₂ + c₃ = 1 in each cell
  const auto values = c.getLocalViewHost(Tpetra::Access::ReadOnly);
  for (std::size_t i = 0; i < values.extent(0); i += species)
    solved = solved && std::abs(values(i, 0) + values(i + 1, 0) + values(i + 2, 0) - 1) < 1e-10;
  if (comm->getRank() == 0)
    std::printf("%zu systems at once; c in the first cell: %.4f, %.2e, %.4f\n",
                blocks.report().statuses.size(), values(0, 0), values(1, 0), values(2, 0));
  return solved ? 0 : 1;
}
