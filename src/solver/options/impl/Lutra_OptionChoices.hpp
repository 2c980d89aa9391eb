// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_OPTIONCHOICES_HPP
#define LUTRA_OPTIONCHOICES_HPP

#include <array>
#include <string_view>
#include <utility>

#include "Lutra_KrylovSolverOptions.hpp"
#include "Lutra_LdltOptions.hpp"
#include "Lutra_LuOptions.hpp"
#include "Lutra_SolverOptions.hpp"
#include "Lutra_SparseIluOptions.hpp"

// The words for what options choose from: one table for the command line and for options by name.

namespace lutra::Impl {

template <class Choice, std::size_t count>
using Choices = std::array<std::pair<std::string_view, Choice>, count>;

/// The values of each choice with their names. Ordering::user comes with a permutation, and by no name.
template <class Choice>
constexpr Choices<Choice, 0> choices_of{};
template <>
constexpr Choices<Ordering, 6> choices_of<Ordering> = {{{"auto", Ordering::automatic},
                                                        {"metis", Ordering::metis},
                                                        {"nd", Ordering::nd},
                                                        {"amd", Ordering::amd},
                                                        {"rcm", Ordering::rcm},
                                                        {"natural", Ordering::natural}}};
template <>
constexpr Choices<Method, 5> choices_of<Method> = {{{"auto", Method::automatic},
                                                    {"lu", Method::lu},
                                                    {"ldlt", Method::ldlt},
                                                    {"cholesky", Method::cholesky},
                                                    {"krylov", Method::krylov}}};
template <>
constexpr Choices<Matching, 4> choices_of<Matching> = {{{"auto", Matching::automatic},
                                                        {"none", Matching::none},
                                                        {"auction", Matching::auction},
                                                        {"exact", Matching::exact}}};
template <>
constexpr Choices<Engine, 3> choices_of<Engine> = {{{"auto", Engine::automatic},
                                                    {"multifrontal", Engine::multifrontal},
                                                    {"simplicial", Engine::simplicial}}};
template <>
constexpr Choices<TrisolveMethod, 4> choices_of<TrisolveMethod> = {
    {{"auto", TrisolveMethod::automatic},
     {"levels", TrisolveMethod::levels},
     {"syncfree", TrisolveMethod::syncfree},
     {"supernodal", TrisolveMethod::supernodal}}};
template <>
constexpr Choices<FactorPrecision, 2> choices_of<FactorPrecision> = {
    {{"working", FactorPrecision::working}, {"single", FactorPrecision::single}}};
template <>
constexpr Choices<SymbolicMethod, 5> choices_of<SymbolicMethod> = {{{"auto", SymbolicMethod::automatic},
                                                                    {"etree", SymbolicMethod::etree},
                                                                    {"ancestors", SymbolicMethod::ancestors},
                                                                    {"fill1", SymbolicMethod::fill1},
                                                                    {"fill2", SymbolicMethod::fill2}}};
template <>
constexpr Choices<Pivoting, 4> choices_of<Pivoting> = {{{"auto", Pivoting::automatic},
                                                        {"none", Pivoting::none},
                                                        {"static", Pivoting::static_perturbed},
                                                        {"threshold", Pivoting::threshold}}};
template <>
constexpr Choices<Symmetry, 2> choices_of<Symmetry> = {
    {{"symmetric", Symmetry::symmetric}, {"hermitian", Symmetry::hermitian}}};
template <>
constexpr Choices<Triangle, 3> choices_of<Triangle> = {
    {{"both", Triangle::both}, {"lower", Triangle::lower}, {"upper", Triangle::upper}}};
template <>
constexpr Choices<IluMethod, 3> choices_of<IluMethod> = {
    {{"iluk", IluMethod::iluk}, {"parilu", IluMethod::parilu}, {"parilut", IluMethod::parilut}}};
template <>
constexpr Choices<FillRule, 2> choices_of<FillRule> = {{{"total", FillRule::total}, {"row", FillRule::row}}};
template <>
constexpr Choices<IluSchedule, 3> choices_of<IluSchedule> = {
    {{"auto", IluSchedule::automatic}, {"levels", IluSchedule::levels}, {"syncfree", IluSchedule::syncfree}}};
template <>
constexpr Choices<IluApply, 3> choices_of<IluApply> = {
    {{"auto", IluApply::automatic}, {"exact", IluApply::exact}, {"jacobi", IluApply::jacobi}}};
template <>
constexpr Choices<KrylovMethod, 3> choices_of<KrylovMethod> = {
    {{"gmres", KrylovMethod::gmres}, {"bicgstab", KrylovMethod::bicgstab}, {"cg", KrylovMethod::cg}}};
template <>
constexpr Choices<Preconditioning, 4> choices_of<Preconditioning> = {{{"none", Preconditioning::none},
                                                                      {"jacobi", Preconditioning::jacobi},
                                                                      {"ilu", Preconditioning::ilu},
                                                                      {"lu", Preconditioning::lu}}};
template <>
constexpr Choices<PreconditionSide, 3> choices_of<PreconditionSide> = {{{"right", PreconditionSide::right},
                                                                        {"left", PreconditionSide::left},
                                                                        {"split", PreconditionSide::split}}};
template <>
constexpr Choices<bool, 4> choices_of<bool> = {{{"false", false}, {"true", true}, {"0", false}, {"1", true}}};

}  // namespace lutra::Impl

#endif
