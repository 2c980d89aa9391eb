# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LU of a matrix that is distributed by rows over the ranks of MPI. Needs mpi4py.

Run a program with `mpirun -n 4 python3 -m mpi4py program.py`, which ends all ranks if one fails:

    from mpi4py import MPI
    from lutra.mpi import DistributedLU

    with DistributedLU(MPI.COMM_WORLD) as lu:
        lu.factorize(A)  # the rows of this rank
        x = lu.solve(b)  # the elements of b and x in these rows
"""

from __future__ import annotations

from types import TracebackType
from typing import Any, Callable

import numpy as np
import scipy.sparse

from . import _core
from ._arrays import Csr, as_vectors, csr_rows
from ._core import Report
from ._errors import judge
from ._options import OptionTexts, lists_options, option_texts

if not hasattr(_core, "RankSolver"):
    raise ImportError("lutra.mpi: this lutra was built without MPI; `pip install ./python` builds the sources with it")

try:
    from mpi4py import MPI
except ImportError as error:
    raise ImportError(
        "lutra.mpi needs mpi4py, compiled with the MPI of Lutra: Debian's package python3-mpi4py, "
        "or pip install --no-binary mpi4py mpi4py"
    ) from error


def _check_library() -> None:
    """Handles of one MPI mean nothing to another."""
    theirs, ours = MPI.Get_library_version().split("\0")[0].strip(), _core.mpi_library().split("\0")[0].strip()
    if theirs != ours:
        raise ImportError(f"mpi4py uses {theirs.splitlines()[0]!r}, but Lutra {ours.splitlines()[0]!r}")


_check_library()


def _indices_of_rows(rows: Any, count: int) -> np.ndarray:
    """The indices of `count` rows in the whole matrix, or, for None, those after the rows of lower ranks."""
    if rows is None or isinstance(rows, (int, np.integer)):
        return np.arange(count, dtype=np.int64) + (0 if rows is None else int(rows))
    indices = np.asarray(rows)
    if indices.dtype.kind not in "iu" and indices.size:
        raise TypeError(f"rows: integers are wanted, not {indices.dtype}")
    if indices.shape != (count,):
        raise ValueError(f"rows: an array of {count} indices is wanted, as many as A has rows, not of {indices.shape}")
    return np.ascontiguousarray(indices, np.int64)


@lists_options(_core.list_rank_options())
class DistributedLU:
    """LU factors of a matrix that is distributed by rows over the ranks of a communicator of mpi4py.

    All calls but `report` are collective: all ranks make them in the same order, with the same options, the same
    `trans` and the same number of right-hand sides. What one rank passes wrongly is an error on all ranks with one
    message, a ValueError; on that rank it may be a TypeError. A rank may come late to a call. If one rank leaves a
    `with` block by an exception of its own, the calls of the other ranks raise RuntimeError.
    """

    def __init__(self, comm: MPI.Comm, **options: Any) -> None:
        if not isinstance(comm, MPI.Comm):
            raise TypeError(f"comm: a communicator of mpi4py is wanted, not {type(comm).__name__}")
        self._raised: BaseException | None = None  # by the last collective call, on all ranks
        self._pattern: tuple[np.ndarray, np.ndarray] | None = None  # indptr and indices of the rows of this rank
        self._scalar = "float64"
        self._n = 0
        given, problem, own = OptionTexts([], []), "", None
        try:
            given = option_texts(options)
        except (TypeError, ValueError) as error:
            problem, own = str(error), error
        try:
            self._solver = _core.RankSolver(comm.py2f(), given.named, given.order, problem)
        except ValueError as error:
            if own is None:
                raise
            raise type(own)(str(error)) from own

    def factorize(self, A: Any, rows: Any = None) -> None:
        """Analyzes and factorizes a matrix.

        `A` has the rows of this rank: a SciPy matrix of local rows × n columns, columns numbered as in the whole
        matrix. `rows` has the indices of these rows in the whole matrix, in any order, or the index of the first of
        consecutive rows; by default the rows of the ranks follow one another. Each row is on one rank. The scalar type
        is one that holds the values of all ranks. The analysis of a matrix with the same rows and columns is used
        again. After an error there may be no factors.
        """

        def prepare() -> tuple[Csr, np.ndarray]:
            csr = csr_rows(A)
            return csr, _indices_of_rows(rows, csr.shape[0])

        def run(given: tuple[Csr, np.ndarray] | None, problem: str) -> str:
            csr, indices = given or (None, None)
            own, count = ("float32", 0) if csr is None else (csr.scalar, csr.shape[0])
            scalar, rows_before = self._solver.agree(own, count, problem)
            try:
                if rows is None:
                    indices = indices + rows_before
                pattern = (np.array(csr.indptr, np.int64), np.array(csr.indices, np.int64))
                data = np.ascontiguousarray(csr.data, scalar)
            except MemoryError as error:  # of this rank alone, after all have agreed
                self._solver.abandon(f"{type(error).__name__}: {error}")
                raise
            status = self._solver.factorize(scalar, csr.shape[1], indices, *pattern, data)
            self._pattern, self._scalar, self._n = pattern, scalar, csr.shape[1]
            return status

        self._collective(prepare, run)

    def refactorize(self, A: Any) -> None:
        """Factorizes new values of the last matrix, without a new analysis.

        `A` has the rows of this rank, in their order and with the same pattern. Raises ValueError on all ranks, and
        changes nothing, if the pattern differs on one, or a value is NaN or infinite.
        """

        def prepare() -> np.ndarray:
            csr = csr_rows(A)
            if self._pattern is None:
                return np.empty(0)  # the library refuses
            same = all(np.array_equal(*pair) for pair in zip(self._pattern, (csr.indptr, csr.indices)))
            if csr.shape[1] != self._n or not same:
                raise ValueError("A: its pattern is not that of the factors; call factorize")
            if not np.can_cast(csr.scalar, self._scalar):
                raise TypeError(f"A: the factors are of {self._scalar}, the matrix of {csr.scalar}; call factorize")
            return np.ascontiguousarray(csr.data, self._scalar)

        def run(data: np.ndarray | None, problem: str) -> str:
            return self._solver.refactorize(np.empty(0) if data is None else data, problem)

        self._collective(prepare, run)

    def solve(self, b: Any, trans: str = "N") -> np.ndarray:
        """Solves A x = b for one or several columns, or with trans 'T' or 'H' the transposed or adjoint system.

        `b` is an array with the elements in the rows of this rank, in their order; so is the result. Raises
        SingularMatrixError or BreakdownError on all ranks. If the error of the solution exceeds the tolerance, there is
        an AccuracyWarning.
        """
        out = np.empty(0)

        nothing = np.empty((0, 1), self._scalar, order="F")

        def prepare() -> tuple[np.ndarray, np.ndarray, bool]:
            if trans not in ("N", "T", "H"):
                raise ValueError("trans has to be 'N', 'T' or 'H'")
            array = as_vectors(b if scipy.sparse.issparse(b) else np.asarray(b), self._scalar).array
            columns = np.asfortranarray(array[:, np.newaxis] if array.ndim == 1 else array)
            return columns, np.empty_like(columns), array.ndim == 1

        def run(given: tuple[np.ndarray, np.ndarray, bool] | None, problem: str) -> str:
            nonlocal out
            columns, x, is_vector = given or (nothing, nothing, True)
            status = self._solver.solve(columns, x, trans, problem)
            out = x[:, 0] if is_vector else x
            return status

        self._collective(prepare, run)
        return out

    @property
    def report(self) -> Report:
        """Status and errors on all ranks; choices, counts and times on rank 0."""
        return self._solver.report

    def close(self) -> None:
        """Waits for all ranks, and frees factors and communicator. Further calls raise ValueError."""
        self._solver.close()

    def _collective(self, prepare: Callable[[], Any], run: Callable[[Any, str], str]) -> None:
        """Calls run(prepare(), ""); if prepare raises, run(None, the message), because other ranks must not wait."""
        given, own = None, None
        try:
            given = prepare()
        except Exception as error:
            own = error
        try:
            try:
                judge(run(given, "" if own is None else str(own) or type(own).__name__), self.report)
            except ValueError as error:
                if not isinstance(own, TypeError):
                    raise
                raise TypeError(str(error)) from own
        except Exception as error:
            self._raised = error
            raise

    def __enter__(self) -> DistributedLU:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            return self.close()
        if error is not self._raised:  # other ranks may wait for this one
            self._solver.abandon(f"{type(error).__name__}: {error}")
        self._solver.drop()
