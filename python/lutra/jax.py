# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sparse solves that JAX differentiates, batches and compiles.

>>> import jax, jax.numpy as jnp, scipy.sparse as sp, lutra, lutra.jax
>>> jax.config.update("jax_enable_x64", True)
>>> A = sp.csr_matrix([[4.0, 1.0], [1.0, 3.0]])
>>> pattern = lutra.Pattern(A)
>>> loss = jax.jit(lambda values, b: lutra.jax.solve(values, b, pattern).sum())
>>> gradient = jax.grad(loss)(jnp.array(A.data), jnp.array([5.0, 4.0]))
>>> [round(float(g), 6) for g in gradient * 11]
[-2.0, -2.0, -3.0, -3.0]
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from . import _core
from ._pattern import Pattern, as_pattern

if not hasattr(_core, "xla_handlers"):
    raise ImportError(
        "lutra.jax: this lutra was built without XLA's headers; install JAX, then "
        "`pip install --no-build-isolation ./python`, or set Lutra_XLA_INCLUDE_DIR to jax.ffi.include_dir()"
    )


def solve(values: Any, b: Any, pattern: Any, trans: str = "N", **options: Any) -> jax.Array:
    """The solution of A x = b, or with trans 'T' or 'H' of the transposed or adjoint system.

    `values` are the entries of A, [entries] in the order of the pattern; b is [n] or [n × columns]. Both may have the
    same leading dimensions: a batch. They are converted to their common dtype, float32, float64, complex64
    or complex128. `pattern` is a `lutra.Pattern`, or what makes one with `options`; only a Pattern is analyzed once.

    Works under jit, grad, jvp, vmap (a batch) and their compositions, on the CPU, and on CUDA if Lutra is built for
    it. Factors of the last `kept` values of a Pattern are kept: a backward pass does not factorize again.

    Raises ValueError for wrong shapes. NaN, infinity and singular matrices are errors of JAX (see `on_failure` of the
    Pattern) whose messages name system, row and column.
    """
    made = as_pattern(pattern, options)
    if trans not in ("N", "T", "H"):
        raise ValueError("trans has to be 'N', 'T' or 'H'")
    values, b = jnp.asarray(values), jnp.asarray(b)
    dtype = jnp.result_type(values, b, jnp.float32)
    values, b = values.astype(dtype), b.astype(dtype)
    _check(values, b, made)
    if trans == "H":
        return solve(values, b.conj(), made, "T").conj()
    if b.ndim == values.ndim:
        return _bind(values, b[..., None], made, trans == "T")[..., 0]
    return _bind(values, b, made, trans == "T")


def _check(values: Any, b: Any, pattern: Pattern) -> None:
    if values.ndim < 1 or values.shape[-1] != pattern.entries:
        raise ValueError(f"values: {values.shape}, but the pattern has {pattern.entries} entries")
    systems = values.shape[:-1]
    if b.shape[: len(systems)] != systems or b.ndim - len(systems) not in (1, 2) or b.shape[len(systems)] != pattern.n:
        wanted = (*systems, pattern.n)
        raise ValueError(f"b: {b.shape}, but {wanted} or {(*wanted, 'columns')} is wanted")


def _indices(pattern: Pattern) -> tuple[Any, Any]:
    """row_map and columns as arrays of JAX, made once."""
    if "jax" not in pattern._placed:
        if pattern.columns.dtype != np.int32:
            raise ValueError("pattern: lutra.jax has indices of 32 bits, too few for this pattern")
        with jax.ensure_compile_time_eval():
            pattern._placed["jax"] = jnp.asarray(pattern.row_map), jnp.asarray(pattern.columns)
    return pattern._placed["jax"]


# ---- the primitive: values [… × entries] and b [… × n × columns] ------------------------------------------------

_solve_p = Primitive("lutra_solve")


def _bind(values: Any, b: Any, pattern: Pattern, transposed: bool) -> Any:
    return _solve_p.bind(*_indices(pattern), values, b, pattern=pattern, transposed=transposed)


