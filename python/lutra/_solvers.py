# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The solvers: factors of a sequence of matrices with one pattern."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, NamedTuple, overload

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

from . import _core
from ._arrays import Csr, as_csr, as_vectors, from_dlpack, on_device, ordered, with_scalar, writable
from ._closing import Closing
from ._core import MemoryForecast, Report
from ._errors import judge
from ._options import lists_options, make_solver

if TYPE_CHECKING:
    from ._batch import BatchedLDLT, BatchedLU


class Factors(Closing):
    """Base class of all factors. They hold memory until `close` or the end of a `with` block."""

    _method = ""
    _maker = ""  # the function that makes new ones

    def __init__(self, A: Any, options: dict[str, Any]) -> None:
        csr = as_csr(A)
        self._shape: tuple[int, int] = csr.shape
        self._solve_singular = bool(options.get("solve_singular", False))
        self._written: dict[str, Any] | None = None
        self._solver = make_solver(self._method, csr, options)
        self._solver.analyze(csr.shape, csr.indptr, csr.indices, csr.data)
        self._factorize(csr)

    def _factorize(self, A: Csr, shift: Any = None) -> None:
        self._written = None
        try:
            status = self._solver.factorize(A.shape, A.indptr, A.indices, A.data, shift)
        except ValueError as error:
            if "that was analyzed" not in str(error):
                raise
            raise ValueError(f"A: its pattern is not that of the factors; make a new {self._maker} for it") from None
        if status != "not_solved":
            judge(status, self.report, self._solve_singular)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of A."""
        return self._shape

    @property
    def dtype(self) -> np.dtype:
        """Type of the values of A, of right-hand sides and of solutions."""
        return np.dtype(self._solver.scalar)

    @property
    def report(self) -> Report:
        """Choices, counts and times, and the accuracy of the last solution."""
        return self._solver.report

    def refactor(self, A: Any) -> None:
        """Factorizes a matrix with the same pattern and new values, without a new analysis.

        Raises ValueError, and changes nothing, if the pattern differs or a value is NaN or infinite.
        """
        self._factorize(with_scalar(as_csr(A), self._solver.scalar))

    def solve(self, b: Any, trans: str = "N", out: Any = None) -> Any:
        """Solves A x = b for one or several columns, or with trans 'T' or 'H' the transposed or adjoint system.

        `b` is a NumPy array, or any object with DLPack, with the dtype of the factors; narrower types are converted.
        If `b` is on a device, so is the solution, as an array of the same library. `out`, if given, receives the
        solution, and may be `b` itself. Raises SingularMatrixError, or BreakdownError if there is no finite
        solution. If the error of the solution exceeds the tolerance, there is an AccuracyWarning.
        """
        return self._solve_into(b, out, lambda b, x: self._judge_solve(self._solver.solve(b, x, trans)))

    def _solve_into(self, b: Any, out: Any, solve: Callable[[Any, Any], None]) -> Any:
        """Calls solve(b, x) with arrays of the library and returns x as an array of the caller's kind."""
        vectors = as_vectors(b, self._solver.scalar)
        if out is not None:
            solve(vectors.array, writable(out))
            return out
        x: Any
        if vectors.like is not None and on_device(b):
            x = self._solver.new_like(vectors.array)
        elif vectors.like is not None:
            x = np.empty(tuple(b.shape), self._solver.scalar)
        else:
            x = np.empty_like(vectors.array)
        solve(vectors.array, x)
        return x if vectors.like is None else from_dlpack(x, b)

    def _judge_solve(self, status: str) -> None:
        if status != "success":
            judge(status, self.report, self._solve_singular)

    def _factorize_at(self, place: tuple[Any, ...], values: int) -> None:
        """As `_factorize` of arrays that have been checked, by their addresses."""
        self._written = None
        status = self._solver.factorize_at(*place, values)
        if status != "not_solved":
            judge(status, self.report, self._solve_singular)

    def _solve_at(self, b: int, x: int, n: int, columns: int, trans: str) -> None:
        """As `solve` of arrays [n × columns] that have been checked, by their addresses."""
        status = self._solver.solve_at(b, x, n, columns, trans)
        if status != "success":
            self._judge_solve(status)

    def as_linear_operator(self) -> scipy.sparse.linalg.LinearOperator:
        """The inverse as a LinearOperator of SciPy, for instance a preconditioner for its iterative methods.

        Real factors are applied to real and imaginary parts of complex vectors.

        >>> import numpy as np, scipy.sparse as sp, scipy.sparse.linalg as spla, lutra
        >>> A = sp.diags([-1.0, 2.5, -1.0], [-1, 0, 1], shape=(50, 50), format="csr")
        >>> x, info = spla.gmres(A, np.ones(50), M=lutra.spilu(A).as_linear_operator(), atol=0)
        >>> info
        0
        """

        def apply(trans: str) -> Any:
            def solve(b: Any) -> Any:
                if np.iscomplexobj(b) and self.dtype.kind != "c":
                    real, imaginary = (self.solve(np.array(part, dtype=self.dtype), trans) for part in (b.real, b.imag))
                    return real + 1j * imaginary
                return self.solve(np.asarray(b, dtype=self.dtype), trans)

            return solve

        return scipy.sparse.linalg.LinearOperator(
            self._shape, matvec=apply("N"), rmatvec=apply("H"), matmat=apply("N"), rmatmat=apply("H"), dtype=self.dtype
        )

    def close(self) -> None:
        self._solver.close()
        self._written = None

    def __repr__(self) -> str:
        state = "closed" if self._solver.closed else self.report.status
        return f"<lutra.{type(self).__name__} {self._shape[0]} × {self._shape[1]}, {self.dtype}, {state}>"

    # ---- explicit factors -------------------------------------------------------------------------------------

    def _factors(self) -> dict[str, Any]:
        if self._written is None:
            self._written = self._solver.factors()
        return self._written

    def _triangle(self, lower: bool) -> scipy.sparse.csc_matrix:
        f = self._factors()
        wanted = f["rows"] > f["columns"] if lower else f["rows"] <= f["columns"]
        triangle = (f["values"][wanted], (f["rows"][wanted], f["columns"][wanted]))
        result = scipy.sparse.csc_matrix(triangle, shape=self._shape)
        return result + scipy.sparse.identity(self._shape[0], dtype=self.dtype, format="csc") if lower else result

    def _positions(self, order: str) -> np.ndarray:
        positions = np.empty(self._shape[0], dtype=np.int64)
        positions[self._factors()[order]] = np.arange(self._shape[0])
        return positions

    @property
    def L(self) -> scipy.sparse.csc_matrix:
        """Lower triangular factor with its unit diagonal."""
        return self._triangle(lower=True)

    @property
    def perm_r(self) -> np.ndarray:
        """Position of each row of A in the factors, as in SuperLU of SciPy."""
        return self._positions("row_order")

    @property
    def perm_c(self) -> np.ndarray:
        """Position of each column of A in the factors, as in SuperLU of SciPy."""
        return self._positions("col_order")

    @property
    def row_scale(self) -> np.ndarray:
        """Scale factor of each row of A before the factorization; empty without scaling."""
        return self._factors()["row_scale"]

    @property
    def col_scale(self) -> np.ndarray:
        """Scale factor of each column of A before the factorization; empty without scaling."""
        return self._factors()["col_scale"]


