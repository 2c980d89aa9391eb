#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs scripts/orderings.py with a program whose times come from a table, and checks the output."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ORDERINGS = Path(__file__).resolve().parents[2] / "scripts" / "orderings.py"

# Seconds of ordering and of a refactorization. For N = 1 auto takes amd; for N = 20 it takes nd after both.
PROGRAM = """#!/usr/bin/env python3
import json, os, sys
from pathlib import Path
if sys.argv[1] == "generate":
    sys.exit(Path(sys.argv[-1]).write_text("%%MatrixMarket\\n2000 2000 1\\n1 1 1\\n") and 0)
def option(name):
    return sys.argv[sys.argv.index(name) + 1]
assert option("--backend") == "serial" and os.environ["OMP_NUM_THREADS"] == "2"
ordering, count = option("--ordering"), int(option("--expected-factorizations"))
known = {"amd": (1.0, 1.0), "metis": (4.0, 0.9), "nd": (3.0, 0.5)}
chosen = ordering if ordering != "auto" else "amd" if count == 1 else "nd"
start, step = (4.0, 0.5) if ordering == "auto" and count > 1 else known[chosen]
fails = "singular" in sys.argv[2] and ordering == "nd"
print(json.dumps({"status": "numerically_singular" if fails else "success", "choice": {"ordering": chosen},
                  "factors": {"nnz_l": len(chosen), "flops": step},
                  "times": {"ordering": start, "symbolic": 0.5, "levelization": 0.5, "numeric": 9.0, "matching": None,
                            "refactor": step, "solve": 0.0, "refine": None}}))
"""


class Orderings(unittest.TestCase):
    def test_ratios(self):
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "lutra"
            program.write_text(PROGRAM, encoding="utf-8")
            program.chmod(0o755)
            matrices = Path(folder) / "matrices"
            matrices.mkdir()
            sizes = {"good": "2000 2000", "singular": "2000 2000", "small": "10 10", "wide": "2000 9000"}
            for name, size in sizes.items():
                (matrices / f"{name}.mtx").write_text(f"%%MatrixMarket\n% comment\n{size} 1\n1 1 1\n", encoding="utf-8")
            done = subprocess.run([sys.executable, ORDERINGS, "--lutra", program, "--factorizations", "1,20",
                                   "--runs", "1", "--jobs", "2", "--threads", "2", matrices, "circuit:2000",
                                   "--", "--backend", "serial"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        # 1 + 1 + 1 s; 4 + 1 + 20 / 2 of 3 + 1 + 20 / 2 s
        rows = [line.split() for line in done.stdout.splitlines()]
        self.assertIn(["good", "amd", "1.00", "amd", "nd", "1.07", "nd"], rows)
        self.assertIn(["circuit:2000", "amd", "1.00", "amd", "nd", "1.07", "nd"], rows)
        self.assertIn("left out: singular (nd: numerically_singular)", done.stdout)
        self.assertNotIn("small", done.stdout)
        self.assertNotIn("wide", done.stdout)
        self.assertIn("N = 20: within 15 % of the best on 100.0 % of 2 matrices, geometric mean 1.071, worst 1.07",
                      done.stdout)


if __name__ == "__main__":
    unittest.main()
