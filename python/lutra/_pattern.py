# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Patterns with which lutra.torch and lutra.jax solve."""

from __future__ import annotations

import hashlib
import threading
from typing import Any

import numpy as np
import scipy.sparse

from . import _core
from ._arrays import Csr, on_device, ordered
from ._batch import BatchedFactors, BatchedLDLT, BatchedLU
from ._options import option_texts
from ._solvers import LDLT, LU, Factors

_CHOLESKY = {"symmetry": "hermitian", "positive_definite": True}
_METHODS: dict[str, tuple[type[Factors], type[BatchedFactors], dict[str, Any]]] = {
    "lu": (LU, BatchedLU, {}),
    "ldlt": (LDLT, BatchedLDLT, {}),
    "cholesky": (LDLT, BatchedLDLT, _CHOLESKY),
}


class Pattern:
    """Pattern of square matrices, and how they are solved, for `lutra.torch.solve` and `lutra.jax.solve`.

    `A` is csr of SciPy or sparse_csr of PyTorch, whose values are not read, or a pair of row_map [n + 1] and column
    indices [entries]. Columns ascend in each row. `method` is "lu", "ldlt" or "cholesky"; the latter two need both
    triangles. With `on_failure` "raise" a matrix that cannot be solved raises an exception, with "nan" its solution
    is NaN. Other options are those of `lutra.splu` and `lutra.ldlt`.

    The pattern is analyzed once, with the first values that are solved. `kept` limits the sets of factors kept for
    later values or backward passes. `close` frees them.

    >>> import scipy.sparse as sp, lutra
    >>> pattern = lutra.Pattern(sp.csr_matrix([[2.0, 1.0], [0.0, 4.0]]))
    >>> pattern.n, pattern.entries, pattern.rows.tolist(), pattern.columns.tolist()
    (2, 3, [0, 0, 1], [0, 1, 1])
    """

    def __init__(self, A: Any, method: str = "lu", on_failure: str = "raise", kept: int = 4, **options: Any) -> None:
        if method not in _METHODS:
            raise ValueError(f"method: there is no {method!r} (choose from {', '.join(_METHODS)})")
        if on_failure not in ("raise", "nan"):
            raise ValueError("on_failure has to be 'raise' or 'nan'")
        if kept < 1:
            raise ValueError(f"kept: it is {kept}, less than 1")
        row_map, columns = (_on_host(array) for array in _arrays_of(A))
        _check(row_map, columns)
        self.method, self.on_failure, self.kept = method, on_failure, kept
        self.n, self.entries = len(row_map) - 1, len(columns)
        index = np.int32 if max(self.n, self.entries) < 2**31 else np.int64
        self.row_map: np.ndarray = row_map.astype(index)
        self.columns: np.ndarray = columns.astype(index)
        self.rows: np.ndarray = np.repeat(np.arange(self.n, dtype=index), np.diff(row_map))
        self.factorizations = 0  # by lutra.torch
        self._arrays = self.row_map, self.columns  # whose addresses follow
        addresses = [array.ctypes.data for array in self._arrays]
        self._place = (self.n, self.entries, *addresses, index is np.int64)
        self._options = {**_METHODS[method][2], **options}
        self._idle: dict[tuple[Any, ...], list[Any]] = {}  # factors to use again, by kind
        self._lock = threading.Lock()
        self._placed: dict[Any, Any] = {}  # index arrays of other libraries, by device
        self._ordinal = self.columns.dtype.name
        self._scalars: dict[Any, str] = {}  # names of dtypes
        self._text: str | None = None
        self._keys: dict[str, int] = {}

    # ---- for lutra.torch --------------------------------------------------------------------------------------

    def factorize(self, values: Any) -> Held:
        """Factors for values [entries] or [systems × entries] that `solve`; they return here when they are freed."""
        kind = (values.ndim, values.dtype, None if isinstance(values, np.ndarray) else values.device)
        return self._factors_of(kind, values, None)

    def factorize_at(self, tensor: Any, address: int, dtype: np.dtype) -> Held:
        """The same for contiguous numbers of a tensor on the host."""
        return self._factors_of((tensor.dim(), dtype, None), tensor, address)

    def _factors_of(self, kind: tuple[Any, ...], values: Any, address: int | None) -> Held:
        with self._lock:
            idle = self._idle.get(kind)
            factors = idle.pop() if idle else None
            self.factorizations += 1
        try:
            if factors is None:
                factors = self._new(values if address is None else values.numpy(force=True))
            elif address is not None and kind[0] == 2:
                factors._factorize_at(self.entries, len(values), address, values)
            elif address is not None:
                factors._factorize_at(self._place, address)
            elif kind[0] == 2:
                factors.refactor(values)
            else:
                factors._factorize(self._matrix(values))
        except ArithmeticError:
            self._take_back(kind, factors)
            if self.on_failure == "raise":
                raise
            factors = None
        except BaseException:
            self._take_back(kind, factors)
            raise
        return Held(self, kind, factors)

    def _matrix(self, values: Any) -> Csr:
        """The matrix of one set of values, all arrays on one side."""
        row_map, columns = self.row_map, self.columns
        if isinstance(values, np.ndarray):
            values = np.ascontiguousarray(values)
            if values.itemsize == 16 and values.ctypes.data % 16:  # NumPy aligns complex128 to 8 bytes
                values = values.copy()
        elif on_device(values):
            placed = self.placed(("indices", values.device), lambda: [self.row_map, self.columns], values)
            row_map, columns, values = (ordered(array) for array in (*placed, values.contiguous()))
        scalar = self._scalars.get(values.dtype)
        if scalar is None:
            scalar = self._scalars[values.dtype] = str(values.dtype).rsplit(".", 1)[-1]
        return Csr((self.n, self.n), row_map, columns, values, scalar, self._ordinal)

    def _new(self, values: Any) -> Any:
        single, batched, _ = _METHODS[self.method]
        if values.ndim == 1:
            return single(self._matrix(values), self._options)
        return batched(
            self._matrix(values[0]),
            values,
            on_failure="ignore" if self.on_failure == "nan" else "raise",
            **self._options,
        )

    def _take_back(self, kind: tuple[Any, ...], factors: Any) -> None:
        if factors is None:
            return
        with self._lock:
            idle = self._idle.setdefault(kind, [])
            if len(idle) < self.kept:
                idle.append(factors)
                return
        factors.close()

    def placed(self, where: Any, arrays: Any, like: Any) -> Any:
        """Arrays of the library of `like` on its device, made once."""
        if where not in self._placed:
            import torch

            self._placed[where] = [torch.as_tensor(array, device=like.device) for array in arrays()]
        return self._placed[where]

    # ---- for lutra.jax ----------------------------------------------------------------------------------------

    def text(self) -> str:
        """Method and options, as the module reads them."""
        if self._text is not None:
            return self._text
        named, order = option_texts(self._options)
        if order or "log" in self._options:
            raise ValueError("lutra.jax has no user_permutation and no log")
        given = [f"{name}={value}" for name, value in named if name != "positive_definite"]
        self._text = "\n".join([self.method, self.on_failure, str(self.kept), *given])
        return self._text

    def key(self, scalar: str) -> int:
        """A number that stands for the pattern, its options and the scalar type in this and other processes."""
        if scalar not in self._keys:
            digest = hashlib.sha256(self.row_map.tobytes())
            digest.update(self.columns.tobytes())
            digest.update(f"{self.text()}\n{scalar}".encode())
            self._keys[scalar] = int.from_bytes(digest.digest()[:8], "little") >> 1
        return self._keys[scalar]

    def close(self) -> None:
        """Frees factors that are kept. Later solves make new ones."""
        with self._lock:
            idle, self._idle = self._idle, {}
        for factors in idle.values():
            for one in factors:
                one.close()
        for key in self._keys.values():
            _core.xla_forget(key)

    def __del__(self) -> None:
        if hasattr(self, "_keys"):
            self.close()

    def __repr__(self) -> str:
        return f"<lutra.Pattern {self.n} × {self.n}, {self.entries} entries, {self.method}>"