class LU(Factors):
    """Complete LU factors of a square matrix, from `splu`."""

    _method = "lu"
    _maker = "splu"

    @property
    def U(self) -> scipy.sparse.csc_matrix:
        """Upper triangular factor, with the pivots on its diagonal.

        L U is the scaled matrix in pivot order, except for rounding and perturbed pivots:

        >>> import numpy as np, scipy.sparse as sp, lutra
        >>> A = sp.csr_matrix([[0.0, 2.0], [3.0, 1.0]])
        >>> lu = lutra.splu(A)
        >>> F = sp.diags(lu.row_scale) @ A @ sp.diags(lu.col_scale)
        >>> rows, columns = np.argsort(lu.perm_r), np.argsort(lu.perm_c)
        >>> np.allclose((lu.L @ lu.U).toarray(), F.toarray()[rows][:, columns])
        True
        """
        return self._triangle(lower=False)


class Inertia(NamedTuple):
    """Numbers of positive, negative and zero eigenvalues."""

    positive: int
    negative: int
    zero: int


class Determinant(NamedTuple):
    """A determinant, sign · exp(log_magnitude). The sign is 0 if the determinant is."""

    sign: float | complex
    log_magnitude: float


class LDLT(Factors):
    """Factors L D Lᵀ of a symmetric or L D Lᴴ of a Hermitian matrix, from `ldlt` and `cholesky`."""

    _method = "ldlt"
    _maker = "ldlt"

    def refactor(self, A: Any, shift: Any = None) -> None:
        """Factorizes A, or A + diag(shift), with the pattern of the analysis and new values.

        `shift` has a real number for each row, in the same memory as A. Solutions are those of the shifted matrix.

        >>> import numpy as np, scipy.sparse as sp, lutra
        >>> A = sp.csr_matrix([[1.0, 2.0], [2.0, 1.0]])
        >>> factors = lutra.ldlt(A)
        >>> factors.refactor(A, shift=np.array([3.0, 3.0]))
        >>> factors.inertia.positive, factors.solve(np.array([6.0, 6.0]))
        (2, array([1., 1.]))
        """
        csr = with_scalar(as_csr(A), self._solver.scalar)
        if shift is None or (hasattr(shift, "__dlpack__") and not isinstance(shift, np.ndarray)):
            return self._factorize(csr, None if shift is None else ordered(shift))
        numbers, real = np.asarray(shift), np.finfo(self._solver.scalar).dtype
        if not np.can_cast(numbers.dtype, real):
            raise TypeError(f"shift: real numbers no wider than {real} are wanted, not {numbers.dtype}")
        self._factorize(csr, np.ascontiguousarray(numbers, dtype=real))

    def solve_parts(self, b: Any, parts: str, trans: str = "N", out: Any = None) -> Any:
        """Solves with some of the factors: `parts` names L, D and Lᵀ (or Lᴴ) by "L", "D" and "U".

        Solves with all three in turn solve A x = b: L includes the scaling of the right-hand side, and U that of the
        solution. Nothing is refined or checked.

        >>> import numpy as np, scipy.sparse as sp, lutra
        >>> factors = lutra.cholesky(sp.csr_matrix([[4.0, 2.0], [2.0, 5.0]]))
        >>> y = factors.solve_parts(np.array([6.0, 7.0]), "L")
        >>> np.allclose(factors.solve_parts(y, "DU"), 1)
        True
        """
        return self._solve_into(b, out, lambda b, x: self._solver.solve_parts(b, x, parts, trans))

    def determinant(self) -> Determinant:
        """The determinant of the last factorized matrix, like numpy.linalg.slogdet.

        >>> import numpy as np, scipy.sparse as sp, lutra
        >>> sign, log_magnitude = lutra.ldlt(sp.csr_matrix([[1.0, 3.0], [3.0, 1.0]])).determinant()
        >>> float(sign), round(float(np.exp(log_magnitude)), 12)
        (-1.0, 8.0)
        """
        sign, log_magnitude = self._solver.determinant()
        return Determinant(sign if self.dtype.kind == "c" else sign.real, log_magnitude)

    def increase_quality(self) -> bool:
        """Raises the pivot threshold u to u^0.75, but at most to 1/2, for every later `refactor`.

        Factors become more accurate, and more pivots are delayed. Returns False if the threshold cannot be raised.

        >>> import scipy.sparse as sp, lutra
        >>> factors = lutra.ldlt(sp.csr_matrix([[1.0, 3.0], [3.0, 1.0]]), pivot_threshold=0.01)
        >>> factors.increase_quality()
        True
        """
        return self._solver.increase_quality()

    @property
    def inertia(self) -> Inertia | None:
        """Signs of the eigenvalues; None if pivots were perturbed, and for complex symmetric matrices."""
        found = self.report.inertia
        if found.positive is None or found.negative is None or found.zero is None:
            return None
        return Inertia(found.positive, found.negative, found.zero)

    @property
    def D(self) -> scipy.sparse.csc_matrix:
        """Block diagonal factor with blocks of one and two rows."""
        f = self._factors()
        below = f["off_diagonal"][:-1]
        above = below.conj() if self._hermitian else below
        return scipy.sparse.diags([below, f["diagonal"], above], [-1, 0, 1], format="csc")

    def __init__(self, A: Any, options: dict[str, Any]) -> None:
        self._hermitian = options.get("symmetry", "symmetric") == "hermitian"
        super().__init__(A, options)


