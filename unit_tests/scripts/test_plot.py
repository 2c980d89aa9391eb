#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs scripts/plot.py on report.json and compares what it prints."""

import importlib.util
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
PLOT = HERE.parents[1] / "scripts" / "plot.py"
REPORT = HERE / "report.json"
CONVERGENCE = HERE / "convergence.json"

TABLE = """\
report.json: Lutra 0.1.0, commit 0123abc, Serial, 1 host thread; seconds, medians.

| matrix | solver | factor [s] | nnz(L+U) | perturbed/delayed pivots | componentwise backward error | normwise |
| --- | --- | --- | --- | --- | --- | --- |
| circuit:200 | lutra | 0.002 | 1234 | 2/– | 3.0e-16 | 1.0e-16 |
| circuit:200 | klu | 0.008 | 1300 |  | 4.0e-16 | 2.0e-16 |
| kkt:150 | lutra | 5.00e-04 |  |  | 1.0e-15 | 1.0e-15 |
| kkt:150 | klu | 0.001 (failed) |  |  | 2.0e-03 | 1.0e-03 |
"""

CONVERGENCE_TABLE = """\
| matrix | method | preconditioner | iterations | relative residual | status |
| --- | --- | --- | --- | --- | --- |
| a.mtx | gmres | ilu0 | 3 | 2.0e-11 | success |
| b.mtx | cg | none | 2 | 5.0e-01 | not_converged |
"""


def plot(*arguments):
    return subprocess.run([sys.executable, PLOT, *map(str, arguments)], capture_output=True, text=True, check=False)


class Plot(unittest.TestCase):
    def test_table_names_the_commit_and_has_no_empty_columns(self):
        result = plot("--table", REPORT)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue(result.stdout.startswith(TABLE), result.stdout)

    def test_failures_are_listed_and_left_out_of_the_means(self):
        printed = plot("--table", REPORT).stdout
        self.assertIn("| lutra | 4 (4; 1 of 2) |", printed)  # circuit alone: 8 ms / 2 ms
        self.assertIn("- kkt:150, factor, klu: backward error 2e-3", printed)

    def test_best_takes_the_minimum(self):
        printed = plot("--table", "--best", REPORT).stdout
        self.assertIn("; seconds, minima.", printed)
        self.assertIn("| circuit:200 | lutra | 0.001 |", printed)

    def test_stages_are_checked(self):
        result = plot("--table", "--stages=solve", REPORT)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("invalid stage 'solve' (choose from factor)", result.stderr)

    def test_other_files_are_refused(self):
        result = plot("--table", HERE / "CMakeLists.txt")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("is not a report of a benchmark program", result.stderr)

    def test_convergence_is_printed_of_each_solve_that_iterated(self):
        result = plot("--convergence", CONVERGENCE)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout, CONVERGENCE_TABLE)

    @unittest.skipUnless(importlib.util.find_spec("matplotlib"), "figures need matplotlib")
    def test_convergence_is_drawn(self):
        with tempfile.TemporaryDirectory() as folder:
            figure = Path(folder) / "figure.svg"
            result = plot("--convergence", CONVERGENCE, "-o", figure)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("</svg>", figure.read_text(encoding="utf-8"))

    def test_convergence_asks_for_a_krylov_method(self):
        result = plot("--convergence", REPORT)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("is not a report of lutra solve", result.stderr)


if __name__ == "__main__":
    unittest.main()
