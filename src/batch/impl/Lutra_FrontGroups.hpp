// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTGROUPS_HPP
#define LUTRA_FRONTGROUPS_HPP

#include <memory>
#include <span>
#include <vector>

#include "Lutra_BatchGroups.hpp"

namespace lutra::Impl {

struct FrontTree;
template <class Scalar, class ExecutionSpace>
class FrontForest;

/// Systems of a batch, or of one of its chunks, whose matrices the multifrontal engine factorizes together
/// (FrontForest). A group is one system.
///
///     callers' values ──▶ [slot][entries] ──▶ forest ──▶ findings by slot
///     B ──▶ [column][slot][n] ──▶ solve, residual, maxima by column and slot, refinement ──▶ X
///
/// Slots that hold no system of their own hold a copy of the last one.
template <class Scalar, class ExecutionSpace>
class FrontGroups final : public BatchGroups<Scalar, ExecutionSpace> {
 public:
  using Base = BatchGroups<Scalar, ExecutionSpace>;
  using typename Base::Memory, typename Base::Values, typename Base::ConstBlock, typename Base::Block;
  using Real = RealOf<Scalar>;
  using Pattern = BatchPattern<Scalar, ExecutionSpace>;
  static constexpr int size = 1;  ///< systems of a group

  /// @param tree of the analysis; `pattern` need not have factors
  /// @throws OutOfMemoryError
  FrontGroups(const ExecutionSpace& exec, const Pattern& pattern, const MemoryBudget& budget, FrontTree tree);
  ~FrontGroups() override;
  FrontGroups(const FrontGroups&) = delete;
  FrontGroups& operator=(const FrontGroups&) = delete;

  std::size_t bytes_per_group() const override { return m_slot_bytes; }
  /// Buffers of products on hosts.
  std::size_t workspace_bytes() const override { return m_shared_bytes; }
  std::size_t bytes() const override { return m_forest_bytes + m_work_bytes; }
  void keep_free(std::size_t bytes) override { m_kept_free = bytes; }
  /// Plans for so many systems, unless there is a plan for as many or more.
  void reserve(std::size_t slots) override;
  void load(const Values& values, std::span<const std::int64_t> systems) override;
  /// `multiplier` is not found: with interchanges, or with threshold pivots of LDLᵀ, it is bounded.
  /// @param found [systems that were loaded]
  void factorize(double perturbation, std::span<SlotFindings> found) override;
  void solve(const ConstBlock& B, const Block& X, Transposition op, std::span<const std::int64_t> systems,
             const std::vector<char>& used, const SlotSolveOptions& options,
             std::span<SlotSolution> solutions) override;
  void residual(const ConstBlock& B, const ConstBlock& X, const Block& R, Transposition op,
                std::span<const std::int64_t> systems, const std::vector<char>& used) override;
  void extract(std::size_t slot, const Kokkos::View<Scalar*, Memory>& to) const override;

 private:
  using Numbers = Kokkos::View<Scalar*, Memory>;
  using Reals = Kokkos::View<Real*, Memory>;
  using Flags = Kokkos::View<char*, Memory>;
  static constexpr std::size_t max_columns = 16;
  enum Array { right_sides, solutions_array, residuals, trials, trial_residuals, n_arrays };

  std::size_t slots() const;
  std::size_t vectors(std::size_t columns) const { return columns * slots(); }
  std::int64_t n() const { return m_pattern.n; }
  template <class Tag, class Kernel>
  void launch(const char* label, std::int64_t count, const Kernel& kernel) const;
  auto upload_systems(MemoryReservation& scratch, std::span<const std::int64_t> systems) const;
  std::size_t bytes_of_work(std::size_t columns) const;
  void reserve_work(std::size_t n_rhs);
  void allocate_work(std::size_t columns);
  Scalar* work(Array array) const;
  std::vector<char> activate(const std::vector<char>& used, std::size_t columns) const;
  void set_active(const std::vector<char>& active) const;
  template <class From, class Systems>
  void read(const From& from, const Systems& systems, std::size_t columns, std::size_t first,
            Scalar* to) const;
  template <class Systems>
  void write(Scalar* from, const Systems& systems, std::size_t columns, std::size_t first,
             const Block& to) const;
  void probe(const std::vector<char>& used, const SlotSolveOptions& options,
             std::span<SlotSolution> solutions) const;
  void compute_residual(Transposition op, std::size_t columns, const Scalar* X, Scalar* R,
                        std::vector<SlotErrors>& errors) const;
  void refine(Transposition op, std::size_t columns, const SlotSolveOptions& options,
              const std::vector<char>& used, std::vector<SlotErrors>& errors) const;

  ExecutionSpace m_exec;
  const Pattern& m_pattern;
  MemoryBudget m_budget;
  std::unique_ptr<FrontTree> m_tree;
  std::size_t m_slot_bytes = 0, m_shared_bytes = 0, m_forest_bytes = 0, m_work_bytes = 0, m_kept_free = 0;
  MemoryReservation m_work_reservation;
  std::unique_ptr<FrontForest<Scalar, ExecutionSpace>> m_forest;  ///< null: no room is reserved
  std::size_t m_columns = 0;                                      ///< right-hand sides at once
  Numbers m_work;                                                 ///< of each Array, [columns][slots][n]
  Reals m_maxima;  ///< [4 × columns × slots], then ‖op(A)‖∞ [slots]
  Flags m_active;  ///< [columns][slots] whether a vector is worked on
};

}  // namespace lutra::Impl

#endif
