// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <cmath>

#include "Lutra_CooToCsr.hpp"
#include "Lutra_GenerateKinds.hpp"
#include "Lutra_RandomStream.hpp"

namespace lutra::Impl {
namespace {

// Modified nodal analysis (Ho, Ruehli and Brennan, IEEE Trans. Circuits Syst. 22, 1975). The unknowns are the
// node voltages, followed by the currents of the voltage sources:
//
//     [ G  B ]
//     [ Bᵀ 0 ]
//
// Always nonsingular: G is strictly dominant by rows and columns with a positive diagonal, so G + Gᵀ is
// positive definite; B has one column per source with its own row, so BᵀG⁻¹B is positive definite as well.
// Conductances are multiples of 2⁻¹² below 2⁸, so their sums are exact.
class Circuit {
 public:
  Circuit(int n, std::uint64_t seed)
      : m_n(n),
        m_n_sources(n / 32),
        m_n_nodes(n - m_n_sources),
        m_n_rails(n < 16     ? 0
                  : n < 4096 ? 2
                             : 4),
        m_random(seed) {}

  HostMatrix<double> assemble() {
    add_grounds();
    add_resistors();
    add_controlled_sources();
    add_voltage_sources();
    return coo_to_csr(m_n, m_n, m_entries);
  }

 private:
  // Conductances of real circuits span decades.
  double conductance() { return std::ldexp(m_random.fraction(), m_random.below(13) - 4); }

  // The first nodes are the supply rails; the others are numbered along the layout.
  int near(int node) {
    constexpr int reach = 20;
    const int low = std::max(m_n_rails, node - reach);
    const int high = std::min(m_n_nodes - 1, node + reach);
    return low + m_random.below(high - low + 1);
  }
  int anywhere() { return m_n_rails + m_random.below(m_n_nodes - m_n_rails); }

  void add_grounds() {
    for (int node = 0; node < m_n_nodes; ++node) m_entries.add(node, node, 1.0 / 64);
  }

  void add_resistor(int a, int b) {
    if (a == b) return;
    const double g = conductance();
    m_entries.add(a, a, g);
    m_entries.add(b, b, g);
    m_entries.add(a, b, -g);
    m_entries.add(b, a, -g);
  }

  void add_resistors() {
    for (int node = m_n_rails; node < m_n_nodes; ++node) {
      if (node > m_n_rails) add_resistor(node, node - 1);
      if (m_random.once_in(2)) add_resistor(node, near(node));
      if (m_random.once_in(64)) add_resistor(node, anywhere());
      if (m_n_rails > 0 && m_random.once_in(8)) add_resistor(node, m_random.below(m_n_rails));
    }
  }

  // A current into `out` controlled by the voltage of `control`: one entry without a mirror image. A load of
  // the same conductance at both ends keeps rows and columns dominant.
  void add_controlled_sources() {
    for (int node = m_n_rails; node < m_n_nodes; ++node) {
      if (!m_random.once_in(2)) continue;
      const int control = m_random.once_in(32) ? anywhere() : near(node);
      if (control == node) continue;
      const double g = conductance();
      m_entries.add(node, control, m_random.once_in(2) ? g : -g);
      m_entries.add(node, node, g);
      m_entries.add(control, control, g);
    }
  }

  // Source s fixes the voltage of its own node against ground or a rail; its row has no diagonal entry.
  void add_voltage_sources() {
    for (int source = 0; source < m_n_sources; ++source) {
      const int current = m_n_nodes + source;
      const int plus = m_n_rails + source * 28 + m_random.below(28);
      add_incidence(plus, current, 1);
      if (m_n_rails > 0 && m_random.once_in(2)) add_incidence(m_random.below(m_n_rails), current, -1);
    }
  }
  void add_incidence(int node, int current, double sign) {
    m_entries.add(node, current, sign);
    m_entries.add(current, node, sign);
  }

  int m_n, m_n_sources, m_n_nodes, m_n_rails;
  RandomStream m_random;
  CooEntries<double> m_entries;
};

}  // namespace

HostMatrix<double> generate_circuit(int n, std::uint64_t seed) {
  return Circuit(n, seed).assemble();
}

}  // namespace lutra::Impl
