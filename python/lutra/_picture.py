# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pictures of matrices and factors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from . import _core
from ._arrays import Csr, as_csr
from ._solvers import LDLT, LU


class Picture(str):
    """SVG text that notebooks display."""

    def _repr_svg_(self) -> str:
        return str(self)

    def save(self, file: str | Path) -> None:
        """Writes the picture to a file."""
        Path(file).write_text(self, encoding="utf-8")


def _positions(order: np.ndarray) -> list[int]:
    positions = np.empty(len(order), dtype=np.int64)
    positions[order] = np.arange(len(order))
    return positions.tolist()


def _pattern(A: Csr) -> tuple[list[int], list[int]]:
    return np.asarray(A.indptr).tolist(), np.asarray(A.indices).tolist()


def spy(A: Any, factors: LU | LDLT | None = None, title: str = "") -> Picture:
    """Draws the density of the pattern of a square matrix. Given factors, also draws A in their order, L + U, and the
    widths of the levels in which columns can be factorized.

    >>> import scipy.sparse as sp, lutra
    >>> A = sp.diags([1.0, 4.0, 1.0], [-1, 0, 1], shape=(40, 40), format="csr")
    >>> picture = lutra.spy(A, lutra.splu(A), title="tridiagonal")
    >>> picture.startswith("<svg") and picture.count("tridiagonal") > 0
    True
    """
    csr = as_csr(A)
    pattern = _pattern(csr)
    panels = [_core.panel("A", csr.shape, *pattern, [], [])]
    widths: list[int] = []
    if factors is not None:
        s = factors._solver.structure()
        widths = s["level_widths"].tolist()
        rows, columns = _positions(s["row_order"]), _positions(s["col_order"])
        panels.append(_core.panel("P·A·Q", csr.shape, *pattern, rows, columns))
        panels.append(_core.panel("L + U", csr.shape, s["indptr"].tolist(), s["indices"].tolist(), [], []))
    return Picture(_core.to_svg(title, panels, widths))
