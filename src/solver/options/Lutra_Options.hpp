// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_OPTIONS_HPP
#define LUTRA_OPTIONS_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "Lutra_ColumnOptions.hpp"
#include "Lutra_CsrView.hpp"
#include "Lutra_DeviceModel.hpp"
#include "Lutra_Factorization.hpp"
#include "Lutra_IncompleteFactors.hpp"
#include "Lutra_Krylov.hpp"
#include "Lutra_Matching.hpp"
#include "Lutra_Ordering.hpp"
#include "Lutra_PatternSource.hpp"
#include "Lutra_RunControl.hpp"
#include "Lutra_Symbolic.hpp"
#include "Lutra_TriangularSolver.hpp"

namespace lutra {

/// How the values of L and U are computed.
enum class Engine {
  automatic,    ///< the engine with the lower predicted time
  simplicial,   ///< on the exact pattern of L + U: right-looking by columns on devices, up-looking by rows on
                ///< hosts
  multifrontal  ///< dense frontal matrices on the pattern of F + Fᵀ (Duff and Reid, 1983)
};

/// Name on the command line.
constexpr std::string_view name_of(Engine engine) {
  switch (engine) {
    case Engine::simplicial:
      return "simplicial";
    case Engine::multifrontal:
      return "multifrontal";
    default:
      return "auto";
  }
}

/// Options common to all solvers.
struct CommonOptions {
  /// Costs on which choices are based; empty: those of the execution space.
  std::optional<DeviceModel> device_model{};
  /// If false, factorize, solve and apply assume that the matrix has the analyzed pattern, is symmetric if
  /// the method is LDLᵀ, and contains no NaN or infinity.
  bool validate_input = true;
  /// Whether results have the same bits in every run, on hosts also for any number of threads
  /// (docs/deterministic.md). Choices then assume one host thread and, without a `device_model`, built-in
  /// costs; sweeps of ParILU and ParILUT read the previous sweep's values; on devices LU uses the
  /// multifrontal engine.
  bool deterministic = false;
  /// Whether to wait for the device when a stage is timed. If false, the times of factorize and solve may
  /// include work that the instance queued before.
  bool time_stages = false;
  std::size_t memory_limit = 0;  ///< bytes in the memory of the execution space; 0: no limit
  double deadline = 0;  ///< seconds that one call of analyze, factorize, solve or apply may take; 0: no limit
  std::shared_ptr<StopFlag> stop{};              ///< ends running calls when raised; null: none
  std::shared_ptr<const Observers> observers{};  ///< told of progress while calls run; null: none

  bool operator==(const CommonOptions&) const = default;
};

/// Where the multifrontal engine keeps factors (docs/memory.md).
enum class FactorStorage {
  automatic,  ///< resident, on devices streamed if they exceed the memory limit or the free memory
  resident,   ///< in the memory of the execution space
  streamed    ///< in host memory, from which solves read them through buffers of the execution space
};

/// Name on the command line.
constexpr std::string_view name_of(FactorStorage storage) {
  return storage == FactorStorage::automatic  ? "auto"
         : storage == FactorStorage::resident ? "resident"
                                              : "streamed";
}

/// Options of an analysis and its factorizations.
struct FactorOptions {
  Ordering ordering = Ordering::automatic;  ///< fill-reducing ordering
  std::vector<std::int64_t>
      user_permutation{};  ///< column permutation for Ordering::user: columns in elimination order, from 0
  /// For LU: how pivot entries are matched, and the scaling that comes with the matching. For LDLᵀ: the
  /// scaling; automatic means exact matching, or an auction where only scales are needed and the device model
  /// predicts it to be faster, or equilibration if the scales of the matching differ by more than 2⁵².
  /// Cholesky does not use it.
  Matching matching = Matching::automatic;
  /// For LU: automatic means static_perturbed; threshold interchanges rows within fronts. For LDLᵀ: automatic
  /// means threshold. Cholesky does not pivot.
  Pivoting pivoting = Pivoting::automatic;
  /// Expected number of factorizations per analysis, each followed by a solve. It determines how much time
  /// automatic ordering may take. 1 suits a single solution, and larger numbers long sequences.
  int expected_factorizations = 20;
  /// Smallest |pivot| of the scaled matrix with static_perturbed; 0: chosen by the library.
  double perturbation = 0;
  /// Where factors are kept. `streamed` implies the multifrontal engine, and for LDLᵀ pivots in place. Then
  /// the memory limit is for buffers, and on hosts too the factors are beside it.
  FactorStorage factor_storage = FactorStorage::automatic;

