// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_SelectionVariants.hpp"

#include "Lutra_SampleSelectCuda.hpp"

namespace lutra::Impl {
namespace {

template <class Real, class Counters>
SampleSelectCuda<Real, Counters> steps_of(const SelectionCall<Real>& call, const SelectOptions& options) {
  return {call.exec, call.work, call.values, call.k, call.result, options.splitters};
}

/// use(steps) with the kernels of the options' counters.
template <class Real, class Use>
void with_counters(const SelectionCall<Real>& call, const SelectOptions& options, const Use& use) {
  const bool is_global = options.counters == SelectCounters::global;
  if (options.warp_aggregated) {
    return is_global ? use(steps_of<Real, BucketCounters<0, true>>(call, options))
                     : use(steps_of<Real, BucketCounters<1, true>>(call, options));
  }
  is_global ? use(steps_of<Real, BucketCounters<0, false>>(call, options))
            : use(steps_of<Real, BucketCounters<1, false>>(call, options));
}

}  // namespace

template <class Real>
void select_variant(const SelectionCall<Real>& call, const SelectOptions& options,
                    const std::function<std::int64_t()>& left) {
  with_counters(call, options, [&](const auto& steps) {
    options.method == SelectMethod::quickselect ? steps.quickselect(left) : steps.find(options.approximate);
  });
}

template <class Real>
void count_buckets_once(const SelectionCall<Real>& call, const SelectOptions& options) {
  const auto use = [&](const auto& steps) {
    options.method == SelectMethod::quickselect ? steps.count_pivot_once()
    : options.approximate                       ? steps.count_once_without_oracles()
                                                : steps.count_once();
  };
  options.counters == SelectCounters::automatic ? use(steps_of<Real, CopiedCounters>(call, options))
                                                : with_counters(call, options, use);
}

template void select_variant(const SelectionCall<float>&, const SelectOptions&,
                             const std::function<std::int64_t()>&);
template void select_variant(const SelectionCall<double>&, const SelectOptions&,
                             const std::function<std::int64_t()>&);
template void count_buckets_once(const SelectionCall<float>&, const SelectOptions&);
template void count_buckets_once(const SelectionCall<double>&, const SelectOptions&);

}  // namespace lutra::Impl
