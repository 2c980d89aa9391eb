# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests that invalid input raises a Python error that names row and column, and never ends the process."""

from __future__ import annotations

import subprocess
import sys
import unittest

import numpy as np
import scipy.sparse as sp
from common import SCALARS, symmetric, unsymmetric

import lutra


def with_value(A: sp.csr_matrix, value: float, entry: int) -> sp.csr_matrix:
    A = A.copy()
    A.data[entry] = value
    return A


class WithoutMpi4py(unittest.TestCase):
    def test_lutra_mpi_says_what_to_install(self) -> None:
        program = "import sys; sys.modules['mpi4py'] = None; import lutra.mpi"
        ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        if hasattr(lutra._core, "RankSolver"):
            self.assertIn("ImportError: lutra.mpi needs mpi4py", ended.stderr)
            self.assertIn("python3-mpi4py", ended.stderr)
        else:
            self.assertIn("ImportError: lutra.mpi: this lutra was built without MPI; `pip install", ended.stderr)


class BadMatrices(unittest.TestCase):
    def test_shapes_and_values(self) -> None:
        A = unsymmetric(20)
        row = int(np.searchsorted(A.indptr, 5, side="right")) - 1
        for value in (np.nan, np.inf):
            with self.assertRaisesRegex(ValueError, rf"row {row}\b.*column {A.indices[5]}\b"):
                lutra.splu(with_value(A, value, 5))
        with self.assertRaisesRegex(ValueError, "20 × 19"):
            lutra.splu(A[:, :19])
        with self.assertRaisesRegex(ValueError, "row"):
            lutra.splu(sp.csr_matrix((0, 0)))
        for wrong in ("A", None, 3.0, object()):
            with self.assertRaises(TypeError):
                lutra.splu(wrong)

    def test_indices_out_of_range(self) -> None:
        for name, entry, value in (("indices", 3, 20), ("indices", 3, -1), ("indptr", 4, 10**6), ("indptr", 4, -1)):
            A = unsymmetric(20)
            getattr(A, name)[entry] = value
            A.has_canonical_format = True  # what SciPy believes
            with self.assertRaises(ValueError):
                lutra.splu(A)

    def test_damaged_matrices_never_end_the_process(self) -> None:
        rng = np.random.default_rng(3)
        outcomes = set()
        for step in range(400):
            A = unsymmetric(15, seed=step % 7).asformat(("csr", "csc", "coo")[step % 3])
            arrays = (A.row, A.col, A.data) if A.format == "coo" else (A.indptr, A.indices, A.data)
            for _ in range(rng.integers(1, 4)):
                array = arrays[rng.integers(3)]
                array[rng.integers(len(array))] = rng.choice([-1, 0, 3, 15, 2**31 - 1])
            if rng.random() < 0.3 and A.format == "csr":
                A.has_canonical_format = True  # what SciPy believes
            try:
                outcomes.add(bool(np.isfinite(lutra.splu(A).solve(np.ones(15))).all()))
            except (ValueError, lutra.SingularMatrixError) as error:
                outcomes.add(type(error))
        self.assertEqual(outcomes, {True, ValueError, lutra.SingularMatrixError})

    def test_another_pattern(self) -> None:
        A = unsymmetric(20)
        lu = lutra.splu(A)
        b = np.ones(20)
        x = lu.solve(b)
        with self.assertRaisesRegex(ValueError, "pattern is not that of the factors; make a new splu"):
            lu.refactor(A.T)
        with self.assertRaisesRegex(ValueError, "make a new splu"):
            lu.refactor(unsymmetric(21))
        with self.assertRaisesRegex(ValueError, "make a new spilu"):
            lutra.spilu(A).refactor(A.T)
        with self.assertRaisesRegex(ValueError, "make a new ldlt"):
            lutra.ldlt(symmetric(12)).refactor(sp.identity(16, format="csr"))
        with self.assertRaisesRegex(ValueError, r"\(21, 21\).*\(20, 20\); make a new SchurComplement"):
            lutra.SchurComplement(A, [3]).refactor(unsymmetric(21))
        with self.assertRaises(ValueError):
            lu.refactor(with_value(A, np.nan, 0))
        np.testing.assert_array_equal(lu.solve(b), x)  # nothing has changed

    def test_unsymmetric(self) -> None:
        A = symmetric(12)
        with self.assertRaisesRegex(ValueError, "row"):
            lutra.ldlt(with_value(A, 77.0, 1))

    def test_singular(self) -> None:
        A = sp.csr_matrix(np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 0.0], [0.0, 0.0, 1.0]]))
        with self.assertRaises(lutra.SingularMatrixError) as caught:
            lutra.splu(A)
        self.assertTrue(set(caught.exception.rows) <= {0, 1} and caught.exception.rows)
        self.assertEqual(caught.exception.report.status, "numerically_singular")
        with self.assertRaises(lutra.SingularMatrixError) as caught:
            lutra.splu(sp.csr_matrix(np.array([[1.0, 0.0], [2.0, 0.0]])))
        self.assertEqual(caught.exception.columns, [1])
        with self.assertWarns(lutra.AccuracyWarning):
            lu = lutra.splu(A, solve_singular=True)
        with self.assertWarns(lutra.AccuracyWarning):
            lu.solve(np.array([3.0, 6.0, 1.0]))
        A.data[1] = 5.0
        lu.refactor(A)  # a later matrix is solved
        np.testing.assert_allclose(A @ lu.solve(np.ones(3)), 1)

    def test_memory(self) -> None:
        with self.assertRaisesRegex(MemoryError, "bytes"):
            lutra.splu(unsymmetric(200), memory_limit=10_000)


