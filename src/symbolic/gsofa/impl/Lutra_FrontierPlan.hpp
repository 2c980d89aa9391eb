// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FRONTIERPLAN_HPP
#define LUTRA_FRONTIERPLAN_HPP

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "Lutra_Fill2Options.hpp"
#include "Lutra_Index.hpp"

namespace lutra::Impl {

/// Bytes that a source in flight takes in the kernel frontiers.
struct FrontierSizes {
  static constexpr std::size_t word_bytes = sizeof(std::uint32_t);
  static constexpr std::size_t frontier_bytes = 8;  ///< vertex and tracker

  std::size_t fill_bytes = 0;     ///< a bit per vertex, and those of `lines`
  double queue_share = 1;         ///< frontiers per label
  bool status_elsewhere = false;  ///< maxId and fill are in unified memory

  /// Beside labels and queues: start of the labels, `left`, and fill.
  std::size_t fixed_bytes() const { return 12 + (status_elsewhere ? 0 : fill_bytes); }
  /// Both queues, for `labels` labels.
  std::size_t queue_bytes(std::size_t labels) const {
    return 2 * frontier_bytes *
           static_cast<std::size_t>(std::ceil(queue_share * static_cast<double>(labels)));
  }
  std::size_t label_bytes(std::size_t labels) const { return status_elsewhere ? 0 : labels * word_bytes; }
  /// Bytes of a source with `labels` labels. Even the smallest queue holds the first frontiers.
  std::size_t slot_bytes(std::size_t labels) const {
    return fixed_bytes() + label_bytes(labels) + queue_bytes(labels);
  }
};

/// Sources in flight together.
struct FrontierBatch {
  std::size_t begin = 0, end = 0;  ///< positions
  std::size_t labels = 0;          ///< of all of them
  std::size_t capacity = 0;        ///< of a queue on the device
};

/// Division of a range of sources into batches, and of memory among their arrays (GSoFa, section 6).
///
///     dynamic        fill │ labels of the batch │ queues: all the rest
///     else           fill │ labels, as many as the batch with the largest may have │ queues: the same always
struct FrontierPlan {
  std::size_t slots = 0;          ///< sources in flight at most
  std::size_t region_labels = 0;  ///< labels that have a place of their own; dynamic: 0
  std::vector<FrontierBatch> batches;

  std::size_t most_in_flight() const {
    std::size_t most = 0;
    for (const FrontierBatch& batch : batches) most = std::max(most, batch.end - batch.begin);
    return most;
  }

  /// @param labels_of  labels_of(position): number of labels of a source
  /// @param bound      largest number of labels of any source
  /// @param concurrent sources in flight at most
  /// @param bytes      at least `sizes.slot_bytes(bound)`
  template <class LabelsOf>
  static FrontierPlan make(const FrontierSizes& sizes, bool dynamic, std::size_t begin, std::size_t end,
                           const LabelsOf& labels_of, std::size_t bound, std::size_t concurrent,
                           std::size_t bytes) {
    FrontierPlan plan;
    const std::size_t wanted = std::max<std::size_t>(1, std::min(concurrent, end - begin));
    const std::size_t fixed = sizes.fixed_bytes(), moving = sizes.slot_bytes(bound) - fixed;
    // An eighth of the memory, if that is too little for all, is for what each source in flight needs.
    const std::size_t eighth = std::min(bytes / 8, bytes - moving) / fixed;
    plan.slots = std::min(wanted, std::max<std::size_t>(1, eighth));
    const std::size_t rest = bytes - plan.slots * fixed;
    const std::size_t each = std::max<std::size_t>(1, moving);
    const std::size_t at_once = std::max<std::size_t>(1, std::min(plan.slots, rest / each));
    if (!dynamic) plan.region_labels = at_once * bound;
    const std::size_t fixed_capacity =
        std::max<std::size_t>(1, sizes.queue_bytes(at_once * bound) / (2 * FrontierSizes::frontier_bytes));
    const auto fits = [&](std::size_t labels) {
      return dynamic ? sizes.label_bytes(labels) + sizes.queue_bytes(labels) <= rest
                     : labels <= plan.region_labels;
    };
    for (std::size_t first = begin; first < end;) {
      FrontierBatch batch{first, first, 0, fixed_capacity};
      while (batch.end < end && batch.end - first < plan.slots &&
             (batch.end == first || fits(batch.labels + labels_of(batch.end))))
        batch.labels += labels_of(batch.end++);
      if (dynamic)
        batch.capacity =
            (rest - std::min(rest, sizes.label_bytes(batch.labels))) / (2 * FrontierSizes::frontier_bytes);
      plan.batches.push_back(batch);
      first = batch.end;
    }
    return plan;
  }
};

/// Windows of labels (GSoFa, section 4): the k-th batch since the last reset writes labels from
/// greatest − k·n on. All older ones are greater and count as unset.
struct LabelWindows {
  std::uint32_t n = 1;
  bool reuse = true;         ///< else labels are reset for each batch
  std::uint32_t used = 0;    ///< windows since the last reset
  std::size_t clean = 0;     ///< labels from the start of the memory that no queue has overwritten since
  std::uint64_t resets = 0;  ///< of all labels

  std::uint32_t base() const { return ~std::uint32_t(0) - used * n; }

  /// Opens a window for `labels` labels. @returns the range to be set to the greatest value first
  std::pair<std::size_t, std::size_t> open(std::size_t labels) {
    if (!reuse || used >= ~std::uint32_t(0) / n - 1) {
      if (used > 0) ++resets;
      used = 0;
      clean = 0;
    }
    ++used;
    const std::size_t from = std::min(clean, labels);
    clean = std::max(clean, labels);
    return {from, labels};
  }
  /// A queue overwrites the labels from `labels` on.
  void overwritten_from(std::size_t labels) { clean = std::min(clean, labels); }
};

}  // namespace lutra::Impl

#endif
