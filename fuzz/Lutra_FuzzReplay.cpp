// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "Lutra_Fuzz.hpp"

// Runs a fuzz target on every file of the folders that are given; needs no fuzzer and any compiler.

namespace {

std::vector<std::filesystem::path> files_of(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.is_regular_file()) files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

// @returns whether the target held its promises
bool replay(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
  try {
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    return true;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", file.c_str(), error.what());
    return false;
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t n_files = 0, n_failed = 0;
  for (int k = 1; k < argc; ++k) {
    for (const auto& file : files_of(argv[k])) {
      ++n_files;
      if (!replay(file)) ++n_failed;
    }
  }
  std::printf("%zu inputs, %zu failed\n", n_files, n_failed);
  return n_files > 0 && n_failed == 0 ? 0 : 1;
}