class Held:
    """Factors that belong to one set of values. When this object is freed, its pattern uses their memory again."""

    __slots__ = ("_factors", "_kind", "_pattern")

    def __init__(self, pattern: Pattern, kind: tuple[Any, ...], factors: Any) -> None:
        self._pattern, self._kind, self._factors = pattern, kind, factors

    def solve(self, b: Any, trans: str) -> Any:
        """As `solve` of the factors; NaN where the pattern asks for it."""
        if self._factors is None:
            return b * float("nan")
        try:
            return self._factors.solve(b, trans)
        except ArithmeticError:
            if self._pattern.on_failure == "raise":
                raise
            return b * float("nan")

    def solve_at(self, b: int, x: Any, trans: str) -> None:
        """As `solve` of contiguous numbers on the host, at the address b; x, a tensor, gets the solution."""
        factors, pattern = self._factors, self._pattern
        if factors is None:
            x.fill_(float("nan"))
            return
        columns = x.shape[-1] if x.dim() > self._kind[0] else 1
        try:
            failed = factors._solve_at(b, x.data_ptr(), pattern.n, columns, trans)
        except ArithmeticError:
            if pattern.on_failure == "raise":
                raise
            x.fill_(float("nan"))
            return
        if failed:
            x[failed] = float("nan")

    def __del__(self) -> None:
        factors, self._factors = self._factors, None
        self._pattern._take_back(self._kind, factors)


