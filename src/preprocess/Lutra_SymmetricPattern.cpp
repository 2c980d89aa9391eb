// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_SymmetricPattern.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "Lutra_Error.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_Upload.hpp"

namespace lutra {
namespace {

/// Host arrays of a SymmetricPattern.
struct HostPattern {
  std::vector<Offset> row_map, source, diagonal, opposite;
  std::vector<Ordinal> entries;
};

/// Calls entry(i, j, p) for the entries of a triangle by rows, and for absent diagonal entries with p =
/// nnz(A).
template <class Entry>
void for_triangle(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& A, bool lower, const Entry& entry) {
  for (Ordinal i = 0; i < A.n_rows; ++i) {
    const Ordinal* const begin = A.entries.data() + A.row_map(i);
    const Ordinal* const end = A.entries.data() + A.row_map(i + 1);
    const Ordinal* const middle = std::lower_bound(begin, end, i);  // the diagonal entry, or the first one
                                                                    // after it
    const bool has_diagonal = middle != end && *middle == i;
    if (lower)
      for (const Ordinal* j = begin; j != middle; ++j)
        entry(i, *j, static_cast<Offset>(j - A.entries.data()));
    entry(i, i, has_diagonal ? static_cast<Offset>(middle - A.entries.data()) : A.nnz());
    if (!lower)
      for (const Ordinal* j = middle + has_diagonal; j != end; ++j)
        entry(i, *j, static_cast<Offset>(j - A.entries.data()));
  }
}

/// Rows of S are ascending: mirror images reach row j in ascending order of their rows i, and follow its own
/// entries if those are the lower ones, or precede them if those are the upper ones.
HostPattern fill(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& A, bool lower) {
  const auto n = static_cast<std::size_t>(A.n_rows);
  HostPattern S;
  S.row_map.assign(n + 1, 0);
  for_triangle(A, lower, [&](Ordinal i, Ordinal j, Offset) {
    ++S.row_map[static_cast<std::size_t>(i) + 1];
    if (i != j) ++S.row_map[static_cast<std::size_t>(j) + 1];
  });
  for (std::size_t i = 0; i < n; ++i) S.row_map[i + 1] += S.row_map[i];
  S.entries.resize(static_cast<std::size_t>(S.row_map[n]));
  S.source.resize(S.entries.size());
  auto end = S.row_map;  // end of the filled part of each row
  const auto push = [&](Ordinal i, Ordinal j, Offset source) {
    const auto q = static_cast<std::size_t>(end[static_cast<std::size_t>(i)]++);
    S.entries[q] = j;
    S.source[q] = source;
  };
  for_triangle(A, lower, [&](Ordinal i, Ordinal j, Offset p) {
    if (i == j) S.diagonal.push_back(end[static_cast<std::size_t>(i)]);
    push(i, j, p);
    if (i != j) push(j, i, -1 - p);
  });
  return S;
}

/// Position of the entry (j, i) for each entry (i, j), by one advancing pointer per row.
std::vector<Offset> opposites(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& A) {
  std::vector<Offset> next(A.row_map.data(), A.row_map.data() + A.n_rows), result(A.entries.extent(0), -1);
  for (Ordinal i = 0; i < A.n_rows; ++i) {
    for (Offset p = A.row_map(i); p < A.row_map(i + 1); ++p) {
      const Ordinal j = A.entries(p);
      Offset& q = next[static_cast<std::size_t>(j)];
      while (q < A.row_map(j + 1) && A.entries(q) < i) ++q;
      if (q < A.row_map(j + 1) && A.entries(q) == i) result[static_cast<std::size_t>(p)] = q;
    }
  }
  return result;
}

/// @throws InputError if only the triangle that is not read has entries
void check_triangle(const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& A, Triangle triangle) {
  if (triangle == Triangle::both) return;
  const bool lower = triangle == Triangle::lower;
  Ordinal row = -1, column = -1;  // of the first entry that is not read
  for (Ordinal i = 0; i < A.n_rows; ++i) {
    for (Offset p = A.row_map(i); p < A.row_map(i + 1); ++p) {
      const Ordinal j = A.entries(p);
      if (i == j) continue;
      if ((j < i) == lower) return;
      if (row < 0) row = i, column = j;
    }
  }
  if (row < 0) return;
  const std::string read = lower ? "lower" : "upper", other = lower ? "upper" : "lower";
  throw InputError("triangle: the " + read +
                   " triangle is to be read, but all entries beside the diagonal, " + "row " +
                   std::to_string(row) + ", column " + std::to_string(column) +
                   " (counted from 0) first, are in the " + other + " one; set triangle to " + other);
}

template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION Scalar mirrored(const Scalar& value, Symmetry symmetry) {
  return symmetry == Symmetry::hermitian ? ScalarTraits<Scalar>::conjugate(value) : value;
}

template <class Real>
KOKKOS_FORCEINLINE_FUNCTION Real real_part(const Real& value) {
  return value;
}
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION Kokkos::complex<Real> real_part(const Kokkos::complex<Real>& value) {
  return value.real();
}

}  // namespace

template <class ExecutionSpace>
SymmetricPattern<typename ExecutionSpace::memory_space> fill_triangles(
    const ExecutionSpace& exec, const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>& A, Triangle triangle,
    const MemoryBudget& budget) {
  check_triangle(A, triangle);
  const auto host = fill(A, triangle != Triangle::upper);
  SymmetricPattern<typename ExecutionSpace::memory_space> S;
  S.reservation = MemoryReservation(budget);
  const auto copy = [&](const char* label, const auto& array) {
    return Impl::upload(exec, S.reservation, label, array);
  };
  S.pattern = {A.n_rows, A.n_cols, copy("lutra::preprocess::S_row_map", host.row_map),
               copy("lutra::preprocess::S_entries", host.entries)};
  S.source = copy("lutra::preprocess::S_source", host.source);
  S.diagonal = copy("lutra::preprocess::S_diagonal", host.diagonal);
  if (triangle == Triangle::both) S.opposite = copy("lutra::preprocess::A_opposite", opposites(A));
  return S;
}

namespace {

/// @throws InputError naming the first row whose diagonal entry is not real up to rounding
template <class Scalar, class ExecutionSpace>
void check_real_diagonal(const ExecutionSpace& exec,
                         const CsrView<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& A,
                         const SymmetricPattern<typename ExecutionSpace::memory_space>& S) {
  const auto diagonal = S.diagonal, source = S.source;
  const auto values = A.values;
  const auto nnz = static_cast<Offset>(values.extent(0));
  const auto n = static_cast<std::int64_t>(diagonal.extent(0));
  std::int64_t first = n;
  Kokkos::parallel_reduce(
      "lutra::preprocess::check_real_diagonal", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, n),
      KOKKOS_LAMBDA(const std::int64_t i, std::int64_t& own) {
        const Offset p = source(diagonal(i));
        if (p == nnz) return;
        const Scalar value = values(p);
        const auto twice = ScalarTraits<Scalar>::magnitude(value - ScalarTraits<Scalar>::conjugate(value));
        if (!(twice <= 8 * epsilon_of<Scalar> * ScalarTraits<Scalar>::magnitude(value)) && i < own) own = i;
      },
      Kokkos::Min<std::int64_t>(first));
  exec.fence("lutra::preprocess: whether the diagonal is real is known");
  if (first < n)
    throw InputError("matrix: it is not Hermitian: the diagonal entry of row " + std::to_string(first) +
                     " (counted from 0) has an imaginary part");
}

}  // namespace

