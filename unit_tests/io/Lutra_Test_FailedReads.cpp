// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_test_macros.hpp>
#include <string>
#include <variant>

#include "Lutra_CompressedText.hpp"
#include "Lutra_FailingAllocations.hpp"
#include "Lutra_MatrixMarket.hpp"
#include "Lutra_TestFile.hpp"

// Every allocation while a file is read or written fails in turn, those of zlib and liblzma as well.

namespace lutra::Test {
namespace {

/// Runs a call with every allocation failing, twice: what an error makes once in a program is there the
/// second time. @param is_right whether the results of a call that ended are those of one without a failure
template <class Call, class IsRight>
long check_every_allocation(const Call& call, const IsRight& is_right) {
  const FailingAllocations failing(Allocations::all);
  failing.count(call);
  const long count = failing.count(call);
  long thrown = 0;
  for (long allocation = 1; allocation <= count; ++allocation) {
    INFO("allocation " << allocation << " of " << count);
    LiveMemory before;
    for (int run = 0; run < 2; ++run) {
      before = live_memory();
      const Injected outcome = failing.fail(allocation, call);
      if (outcome == Injected::thrown)
        ++thrown;
      else
        REQUIRE(is_right());
    }
    REQUIRE(live_memory().blocks <= before.blocks);
    REQUIRE(live_memory().bytes <= before.bytes);
    call();
    REQUIRE(is_right());
  }
  CHECK(thrown > 0);
  return count;
}

const auto& values_of(const MatrixMarketMatrix& read) {
  return std::get<HostMatrix<double>>(read.matrix).values;
}

}  // namespace

TEST_CASE("every allocation of the readers fails without harm", "[failures]") {
  const TemporaryFolder folder;
  const std::string plain = folder.path("A.mtx");
  const HostMatrix<double> A = generate("circuit", 40);
  write_matrix_market(plain, A);
  const std::string text = read_file(plain);
  for (const std::string& file :
       {plain, folder.write("A.gz", gzipped(text)), folder.write("A.xz", xz_compressed(text))}) {
    INFO(file);
    std::size_t entries = 0;
    double last = 0;
    check_every_allocation(
        [&] {
          entries = 0;
          const MatrixMarketMatrix read = read_matrix_market(file);
          entries = values_of(read).size();
          last = values_of(read).back();
        },
        [&] { return entries == A.values.size() && last == A.values.back(); });
  }
}

TEST_CASE("every allocation of the writers fails without a trace", "[failures]") {
  const TemporaryFolder folder;
  const std::string file = folder.path("A.mtx");
  const HostMatrix<double> A = generate("circuit", 40);
  write_matrix_market(file, A);
  const std::string text = read_file(file);
  check_every_allocation([&] { write_matrix_market(file, A); },
                         [&] { return read_file(file) == text && folder.file_count() == 1; });
  CHECK(read_file(file) == text);
  CHECK(folder.file_count() == 1);
}

}  // namespace lutra::Test
