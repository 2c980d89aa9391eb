#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs scripts/ilu-quality.py with a program whose answers come from a table, and checks the output."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

QUALITY = Path(__file__).resolve().parents[2] / "scripts" / "ilu-quality.py"

# Iterations with ILU(0) and with ParILUT; 0: not converged.
PROGRAM = """#!/usr/bin/env python3
import json, sys
name = sys.argv[2]
known = {"same": (40, 40), "two_more": (40, 42), "three_more": (40, 43), "gained": (0, 7), "lost": (5, 0)}
if name == "unreadable":
    sys.exit("no such file")
lu = "--precond" not in sys.argv
iterations = None if lu else known.get(name, (1, 1))["parilut" in sys.argv]
status = "numerically_singular" if name == "singular" else "not_converged" if iterations == 0 else "success"
seconds = 2.0 if lu else 1.0 if "ilu0" in sys.argv else 3.0
print(json.dumps({"status": status, "iterations": iterations, "matrix": {"rows": 10000, "nnz": 50000},
                  "pivots": {"shift": None}, "times": {
                      "matching": None, "ordering": None, "symbolic": 1.0, "levelization": None, "numeric": 1.0,
                      "refactor": 0.5, "solve": seconds, "refine": None}}))
"""
MATRICES = ["same", "two_more", "three_more", "gained", "lost", "singular", "unreadable"]


class Quality(unittest.TestCase):
    def call(self, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "lutra"
            program.write_text(PROGRAM, encoding="utf-8")
            program.chmod(0o755)
            done = subprocess.run([sys.executable, QUALITY, "--lutra", program, *arguments, *MATRICES],
                                  capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_iterations(self):
        text = self.call("iterations")
        self.assertIn("Left out, input: 1: unreadable", text)
        self.assertIn("Left out, numerically_singular: 1: singular", text)
        self.assertIn("ILU(0) converges on 4 of 5 matrices", text)
        self.assertIn("| parilut-3 | 3 | 1 | 2 (50.0 %) |", text)
        self.assertIn("parilut-3 converges, ILU(0) does not: 1", text)
        self.assertIn("parilut-3 misses the bar: 2", text)
        self.assertIn("| lost | 10000 | 5 | not_converged |", text)

    def test_direct(self):
        text = self.call("direct")
        self.assertIn("| n ≥ 10,000 | 5 | 1 | 4 | 0 | 0 |", text)
        self.assertIn("| same | 10000 | 50000 | 4e+03 | 3e+03 (40) | 5e+03 (40) | 5e+03 (40) |", text)
        self.assertIn("| gained | 10000 | 50000 | 2.5e+03 | not_converged |", text)


if __name__ == "__main__":
    unittest.main()