  bool operator==(const FactorOptions&) const = default;
};

/// Which solutions of a direct solver are checked: their residual and backward errors are computed, and they
/// are refined until the errors are small. A solve without a check reads the factors once and returns
/// `Status::unchecked`. It detects NaN in B, but neither overflow nor loss of accuracy in X.
enum class SolutionCheck {
  always,
  first,  ///< those of the first solve after each factorization, and of later ones until one needs no
          ///< refinement
  never   ///< only with the factors of singular matrices (`solve_singular`)
};

/// Options common to LU, LDLᵀ and Cholesky.
struct DirectOptions : FactorOptions, CommonOptions {
  int max_refinement_steps = 10;  ///< 0: no refinement and no GMRES; the error is still computed
  SolutionCheck check = SolutionCheck::always;
  /// Componentwise backward error at which refinement stops and the solve succeeds. 0: the solve succeeds at
  /// 1e-12 or 1e-5, depending on the scalar type, and refinement continues to 8ε.
  double error_tolerance = 0;
  /// Whether to solve with the factors of a numerically singular matrix, too. LU uses perturbed pivots; LDLᵀ
  /// sets the components of zero pivots to 0. The status remains `numerically_singular`, and `errors` tells
  /// how accurate X is.
  bool solve_singular = false;
  /// Whether to estimate the condition number after each factorization. If false, it is estimated only if a
  /// pivot is small or a solution large.
  bool estimate_condition = false;

  bool operator==(const DirectOptions&) const = default;
};

/// Checks the ranges of all options.
/// @throws InputError if a value is out of range
void check_options(const DirectOptions& options);

/// Options specific to LU.
struct LuChoices {
  /// Engine that computes L and U. The multifrontal engine replaces the elimination order by an equivalent
  /// one. It is not chosen automatically if the options have a user permutation or a symbolic method.
  Engine engine = Engine::automatic;
  TrisolveMethod trisolve = TrisolveMethod::automatic;  ///< method of the triangular solves with L and U
  /// Precision in which solves read L and U, computed in the precision of the matrix. With `single`,
  /// refinement restores the accuracy.
  FactorPrecision solve_precision = FactorPrecision::working;
  /// Precision in which L and U are computed and kept. `single` halves their memory; solutions are refined to
  /// the same backward errors. Where pivots, growth, an estimate of the condition or slow refinement show
  /// that it does not suffice, the matrix is factorized again in its own precision, and so are later matrices
  /// until the next analysis; `report().escalations` says so. Requires checks of solutions, and a library
  /// built for float (or its complex type). Matrices in single precision ignore it, as do Schur complements.
  FactorPrecision factor_precision = FactorPrecision::working;
  /// Method that finds the pattern of L + U; the multifrontal engine accepts only etree.
  SymbolicMethod symbolic = SymbolicMethod::automatic;
  Fill2Options fill2{};  ///< options of SymbolicMethod::fill2, which others than the defaults require
  /// Finds that pattern for the simplicial engine, in place of the method; null: `factorize_symbolic` does.
  std::shared_ptr<PatternSource> pattern_source{};
  /// Threshold of Pivoting::threshold, which requires the multifrontal engine and solves on the fronts in
  /// working precision. A diagonal entry remains the pivot if its magnitude is at least this value times the
  /// largest entry it could be interchanged with.
  double pivot_threshold = 0.1;
  ColumnOptions columns{};  ///< of the simplicial engine: of devices, and supernodes of hosts too

