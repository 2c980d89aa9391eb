// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_GRIDONRANKS_HPP
#define LUTRA_GRIDONRANKS_HPP

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "Lutra_DistributedFactors.hpp"
#include "Lutra_FrontsOnRanks.hpp"

namespace lutra::Impl {

/// Factors on a grid of ranks, with refinement on hosts.
template <class Scalar>
class GridOnRanks final : public RankSolver<Scalar> {
 public:
  using Host = Kokkos::DefaultHostExecutionSpace;
  using Reals = std::vector<RealOf<Scalar>>;

  /// @param factors entries on any rank; orders and scales on rank 0
  /// @param rows    outlive this object
  GridOnRanks(Communicator& comm, FactorValues<Scalar>&& factors, const RankRows<Scalar>& rows,
              const DistributedOptions& options, const MemoryBudget& budget)
      : m_factors(comm, std::move(factors), rows.rows().rows, options),
        m_channel(comm, budget),
        m_refinement(m_channel, rows, budget) {}

  /// Scales of this rank's rows and columns, for GMRES and the condition.
  void set_scales(const Reals& row, const Reals& col) { m_refinement.set_scales(row, col); }
  /// New values of the factors, after those of the rows have changed.
  void set_values(std::span<const Scalar> factors) {
    m_factors.set_values(factors);
    m_refinement.update_values();
  }
  const DistributedTriangles<Scalar>& triangles() const { return m_factors.triangles(); }

  RankSolveOutcome solve(const RankColumns<const Scalar>& B, const RankColumns<Scalar>& X, Transposition op,
                         const RankSolveOptions& options) override {
    Inverse inverse(m_factors);
    return m_refinement.solve(B, X, op, inverse, options);
  }
  double condition() override {
    Inverse inverse(m_factors);
    return m_refinement.condition(inverse);
  }
  RankStatistics statistics() const override { return m_factors.statistics(); }
  void close() override { m_factors.close(); }

 private:
  /// The factors as refinement applies them: vectors hold the rows of this rank.
  class Inverse final : public Preconditioner<Scalar, Host> {
   public:
    using typename Preconditioner<Scalar, Host>::Rows;
    explicit Inverse(DistributedFactors<Scalar>& factors) : m_factors(factors) {}
    void apply(const Host&, Transposition op, const Rows& B, const Rows& X) override {
      const std::size_t n = B.extent(0), k = B.extent(1);
      std::vector<Scalar> columns(n * k);
      for (std::size_t c = 0; c < k; ++c)
        for (std::size_t i = 0; i < n; ++i) columns[c * n + i] = B(i, c);
      columns = m_factors.solve(columns, k, op);
      for (std::size_t c = 0; c < k; ++c)
        for (std::size_t i = 0; i < n; ++i) X(i, c) = columns[c * n + i];
    }

   private:
    DistributedFactors<Scalar>& m_factors;
  };

  DistributedFactors<Scalar> m_factors;
  ViewChannel<Host> m_channel;
  RankRefinement<Scalar, Host> m_refinement;
};

}  // namespace lutra::Impl

#endif