class ILU(Factors):
    """Incomplete LU factors, from `spilu`. `solve` applies them and returns an approximate, unchecked solution."""

    _method = "ilu"
    _maker = "spilu"

    def _judge_solve(self, status: str) -> None:
        if status != "not_solved":
            judge(status, self.report)

    @property
    def U(self) -> scipy.sparse.csc_matrix:
        """Upper triangular factor."""
        return self._triangle(lower=False)


def forecast(A: Any, n_rhs: int = 1, method: str = "auto", **options: Any) -> MemoryForecast | None:
    """Analyzes a square sparse matrix and predicts the bytes of its factors, before they are computed.

    `method` is "auto", "lu", "ldlt" or "cholesky"; options are those of the function that factorizes. `factors`,
    `factorization` and `solve` of the result, the latter two as peaks with the analysis, have the bytes of the
    backend's memory (`device`, on hosts too) and of host memory beside it (`host`). None for a structurally
    singular matrix. Delayed pivots are not known before.

    >>> import scipy.sparse as sp, lutra
    >>> A = sp.diags([-1.0, 4.0, -1.0], [-1, 0, 1], shape=(1000, 1000), format="csr")
    >>> told = lutra.forecast(A)
    >>> told.factors.device <= told.factorization.device <= told.solve.device
    True
    """
    if n_rhs < 1:
        raise ValueError(f"n_rhs: it is {n_rhs}, less than 1")
    csr = as_csr(A)
    solver = make_solver(method, csr, options)
    solver.analyze(csr.shape, csr.indptr, csr.indices, csr.data)
    return solver.forecast(n_rhs)


