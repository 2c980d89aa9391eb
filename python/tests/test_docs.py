# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the examples in docstrings and in docs/python.md and docs/gradients.md."""

from __future__ import annotations

import doctest
import importlib.util
import pkgutil
import unittest
from importlib import import_module
from pathlib import Path

import lutra

PAGES = Path(__file__).resolve().parents[2] / "docs"


def is_usable(module: str) -> bool:
    """Whether the package that a module of lutra serves is there."""
    if module == "jax" and not hasattr(lutra._core, "xla_handlers"):
        return False
    return module not in ("torch", "jax") or importlib.util.find_spec(module) is not None


def load_tests(loader: unittest.TestLoader, tests: unittest.TestSuite, pattern: str | None) -> unittest.TestSuite:
    for module in pkgutil.iter_modules(lutra.__path__):
        if module.name not in ("_core", "mpi") and is_usable(module.name):  # mpi has no examples to run
            tests.addTests(doctest.DocTestSuite(import_module(f"lutra.{module.name}")))
    tests.addTests(doctest.DocTestSuite(lutra))
    pages = [PAGES / "python.md"]
    if is_usable("torch") and is_usable("jax"):
        pages.append(PAGES / "gradients.md")
    for page in pages:
        if page.exists():
            tests.addTests(doctest.DocFileSuite(str(page), module_relative=False))
    return tests


class Package(unittest.TestCase):
    def test_is_typed_and_complete(self) -> None:
        folder = Path(lutra.__path__[0])
        self.assertTrue((folder / "py.typed").exists())
        stub = (folder / "_core.pyi").read_text()
        for name in ("class Solver", "class Report", "def solve"):
            self.assertIn(name, stub)
        for name in lutra.__all__:
            self.assertTrue(getattr(lutra, name).__doc__, name)

    def test_help_lists_the_options(self) -> None:
        for function, line in (
            (lutra.splu, "pivot_threshold: pivoting threshold: .* \\(above 0 and at most 1 \\[0.1\\]\\)"),
            (lutra.ldlt, "triangle: .* \\(both, lower, upper \\[both\\]\\)"),
            (lutra.spilu, "fill_level: .* \\(0 or more \\[0\\]\\)"),
            (lutra.gmres, "ilu.fill_level: .* \\(0 or more \\[0\\]\\)"),
        ):
            self.assertRegex(function.__doc__, line)


if __name__ == "__main__":
    unittest.main()
