# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`python -m lutra.compare` with SciPy and with solvers that answer wrongly, fail, crash or hang."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import lzma
import os
import tempfile
import unittest
import warnings
from pathlib import Path
from unittest import mock

import numpy as np
import scipy.io
import scipy.sparse as sp
from common import symmetric, unsymmetric

from lutra import build_info, compare
from lutra._peers import Peer, SuperLU

HERE = Path(__file__).resolve().parent


class Wrong(SuperLU):
    """Twice the solution, and a warning."""

    name, package = "Wrong", ""

    def solve(self, b: np.ndarray) -> np.ndarray:
        warnings.warn("not sure", RuntimeWarning, stacklevel=2)
        warnings.warn("old call", DeprecationWarning, stacklevel=2)
        return 2 * super().solve(b)


class Stale(SuperLU):
    """Solves with the first factors whatever comes later."""

    name, package = "Stale", ""

    def refactorize(self, A: sp.csc_matrix) -> None:
        pass


class Raises(SuperLU):
    """An exception of two lines."""

    name, package = "Raises", ""

    def factorize(self, A: sp.csc_matrix) -> None:
        raise ArithmeticError("no pivot\nin column 3")


class Crashes(SuperLU):
    """Ends its process."""

    name, package = "Crashes", ""

    def factorize(self, A: sp.csc_matrix) -> None:
        os.abort()


class Hangs(SuperLU):
    """Takes longer than the limit."""

    name, package = "Hangs", ""

    def solve(self, b: np.ndarray) -> np.ndarray:
        while True:
            pass


class Absent(Peer):
    """A package that is not there."""

    name, package, module = "Absent", "lutra-absent", "lutra_absent.solver"


