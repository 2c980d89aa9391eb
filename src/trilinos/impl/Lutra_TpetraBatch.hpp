// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TPETRABATCH_HPP
#define LUTRA_TPETRABATCH_HPP

#include <Teuchos_ParameterList.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "Lutra_Batch.hpp"
#include "Lutra_ScalarTraits.hpp"
#include "Lutra_TpetraViews.hpp"
#include "Lutra_TrilinosErrors.hpp"
#include "Lutra_TrilinosParameters.hpp"

namespace lutra::Impl {

/// Each entry's value of the largest magnitude among the systems that are used.
template <class Values, class Used, class Result>
struct LargestOfSystems {
  Values values;  ///< [entries × systems]
  Used used;      ///< [systems]
  Result result;  ///< [entries]
  KOKKOS_FUNCTION void operator()(const std::int64_t p) const {
    using Traits = ScalarTraits<typename Result::value_type>;
    result(p) = 0;
    for (std::size_t k = 0; k < used.extent(0); ++k) {
      const auto value = values(p, k);
      if (used(k) != 0 && Traits::is_finite(value) && Traits::magnitude(value) > Traits::magnitude(result(p)))
        result(p) = value;
    }
  }
};

/// Views on a MultiVector as [n × right-hand sides × systems].
/// @throws InputError if its vectors are not evenly spaced
template <class View, class Local>
View batch_view(const char* name, const Local& local, bool is_strided, std::size_t n, std::size_t n_rhs,
                std::size_t systems, bool are_rows) {
  if (!is_strided && local.extent(1) > 1)
    throw InputError(std::string(name) + ": its vectors are not evenly spaced; pass a copy");
  const std::size_t column = local.stride(1);
  return View(local.data(),
              Kokkos::LayoutStride(n, 1, n_rhs, column, systems, are_rows ? n : n_rhs * column));
}

/// A batch of systems that Trilinos holds, and its analysis.
template <class Matrix>
class TpetraBatch {
 public:
  using Types = TpetraTypes<Matrix>;
  using Scalar = typename Types::Scalar;
  using Space = typename Types::Space;
  using Memory = typename Types::Memory;
  using Lu = BatchedLU<Scalar, Space>;
  using Values = typename Lu::values_type;
  using Mask = typename Lu::mask_type;

  /// A pattern on the host in the types of the library.
  struct Pattern {
    std::vector<Offset> row_map{0};
    std::vector<Ordinal> entries;
    bool operator==(const Pattern&) const = default;
  };

  explicit TpetraBatch(const Teuchos::ParameterList& list) : m_lu(read(list)) {}

  /// Analyzes the pattern unless it is that of the call before, and factorizes.
  Status factorize(Pattern pattern, const Values& values, const Mask& mask) {
    check_mask_length(mask, values.extent(1));
    if (!m_is_analyzed || !(pattern == m_pattern)) analyze(std::move(pattern), values, mask);
    return m_lu.factorize(values, mask);
  }

  Lu& lu() { return m_lu; }
  const Lu& lu() const { return m_lu; }
  const Pattern& pattern() const { return m_pattern; }

 private:
  static LuOptions read(const Teuchos::ParameterList& list) {
    Teuchos::ParameterList valid("Lutra");
    add_valid_options(valid, LuOptions());
    list.validateParameters(valid);
    LuOptions options;
    with_teuchos_errors([&] { options = read_options<LuOptions>(list); });
    return options;
  }
  static void check_mask_length(const Mask& mask, std::size_t systems) {
    if (!mask.empty() && mask.size() != systems)
      throw InputError("mask: it has " + std::to_string(mask.size()) + " elements, but the batch has " +
                       std::to_string(systems) + " systems");
  }
  /// Scales and pivots are chosen for the largest values at each entry, so that none is zero in all systems.
  void analyze(Pattern pattern, const Values& values, const Mask& mask) {
    if (values.extent(0) != pattern.entries.size())
      throw InputError("values: they have " + std::to_string(values.extent(0)) +
                       " rows, but the pattern has " + std::to_string(pattern.entries.size()) + " entries");
    const Space exec;
    Kokkos::View<char*, Memory> used("lutra::trilinos::used", values.extent(1));
    const auto host_used = Kokkos::create_mirror_view(used);
    for (std::size_t k = 0; k < used.extent(0); ++k) host_used(k) = mask.empty() || mask[k] ? 1 : 0;
    Kokkos::deep_copy(exec, used, host_used);
    const Kokkos::View<Scalar*, Memory> largest("lutra::trilinos::largest values", values.extent(0));
    using Policy = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;
    Kokkos::parallel_for("lutra::trilinos::largest values",
                         Policy(exec, 0, static_cast<std::int64_t>(largest.extent(0))),
                         LargestOfSystems<Values, decltype(used), decltype(largest)>{values, used, largest});
    const auto n = static_cast<Ordinal>(pattern.row_map.size() - 1);
    const auto row_map = copy(exec, "lutra::trilinos::row_map", pattern.row_map);
    const auto entries = copy(exec, "lutra::trilinos::entries", pattern.entries);
    m_is_analyzed = false;  // a pattern without a full set of pivots is analyzed again with other values
    m_is_analyzed = m_lu.analyze({n, n, row_map, entries, largest}) == Status::success;
    m_pattern = std::move(pattern);
  }
  template <class T>
  static Kokkos::View<T*, Memory> copy(const Space& exec, const std::string& label,
                                       const std::vector<T>& from) {
    const Kokkos::View<T*, Memory> to(label, from.size());
    Kokkos::deep_copy(exec, to, Kokkos::View<const T*, Kokkos::HostSpace>(from.data(), from.size()));
    exec.fence("lutra::trilinos: the pattern is copied");
    return to;
  }

  Lu m_lu;
  Pattern m_pattern;
  bool m_is_analyzed = false;
};

}  // namespace lutra::Impl

#endif
