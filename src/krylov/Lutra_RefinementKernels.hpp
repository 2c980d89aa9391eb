// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_REFINEMENTKERNELS_HPP
#define LUTRA_REFINEMENTKERNELS_HPP

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <type_traits>

#include "Lutra_AllFinite.hpp"
#include "Lutra_ForRange.hpp"
#include "Lutra_ScalarTraits.hpp"

// Small kernels on blocks of vectors. None waits.

namespace lutra::Impl {

template <class ExecutionSpace, class Rows>
Kokkos::RangePolicy<ExecutionSpace> all_rows(const ExecutionSpace& exec, const Rows& X) {
  return Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(X.extent(0)));
}

template <class Body>
struct ForColumns {
  Body body;
  int columns;
  KOKKOS_FUNCTION void operator()(const std::int64_t i) const {
    for (int c = 0; c < columns; ++c) body(i, c);
  }
};

/// A thread per entry; neighbours are in one row.
template <class Body>
struct ForEntries {
  Body body;
  std::int64_t columns;
  KOKKOS_FUNCTION void operator()(const std::int64_t t) const {
    body(t / columns, static_cast<int>(t % columns));
  }
};

/// Calls body(i, c) for the entries of X, one thread per row; on devices one per entry if there are many
/// columns.
template <class ExecutionSpace, class Rows, class Body>
void for_entries(const ExecutionSpace& exec, const char* label, const Rows& X, const Body& body) {
  if constexpr (!is_host_space<ExecutionSpace>) {
    constexpr std::size_t many = 16;
    const auto columns = static_cast<std::int64_t>(X.extent(1));
    if (X.extent(1) >= many) {
      using Policy = Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;
      return Kokkos::parallel_for(label, Policy(exec, 0, static_cast<std::int64_t>(X.extent(0)) * columns),
                                  ForEntries<Body>{body, columns});
    }
  }
  for_range(exec, label, static_cast<std::int64_t>(X.extent(0)),
            ForColumns<Body>{body, static_cast<int>(X.extent(1))});
}

/// X = 0, all columns. deep_copy would wait on hosts.
template <class ExecutionSpace, class Rows>
static void set_zero(const ExecutionSpace& exec, const Rows& X) {
  for_entries(
      exec, "lutra::krylov::set_zero", X,
      KOKKOS_LAMBDA(const std::int64_t i, const int c) { X(i, c) = typename Rows::value_type{}; });
}

/// Y += factor·X, all columns.
template <class ExecutionSpace, class Scalar, class Rows>
static void add_multiple(const ExecutionSpace& exec, const Scalar& factor, const Rows& X, const Rows& Y) {
  for_entries(
      exec, "lutra::krylov::add_multiple", X,
      KOKKOS_LAMBDA(const std::int64_t i, const int c) { Y(i, c) += factor * X(i, c); });
}

/// Y = X without entries that a correction, the difference to `before`, changed by at least `share` of them.
/// `before` and X may be Y.
template <class ExecutionSpace, class Rows>
void drop_rounding_errors(const ExecutionSpace& exec, const Rows& before, const Rows& X, const Rows& Y,
                          RealOf<typename Rows::value_type> share) {
  using Scalar = typename Rows::value_type;
  using Traits = ScalarTraits<Scalar>;
  for_entries(
      exec, "lutra::krylov::drop_rounding_errors", X, KOKKOS_LAMBDA(const std::int64_t i, const int c) {
        const Scalar x = X(i, c);
        const auto change = Traits::magnitude(x - before(i, c));
        Y(i, c) = change >= share * Traits::magnitude(x) && change > 0 ? Scalar(0) : x;
      });
}

/// Y = scale·X, all columns.
template <class ExecutionSpace, class Scale, class Rows>
void scale_rows(const ExecutionSpace& exec, const Scale& scale, const Rows& X, const Rows& Y) {
  for_entries(
      exec, "lutra::krylov::scale_rows", X,
      KOKKOS_LAMBDA(const std::int64_t i, const int c) { Y(i, c) = X(i, c) * scale(i); });
}