class Compare(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        paths = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
        patched = mock.patch.dict(os.environ, {"PYTHONPATH": paths})
        patched.start()
        self.addCleanup(patched.stop)

    def write(self, A: sp.spmatrix, name: str = "A.mtx", **options: str) -> Path:
        file = self.folder / name
        scipy.io.mmwrite(file, A, **options)
        return file

    def run_on(self, file: Path, *words: str) -> tuple[str, dict]:
        report, text = self.folder / "report.json", io.StringIO()
        with contextlib.redirect_stdout(text):
            compare.main([str(file), "--repeat", "2", "--json", str(report), *words])
        return text.getvalue(), json.loads(report.read_text(encoding="utf-8"))

    def problem_with(self, *words: object) -> str:
        text = io.StringIO()
        hidden = contextlib.redirect_stdout(io.StringIO())
        with hidden, contextlib.redirect_stderr(text), self.assertRaises(SystemExit) as raised:
            compare.main(list(map(str, words)))
        self.assertEqual(raised.exception.code, 2)
        return text.getvalue().strip().splitlines()[-1]

    def test_lutra_beside_scipy(self) -> None:
        A = unsymmetric(60)
        text, report = self.run_on(self.write(A), "--solver", "Lutra LU", "--solver", "SuperLU")
        self.assertEqual(report["matrix"], {"file": "A.mtx", "rows": 60, "entries": A.nnz, "symmetry": "unsymmetric",
                                            "field": "real"})  # fmt: skip
        self.assertEqual([row["solver"] for row in report["rows"]], ["Lutra LU", "SuperLU"])
        for row in report["rows"]:
            self.assertGreaterEqual(row["fill"], A.nnz)
            self.assertTrue(all(row["seconds"][key] > 0 for key in ("first", "refactor", "solve")))
            self.assertTrue(all(0 <= row["errors"][key] < 1e-12 for key in ("componentwise", "normwise")))
        self.assertEqual(report["rows"][0]["version"], build_info()["version"])
        self.assertIn(f"\nLutra LU {build_info()['version']} ", text)
        self.assertIn(f"60 rows, {A.nnz} entries, real, unsymmetric\n", text)

    def test_failures_are_rows(self) -> None:
        fakes = ("Raises", "Crashes", "Hangs", "Wrong", "Stale", "Absent")
        words = [word for name in fakes for word in ("--peer", f"test_compare:{name}")]
        text, report = self.run_on(self.write(unsymmetric(30)), "--solver", "SuperLU", "--limit", "5", *words)
        rows = {row["solver"]: row for row in report["rows"]}
        self.assertEqual(rows["Raises"]["problem"], "ArithmeticError: no pivot in column 3")
        self.assertEqual(rows["Crashes"]["problem"], "ended by SIGABRT")
        self.assertEqual(rows["Hangs"]["problem"], "more than 5 s")
        self.assertGreater(rows["Wrong"]["errors"]["componentwise"], 0.3)  # |b − 2b| over 2|A||x| + |b|: about 1/3
        self.assertEqual(rows["Wrong"]["warnings"], ["RuntimeWarning: not sure"])
        self.assertRegex(text, r"\nWrong .*  RuntimeWarning: not sure\n")
        self.assertEqual(rows["SuperLU"]["warnings"], [])
        self.assertAlmostEqual(rows["Stale"]["errors"]["componentwise"], 0.01 / 2.01, delta=2e-3)
        self.assertLess(rows["SuperLU"]["errors"]["componentwise"], 1e-12)
        self.assertEqual(report["not_installed"], ["lutra-absent"])
        self.assertIn("not installed: lutra-absent", text)
        self.assertIn("Raises                   ArithmeticError: no pivot in column 3\n", text)

    def test_symmetric_matrices_have_more_solvers(self) -> None:
        file = self.write(symmetric(20), symmetry="symmetric")  # zeros on the diagonal
        text, report = self.run_on(file, "--solver", "Lutra LDLᵀ", "--solver", "Lutra Cholesky", "--solver", "CHOLMOD")
        self.assertEqual(report["matrix"]["symmetry"], "symmetric")
        self.assertEqual(report["matrix"]["entries"], symmetric(20).nnz)  # both triangles
        self.assertEqual([row["solver"] for row in report["rows"]], ["Lutra LDLᵀ"])
        self.assertLess(report["rows"][0]["errors"]["componentwise"], 1e-12)
        self.assertIn("not for this matrix: Lutra Cholesky", text)
        indefinite = sp.csr_matrix([[1.0, 2.0], [2.0, 1.0]])
        _, report = self.run_on(self.write(indefinite), "--solver", "Lutra Cholesky")
        self.assertRegex(report["rows"][0]["problem"], "^NotPositiveDefiniteError: .*positive definite")

    def test_singular_matrices(self) -> None:
        file = self.write(sp.csr_matrix([[1.0, 2.0], [2.0, 4.0]]))
        _, report = self.run_on(file, "--solver", "Lutra LU", "--solver", "SuperLU")
        self.assertRegex(report["rows"][0]["problem"], "^SingularMatrixError: ")
        self.assertRegex(report["rows"][1]["problem"], "^RuntimeError: .*singular")

    def test_complex_matrices(self) -> None:
        _, report = self.run_on(self.write(unsymmetric(20, "complex128")), "--solver", "SuperLU")
        self.assertEqual(report["matrix"]["field"], "complex")
        self.assertLess(report["rows"][0]["errors"]["componentwise"], 1e-12)

    def test_formats_of_files(self) -> None:
        A = unsymmetric(12)
        plain = self.write(A, precision=17)
        packed = self.folder / "A.mtx.xz"
        packed.write_bytes(lzma.compress(plain.read_bytes()))
        zipped = self.folder / "A.mtx.gz"
        zipped.write_bytes(gzip.compress(plain.read_bytes()))
        saved = self.folder / "A.npz"
        sp.save_npz(saved, A.tocsc().astype("float32"))
        for file in (plain, packed, zipped):
            self.assertEqual(abs(compare.read_matrix(file) - A).max(), 0, file.name)
        self.assertEqual(compare.read_matrix(saved).dtype, np.float64)
        self.assertLess(abs(compare.read_matrix(saved) - A).max(), 1e-5)
        integers = self.write(sp.csr_matrix([[3, 1], [0, 2]]), "integers.mtx")
        self.assertEqual(compare.read_matrix(integers).toarray().tolist(), [[3.0, 1.0], [0.0, 2.0]])

    def test_mistakes(self) -> None:
        head = "%%MatrixMarket matrix coordinate real general\n"
        texts = {
            "wide.mtx": (head + "2 3 1\n1 1 1.0\n", "not a square matrix: 2 × 3"),
            "empty.mtx": (head + "0 0 0\n", "no rows"),
            "nan.mtx": (head + "2 2 2\n1 1 1.0\n2 1 nan\n", "row 2, column 1 is nan"),
            "pattern.mtx": (head.replace("real", "pattern") + "1 1 1\n1 1\n", "a pattern without values"),
            "dense.mtx": (head.replace("coordinate", "array") + "1 1\n1.0\n",
                          "a dense array; a matrix in coordinates is wanted"),
            "matrix.txt": (head + "1 1 1\n1 1 1.0\n", "the name ends in none of .mtx, .mtx.gz, .mtx.xz and .npz"),
        }  # fmt: skip
        for name, (text, message) in texts.items():
            (self.folder / name).write_text(text)
            with self.subTest(name):
                problem = self.problem_with(self.folder / name)
                self.assertEqual(problem, f"lutra.compare: {self.folder / name}: {message}")
        for name in ("text.mtx", "text.npz", "text.mtx.gz", "text.mtx.xz"):
            (self.folder / name).write_text("no matrix")
            with self.subTest(name):
                self.assertRegex(self.problem_with(self.folder / name), f"^lutra.compare: .*{name}: .")
        file = self.write(unsymmetric(5))
        self.assertEqual(self.problem_with(self.folder / "none.mtx"),
                         f"lutra.compare: {self.folder / 'none.mtx'}: No such file or directory")  # fmt: skip
        self.assertEqual(self.problem_with(file, "--peer", "test_compare:Nothing"),
                         "lutra.compare: --peer test_compare:Nothing: "
                         "AttributeError: module 'test_compare' has no attribute 'Nothing'")  # fmt: skip
        self.assertRegex(self.problem_with(file, "--repeat", 0), "--repeat and --limit have to be positive")
        self.assertRegex(self.problem_with(file, "--solver", "LAPACK"), "invalid choice: 'LAPACK'")

    def test_machines_that_lack_room(self) -> None:
        file = self.write(unsymmetric(5))
        with mock.patch("scipy.io.mmread", side_effect=MemoryError):
            self.assertEqual(
                self.problem_with(file), f"lutra.compare: {file}: too large for the memory of this machine"
            )
        with mock.patch("scipy.sparse.save_npz", side_effect=OSError(28, "No space left on device")):
            self.assertEqual(self.problem_with(file, "--solver", "SuperLU"),
                             "lutra.compare: temporary files: [Errno 28] No space left on device")  # fmt: skip
        text = self.problem_with(file, "--solver", "SuperLU", "--repeat", 1, "--json", self.folder / "none" / "r.json")
        self.assertEqual(text, f"lutra.compare: {self.folder}/none/r.json: No such file or directory")

    def test_backward_errors(self) -> None:
        A = sp.csr_matrix([[4.0, 0.0, 0.0], [0.0, 0.0, 0.0], [1.0, 0.0, -2.0]])  # with an empty row
        b = np.array([4.0, 0.0, 1.0])
        self.assertEqual(compare.backward_errors(A, np.array([1.0, 7.0, 0.0]), b), (0.0, 0.0))
        # residual (0, 0, 1); componentwise 1 / (1 + 1 + 1), normwise 1 / (4 · 7 + 4)
        componentwise, normwise = compare.backward_errors(A, np.array([1.0, 7.0, 0.5]), b)
        self.assertAlmostEqual(componentwise, 1 / 3, delta=1e-15)
        self.assertAlmostEqual(normwise, 1 / 32, delta=1e-16)
        self.assertEqual(compare.backward_errors(A, np.array([np.nan, 0, 0]), b), (np.inf, np.inf))
        b[1] = 1.0  # no x solves it
        self.assertEqual(compare.backward_errors(A, np.array([1.0, 0.0, 0.0]), b)[0], 1.0)
        self.assertIsNone(compare.without_infinities({"errors": [np.inf]})["errors"][0])


if __name__ == "__main__":
    unittest.main()
