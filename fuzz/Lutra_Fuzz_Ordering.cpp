// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <vector>

#include "Lutra_CliOptions.hpp"
#include "Lutra_Fuzz.hpp"

// Any bytes as a file with the order of n columns: an error of the input or a permutation, which is the same
// after writing and reading. First byte: n.

namespace {

using lutra::Fuzz::require;

std::string to_text(const std::vector<std::int64_t>& order) {
  std::string text = "% order\n";
  for (const std::int64_t column : order) text += std::to_string(column + 1) + "\n";
  return text;
}

void check_permutation(const std::vector<std::int64_t>& order, std::int64_t n) {
  require(order.size() == static_cast<std::size_t>(n), "an order has n columns");
  std::vector<bool> seen(order.size(), false);
  for (const std::int64_t column : order) {
    require(column >= 0 && column < n, "columns are in range");
    const auto k = static_cast<std::size_t>(column);
    require(!seen[k], "each column stands once");
    seen[k] = true;
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  lutra::Fuzz::Input input(data, size);
  const std::int64_t n = input.take_byte();
  const std::string file = lutra::Fuzz::written("order", input.text());
  std::vector<std::int64_t> order;
  if (!lutra::Fuzz::accepted([&] { order = lutra::Cli::read_ordering(file, n); })) return 0;
  check_permutation(order, n);
  const std::string again = lutra::Fuzz::written("order_again", to_text(order));
  require(lutra::Cli::read_ordering(again, n) == order, "an order is the same after writing");
  return 0;
}