/// Y = X / scale, all columns.
template <class ExecutionSpace, class Scale, class Rows>
void unscale_rows(const ExecutionSpace& exec, const Scale& scale, const Rows& X, const Rows& Y) {
  for_entries(
      exec, "lutra::krylov::unscale_rows", X,
      KOKKOS_LAMBDA(const std::int64_t i, const int c) { Y(i, c) = X(i, c) / scale(i); });
}

template <class From, class To>
struct CopyEntry {
  From from;
  To to;
  KOKKOS_FUNCTION void operator()(const std::int64_t i, const int c) const { to(i, c) = from(i, c); }
};

/// Copies a block to a block of any layout.
template <class ExecutionSpace, class From, class To>
void copy_block(const ExecutionSpace& exec, const From& from, const To& to) {
  for_entries(exec, "lutra::krylov::copy_block", to, CopyEntry<From, To>{from, to});
}

/// Copies a column of one block to a column of another.
template <class ExecutionSpace, class From, class To>
static void copy_column(const ExecutionSpace& exec, const From& from, std::size_t from_column, const To& to,
                        std::size_t to_column) {
  for_range(
      exec, "lutra::krylov::copy_column", static_cast<std::int64_t>(to.extent(0)),
      KOKKOS_LAMBDA(const std::int64_t i) { to(i, to_column) = from(i, from_column); });
}

/// Copies column first + c of two blocks to two others, for each set bit c of `mask`.
template <class ExecutionSpace, class Rows>
void copy_masked_columns(const ExecutionSpace& exec, std::uint64_t mask, std::size_t first, std::size_t count,
                         const Rows& from_X, const Rows& to_X, const Rows& from_R, const Rows& to_R) {
  Kokkos::parallel_for(
      "lutra::krylov::keep_columns", all_rows(exec, to_X), KOKKOS_LAMBDA(const std::int64_t i) {
        for (std::size_t c = 0; c < count; ++c) {
          if ((mask >> c & 1) == 0) continue;
          to_X(i, first + c) = from_X(i, first + c);
          to_R(i, first + c) = from_R(i, first + c);
        }
      });
}

/// Copies a column that is contiguous on both sides. On one host thread only. @returns whether it did, and
/// whether all numbers are finite
template <class ExecutionSpace, class BView, class Rows>
bool copy_finite_column(const BView& B, std::size_t column, const Rows& to) {
  using Scalar = typename Rows::value_type;
  const std::size_t n = B.extent(0);
  if (!runs_plain_loops<ExecutionSpace>() || to.extent(1) != 1 || B.stride(0) != 1) return false;
  if constexpr (is_host_space<ExecutionSpace> &&
                std::is_same_v<typename BView::non_const_value_type, Scalar>) {
    const Scalar* const from = B.data() + column * B.stride(1);
    std::copy_n(from, n, to.data());
    constexpr std::size_t parts = sizeof(Scalar) / sizeof(RealOf<Scalar>);
    return all_finite(reinterpret_cast<const RealOf<Scalar>*>(from), parts * n);
  }
  return false;
}

/// Raises `slots(slot)` to n − i for the first row i of B that is not finite in columns [begin, end). Copies
/// columns [begin, begin + copied) to the first columns of `to` and zeroes the others. Only bad rows write to
/// the slot.
template <class ExecutionSpace, class BView, class Rows, class Slots>
void copy_and_check(const ExecutionSpace& exec, const BView& B, std::size_t begin, std::size_t copied,
                    std::size_t end, const Rows& to, const Slots& slots, std::size_t slot) {
  using Scalar = typename Rows::value_type;
  const auto n = static_cast<std::int64_t>(B.extent(0));
  const std::size_t columns = to.extent(1);
  if (end == begin + 1 && copied == 1 && copy_finite_column<ExecutionSpace>(B, begin, to)) return;
  for_range(
      exec, "lutra::krylov::copy_and_check", n, KOKKOS_LAMBDA(const std::int64_t i) {
        bool finite = true;
        for (std::size_t c = begin; c < end; ++c) finite = finite && ScalarTraits<Scalar>::is_finite(B(i, c));
        for (std::size_t c = 0; c < columns; ++c) to(i, c) = c < copied ? Scalar(B(i, begin + c)) : Scalar{};
        if (!finite) Kokkos::atomic_max(&slots(slot), static_cast<double>(n - i));
      });
}

}  // namespace lutra::Impl

#endif