class BadCalls(unittest.TestCase):
    def test_options(self) -> None:
        A = unsymmetric(10)
        with self.assertRaisesRegex(ValueError, "orderng.*engine, trisolve"):
            lutra.splu(A, orderng="amd")
        with self.assertRaisesRegex(ValueError, "permc_spec.*ordering"):
            lutra.splu(A, permc_spec="COLAMD")
        with self.assertRaisesRegex(ValueError, "callback.*tolerance, max_iterations"):
            lutra.gmres(A, np.ones(10), callback="x")
        with self.assertRaisesRegex(ValueError, "ordering.*best.*auto, metis, nd, amd"):
            lutra.splu(A, ordering="best")
        for options in ({"tolerance": "small"}, {"max_refinement_steps": -1}, {"max_refinement_steps": 2**40},
                        {"validate_input": 2}, {"tolerance": float("nan")}, {"pivot_threshold": 3},
                        {"user_permutation": [0] * 10}):  # fmt: skip
            with self.assertRaises(ValueError):
                lutra.splu(A, **options)
        with self.assertRaisesRegex(TypeError, "tolerance"):
            lutra.splu(A, tolerance=[1e-8])
        order = np.arange(10)[::-1]
        lu = lutra.splu(A, user_permutation=order)
        np.testing.assert_array_equal(np.argsort(lu.perm_c), order)

    def test_right_hand_sides(self) -> None:
        lu = lutra.splu(unsymmetric(10))
        for b, error in ((np.ones(9), ValueError), (np.ones((10, 2, 2)), ValueError), (np.float64(1), ValueError),
                         (np.array(["a"] * 10), TypeError), (None, TypeError)):  # fmt: skip
            with self.assertRaises(error):
                lu.solve(b)
        b = np.ones(10)
        b[7] = np.nan
        with self.assertRaisesRegex(ValueError, "row 7"):
            lu.solve(b)
        with self.assertRaisesRegex(ValueError, "trans"):
            lu.solve(np.ones(10), trans="X")
        with self.assertRaises(ValueError):
            lu.solve(np.ones(10), out=np.ones((10, 2)))
        self.assertEqual(lu.solve(np.ones((10, 0))).shape, (10, 0))
        with self.assertRaises(ValueError):
            lutra.spilu(unsymmetric(10)).solve(np.ones(9))

    def test_right_hand_sides_of_another_kind(self) -> None:
        A, b = unsymmetric(10), np.ones(10)
        lu = lutra.splu(A)
        with self.assertRaisesRegex(TypeError, r"real.*complex128; factorize A.astype\('complex128'\)$"):
            lu.solve(b + 1j)
        with self.assertRaisesRegex(TypeError, r"factorize A.astype\('complex128'\)$"):
            lu.solve((b + 1j).astype("complex64"))
        with self.assertRaisesRegex(TypeError, r"real.*; factorize A.astype\('complex128'\)$"):
            lutra.gmres(A, b + 1j)
        if "complex128" in SCALARS:
            np.testing.assert_allclose(A @ lutra.splu(A.astype("complex128")).solve(b + 1j), b + 1j)
        for sparse in (sp.csc_matrix(b).T, sp.coo_matrix(b[:, None]), sp.csr_array(b[:, None])):
            with self.assertRaisesRegex(TypeError, rf"format {sparse.format}; pass b.toarray\(\)$"):
                lu.solve(sparse)
        with self.assertRaisesRegex(TypeError, r"pass b.astype\('float64'\)$"):
            lu.solve(b.astype(np.longdouble))
        if "float32" in SCALARS:
            with self.assertRaisesRegex(TypeError, r"b.astype\('float32'\), or factorize A.astype\('float64'\)$"):
                lutra.splu(A.astype("float32")).solve(b)

    def test_closed(self) -> None:
        with lutra.splu(unsymmetric(10)) as lu:
            lu.solve(np.ones(10))
        for call in (lambda: lu.solve(np.ones(10)), lambda: lu.refactor(unsymmetric(10)), lambda: lu.report):
            with self.assertRaisesRegex(ValueError, "closed"):
                call()
        lu.close()
        self.assertIn("closed", repr(lu))

    def test_incomplete_factors_that_cannot_be(self) -> None:
        ilu = lutra.spilu(unsymmetric(10))
        with self.assertRaisesRegex(TypeError, "M"):
            lutra.gmres(unsymmetric(10), np.ones(10), M=3.0)
        for method in ("gmres", "bicgstab", "cg"):
            for n in (5, 9, 400):
                message = f"preconditioner: it is for a matrix of order {n}, and the matrix has the order 10"
                with lutra.spilu(unsymmetric(n)) as other, self.assertRaisesRegex(ValueError, message):
                    lutra.gmres(unsymmetric(10), np.ones(10), M=other, method=method)
        with self.assertRaisesRegex(ValueError, "shape|size|mismatch"):
            lutra.gmres(unsymmetric(10), np.ones(10), M=lambda b: np.ones(9))
        ilu.close()
        with self.assertRaisesRegex(ValueError, "closed"):
            lutra.gmres(unsymmetric(10), np.ones(10), M=ilu)


class Exit(unittest.TestCase):
    def run_python(self, text: str) -> str:
        run = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        return run.stdout

    def test_solvers_alive_at_exit(self) -> None:
        text = """
import atexit, sys, threading, numpy as np, scipy.sparse as sp, lutra
A = sp.identity(100, format="csr") * 2.0
lu = lutra.splu(A)
sys.keep = [lutra.ldlt(A), lutra.spilu(A), lu]
class Late:
    def __del__(self):
        try:
            lu.solve(np.ones(100))
        except Exception as error:
            print(type(error).__name__)
late = Late()
def work():
    try:
        while True:
            lu.solve(np.ones(100))
    except ValueError:  # the solver is closed
        pass
thread = threading.Thread(target=work, daemon=True)
thread.start()
"""
        self.assertIn(self.run_python(text).strip(), ("", "ValueError", "TypeError"))

    def test_import_alone_starts_nothing(self) -> None:
        self.run_python("import lutra; lutra.build_info()")


if __name__ == "__main__":
    unittest.main()
