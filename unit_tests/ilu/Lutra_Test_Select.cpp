// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "Lutra_Error.hpp"
#include "Lutra_Select.hpp"
#include "Lutra_TestDevice.hpp"
#include "Lutra_TestTypes.hpp"

namespace {

using lutra::SelectCounters;
using lutra::SelectionThreshold;
using lutra::SelectMethod;
using lutra::SelectOptions;
using lutra::SelectSplitters;

template <class RealType, class SpaceType>
struct SelectTypes {
  using Real = RealType;
  using Space = SpaceType;
};
template <class... Space>
std::tuple<SelectTypes<double, Space>..., SelectTypes<float, Space>...> with_reals(std::tuple<Space...>*);
using AllSelectTypes = decltype(with_reals(static_cast<lutra::Test::Spaces*>(nullptr)));

/// Order with NaN last and −0 equal to +0, implemented without keys.
template <class Real>
bool less(Real a, Real b) {
  return std::isnan(b) ? !std::isnan(a) : a < b;
}
template <class Real>
bool same(Real a, Real b) {
  return !less(a, b) && !less(b, a);
}

template <class Real>
using Values = std::vector<Real>;

/// Distributions of test values by name, with functions that make n values.
template <class Real>
std::vector<std::pair<std::string, std::function<Values<Real>(std::size_t)>>> distributions() {
  const auto each = [](auto value) {
    return [value](std::size_t n) {
      std::mt19937_64 random(n + 1);
      Values<Real> values(n);
      for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<Real>(value(i, n, random));
      return values;
    };
  };
  using Random = std::mt19937_64;
  using Limits = std::numeric_limits<Real>;
  const auto uniform = [](Random& random) { return std::uniform_real_distribution<Real>(-1, 1)(random); };
  return {
      {"uniform", each([=](auto, auto, Random& r) { return uniform(r); })},
      {"magnitudes over many scales",
       each([=](auto, auto, Random& r) { return std::exp(Real(20) * uniform(r)); })},
      {"all equal", each([](auto, auto, Random&) { return Real(0.1); })},
      {"two values", each([](auto i, auto n, Random&) { return i < n / 3 ? Real(1) : Real(-4); })},
      {"two values, mixed", each([](auto, auto, Random& r) { return r() % 3 == 0 ? Real(1) : Real(-4); })},
      {"seven values", each([](auto, auto, Random& r) { return Real(r() % 7); })},
      {"ascending", each([](auto i, auto, Random&) { return static_cast<Real>(i); })},
      {"a period of 1024", each([](auto i, auto, Random&) { return static_cast<Real>(i % 1024); })},
      {"neighbours", each([](auto, auto, Random& r) { return 1 + Limits::epsilon() * Real(r() % 100000); })},
      {"a few among one value",
       each([=](auto, auto, Random& r) { return r() % 1000 == 0 ? uniform(r) : Real(0.5); })},
      {"zeros and denormals", each([](auto, auto, Random& r) {
         const auto size = static_cast<Real>(r() % 3) * Limits::denorm_min();
         return r() % 2 == 0 ? size : -size;
       })},
      {"infinities and NaN", each([=](auto, auto, Random& r) {
         switch (r() % 8) {
           case 0:
             return Limits::infinity();
           case 1:
             return -Limits::infinity();
           case 2:
             return Limits::quiet_NaN();
           case 3:
             return -Limits::quiet_NaN();
           default:
             return uniform(r);
         }
       })},
      {"NaN alone", each([](auto, auto, Random&) { return Limits::quiet_NaN(); })},
  };
}

/// Checks that hold for every threshold. `sorted` is ascending.
template <class Real>
void check(const SelectionThreshold<Real>& threshold, const Values<Real>& values, const Values<Real>& sorted,
           std::int64_t k) {
  const auto n = static_cast<std::int64_t>(values.size());
  const auto count = [&](auto holds) { return std::count_if(values.begin(), values.end(), holds); };
  const std::int64_t kept = std::min(k, n);
  CHECK(threshold.n_above == count([&](Real x) { return threshold.is_above(x); }));
  CHECK(threshold.n_above == count([&](Real x) { return less(threshold.upper, x); }));
  CHECK(threshold.n_above + threshold.n_ties == kept);
  CHECK(threshold.n_nan == count([](Real x) { return std::isnan(x); }));
  const auto ties = count([&](Real x) { return threshold.is_tie(x); });
  CHECK(threshold.n_ties >= 0);
  CHECK(ties >= threshold.n_ties);
  CHECK(ties == count([&](Real x) { return !less(x, threshold.lower) && !less(threshold.upper, x); }));
  if (kept == 0) return;
  const Real wanted = sorted[static_cast<std::size_t>(n - kept)];
  CHECK(!less(wanted, threshold.lower));
  CHECK(!less(threshold.upper, wanted));
}

template <class Real, class Space>
SelectionThreshold<Real> run(const Values<Real>& values, std::int64_t k, const SelectOptions& options) {
  const Kokkos::View<const Real*, typename Space::memory_space> device = lutra::Test::to_space<Space>(values);
  return lutra::select(Space(), device, k, options);
}

/// Every combination of counters, warps and splitters that this space has, other than the default.
template <class Space>
std::vector<SelectOptions> variants() {
  std::vector<SelectOptions> result;
  using enum SelectCounters;
  using enum SelectSplitters;
  for (const auto method : {SelectMethod::sampleselect, SelectMethod::quickselect}) {
    for (const auto splitters : {dense, even}) {
      if (method == SelectMethod::quickselect && splitters == even) continue;
      for (const auto counters : {automatic, shared, global}) {
        if (counters != automatic || splitters == even)
          result.push_back({method, false, true, counters, false, splitters});
#ifdef KOKKOS_ENABLE_CUDA
        if constexpr (!std::is_same_v<Space, Kokkos::Cuda>) continue;
        for (const bool aggregated : {false, true}) {
          if (counters == automatic && (aggregated || splitters == dense)) continue;
          result.push_back({method, false, false, counters, aggregated, splitters});
        }
#endif
      }
    }
  }
  return result;
}

/// The same threshold as by default, for each variant; a close one if it is approximate.
template <class Real, class Space>
void check_variants(const std::string& name, const Values<Real>& values, std::int64_t k) {
  Values<Real> sorted = values;
  std::sort(sorted.begin(), sorted.end(), less<Real>);
  const auto expected = run<Real, Space>(values, k, {});
  for (SelectOptions options : variants<Space>()) {
    CAPTURE(name, values.size(), k, options.portable, options.method, options.counters,
            options.warp_aggregated, options.splitters);
    const auto found = run<Real, Space>(values, k, options);
    check(found, values, sorted, k);
    CHECK(same(found.lower, expected.lower));
    CHECK(same(found.upper, expected.upper));
    CHECK(found.n_above == expected.n_above);
    CHECK(found.n_ties == expected.n_ties);
    if (options.method == SelectMethod::quickselect) continue;
    options.approximate = true;
    check(run<Real, Space>(values, k, options), values, sorted, k);
  }
}

template <class Real, class Space>
void check_all(const std::string& name, const Values<Real>& values, const std::vector<std::int64_t>& ks) {
  Values<Real> sorted = values;
  std::sort(sorted.begin(), sorted.end(), less<Real>);
  for (const std::int64_t k : ks) {
    for (const bool portable : {false, true}) {
      CAPTURE(name, values.size(), k, portable);
      for (const auto method : {SelectMethod::sampleselect, SelectMethod::quickselect}) {
        const auto exact = run<Real, Space>(values, k, {method, false, portable});
        CHECK(same(exact.lower, exact.upper));
        check(exact, values, sorted, k);
      }
      check(run<Real, Space>(values, k, {SelectMethod::sampleselect, true, portable}), values, sorted, k);
    }
  }
}

// Sizes on both sides of each change of method: one team, one level, two levels, and buffers that hold all
// values or not.
TEMPLATE_LIST_TEST_CASE("the k largest values of several distributions are selected", "[ilu][select]",
                        AllSelectTypes) {
  using Real = typename TestType::Real;
  using Space = typename TestType::Space;
  for (const auto& [name, make] : distributions<Real>()) {
    for (const std::size_t n : {0, 1, 2, 64, 65, 1000, 16384, 16385, 32768, 32769, 100003}) {
      const auto m = static_cast<std::int64_t>(n);
      check_all<Real, Space>(
          name, make(n),
          n < 2000 ? std::vector{m / 3, m - 1 < 0 ? 0 : m - 1, m, m + 5, std::int64_t(0), std::int64_t(1)}
                   : std::vector{m / 3, m});
    }
    for (const std::size_t n : {131072, 131073, 300000}) {
      check_all<Real, Space>(name, make(n), {static_cast<std::int64_t>(n) / 5});
    }
  }
  for (const auto& [name, make] : distributions<Real>()) {
    if (name == "uniform" || name == "neighbours" || name == "all equal")
      check_all<Real, Space>(name, make(2200000), {700000});
  }
}

TEMPLATE_LIST_TEST_CASE("variants of counting and of splitters select the same values",
                        "[ilu][select][variants]", AllSelectTypes) {
  using Real = typename TestType::Real;
  using Space = typename TestType::Space;
  for (const auto& [name, make] : distributions<Real>()) {
    for (const std::size_t n : {0, 1000, 16385, 40001, 300000})
      check_variants<Real, Space>(name, make(n), static_cast<std::int64_t>(n) / 3);
  }
  check_variants<Real, Space>("uniform", distributions<Real>()[0].second(2200000), 700000);
}

TEMPLATE_TEST_CASE("keys preserve the order of values and leave no gaps", "[ilu][select]", float, double) {
  using Keys = lutra::Impl::SelectionKey<TestType>;
  using Limits = std::numeric_limits<TestType>;
  const TestType infinity = Limits::infinity();
  CHECK(Keys::encode(TestType(-0.0)) == Keys::encode(TestType(0)));
  CHECK(Keys::encode(-infinity) == Keys::lowest);
  CHECK(Keys::encode(infinity) == Keys::highest);
  CHECK(Keys::encode(-Limits::quiet_NaN()) == Keys::not_a_number);
  CHECK(std::isnan(Keys::decode(Keys::not_a_number)));
  CHECK(Keys::decode(Keys::highest + 1) == infinity);
  for (const TestType value : {-infinity, Limits::lowest(), TestType(-2), -Limits::denorm_min(), TestType(0),
                               Limits::denorm_min(), TestType(1), Limits::max()}) {
    CHECK(Keys::decode(Keys::encode(value)) == value);
    CHECK(Keys::encode(std::nextafter(value, infinity)) == Keys::encode(value) + 1);
  }
}

TEMPLATE_LIST_TEST_CASE("an approximate threshold is close", "[ilu][select]", AllSelectTypes) {
  using Real = typename TestType::Real;
  using Space = typename TestType::Space;
  for (const std::size_t n : {40000, 1000000}) {
    for (const auto& [name, make] : distributions<Real>()) {
      if (name != "uniform" && name != "magnitudes over many scales" && name != "ascending") continue;
      const auto values = make(n);
      for (const std::int64_t part : {1, 10, 50, 99}) {
        const std::int64_t k = static_cast<std::int64_t>(n) * part / 100;
        const auto threshold = run<Real, Space>(values, k, {SelectMethod::sampleselect, true, false});
        const auto ties =
            std::count_if(values.begin(), values.end(), [&](Real x) { return threshold.is_tie(x); });
        CAPTURE(name, n, part);
        CHECK(ties <= static_cast<std::int64_t>(n) / 80);  // about n / 1000 most times
      }
    }
  }
}

TEMPLATE_LIST_TEST_CASE("a workspace serves several selections", "[ilu][select]", AllSelectTypes) {
  using Real = typename TestType::Real;
  using Space = typename TestType::Space;
  using Selection = lutra::Selection<Real, Space>;
  const auto make = distributions<Real>()[0].second;
  for (const bool approximate : {false, true}) {
    const Selection selection(Space(), 50000, {SelectMethod::sampleselect, approximate, false});
    const typename Selection::Result result("result");
    for (const std::size_t n : {50000, 10, 40001, 0, 50000}) {
      const auto values = make(n);
      auto sorted = values;
      std::sort(sorted.begin(), sorted.end(), less<Real>);
      const typename Selection::Values device = lutra::Test::to_space<Space>(values);
      selection.find(Space(), device, static_cast<std::int64_t>(n) / 2, result);
      SelectionThreshold<Real> threshold;
      Kokkos::deep_copy(Kokkos::View<SelectionThreshold<Real>, Kokkos::HostSpace>(&threshold), result);
      check(threshold, values, sorted, static_cast<std::int64_t>(n) / 2);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("a subview with any offset is selected from", "[ilu][select]", AllSelectTypes) {
  using Real = typename TestType::Real;
  using Space = typename TestType::Space;
  const auto values = distributions<Real>()[0].second(70003);
  const typename lutra::Selection<Real, Space>::Values device = lutra::Test::to_space<Space>(values);
  for (const std::size_t begin : {1, 2, 3}) {
    const Values<Real> part(values.begin() + static_cast<std::ptrdiff_t>(begin), values.end());
    auto sorted = part;
    std::sort(sorted.begin(), sorted.end(), less<Real>);
    const typename lutra::Selection<Real, Space>::Values subview =
        Kokkos::subview(device, std::pair<std::size_t, std::size_t>(begin, values.size()));
    for (const bool approximate : {false, true}) {
      CAPTURE(begin, approximate);
      check(lutra::select(Space(), subview, 12345, {SelectMethod::sampleselect, approximate, false}), part,
            sorted, 12345);
    }
  }
}

TEST_CASE("selection refuses invalid requests", "[ilu][select]") {
  using Space = Kokkos::DefaultExecutionSpace;
  using Selection = lutra::Selection<double, Space>;
  const Selection::Values values = Kokkos::View<double*, Space::memory_space>("values", 10);
  CHECK_THROWS_AS(Selection(Space(), -1), lutra::InputError);
  CHECK_THROWS_AS(Selection(Space(), 9, {SelectMethod::quickselect, true, false}), lutra::InputError);
  using enum SelectCounters;
  using enum SelectSplitters;
  constexpr auto sample = SelectMethod::sampleselect, quick = SelectMethod::quickselect;
  CHECK_THROWS_AS(Selection(Space(), 9, {quick, false, true, automatic, false, even}), lutra::InputError);
  CHECK_THROWS_AS(Selection(Space(), 9, {sample, false, true, shared, true}), lutra::InputError);
  CHECK_THROWS_AS(Selection(Space(), 9, {sample, false, false, automatic, true}), lutra::InputError);
  if constexpr (std::is_same_v<Space::memory_space, Kokkos::HostSpace>) {
    CHECK_THROWS_AS(Selection(Space(), 9, {sample, false, false, global}), lutra::InputError);
    CHECK_THROWS_AS(Selection(Space(), 9, {sample, false, false, automatic, false, even}), lutra::InputError);
  }
  CHECK_THROWS_AS(Selection(Space(), 9).find(Space(), values, 3, Selection::Result("r")), lutra::InputError);
  CHECK_THROWS_AS(lutra::select(Space(), values, -1), lutra::InputError);
  CHECK_THROWS_AS(lutra::select(Space(), values, 1, {}, lutra::MemoryBudget(100)), lutra::OutOfMemoryError);
}

}  // namespace
