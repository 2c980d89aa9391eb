// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SOLVEVECTORS_HPP
#define LUTRA_SOLVEVECTORS_HPP

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <array>
#include <cstdint>

#include "Lutra_MemoryBudget.hpp"

namespace lutra::Impl {

/// Vectors that a solver keeps between solves, with several values per index. They hold no values between
/// solves: larger ones replace them, and a failed allocation leaves the solver without.
template <class Scalar, class Memory, std::size_t count>
class SolveVectors {
 public:
  struct Part {
    const char* label;
    std::int64_t size = 0;  ///< indices
  };
  using Parts = std::array<Part, count>;

  explicit SolveVectors(const MemoryBudget& budget) : m_budget(budget) {}

  /// Allocates, and fences, if a vector is longer or has more values per index than before.
  /// @param slack readable values after each vector
  /// @returns whether it has allocated
  template <class ExecutionSpace>
  bool reserve(const ExecutionSpace& exec, const Parts& parts, int width, std::size_t slack = 0) {
    bool suffice = width <= m_width;
    for (std::size_t k = 0; k < count; ++k) suffice = suffice && parts[k].size <= m_sizes[k];
    if (suffice) return false;
    exec.fence("lutra::trisolve: the smaller vectors are freed");
    const int most = std::max(width, m_width);
    free();
    MemoryReservation fresh(m_budget);
    std::array<Vector, count> vectors;
    for (std::size_t k = 0; k < count; ++k) {
      const auto values = static_cast<std::size_t>(parts[k].size) * static_cast<std::size_t>(most);
      if (values > 0) vectors[k] = fresh.template allocate<Vector>(exec, parts[k].label, values + slack);
    }
    m_vectors = vectors;
    m_reservation = fresh;
    for (std::size_t k = 0; k < count; ++k) m_sizes[k] = parts[k].size;
    m_width = most;
    return true;
  }
  void free() {
    m_vectors = {};
    m_reservation = {};
    m_sizes = {};
    m_width = 0;
  }

  /// Control of the call that solves.
  const RunControl& run() const { return m_budget.run(); }
  Scalar* operator[](std::size_t k) const { return m_vectors[k].data(); }
  /// Calls visit(vector) for all values of each vector.
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (const Vector& vector : m_vectors) visit(vector);
  }
  std::size_t bytes() const { return m_reservation.bytes(); }

 private:
  using Vector = Kokkos::View<Scalar*, Memory>;
  MemoryBudget m_budget;
  MemoryReservation m_reservation;
  std::array<Vector, count> m_vectors;
  std::array<std::int64_t, count> m_sizes{};
  int m_width = 0;  ///< values per index
};

}  // namespace lutra::Impl

#endif
