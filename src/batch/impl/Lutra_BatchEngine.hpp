// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_BATCHENGINE_HPP
#define LUTRA_BATCHENGINE_HPP

#include <map>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "Lutra_Batch.hpp"
#include "Lutra_BatchGroups.hpp"
#include "Lutra_BatchPattern.hpp"
#include "Lutra_DeviceLaneGroups.hpp"
#include "Lutra_FrontGroups.hpp"
#include "Lutra_HostLaneGroups.hpp"

namespace lutra::Impl {

/// State of a BatchedNumeric.
///
///     values ─▶ lanes or fronts ─▶ findings ── good ──▶ solve ─▶ errors ── good ──▶ success
///                                     │                            │
///                                     └─ suspicious ─▶ a Numeric ◀─┘ above the tolerance, or X large
///
/// Systems that are not masked fill the slots of groups without gaps, so that masked ones cost nothing.
template <class Scalar, class ExecutionSpace>
class BatchEngine {
 public:
  using Batch = BatchedNumeric<Scalar, ExecutionSpace>;
  using Memory = typename ExecutionSpace::memory_space;
  using Values = typename Batch::values_type;
  using ConstBlock = typename Batch::const_block_type;
  using Block = typename Batch::block_type;
  using Mask = typename Batch::mask_type;
  using SystemNumeric = Numeric<Scalar, ExecutionSpace>;
  using LaneGroups = std::conditional_t<is_host_space<ExecutionSpace>, HostLaneGroups<Scalar, ExecutionSpace>,
                                        DeviceLaneGroups<Scalar, ExecutionSpace>>;
  using Fronts = FrontGroups<Scalar, ExecutionSpace>;

  BatchEngine(AnalysisPointer<Scalar, ExecutionSpace> analysis, const DirectOptions& options,
              const ExecutionSpace& exec, const MemoryBudget& budget);

  Status factorize(const Values& values, const Mask& mask);
  Status solve(const ConstBlock& B, const Block& X, Transposition op);
  void apply(const ConstBlock& B, const Block& X, Transposition op, const Mask& mask);
  void residual(const ConstBlock& B, const ConstBlock& X, const Block& R, Transposition op);

  const AnalysisPointer<Scalar, ExecutionSpace>& analysis() const { return m_analysis; }
  const BatchReport& report() const { return m_report; }
  std::int64_t systems() const { return m_is_factorized ? m_report.systems : 0; }

 private:
  /// Numerics of their own that are kept between calls; others are factorized again by each solve.
  static constexpr std::size_t max_kept = 64;

  /// Slots of a chunk.
  struct Chunk {
    std::size_t first = 0, end = 0;     ///< slots that hold systems of their own
    std::vector<std::int64_t> systems;  ///< [slots] with those that fill the last group
  };

  // Lutra_BatchEngine.cpp
  std::vector<std::int64_t> unmasked(std::size_t count, const Mask& mask) const;
  void check_values(const Values& values, const std::vector<std::int64_t>& active);
  void check_symmetries(const Values& values, const std::vector<std::int64_t>& active);
  void start(std::size_t count, std::vector<std::int64_t> active);
  std::size_t bytes_alone() const;
  void divide_into_chunks();
  Chunk chunk(std::size_t number) const;
  void load(const Chunk& chunk);
  void factorize_chunk(const Chunk& chunk);
  bool is_suspicious(const SlotFindings& found) const;
  double perturbation() const;
  void finish_report();
  std::size_t system_at(std::size_t slot) const { return static_cast<std::size_t>(m_active[slot]); }
  bool is_incomplete() const { return m_analysis->is_incomplete(); }
  bool trusts_pivots() const;

