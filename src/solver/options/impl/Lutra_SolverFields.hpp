// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SOLVERFIELDS_HPP
#define LUTRA_SOLVERFIELDS_HPP

#include "Lutra_IluFields.hpp"
#include "Lutra_OptionFields.hpp"
#include "Lutra_Options.hpp"

// Table of the fields of the solvers' options and their choices. User permutations, device models and
// LdltChoices::in_place_first are not in it because they have no names.

namespace lutra::Impl {

template <>
inline constexpr Choices<Ordering, 6> choices_of<Ordering> = {{{"auto", Ordering::automatic},
                                                               {"metis", Ordering::metis},
                                                               {"nd", Ordering::nd},
                                                               {"amd", Ordering::amd},
                                                               {"rcm", Ordering::rcm},
                                                               {"natural", Ordering::natural}}};
template <>
inline constexpr Choices<Method, 5> choices_of<Method> = {{{"auto", Method::automatic},
                                                           {"lu", Method::lu},
                                                           {"ldlt", Method::ldlt},
                                                           {"cholesky", Method::cholesky},
                                                           {"krylov", Method::krylov}}};
template <>
inline constexpr Choices<Matching, 4> choices_of<Matching> = {{{"auto", Matching::automatic},
                                                               {"none", Matching::none},
                                                               {"auction", Matching::auction},
                                                               {"exact", Matching::exact}}};
template <>
inline constexpr Choices<Engine, 3> choices_of<Engine> = {{{"auto", Engine::automatic},
                                                           {"multifrontal", Engine::multifrontal},
                                                           {"simplicial", Engine::simplicial}}};
template <>
inline constexpr Choices<TrisolveMethod, 4> choices_of<TrisolveMethod> = {
    {{"auto", TrisolveMethod::automatic},
     {"levels", TrisolveMethod::levels},
     {"syncfree", TrisolveMethod::syncfree},
     {"supernodal", TrisolveMethod::supernodal}}};
template <>
inline constexpr Choices<FactorPrecision, 2> choices_of<FactorPrecision> = {
    {{"working", FactorPrecision::working}, {"single", FactorPrecision::single}}};
template <>
inline constexpr Choices<SolutionCheck, 3> choices_of<SolutionCheck> = {
    {{"always", SolutionCheck::always}, {"first", SolutionCheck::first}, {"never", SolutionCheck::never}}};
template <>
inline constexpr Choices<SymbolicMethod, 5> choices_of<SymbolicMethod> = {
    {{"auto", SymbolicMethod::automatic},
     {"etree", SymbolicMethod::etree},
     {"ancestors", SymbolicMethod::ancestors},
     {"fill1", SymbolicMethod::fill1},
     {"fill2", SymbolicMethod::fill2}}};
template <>
inline constexpr Choices<ColumnMode, 5> choices_of<ColumnMode> = {{{"flow", ColumnMode::flow},
                                                                   {"levels", ColumnMode::levels},
                                                                   {"A", ColumnMode::A},
                                                                   {"B", ColumnMode::B},
                                                                   {"C", ColumnMode::C}}};
template <>
inline constexpr Choices<ColumnFormat, 4> choices_of<ColumnFormat> = {{{"auto", ColumnFormat::automatic},
                                                                       {"map", ColumnFormat::map},
                                                                       {"search", ColumnFormat::search},
                                                                       {"dense", ColumnFormat::dense}}};
template <>
inline constexpr Choices<ColumnSupernodes, 3> choices_of<ColumnSupernodes> = {
    {{"off", ColumnSupernodes::off}, {"on", ColumnSupernodes::on}, {"auto", ColumnSupernodes::automatic}}};
template <>
inline constexpr Choices<LevelizationMethod, 3> choices_of<LevelizationMethod> = {
    {{"cooperative", LevelizationMethod::cooperative},
     {"device", LevelizationMethod::device_launches},
     {"portable", LevelizationMethod::portable}}};
template <>
inline constexpr Choices<Fill2Kernel, 5> choices_of<Fill2Kernel> = {{{"auto", Fill2Kernel::automatic},
                                                                     {"warps", Fill2Kernel::warps},
                                                                     {"groups", Fill2Kernel::groups},
                                                                     {"frontiers", Fill2Kernel::frontiers},
                                                                     {"portable", Fill2Kernel::portable}}};
template <>
inline constexpr Choices<Fill2External, 3> choices_of<Fill2External> = {
    {{"none", Fill2External::none}, {"host", Fill2External::host}, {"peer", Fill2External::peer}}};
template <>
inline constexpr Choices<Fill2Unified, 4> choices_of<Fill2Unified> = {
    {{"off", Fill2Unified::off},
     {"plain", Fill2Unified::plain},
     {"advised", Fill2Unified::advised},
     {"prefetched", Fill2Unified::prefetched}}};
template <>
inline constexpr Choices<Pivoting, 4> choices_of<Pivoting> = {{{"auto", Pivoting::automatic},
                                                               {"none", Pivoting::none},
                                                               {"static", Pivoting::static_perturbed},
                                                               {"threshold", Pivoting::threshold}}};
template <>
inline constexpr Choices<FrontPivoting, 3> choices_of<FrontPivoting> = {{{"auto", FrontPivoting::automatic},
                                                                         {"columns", FrontPivoting::columns},
                                                                         {"blocks", FrontPivoting::blocks}}};
template <>
inline constexpr Choices<FactorStorage, 3> choices_of<FactorStorage> = {
    {{"auto", FactorStorage::automatic},
     {"resident", FactorStorage::resident},
     {"streamed", FactorStorage::streamed}}};
template <>
inline constexpr Choices<Symmetry, 2> choices_of<Symmetry> = {
    {{"symmetric", Symmetry::symmetric}, {"hermitian", Symmetry::hermitian}}};
template <>
inline constexpr Choices<Triangle, 3> choices_of<Triangle> = {
    {{"both", Triangle::both}, {"lower", Triangle::lower}, {"upper", Triangle::upper}}};
template <>
inline constexpr Choices<KrylovMethod, 3> choices_of<KrylovMethod> = {
    {{"gmres", KrylovMethod::gmres}, {"bicgstab", KrylovMethod::bicgstab}, {"cg", KrylovMethod::cg}}};
template <>
inline constexpr Choices<Preconditioning, 4> choices_of<Preconditioning> = {
    {{"none", Preconditioning::none},
     {"jacobi", Preconditioning::jacobi},
     {"ilu", Preconditioning::ilu},
     {"lu", Preconditioning::lu}}};
template <>
inline constexpr Choices<PreconditionSide, 3> choices_of<PreconditionSide> = {
    {{"right", PreconditionSide::right},
     {"left", PreconditionSide::left},
     {"split", PreconditionSide::split}}};

template <>
inline constexpr std::array<Ordering, 1> unnamed_choice<Ordering> = {Ordering::user};

/// Fields of CommonOptions other than `deterministic`, which incomplete factors have of their own.
inline constexpr auto common_fields = std::tuple{
    OptionField{"validate_input", &CommonOptions::validate_input,
                "check pattern, symmetry and values of each matrix"},
    OptionField{"time_stages", &CommonOptions::time_stages, "wait for the device where a stage is timed"},
    OptionField{"memory_limit", &CommonOptions::memory_limit, "bytes in the memory of the execution space",
                zero_is("no limit")},
    OptionField{"deadline", &CommonOptions::deadline, "seconds that one call may take", zero_is("no limit")}};
template <>
inline constexpr auto fields_of<CommonOptions> =
    std::tuple_cat(common_fields, std::tuple{OptionField{"deterministic", &CommonOptions::deterministic,
                                                         "the same bits from run to run, on hosts for any "
                                                         "number of threads"}});

template <>
inline constexpr auto fields_of<FactorOptions> = std::tuple{
    OptionField{"ordering", &FactorOptions::ordering, "fill-reducing ordering"},
    OptionField{"matching", &FactorOptions::matching, "which entries become pivots"},
    OptionField{"pivoting", &FactorOptions::pivoting,
                "auto is static for lu, threshold for ldlt; none is of ldlt; threshold works within fronts"},
    OptionField{"expected_factorizations", &FactorOptions::expected_factorizations,
                "factorizations by which an ordering has to pay", at_least(1)},
    OptionField{"perturbation", &FactorOptions::perturbation,
                "replace pivots of the scaled matrix below this", zero_is("by the precision")},
    OptionField{"factor_storage", &FactorOptions::factor_storage,
                "where factors are: streamed from host memory, on devices by default if they do not fit"}};

template <>
inline constexpr auto fields_of<DirectOptions> = std::tuple_cat(
    fields_of<FactorOptions>,
    std::tuple{
        OptionField{"max_refinement_steps", &DirectOptions::max_refinement_steps,
                    "most steps of iterative refinement", at_least(0)},
        OptionField{
            "check", &DirectOptions::check,
            "which solutions are checked and refined: first is that of each factorization; others are "
            "unchecked"},
        OptionField{"tolerance", &DirectOptions::error_tolerance, "componentwise backward error of a success",
                    zero_is("by the precision")},
        OptionField{"solve_singular", &DirectOptions::solve_singular,
                    "solve numerically singular matrices too, with perturbed factors; the status stays "
                    "singular"},
        OptionField{"estimate_condition", &DirectOptions::estimate_condition,
                    "estimate the condition number and bound the forward error; without it where a "
                    "pivot is small"}},
    fields_of<CommonOptions>);

template <>
inline constexpr auto fields_of<ColumnOptions> = std::tuple{
    OptionField{"mode", &ColumnOptions::mode,
                "data flow, or level by level by the kernels of GLU 3.0: A, B, C, or chosen for each level"},
    OptionField{"format", &ColumnOptions::format,
                "how the entry is found that an update changes: by maps, binary search or dense columns"},
    OptionField{"levels", &ColumnOptions::levels, "how levels of columns are found"},
    OptionField{"portable", &ColumnOptions::portable, "portable kernels, also on CUDA"},
    OptionField{
        "supernodes", &ColumnOptions::supernodes,
        "factorize by supernodes of type T3 instead of columns or, on hosts, rows (auto: on devices from 40 "
        "flops per entry on)"},
    OptionField{"supernode_size", &ColumnOptions::supernode_size, "most columns of a supernode",
                zero_is("128 on hosts, 32 on devices")},
    OptionField{"supernode_zeros", &ColumnOptions::supernode_zeros,
                "largest fraction of zeros in what a supernode stores", Range{.least = 0, .most = 1}}};
template <>
inline constexpr auto fields_of<Fill2Options> = std::tuple{
    OptionField{"kernel", &Fill2Options::kernel, "how fill2 searches from its source rows"},
    OptionField{"concurrent", &Fill2Options::concurrent, "sources in flight at most",
                Range{.zero = "what fills the device"}},
    OptionField{"chunk_bytes", &Fill2Options::chunk_bytes, "bytes for all sources in flight at most",
                zero_is("by the memory limit")},
    OptionField{"two_parts", &Fill2Options::two_parts, "rows with few and with many frontiers apart"},
    OptionField{"window_labels", &Fill2Options::window_labels,
                "labels of older sources count as unset; else they are reset"},
    OptionField{"remove_bubbles", &Fill2Options::remove_bubbles, "labels sized by the source"},
    OptionField{"fill_first", &Fill2Options::fill_first, "frontiers: tests fill before maxId"},
    OptionField{"dynamic", &Fill2Options::dynamic, "frontiers: the queues take what labels leave"},
    OptionField{"queue_share", &Fill2Options::queue_share,
                "frontiers: length of a queue on the device per label", above_zero(1)},
    OptionField{"external", &Fill2Options::external, "frontiers: where those go that outgrow the queues"},
    OptionField{"unified", &Fill2Options::unified, "frontiers: maxId and fill in unified memory"},
    OptionField{"shared_marks", &Fill2Options::shared_marks, "warps: marks in shared memory if they fit"},
    OptionField{"keep_rows", &Fill2Options::keep_rows, "the fill pass copies rows of the count pass"},
    OptionField{"last_first", &Fill2Options::last_first, "starts the last sources first"}};

template <>
inline constexpr auto fields_of<LuChoices> = std::tuple{
    OptionField{"engine", &LuChoices::engine, "how L and U are computed"},
    OptionField{"trisolve", &LuChoices::trisolve, "method of triangular solves"},
    OptionField{"solve_precision", &LuChoices::solve_precision, "precision of the factors when solving"},
    OptionField{"factor_precision", &LuChoices::factor_precision,
                "precision of the factors, which are computed anew if single does not suffice"},
    OptionField{"symbolic", &LuChoices::symbolic, "how the pattern of L + U is found"},
    OptionField{"fill2", &LuChoices::fill2},
    OptionField{"pivot_threshold", &LuChoices::pivot_threshold,
                "pivoting threshold: a diagonal entry of at least this times the largest stays",
                above_zero(1)},
    OptionField{"columns", &LuChoices::columns}};
template <>
inline constexpr auto fields_of<LuOptions> = std::tuple_cat(fields_of<LuChoices>, fields_of<DirectOptions>);
template <>
inline constexpr auto fields_of<LuPreconditionerOptions> = std::tuple_cat(fields_of<LuChoices>,
                                                                          fields_of<FactorOptions>);

template <>
inline constexpr auto fields_of<LdltChoices> = std::tuple{
    OptionField{"symmetry", &LdltChoices::symmetry, "symmetric or Hermitian, of complex matrices"},
    OptionField{"triangle", &LdltChoices::triangle,
                "which entries ldlt and cholesky read; both are compared"},
    OptionField{"pair_ordering", &LdltChoices::pair_ordering,
                "ldlt: keep matched rows together in the ordering, as candidates for 2 × 2 pivots"},
    OptionField{"pivot_threshold", &LdltChoices::pivot_threshold,
                "pivoting threshold: entries of L are at most 1 over this", above_zero(0.5)},
    OptionField{"zero_tolerance", &LdltChoices::zero_tolerance,
                "columns without an entry above this times the largest are zero pivots",
                Range{.most = 1, .without_least = true, .without_most = true, .zero = "by the precision"}},
    OptionField{"trust_pivots", &LdltChoices::trust_pivots,
                "ldlt: singular by zero pivots only, however small the others are"},
    OptionField{"front_pivoting", &LdltChoices::front_pivoting,
                "pivoting within fronts on hosts: blocks pivots a posteriori in every front"},
    OptionField{"engine", &LdltChoices::engine,
                "how batches factorize: simplicial by lanes, multifrontal by fronts"}};
template <>
inline constexpr auto fields_of<LdltOptions> =
    std::tuple_cat(std::tuple{OptionField{"positive_definite", &LdltOptions::positive_definite,
                                          "Cholesky: no pivoting and no scaling"}},
                   fields_of<LdltChoices>, fields_of<DirectOptions>);

template <>
inline constexpr auto fields_of<IluChoices> =
    std::tuple_cat(fields_of<IluOptions>,
                   std::tuple{OptionField{"ordering", &IluChoices::ordering, "fill-reducing ordering"},
                              OptionField{"matching", &IluChoices::matching, "which entries become pivots"},
                              OptionField{"trisolve", &IluChoices::trisolve, "method of triangular solves"}});
template <>
inline constexpr auto fields_of<SparseIluOptions> = std::tuple_cat(fields_of<IluChoices>, common_fields);

template <>
inline constexpr auto fields_of<KrylovChoices> = std::tuple{
    OptionField{"method", &KrylovChoices::method, "Krylov method"},
    OptionField{"preconditioning", &KrylovChoices::preconditioning, "preconditioner"},
    OptionField{"tolerance", &KrylovChoices::residual_tolerance, "relative residual of a success",
                zero_is("by the precision")},
    OptionField{"max_iterations", &KrylovChoices::max_iterations, "products with the matrix", at_least(0)},
    OptionField{"min_progress", &KrylovChoices::min_progress,
                "a cycle that leaves more of the residual is the last", at_least(0)},
    OptionField{"side", &KrylovChoices::side, "where the preconditioner stands"},
    OptionField{"restart", &KrylovChoices::restart, "iterations of a cycle of gmres", at_least(1)},
    OptionField{"start_from_x", &KrylovChoices::start_from_x, "X holds a first guess"},
    OptionField{"ilu", &KrylovChoices::ilu},
    OptionField{"lu", &KrylovChoices::lu}};
template <>
inline constexpr auto fields_of<KrylovSolverOptions> = std::tuple_cat(fields_of<KrylovChoices>,
                                                                      fields_of<CommonOptions>);

template <>
inline constexpr auto fields_of<SolverOptions> = std::tuple_cat(
    std::tuple{OptionField{"method", &SolverOptions::method, "auto is lu, ldlt or cholesky, by the matrix"}},
    fields_of<DirectOptions>,
    std::tuple{OptionField{"lu", &SolverOptions::lu}, OptionField{"ldlt", &SolverOptions::ldlt},
               OptionField{"krylov", &SolverOptions::krylov}});

}  // namespace lutra::Impl

#endif