  bool operator==(const LuChoices&) const = default;
};

/// Options of `SparseLU`. Every field has a default that rarely needs to be changed.
struct LuOptions : DirectOptions, LuChoices {
  bool operator==(const LuOptions&) const = default;
};

/// Checks ranges and combinations of the options.
/// @throws InputError if an option is out of range or conflicts with another
void check_options(const LuOptions& options);

/// How hosts pivot within the fronts of LDLᵀ and Cholesky.
enum class FrontPivoting {
  automatic,  ///< by columns in fronts of up to 512 rows, by blocks in larger ones
  columns,    ///< column by column (Duff and Reid 1983); one thread eliminates a front
  blocks      ///< a posteriori by block columns (Hogg, Ovtchinnikov and Scott 2016) in every front
};

/// Options specific to LDLᵀ and Cholesky.
struct LdltChoices {
  Symmetry symmetry = Symmetry::symmetric;  ///< kind of symmetry of a complex matrix
  Triangle triangle = Triangle::both;  ///< triangle whose entries are read; the other entries are ignored
  /// Whether the ordering keeps matched rows adjacent, as candidates for 2 × 2 pivots. This reduces delayed
  /// pivots but increases fill, and it requires a matching. If false, a factorization that delays too many
  /// pivots switches to such an ordering by itself.
  bool pair_ordering = false;
  double pivot_threshold = 0.01;  ///< threshold u of pivoting; bounds the entries of L by 1/u
  /// A pivot is zero if no entry of its column exceeds this value times the largest scaled entry. 0: 16ε,
  /// raised if a singular matrix has fewer zero pivots than null vectors.
  double zero_tolerance = 0;
  /// Whether LDLᵀ is numerically singular only if it has zero pivots, and keeps its scales until then. If
  /// false, small pivots and growth lead to new scales and to an estimate of the condition number, by which
  /// the matrix may be singular too. Interior point methods set it: their matrices are ill-conditioned by
  /// design, and they refine by themselves.
  bool trust_pivots = false;
  /// Whether factorizations first try pivots within fronts, or within tiles of large fronts, with the kernels
  /// of LU, and keep them if they are as stable as those of the threshold test. Empty: on CUDA, if
  /// memory_limit is 0.
  std::optional<bool> in_place_first{};
  /// How hosts pivot within fronts. Devices and static_perturbed accept only automatic.
  FrontPivoting front_pivoting = FrontPivoting::automatic;
  /// How batches factorize: `simplicial` by lanes, `multifrontal` by fronts. Automatic means fronts if the
  /// analyzed matrix has zeros on its diagonal, or if `pivoting` is `threshold`, and lanes otherwise. Single
  /// matrices always have fronts.
  Engine engine = Engine::automatic;

  bool operator==(const LdltChoices&) const = default;
};

/// Options of `SparseLDLT`. Every field has a default that rarely needs to be changed.
struct LdltOptions : DirectOptions, LdltChoices {
  /// Selects Cholesky, which neither pivots nor scales. A pivot that is not positive ends the factorization.
  /// Complex matrices must be Hermitian.
  bool positive_definite = false;

  bool operator==(const LdltOptions&) const = default;
};

/// Checks ranges and combinations of the options.
/// @throws InputError if an option is out of range or conflicts with another
void check_options(const LdltOptions& options);

/// Options of incomplete factorizations that have an analysis.
struct IluChoices : IluOptions {
  Ordering ordering = Ordering::automatic;  ///< automatic means natural
  std::vector<std::int64_t>
      user_permutation{};  ///< for Ordering::user: the user's columns in elimination order, from 0
  /// automatic means exact if a diagonal entry is missing or zero and the matrix is not treated as symmetric,
  /// and none otherwise.
  Matching matching = Matching::automatic;
  /// Method of the triangular solves when factors are applied exactly.
  TrisolveMethod trisolve = TrisolveMethod::automatic;
};

/// Options of `SparseILU`. Every field has a default that rarely needs to be changed.
struct SparseIluOptions : IluChoices, CommonOptions {
  using IluOptions::deterministic;  ///< means all that CommonOptions::deterministic does, which is not used
};

/// Checks ranges and combinations of the options.
/// @throws InputError if an option is out of range or conflicts with another
void check_options(const SparseIluOptions& options);

/// Returns the command-line name of a factorization: ilu0, iluk, parilu, parilut, ic0, ick, paric or parict.
std::string_view name_of(const IluOptions& options);

/// Preconditioner of a Krylov method.
enum class Preconditioning {
  none,
  jacobi,  ///< the diagonal
  ilu,     ///< incomplete LU factors (KrylovChoices::ilu)
  lu       ///< complete LU factors, without refinement (KrylovChoices::lu)
};

/// Options of complete LU factors used as a preconditioner.
struct LuPreconditionerOptions : FactorOptions, LuChoices {};

/// Options of a Krylov method and its preconditioner. A residual_tolerance of 0 means 1e-10 or 1e-5,
/// depending on the scalar type. Split preconditioning needs Preconditioning::ilu. CG has no preconditioning
/// side.
struct KrylovChoices : KrylovOptions {
  KrylovMethod method = KrylovMethod::gmres;
  Preconditioning preconditioning = Preconditioning::ilu;
  int restart = 50;           ///< GMRES restart length; reduced if memory does not suffice
  bool start_from_x = false;  ///< X holds the initial guess; false: the initial guess is zero
  IluChoices ilu;
  LuPreconditionerOptions lu;

