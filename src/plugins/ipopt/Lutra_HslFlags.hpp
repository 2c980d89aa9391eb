// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_HSLFLAGS_HPP
#define LUTRA_HSLFLAGS_HPP

#include <stdexcept>
#include <string>

namespace lutra::Hsl {

/// Values of ma97_info_d::flag: those of HSL_MA97, and one of Lutra's.
enum class Flag : int {
  success = 0,
  out_of_range = 1,  ///< entries outside the lower triangle were ignored
  duplicates = 2,    ///< entries given more than once were added up
  out_of_range_and_duplicates = 3,
  missing_diagonal = 4,           ///< entries of the diagonal are not given
  missing_diagonal_and_more = 5,  ///< and one of the first three
  singular = 7,                   ///< zero pivots; control.action asked to continue

  call_order = -1,
  bad_n = -2,
  bad_ptr = -3,
  all_out_of_range = -4,
  bad_matrix_type = -5,
  is_singular = -7,
  not_definite = -8,
  not_finite = -9,      ///< NaN or infinity in the values or the factors
  missing_array = -10,  ///< ptr, row, val, x or a handle is null
  bad_order = -11,
  bad_size = -12,  ///< nrhs or ldx
  bad_job = -13,
  out_of_memory = -16,
  other = -50  ///< an error of Lutra: its message is printed if control.print_level >= 0
};

/// A call that cannot be carried out.
struct Failure : std::runtime_error {
  Failure(Flag why, const std::string& message) : std::runtime_error(message), flag(why) {}
  Flag flag;
};

}  // namespace lutra::Hsl

#endif