def _batched(method: str, A: Any, values: Any, options: dict[str, Any]) -> Any:
    from . import _batch  # which needs the classes of this module

    return getattr(_batch, f"Batched{method}")(A, values, **options)


@overload
def splu(A: Any, batch: None = None, **options: Any) -> LU: ...
@overload
def splu(A: Any, batch: Any, **options: Any) -> BatchedLU: ...
@lists_options(_core.list_options("lu"))
def splu(A: Any, batch: Any = None, **options: Any) -> LU | BatchedLU:
    """Factorizes a square sparse matrix by LU, or with `batch` many matrices of its pattern.

    `A` is a matrix or array of scipy.sparse in any format; csr is not copied. If Lutra is built for the device,
    csr of CuPy and sparse_csr of PyTorch are read there. The defaults of the options, listed below, suit most
    matrices. user_permutation has the columns of A in the order of elimination. The ordering is chosen for 20
    factorizations; set expected_factorizations to 1 for a single one, or higher if many calls of `refactor` follow.
    log is a function that is called with each `Event`, or a logging.Logger: escalations are warnings, choices infos.

    Returns `LU`, or with `batch`, the values [systems × entries] of the other matrices, `BatchedLU`.
    Raises SingularMatrixError with rows and columns, ValueError for invalid matrices and options, MemoryError.

    >>> import numpy as np, scipy.sparse as sp, lutra
    >>> A = sp.csc_matrix([[2.0, 1.0], [0.0, 4.0]])
    >>> lu = lutra.splu(A, ordering="amd")
    >>> lu.solve(np.array([4.0, 8.0]))
    array([1., 2.])
    >>> lu.solve(np.array([2.0, 9.0]), trans="T")
    array([1., 2.])
    >>> lu.refactor(2 * A)
    >>> lu.solve(np.array([4.0, 8.0]))
    array([0.5, 1. ])
    >>> lu.report.errors.backward_componentwise < 1e-12
    True
    """
    return LU(A, options) if batch is None else _batched("LU", A, batch, options)


@overload
def ldlt(A: Any, batch: None = None, **options: Any) -> LDLT: ...
@overload
def ldlt(A: Any, batch: Any, **options: Any) -> BatchedLDLT: ...
@lists_options(_core.list_options("ldlt"))
def ldlt(A: Any, batch: Any = None, **options: Any) -> LDLT | BatchedLDLT:
    """Factorizes a symmetric or Hermitian matrix, definite or indefinite, and finds its inertia.

    Returns `LDLT`, or with `batch`, the values [systems × entries] of matrices with A's pattern, `BatchedLDLT`.

    Options are listed below. user_permutation has the rows of A in the order of elimination.

    >>> import numpy as np, scipy.sparse as sp, lutra
    >>> K = sp.csr_matrix([[2.0, 0.0, 1.0], [0.0, 2.0, 1.0], [1.0, 1.0, 0.0]])
    >>> with lutra.ldlt(K) as factors:
    ...     factors.inertia
    Inertia(positive=2, negative=1, zero=0)
    """
    return LDLT(A, options) if batch is None else _batched("LDLT", A, batch, options)


@overload
def cholesky(A: Any, batch: None = None, **options: Any) -> LDLT: ...
@overload
def cholesky(A: Any, batch: Any, **options: Any) -> BatchedLDLT: ...
def cholesky(A: Any, batch: Any = None, **options: Any) -> LDLT | BatchedLDLT:
    """Factorizes a positive definite matrix: L D Lᴴ with a positive diagonal D. Options and `batch` are as in `ldlt`.

    Complex matrices must be Hermitian. Raises NotPositiveDefiniteError with the column of the failed pivot.

    >>> import numpy as np, scipy.sparse as sp, lutra
    >>> lutra.cholesky(sp.diags([4.0, 9.0])).solve(np.array([8.0, 9.0]))
    array([2., 1.])
    """
    return ldlt(A, batch, **{"symmetry": "hermitian", **options, "positive_definite": True})


@lists_options(_core.list_options("ilu"))
def spilu(A: Any, **options: Any) -> ILU:
    """Computes incomplete factors: a preconditioner for `gmres`, or for SciPy by `as_linear_operator`.

    Options are listed below. user_permutation has the columns of A in the order of elimination. On devices `solve` may
    apply the factors by a few Jacobi sweeps, if they come close in less time; with apply="exact" it never does.

    >>> import numpy as np, scipy.sparse as sp, lutra
    >>> A = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(6, 6), format="csr")
    >>> ilu = lutra.spilu(A, fill_level=1, apply="exact")
    >>> np.allclose(A @ ilu.solve(np.ones(6)), 1)  # no fill in a tridiagonal matrix: the factors are exact
    True
    """
    return ILU(A, options)