  KrylovChoices() { residual_tolerance = 0; }
};

/// Options of `KrylovSolver`. Every field has a default that rarely needs to be changed.
struct KrylovSolverOptions : KrylovChoices, CommonOptions {
  /// Returns the options of the solver that computes the preconditioner.
  SparseIluOptions ilu_options() const {
    SparseIluOptions options{ilu, *this};
    options.deterministic = ilu.deterministic || deterministic;
    return options;
  }
  LuOptions lu_options() const { return {{lu, *this}, lu}; }
};

/// Checks ranges and combinations of the options.
/// @throws InputError if an option is out of range or conflicts with another
void check_options(const KrylovSolverOptions& options);

/// Method of a Solver.
enum class Method {
  automatic,  ///< LU, LDLᵀ or Cholesky, depending on the matrix and on predicted times
  lu,
  ldlt,
  cholesky,
  krylov
};

/// Options of `Solver`. Every field has a default that rarely needs to be changed. The inherited options are
/// common to the direct methods; those of CommonOptions also apply to Krylov methods.
struct SolverOptions : DirectOptions {
  Method method = Method::automatic;
  LuChoices lu;          ///< any value other than the default makes `automatic` choose LU
  LdltChoices ldlt;      ///< `automatic` sets the symmetry itself
  KrylovChoices krylov;  ///< Krylov method and preconditioner

  /// Return the options of the solver for one method.
  LuOptions lu_options() const { return {*this, lu}; }
  LdltOptions ldlt_options(bool positive_definite) const { return {*this, ldlt, positive_definite}; }
  KrylovSolverOptions krylov_options() const { return {krylov, *this}; }
  /// Returns whether an option is set that only LU has, or that LU serves better, such as a memory limit.
  bool asks_for_lu() const {
    return lu != LuChoices() || pivoting != Pivoting::automatic || perturbation > 0 || memory_limit > 0;
  }
};

/// Checks ranges and combinations of the options.
/// @throws InputError if a value is out of range, or if options conflict with each other or with the method
void check_options(const SolverOptions& options);

// Options accessed by name, for interfaces without the option structs: the command-line program, other
// languages, and parameter lists. An option has the name of its field. A field of a nested struct has both
// names, as in "ilu.fill_level" of KrylovSolverOptions and "lu.engine" of SolverOptions. "tolerance" names
// error_tolerance of the direct methods and residual_tolerance of Krylov methods. Permutations, device
// models, pattern sources and kernels of device launches have no names. The template parameter `Options` is
// LuOptions, LdltOptions, SparseIluOptions, KrylovSolverOptions or SolverOptions.

/// Name, current value and allowed values of one option.
struct NamedOption {
  enum class Kind { choice, boolean, integer, number };
  std::string name;
  Kind kind = Kind::choice;
  std::string value;  ///< in the form that set_option accepts; "user" for an ordering by a permutation
  std::vector<std::string> choices;  ///< allowed values of a choice or a boolean; otherwise empty
  std::string help;                  ///< short description
  std::string range;                 ///< allowed range of a number, for example "above 0 and at most 1"
  std::string zero;                  ///< special meaning of the number 0; empty if it has none
};

/// Returns all options that have names, in the order of the struct.
template <class Options>
std::vector<NamedOption> named_options(const Options& options);

/// Sets the option `name`. `value` is a choice by its command-line name ("auto", "metis", "threshold"),
/// "true" or "false", or a number in C syntax. Conflicts between options are left to check_options.
/// @param shown name of the option in messages; if empty, "option " followed by its name
/// @throws InputError that names the option and lists the valid names, values or range; `options` is then
///         unchanged
template <class Options>
void set_option(Options& options, std::string_view name, std::string_view value, std::string_view shown = {});

/// Describes the choices or range of an option, its meaning of 0 and its default, for example "above 0, or 0:
/// by the precision [0]".
std::string describe_values(const NamedOption& option);

}  // namespace lutra

#endif
