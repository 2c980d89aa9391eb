// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <regex>
#include <set>
#include <string>
#include <tuple>

#include "Lutra_Report.hpp"
#include "Lutra_TestTypes.hpp"

namespace {

bool is_dotted_version(const std::string& text) {
  return std::regex_match(text, std::regex(R"(\d+\.\d+\.\d+)"));
}

std::string lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

TEST_CASE("version_info names the project's own version and commit", "[common][version]") {
  const lutra::VersionInfo info = lutra::version_info();
  CHECK(info.version == LUTRA_TEST_PROJECT_VERSION);
  INFO("git: " << info.git);
  CHECK(std::regex_match(info.git, std::regex("unknown|[0-9a-f]{12,40}(-dirty)?")));
}

TEST_CASE("version_info names the Kokkos that Lutra was built with", "[common][version]") {
  const lutra::VersionInfo info = lutra::version_info();
  const std::string kokkos = std::to_string(KOKKOS_VERSION_MAJOR) + "." +
                             std::to_string(KOKKOS_VERSION_MINOR) + "." +
                             std::to_string(KOKKOS_VERSION_PATCH);
  CHECK(info.kokkos == kokkos);
  INFO("Kokkos Kernels: " << info.kokkos_kernels);
  CHECK(is_dotted_version(info.kokkos_kernels));
}

TEST_CASE("the headers define the version for the preprocessor", "[common][version]") {
  static_assert(LUTRA_VERSION ==
                10000 * LUTRA_VERSION_MAJOR + 100 * LUTRA_VERSION_MINOR + LUTRA_VERSION_PATCH);
  CHECK(std::to_string(LUTRA_VERSION_MAJOR) + "." + std::to_string(LUTRA_VERSION_MINOR) + "." +
            std::to_string(LUTRA_VERSION_PATCH) ==
        lutra::version_info().version);
}

TEST_CASE("version_info lists each compiled type and backend once", "[common][version]") {
  const lutra::VersionInfo info = lutra::version_info();
  for (const auto& names : {info.backends, info.scalars, info.ordinals}) {
    REQUIRE_FALSE(names.empty());
    CHECK(std::set<std::string>(names.begin(), names.end()).size() == names.size());
  }
  CHECK(info.backends.size() == std::tuple_size_v<lutra::Test::Spaces>);
  CHECK(info.scalars.size() == std::tuple_size_v<lutra::Test::Scalars>);
  CHECK(info.ordinals == std::vector<std::string>{"int32", "int64"});
}

TEST_CASE("the default backend of Kokkos is listed first if it was compiled", "[common][version]") {
  const std::vector<std::string> backends = lutra::version_info().backends;
  const std::string by_default = lower_case(Kokkos::DefaultExecutionSpace::name());
  if (std::find(backends.begin(), backends.end(), by_default) != backends.end()) {
    CHECK(backends.front() == by_default);
  }
}

}  // namespace
