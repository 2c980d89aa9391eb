// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Examines generated matrices and those of a folder (docs/reliability.md). Exits with 1 if a rule is broken;
// each failure names its matrix, so that it can be run alone:
//
//   lutra_test_metamorphic [--first K] [--generated N] [--real N] [--matrices FOLDER] [--only NAME]
//                          [--seconds S] [--flops F] [--write FOLDER] [--verbose]
//
// Matrices K to K + N − 1 of the generator (default 0 and 500), and the N smallest files of the folder
// (default 20; 0 none; the folder of LUTRA_MATRICES). --only takes the files whose names contain NAME,
// --seconds and --flops bound the work of one matrix, --write stores generated matrices that fail in FOLDER.
#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "Lutra_BuiltTypes.hpp"
#include "Lutra_CampaignExamination.hpp"
#include "Lutra_MatrixMarket.hpp"

namespace {

using lutra::Campaign::Case;
using lutra::Campaign::Examination;
using lutra::Campaign::Findings;

struct Arguments {
  std::uint64_t first = 0, generated = 500;
  std::size_t real = 20;
  std::string matrices, only, write;
  lutra::Campaign::Limits limits;
  bool verbose = false;
};

Arguments parse(int argc, char* argv[]) {
  Arguments result;
  if (const char* folder = std::getenv("LUTRA_MATRICES")) result.matrices = folder;
  for (int k = 1; k < argc; ++k) {
    const std::string name = argv[k];
    if (name == "--verbose") {
      result.verbose = true;
      continue;
    }
    if (k + 1 == argc) throw std::invalid_argument(name + ": unknown option, or one without a value");
    const std::string value = argv[++k];
    if (name == "--first") {
      result.first = std::stoull(value);
    } else if (name == "--generated") {
      result.generated = std::stoull(value);
    } else if (name == "--real") {
      result.real = std::stoull(value);
    } else if (name == "--matrices") {
      result.matrices = value;
    } else if (name == "--write") {
      result.write = value;
    } else if (name == "--only") {
      result.only = value;
    } else if (name == "--seconds") {
      result.limits.seconds = std::stod(value);
    } else if (name == "--flops") {
      result.limits.flops = std::stod(value);
    } else {
      throw std::invalid_argument(name + ": unknown option");
    }
  }
  return result;
}

/// Files of the folder, smallest first.
std::vector<std::filesystem::path> files_of(const Arguments& arguments) {
  std::vector<std::pair<std::uintmax_t, std::filesystem::path>> files;
  if (arguments.matrices.empty()) return {};
  for (const auto& entry : std::filesystem::directory_iterator(arguments.matrices)) {
    const std::string name = entry.path().filename().string();
    const bool is_matrix = name.find(".mtx") != std::string::npos;
    if (is_matrix && name.find(arguments.only) != std::string::npos)
      files.emplace_back(entry.file_size(), entry.path());
  }
  std::ranges::sort(files);
  std::vector<std::filesystem::path> result;
  for (const auto& [size, path] : files)
    if (result.size() < arguments.real) result.push_back(path);
  return result;
}

/// All that the program counts.
struct Tally {
  Findings findings;
  std::size_t examined = 0, cut_short = 0;
};

template <class Scalar>
void examine(const Case<Scalar>& matrix, std::uint64_t seed, const Arguments& arguments, Tally& tally) {
  if (arguments.verbose)
    std::printf("%s: %d rows", matrix.name.c_str(), static_cast<int>(matrix.A.n_rows)), std::fflush(stdout);
  const Kokkos::Timer timer;
  const std::size_t before = tally.findings.failures().size();
  try {
    if (!Examination<Scalar>(matrix, seed, arguments.limits, tally.findings).run()) ++tally.cut_short;
  } catch (const std::exception& mistake) {
    tally.findings.fail(matrix.name, "itself", lutra::Campaign::Way::automatic,
                        std::string("threw: ") + mistake.what());
  }
  ++tally.examined;
  if (arguments.verbose) std::printf(", %.2f s\n", timer.seconds());
  for (std::size_t f = before; f < tally.findings.failures().size(); ++f) {
    const auto& [name, relation, way, text] = tally.findings.failures()[f];
    std::printf("FAILED %s | %s | %s | %s\n", name.c_str(), relation.c_str(), way.c_str(), text.c_str());
  }
  std::fflush(stdout);
}

void examine_file(const std::filesystem::path& file, const Arguments& arguments, Tally& tally) {
  const auto read = lutra::read_matrix_market(file.string());
  std::visit(
      [&]<class Scalar>(const lutra::HostMatrix<Scalar>& A) {
        if constexpr (lutra::Impl::is_built_scalar<Scalar>) {
          if (A.n_rows == A.n_cols) examine<Scalar>({file.filename().string(), A}, 1, arguments, tally);
        }
      },
      read.matrix);
}

void print(const Tally& tally) {
  std::printf("%-26s%-14s%10s%10s%10s%12s\n", "relation", "way", "compared", "solved", "failed",
              "borderline");
  for (const auto& [key, counts] : tally.findings.table())
    std::printf("%-26s%-14s%10lld%10lld%10lld%12lld\n", key.first.c_str(), key.second.c_str(),
                static_cast<long long>(counts.compared), static_cast<long long>(counts.solved),
                static_cast<long long>(counts.failed), static_cast<long long>(counts.borderline));
  std::printf("%zu matrices, %zu cut short by time, %zu failures\n", tally.examined, tally.cut_short,
              tally.findings.failures().size());
}

void examine_generated(std::uint64_t number, const Arguments& arguments, Tally& tally) {
  const auto matrix = lutra::Campaign::generated(number);
  const std::size_t before = tally.findings.failures().size();
  examine(matrix, number, arguments, tally);
  if (arguments.write.empty() || tally.findings.failures().size() == before) return;
  std::filesystem::create_directories(arguments.write);
  const auto file = std::filesystem::path(arguments.write) / (std::to_string(number) + ".mtx");
  lutra::write_matrix_market(file.string(), matrix.A, matrix.name);
}

int run(const Arguments& arguments) {
  Tally tally;
  for (std::uint64_t k = 0; k < arguments.generated; ++k)
    examine_generated(arguments.first + k, arguments, tally);
  for (const auto& file : files_of(arguments)) examine_file(file, arguments, tally);
  print(tally);
  return tally.findings.failures().empty() ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace

int main(int argc, char* argv[]) {
  const Kokkos::ScopeGuard kokkos;
  try {
    return run(parse(argc, argv));
  } catch (const std::exception& mistake) {
    std::fprintf(stderr, "lutra_test_metamorphic: %s\n", mistake.what());
    return EXIT_FAILURE;
  }
}
