! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! Fortran 2003 interface: the functions of lutra.h and lutra_mpi.h under the same names, with the same
! arguments; these headers document them. The calling program compiles this module (CMake: link Lutra::fortran), because compiled
! module files are specific to a compiler. Pass arrays by c_loc; they must be targets. Rows, columns and
! offsets count from 0.
!
!   integer(c_int) :: status
!   type(c_ptr) :: solver
!   status = lutra_create(solver, LUTRA_LU, LUTRA_F64, LUTRA_INT32, c_null_ptr)
!   status = lutra_set_option(solver, lutra_text("ordering"), lutra_text("amd"))
!   status = lutra_analyze(solver, A)
!   if (status /= LUTRA_SUCCESS) print *, lutra_error_message()
module lutra
  use, intrinsic :: iso_c_binding
  implicit none
  public

  enum, bind(c)  ! lutra_status
    enumerator :: LUTRA_SUCCESS = 0
    enumerator :: LUTRA_NOT_SOLVED = 1, LUTRA_STRUCTURALLY_SINGULAR = 2, LUTRA_NUMERICALLY_SINGULAR = 3
    enumerator :: LUTRA_NOT_POSITIVE_DEFINITE = 4, LUTRA_ERROR_ABOVE_TOLERANCE = 5, LUTRA_BREAKDOWN = 6
    enumerator :: LUTRA_NOT_CONVERGED = 7, LUTRA_NO_VALUE = 8, LUTRA_UNCHECKED = 9
    enumerator :: LUTRA_INPUT_ERROR = -1, LUTRA_CALL_ORDER_ERROR = -2, LUTRA_OUT_OF_MEMORY = -3
    enumerator :: LUTRA_TIMEOUT = -4, LUTRA_NOT_BUILT = -5, LUTRA_INTERNAL_ERROR = -6
    enumerator :: LUTRA_CANCELLED = -7
  end enum
  enum, bind(c)  ! lutra_method
    enumerator :: LUTRA_LU = 0, LUTRA_LDLT = 1, LUTRA_CHOLESKY = 2, LUTRA_ILU = 3, LUTRA_KRYLOV = 4, &
                  LUTRA_AUTO = 5
  end enum
  enum, bind(c)  ! lutra_scalar
    enumerator :: LUTRA_F32 = 0, LUTRA_F64 = 1, LUTRA_C64 = 2, LUTRA_C128 = 3
  end enum
  enum, bind(c)  ! lutra_index
    enumerator :: LUTRA_INT32 = 0, LUTRA_INT64 = 1
  end enum
  enum, bind(c)  ! lutra_operation
    enumerator :: LUTRA_NONE = 0, LUTRA_TRANSPOSED = 1, LUTRA_ADJOINT = 2
  end enum
  enum, bind(c)  ! lutra_parts
    enumerator :: LUTRA_LOWER = 1, LUTRA_DIAGONAL = 2, LUTRA_UPPER = 4
  end enum
  enum, bind(c)  ! lutra_memory
    enumerator :: LUTRA_HOST = 0, LUTRA_DEVICE = 1
  end enum

  type, bind(c) :: lutra_matrix
    integer(c_int64_t) :: n_rows = 0, n_cols = 0, nnz = 0
    type(c_ptr) :: row_map = c_null_ptr, columns = c_null_ptr, values = c_null_ptr
    integer(c_int) :: row_map_type = LUTRA_INT32
  end type

  enum, bind(c)  ! lutra_event_kind
    enumerator :: LUTRA_CALL_BEGINS = 0, LUTRA_CALL_ENDS = 1, LUTRA_STAGE_BEGINS = 2, LUTRA_STAGE_ENDS = 3
    enumerator :: LUTRA_CHOICE = 4, LUTRA_ESCALATION = 5
  end enum
  type, bind(c) :: lutra_event
    integer(c_int) :: kind = 0
    type(c_ptr) :: name = c_null_ptr, text = c_null_ptr
    real(c_double) :: seconds = 0
    integer(c_int64_t) :: bytes = 0, peak_bytes = 0
  end type

  type, bind(c) :: lutra_memory_forecast  ! bytes
    integer(c_int64_t) :: factors_device = 0, factors_host = 0
    integer(c_int64_t) :: factorization_device = 0, factorization_host = 0
    integer(c_int64_t) :: solve_device = 0, solve_host = 0
  end type

  type, bind(c) :: lutra_strides  ! in elements
    integer(c_int64_t) :: row = 1, column = 1, system = 1
  end type

  type, bind(c) :: lutra_rows  ! of lutra_mpi.h
    integer(c_int64_t) :: n = 0, n_rows = 0, nnz = 0
    type(c_ptr) :: rows = c_null_ptr, row_map = c_null_ptr, columns = c_null_ptr, values = c_null_ptr
    integer(c_int) :: row_map_type = LUTRA_INT32
  end type

  interface
    integer(c_int) function lutra_initialize(num_threads, device) bind(c)
      import
      integer(c_int), value :: num_threads, device
    end function
    integer(c_int) function lutra_finalize() bind(c)
      import
    end function
    type(c_ptr) function lutra_version() bind(c)
      import
    end function
    type(c_ptr) function lutra_version_json() bind(c)
      import
    end function
    type(c_ptr) function lutra_message() bind(c)
      import
    end function
    type(c_ptr) function lutra_status_name(status) bind(c)
      import
      integer(c_int), value :: status
    end function

    integer(c_int) function lutra_create(solver, method, scalar, index, backend) bind(c)
      import
      type(c_ptr), intent(out) :: solver
      integer(c_int), value :: method, scalar, index
      type(c_ptr), value :: backend  ! c_null_ptr, or the address of a text from lutra_text
    end function
    subroutine lutra_destroy(solver) bind(c)
      import
      type(c_ptr), value :: solver
    end subroutine
    integer(c_int) function lutra_set_option(solver, name, value) bind(c)
      import
      type(c_ptr), value :: solver
      character(kind=c_char), intent(in) :: name(*), value(*)
    end function
    integer(c_int) function lutra_get_option(solver, name, value) bind(c)
      import
      type(c_ptr), value :: solver
      character(kind=c_char), intent(in) :: name(*)
      type(c_ptr), intent(out) :: value
    end function
    integer(c_int) function lutra_set_permutation(solver, n, permutation) bind(c)
      import
      type(c_ptr), value :: solver
      integer(c_int64_t), value :: n
      integer(c_int64_t), intent(in) :: permutation(*)
    end function
    integer(c_int) function lutra_set_memory(solver, memory) bind(c)
      import
      type(c_ptr), value :: solver
      integer(c_int), value :: memory
    end function
    subroutine lutra_stop(solver) bind(c)
      import
      type(c_ptr), value :: solver
    end subroutine
    subroutine lutra_resume(solver) bind(c)
      import
      type(c_ptr), value :: solver
    end subroutine
    integer(c_int) function lutra_set_progress(solver, progress, data) bind(c)
      import
      type(c_ptr), value :: solver, data
      type(c_funptr), value :: progress
    end function
    integer(c_int) function lutra_set_stream(solver, stream) bind(c)
      import
      type(c_ptr), value :: solver, stream
    end function
    ! log: c_funloc of a subroutine log(user, event) bind(c) with type(c_ptr), value :: user and
    ! type(lutra_event), intent(in) :: event; c_null_funptr: none
    integer(c_int) function lutra_set_log(solver, log, user) bind(c)
      import
      type(c_ptr), value :: solver, user
      type(c_funptr), value :: log
    end function

    integer(c_int) function lutra_analyze(solver, A) bind(c)
      import
      type(c_ptr), value :: solver
      type(lutra_matrix), intent(in) :: A
    end function
    integer(c_int) function lutra_factorize(solver, A) bind(c)
      import
      type(c_ptr), value :: solver
      type(lutra_matrix), intent(in) :: A
    end function
    integer(c_int) function lutra_factorize_shifted(solver, A, shift) bind(c)
      import
      type(c_ptr), value :: solver, shift
      type(lutra_matrix), intent(in) :: A
    end function
    integer(c_int) function lutra_solve(solver, op, n_rhs, B, ldb, X, ldx) bind(c)
      import
      type(c_ptr), value :: solver, B, X
      integer(c_int), value :: op
      integer(c_int64_t), value :: n_rhs, ldb, ldx
    end function
    integer(c_int) function lutra_apply(solver, op, n_rhs, B, ldb, X, ldx) bind(c)
      import
      type(c_ptr), value :: solver, B, X
      integer(c_int), value :: op
      integer(c_int64_t), value :: n_rhs, ldb, ldx
    end function
    integer(c_int) function lutra_solve_parts(solver, parts, op, n_rhs, B, ldb, X, ldx) bind(c)
      import
      type(c_ptr), value :: solver, B, X
      integer(c_int), value :: parts, op
      integer(c_int64_t), value :: n_rhs, ldb, ldx
    end function
    integer(c_int) function lutra_determinant(solver, sign, log_magnitude) bind(c)
      import
      type(c_ptr), value :: solver, sign
      real(c_double), intent(out) :: log_magnitude
    end function
    integer(c_int) function lutra_increase_quality(solver, raised) bind(c)
      import
      type(c_ptr), value :: solver
      integer(c_int), intent(out) :: raised
    end function

    integer(c_int) function lutra_forecast(solver, n_rhs, forecast) bind(c)
      import
      type(c_ptr), value :: solver
      integer(c_int64_t), value :: n_rhs
      type(lutra_memory_forecast), intent(out) :: forecast
    end function

    ! Batches
    integer(c_int) function lutra_batch_create(solver, method, scalar, index, backend) bind(c)
      import
      type(c_ptr), intent(out) :: solver
      integer(c_int), value :: method, scalar, index
      type(c_ptr), value :: backend
    end function
    integer(c_int) function lutra_batch_factorize(solver, n_systems, values, entry_stride, system_stride, mask) bind(c)
      import
      type(c_ptr), value :: solver, values
      integer(c_int64_t), value :: n_systems, entry_stride, system_stride
      type(c_ptr), value :: mask  ! c_null_ptr, or one byte for each system
    end function
    integer(c_int) function lutra_batch_solve(solver, op, n_rhs, B, B_strides, X, X_strides) bind(c)
      import
      type(c_ptr), value :: solver, B, X
      integer(c_int), value :: op
      integer(c_int64_t), value :: n_rhs
      type(lutra_strides), intent(in) :: B_strides, X_strides
    end function
    integer(c_int) function lutra_batch_apply(solver, op, n_rhs, B, B_strides, X, X_strides) bind(c)
      import
      type(c_ptr), value :: solver, B, X
      integer(c_int), value :: op
      integer(c_int64_t), value :: n_rhs
      type(lutra_strides), intent(in) :: B_strides, X_strides
    end function

    ! Functions of lutra_mpi.h
    integer(c_int) function lutra_mpi_create(solver, ranks, scalar, index, backend) bind(c, name="lutra_mpi_create_f")
      import
      type(c_ptr), intent(out) :: solver
      integer(c_int), value :: ranks  ! communicator of mpi or mpif.h; that of mpi_f08 has it as MPI_VAL
      integer(c_int), value :: scalar, index
      type(c_ptr), value :: backend
    end function
    integer(c_int) function lutra_mpi_factorize(solver, A) bind(c)
      import
      type(c_ptr), value :: solver
      type(lutra_rows), intent(in) :: A
    end function
    integer(c_int) function lutra_mpi_refactorize(solver, nnz, values) bind(c)
      import
      type(c_ptr), value :: solver, values
      integer(c_int64_t), value :: nnz
    end function

    integer(c_int) function lutra_report_status(solver) bind(c)
      import
      type(c_ptr), value :: solver
    end function
    integer(c_int) function lutra_get_integer(solver, key, value) bind(c)
      import
      type(c_ptr), value :: solver
      character(kind=c_char), intent(in) :: key(*)
      integer(c_int64_t), intent(inout) :: value
    end function
    integer(c_int) function lutra_get_number(solver, key, value) bind(c)
      import
      type(c_ptr), value :: solver
      character(kind=c_char), intent(in) :: key(*)
      real(c_double), intent(inout) :: value
    end function
    integer(c_int) function lutra_get_text(solver, key, value) bind(c)
      import
      type(c_ptr), value :: solver
      character(kind=c_char), intent(in) :: key(*)
      type(c_ptr), intent(inout) :: value
    end function
    integer(c_int) function lutra_get_integers(solver, key, values, count) bind(c)
      import
      type(c_ptr), value :: solver
      character(kind=c_char), intent(in) :: key(*)
      type(c_ptr), intent(inout) :: values
      integer(c_size_t), intent(inout) :: count
    end function
    integer(c_int) function lutra_get_numbers(solver, key, values, count) bind(c)
      import
      type(c_ptr), value :: solver
      character(kind=c_char), intent(in) :: key(*)
      type(c_ptr), intent(inout) :: values
      integer(c_size_t), intent(inout) :: count
    end function
    integer(c_int) function lutra_report_json(solver, json) bind(c)
      import
      type(c_ptr), value :: solver
      type(c_ptr), intent(inout) :: json
    end function
  end interface

contains

  ! Converts a text for C: trailing blanks removed, null-terminated.
  pure function lutra_text(text) result(c_text)
    character(*), intent(in) :: text
    character(kind=c_char, len=:), allocatable :: c_text
    c_text = trim(text) // c_null_char
  end function

  ! Converts a C string to a Fortran string; empty for a null pointer.
  function lutra_string(text) result(string)
    type(c_ptr), intent(in) :: text
    character(:), allocatable :: string
    character(kind=c_char), pointer :: characters(:)
    integer :: length, i
    interface
      integer(c_size_t) function strlen(text) bind(c)
        import
        type(c_ptr), value :: text
      end function
    end interface
    length = 0
    if (c_associated(text)) length = int(strlen(text))
    allocate (character(length) :: string)
    if (length == 0) return
    call c_f_pointer(text, characters, [length])
    do i = 1, length
      string(i:i) = characters(i)
    end do
  end function

  ! Reason for the last call in this thread that did not succeed (lutra_message).
  function lutra_error_message() result(message)
    character(:), allocatable :: message
    message = lutra_string(lutra_message())
  end function
end module
