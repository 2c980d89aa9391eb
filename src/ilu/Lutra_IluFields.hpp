// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_ILUFIELDS_HPP
#define LUTRA_ILUFIELDS_HPP

#include "Lutra_IncompleteFactors.hpp"
#include "Lutra_OptionFields.hpp"

// The fields of IluOptions and their choices.

namespace lutra::Impl {

template <>
inline constexpr Choices<IluMethod, 3> choices_of<IluMethod> = {
    {{"iluk", IluMethod::iluk}, {"parilu", IluMethod::parilu}, {"parilut", IluMethod::parilut}}};
template <>
inline constexpr Choices<FillRule, 2> choices_of<FillRule> = {
    {{"total", FillRule::total}, {"row", FillRule::row}}};
template <>
inline constexpr Choices<IluStart, 2> choices_of<IluStart> = {
    {{"ilu0", IluStart::ilu0}, {"pattern", IluStart::pattern}}};
template <>
inline constexpr Choices<IluFinish, 2> choices_of<IluFinish> = {
    {{"exact", IluFinish::exact}, {"sweeps", IluFinish::sweeps}}};
template <>
inline constexpr Choices<IluSelection, 3> choices_of<IluSelection> = {
    {{"auto", IluSelection::automatic},
     {"exact", IluSelection::exact},
     {"approximate", IluSelection::approximate}}};
template <>
inline constexpr Choices<IluSchedule, 3> choices_of<IluSchedule> = {
    {{"auto", IluSchedule::automatic}, {"levels", IluSchedule::levels}, {"syncfree", IluSchedule::syncfree}}};
template <>
inline constexpr Choices<IluApply, 3> choices_of<IluApply> = {
    {{"auto", IluApply::automatic}, {"exact", IluApply::exact}, {"jacobi", IluApply::jacobi}}};

template <>
inline constexpr auto fields_of<IluOptions> = std::tuple{
    OptionField{"method", &IluOptions::method, "how pattern and values are computed"},
    OptionField{"fill_level", &IluOptions::fill_level,
                "K of iluk and ick, and of the pattern that the parallel methods begin with", at_least(0)},
    OptionField{"fill_factor", &IluOptions::fill_factor,
                "parilut, parict: most entries of L and U over those of A", above_zero()},
    OptionField{"fill_rule", &IluOptions::fill_rule,
                "parilut, parict: whether the limit is on all entries or on rows"},
    OptionField{"drop_tolerance", &IluOptions::drop_tolerance,
                "parilut, parict: drop entries below this times the largest of A's row", at_least(0)},
    OptionField{"steps", &IluOptions::steps, "most steps of parilut, parict", at_least(0)},
    OptionField{"step_tolerance", &IluOptions::step_tolerance,
                "parilut, parict: relative change of the residual that ends the steps", at_least(0)},
    OptionField{"start", &IluOptions::start,
                "parilut, parict: initial L and U, exact or A on its own pattern"},
    OptionField{"finish", &IluOptions::finish, "parilut, parict: values on the final pattern"},
    OptionField{"sweeps", &IluOptions::sweeps,
                "most sweeps of parilu, paric, and of parilut that finishes by them", at_least(0)},
    OptionField{"sweep_tolerance", &IluOptions::sweep_tolerance,
                "relative residual on the pattern that ends the sweeps", at_least(0)},
    OptionField{"selection", &IluOptions::selection, "parilut, parict: thresholds, approximate by one pass"},
    OptionField{"nonlinear_residual", &IluOptions::nonlinear_residual,
                "parilut, parict: report the residual on the pattern after each step"},
    OptionField{"symmetric", &IluOptions::symmetric,
                "A is Hermitian positive definite: IC(k), ParIC, ParICT"},
    OptionField{"deterministic", &IluOptions::deterministic, "the same bits from run to run"},
    OptionField{"schedule", &IluOptions::schedule, "schedule of an elimination on a fixed pattern"},
    OptionField{"shift", &IluOptions::shift, "initial diagonal shift over the largest entry of each row",
                at_least(0)},
    OptionField{"max_shifts", &IluOptions::max_shifts, "most increases of the shift", at_least(0)},
    OptionField{"apply", &IluOptions::apply, "how incomplete factors are applied"},
    OptionField{"jacobi_sweeps", &IluOptions::jacobi_sweeps, "sweeps on each factor with apply jacobi",
                at_least(1)}};

}  // namespace lutra::Impl

#endif
