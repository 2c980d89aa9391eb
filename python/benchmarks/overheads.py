# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures what calls of batches and of differentiated solves cost beyond the time inside the library.

    python python/benchmarks/overheads.py

Prints microseconds of CPU time a call for systems of two unknowns, whose time is nearly all overhead: the whole call,
and what remains without the factorizations and solves themselves; for PyTorch also a torch.autograd.Function that
does nothing but make its solution. Ends with status 1 where more than 50 remain.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any, Callable

import numpy as np
import scipy.sparse as sp

import lutra

A = sp.csr_matrix([[2.0, 1.0], [1.0, 3.0]])
LIMIT = 50  # microseconds


def microseconds(call: Callable[[], Any], count: int) -> float:
    """The least of the means of 20 runs: other programs lengthen some of them."""
    runs = 20
    for _ in range(50):
        call()
    means = []
    for _ in range(runs):
        begin = time.process_time()
        for _ in range(count // runs):
            call()
        means.append((time.process_time() - begin) / (count // runs) * 1e6)
    return min(means)


class Library:
    """Microseconds that the module alone takes for the same work, arrays given."""

    def __init__(self, count: int) -> None:
        self.values, self.b, self.x = np.tile(A.data, (1, 1)), np.ones((1, 2)), np.ones((1, 2))
        batch = lutra.splu(A, batch=self.values)._batch
        single = lutra.splu(A)._solver
        one, b, x = (A.shape, A.indptr, A.indices, A.data), np.ones(2), np.ones(2)
        self.batch_factorize = microseconds(lambda: batch.factorize(self.values), count)
        self.batch_solve = microseconds(lambda: batch.solve(self.b, self.x), count)
        self.factorize = microseconds(lambda: single.factorize(*one), count)
        self.solve = microseconds(lambda: single.solve(b, x), count)


def empty_function(values: Any, b: Any) -> Callable[[], Any]:
    """A call of a Function like that of lutra.torch, without a solve."""
    import torch

    class Empty(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, values: Any, b: Any, pattern: Any, held: Any, trans: str) -> Any:
            x = torch.empty_like(b)
            ctx.save_for_backward(values, x)
            return x

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> tuple[Any, ...]:
            return None, gradient, None, None, None

    return lambda: Empty.apply(values, b, None, None, "N")


def rows(library: Library, count: int) -> list[tuple[str, float, float]]:
    """Name, microseconds of the call, and of the library in it."""
    lu, values, b = lutra.splu(A, batch=library.values), library.values, library.b
    pattern = lutra.Pattern(A)
    found = [
        ("BatchedLU.refactor", microseconds(lambda: lu.refactor(values), count), library.batch_factorize),
        ("BatchedLU.solve", microseconds(lambda: lu.solve(b), count), library.batch_solve),
    ]
    one, batch = library.factorize + library.solve, library.batch_factorize + library.batch_solve
    try:
        import torch

        from lutra.torch import solve as torch_solve
    except ImportError:
        print("no PyTorch")
    else:
        tensors = torch.tensor(A.data), torch.ones(2, dtype=torch.float64)
        batches = torch.tensor(values), torch.tensor(b)
        found.append(("torch.solve", microseconds(lambda: torch_solve(*tensors, pattern), count), one))
        found.append(("torch.solve, a batch", microseconds(lambda: torch_solve(*batches, pattern), count), batch))
        found.append(("an empty torch.autograd.Function", microseconds(empty_function(*tensors), count), 0.0))
    try:
        import jax
        import jax.numpy as jnp

        from lutra.jax import solve as jax_solve
    except ImportError:
        print("no JAX")
    else:
        jax.config.update("jax_enable_x64", True)
        solve = jax.jit(lambda v, b: jax_solve(v, b, pattern))
        for name, first, right, inside in (
            ("jax.solve under jit", jnp.asarray(A.data), jnp.ones(2), library.solve),
            ("jax.solve under jit, a batch", jnp.asarray(values), jnp.asarray(b), library.batch_solve),
        ):
            call = lambda v=first, r=right: solve(v, r).block_until_ready()  # noqa: E731
            found.append((name, microseconds(call, count), inside))  # of the same values: they are factorized once
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=2000)
    count = parser.parse_args().count
    worst = 0.0
    print(f"{'microseconds':34} {'call':>8} {'library':>8} {'beyond':>8}")
    for name, whole, inside in rows(Library(count), count):
        print(f"{name:34} {whole:8.1f} {inside:8.1f} {whole - inside:8.1f}")
        worst = max(worst, whole - inside)
    return int(worst > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