template <class Scalar, class ExecutionSpace>
void check_symmetry(const ExecutionSpace& exec,
                    const CsrView<Scalar, Ordinal, Offset, typename ExecutionSpace::memory_space>& A,
                    const SymmetricPattern<typename ExecutionSpace::memory_space>& S, Symmetry symmetry) {
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    if (symmetry == Symmetry::hermitian) check_real_diagonal(exec, A, S);
  }
  const auto nnz = static_cast<std::int64_t>(S.opposite.extent(0));
  if (nnz == 0) return;
  const auto opposite = S.opposite;
  const auto values = A.values;
  std::int64_t first = nnz;
  Kokkos::parallel_reduce(
      "lutra::preprocess::check_symmetry", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, nnz),
      KOKKOS_LAMBDA(const std::int64_t p, std::int64_t& own) {
        const Scalar value = values(p);
        const Scalar other = opposite(p) < 0 ? Scalar(0) : mirrored(values(opposite(p)), symmetry);
        const auto tolerance = 8 * epsilon_of<Scalar> * ScalarTraits<Scalar>::magnitude(value);
        if (!(ScalarTraits<Scalar>::magnitude(value - other) <= tolerance) && p < own) own = p;
      },
      Kokkos::Min<std::int64_t>(first));
  exec.fence("lutra::preprocess: whether the matrix is symmetric is known");
  if (first >= nnz) return;
  const auto row_map = Impl::to_host(exec, A.row_map);
  const auto column = Impl::to_host(exec, Kokkos::subview(A.entries, Kokkos::make_pair(first, first + 1)));
  std::int64_t row = 0;
  while (row_map[static_cast<std::size_t>(row) + 1] <= first) ++row;
  throw InputError(std::string("matrix: it is not ") +
                   (symmetry == Symmetry::hermitian ? "Hermitian" : "symmetric") + ": row " +
                   std::to_string(row) + ", column " + std::to_string(column[0]) +
                   " (counted from 0) differs from its mirror image");
}

