// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TESTTYPES_HPP
#define LUTRA_TESTTYPES_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <tuple>
#include <utility>

#include "Lutra_Config.hpp"

namespace lutra::Test {

/// Every scalar type of this build.
using Scalars = decltype(std::tuple_cat(
#ifdef LUTRA_HAS_F32
    std::declval<std::tuple<float>>(),
#endif
#ifdef LUTRA_HAS_F64
    std::declval<std::tuple<double>>(),
#endif
#ifdef LUTRA_HAS_C64
    std::declval<std::tuple<Kokkos::complex<float>>>(),
#endif
#ifdef LUTRA_HAS_C128
    std::declval<std::tuple<Kokkos::complex<double>>>(),
#endif
    std::declval<std::tuple<>>()));

/// The index type within the library.
using Ordinals = std::tuple<int>;

/// Every execution space of this build.
using Spaces = decltype(std::tuple_cat(
#ifdef LUTRA_HAS_OPENMP
    std::declval<std::tuple<Kokkos::OpenMP>>(),
#endif
#ifdef LUTRA_HAS_CUDA
    std::declval<std::tuple<Kokkos::Cuda>>(),
#endif
#ifdef LUTRA_HAS_HIP
    std::declval<std::tuple<Kokkos::HIP>>(),
#endif
#ifdef LUTRA_HAS_SERIAL
    std::declval<std::tuple<Kokkos::Serial>>()
#else
    std::declval<std::tuple<>>()
#endif
        ));

/// One combination of the template arguments of a stage. Tests of host code keep the default space.
template <class ScalarType, class OrdinalType, class SpaceType = Kokkos::DefaultHostExecutionSpace>
struct Types {
  using Scalar = ScalarType;
  using Ordinal = OrdinalType;
  using Offset = std::int64_t;
  using Space = SpaceType;
  using Memory = typename SpaceType::memory_space;
};

namespace Impl {
template <class Scalar, class Ordinal, class... Space>
std::tuple<Types<Scalar, Ordinal, Space>...> with_spaces(std::tuple<Space...>*);
template <class Scalar, class... Ordinal>
auto with_ordinals(std::tuple<Ordinal...>*)
    -> decltype(std::tuple_cat(with_spaces<Scalar, Ordinal>(static_cast<Spaces*>(nullptr))...));
template <class... Scalar>
auto with_scalars(std::tuple<Scalar...>*)
    -> decltype(std::tuple_cat(with_ordinals<Scalar>(static_cast<Ordinals*>(nullptr))...));
template <class Scalar, class... Ordinal>
std::tuple<Types<Scalar, Ordinal>...> on_host(std::tuple<Ordinal...>*);
template <class... Scalar>
auto host_scalars(std::tuple<Scalar...>*)
    -> decltype(std::tuple_cat(on_host<Scalar>(static_cast<Ordinals*>(nullptr))...));
}  // namespace Impl

/// Scalar × ordinal × execution space: for TEMPLATE_LIST_TEST_CASE.
using AllTypes = decltype(Impl::with_scalars(static_cast<Scalars*>(nullptr)));
/// Scalar × ordinal, on the host.
using HostTypes = decltype(Impl::host_scalars(static_cast<Scalars*>(nullptr)));
/// Ordinal × execution space (the scalar is double): for stages that work on patterns.
using PatternTypes = decltype(Impl::with_ordinals<double>(static_cast<Ordinals*>(nullptr)));

}  // namespace lutra::Test

#endif
