# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that refactorizations and solves need constant memory, and measures the overhead of the binding per solve.

    python python/benchmarks/constant_memory.py --count 10000

Ends with status 1 where the process has grown by more than a megabyte after its first hundred steps, or a solve of
two unknowns takes more than 50 microseconds.
"""

from __future__ import annotations

import argparse
import os
import sys
import time

import numpy as np
import scipy.sparse as sp

import lutra


def resident_bytes() -> int:
    with open("/proc/self/statm") as text:
        return int(text.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def microseconds_of_a_tiny_solve(count: int = 20_000) -> float:
    """A solve with two unknowns, whose time is nearly all overhead."""
    lu = lutra.splu(sp.csr_matrix([[2.0, 1.0], [1.0, 3.0]]))
    b = np.ones(2)
    begin = time.process_time()
    for _ in range(count):
        lu.solve(b)
    return (time.process_time() - begin) / count * 1e6


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--size", type=int, default=30, help="points along a side of the grid")
    options = parser.parse_args()
    line = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(options.size, options.size))
    A = sp.csr_matrix(sp.kronsum(line, line))
    A.sum_duplicates()
    values, rng = A.data.copy(), np.random.default_rng(1)
    b = np.ones(A.shape[0])
    lu = lutra.splu(A)
    start = 0
    for step in range(options.count):
        A.data[:] = values * (1 + 0.1 * rng.random(values.size))
        lu.refactor(A)
        lu.solve(b)
        if step == 99:
            start = resident_bytes()
    growth = resident_bytes() - start
    print(f"{options.count} refactorizations and solves of {A.shape[0]} rows: memory grew by {growth / 1024:.0f} KiB")
    tiny_solve = microseconds_of_a_tiny_solve()
    print(f"a solve of two unknowns: {tiny_solve:.1f} microseconds of CPU time in all")
    return int(growth > 2**20 or tiny_solve > 50)


if __name__ == "__main__":
    sys.exit(main())
