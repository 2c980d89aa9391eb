// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ANYBATCHSOLVER_HPP
#define LUTRA_ANYBATCHSOLVER_HPP

#include <optional>
#include <string>
#include <vector>

#include "Lutra_AnySolver.hpp"

namespace lutra::C {

/// Values of a batch: entry p of system k is at p·entry + k·system.
struct BatchValues {
  std::int64_t systems;
  const void* values;
  std::int64_t entry, system;
  const unsigned char* mask;  ///< [systems] or null
};

/// Right-hand sides and solutions of a batch.
struct BatchColumns {
  std::int64_t count;
  const void* B;
  const lutra_strides* B_strides;
  void* X;
  const lutra_strides* X_strides;
};

/// AnySolver for batches. The functions for one system throw.
class AnyBatchSolver : public AnySolver {
 public:
  virtual void factorize_batch(const BatchValues& values) = 0;
  virtual void solve_batch(Transposition op, const BatchColumns& columns) = 0;
  virtual void apply_batch(Transposition op, const BatchColumns& columns) = 0;
  /// Lists of lutra_get_integers and lutra_get_numbers. @throws InputError for unknown keys
  virtual std::vector<std::int64_t> integers(const std::string& key) const = 0;
  virtual std::vector<double> numbers(const std::string& key) const = 0;

  void factorize(const lutra_matrix&) override { refuse("lutra_factorize", "lutra_batch_factorize"); }
  void factorize_shifted(const lutra_matrix&, const void*) override {
    refuse("lutra_factorize_shifted", "lutra_batch_factorize");
  }
  void solve(int, const Columns&) override { refuse("lutra_solve", "lutra_batch_solve"); }
  void apply(Transposition, const Columns&) override { refuse("lutra_apply", "lutra_batch_apply"); }
  void solve_parts(int, Transposition, const Columns&) override {
    refuse("lutra_solve_parts", "lutra_batch_solve");
  }
  double determinant(void*) const override {
    throw InputError("lutra_determinant: the solver is that of a batch");
  }
  bool increase_quality() override {
    throw InputError("lutra_increase_quality: the solver is that of a batch");
  }
  std::optional<MemoryForecast> forecast(std::int64_t) const override { return std::nullopt; }

 private:
  [[noreturn]] static void refuse(const std::string& function, const char* other) {
    throw InputError(function + ": the solver is that of a batch; use " + other);
  }
};

}  // namespace lutra::C

#endif