def _call(row_map: Any, columns: Any, values: Any, b: Any, *, text: str, key: int, transposed: bool) -> Any:
    call = jax.ffi.ffi_call("lutra_solve", jax.ShapeDtypeStruct(b.shape, b.dtype))
    return call(row_map, columns, values, b, options=text, key=np.int64(key), transposed=np.bool_(transposed))


_compiled_call = jax.jit(_call, static_argnames=("text", "key", "transposed"))


def _names(b: Any, pattern: Pattern) -> dict[str, Any]:
    """What stands for the pattern in compiled programs, which do not hold it."""
    return {"text": pattern.text(), "key": pattern.key(np.dtype(b.dtype).name)}


def _evaluate(row_map: Any, columns: Any, values: Any, b: Any, *, pattern: Pattern, transposed: bool) -> Any:
    return _compiled_call(row_map, columns, values, b, transposed=transposed, **_names(b, pattern))


def _lower(row_map: Any, columns: Any, values: Any, b: Any, *, pattern: Pattern, transposed: bool) -> Any:
    return _call(row_map, columns, values, b, transposed=transposed, **_names(b, pattern))


def _product(pattern: Pattern, transposed: bool, values: Any, x: Any) -> Any:
    """A x or Aᵀ x for values on the pattern."""
    to, of = (pattern.columns, pattern.rows) if transposed else (pattern.rows, pattern.columns)
    terms = values[..., :, None] * x[..., of, :]
    return jnp.zeros_like(x).at[..., to, :].add(terms, indices_are_sorted=not transposed)


def _jvp(primals: Any, tangents: Any, *, pattern: Pattern, transposed: bool) -> Any:
    """ẋ = A⁻¹ (ḃ − Ȧ x), with the factors of the solution."""
    _, _, values, b = primals
    _, _, values_dot, b_dot = tangents
    x = _bind(values, b, pattern, transposed)
    right = None if type(b_dot) is ad.Zero else b_dot
    if type(values_dot) is not ad.Zero:
        change = _product(pattern, transposed, values_dot, x)
        right = -change if right is None else right - change
    if right is None:
        return x, ad.Zero.from_primal_value(x)
    return x, _bind(values, right, pattern, transposed)


def _transpose(
    cotangent: Any, row_map: Any, columns: Any, values: Any, b: Any, *, pattern: Any, transposed: bool
) -> Any:
    """The solve is linear in b alone: derivatives by values have been made products by `_jvp`."""
    if type(cotangent) is ad.Zero:
        return None, None, None, ad.Zero(b.aval)
    return None, None, None, _bind(values, cotangent, pattern, not transposed)


def _batch(arguments: Any, dimensions: Any, *, pattern: Pattern, transposed: bool) -> Any:
    """One more leading dimension, or more right-hand sides where the values are the same for all."""
    _, _, values, b = arguments
    _, _, of_values, of_b = dimensions
    if of_values is not None:
        values = jnp.moveaxis(values, of_values, 0)
        b = jnp.broadcast_to(b, (values.shape[0], *b.shape)) if of_b is None else jnp.moveaxis(b, of_b, 0)
        return _bind(values, b, pattern, transposed), 0
    block = jnp.moveaxis(b, of_b, -1)
    x = _bind(values, block.reshape(*block.shape[:-2], -1), pattern, transposed)
    return x.reshape(block.shape), block.ndim - 1


_solve_p.def_impl(_evaluate)
_solve_p.def_abstract_eval(lambda row_map, columns, values, b, **_: jax.core.ShapedArray(b.shape, b.dtype))
mlir.register_lowering(_solve_p, mlir.lower_fun(_lower, multiple_results=False))
ad.primitive_jvps[_solve_p] = _jvp
ad.primitive_transposes[_solve_p] = _transpose
batching.primitive_batchers[_solve_p] = _batch
for _platform, _handler in _core.xla_handlers().items():
    jax.ffi.register_ffi_target("lutra_solve", _handler, platform=_platform)
