# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the example of a contingency analysis, which compares its voltages with those of other ways."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import unittest
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "contingency.py"


@unittest.skipUnless(importlib.util.find_spec("pandapower") and EXAMPLE.exists(), "pandapower is not installed")
class Contingency(unittest.TestCase):
    def test_all_outages_of_a_network(self) -> None:
        ended = subprocess.run(
            [sys.executable, EXAMPLE, "--case", "case118"], capture_output=True, text=True, check=False
        )
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
        self.assertRegex(ended.stdout, r"largest difference of a voltage \d\.\de-1\d")


if __name__ == "__main__":
    unittest.main()
