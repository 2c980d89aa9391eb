# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matrices of the tests, and the types of this build of Lutra."""

from __future__ import annotations

import os

import numpy as np
import scipy.sparse as sp

import lutra

NAMES = {"f32": "float32", "f64": "float64", "c64": "complex64", "c128": "complex128"}
SCALARS = [NAMES[scalar] for scalar in lutra.build_info()["scalars"]]
ORDINALS = lutra.build_info()["ordinals"]
ON_DEVICE = lutra.build_info()["backend"] in ("cuda", "hip")


def random_values(shape: tuple[int, ...] | int, dtype: str, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.standard_normal(shape)
    return values.astype(dtype)


def unsymmetric(n: int, dtype: str = "float64", seed: int = 1) -> sp.csr_matrix:
    """A random pattern with permuted rows, so that the diagonal has no meaning."""
    A = sp.random(n, n, density=4 / n, format="csr", random_state=seed)
    A.data = random_values(A.nnz, dtype, seed)
    A = A + sp.identity(n, dtype=dtype, format="csr") * 5
    order = np.random.default_rng(seed).permutation(n)
    A = sp.csr_matrix(A[order])
    A.sum_duplicates()
    return A.astype(dtype)


def symmetric(n: int, dtype: str = "float64", seed: int = 1) -> sp.csr_matrix:
    """A Hermitian indefinite KKT matrix with n rows and n // 3 constraints of full rank."""
    m = n // 3
    B = sp.random(m, n, density=3 / n, format="csr", random_state=seed)
    B.data = random_values(B.nnz, dtype, seed)
    B = B + sp.eye(m, n, format="csr") * 4
    H = sp.diags(np.arange(1, n + 1) / n + 1)
    A = sp.bmat([[H, B.conj().T], [B, None]], format="csr").astype(dtype)
    A.sum_duplicates()
    return A


def tolerance(dtype: str) -> float:
    return 1e-3 if np.finfo(dtype).eps > 1e-10 else 1e-9


def resident_bytes() -> int:
    """Memory of this process, on Linux."""
    with open("/proc/self/statm") as text:
        return int(text.read().split()[1]) * os.sysconf("SC_PAGESIZE")
