// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_MatrixMarket.hpp"

#include <algorithm>
#include <limits>

#include "Lutra_Error.hpp"
#include "Lutra_GenerateKinds.hpp"
#include "Lutra_UsableMemory.hpp"

namespace lutra {
namespace {

// Properties of a kind, known before its matrix is generated.
struct Kind {
  const char* name;
  int dimensions;       // rows are size^dimensions
  int entries_per_row;  // upper bound, for the memory check before generation
  HostMatrix<double> (*make)(int size, std::uint64_t seed);
};

const Kind kinds[] = {
    {"poisson2d", 2, 5, [](int size, std::uint64_t) { return Impl::generate_poisson2d(size); }},
    {"poisson3d", 3, 7, [](int size, std::uint64_t) { return Impl::generate_poisson3d(size); }},
    {"convdiff3d", 3, 7, [](int size, std::uint64_t) { return Impl::generate_convdiff3d(size); }},
    {"aniso2d", 2, 9, [](int size, std::uint64_t) { return Impl::generate_aniso2d(size); }},
    {"circuit", 1, 20, Impl::generate_circuit},
    {"kkt", 1, 20, Impl::generate_kkt},
    {"random", 1, 20, Impl::generate_random},
};

// @throws InputError if size^dimensions exceeds the range of int
std::int64_t checked_rows(const Kind& kind, std::int64_t size) {
  if (size < 1) throw InputError("generate: size " + std::to_string(size) + " is below 1");
  std::int64_t rows = 1;
  for (int d = 0; d < kind.dimensions; ++d) {
    if (size > std::numeric_limits<int>::max() / rows) {
      throw InputError("generate: size " + std::to_string(size) + " is too large for " + kind.name +
                       ": more than " + std::to_string(std::numeric_limits<int>::max()) + " rows");
    }
    rows *= size;
  }
  return rows;
}

}  // namespace

const std::vector<std::string>& generator_kinds() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const Kind& kind : kinds) list.emplace_back(kind.name);
    return list;
  }();
  return names;
}

HostMatrix<double> generate(const std::string& kind, std::int64_t size, std::uint64_t seed) {
  const Kind* found =
      std::find_if(std::begin(kinds), std::end(kinds), [&](const Kind& k) { return k.name == kind; });
  if (found == std::end(kinds)) {
    std::string names;
    for (const std::string& name : generator_kinds()) names += (names.empty() ? "" : ", ") + name;
    throw InputError("generate: invalid kind '" + kind + "' (choose from " + names + ")");
  }
  const std::int64_t rows = checked_rows(*found, size);
  const std::size_t row_bytes = sizeof(std::int64_t) + static_cast<std::size_t>(found->entries_per_row) *
                                                           (sizeof(double) + sizeof(int));
  Impl::require_usable_memory("generate: a " + kind + " matrix of " + std::to_string(rows) + " rows",
                              static_cast<std::uint64_t>(rows) * row_bytes);
  return found->make(static_cast<int>(size), seed);
}

}  // namespace lutra
