# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Solvers that `lutra.compare` times: each a class of one shape, and a program that measures one of them."""

from __future__ import annotations

import json
import statistics
import sys
import time
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any, Callable

import numpy as np
import scipy.sparse as sp


class Peer:
    """One solver. `convert` is not timed; `factorize` is called once, then `refactorize` with new values."""

    name = ""  # as the table prints it
    package = ""  # as pip knows it
    module = ""  # what is imported
    needs = "any"  # or "symmetric", or "definite": real and symmetric with a positive diagonal
    takes_complex = True

    def __init__(self) -> None:
        self.api = import_module(self.module)

    def convert(self, A: sp.csr_matrix) -> Any:
        """The matrix in the format of the solver."""
        return A

    def factorize(self, A: Any) -> None:
        """Analysis and first factorization."""
        raise NotImplementedError

    def refactorize(self, A: Any) -> None:
        """Factorizes new values on the same pattern; the whole factorization where the package has nothing less."""
        self.factorize(A)

    def solve(self, b: np.ndarray) -> np.ndarray:
        """Solves with the last factors."""
        raise NotImplementedError

    def fill(self) -> int | None:
        """Entries of the factors; None if the package does not tell."""
        return None


class LutraLU(Peer):
    """LU of Lutra, with its defaults."""

    name, package, module = "Lutra LU", "lutra-sparse", "lutra"
    maker = "splu"

    def factorize(self, A: Any) -> None:
        self.factors = getattr(self.api, self.maker)(A)

    def refactorize(self, A: Any) -> None:
        self.factors.refactor(A)

    def solve(self, b: np.ndarray) -> np.ndarray:
        return self.factors.solve(b)

    def fill(self) -> int | None:
        counts = self.factors.report.factors
        return None if counts.nnz_l is None else counts.nnz_l + (counts.nnz_u or 0)


class LutraLDLT(LutraLU):
    """LDLᵀ of Lutra, for symmetric matrices."""

    name, maker, needs = "Lutra LDLᵀ", "ldlt", "symmetric"


class LutraCholesky(LutraLU):
    """Cholesky factorization of Lutra, for positive definite matrices."""

    name, maker, needs = "Lutra Cholesky", "cholesky", "definite"


class SuperLU(Peer):
    """SuperLU as SciPy has it. It cannot refactorize."""

    name, package, module = "SuperLU", "scipy", "scipy.sparse.linalg"

    def convert(self, A: sp.csr_matrix) -> Any:
        return A.tocsc()

    def factorize(self, A: Any) -> None:
        self.factors = self.api.splu(A)

    def solve(self, b: np.ndarray) -> np.ndarray:
        return self.factors.solve(b)

    def fill(self) -> int | None:
        return int(self.factors.nnz)


class Umfpack(Peer):
    """UMFPACK by scikit-umfpack."""

    name, package, module = "UMFPACK", "scikit-umfpack", "scikits.umfpack"

    def convert(self, A: sp.csr_matrix) -> Any:
        return A.tocsc()

    def factorize(self, A: Any) -> None:
        self.context = self.api.UmfpackContext("zi" if A.dtype.kind == "c" else "di")
        self.refactorize(A)

    def refactorize(self, A: Any) -> None:
        self.context.numeric(A)  # analyzes the first time only
        self.matrix = A

    def solve(self, b: np.ndarray) -> np.ndarray:
        return self.context.solve(self.api.UMFPACK_A, self.matrix, b)

    def fill(self) -> int | None:
        info = self.context.info
        return int(info[self.api.UMFPACK_LNZ] + info[self.api.UMFPACK_UNZ])


class Klu(Peer):
    """KLU by nbklu."""

    name, package, module = "KLU", "nbklu", "nbklu"

    def convert(self, A: sp.csr_matrix) -> Any:
        return A.tocsc()

    def factorize(self, A: Any) -> None:
        kind = self.api.KLUSolver32Complex if A.dtype.kind == "c" else self.api.KLUSolver32Real
        self.solver = kind(singular_as_error=True)
        self.solver.analyze(A.shape[0], A.indptr, A.indices)
        self.solver.factor(A.data)

    def refactorize(self, A: Any) -> None:
        self.solver.refactor(A.data)

    def solve(self, b: np.ndarray) -> np.ndarray:
        return self.solver.solve(b)

    def fill(self) -> int | None:
        numeric = self.solver.numeric
        return int(numeric.lnz + numeric.unz + numeric.nzoff)  # nzoff: entries outside the diagonal blocks


class Pardiso(Peer):
    """PARDISO of MKL by pypardiso."""

    name, package, module = "PARDISO", "pypardiso", "pypardiso"
    takes_complex = False
    kind = 11  # real, unsymmetric
    entries_of_factors = 18  # number of the parameter, from 1

    def factorize(self, A: Any) -> None:
        self.solver = self.api.PyPardisoSolver(mtype=self.kind)
        self.solver.factorize(A)
        self.matrix = A

    def refactorize(self, A: Any) -> None:
        self.matrix = A
        self._phase(22, np.zeros(A.shape[0]))

    def solve(self, b: np.ndarray) -> np.ndarray:
        return self._phase(33, b)

    def _phase(self, phase: int, b: np.ndarray) -> np.ndarray:
        """One phase of PARDISO. The public calls of pypardiso compare the whole matrix with the last one first."""
        self.solver.set_phase(phase)
        return self.solver._call_pardiso(self.matrix, b)

    def fill(self) -> int | None:
        return int(self.solver.get_iparm(self.entries_of_factors))


