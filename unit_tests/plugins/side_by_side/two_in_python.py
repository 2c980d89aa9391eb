#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lutra's own package and a plug-in in one Python, which ends with a solver of the plug-in alive."""

import ctypes
import sys
import unittest

import numpy as np
import scipy.sparse

import lutra

ROWS = 500


def load(file):
    plugin = ctypes.CDLL(file)
    plugin.test_plugin_open.restype = ctypes.c_void_p
    plugin.test_plugin_solve.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_double, ctypes.POINTER(ctypes.c_double)]
    plugin.test_plugin_message.restype = ctypes.c_char_p
    return plugin


class TwoInPython(unittest.TestCase):
    def solve_by_package(self, diagonal):
        A = scipy.sparse.diags([-1, diagonal, -1], [-1, 0, 1], shape=(ROWS, ROWS), format="csr")
        b = np.arange(1.0, ROWS + 1)
        x = lutra.splu(A).solve(b)
        scale = abs(A) @ abs(x) + abs(b)
        self.assertLess(np.max(abs(b - A @ x) / scale), 1e-15)

    def solve_by_plugin(self, solver, diagonal):
        error = ctypes.c_double(1)
        status = PLUGIN.test_plugin_solve(solver, ROWS, diagonal, ctypes.byref(error))
        self.assertEqual(status, 0, PLUGIN.test_plugin_message())
        self.assertLess(error.value, 1e-15)

    def test_both(self):
        if PACKAGE_FIRST:
            self.solve_by_package(3)
        solver = PLUGIN.test_plugin_open(ROWS)
        self.assertIsNotNone(solver, PLUGIN.test_plugin_message())
        self.solve_by_plugin(solver, 4)
        self.solve_by_package(5)
        self.solve_by_plugin(solver, 6)  # never freed


if __name__ == "__main__":
    PLUGIN, PACKAGE_FIRST = load(sys.argv[1]), sys.argv[2] == "package_first"
    unittest.main(argv=sys.argv[:1])
