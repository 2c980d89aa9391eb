! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
! Solves a symmetric indefinite system in Fortran: its inertia, its solution for two right-hand sides, and an error.
program fortran_solve
  use, intrinsic :: iso_c_binding
  use lutra
  implicit none

  integer, parameter :: n = 100
  integer(c_int), target :: row_map(n + 1), columns(3 * n - 2)
  real(c_double), target :: values(3 * n - 2), B(n, 2), X(n, 2)
  type(lutra_matrix) :: A
  type(c_ptr) :: solver
  integer(c_int64_t) :: negative
  integer :: i, j, at

  ! Rows (1, -1/2, 1), eigenvalues -1/2 + 2 cos(j pi / (n + 1)). Rows and columns count from 0 in the arrays.
  at = 0
  do i = 1, n
    row_map(i) = at
    do j = max(i - 1, 1), min(i + 1, n)
      at = at + 1
      columns(at) = j - 1
      values(at) = merge(-0.5_c_double, 1.0_c_double, i == j)
    end do
  end do
  row_map(n + 1) = at
  A = lutra_matrix(n, n, at, c_loc(row_map), c_loc(columns), c_loc(values), LUTRA_INT32)

  call check(lutra_create(solver, LUTRA_LDLT, LUTRA_F64, LUTRA_INT32, c_null_ptr))
  call check(lutra_set_option(solver, lutra_text("ordering"), lutra_text("amd")))
  call check(lutra_analyze(solver, A))
  call check(lutra_factorize(solver, A))

  call check(lutra_get_integer(solver, lutra_text("inertia.negative"), negative))
  print '(a, i0, a, i0)', "eigenvalues below 0: ", negative, " of ", n
  if (negative /= count([(-0.5 + 2 * cos(j * acos(-1.0d0) / (n + 1)) < 0, j=1, n)])) error stop "wrong inertia"

  B(:, 1) = product_with([(1.0d0, i=1, n)])
  B(:, 2) = product_with([(real(i, c_double), i=1, n)])
  call check(lutra_solve(solver, LUTRA_NONE, 2_c_int64_t, c_loc(B), int(n, c_int64_t), c_loc(X), int(n, c_int64_t)))
  if (maxval(abs(X(:, 1) - 1)) > 1e-10) error stop "wrong solution"
  if (maxval(abs(X(:, 2) - [(i, i=1, n)])) > 1e-8) error stop "wrong second solution"

  columns(at) = n
  if (lutra_factorize(solver, A) /= LUTRA_INPUT_ERROR) error stop "a wrong matrix was not refused"
  print '(a)', lutra_error_message()

  call lutra_destroy(solver)
  call check(lutra_finalize())

contains

  subroutine check(status)
    integer(c_int), intent(in) :: status
    if (status == LUTRA_SUCCESS) return
    print '(3a)', lutra_string(lutra_status_name(status)), ": ", lutra_error_message()
    error stop
  end subroutine

  function product_with(v) result(w)
    real(c_double), intent(in) :: v(:)
    real(c_double) :: w(size(v))
    integer :: row, p
    do row = 1, n
      w(row) = 0
      do p = row_map(row) + 1, row_map(row + 1)
        w(row) = w(row) + values(p) * v(columns(p) + 1)
      end do
    end do
  end function
end program
