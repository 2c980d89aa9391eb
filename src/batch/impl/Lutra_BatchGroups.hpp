// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_BATCHGROUPS_HPP
#define LUTRA_BATCHGROUPS_HPP

#include <span>
#include <vector>

#include "Lutra_LaneGroups.hpp"

namespace lutra::Impl {

/// Values and factors of the groups of a batch, or of one of its chunks: lanes or fronts.
template <class Scalar, class ExecutionSpace>
class BatchGroups {
 public:
  using Memory = typename ExecutionSpace::memory_space;
  using Values = BatchValues<Scalar, ExecutionSpace>;
  using ConstBlock = ConstBatchBlock<Scalar, ExecutionSpace>;
  using Block = BatchBlock<Scalar, ExecutionSpace>;

  virtual ~BatchGroups() = default;
  /// With the workspace of solves with one right-hand side.
  virtual std::size_t bytes_per_group() const = 0;
  virtual std::size_t workspace_bytes() const = 0;  ///< that all groups share
  virtual std::size_t bytes() const = 0;            ///< held
  /// Leaves this many bytes to others where a solve could take all.
  virtual void keep_free(std::size_t /*bytes*/) {}
  /// Allocates memory for `groups` groups, unless that much is held.
  /// @throws OutOfMemoryError, after which none is held
  virtual void reserve(std::size_t groups) = 0;
  virtual void load(const Values& values, std::span<const std::int64_t> systems) = 0;
  /// Factorizes what was loaded. @param found [slots]
  virtual void factorize(double perturbation, std::span<SlotFindings> found) = 0;
  /// Solves for the slots that are `used`. @param solutions [slots]
  virtual void solve(const ConstBlock& B, const Block& X, Transposition op,
                     std::span<const std::int64_t> systems, const std::vector<char>& used,
                     const SlotSolveOptions& options, std::span<SlotSolution> solutions) = 0;
  /// R = B − op(A)·X for the slots that are `used`.
  virtual void residual(const ConstBlock& B, const ConstBlock& X, const Block& R, Transposition op,
                        std::span<const std::int64_t> systems, const std::vector<char>& used) = 0;
  /// Values of one slot in the order of callers' matrices.
  virtual void extract(std::size_t slot, const Kokkos::View<Scalar*, Memory>& to) const = 0;
};

/// HostLaneGroups or DeviceLaneGroups.
template <class Groups, class Scalar, class ExecutionSpace>
class BatchLanes final : public BatchGroups<Scalar, ExecutionSpace> {
 public:
  using Base = BatchGroups<Scalar, ExecutionSpace>;
  using Pattern = BatchPattern<Scalar, ExecutionSpace>;
  using typename Base::Memory, typename Base::Values, typename Base::ConstBlock, typename Base::Block;

  BatchLanes(const ExecutionSpace& exec, const Pattern& pattern, const MemoryBudget& budget)
      : m_pattern(pattern), m_groups(exec, pattern, budget) {}

  std::size_t bytes_per_group() const override { return Groups::bytes_per_group(m_pattern); }
  std::size_t workspace_bytes() const override { return m_groups.workspace_bytes(); }
  std::size_t bytes() const override { return m_groups.bytes(); }
  void reserve(std::size_t groups) override { m_groups.reserve(groups); }
  void load(const Values& values, std::span<const std::int64_t> systems) override {
    m_groups.load(values, systems);
  }
  void factorize(double perturbation, std::span<SlotFindings> found) override {
    m_groups.factorize(perturbation, found);
  }
  void solve(const ConstBlock& B, const Block& X, Transposition op, std::span<const std::int64_t> systems,
             const std::vector<char>& used, const SlotSolveOptions& options,
             std::span<SlotSolution> solutions) override {
    m_groups.solve(B, X, op, systems, used, options, solutions);
  }
  void residual(const ConstBlock& B, const ConstBlock& X, const Block& R, Transposition op,
                std::span<const std::int64_t> systems, const std::vector<char>& used) override {
    m_groups.residual(B, X, R, op, systems, used);
  }
  void extract(std::size_t slot, const Kokkos::View<Scalar*, Memory>& to) const override {
    m_groups.extract(slot, to);
  }

 private:
  const Pattern& m_pattern;
  Groups m_groups;
};

}  // namespace lutra::Impl

#endif
