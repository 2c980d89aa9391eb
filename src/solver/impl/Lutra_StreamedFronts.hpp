// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_STREAMEDFRONTS_HPP
#define LUTRA_STREAMEDFRONTS_HPP

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "Lutra_AsyncResult.hpp"
#include "Lutra_DiagonalPivots.hpp"
#include "Lutra_Factorization.hpp"
#include "Lutra_FrontLu.hpp"
#include "Lutra_FrontPart.hpp"
#include "Lutra_FrontSolver.hpp"
#include "Lutra_FrontStream.hpp"
#include "Lutra_HostStore.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Options.hpp"
#include "Lutra_WorkMark.hpp"

// Multifrontal factors that are streamed from host memory (docs/memory.md).
//
//     memory of the execution space                          host memory
//     ┌───────────── ring ───────────┐  copy of panels      ┌────────────────────────────┐
//     │ parts … p − 1: panels        │ ──── behind ───────► │ panels of all parts        │
//     │ part p: panels, blocks, work │                      │                            │
//     │ (parts below, if copied)     │                      ├────────────────────────────┤
//     ├──────── passed blocks ───────┤ ───────────────────► │ those that do not fit here │
//     │ stack: to parts above        │ ◄─────────────────── │                            │
//     └──────────────────────────────┘                      └────────────────────────────┘
//
// A part is a range of fronts in postorder, factorized and solved with as a tree of its own.

namespace lutra::Impl {

/// One part of a streamed tree without values. Its rows and columns are the pivots of its fronts, then rows
/// that later parts eliminate; its first fronts are leaves without pivots, for blocks from earlier parts.
template <class Scalar, class ExecutionSpace>
struct StreamedPart {
  using Memory = typename ExecutionSpace::memory_space;

  LuPlan<Memory> plan;
  std::shared_ptr<const FrontSchedule<Scalar, ExecutionSpace>> schedule;
  FrontSolver<Scalar, ExecutionSpace> solver;  ///< prototype
  PermutedPattern<Memory> orders;              ///< [n] the user's row and column of each position; no pattern
  Kokkos::View<const Offset*, Memory> source;  ///< [entries] position of each entry in the values of A
  Kokkos::View<const Ordinal*, Memory> later;  ///< [n − pivots] index in F of the rows of later parts
  Kokkos::View<const Offset*, Memory> sums;    ///< contribution rows of its roots, in `plan.rows`
  /// A block that it passes, by ascending fronts, or takes.
  struct Block {
    Ordinal front;  ///< of the part
    PassedBlock passed;
  };
  std::vector<Block> taken, given;
  std::size_t taken_rows = 0;               ///< rows of the blocks it takes: the first of `plan.rows`
  std::size_t first_pivot = 0, pivots = 0;  ///< its range of F's pivots
  std::size_t first_panel = 0;              ///< of its panels among those of the tree
  std::size_t first_inverse = 0;            ///< of its inverses among those of the tree
  std::size_t most_inverses = 0;            ///< entries of its inverses, whatever its interchanges

  std::size_t n() const { return static_cast<std::size_t>(plan.n); }
  std::size_t panels() const { return static_cast<std::size_t>(plan.panel_layout.entries()); }
  std::size_t inverses(const std::optional<Interchanges>& kind) const {
    const bool symmetric = kind && *kind != Interchanges::rows;
    return static_cast<std::size_t>(schedule->inverse_entries(kind.has_value(), symmetric));
  }
  /// Where its panels begin in its place in the ring, behind its inverses.
  std::size_t panel_offset() const {
    constexpr std::size_t alignment = 256 / sizeof(float);
    return (most_inverses + alignment - 1) / alignment * alignment;
  }
};

/// Parts of a tree and their places. Immutable, shared by any number of factors.
template <class Scalar, class ExecutionSpace>
struct StreamedPlan {
  using Memory = typename ExecutionSpace::memory_space;
  using Part = StreamedPart<Scalar, ExecutionSpace>;

  AssemblyTree tree;
  CsrPattern<Ordinal, Offset, Kokkos::HostSpace> A;
  std::vector<Ordinal> row_order, col_order;  ///< [n] the user's row and column at each index of F
  std::vector<StreamedPart<Scalar, ExecutionSpace>> parts;
  PassedBlocks passed;
  bool symmetric = false;                ///< the matrices are: factors inspect their pivots
  std::vector<PartPlace> places;         ///< [parts] in the ring
  std::size_t ring = 0;                  ///< entries
  std::size_t largest = 0;               ///< entries of the part that takes most
  std::size_t panels = 0, inverses = 0;  ///< entries of all parts
  std::size_t most_rows = 0, most_later = 0, most_entries = 0;  ///< of one part
  std::size_t most_counted = 0;                                 ///< most rows that a part has or takes
  Kokkos::View<const Offset*, Memory> count_up;                 ///< [most_counted] 0, 1, …
  MemoryReservation reservation;                                ///< of `count_up` and the parts' lists

