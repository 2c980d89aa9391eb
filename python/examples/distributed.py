# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A system on several ranks: each makes some rows of the matrix and of b, and gets its rows of x.

(1/dt + L) u_new = u/dt on a square grid, L the five-point Laplacian, dt shrinking from step to step. Run it with
`mpirun -n 2 python3 -m mpi4py distributed.py`.
"""

from __future__ import annotations

import sys

import numpy as np
import scipy.sparse as sp
from mpi4py import MPI

from lutra.mpi import DistributedLU


def laplacian_rows(m: int, first: int, end: int) -> sp.csr_matrix:
    """Rows `first` to `end` of the Laplacian on m × m points: (end − first) × m², columns of the whole matrix."""
    row = np.arange(first, end)
    x, y = row % m, row // m
    neighbours = [(row - m, y > 0), (row - 1, x > 0), (row + 1, x < m - 1), (row + m, y < m - 1)]
    entries = [(row - first, row, np.full(row.size, 4.0))]
    entries += [((row - first)[inside], column[inside], np.full(inside.sum(), -1.0)) for column, inside in neighbours]
    local, columns, values = (np.concatenate(parts) for parts in zip(*entries))
    return sp.csr_matrix((values, (local, columns)), shape=(end - first, m * m))


def main() -> int:
    ranks = MPI.COMM_WORLD
    m = 60
    n = m * m
    first, end = n * ranks.rank // ranks.size, n * (ranks.rank + 1) // ranks.size
    laplacian = laplacian_rows(m, first, end)
    identity = sp.eye(end - first, n, k=first, format="csr")
    u = (np.arange(first, end) % m == 0).astype(float)
    worst = 0.0
    with DistributedLU(ranks, ordering="metis") as lu:
        for step in range(1, 4):
            A = (laplacian + 10.0 * step * identity).tocsr()
            if step == 1:
                lu.factorize(A)  # rows of the ranks follow one another
            else:
                lu.refactorize(A)
            b = 10.0 * step * u
            u = lu.solve(b)
            # The residual by other means: all ranks get all of u.
            residual = float(abs(A @ np.concatenate(ranks.allgather(u)) - b).max())
            worst = max(worst, ranks.allreduce(residual, MPI.MAX))
            if ranks.rank == 0:
                print(
                    f"step {step}: backward error {lu.report.errors.backward_componentwise:.1e}, residual {worst:.1e}"
                )
    return 0 if worst < 1e-10 else 1


if __name__ == "__main__":
    sys.exit(main())