def as_pattern(pattern: Any, options: dict[str, Any]) -> Pattern:
    """The pattern; a new one from anything that `Pattern` takes."""
    if not isinstance(pattern, Pattern):
        return Pattern(pattern, **options)
    if options:
        raise TypeError(f"{', '.join(options)}: options belong to the Pattern")
    return pattern


def _arrays_of(A: Any) -> tuple[Any, Any]:
    if scipy.sparse.issparse(A):
        if A.format != "csr":
            raise TypeError(f"pattern: csr is wanted, not {A.format}, because values are in the order of its entries")
        return A.indptr, A.indices
    if hasattr(A, "crow_indices"):
        return A.crow_indices(), A.col_indices()
    if all(hasattr(A, name) for name in ("indptr", "indices")):
        return A.indptr, A.indices
    if isinstance(A, (tuple, list)) and len(A) == 2:
        return A[0], A[1]
    raise TypeError(f"pattern: csr or (row_map, columns) is wanted, not {type(A).__name__}")


def _on_host(array: Any) -> np.ndarray:
    if hasattr(array, "cpu"):
        array = array.cpu()
    elif hasattr(array, "get"):  # CuPy
        array = array.get()
    numbers = np.asarray(array)
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
        raise TypeError("pattern: row_map and columns are vectors of integers")
    return numbers


def _check(row_map: np.ndarray, columns: np.ndarray) -> None:
    n = len(row_map) - 1
    if n < 0 or row_map[0] != 0 or row_map[-1] != len(columns) or (np.diff(row_map) < 0).any():
        raise ValueError(f"pattern: row_map must ascend from 0 to the {len(columns)} entries")
    rows = np.repeat(np.arange(n), np.diff(row_map))
    bad = np.flatnonzero((columns < 0) | (columns >= n))
    if bad.size:
        raise ValueError(f"pattern: row {rows[bad[0]]} has column {columns[bad[0]]} of {n}")
    same_row = rows[1:] == rows[:-1]
    bad = np.flatnonzero(same_row & (columns[1:] <= columns[:-1]))
    if bad.size:
        raise ValueError(f"pattern: columns of row {rows[bad[0]]} must ascend")