  /// Entries of the ring and of the stack of passed blocks.
  std::size_t entries() const { return ring + static_cast<std::size_t>(passed.device); }
  /// Bytes of factors with these interchanges, in host memory.
  std::size_t factor_bytes(const std::optional<Interchanges>& kind) const {
    std::size_t entries = panels;
    for (const auto& part : parts) entries += part.inverses(kind);
    return entries * sizeof(Scalar);
  }
  std::size_t host_bytes() const {
    return (panels + inverses + static_cast<std::size_t>(passed.host)) * sizeof(Scalar);
  }
  /// Of one factors object, without ring and stack; 0 columns: without solves.
  std::size_t bytes_beside_buffers(bool interchanges, int n_columns) const;
  static std::size_t bytes_of_state(const Part& part);
  static std::size_t bytes_of_solver(const Part& part, bool interchanges, int n_columns);
  /// The whole tree's plan on the host, for the pattern of the factors.
  LuPlan<Kokkos::HostSpace> whole() const;
};

/// Divides a tree so that factors and solves for one right-hand side fit into the memory that is left.
/// @param available bytes for plan, factors and `others`
/// @param others    bytes that a solver takes beside plan and factors
/// @param symmetry, options as for plan_multifrontal
/// @throws OutOfMemoryError stating the need if not even the largest front fits with its children
template <class Scalar, class ExecutionSpace>
std::shared_ptr<const StreamedPlan<Scalar, ExecutionSpace>> plan_streamed(
    const ExecutionSpace& exec, const AssemblyTree& tree, const FrontEntries& entries,
    const LuOptions& options, const MemoryBudget& budget, std::size_t available, std::size_t others,
    const std::optional<Symmetry>& symmetry);

/// Factors of one matrix after another in host memory, with ring, stack and vectors.
template <class Scalar, class ExecutionSpace>
class StreamedFactors {
 public:
  using Memory = typename ExecutionSpace::memory_space;
  using Plan = StreamedPlan<Scalar, ExecutionSpace>;
  using Part = StreamedPart<Scalar, ExecutionSpace>;
  using Rows = DenseRows<Scalar, Memory>;

  /// @param threshold, kind of interchanges; 0: none
  /// @throws OutOfMemoryError
  StreamedFactors(const ExecutionSpace& exec, const Plan& plan, const MemoryBudget& budget, double threshold,
                  Interchanges kind);
  StreamedFactors(const StreamedFactors&) = delete;
  StreamedFactors& operator=(const StreamedFactors&) = delete;
  ~StreamedFactors();

  /// Factorizes part by part. Allocates in the first call. Copies of panels may go on behind its return.
  /// @returns the outcome of all parts
  /// @throws OutOfMemoryError, TimeoutError
  FrontLuOutcome factorize(const ExecutionSpace& exec, const CsrPattern<Ordinal, Offset, Memory>& pattern,
                           const ScaledValues<Scalar, Memory>& A, double perturbation);
  /// X = op(A)⁻¹·B; X may be B. Reads the panels of all parts twice, once for any number of columns, except
  /// those that are in the ring. Does not wait on devices; allocates, and waits, for more columns than ever
  /// before.
  void solve(const ExecutionSpace& exec, const ScaledValues<Scalar, Memory>& A, Transposition op,
             const Rows& B, const Rows& X);

  /// Pivots of the last factorization of a symmetric matrix.
  const DiagonalPivots& diagonal_pivots() const { return m_pivots; }
  const Kokkos::View<unsigned char*, Memory>& perturbed() const { return m_perturbed; }
  /// [n] index in F of the row, or column, of each pivot; empty without such interchanges. Fences.
  std::vector<std::int64_t> row_of_pivot(const ExecutionSpace& exec) const {
    return order_of_tree(exec, m_row_of_pivot);
  }
  std::vector<std::int64_t> column_of_pivot(const ExecutionSpace& exec) const {
    return order_of_tree(exec, m_column_of_pivot);
  }
  /// Panels of all fronts, as one plan of the tree lays them out. Fences.
  Kokkos::View<const Scalar*, typename HostCopy<ExecutionSpace>::Memory> panels() {
    if (!m_passages.empty()) store(m_passages.size() - 1);
    m_copier.fence("lutra::solver: panels are in host memory");
    return Kokkos::subview(m_store.view(), std::pair(std::size_t(0), m_plan.panels));
  }
  /// First pivot of the front at which the watchdog ended a solve, or −1. Fences.
  std::int64_t consume_timeout(const ExecutionSpace& exec);
  void describe(MemoryUse& memory) const;