  // Lutra_BatchSolve.cpp
  void check_blocks(const char* call, const ConstBlock& B, const ConstBlock& X, Transposition op) const;
  void check_written(const char* call, const Block& X) const;
  using BlockCopy = Kokkos::View<Scalar***, Kokkos::LayoutRight, typename ExecutionSpace::memory_space>;
  ConstBlock apart(const ConstBlock& B, const Block& X, MemoryReservation& scratch, BlockCopy& copy) const;
  void check_right_sides(const ConstBlock& B) const;
  std::vector<char> usable(const Chunk& chunk) const;
  bool checks_solutions() const;
  void forget_solutions();
  void solve_chunk(const Chunk& chunk, const ConstBlock& B, const Block& X, Transposition op);
  void record(std::size_t system, const SlotSolution& solution, bool checked);
  template <class Visit>
  void for_chunks(const Visit& visit);

  // Lutra_BatchAlone.cpp
  void factorize_alone(const Chunk& chunk, std::size_t slot);
  void solve_alone(const Chunk& chunk, std::size_t slot, const ConstBlock& B, const Block& X,
                   Transposition op, const SlotSolution& before);
  std::unique_ptr<SystemNumeric> make_numeric(const Chunk& chunk, std::size_t slot);
  std::unique_ptr<SystemNumeric> make_numeric_in_memory(const Chunk& chunk, std::size_t slot);
  template <class Call>
  void with_numeric(const Chunk& chunk, std::size_t slot, const Call& call);
  bool is_alone(std::size_t system) const { return m_is_alone[system] != 0; }

  AnalysisPointer<Scalar, ExecutionSpace> m_analysis;
  DirectOptions m_options;
  ExecutionSpace m_exec;
  MemoryBudget m_budget;
  BatchPattern<Scalar, ExecutionSpace> m_pattern;
  std::unique_ptr<BatchGroups<Scalar, ExecutionSpace>> m_groups;
  std::size_t m_group_size = 1;  ///< systems of a group
  BatchReport m_report;
  bool m_is_factorized = false;
  bool m_is_proven = false;            ///< a checked solve needed no refinement
  bool m_is_probed = false;            ///< a solve has looked for singular matrices
  Values m_values;                     ///< of the last factorization
  std::vector<std::int64_t> m_active;  ///< systems that are not masked, one a slot
  std::size_t m_chunk_slots = 0;       ///< a multiple of the group size
  std::vector<char> m_is_alone;        ///< [K]
  std::map<std::size_t, std::unique_ptr<SystemNumeric>> m_alone;  ///< by system; some of them
};

/// Makes a Numeric; if memory does not suffice, without those that are kept.
template <class Scalar, class ExecutionSpace>
auto BatchEngine<Scalar, ExecutionSpace>::make_numeric_in_memory(const Chunk& chunk, std::size_t slot)
    -> std::unique_ptr<SystemNumeric> {
  try {
    return make_numeric(chunk, slot);
  } catch (const OutOfMemoryError&) {
    if (m_alone.empty()) throw;
  }
  m_alone.clear();  // they are made again when they are needed
  return make_numeric(chunk, slot);
}

/// Calls call(numeric) with the Numeric of a system that has left the batch. Few are kept; others are made
/// again. If memory does not suffice for one, the system's status says so.
template <class Scalar, class ExecutionSpace>
template <class Call>
void BatchEngine<Scalar, ExecutionSpace>::with_numeric(const Chunk& chunk, std::size_t slot,
                                                       const Call& call) {
  const auto k = static_cast<std::size_t>(chunk.systems[slot]);
  try {
    if (const auto kept = m_alone.find(k); kept != m_alone.end()) return call(*kept->second);
    auto numeric = make_numeric_in_memory(chunk, slot);
    call(*numeric);  // not repeated: where X is B, a part of B may be gone
    if (m_alone.size() < max_kept && m_report.chunks == 1) m_alone.emplace(k, std::move(numeric));
  } catch (const OutOfMemoryError&) {
    m_report.statuses[k] = Status::out_of_memory;
  }
}

/// "system 7, row 2, column 3", for messages.
std::string name_entry(std::int64_t system, std::int64_t row, std::int64_t column);

/// @throws InputError if a mask that is not empty has another length
void check_mask(std::span<const bool> mask, std::size_t systems);

/// Severity of a status, in ascending order.
int severity(Status status);

}  // namespace lutra::Impl

#endif
