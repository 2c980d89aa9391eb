// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "Lutra_MatrixMarket.hpp"
#include "Lutra_SparseLU.hpp"
#include "Lutra_TestSystems.hpp"

namespace lutra::Test {
namespace {

// LUTRA_MATRICES_ENGINE forces an engine: simplicial or multifrontal. LUTRA_MATRICES_MATCHING=auction takes
// that instead of the exact one. Predicted work beyond which a matrix is left to other engines;
// LUTRA_MATRICES_FLOPS sets another figure.
constexpr double default_max_flops = 1e11;
constexpr double tolerance = 1e-12;

/// How one matrix ended.
struct Record {
  std::string name;
  std::string ending;  ///< name of the status, or "left out", "rectangular"
  double seconds = 0;
  double flops = 0;
  double error = 0;  ///< componentwise backward error, recomputed
};

double max_flops() {
  const char* text = std::getenv("LUTRA_MATRICES_FLOPS");
  return text ? std::strtod(text, nullptr) : default_max_flops;
}

LuOptions options() {
  LuOptions result;
  const char* engine = std::getenv("LUTRA_MATRICES_ENGINE");
  for (const Engine known : {Engine::simplicial, Engine::multifrontal}) {
    if (engine && name_of(known) == engine) result.engine = known;
  }
  const char* matching = std::getenv("LUTRA_MATRICES_MATCHING");
  if (matching && std::string(matching) == "auction") result.matching = Matching::auction;
  return result;
}

bool is_matrix_file(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".mtx") || name.ends_with(".mtx.gz") || name.ends_with(".mtx.xz");
}

std::vector<std::filesystem::path> matrix_files(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (is_matrix_file(entry.path())) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

/// A status other than success must be true of the matrix, as far as a test can tell.
void check_claim(const Report& report, std::int64_t n) {
  switch (report.status) {
    case Status::structurally_singular:
      CHECK(*report.structural_rank < n);
      CHECK(report.singular_rows.size() == static_cast<std::size_t>(n - *report.structural_rank));
      CHECK(report.singular_columns.size() == report.singular_rows.size());
      break;
    case Status::numerically_singular:
      CHECK_FALSE(report.singular_rows.empty());
      CHECK_FALSE(report.singular_columns.empty());
      break;
    case Status::error_above_tolerance:
      CHECK(*report.errors.backward_componentwise > tolerance);
      break;
    default:
      FAIL("the status is " << to_string(report.status));
  }
}

template <class Scalar>
void solve(const HostMatrix<Scalar>& A, Record& record) {
  if (A.n_rows != A.n_cols) {
    record.ending = "rectangular";
    return;
  }
  SparseLU<Scalar> solver(options());
  Status status = solver.analyze(A);
  record.flops = solver.report().factors.flops.value_or(0);
  if (record.flops > max_flops()) {
    record.ending = "left out";
    return;
  }
  const auto system = known_system(A);
  std::vector<Scalar> x(system.b.size());
  if (status == Status::success) status = solver.factorize(A);
  if (status == Status::success) status = solver.solve_host(system.b, x);
  record.ending = to_string(status);
  if (status == Status::success) {
    record.error = static_cast<double>(Reference::backward_errors(A, x, system.b).componentwise);
    CHECK(record.error <= tolerance);
  } else {
    check_claim(solver.report(), A.n_rows);
  }
}

void print(std::vector<Record> records) {
  std::map<std::string, int> counts;
  for (const Record& record : records) {
    ++counts[record.ending];
    if (record.ending != "success") {
      std::printf("%-40s %-24s %9.3g flops\n", record.name.c_str(), record.ending.c_str(), record.flops);
    }
  }
  for (const auto& [ending, count] : counts) std::printf("%6d %s\n", count, ending.c_str());
  std::ranges::sort(records, [](const Record& a, const Record& b) { return a.seconds > b.seconds; });
  std::printf("slowest:\n");
  for (std::size_t i = 0; i < std::min<std::size_t>(5, records.size()); ++i) {
    std::printf("  %-38s %8.2f s %9.3g flops\n", records[i].name.c_str(), records[i].seconds,
                records[i].flops);
  }
}

}  // namespace

TEST_CASE("every matrix of a folder ends with a checked solution or a true status", "[matrices]") {
  const char* folder = std::getenv("LUTRA_MATRICES");
  if (!folder) SKIP("LUTRA_MATRICES names no folder");
  std::vector<Record> records;
  for (const auto& file : matrix_files(folder)) {
    Record record{file.filename().string(), "", 0, 0, 0};
    INFO(record.name);
    Kokkos::Timer timer;
    const auto read = read_matrix_market(file.string());
    const bool is_built = std::visit(
        [&]<class Scalar>(const HostMatrix<Scalar>& A) {
          if constexpr (lutra::Impl::is_built_scalar<Scalar>) solve(A, record);
          return lutra::Impl::is_built_scalar<Scalar>;
        },
        read.matrix);
    if (!is_built) continue;  // Lutra_SCALARS leaves this file's type out
    record.seconds = timer.seconds();
    records.push_back(record);
  }
  CHECK_FALSE(records.empty());
  print(records);
}

}  // namespace lutra::Test
