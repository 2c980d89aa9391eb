# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converts matrices and vectors to arrays of the library's types, shared with the caller where possible."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from ._errors import ConversionWarning, warn

_SCALARS = ("float32", "float64", "complex64", "complex128")
_SCALAR_OF = {np.dtype(name): name for name in _SCALARS}
_ORDINAL_OF = {np.dtype("int32"): "int32", np.dtype("int64"): "int64"}


class Csr(NamedTuple):
    """A matrix by rows. Its arrays are NumPy arrays or have DLPack."""

    shape: tuple[int, int]
    indptr: Any
    indices: Any
    data: Any
    scalar: str  # of _SCALARS
    ordinal: str  # "int32" or "int64"


class OnDefaultStream:
    """A device array whose library makes the default stream of the device wait for its computation.

    The streams of Lutra wait for the default stream. Without a stream argument PyTorch would not wait for a stream
    set by `torch.cuda.stream`.
    """

    def __init__(self, array: Any) -> None:
        self._array = array
        self.shape = array.shape
        self.dtype = array.dtype

    def __dlpack__(self, **options: Any) -> Any:
        cuda = self._array.__dlpack_device__()[0] != 10  # the other one is ROCm
        return self._array.__dlpack__(stream=1 if cuda else 0, **options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array.__dlpack_device__()


def plain(name: str, array: Any) -> Any:
    """An array whose memory holds its values: PyTorch conjugates and negates tensors lazily.

    Raises TypeError for a tensor that needs a gradient, which the solution would not have.
    """
    if getattr(array, "requires_grad", False):
        raise TypeError(f"{name}: the tensor requires a gradient; use lutra.torch.solve, or {name}.detach()")
    for is_lazy, resolve in (("is_conj", "resolve_conj"), ("is_neg", "resolve_neg")):
        if hasattr(array, resolve) and getattr(array, is_lazy)():
            array = getattr(array, resolve)()
    return array


def ordered(array: Any) -> Any:
    """The array; if it is on a device, wrapped so that it is read only after its computation."""
    return OnDefaultStream(array) if on_device(array) else array


def writable(out: Any) -> Any:
    """The array that receives a solution, as the library takes it. Raises TypeError for arrays that never change."""
    if isinstance(out, np.ndarray):
        return out
    if type(out).__module__.startswith("jax"):  # its DLPack does not say that it must not be written
        raise TypeError("out: arrays of JAX cannot be written; use the solution that is returned")
    if plain("out", out) is not out:
        raise TypeError("out: a tensor that is conjugated or negated lazily cannot be written; pass its own memory")
    return ordered(out)


def _type_name(array: Any) -> str:
    """The name of the dtype, such as "float64", of arrays of NumPy, CuPy, PyTorch and JAX."""
    return str(array.dtype).rsplit(".", 1)[-1]


def _scalar_for(dtype: np.dtype) -> str:
    """The scalar type of the library that represents all values of a dtype exactly."""
    if dtype.kind in "biu" or dtype == np.float16:
        return "float32" if dtype == np.float16 else "float64"
    name = dtype.newbyteorder("=").name
    if name not in _SCALARS:
        raise TypeError(f"a matrix of {dtype} cannot be solved: float32, float64, complex64, complex128 can")
    return name


def _check_indices(A: Any) -> None:
    """Raises ValueError for indices with which conversions in SciPy would access memory beyond the arrays."""
    if A.format in ("csc", "bsr"):
        A.check_format(full_check=True)
    elif A.format == "coo":
        for name, index, size in (("row", A.row, A.shape[0]), ("column", A.col, A.shape[1])):
            bad = np.flatnonzero((index < 0) | (index >= size))
            if bad.size:
                raise ValueError(f"A: entry {bad[0]} has {name} {index[bad[0]]} of {size}")
    elif A.format == "csr" and not getattr(A, "_has_canonical_format", False):
        offsets, stored = A.indptr, len(A.indices)
        if len(offsets) != A.shape[0] + 1 or len(A.data) != stored:
            raise ValueError("A: lengths of indptr, indices and data do not fit")
        bad = np.flatnonzero((offsets[:-1] < 0) | (offsets[1:] < offsets[:-1]) | (offsets[1:] > stored))
        if bad.size:
            raise ValueError(
                f"A: row {bad[0]} begins and ends at {offsets[bad[0]]} and {offsets[bad[0] + 1]} of {stored}"
            )


def _from_scipy(A: Any) -> Csr:
    _check_indices(A)
    if A.format in ("lil", "dok"):
        warn(f"a {A.format} matrix is slow to convert; pass csr", ConversionWarning)
    rows = A if A.format == "csr" else A.tocsr()
    if not rows.has_canonical_format:  # columns are not sorted or occur twice
        rows = rows.copy() if rows is A else rows
        rows.sum_duplicates()
    scalar = _scalar_for(rows.dtype)
    data = np.ascontiguousarray(rows.data, dtype=scalar)
    indptr, indices = rows.indptr, rows.indices
    ordinal = "int64" if indices.dtype.itemsize == 8 else "int32"
    return Csr(rows.shape, indptr, np.ascontiguousarray(indices), data, scalar, ordinal)


def csr_rows(A: Any) -> Csr:
    """Some rows of a matrix, from any format of SciPy."""
    if not scipy.sparse.issparse(A):
        raise TypeError(f"A: a sparse matrix of SciPy is wanted, not {type(A).__name__}")
    if A.ndim != 2:
        raise ValueError(f"A: rows × columns are wanted, this one has the shape {tuple(A.shape)}")
    rows = _from_scipy(A)
    if len(rows.indptr) != rows.shape[0] + 1 or len(rows.indices) != len(rows.data):
        raise ValueError("A: lengths of indptr, indices and data do not fit")
    return rows


def _shared(A: Any) -> Csr | None:
    """A square csr matrix that SciPy knows to be canonical and the library reads without conversion, or None."""
    if getattr(A, "format", None) != "csr" or not getattr(A, "_has_canonical_format", False):
        return None
    indptr, indices, data, shape = A.indptr, A.indices, A.data, A.shape
    scalar, ordinal = _SCALAR_OF.get(data.dtype), _ORDINAL_OF.get(indices.dtype)
    if scalar is None or indptr.dtype != np.int32 or ordinal != "int32" or shape[0] != shape[1]:
        return None
    if not (data.flags.c_contiguous and indices.flags.c_contiguous and getattr(A, "_has_sorted_indices", True)):
        return None
    return Csr(shape, indptr, indices, data, scalar, ordinal)


def as_csr(A: Any) -> Csr:
    """A matrix by rows from any format of SciPy, csr of CuPy, sparse_csr of PyTorch, or a dense NumPy array."""
    if isinstance(A, Csr):
        return A
    if scipy.sparse.issparse(A):
        if A.ndim != 2:
            raise ValueError(f"A: a square matrix is wanted, this one has the shape {tuple(A.shape)}")
        shared = _shared(A)
        if shared is not None:
            return shared
        csr = _from_scipy(A)
    elif hasattr(A, "crow_indices"):  # PyTorch
        values, indices = A.values(), A.col_indices()
        arrays = (ordered(A.crow_indices()), ordered(indices), ordered(plain("A", values)))
        csr = Csr(tuple(A.shape), *arrays, _type_name(values), _type_name(indices))
    elif all(hasattr(A, name) for name in ("indptr", "indices", "data", "shape")):  # CuPy, JAX
        if getattr(A, "format", "csr") != "csr":
            raise TypeError(f"a matrix on a device has to be csr, this one is {A.format}")
        arrays = (ordered(A.indptr), ordered(A.indices), ordered(A.data))
        csr = Csr(tuple(A.shape), *arrays, _type_name(A.data), _type_name(A.indices))
    else:
        dense = np.asarray(A)
        if dense.ndim != 2 or dense.dtype == object:
            raise TypeError(f"a sparse matrix is wanted, not {type(A).__name__}")
        warn("a dense matrix is converted", ConversionWarning)
        csr = _from_scipy(scipy.sparse.csr_matrix(dense))
    if len(csr.shape) != 2 or csr.shape[0] != csr.shape[1]:
        raise ValueError(f"A: a square matrix is wanted, this one is {' × '.join(map(str, csr.shape))}")
    if csr.scalar not in _SCALARS:
        raise TypeError(f"A: {csr.scalar} cannot be solved: {', '.join(_SCALARS)} can")
    return csr


def with_scalar(A: Csr, scalar: str) -> Csr:
    """The same matrix in a type that represents all its values."""
    if A.scalar == scalar:
        return A
    if not np.can_cast(A.scalar, scalar) or not isinstance(A.data, np.ndarray):
        raise TypeError(f"A: the factors are of {scalar}, the matrix of {A.scalar}")
    return A._replace(data=A.data.astype(scalar), scalar=scalar)


class Vectors(NamedTuple):
    """Right-hand sides in the format of the library, and the kind of array to return."""

    array: Any
    like: Any  # the object of the caller with DLPack, or None for NumPy


def _wider_values(array: np.ndarray, scalar: str) -> TypeError:
    """The error for a right-hand side that the type of A cannot represent."""
    wider = np.result_type(array.dtype, scalar).name if array.dtype.kind in "biufc" else "object"
    if wider not in _SCALARS:
        return TypeError(f"b: the factors are of {scalar}, b of {array.dtype}; pass b.astype({scalar!r})")
    if array.dtype.kind == "c" and np.dtype(scalar).kind != "c":
        return TypeError(f"b: the matrix is real, b of {array.dtype}; factorize A.astype({wider!r})")
    return TypeError(
        f"b: the factors are of {scalar}, b of {array.dtype}; pass b.astype({scalar!r}), or factorize A.astype({wider!r})"
    )


def as_vectors(b: Any, scalar: str) -> Vectors:
    """Right-hand sides, shared with the caller if type and strides allow it."""
    if type(b) is np.ndarray and scalar == "float64" and b.dtype == np.float64 and 0 < b.ndim < 3:
        flags = b.flags
        if flags.aligned and flags.forc:
            return Vectors(b, None)
    if not isinstance(b, np.ndarray) and hasattr(b, "__dlpack__"):
        return Vectors(ordered(plain("b", b)), b)
    if scipy.sparse.issparse(b):
        raise TypeError(f"b: a dense array is wanted, not a sparse matrix of format {b.format}; pass b.toarray()")
    array = np.asarray(b)
    if array.dtype != scalar:
        if not np.can_cast(array.dtype, scalar):
            raise _wider_values(array, scalar)
        array = array.astype(scalar)
    if array.ndim not in (1, 2):
        raise ValueError(f"b: one or two dimensions are wanted, not {array.ndim}")
    flags = array.flags
    if not (flags.aligned and (flags.c_contiguous or flags.f_contiguous)) or (
        scalar == "complex128" and array.__array_interface__["data"][0] % 16
    ):
        array = array.copy()
    return Vectors(array, None)


def as_systems(array: Any, name: str, scalar: str) -> Vectors:
    """Values or right-hand sides of a batch in the scalar type, shared with the caller if strides allow it."""
    if type(array) is np.ndarray and _SCALAR_OF.get(array.dtype) == scalar:
        flags = array.flags
        if flags.c_contiguous and flags.aligned and scalar != "complex128":
            return Vectors(array, None)
    if not isinstance(array, np.ndarray) and hasattr(array, "__dlpack__"):
        return Vectors(ordered(plain(name, array)), array)
    if scipy.sparse.issparse(array):
        raise TypeError(f"{name}: a dense array is wanted, not a sparse matrix of format {array.format}")
    numbers = np.asarray(array)
    if numbers.dtype != scalar:
        if not np.can_cast(numbers.dtype, scalar):
            if name == "b":
                raise _wider_values(numbers, scalar)
            raise TypeError(f"{name}: the factors are of {scalar}, {name} of {numbers.dtype}")
        numbers = numbers.astype(scalar)
    if min(numbers.strides, default=0) < 0 or any(s % numbers.itemsize for s in numbers.strides):
        numbers = numbers.copy()
    if not numbers.flags.aligned or numbers.__array_interface__["data"][0] % numbers.itemsize:
        numbers = numbers.copy()
    return Vectors(numbers, None)


def on_device(array: Any) -> bool:
    """Whether an object with DLPack is in the memory of a device."""
    on_host = (1, 3, 11)  # 3 and 11: pinned memory of CUDA and ROCm
    return not isinstance(array, np.ndarray) and array.__dlpack_device__()[0] not in on_host


def from_dlpack(array: Any, like: Any) -> Any:
    """The array converted to the library of `like`, or unchanged if that is unknown."""
    library = sys.modules.get(type(like).__module__.split(".", 1)[0])
    if library is not None and type(like).__module__.startswith("jax"):
        library = sys.modules["jax.dlpack"]
    convert = getattr(library, "from_dlpack", None)
    return array if convert is None else convert(array)
