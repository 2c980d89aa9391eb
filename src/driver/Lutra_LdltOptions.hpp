// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LDLTOPTIONS_HPP
#define LUTRA_LDLTOPTIONS_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "Lutra_DeviceModel.hpp"
#include "Lutra_Matching.hpp"
#include "Lutra_Ordering.hpp"
#include "Lutra_Pivoting.hpp"
#include "Lutra_SymmetricPattern.hpp"
#include "Lutra_Symmetry.hpp"

namespace lutra {

/// Options of `SparseLDLT`. Every field has a default that is meant to be left alone.
struct LdltOptions {
  // Of an analysis.
  Symmetry symmetry = Symmetry::symmetric;  ///< of complex matrices
  Triangle triangle = Triangle::both;       ///< which entries are read; the others may be anything
  bool positive_definite = false;  ///< Cholesky: no pivoting and no scaling; a pivot that is not positive
                                   ///< ends the factorization. Complex matrices have to be Hermitian
  Ordering ordering = Ordering::automatic;       ///< fill-reducing ordering
  std::vector<std::int64_t> user_permutation{};  ///< with Ordering::user: rows in elimination order, from 0
  Matching matching =
      Matching::automatic;     ///< where the scaling comes from. automatic: exact, or equilibration
                               ///< where its scales differ by more than 2⁵²; Cholesky: none
  bool pair_ordering = false;  ///< the ordering keeps matched rows together, as candidates for 2 × 2 pivots:
                               ///< fewer delayed pivots, more fill; needs a matching. Without it, a
                               ///< factorization that delays too many pivots comes to it by itself
  Pivoting pivoting = Pivoting::automatic;  ///< automatic: threshold; Cholesky: none
  double pivot_threshold =
      0.01;                   ///< u of threshold pivoting: entries of L are at most 1/u; above 0, at most 0.5
  double zero_tolerance = 0;  ///< a column of which no entry exceeds this times the largest scaled entry is a
                              ///< zero pivot; 0: 1024ε, in single precision 16ε
  /// Factorizations try the pivots of the diagonal in their order first, with the kernels of LU, and keep
  /// them if they pass the threshold test. none: on CUDA, where memory_limit is 0
  std::optional<bool> diagonal_first = {};
  int expected_factorizations = 1;  ///< with one analysis, each with a solve: how long an automatic ordering
                                    ///< may take follows from it; 1 or more
  std::optional<DeviceModel> device_model =
      {};  ///< what choices are made by; none: the execution space's own
  // Of factorizations and solves.
  double perturbation = 0;  ///< of static_perturbed: least |pivot| of the scaled matrix; 0: the library's
                            ///< choice
  int max_refinement_steps = 10;    ///< 0: no refinement and no GMRES; the error is computed all the same
  double tolerance = 0;             ///< componentwise backward error of a success, as in LuOptions
  bool solve_singular = false;      ///< solve with the factors of a singular matrix, too: components of zero
                                    ///< pivots are 0. The status remains `numerically_singular`
  bool estimate_condition = false;  ///< as in LuOptions
  bool validate_input = true;       ///< false: factorize takes pattern, symmetry and finiteness for granted
  bool time_stages = false;         ///< wait for the device where a stage is timed
  std::size_t memory_limit = 0;     ///< bytes in the execution space's memory; 0: no limit

  bool operator==(const LdltOptions&) const = default;
};

/// Throws InputError for options out of range or at odds with each other.
void check_options(const LdltOptions& options);

}  // namespace lutra

#endif
