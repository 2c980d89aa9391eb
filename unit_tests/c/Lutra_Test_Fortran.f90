! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
! Bad input from Fortran is a status and a message with row and column; the program goes on.
program lutra_test_fortran
  use, intrinsic :: iso_c_binding
  use, intrinsic :: ieee_arithmetic
  use lutra
  implicit none

  ! (4 1 0; 1 4 1; 0 1 4), rows and columns from 0
  integer(c_int), target :: row_map(4), columns(7)
  real(c_double), target :: values(7), b(3), x(3)
  type(lutra_matrix) :: A
  type(c_ptr) :: solver
  integer :: failures

  failures = 0
  call reset()
  call expect("no such method", lutra_create(solver, 99, LUTRA_F64, LUTRA_INT32, c_null_ptr), LUTRA_INPUT_ERROR, "method")
  call expect("no such backend", lutra_create(solver, LUTRA_LU, LUTRA_F64, LUTRA_INT32, lutra_target("abacus")), &
              LUTRA_NOT_BUILT, "abacus")
  call expect("no solver", lutra_analyze(c_null_ptr, A), LUTRA_INPUT_ERROR, "solver")

  call expect("create", lutra_create(solver, LUTRA_LU, LUTRA_F64, LUTRA_INT32, c_null_ptr), LUTRA_SUCCESS, "")
  call expect("option", lutra_set_option(solver, lutra_text("orderng"), lutra_text("amd")), LUTRA_INPUT_ERROR, "orderng")
  call expect("value", lutra_set_option(solver, lutra_text("ordering"), lutra_text("best")), LUTRA_INPUT_ERROR, "metis")
  call expect("order of calls", lutra_factorize(solver, A), LUTRA_CALL_ORDER_ERROR, "lutra_analyze")

  columns(5) = 3
  call expect("column", lutra_analyze(solver, A), LUTRA_INPUT_ERROR, "row 1")
  call reset()
  row_map(3) = 1
  call expect("offsets", lutra_analyze(solver, A), LUTRA_INPUT_ERROR, "row 1")
  call reset()
  columns(4:5) = [2, 1]
  call expect("unsorted", lutra_analyze(solver, A), LUTRA_INPUT_ERROR, "row 1")
  call reset()
  A%n_cols = 4
  call expect("not square", lutra_analyze(solver, A), LUTRA_INPUT_ERROR, "square")
  call reset()
  A%values = c_null_ptr
  call expect("null", lutra_analyze(solver, A), LUTRA_INPUT_ERROR, "values")

  call reset()
  call expect("analyze", lutra_analyze(solver, A), LUTRA_SUCCESS, "")
  values(5) = ieee_value(values(5), ieee_quiet_nan)
  call expect("NaN", lutra_factorize(solver, A), LUTRA_INPUT_ERROR, "row 1, column 2")
  values = [2, 4, 1, 2, 0, 0, 1]
  call expect("singular", lutra_factorize(solver, A), LUTRA_NUMERICALLY_SINGULAR, "singular")
  call reset()
  call expect("factorize", lutra_factorize(solver, A), LUTRA_SUCCESS, "")
  b(2) = ieee_value(b(2), ieee_positive_inf)
  call expect("infinite", solve_with(LUTRA_NONE), LUTRA_INPUT_ERROR, "row 1")
  b = [6, 12, 14]
  call expect("operation", solve_with(7), LUTRA_INPUT_ERROR, "op")
  call expect("solve", solve_with(LUTRA_NONE), LUTRA_SUCCESS, "")
  if (maxval(abs(x - [1, 2, 3])) > 1e-12) call fail("solve", "wrong solution")
  call lutra_destroy(solver)

  call expect("create", lutra_create(solver, LUTRA_CHOLESKY, LUTRA_F64, LUTRA_INT32, c_null_ptr), LUTRA_SUCCESS, "")
  values(4) = -4
  call expect("analyze", lutra_analyze(solver, A), LUTRA_SUCCESS, "")
  call expect("not definite", lutra_factorize(solver, A), LUTRA_NOT_POSITIVE_DEFINITE, "positive")
  values(2) = 3
  call expect("unsymmetric", lutra_factorize(solver, A), LUTRA_INPUT_ERROR, "row")
  call expect("finalize", lutra_finalize(), LUTRA_CALL_ORDER_ERROR, "lutra_destroy")
  call lutra_destroy(solver)
  call expect("finalize", lutra_finalize(), LUTRA_SUCCESS, "")
  if (failures > 0) error stop "Fortran's errors are not as they should be"

contains

  subroutine reset()
    row_map = [0, 2, 5, 7]
    columns = [0, 1, 0, 1, 2, 1, 2]
    values = [4, 1, 1, 4, 1, 1, 4]
    b = 1
    A = lutra_matrix(3, 3, 7, c_loc(row_map), c_loc(columns), c_loc(values), LUTRA_INT32)
  end subroutine

  integer(c_int) function solve_with(op)
    integer, intent(in) :: op
    solve_with = lutra_solve(solver, op, 1_c_int64_t, c_loc(b), 3_c_int64_t, c_loc(x), 3_c_int64_t)
  end function

  !> A text that C can point to, for arguments that may be null.
  type(c_ptr) function lutra_target(text)
    character(*), intent(in) :: text
    character(kind=c_char, len=:), allocatable, target, save :: kept
    kept = lutra_text(text)
    lutra_target = c_loc(kept)
  end function

  subroutine expect(what, status, wanted, word)
    character(*), intent(in) :: what, word
    integer(c_int), intent(in) :: status
    integer(kind(LUTRA_SUCCESS)), intent(in) :: wanted
    if (status /= wanted) then
      call fail(what, lutra_string(lutra_status_name(status)))
    else if (status /= LUTRA_SUCCESS .and. index(lutra_error_message(), word) == 0) then
      call fail(what, "the message has no '" // word // "'")
    end if
  end subroutine

  subroutine fail(what, why)
    character(*), intent(in) :: what, why
    print '(5a)', what, ": ", why, ": ", lutra_error_message()
    failures = failures + 1
  end subroutine
end program
