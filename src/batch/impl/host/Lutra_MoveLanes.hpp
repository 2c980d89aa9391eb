// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_MOVELANES_HPP
#define LUTRA_MOVELANES_HPP

#include <algorithm>
#include <cstddef>

#include "Lutra_AllFinite.hpp"
#include "Lutra_LaneLists.hpp"
#include "Lutra_ScalarTraits.hpp"

namespace lutra::Impl {

/// Numbers of the systems of one group in a caller's array: entry e of lane l is at data[e·stride + lane[l]].
template <class Element>
struct LaneArray {
  using Scalar = std::remove_const_t<Element>;
  using Real = RealOf<Scalar>;
  static constexpr std::size_t lanes = host_lanes<Real>;
  static constexpr std::size_t parts = ScalarTraits<Scalar>::is_complex ? 2 : 1;

  Element* data;
  std::size_t stride;
  std::size_t lane[lanes];

  /// Whether the lanes are neighbours.
  bool is_interleaved() const {
    for (std::size_t l = 1; l < lanes; ++l)
      if (lane[l] != lane[0] + l) return false;
    return true;
  }
  /// Calls move(entry, lane, number) for all entries and the lanes that are used, in an order that suits the
  /// memory: lanes first if they are neighbours, otherwise pieces of entries that stay in L1.
  template <class Used, class Move>
  void for_numbers(std::size_t entries, const Used& used, const Move& move) const {
    constexpr std::size_t piece = 64;
    const bool interleaved = is_interleaved();
    for (std::size_t first = 0; first < entries; first += piece) {
      const std::size_t end = std::min(entries, first + piece);
      if (interleaved) {
        for (std::size_t e = first; e < end; ++e)
          for (std::size_t l = 0; l < lanes; ++l)
            if (used(l)) move(e, l, data[e * stride + lane[l]]);
      } else {
        for (std::size_t l = 0; l < lanes; ++l) {
          if (!used(l)) continue;
          Element* const from = data + lane[l];
          for (std::size_t e = first; e < end; ++e) move(e, l, from[e * stride]);
        }
      }
    }
  }
  /// Copies entries to lanes. Lanes that are not used are left as they are.
  template <class Used>
  void read(std::size_t entries, const Used& used, Real* to) const {
    for_numbers(entries, used, [&](std::size_t e, std::size_t l, const Scalar& value) {
      Real* const at = to + e * lanes * parts + l;
      if constexpr (parts == 2) {
        at[0] = value.real();
        at[lanes] = value.imag();
      } else {
        *at = value;
      }
    });
  }
  template <class Used>
  void write(std::size_t entries, const Used& used, const Real* from) const {
    for_numbers(entries, used, [&](std::size_t e, std::size_t l, Scalar& value) {
      const Real* const at = from + e * lanes * parts + l;
      if constexpr (parts == 2) {
        value = Scalar(at[0], at[lanes]);
      } else {
        value = *at;
      }
    });
  }
};

/// Whether a View of any rank has only finite numbers, those of systems that are masked included.
template <class View>
bool has_only_finite(const View& view) {
  using Scalar = typename View::non_const_value_type;
  constexpr std::size_t parts = ScalarTraits<Scalar>::is_complex ? 2 : 1;
  constexpr std::size_t rank = View::rank();
  std::size_t inner = rank;  // the longest dimension whose numbers are neighbours
  for (std::size_t d = 0; d < rank; ++d)
    if (view.stride(d) == 1 && (inner == rank || view.extent(d) > view.extent(inner))) inner = d;
  if (inner == rank) return false;  // unknown
  const std::size_t outer = inner == 0 ? rank - 1 : 0;
  const std::size_t middle = rank == 2 ? rank : 3 - inner - outer;
  const std::size_t middle_extent = middle == rank ? 1 : view.extent(middle);
  for (std::size_t o = 0; o < view.extent(outer); ++o)
    for (std::size_t m = 0; m < middle_extent; ++m) {
      const Scalar* const first =
          view.data() + o * view.stride(outer) + (middle == rank ? 0 : m * view.stride(middle));
      if (!all_finite(reinterpret_cast<const RealOf<Scalar>*>(first), parts * view.extent(inner)))
        return false;
    }
  return true;
}

}  // namespace lutra::Impl

#endif
