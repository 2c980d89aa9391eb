! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
! Rows on two ranks from Fortran, by the integer communicator of the module mpi.
program lutra_test_fortran_ranks
  use, intrinsic :: iso_c_binding
  use mpi
  use lutra
  implicit none

  ! (4 1 0 0; 1 4 1 0; 0 1 4 1; 0 0 1 4), two rows on a rank, counted from 0
  integer(c_int), target :: rows(2), row_map(3), columns(5)
  real(c_double), target :: values(5), b(2), x(2)
  type(lutra_rows) :: A
  type(c_ptr) :: solver
  integer :: error, rank, size

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, size, error)
  call require(size == 2, "two ranks")
  if (rank == 0) then
    row_map = [0, 2, 5]
    columns = [0, 1, 0, 1, 2]
    values = [4, 1, 1, 4, 1]
    b = [6, 12]
  else
    row_map = [0, 3, 5]
    columns = [1, 2, 3, 2, 3]
    values = [1, 4, 1, 1, 4]
    b = [18, 19]
  end if
  rows = [2 * rank, 2 * rank + 1]
  A = lutra_rows(4, 2, 5, c_loc(rows), c_loc(row_map), c_loc(columns), c_loc(values), LUTRA_INT32)

  call expect(lutra_mpi_create(solver, MPI_COMM_WORLD, LUTRA_F64, LUTRA_INT32, c_null_ptr), LUTRA_SUCCESS, "")
  columns(5) = 2 + 2 * rank  ! wrong on rank 1
  call expect(lutra_mpi_factorize(solver, A), LUTRA_INPUT_ERROR, "row 3: column 4")
  columns(5) = 2 + rank
  call expect(lutra_mpi_factorize(solver, A), LUTRA_SUCCESS, "")
  call expect(lutra_solve(solver, LUTRA_NONE, 1_c_int64_t, c_loc(b), 2_c_int64_t, c_loc(x), 2_c_int64_t), &
              LUTRA_SUCCESS, "")
  call require(maxval(abs(x - [1 + 2 * rank, 2 + 2 * rank])) < 1e-12, "solution")
  values = 2 * values
  call expect(lutra_mpi_refactorize(solver, 5_c_int64_t, c_loc(values)), LUTRA_SUCCESS, "")
  call expect(lutra_solve(solver, LUTRA_NONE, 1_c_int64_t, c_loc(b), 2_c_int64_t, c_loc(x), 2_c_int64_t), &
              LUTRA_SUCCESS, "")
  call require(maxval(abs(2 * x - [1 + 2 * rank, 2 + 2 * rank])) < 1e-12, "second solution")
  call lutra_destroy(solver)
  call expect(lutra_finalize(), LUTRA_SUCCESS, "")
  call MPI_Finalize(error)

contains

  subroutine require(condition, what)
    logical, intent(in) :: condition
    character(*), intent(in) :: what
    if (condition) return
    print *, "rank", rank, "failed: ", what
    call MPI_Abort(MPI_COMM_WORLD, 1, error)
  end subroutine

  subroutine expect(status, expected, text)
    integer(c_int), intent(in) :: status, expected
    character(*), intent(in) :: text
    call require(status == expected, "status; " // lutra_error_message())
    if (text /= "") call require(index(lutra_error_message(), text) > 0, lutra_error_message())
  end subroutine
end program
