# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sparse direct and iterative solvers: the Python interface of the library Lutra.

>>> import numpy as np, scipy.sparse as sp, lutra
>>> A = sp.csr_matrix([[4.0, 1.0, 0.0], [1.0, 3.0, 0.0], [0.0, 2.0, 2.0]])
>>> with lutra.splu(A) as lu:
...     x = lu.solve(np.array([5.0, 4.0, 4.0]))
>>> np.allclose(x, 1)
True

`splu`, `ldlt` and `cholesky` factorize a matrix, or with `batch=` many of one pattern, `spilu` factorizes it
incompletely, `gmres` iterates, `spy` draws patterns, `SchurComplement` condenses systems, and `forecast` tells the
memory of factors before. Direct solvers check each solution: `report.errors` has its componentwise backward error.
`lutra.torch.solve` and `lutra.jax.solve` differentiate through solutions; both have to be imported.
"""

from ._batch import BatchedLDLT, BatchedLU, BatchErrors
from ._core import BatchReport, MemoryForecast, Report, build_info
from ._errors import (
    AccuracyWarning,
    BatchError,
    BreakdownError,
    ConversionWarning,
    NotPositiveDefiniteError,
    SingularMatrixError,
)
from ._krylov import gmres
from ._options import Event
from ._pattern import Pattern
from ._picture import Picture, spy
from ._schur import SchurComplement
from ._solvers import ILU, LDLT, LU, Determinant, Inertia, cholesky, forecast, ldlt, spilu, splu

__all__ = [
    "ILU",
    "LDLT",
    "LU",
    "AccuracyWarning",
    "BatchError",
    "BatchErrors",
    "BatchReport",
    "BatchedLDLT",
    "BatchedLU",
    "BreakdownError",
    "ConversionWarning",
    "Determinant",
    "Event",
    "Inertia",
    "MemoryForecast",
    "NotPositiveDefiniteError",
    "Pattern",
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
