# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Factors of many matrices with one pattern."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from . import _core
from ._arrays import Csr, Vectors, as_csr, as_systems, from_dlpack, on_device, with_scalar, writable
from ._closing import Closing
from ._core import BatchReport
from ._errors import AccuracyWarning, BatchError, describe_failures, warn
from ._options import make_solver
from ._solvers import Inertia


class BatchErrors(NamedTuple):
    """Backward errors of the last solutions: an element per system, NaN without a solution."""

    componentwise: np.ndarray
    normwise: np.ndarray


def batch_pattern(A: Any) -> Csr:
    """The matrix whose pattern a batch has.

    Values of a batch are in the order of its entries, which must therefore be that of the library.
    """
    csr = as_csr(A)
    data = getattr(A, "data", None)
    if getattr(A, "format", "csr") != "csr" or (isinstance(data, np.ndarray) and len(data) != len(csr.data)):
        raise ValueError("A: a batch needs csr without duplicates, because its values are in the order of A's entries")
    if not getattr(A, "has_sorted_indices", True):
        raise ValueError("A: a batch needs sorted columns, because its values are in the order of A's entries")
    return csr


def _scalar_name(array: Any) -> str:
    return str(array.dtype).rsplit(".", 1)[-1]


def _common_scalar(A: Csr, values: Any) -> str:
    """The scalar type that represents A and the values of the batch."""
    if not hasattr(values, "dtype"):
        values = np.asarray(values)
    name = np.result_type(A.scalar, _scalar_name(values)).name
    return name if name in ("float32", "float64", "complex64", "complex128") else A.scalar


class BatchedFactors(Closing):
    """Base class of factors of K matrices with one pattern, which hold memory until `close` or the end of `with`.

    `A` is csr with sorted columns. Its values represent those of the batch: scales and pivots are chosen for them.
    `values` is [K × entries of A], each row in the order of A.data. Any strides are read without a copy: an array in
    C order has one system after the other, the transpose of one [entries × K] has interleaved systems.

    A system that cannot be solved changes nothing in the others. With `on_failure` "raise" such systems are a
    BatchError, with "warn" an AccuracyWarning, with "ignore" nothing but `statuses`. Their solutions are NaN.
    """

    _method = ""

    def __init__(self, A: Any, values: Any, mask: Any = None, on_failure: str = "raise", **options: Any) -> None:
        if on_failure not in ("raise", "warn", "ignore"):
            raise ValueError("on_failure has to be 'raise', 'warn' or 'ignore'")
        csr = batch_pattern(A)
        csr = with_scalar(csr, _common_scalar(csr, values))
        self._shape: tuple[int, int] = csr.shape
        self._on_failure = on_failure
        self._solve_singular = bool(options.get("solve_singular", False))
        self._batch = make_solver(self._method, csr, options, _core.Batch)
        self._batch.analyze(csr.shape, csr.indptr, csr.indices, csr.data)
        self._values: Any = None
        self._systems = 0
        self._masked = np.empty(0, dtype=np.int64)
        self.refactor(values, mask)

    def refactor(self, values: Any, mask: Any = None) -> None:
        """Factorizes matrices of the same pattern with new values [K × entries]; K may change.

        `mask` has a bool for each system; those where it is False are skipped. Raises ValueError, and changes nothing,
        for wrong shapes and for values that are NaN or infinite, with system, row and column. If
        `report.chunks` is above 1, the values are read again by `solve`, and must not be changed before.
        """
        numbers = as_systems(values, "values", self._batch.scalar)
        used = None if mask is None else np.ascontiguousarray(mask)
        if used is not None and used.dtype != np.bool_:
            raise TypeError(f"mask: an array of bool is wanted, not {used.dtype}")
        status = self._batch.factorize(numbers.array, used)
        self._values = values if self._batch.chunks > 1 else None
        self._systems = int(numbers.array.shape[0])
        self._masked = np.empty(0, dtype=np.int64) if used is None else np.flatnonzero(~used)
        if status not in ("success", "not_solved"):
            self._judge()

    def solve(self, b: Any, trans: str = "N", out: Any = None) -> Any:
        """Solves A_k x_k = b_k for all systems, or with trans 'T' or 'H' the transposed or adjoint ones.

        `b` is [K × n] or [K × n × columns] with any strides, as NumPy array or any object with DLPack, or a NumPy
        array [n] for all systems. The solution is of the same kind. Systems that are masked or have no solution are NaN
        in it, and unchanged in `out`, which may be `b`. Raises BatchError, after the other systems have been solved.
        """
        vectors = self._as_block(b)
        if out is not None:
            self._solve_into(vectors.array, writable(out), trans)
            return out
        if vectors.like is not None and on_device(b):
            x = self._batch.new_like(vectors.array)  # NaN
        else:
            x = self._empty_like(vectors)
        failed = self._solve_into(vectors.array, x, trans)
        if isinstance(x, np.ndarray):
            for systems in (self._masked, failed):
                if len(systems):
                    x[systems] = np.nan
        return x if vectors.like is None else from_dlpack(x, b)

    def _as_block(self, b: Any) -> Vectors:
        vectors = as_systems(b, "b", self._batch.scalar)
        if vectors.like is not None:
            return vectors
        array = vectors.array
        if array.ndim == 1:
            if array.shape[0] != self._shape[0]:
                raise ValueError(f"b: it has {array.shape[0]} elements, but the matrices have {self._shape[0]} rows")
            array = np.broadcast_to(array, (self._systems, array.shape[0]))
        return Vectors(array, None)

    def _empty_like(self, vectors: Vectors) -> np.ndarray:
        shape = tuple(vectors.array.shape)
        if vectors.like is not None or 0 in vectors.array.strides:
            return np.empty(shape, self._batch.scalar)
        return np.empty_like(vectors.array)

    def _solve_into(self, b: Any, x: Any, trans: str) -> list[int]:
        """Systems whose elements of x have not been written, unless these raise an exception."""
        status = self._batch.solve(b, x, trans)
        return [] if status in ("success", "unchecked", "not_solved") else self._judge()

    def _factorize_at(self, entries: int, systems: int, values: int, owner: Any) -> None:
        """As `refactor` for values [systems × entries] of `owner` that have been checked, by their address."""
        status, read_again = self._batch.factorize_at(entries, systems, values)
        self._values = owner if read_again else None
        self._systems = systems
        self._masked = np.empty(0, dtype=np.int64)
        if status not in ("success", "not_solved"):
            self._judge()

    def _solve_at(self, b: int, x: int, n: int, columns: int, trans: str) -> list[int]:
        """As `solve` for arrays [systems × n × columns], by their addresses. Systems that have no solution."""
        status = self._batch.solve_at(b, x, n, columns, self._systems, trans)
        return [] if status in ("success", "unchecked", "not_solved") else self._judge()

    def _judge(self) -> list[int]:
        """Raises or warns because of systems that have failed. Returns those without a solution."""
        report = self._batch.report
        found = self._batch.failures(True)
        inaccurate = [f for f in found if f[1] == "error_above_tolerance"]
        if self._solve_singular:
            inaccurate += [f for f in found if f[1] == "numerically_singular"]
        if inaccurate and self._on_failure != "ignore":
            warn(describe_failures(inaccurate, report.systems), AccuracyWarning)
        failed = [f for f in found if f not in inaccurate]
        if failed and self._on_failure == "raise":
            raise BatchError(failed, report)
        if failed and self._on_failure == "warn":
            warn(describe_failures(failed, report.systems), AccuracyWarning)
        return [system for system, _ in failed]

    @property
    def shape(self) -> tuple[int, int, int]:
        """Systems, rows and columns."""
        return (self._systems, *self._shape)

    @property
    def dtype(self) -> np.dtype:
        """Type of values, right-hand sides and solutions."""
        return np.dtype(self._batch.scalar)

    @property
    def report(self) -> BatchReport:
        """Statuses, errors and counts of each system, chunks, bytes and seconds."""
        return self._batch.report

    @property
    def statuses(self) -> list[str]:
        """Status of each system: "success", "numerically_singular", …; "not_solved" before a solve or if masked."""
        return self._batch.report.statuses

    @property
    def errors(self) -> BatchErrors:
        """Componentwise and normwise backward errors of the last solutions."""
        report = self._batch.report
        return BatchErrors(report.componentwise, report.normwise)

    def close(self) -> None:
        self._batch.close()
        self._values = None

    def __repr__(self) -> str:
        state = "closed" if self._batch.closed else self.report.status
        size = f"{self._systems} of {self._shape[0]} × {self._shape[1]}"
        return f"<lutra.{type(self).__name__} {size}, {self.dtype}, {state}>"


