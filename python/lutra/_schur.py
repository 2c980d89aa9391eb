# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schur complements onto a few rows and columns."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np
import scipy.sparse

from ._closing import Closing
from ._solvers import LDLT, LU, ldlt, splu

_BLOCK = 32  # columns per solve


class SchurComplement(Closing):
    """S = Ass - Asr Arr⁻¹ Ars for a set s of rows and columns of A, where r are the others.

    To solve A x = b, compute g = condense(b), solve S y = g with any dense solver, and compute x = expand(b, y).
    `solver` is `splu`, or `ldlt` for a symmetric matrix with both triangles; further options are passed to it.
    Computing S costs a solve with as many right-hand sides as the set has rows. Raises the errors of `solver`;
    only Arr must be regular.

    >>> import numpy as np, scipy.sparse as sp, lutra
    >>> A = sp.csr_matrix([[4.0, 1.0, 0.0], [1.0, 4.0, 1.0], [0.0, 1.0, 4.0]])
    >>> schur = lutra.SchurComplement(A, [2])
    >>> schur.matrix
    array([[3.73333333]])
    >>> b = np.array([6.0, 12.0, 14.0])
    >>> schur.expand(b, np.linalg.solve(schur.matrix, schur.condense(b)))
    array([1., 2., 3.])
    """

    def __init__(self, A: Any, rows: Sequence[int], solver: Any = splu, **options: Any) -> None:
        matrix = scipy.sparse.csr_matrix(A)
        n = matrix.shape[0]
        self._set = np.asarray(rows, dtype=np.int64).reshape(-1)
        bad = np.flatnonzero((self._set < 0) | (self._set >= n))
        if bad.size:
            raise ValueError(f"rows: {self._set[bad[0]]} is not one of the matrix' {n}")
        is_in_set = np.zeros(n, dtype=bool)
        is_in_set[self._set] = True
        if is_in_set.sum() != self._set.size:
            raise ValueError("rows: a row stands there twice")
        if matrix.shape[1] != n or self._set.size == n:
            raise ValueError(f"A: a square matrix with other rows than the set is wanted, not {matrix.shape}")
        self._rest = np.flatnonzero(~is_in_set)
        self.factors: LU | LDLT = solver(matrix[self._rest][:, self._rest], **options)
        self._update(matrix)

    def _update(self, A: scipy.sparse.csr_matrix) -> None:
        self._upper, self._lower = A[self._rest][:, self._set], A[self._set][:, self._rest]
        self.matrix: np.ndarray = A[self._set][:, self._set].toarray().astype(self.factors.dtype)
        columns = self._upper.tocsc()
        for first in range(0, self._set.size, _BLOCK):
            block = slice(first, min(first + _BLOCK, self._set.size))
            self.matrix[:, block] -= self._lower @ self.factors.solve(columns[:, block].toarray())

    def refactor(self, A: Any) -> None:
        """Computes the complement of a matrix with the same pattern and new values."""
        matrix = scipy.sparse.csr_matrix(A)
        n = self._set.size + self._rest.size
        if matrix.shape != (n, n):
            raise ValueError(f"A: it is {matrix.shape}, the matrix of before {(n, n)}; make a new SchurComplement")
        self.factors.refactor(matrix[self._rest][:, self._rest])
        self._update(matrix)

    def condense(self, b: np.ndarray) -> np.ndarray:
        """g = bs - Asr Arr⁻¹ br, for one or several columns."""
        return b[self._set] - self._lower @ self.factors.solve(b[self._rest])

    def expand(self, b: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The solution: y on the set, and x = Arr⁻¹ (br - Ars y) on the other rows."""
        x = np.empty(b.shape, dtype=self.factors.dtype)
        x[self._set] = y
        x[self._rest] = self.factors.solve(b[self._rest] - self._upper @ y)
        return x

    def close(self) -> None:
        self.factors.close()