class PardisoSymmetric(Pardiso):
    """PARDISO for symmetric indefinite matrices, of which it takes the upper triangle."""

    name, kind, needs = "PARDISO LDLᵀ", -2, "symmetric"

    def convert(self, A: sp.csr_matrix) -> Any:
        upper, rows = sp.triu(A, format="coo"), np.arange(A.shape[0], dtype=np.int32)
        row, column = np.concatenate([upper.row, rows]), np.concatenate([upper.col, rows])
        values = np.concatenate([upper.data, np.zeros(A.shape[0])])  # PARDISO wants every diagonal entry stored
        return sp.csr_matrix((values, (row, column)), shape=A.shape)


class Mumps(Peer):
    """MUMPS by python-mumps."""

    name, package, module = "MUMPS", "python-mumps", "mumps"
    symmetric = False

    def convert(self, A: sp.csr_matrix) -> Any:
        return A.tocoo()

    def factorize(self, A: Any) -> None:
        self.context = self.api.Context()
        self.context.set_matrix(A, symmetric=self.symmetric)
        self.context.factor()

    def refactorize(self, A: Any) -> None:
        self.context.set_matrix(A, symmetric=self.symmetric)
        self.context.factor(reuse_analysis=True)

    def solve(self, b: np.ndarray) -> np.ndarray:
        return self.context.solve(b)

    def fill(self) -> int | None:
        return int(self.context.factor_stats.nonzeros)


class MumpsSymmetric(Mumps):
    """MUMPS for symmetric indefinite matrices."""

    name, symmetric, needs = "MUMPS LDLᵀ", True, "symmetric"


class Cholmod(Peer):
    """CHOLMOD by scikit-sparse, 0.5 or an earlier version."""

    name, package, module, needs = "CHOLMOD", "scikit-sparse", "sksparse.cholmod", "definite"

    def convert(self, A: sp.csr_matrix) -> Any:
        return A.tocsc()

    def factorize(self, A: Any) -> None:
        is_new = hasattr(self.api, "cho_factor")
        self.factors = self.api.cho_factor(A, lower=True) if is_new else self.api.cholesky(A)

    def refactorize(self, A: Any) -> None:
        if hasattr(self.factors, "factorize"):
            self.factors.factorize(A)
        else:
            self.factors.cholesky_inplace(A)

    def solve(self, b: np.ndarray) -> np.ndarray:
        return self.factors.solve(b) if hasattr(self.factors, "solve") else self.factors(b)

    def fill(self) -> int | None:
        return int(self.factors.nnz) if hasattr(self.factors, "nnz") else int(self.factors.L().nnz)


class Cudss(Peer):
    """cuDSS by nvmath-python. Matrix, right-hand side and solution are on the host, so times include the copies."""

    name, package, module = "cuDSS", "nvmath-python", "nvmath.sparse.advanced"

    def convert(self, A: sp.csr_matrix) -> Any:
        return sp.csr_array(A)

    def factorize(self, A: Any) -> None:
        self.solver = self.api.DirectSolver(A, np.zeros(A.shape[0], A.dtype))
        self.solver.plan()
        self.solver.factorize()

    def refactorize(self, A: Any) -> None:
        self.solver.reset_operands(a=A)
        self.solver.factorize()

    def solve(self, b: np.ndarray) -> np.ndarray:
        self.solver.reset_operands(b=b)
        return self.solver.solve()

    def fill(self) -> int | None:
        return int(self.solver.factorization_info.lu_nnz)


PEERS: list[type[Peer]] = [LutraLU, LutraLDLT, LutraCholesky, SuperLU, Umfpack, Klu, Pardiso, PardisoSymmetric,
                           Mumps, MumpsSymmetric, Cholmod, Cudss]  # fmt: skip


NUMERICAL = (UserWarning, RuntimeWarning)  # warnings that the table shows; others are for programmers


def load_peer(name: str) -> type[Peer]:
    """The class that "module:Class" names."""
    module, _, kind = name.partition(":")
    return getattr(import_module(module), kind)


def seconds_of(action: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of a call, and its result."""
    begin = time.perf_counter()
    result = action()
    return time.perf_counter() - begin, result


def measure(kind: type[Peer], A: sp.csr_matrix, B: sp.csr_matrix, b: np.ndarray, repeat: int) -> dict[str, Any]:
    """Medians of seconds: A as a new matrix, then B, which has other values on its pattern, and solves with both."""
    first, again, solves = [], [], []
    for _ in range(repeat):
        peer = kind()
        new, changed = peer.convert(A), peer.convert(B)
        first.append(seconds_of(lambda: peer.factorize(new))[0])  # noqa: B023 (called at once)
        seconds, x = seconds_of(lambda: peer.solve(b))  # noqa: B023
        solves.append(seconds)
        again.append(seconds_of(lambda: peer.refactorize(changed))[0])  # noqa: B023
        seconds, y = seconds_of(lambda: peer.solve(b))  # noqa: B023
        solves.append(seconds)
    median = statistics.median
    times = {"first": median(first), "refactor": median(again), "solve": median(solves)}
    return {"seconds": times, "fill": peer.fill(), "solutions": (np.asarray(x), np.asarray(y))}


def first_line(error: BaseException | str) -> str:
    """The message of an exception or warning in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:120]


def main() -> None:
    """Measures one solver: name of its class, folder of matrix and results, repetitions."""
    name, folder, repeat = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    A, B, b = sp.load_npz(folder / "A.npz"), sp.load_npz(folder / "B.npz"), np.load(folder / "b.npy")
    try:
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            result = measure(load_peer(name), sp.csr_matrix(A), sp.csr_matrix(B), b, repeat)
        result["warnings"] = sorted({first_line(w.message) for w in given if issubclass(w.category, NUMERICAL)})
        np.savez(folder / "solutions.npz", *result.pop("solutions"))
    except Exception as error:
        result = {"problem": first_line(error)}
    (folder / "result.json").write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main()
