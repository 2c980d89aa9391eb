// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <regex>
#include <set>
#include <string>

#include "Lutra_Version.hpp"

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

TEST_CASE("version_info names the Kokkos it was built with", "[common][version]") {
  const lutra::VersionInfo info = lutra::version_info();
  const std::string kokkos = std::to_string(KOKKOS_VERSION_MAJOR) + "." +
                             std::to_string(KOKKOS_VERSION_MINOR) + "." +
                             std::to_string(KOKKOS_VERSION_PATCH);
  CHECK(info.kokkos == kokkos);
  INFO("Kokkos Kernels: " << info.kokkos_kernels);
  CHECK(is_dotted_version(info.kokkos_kernels));
}

TEST_CASE("version_info lists each backend once, the default one first", "[common][version]") {
  const std::vector<std::string> backends = lutra::version_info().backends;
  REQUIRE_FALSE(backends.empty());
  CHECK(backends.front() == lower_case(Kokkos::DefaultExecutionSpace::name()));
  CHECK(std::set<std::string>(backends.begin(), backends.end()).size() == backends.size());
  CHECK(std::find(backends.begin(), backends.end(), lower_case(Kokkos::DefaultHostExecutionSpace::name())) !=
        backends.end());
}

}  // namespace
