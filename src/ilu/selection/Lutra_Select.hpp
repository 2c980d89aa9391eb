// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SELECT_HPP
#define LUTRA_SELECT_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>

#include "Lutra_MemoryBudget.hpp"
#include "Lutra_SelectionKey.hpp"
#include "Lutra_SelectionWorkspace.hpp"

namespace lutra {

/// Algorithm that finds the k-th largest of n values.
enum class SelectMethod {
  sampleselect,  ///< a sample divides the values into up to 256 buckets (Anzt et al. 2019, section III)
  quickselect    ///< one pivot, two buckets; a baseline
};

/// Where a pass counts the values of each bucket, and the keys that it gathers (Anzt et al. 2019, section
/// III, "Parallel counting and filtering").
enum class SelectCounters {
  automatic,  ///< CUDA: eight per bucket in the shared memory of a block; portable kernels: one, in scratch
  shared,     ///< one per bucket in the shared memory of a block, added to device memory at its end
  global      ///< one per bucket in device memory
};

/// Where the splitters of sampleselect are among the sorted sample.
enum class SelectSplitters {
  dense,  ///< most of them near the wanted rank
  even    ///< evenly spaced, as in the paper
};

struct SelectOptions {
  SelectMethod method = SelectMethod::sampleselect;
  bool approximate = false;  ///< stop after one pass, at the bucket that contains the k-th largest value.
                             ///< Host selection is exact anyway, at almost no cost
  bool portable = false;     ///< use the portable kernels even where others exist
  SelectCounters counters = SelectCounters::automatic;
  bool warp_aggregated =
      false;  ///< CUDA: lanes of a warp with equal buckets add once, with `shared` or `global`
  SelectSplitters splitters = SelectSplitters::dense;
};

/// Separates the k largest of n values from the others. NaN counts as larger than all numbers, −0 and +0 are
/// equal. Values above `upper` are kept; of those from `lower` to `upper` the first `n_ties` by index:
///
///     dropped │ lower … upper │ kept            n_above + n_ties = min(k, n)
///              n_ties are kept  n_above
template <class Real>
struct SelectionThreshold {
  Real lower = 0;  ///< exact: k-th largest value (NaN for k = 0); approximate: a lower bound of it
  Real upper = 0;  ///< exact: equal to `lower`; approximate: an upper bound of the k-th largest value
  std::int64_t n_above = 0;  ///< values above `upper`
  std::int64_t n_ties = 0;   ///< values from `lower` to `upper` that are kept
  std::int64_t n_nan = 0;    ///< NaN values

  KOKKOS_FORCEINLINE_FUNCTION bool is_above(Real value) const {
    return Impl::SelectionKey<Real>::encode(value) > Impl::SelectionKey<Real>::encode(upper);
  }
  KOKKOS_FORCEINLINE_FUNCTION bool is_tie(Real value) const {
    return !is_above(value) &&
           Impl::SelectionKey<Real>::encode(value) >= Impl::SelectionKey<Real>::encode(lower);
  }
};

/// Repeated selection among up to `max_n` values with one workspace. One call at a time; successive calls use
/// one execution space instance.
///
/// Time: one pass that reads the values; on devices the exact one writes a byte for each and reads it again.
/// Memory: exact n / 8 keys, on devices n bytes too; quickselect 2·n keys and n bytes; approximate on devices
/// none that grows with n.
template <class Real, class ExecutionSpace>
class Selection {
 public:
  using Memory = typename ExecutionSpace::memory_space;
  using Values = Kokkos::View<const Real*, Memory>;
  using Result = Kokkos::View<SelectionThreshold<Real>, Memory>;

  Selection() = default;
  /// @throws InputError for max_n < 0, approximate quickselect, and options that have no effect here:
  /// splitters of quickselect, any but the defaults of a host's own selection, warps of portable kernels.
  /// OutOfMemoryError
  Selection(const ExecutionSpace& exec, std::int64_t max_n, const SelectOptions& options = {},
            const MemoryBudget& budget = MemoryBudget());

  /// Finds the threshold of the `k` largest values and writes it to device memory. The result is the same
  /// from run to run. Sampleselect only queues kernels and the host reads nothing; quickselect waits.
  /// @param values [n], n ≤ max_n
  /// @throws InputError for k < 0 or too many values
  void find(const ExecutionSpace& exec, const Values& values, std::int64_t k, const Result& result) const;

 private:
  SelectOptions m_options;
  Impl::SelectionWorkspace<Real, Memory> m_work;
};

/// The threshold of the k largest values of a View in the execution space's memory; the result is on the
/// host. Allocates; waits for `exec`.
/// @throws the exceptions of `Selection`
template <class Real, class ExecutionSpace>
SelectionThreshold<Real> select(
    const ExecutionSpace& exec,
    const Kokkos::View<const Real*, typename ExecutionSpace::memory_space>& values, std::int64_t k,
    const SelectOptions& options = {}, const MemoryBudget& budget = MemoryBudget());

}  // namespace lutra

#endif
