// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <array>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cstdlib>
#include <map>
#include <type_traits>

#include "Lutra_BatchCases.hpp"
#include "Lutra_Reference_Singular.hpp"

// Batches that are out to get a false success: most systems of a batch are broken in one of several ways.
// Batch b is the same in every run; the first hundred are tested always, ten thousand by scripts/hostile.sh.

namespace lutra::Test {
namespace {

constexpr std::size_t K = 11, n_rhs = 2;

template <class Scalar>
struct Hostile {
  std::mt19937 random;

  double unit() { return std::uniform_real_distribution<double>(0, 1)(random); }
  std::size_t below(std::size_t n) { return random() % n; }

  /// Breaks one system.
  void spoil(const HostMatrix<Scalar>& pattern, const auto& value) {
    const auto n = static_cast<std::size_t>(pattern.n_rows);
    const auto for_row = [&](std::size_t i, const auto& visit) {
      for (auto p = static_cast<std::size_t>(pattern.row_map[i]);
           p < static_cast<std::size_t>(pattern.row_map[i + 1]); ++p)
        visit(p);
    };
    const std::size_t nnz = pattern.values.size(), kind = below(8);
    const int most = sizeof(RealOf<Scalar>) == 8 ? 300 : 30;
    switch (kind) {
      case 0:  // stored zeros
        for (std::size_t p = 0; p < nnz; ++p)
          if (unit() < 0.25) value(p) = Scalar(0);
        break;
      case 1:  // scaled rows
        for (std::size_t i = 0; i < n; ++i) {
          const double factor =
              std::ldexp(1.0, static_cast<int>(below(static_cast<std::size_t>(2 * most))) - most);
          if (unit() < 0.3) for_row(i, [&](std::size_t p) { value(p) *= as_scalar<Scalar>(factor); });
        }
        break;
      case 2: {  // two rows alike where their patterns agree
        const std::size_t i = below(n), j = below(n);
        for_row(i, [&](std::size_t p) {
          Scalar other(0);
          for_row(j, [&](std::size_t q) {
            if (pattern.entries[q] == pattern.entries[p]) other = value(q);
          });
          value(p) = other;
        });
        break;
      }
      case 3:  // magnitudes permuted among entries
        for (std::size_t p = 0; p < nnz; ++p) std::swap(value(p), value(below(nnz)));
        break;
      case 4:  // wide range
        for (std::size_t p = 0; p < nnz; ++p) value(p) = random_value<Scalar>(random, 24);
        break;
      case 5: {  // nearly dependent rows
        const std::size_t i = below(n), j = below(n);
        for_row(i, [&](std::size_t p) {
          for_row(j, [&](std::size_t q) {
            if (pattern.entries[q] == pattern.entries[p])
              value(p) = value(q) * as_scalar<Scalar>(1 + 1e-14 * unit());
          });
        });
        break;
      }
      case 6: {  // an empty row or column
        const std::size_t i = below(n);
        for (std::size_t p = 0; p < nnz; ++p)
          if (static_cast<std::size_t>(pattern.entries[p]) == i) value(p) = Scalar(0);
        break;
      }
      default:
        break;
    }
  }
};

/// Whether a real matrix is singular to the last bit.
template <class Scalar>
bool is_known_singular(const HostMatrix<Scalar>& A) {
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    return false;
  } else {
    return Reference::is_exactly_singular(A);
  }
}

/// B = A·x of one system for small integers x, so that also singular systems have a small solution; unless an
/// element overflows.
template <class Types>
void make_consistent(const HostMatrix<typename Types::Scalar>& A, BatchArray<Types>& B, std::size_t k,
                     std::mt19937& random) {
  using Scalar = typename Types::Scalar;
  for (std::size_t c = 0; c < B.extents[1]; ++c) {
    std::vector<Scalar> x, b;
    for (int j = 0; j < A.n_rows; ++j)
      x.push_back(as_scalar<Scalar>(1.0 + static_cast<double>(random() % 5)));
    for (std::size_t i = 0; i < x.size(); ++i) {
      Scalar sum(0);
      for (auto p = static_cast<std::size_t>(A.row_map[i]); p < static_cast<std::size_t>(A.row_map[i + 1]);
           ++p)
        sum += A.values[p] * x[static_cast<std::size_t>(A.entries[p])];
      b.push_back(sum);
    }
    if (!std::ranges::all_of(b, [](const Scalar& value) { return ScalarTraits<Scalar>::is_finite(value); }))
      return;
    for (std::size_t i = 0; i < x.size(); ++i) B(i, c, k) = b[i];
  }
}

/// A symmetric pattern with random values in its lower triangle, often without diagonal entries.
template <class Scalar>
HostMatrix<Scalar> symmetric_pattern(int n, double mean, std::mt19937& random) {
  auto matrix = add_mirror(permuted_matrix<HostMatrix<Scalar>>(n, mean, random));
  for (Scalar& value : matrix.values)
    value = random_value<Scalar>(random, 1) * as_scalar<Scalar>(random() % 3 == 0 ? 8.0 : 1.0);
  return matrix;
}

/// Makes the upper triangle of a matrix that of the lower one, and zero where either is.
template <class Scalar>
void mirror(const HostMatrix<Scalar>& pattern, bool hermitian, const auto& value) {
  const auto begin = [&](std::size_t i) { return static_cast<std::size_t>(pattern.row_map[i]); };
  for (std::size_t i = 0; i < static_cast<std::size_t>(pattern.n_rows); ++i)
    for (std::size_t p = begin(i); p < begin(i + 1); ++p) {
      const auto j = static_cast<std::size_t>(pattern.entries[p]);
      if (j > i) continue;
      if (i == j && hermitian) value(p) = as_scalar<Scalar>(static_cast<double>(to_long(value(p)).real()));
      std::size_t q = begin(j);
      while (static_cast<std::size_t>(pattern.entries[q]) != i) ++q;
      if (value(q) == Scalar(0)) value(p) = Scalar(0);
      if (i != j) value(q) = hermitian ? ScalarTraits<Scalar>::conjugate(value(p)) : value(p);
    }
}

/// Solves batches with the options. Systems that are not broken keep their bits, and no success is false.
template <class Types, class Options>
void check_batches(Options options) {
  using Scalar = typename Types::Scalar;
  constexpr bool is_symmetric = std::is_same_v<Options, LdltOptions>;
  const char* const given = std::getenv("LUTRA_HOSTILE_BATCHES");
  const int count = given != nullptr ? std::atoi(given) : 100;
  std::map<Status, int> mix;
  for (int b = 0; b < count; ++b) {
    CAPTURE(b);
    Hostile<Scalar> hostile{std::mt19937(static_cast<unsigned>(9000 + b))};
    const std::size_t n = 3 + hostile.below(22);
    const double mean = 1.0 + 3.0 * hostile.unit();
    bool hermitian = false;
    if constexpr (is_symmetric) {
      hermitian = b % 2 == 1;
      options.symmetry = hermitian ? Symmetry::hermitian : Symmetry::symmetric;
    }
    const auto repair = [&](const HostMatrix<Scalar>& pattern, const auto& value) {
      if (is_symmetric) mirror<Scalar>(pattern, hermitian, value);
    };
    auto pattern = is_symmetric
                       ? symmetric_pattern<Scalar>(static_cast<int>(n), mean, hostile.random)
                       : permuted_matrix<HostMatrix<Scalar>>(static_cast<int>(n), mean, hostile.random);
    repair(pattern, [&](std::size_t p) -> Scalar& { return pattern.values[p]; });
    Batched<Scalar, typename Types::Space, Options> batch(options);
    if (batch.analyze(on_device<Types>(pattern)) != Status::success) continue;
    auto values = perturbed_values<Types>(pattern, K, Storage::interleaved, static_cast<unsigned>(b));
    const auto of = [&](std::size_t k) {
      return [&values, k](std::size_t p) -> Scalar& { return values(p, 0, k); };
    };
    for (std::size_t k = 0; k < K; ++k) repair(pattern, of(k));
    values.to_device();
    auto B = random_block<Types>(n, n_rhs, K, Storage::interleaved);
    BatchArray<Types> good(n, n_rhs, K, Storage::interleaved), X(n, n_rhs, K, Storage::interleaved);
    (void)batch.factorize(values.matrix());
    batch.solve(B.view(), good.view());
    good.to_host();
    std::array<bool, K> is_spoilt{};
    for (std::size_t k = 0; k < K; ++k) {
      is_spoilt[k] = hostile.unit() < 0.6;
      if (is_spoilt[k]) hostile.spoil(pattern, of(k));
    }
    for (std::size_t k = 0; k < K; ++k) {  // overflow of the case itself is no input
      for (std::size_t p = 0; p < pattern.values.size(); ++p)
        if (!ScalarTraits<Scalar>::is_finite(values(p, 0, k))) values(p, 0, k) = Scalar(1);
      if (is_spoilt[k]) repair(pattern, of(k));
    }
    values.to_device();
    for (std::size_t k = 0; k < K; ++k)
      if (is_spoilt[k] && hostile.unit() < 0.5)
        make_consistent(with_values(pattern, values, k), B, k, hostile.random);
    B.to_device();
    (void)batch.factorize(values.matrix());
    batch.solve(B.view(), X.view());
    X.to_host();
    for (std::size_t k = 0; k < K; ++k) {
      CAPTURE(k);
      const Status status = batch.report().statuses[k];
      ++mix[status];
      if (!is_spoilt[k])
        for (std::size_t c = 0; c < n_rhs; ++c)
          for (std::size_t i = 0; i < n; ++i) REQUIRE(same_bits(X(i, c, k), good(i, c, k)));
      if (status != Status::success) continue;
      const auto A = with_values(pattern, values, k);
      const double slack = 20 * static_cast<double>(epsilon_of<Scalar>);
      for (std::size_t c = 0; c < n_rhs; ++c)
        REQUIRE(error_of(A, B, X, c, k) <= tolerance_of<Scalar>() + slack);
      REQUIRE_FALSE(is_known_singular(A));
    }
  }
  INFO("success " << mix[Status::success] << ", singular "
                  << mix[Status::numerically_singular] + mix[Status::structurally_singular]);
  CHECK(mix[Status::success] > count * static_cast<int>(K) / 3);
  CHECK(mix[Status::numerically_singular] + mix[Status::structurally_singular] > count / 4);
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("batch: no false success among hostile systems", "[batch][hostile]", AllTypes) {
  LuOptions options;
  options.engine = GENERATE(Engine::automatic, Engine::multifrontal);
  options.pivoting = options.engine == Engine::automatic
                         ? Pivoting::automatic
                         : GENERATE(Pivoting::static_perturbed, Pivoting::threshold);
  CAPTURE(static_cast<int>(options.engine), static_cast<int>(options.pivoting));
  check_batches<TestType>(options);
}

TEMPLATE_LIST_TEST_CASE("batch: no false success among hostile symmetric systems", "[batch][hostile]",
                        AllTypes) {
  LdltOptions options;
  options.engine = GENERATE(Engine::simplicial, Engine::multifrontal);
  CAPTURE(static_cast<int>(options.engine));
  check_batches<TestType>(options);
}

}  // namespace lutra::Test
