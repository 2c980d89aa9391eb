# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The first solution by an installed wheel, and its backward error, computed here."""

from __future__ import annotations

import time

start = time.perf_counter()
import numpy as np  # noqa: E402
import scipy.sparse as sp  # noqa: E402

import lutra  # noqa: E402

grid = sp.diags([-1.0, 2.1, -1.0], [-1, 0, 1], shape=(100, 100))
A = sp.csr_matrix(sp.kronsum(grid, grid))
b = np.ones(A.shape[0])
x = lutra.splu(A).solve(b)
error = np.max(np.abs(A @ x - b) / (abs(A) @ abs(x) + abs(b)))
if not error < 1e-14:
    raise SystemExit(f"componentwise backward error {error:.1e}")
seconds = time.perf_counter() - start
info = lutra.build_info()
print(f"lutra {lutra.__version__} ({', '.join(info['scalars'])} on {info['backend']}): {A.shape[0]} rows, "
      f"componentwise backward error {error:.1e}, {seconds:.2f} s with the imports")
