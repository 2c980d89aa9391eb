// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_BATCHCASES_HPP
#define LUTRA_BATCHCASES_HPP

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "Lutra_Batch.hpp"
#include "Lutra_TestSystems.hpp"
#include "Lutra_TestTypes.hpp"

namespace lutra::Test {

using Long = std::complex<long double>;

template <class Scalar>
Long to_long(const Scalar& value) {
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    return {value.real(), value.imag()};
  } else {
    return {value, 0};
  }
}

/// How systems lie in memory.
enum class Storage { interleaved, one_after_other, strided };

/// [rows × columns × K] on the host, and as a View of the execution space with given strides.
template <class Types>
struct BatchArray {
  using Scalar = typename Types::Scalar;
  using Memory = typename Types::Memory;
  using View = Kokkos::View<Scalar***, Kokkos::LayoutStride, Memory>;
  using Matrix = Kokkos::View<Scalar**, Kokkos::LayoutStride, Memory>;

  BatchArray(std::size_t rows, std::size_t columns, std::size_t systems, Storage storage)
      : extents{rows, columns, systems} {
    if (storage == Storage::interleaved) strides = {columns * systems, systems, 1};
    if (storage == Storage::one_after_other) strides = {1, rows, rows * columns};
    if (storage == Storage::strided) strides = {2 * systems + 1, (2 * systems + 1) * rows, 2};
    std::size_t size = 1;
    for (std::size_t d = 0; d < 3; ++d) size += (std::max<std::size_t>(extents[d], 1) - 1) * strides[d];
    host.assign(size, Scalar(0));
    memory = Kokkos::View<Scalar*, Memory>("batch", size);
  }
  Scalar& operator()(std::size_t i, std::size_t c, std::size_t k) {
    return host[i * strides[0] + c * strides[1] + k * strides[2]];
  }
  const Scalar& operator()(std::size_t i, std::size_t c, std::size_t k) const {
    return host[i * strides[0] + c * strides[1] + k * strides[2]];
  }
  void to_device() {
    Kokkos::deep_copy(memory, Kokkos::View<Scalar*, Kokkos::HostSpace>(host.data(), host.size()));
  }
  void to_host() {
    Kokkos::deep_copy(Kokkos::View<Scalar*, Kokkos::HostSpace>(host.data(), host.size()), memory);
  }
  View view() const {
    return View(memory.data(),
                Kokkos::LayoutStride(extents[0], strides[0], extents[1], strides[1], extents[2], strides[2]));
  }
  /// [rows × K], for values.
  Matrix matrix() const {
    return Matrix(memory.data(), Kokkos::LayoutStride(extents[0], strides[0], extents[2], strides[2]));
  }

  std::array<std::size_t, 3> extents, strides;
  std::vector<Scalar> host;
  Kokkos::View<Scalar*, Memory> memory;
};

template <class Types>
HostMatrix<typename Types::Scalar> with_values(const HostMatrix<typename Types::Scalar>& pattern,
                                               const BatchArray<Types>& values, std::size_t k) {
  auto matrix = pattern;
  for (std::size_t p = 0; p < matrix.values.size(); ++p) matrix.values[p] = values(p, 0, k);
  return matrix;
}

/// Copies a host matrix to the memory of the execution space.
template <class Types>
CsrView<typename Types::Scalar, Ordinal, Offset, typename Types::Memory> on_device(
    const HostMatrix<typename Types::Scalar>& A) {
  const auto copy = [](const auto& from) {
    using T = typename std::decay_t<decltype(from)>::value_type;
    Kokkos::View<T*, typename Types::Memory> to("copy", from.size());
    Kokkos::deep_copy(to, Kokkos::View<const T*, Kokkos::HostSpace>(from.data(), from.size()));
    return to;
  };
  return {A.n_rows, A.n_cols, copy(A.row_map), copy(A.entries), copy(A.values)};
}

/// maxᵢ |b − op(A)·x|ᵢ / (|op(A)||x| + |b|)ᵢ in long double.
template <class Types>
double error_of(const HostMatrix<typename Types::Scalar>& A, const BatchArray<Types>& B,
                const BatchArray<Types>& X, std::size_t c, std::size_t k,
                Transposition op = Transposition::none) {
  const auto n = static_cast<std::size_t>(A.n_rows);
  std::vector<Long> rest(n);
  std::vector<long double> size(n);
  for (std::size_t i = 0; i < n; ++i) {
    rest[i] = to_long(B(i, c, k));
    size[i] = std::abs(rest[i]);
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (auto p = static_cast<std::size_t>(A.row_map[i]); p < static_cast<std::size_t>(A.row_map[i + 1]);
         ++p) {
      const auto j = static_cast<std::size_t>(A.entries[p]);
      const bool plain = op == Transposition::none;
      const Long a = op == Transposition::adjoint ? std::conj(to_long(A.values[p])) : to_long(A.values[p]);
      const Long x = to_long(X(plain ? j : i, c, k));
      rest[plain ? i : j] -= a * x;
      size[plain ? i : j] += std::abs(a) * std::abs(x);
    }
  }
  long double worst = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const long double r = std::abs(rest[i]);
    const long double ratio = r == 0 ? 0 : r / size[i];
    worst = std::isfinite(ratio) ? std::max(worst, ratio) : std::numeric_limits<long double>::infinity();
  }
  return static_cast<double>(worst);
}

template <class Scalar>
double tolerance_of() {
  return sizeof(RealOf<Scalar>) == 8 ? 1e-12 : 1e-5;
}

/// Values that differ from those of the pattern by up to a factor of 2.
template <class Types>
BatchArray<Types> perturbed_values(const HostMatrix<typename Types::Scalar>& pattern, std::size_t systems,
                                   Storage storage, unsigned seed = 1) {
  BatchArray<Types> values(pattern.values.size(), 1, systems, storage);
  for (std::size_t k = 0; k < systems; ++k) {
    std::mt19937 random(seed + 1000 * static_cast<unsigned>(k));  // a system is the same for any K
    std::uniform_real_distribution<double> factor(0.7, 1.4);
    for (std::size_t p = 0; p < pattern.values.size(); ++p)
      values(p, 0, k) = pattern.values[p] * as_scalar<typename Types::Scalar>(factor(random));
  }
  values.to_device();
  return values;
}

template <class Types>
BatchArray<Types> random_block(std::size_t rows, std::size_t columns, std::size_t systems, Storage storage) {
  BatchArray<Types> block(rows, columns, systems, storage);
  for (std::size_t k = 0; k < systems; ++k) {
    std::mt19937 random(7 + static_cast<unsigned>(k));
    for (std::size_t c = 0; c < columns; ++c)
      for (std::size_t i = 0; i < rows; ++i) block(i, c, k) = random_value<typename Types::Scalar>(random, 2);
  }
  block.to_device();
  return block;
}

template <class Scalar>
bool same_bits(const Scalar& a, const Scalar& b) {
  return std::memcmp(&a, &b, sizeof(Scalar)) == 0;
}

}  // namespace lutra::Test

#endif