template <class Scalar, class ExecutionSpace>
void gather_triangles(
    const ExecutionSpace& exec, const SymmetricPattern<typename ExecutionSpace::memory_space>& S,
    Symmetry symmetry, const Kokkos::View<const Scalar*, typename ExecutionSpace::memory_space>& from,
    const Kokkos::View<Scalar*, typename ExecutionSpace::memory_space>& to,
    const Kokkos::View<const RealOf<Scalar>*, typename ExecutionSpace::memory_space>& shift) {
  const auto source = S.source;
  const auto nnz = static_cast<Offset>(from.extent(0));
  Kokkos::parallel_for(
      "lutra::preprocess::gather_triangles",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(to.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t q) {
        const Offset p = source(q);
        to(q) = p == nnz ? Scalar(0) : p >= 0 ? from(p) : mirrored(from(-1 - p), symmetry);
      });
  if (!ScalarTraits<Scalar>::is_complex && shift.extent(0) == 0) return;
  const auto diagonal = S.diagonal;
  Kokkos::parallel_for(
      "lutra::preprocess::gather_diagonal",
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, static_cast<std::int64_t>(diagonal.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) {
        Scalar& value = to(diagonal(i));
        if (symmetry == Symmetry::hermitian) value = real_part(value);
        if (shift.extent(0) > 0) value += shift(i);
      });
}

#define LUTRA_FILL_TRIANGLES(Space)                                       \
  template SymmetricPattern<typename Space::memory_space> fill_triangles( \
      const Space&, const CsrPattern<Ordinal, Offset, Kokkos::HostSpace>&, Triangle, const MemoryBudget&);
LUTRA_FOR_EACH_SPACE(LUTRA_FILL_TRIANGLES)

#define LUTRA_SYMMETRIC_VALUES(Scalar, Space)                                                         \
  template void check_symmetry(const Space&,                                                          \
                               const CsrView<Scalar, Ordinal, Offset, typename Space::memory_space>&, \
                               const SymmetricPattern<typename Space::memory_space>&, Symmetry);      \
  template void gather_triangles<Scalar>(                                                             \
      const Space&, const SymmetricPattern<typename Space::memory_space>&, Symmetry,                  \
      const Kokkos::View<const Scalar*, typename Space::memory_space>&,                               \
      const Kokkos::View<Scalar*, typename Space::memory_space>&,                                     \
      const Kokkos::View<const RealOf<Scalar>*, typename Space::memory_space>&);
LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_SYMMETRIC_VALUES)

}  // namespace lutra