 private:
  using Factors = FrontFactors<Scalar, ExecutionSpace>;
  using Store = HostStore<Scalar, ExecutionSpace>;
  using Values = Kokkos::View<Scalar*, Memory>;
  using Order = Kokkos::View<Ordinal*, Memory>;

  void allocate(const ExecutionSpace& exec);
  void reserve(const ExecutionSpace& exec, std::size_t columns);
  /// What happens at the place of a part in the ring.
  struct Passage {
    bool present = false;             ///< its panels and inverses are there, or on their way
    bool arriving = false;            ///< kernels have to wait for them
    bool stored = false;              ///< they are in host memory, or on their way
    WorkMark<ExecutionSpace> used;    ///< by the last kernels that read or write them
    WorkMark<ExecutionSpace> copied;  ///< from or to host memory
  };
  void allocate_arrays(const ExecutionSpace& exec);
  void place(std::size_t p);
  template <class Copy>
  void for_each_block(const std::vector<typename Part::Block>& blocks, const std::vector<Values>& in_ring,
                      const Copy& copy);
  void factorize_part(const ExecutionSpace& exec, std::size_t p, const ScaledValues<Scalar, Memory>& A,
                      double perturbation, double largest);
  double largest_entry(const ExecutionSpace& exec, const CsrPattern<Ordinal, Offset, Memory>& pattern,
                       const ScaledValues<Scalar, Memory>& A);
  void copy_panels(std::size_t p, bool to_host);
  void store(std::size_t p);
  void load(std::size_t p);
  void wait_for_copy(const ExecutionSpace& exec, int part) const;
  template <class Sweep>
  void sweep_parts(const ExecutionSpace& exec, bool upward, const Sweep& sweep);
  FrontLuOutcome read_outcomes(const ExecutionSpace& exec) const;
  std::vector<std::int64_t> order_of_tree(const ExecutionSpace& exec, const Order& order) const;

  const Plan& m_plan;
  MemoryBudget m_budget, m_host_budget;  ///< the second counts host memory
  double m_threshold;
  Interchanges m_kind;
  ExecutionSpace m_copier;         ///< copies panels while another part is at work
  std::vector<Factors> m_factors;  ///< [parts]
  std::vector<FrontSolver<Scalar, ExecutionSpace>> m_solvers;  ///< [parts]
  MemoryReservation m_reservation, m_vectors_reservation;
  Values m_ring;                                      ///< places of parts, then the stack of passed blocks
  Store m_store;                                      ///< panels, inverses, then the stack of passed blocks
  std::vector<Passage> m_passages;                    ///< [parts]
  WorkMark<ExecutionSpace> m_last_load;               ///< from host memory
  std::vector<std::vector<Values>> m_taken, m_given;  ///< [parts] blocks in its place, as those of the part
  Values m_values;                                    ///< [most_entries] of the part at work
  Kokkos::View<RealOf<Scalar>*, Memory> m_row_scale, m_col_scale;  ///< [most_rows] of the part at work
  Kokkos::View<unsigned char*, Memory> m_perturbed;                ///< [n]
  Order m_row_of_pivot, m_column_of_pivot;                         ///< [n] of each part in its own numbering
  Kokkos::View<FrontLuOutcome*, Memory> m_outcomes;                ///< [parts]
  AsyncResult<double, ExecutionSpace> m_largest;
  DiagonalPivots m_pivots;
  // vectors of solves
  std::size_t m_columns = 0;  ///< most so far
  Values m_solution;          ///< [n × columns] by index of F
  Values m_sums;   ///< [passed.rows × columns] sums of contribution rows, a stack like the blocks'
  Values m_later;  ///< [most_later × columns] solutions of later parts that the part at work reads
  std::optional<std::size_t> m_moved_by_factorization, m_moved_by_solve;  ///< bytes
  std::size_t m_moved = 0;                                                ///< so far
};

}  // namespace lutra::Impl

#endif
