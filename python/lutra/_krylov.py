# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Krylov methods with any preconditioner."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _core
from ._arrays import as_csr, as_vectors, from_dlpack, on_device
from ._core import Report
from ._errors import judge
from ._options import lists_options, make_solver
from ._solvers import ILU


def _function(M: Any) -> Any:
    """M as a function of (b, trans) for NumPy arrays [n × k]."""
    if hasattr(M, "solve"):
        return M.solve
    if hasattr(M, "matmat"):  # SciPy's LinearOperator
        return lambda b, trans: M.matmat(b) if trans == "N" else M.adjoint().matmat(b)
    if callable(M):
        return lambda b, trans: M(b)
    raise TypeError(f"M: {type(M).__name__} is no preconditioner: it has no solve, no matmat, and is no function")


@lists_options(_core.list_options("krylov"))
def gmres(A: Any, b: Any, M: Any = "ilu", x0: Any = None, trans: str = "N", **options: Any) -> tuple[Any, Report]:
    """Solves A x = b by restarted GMRES for one or several columns. Returns x and the report.

    `M` is the preconditioner: "ilu" (ILU(0)), "jacobi", "lu" or "none"; factors from `spilu`; any object with
    `solve(b, trans)`; a LinearOperator; or a function of b. Options are listed below, except preconditioning and
    start_from_x, which follow from `M` and `x0`.

    If the relative residual exceeds the tolerance, there is an AccuracyWarning, and report.status is "not_converged".

    >>> import numpy as np, scipy.sparse as sp, lutra
    >>> A = sp.diags([-1.0, 2.5, -1.0], [-1, 0, 1], shape=(100, 100), format="csr")
    >>> x, report = lutra.gmres(A, np.ones(100), M=lutra.spilu(A), tolerance=1e-8)
    >>> report.status, report.iterations < 10
    ('success', True)
    """
    csr = as_csr(A)
    named = isinstance(M, str) or M is None
    solver = make_solver(
        "krylov",
        csr,
        {**options, "preconditioning": (M or "none") if named else "none", "start_from_x": x0 is not None},
    )
    try:
        solver.analyze(csr.shape, csr.indptr, csr.indices, csr.data)
        judge(solver.factorize(csr.shape, csr.indptr, csr.indices, csr.data), solver.report)
        factors = M._solver if isinstance(M, ILU) else None
        if not named and factors is None:
            function = _function(M)

            def apply(b: np.ndarray, x: np.ndarray, trans: str) -> None:
                result = np.asarray(function(b, trans))
                if result.dtype.kind == "c" and x.dtype.kind != "c":
                    raise TypeError(f"M: it returns {result.dtype} for vectors of {x.dtype}")
                x[...] = result.reshape(x.shape)

            solver.precondition_by(apply)
        vectors = as_vectors(b, csr.scalar)
        x: Any
        if vectors.like is not None and on_device(b):
            if x0 is not None:
                raise ValueError("x0 is for arrays on the host")
            x = solver.new_like(vectors.array)
        else:
            x = np.zeros(tuple(vectors.array.shape), csr.scalar)
            if x0 is not None:
                x[...] = x0
        status = solver.solve(vectors.array, x, trans, factors)
        report = solver.report
        judge(status, report)
        return (x if vectors.like is None else from_dlpack(x, b)), report
    finally:
        solver.close()
