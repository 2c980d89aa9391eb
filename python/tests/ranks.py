# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of lutra.mpi on the ranks of mpirun. Each test runs on all ranks.

mpirun -n 2 python3 ranks.py
"""

from __future__ import annotations

import sys
import types
import unittest
import warnings
from typing import Any, Callable
from unittest import mock

try:
    from mpi4py import MPI
except ImportError:
    print("skipped: mpi4py is not installed (Debian: python3-mpi4py)")
    sys.exit(0)

import numpy as np
import scipy.sparse as sp
from common import SCALARS, random_values, tolerance, unsymmetric

import lutra

try:
    from lutra.mpi import DistributedLU
except ImportError as error:  # mpi4py has another MPI
    print("skipped:", error)
    sys.exit(0)

RANKS = MPI.COMM_WORLD
IS_LAST = RANKS.rank == RANKS.size - 1
PREFIX = f"rank {RANKS.size - 1}: " if RANKS.size > 1 else ""


def rows_of(A: sp.csr_matrix) -> slice:
    """Consecutive rows of this rank."""
    n = A.shape[0]
    return slice(n * RANKS.rank // RANKS.size, n * (RANKS.rank + 1) // RANKS.size)


class Solutions(unittest.TestCase):
    def check(self, A: sp.csr_matrix, x: np.ndarray, local: np.ndarray, mine: Any) -> None:
        error = abs(local - x[mine]).max(initial=0) / abs(x).max()
        self.assertLess(error, 1e3 * tolerance(str(A.dtype)))

    def test_types_transposed_and_columns(self) -> None:
        for scalar in SCALARS:
            A = unsymmetric(90, scalar)
            x, X = random_values(90, scalar), random_values((90, 3), scalar)
            mine = rows_of(A)
            with DistributedLU(RANKS) as lu:
                lu.factorize(A[mine])
                for trans, op in (("N", A), ("T", A.T), ("H", A.conj().T)):
                    self.check(A, x, lu.solve((op @ x)[mine], trans), mine)
                    for order in "CF":
                        self.check(A, X, lu.solve(np.array((op @ X)[mine], order=order), trans), mine)
                b = (A @ x)[mine]
                b.flags.writeable = False
                self.check(A, x, lu.solve(b), mine)
                self.assertEqual(lu.report.status, "success")
                self.assertLess(lu.report.errors.backward_componentwise, tolerance(scalar))
                self.assertEqual(lu.solve((A @ X)[mine][:, :0]).shape, (A[mine].shape[0], 0))

    def test_rows_in_any_order_or_from_a_first_one(self) -> None:
        A, x = unsymmetric(50), random_values(50, "float64")
        last_first = np.arange(RANKS.rank, 50, RANKS.size)[::-1]
        with DistributedLU(RANKS, ordering="amd", pivoting=None) as lu:
            lu.factorize(A[last_first], last_first)
            self.check(A, x, lu.solve((A @ x)[last_first]), last_first)
            mine = rows_of(A)
            lu.factorize(A[mine].tocoo(), mine.start)
            self.check(A, x, lu.solve((A @ x)[mine]), mine)
            # all rows on the last rank
            mine = slice(0, 50 if IS_LAST else 0)
            lu.factorize(A[mine])
            self.check(A, x, lu.solve((A @ x)[mine]), mine)

    def test_new_values(self) -> None:
        A, x = unsymmetric(60), random_values(60, "float64")
        mine = rows_of(A)
        rows = A[mine]
        with DistributedLU(RANKS) as lu:
            lu.factorize(rows)
            rows.data *= 1.5
            lu.refactorize(rows)
            self.check(A, x, lu.solve((1.5 * A @ x)[mine]), mine)
            lu.factorize(rows)  # the same pattern, too
            self.check(A, x, lu.solve((1.5 * A @ x)[mine]), mine)

    def test_ranks_may_have_different_types(self) -> None:
        if "complex128" not in SCALARS or RANKS.size == 1:
            self.skipTest("needs complex128 and two ranks")
        A = sp.csr_matrix(sp.diags([-1.0, 4.0], [-1, 0], shape=(20, 20)), dtype="complex128")
        mine, x = rows_of(A), random_values(20, "complex128")
        with DistributedLU(RANKS) as lu:
            lu.factorize(A[mine] if IS_LAST else A[mine].real.astype("float32"))
            self.check(A, x, lu.solve((A @ x)[mine]), mine)

    def test_a_permutation_of_the_user(self) -> None:
        A, x = unsymmetric(40), random_values(40, "float64")
        mine = rows_of(A)
        with DistributedLU(RANKS, user_permutation=range(39, -1, -1)) as lu:
            lu.factorize(A[mine])
            self.check(A, x, lu.solve((A @ x)[mine]), mine)

    def test_help_lists_the_options(self) -> None:
        self.assertIn("ordering: ", DistributedLU.__doc__)
        self.assertNotIn("solve_singular", DistributedLU.__doc__)


class Errors(unittest.TestCase):
    def assert_all_raise(self, error: type[Exception], text: str, call: Callable[[], Any]) -> None:
        """All ranks raise one message with the text, the last rank an exception of the type given."""
        with self.assertRaises(error if IS_LAST else ValueError) as caught:
            call()
        message = str(caught.exception)
        self.assertIn(text, message)
        self.assertEqual(message, RANKS.bcast(message))

    def setUp(self) -> None:
        self.A = unsymmetric(40)
        self.mine = rows_of(self.A)
        self.rows = self.A[self.mine]
        self.b = np.ones(self.rows.shape[0])
        self.first = 40 * (RANKS.size - 1) // RANKS.size  # of the last rank

    def wrong(self, change: Callable[[sp.csr_matrix], Any]) -> Any:
        """The rows of this rank, on the last rank changed."""
        rows = self.rows.copy()
        changed = change(rows) if IS_LAST else None
        return rows if changed is None else changed

    def test_wrong_matrices_of_one_rank(self) -> None:
        def entry(name: str, value: float) -> Callable[[sp.csr_matrix], None]:
            def change(rows: sp.csr_matrix) -> None:
                getattr(rows, name)[0] = value

            return change

        row = f"row {self.first}"
        with DistributedLU(RANKS) as lu:
            for change, text in (
                (entry("data", np.nan), f"A: {row}, column {self.A[self.first].indices[0]} is not finite"),
                (entry("indices", 40), f"{row}: column 40 is not in a matrix of 40"),
                (entry("indices", -1), f"{row}: column -1 is not in a matrix of 40"),
                (entry("indptr", 5), PREFIX + "A: row 0 begins and ends at 5"),
            ):
                self.assert_all_raise(ValueError, text, lambda: lu.factorize(self.wrong(change)))  # noqa: B023
            for replacement, error, text in (
                ("A", TypeError, PREFIX + "A: a sparse matrix of SciPy is wanted, not str"),
                (self.rows.astype(np.longdouble), TypeError, "cannot be solved"),
            ):
                self.assert_all_raise(error, text, lambda: lu.factorize(self.wrong(lambda _: replacement)))  # noqa: B023
            start = self.mine.start
            for rows, error, text in (
                (np.arange(3), ValueError, f"rows: an array of {40 - self.first} indices is wanted"),
                (np.full(40 - self.first, 0.5), TypeError, "rows: integers are wanted, not float64"),
                (self.first + 1, ValueError, "row 40 is not in a matrix of 40"),
                (-1, ValueError, "row -1 is not in a matrix of 40"),
            ):
                self.assert_all_raise(error, text, lambda: lu.factorize(self.rows, rows if IS_LAST else start))  # noqa: B023
            if RANKS.size > 1:
                self.assert_all_raise(
                    ValueError, "row 0 is on two ranks, or twice on one", lambda: lu.factorize(self.rows, 0)
                )
                self.assert_all_raise(
                    ValueError,
                    "'matrix of order 41'",
                    lambda: lu.factorize(self.wrong(lambda rows: sp.hstack([rows, rows[:, :1]]))),
                )
            self.assert_all_raise(ValueError, "row 39 of the matrix is on no rank",
                                  lambda: lu.factorize(self.wrong(lambda rows: rows[:-1])))  # fmt: skip
            lu.factorize(self.rows)
            self.assertLess(abs(self.rows @ np.concatenate(RANKS.allgather(lu.solve(self.b))) - 1).max(), 1e-9)

    def test_wrong_calls_of_one_rank(self) -> None:
        with DistributedLU(RANKS) as lu:
            for call in (lambda: lu.solve(self.b), lambda: lu.refactorize(self.rows)):
                with self.assertRaisesRegex(RuntimeError, "there is no factorization"):
                    call()
            lu.factorize(self.rows)
            count = 40 - self.first
            infinite = self.b.copy()
            infinite[-1] = np.inf
            for b, error, text in (
                (self.b[:-1], ValueError, PREFIX + f"b: it has {count - 1} rows, but A has {count} on this rank"),
                (infinite, ValueError, "B: row 39, column 0 is not finite"),
                (self.b.astype("complex128"), TypeError, PREFIX + "b: "),
                (self.rows, TypeError, "b: a dense array is wanted"),
                (np.ones((count, 1, 1)), ValueError, "one or two dimensions"),
            ):
                self.assert_all_raise(error, text, lambda: lu.solve(b if IS_LAST else self.b))  # noqa: B023
            self.assert_all_raise(ValueError, "trans has to be", lambda: lu.solve(self.b, "X" if IS_LAST else "N"))
            for change, text in (
                (lambda rows: rows[::-1], "its pattern is not that of the factors"),
                (lambda rows: rows * np.nan, "is not finite"),
            ):
                self.assert_all_raise(ValueError, text, lambda: lu.refactorize(self.wrong(change)))  # noqa: B023
            if RANKS.size > 1:
                differ = "it asks for 'solve', rank 1 for 'refactorize'"
                self.assert_all_raise(
                    ValueError, differ, lambda: lu.refactorize(self.rows) if RANKS.rank == 1 else lu.solve(self.b)
                )
                two = np.ones((count, 2))
                self.assert_all_raise(ValueError, "2 right-hand sides", lambda: lu.solve(two if IS_LAST else self.b))
            lu.solve(self.b)  # the factors are as they were
        with self.assertRaisesRegex(ValueError, "closed"):
            lu.solve(self.b)

    def test_options(self) -> None:
        for options, error, text in (
            ({"ordering": "best"}, ValueError, "metis"),
            ({"orderng": "amd"}, ValueError, "orderng"),
            ({"check": "never"}, ValueError, "has no effect on several ranks"),
            ({"ordering": []}, TypeError, "ordering: a name, a number, True or False is wanted"),
        ):
            self.assert_all_raise(error, text, lambda: DistributedLU(RANKS, **(options if IS_LAST else {})))  # noqa: B023
        if RANKS.size > 1:
            with DistributedLU(RANKS, ordering="amd" if IS_LAST else "natural") as lu:
                self.assert_all_raise(ValueError, "'ordering amd'", lambda: lu.factorize(self.rows))
        with self.assertRaisesRegex(TypeError, "a communicator of mpi4py is wanted"):
            DistributedLU(3)
        with self.assertRaisesRegex(ValueError, "communicator: it is null"):
            DistributedLU(MPI.COMM_NULL)

    def test_mpi4py_with_another_mpi(self) -> None:
        other = types.SimpleNamespace(Get_library_version=lambda: "MPICH Version: 4.3\nfurther lines")
        with mock.patch.object(lutra.mpi, "MPI", other), self.assertRaisesRegex(ImportError, "'MPICH Version: 4.3'"):
            lutra.mpi._check_library()

    def test_too_little_memory(self) -> None:
        with DistributedLU(RANKS, memory_limit=100) as lu, self.assertRaises(MemoryError):
            lu.factorize(self.rows)

    def test_singular_matrices(self) -> None:
        A = self.A.tolil()
        A[3, :] = 0
        with DistributedLU(RANKS) as lu:
            with self.assertRaises(lutra.SingularMatrixError):
                lu.factorize(A.tocsr()[self.mine])
            with self.assertRaises(lutra.SingularMatrixError):
                lu.solve(self.b)
            lu.factorize(self.rows)
            lu.solve(self.b)

    def test_warnings_are_those_of_all_ranks(self) -> None:
        with DistributedLU(RANKS, tolerance=1e-300, max_refinement_steps=0) as lu:
            lu.factorize(self.rows)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                lu.solve(np.cos(np.arange(self.b.size)))
            self.assertEqual([w.category for w in caught], [lutra.AccuracyWarning])
            self.assertEqual(caught[0].filename, __file__)

    def test_a_rank_that_fails_alone_ends_the_calls_of_others(self) -> None:
        if RANKS.size == 1:
            return
        if IS_LAST:
            with self.assertRaisesRegex(KeyError, "mine"), DistributedLU(RANKS) as lu:
                lu.factorize(self.rows)
                raise KeyError("mine")
        else:
            with self.assertRaisesRegex(RuntimeError, "KeyError: 'mine'"), DistributedLU(RANKS) as lu:
                lu.factorize(self.rows)
                lu.solve(self.b)

    def test_dropped_without_close(self) -> None:
        lu = DistributedLU(RANKS)
        lu.factorize(self.rows)
        del lu
        KEPT.append(DistributedLU(RANKS))  # open at the end of the interpreter
        KEPT[-1].factorize(self.rows)


KEPT: list[DistributedLU] = []

if __name__ == "__main__":
    program = unittest.main(exit=False)
    if not program.result.wasSuccessful():
        RANKS.Abort(1)