class BatchedLU(BatchedFactors):
    """LU factors of many matrices with one pattern, from `splu(A, batch=values)`.

    >>> import numpy as np, scipy.sparse as sp, lutra
    >>> A = sp.csr_matrix([[4.0, 1.0, 0.0], [1.0, 3.0, 0.0], [0.0, 2.0, 2.0]])
    >>> values = np.linspace(1, 2, 100)[:, None] * A.data  # 100 systems
    >>> lu = lutra.splu(A, batch=values)
    >>> x = lu.solve(np.ones((100, 3)))
    >>> bool(np.allclose(2 * x[99], x[0])), set(lu.statuses)
    (True, {'success'})
    """

    _method = "lu"


class BatchedLDLT(BatchedFactors):
    """Factors L D Lᵀ or L D Lᴴ of many matrices, from `ldlt(A, batch=values)` and `cholesky(A, batch=values)`.

    >>> import numpy as np, scipy.sparse as sp, lutra
    >>> K = sp.csr_matrix([[2.0, 1.0], [1.0, 2.0]])
    >>> with lutra.ldlt(K, batch=np.array([[2.0, 1.0, 1.0, 2.0], [1.0, 2.0, 2.0, 1.0]])) as factors:
    ...     factors.inertia[1], factors.solve(np.array([[3.0, 3.0], [3.0, 3.0]]))[1]
    (Inertia(positive=1, negative=1, zero=0), array([1., 1.]))
    """

    _method = "ldlt"

    @property
    def inertia(self) -> list[Inertia | None]:
        """Signs of the eigenvalues of each system; None if unknown."""

        def signs(found: Any) -> Inertia | None:
            if found.positive is None or found.negative is None or found.zero is None:
                return None
            return Inertia(found.positive, found.negative, found.zero)

        return [signs(found) for found in self.report.inertia]
