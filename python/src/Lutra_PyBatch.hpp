// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PYBATCH_HPP
#define LUTRA_PYBATCH_HPP

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "Lutra_Batch.hpp"
#include "Lutra_PySolver.hpp"

// Batches behind one interface without template parameters and Python.

namespace lutra::Python {

/// An array of the caller in the scalar type of the batch. Values have the extents [nnz × K], right-hand
/// sides and solutions [n × nrhs × K]. Strides count elements; extents that are not used are 1.
struct BatchArray {
  void* data = nullptr;
  std::array<std::size_t, 3> extents{1, 1, 1}, strides{1, 1, 1};
  bool on_device = false;
};

/// One batch of the library. It throws the exceptions of the library.
class Batch {
 public:
  virtual ~Batch() = default;
  /// Analyzes the pattern and one set of values that represents the others.
  virtual void analyze(const MatrixArrays& A) = 0;
  /// @param values [nnz × K × 1] If there are several chunks, they must remain as they are until the next
  /// call
  /// @param mask   [K] false: the system is skipped; empty: none is
  virtual Status factorize(const BatchArray& values, std::span<const bool> mask) = 0;
  virtual Status solve(const BatchArray& B, const BatchArray& X, Transposition op) = 0;
  virtual const BatchReport& report() const = 0;
  /// A batch without factors that shares the analysis. @throws InputError without an analysis
  virtual std::unique_ptr<Batch> sibling() const = 0;
};

/// @param method "lu", "ldlt" or "cholesky"
/// @throws as make_solver
std::unique_ptr<Batch> make_batch(const std::string& method, ScalarType scalar, OrdinalType ordinal,
                                  const Options& options);

}  // namespace lutra::Python

#endif
