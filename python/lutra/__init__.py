# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sparse direct and iterative solvers: the Python interface of the library Lutra.

>>> import numpy as np, scipy.sparse as sp, lutra
>>> A = sp.csr_matrix([[4.0, 1.0, 0.0], [1.0, 3.0, 0.0], [0.0, 2.0, 2.0]])
>>> with lutra.splu(A) as lu:
...     x = lu.solve(np.array([5.0, 4.0, 4.0]))
>>> np.allclose(x, 1)
True

`splu`, `ldlt` and `cholesky` factorize a matrix, `spilu` factorizes it incompletely, `gmres` iterates, `spy` draws
patterns, `SchurComplement` condenses systems, and `forecast` tells the memory of factors before. Direct solvers check
each solution: `report.errors` has its componentwise backward error.
"""

from ._core import MemoryForecast, Report, build_info
from ._errors import (
    AccuracyWarning,
    BreakdownError,
    ConversionWarning,
    NotPositiveDefiniteError,
    SingularMatrixError,
)
from ._krylov import gmres
from ._picture import Picture, spy
from ._schur import SchurComplement
from ._solvers import ILU, LDLT, LU, Determinant, Event, Inertia, cholesky, forecast, ldlt, spilu, splu

__all__ = [
    "ILU",
    "LDLT",
    "LU",
    "AccuracyWarning",
    "BreakdownError",
    "ConversionWarning",
    "Determinant",
    "Event",
    "Inertia",
    "MemoryForecast",
    "NotPositiveDefiniteError",
    "Picture",
    "Report",
    "SchurComplement",
    "SingularMatrixError",
    "build_info",
    "cholesky",
    "forecast",
    "gmres",
    "ldlt",
    "spilu",
    "splu",
    "spy",
]
__version__: str = build_info()["version"]
