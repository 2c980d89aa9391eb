# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sparse solves that PyTorch differentiates.

>>> import torch, scipy.sparse as sp, lutra, lutra.torch
>>> A = sp.csr_matrix([[4.0, 1.0], [1.0, 3.0]])
>>> values = torch.tensor(A.data, requires_grad=True)
>>> b = torch.tensor([5.0, 4.0], dtype=torch.float64, requires_grad=True)
>>> x = lutra.torch.solve(values, b, lutra.Pattern(A))
>>> x.sum().backward()
>>> [round(g, 6) for g in (values.grad * 11).tolist()]
[-2.0, -2.0, -3.0, -3.0]
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ._pattern import Held, Pattern, as_pattern

_ADJOINT = {"N": "H", "H": "N"}
_DTYPES = {getattr(torch, name): np.dtype(name) for name in ("float32", "float64", "complex64", "complex128")}


def solve(values: torch.Tensor, b: torch.Tensor, pattern: Any, trans: str = "N", **options: Any) -> torch.Tensor:
    """The solution of A x = b, or with trans 'T' or 'H' of the transposed or adjoint system, for autograd.

    `values` are the entries of A, [entries] in the order of the pattern; b is [n] or [n × columns]. Both may have the
    same leading dimensions: a batch, as in `lutra.splu(A, batch=values)`. They have the same dtype, float32, float64,
    complex64 or complex128, and device. `pattern` is a `lutra.Pattern`, or what makes one with `options`; only
    a Pattern is analyzed once for many calls.

    One factorization serves forward and backward passes of any order. With λ = A⁻ᴴ g, the gradient of b is λ and that
    of the entry (i, j) is −λ_i conj(x_j), computed for the pattern alone.

    Raises ValueError for wrong shapes, NaN and infinity, `lutra.SingularMatrixError` or `lutra.BatchError` (see
    `on_failure` of the Pattern), MemoryError.
    """
    made = as_pattern(pattern, options)
    if trans not in ("N", "T", "H"):
        raise ValueError("trans has to be 'N', 'T' or 'H'")
    _check(values, b, made)
    if values.dim() < 3:
        return _Solve.apply(values, b, made, None, trans)
    flat = b.reshape(-1, *b.shape[values.dim() - 1 :])
    return _Solve.apply(values.reshape(-1, made.entries), flat, made, None, trans).reshape(b.shape)


def _check(values: torch.Tensor, b: torch.Tensor, pattern: Pattern) -> None:
    if values.dtype != b.dtype or values.device != b.device:
        raise TypeError(f"values are of {values.dtype} on {values.device}, but b of {b.dtype} on {b.device}")
    of_values, found = values.shape, b.shape
    if not of_values or of_values[-1] != pattern.entries:
        raise ValueError(f"values: {tuple(of_values)}, but the pattern has {pattern.entries} entries")
    systems = of_values[:-1]
    if found[: len(systems)] != systems or len(found) - len(systems) not in (1, 2) or found[len(systems)] != pattern.n:
        wanted = (*systems, pattern.n)
        raise ValueError(f"b: {tuple(found)}, but {wanted} or {(*wanted, 'columns')} is wanted")


def _array(tensor: torch.Tensor) -> Any:
    """The numbers without history: an array of NumPy on the host, which costs less than DLPack, or a tensor."""
    if tensor.is_cpu:
        return tensor.numpy(force=True)
    return tensor.detach().resolve_conj().resolve_neg().contiguous()  # the gradient of a sum has strides of 0


def _address(tensor: torch.Tensor) -> int:
    """Where the numbers of a tensor on the host are, or 0 if the library cannot read them there as they are."""
    if not tensor.is_cpu or tensor.dtype not in _DTYPES or not tensor.is_contiguous():
        return 0
    address = 0 if tensor.is_conj() or tensor.is_neg() else tensor.data_ptr()
    return 0 if address % 16 else address


class _Solve(torch.autograd.Function):
    """x = op(A)⁻¹ b. `held` has the factors of these values, or is None."""

    @staticmethod
    def forward(
        ctx: Any, values: torch.Tensor, b: torch.Tensor, pattern: Pattern, held: Held | None, trans: str
    ) -> torch.Tensor:
        at, b_at = _address(values) if held is None else 0, _address(b)
        if b_at and (at or held is not None):
            x = torch.empty_like(b)
            if held is None:
                held = pattern.factorize_at(values, at, _DTYPES[values.dtype])
            held.solve_at(b_at, x, trans)
        else:
            if held is None:
                held = pattern.factorize(_array(values))
            x = held.solve(_array(b), trans)
            if not isinstance(x, torch.Tensor):
                x = torch.from_numpy(x)
        ctx.save_for_backward(values, x)
        ctx.of = pattern, held, trans, b.dim() > values.dim()
        return x

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        values, x = ctx.saved_tensors
        pattern, held, trans, is_block = ctx.of
        if trans == "T":  # conj(A)⁻¹
            y = _Solve.apply(values, gradient.conj(), pattern, held, "N").conj()
        else:
            y = _Solve.apply(values, gradient, pattern, held, _ADJOINT[trans])
        if not ctx.needs_input_grad[0]:
            return None, y, None, None, None
        rows, columns = pattern.placed(("entries", x.device), lambda: [pattern.rows, pattern.columns], x)
        dim = -2 if is_block else -1
        left, right = (y, x.conj()) if trans != "H" else (x, y.conj())
        first, second = (columns, rows) if trans == "T" else (rows, columns)
        product = left.index_select(dim, first) * right.index_select(dim, second)
        return -(product.sum(-1) if is_block else product), y, None, None, None
