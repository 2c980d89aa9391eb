// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PYFACTORCACHE_HPP
#define LUTRA_PYFACTORCACHE_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "Lutra_PyBatch.hpp"
#include "Lutra_PySolver.hpp"

// Factors for functions that get values and right-hand sides in each call and keep nothing, as those of XLA.

namespace lutra::Python {

/// Systems op(A_k)·X_k = B_k, or one without a batch, in arrays of the caller, all on the same side.
struct PureSystems {
  MatrixArrays A;  ///< values: those of all systems, one after the other, [nnz] each
  bool is_batch = false;
  std::size_t systems = 1, n_rhs = 1;
  const void* B = nullptr;  ///< [systems × n × n_rhs], the last index fastest
  void* X = nullptr;        ///< like B
  Transposition op = Transposition::none;
};

/// How the systems of one pattern are solved.
struct PureOptions {
  std::string method = "lu";
  ScalarType scalar = ScalarType::f64;
  std::vector<std::pair<std::string, std::string>> named;
  bool nan_on_failure = false;  ///< the solution of a failed system is NaN, instead of an exception
  std::size_t kept = 4;         ///< sets of factors
};

/// Factors of matrices with one pattern. Those of the last sets of values are kept, with the values: a solve
/// with the same ones, to the bit, does not factorize again, as in the backward pass of a differentiated
/// solve. One thread at a time solves; others wait.
class FactorCache {
 public:
  explicit FactorCache(PureOptions options);
  ~FactorCache();

  /// @throws InputError, OutOfMemoryError; SingularSystems
  void solve(const PureSystems& systems);
  std::int64_t factorizations() const;
  /// Frees all factors; later calls make new ones.
  void clear();

 private:
  struct Slot;
  Slot& slot_for(const PureSystems& systems);
  Slot& free_slot(const PureSystems& systems);
  void factorize(Slot& slot, const PureSystems& systems);
  void solve_one(Slot& slot, const PureSystems& systems);
  void solve_batch(Slot& slot, const PureSystems& systems);
  std::size_t value_bytes(const PureSystems& systems) const;
  std::size_t scalar_bytes() const;

  PureOptions m_options;
  mutable std::mutex m_mutex;
  std::vector<std::unique_ptr<Slot>> m_slots;  ///< the last used first
  std::int64_t m_factorizations = 0;
};

/// Systems without a solution, in the words of an exception.
class SingularSystems : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace lutra::Python

#endif
