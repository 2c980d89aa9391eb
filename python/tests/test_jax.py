# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of lutra.jax: transformations of solves against dense solves of JAX, and constant memory."""

from __future__ import annotations

import importlib.util
import sys
import unittest
from typing import Any

import numpy as np
from common import SCALARS, random_values, resident_bytes, unsymmetric

import lutra

HAS_JAX = importlib.util.find_spec("jax") is not None and hasattr(lutra._core, "xla_handlers")
if HAS_JAX:
    import jax
    import jax.numpy as jnp
    from jax.test_util import check_grads

    import lutra.jax

    jax.config.update("jax_enable_x64", True)

TYPES = [scalar for scalar in SCALARS if scalar in ("float64", "complex128")]


@unittest.skipUnless(HAS_JAX, "JAX is not installed, or lutra was built without its headers")
class Jax(unittest.TestCase):
    def problem(
        self, scalar: str, shape: tuple[int, ...] = (), n: int = 6, columns: int | None = None
    ) -> tuple[Any, ...]:
        """A pattern, values [shape × entries] and b [shape × n × columns]."""
        A = unsymmetric(n, scalar)
        values = A.data * (1 + 0.1 * random_values((*shape, A.nnz), scalar, 2))
        b = random_values((*shape, n) if columns is None else (*shape, n, columns), scalar, 3)
        return lutra.Pattern(A), jnp.asarray(values), jnp.asarray(b)

    def dense(self, pattern: lutra.Pattern, values: Any, b: Any, trans: str = "N") -> Any:
        full = jnp.zeros((*values.shape[:-1], pattern.n, pattern.n), values.dtype)
        full = full.at[..., pattern.rows, pattern.columns].set(values)
        full = (
            full if trans == "N" else jnp.swapaxes(full, -1, -2) if trans == "T" else jnp.swapaxes(full, -1, -2).conj()
        )
        vector = b.ndim == values.ndim
        x = jnp.linalg.solve(full, b[..., None] if vector else b)
        return x[..., 0] if vector else x

    def assert_close(self, ours: Any, theirs: Any) -> None:
        for one, other in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs)):
            self.assertEqual(one.shape, other.shape)
            self.assertLess(float(jnp.abs(one - other).max()), 1e-9 * (1 + float(jnp.abs(other).max())))

    def factorizations(self, pattern: lutra.Pattern) -> int:
        return lutra._core.xla_factorizations(pattern.key("float64"))

    def test_agrees_with_dense_derivatives(self) -> None:
        for scalar in TYPES:
            for trans in "NTH":
                for shape, columns in (((), None), ((), 2), ((3,), None), ((2, 2), 2)):
                    pattern, values, b = self.problem(scalar, shape, columns=columns)

                    def loss(solve: Any, values: Any, b: Any, pattern: Any = pattern, trans: str = trans) -> Any:
                        x = solve(values, b, trans)
                        return (x.sum() ** 2).real + (jnp.abs(x) ** 4).sum()

                    results = [
                        jax.jit(jax.value_and_grad(lambda v, b, s=solve: loss(s, v, b), argnums=(0, 1)))(values, b)
                        for solve in (
                            lambda v, b, t, p=pattern: lutra.jax.solve(v, b, p, t),
                            lambda v, b, t, p=pattern: self.dense(p, v, b, t),
                        )
                    ]
                    self.assert_close(*results)

    def test_derivatives_of_both_modes_and_orders(self) -> None:
        for scalar in TYPES:
            for shape, columns in (((), None), ((2,), 2)):
                pattern, values, b = self.problem(scalar, shape, n=4, columns=columns)
                check_grads(
                    lambda v, b, p=pattern: lutra.jax.solve(v, b, p), (values, b), order=2, modes=("fwd", "rev")
                )
        pattern, values, b = self.problem("float64")
        hessians = [
            jax.hessian(lambda v, s=solve: (s(v, b) ** 2).sum())(values)
            for solve in (lambda v, b: lutra.jax.solve(v, b, pattern), lambda v, b: self.dense(pattern, v, b))
        ]
        self.assert_close(*hessians)

    def test_tangents_and_cotangents_of_complex_systems(self) -> None:
        """jvp and vjp themselves, by values and b, alone and under jit and vmap, against dense solves."""
        if "complex128" not in TYPES:
            self.skipTest("no complex128 in this build")
        for shape, columns in (((), None), ((3,), None), ((3,), 2)):
            pattern, values, b = self.problem("complex128", shape, columns=columns)
            values_dot, b_dot, x_bar = (
                jnp.asarray(random_values(like.shape, "complex128", seed))
                for seed, like in ((5, values), (6, b), (7, b))
            )
            for trans in "NTH":
                results = []
                for solve in (
                    lambda v, b, p=pattern, t=trans: lutra.jax.solve(v, b, p, t),
                    lambda v, b, p=pattern, t=trans: self.dense(p, v, b, t),
                ):
                    tangent = jax.jit(lambda v, b, *dot, f=solve: jax.jvp(f, (v, b), dot))(values, b, values_dot, b_dot)
                    cotangent = jax.vjp(solve, values, b)[1](x_bar)
                    found = [tangent, cotangent]
                    if shape:
                        each = jax.vmap(lambda v, b, x, f=solve: jax.vjp(f, v, b)[1](x))
                        found.append(jax.jit(each)(values, b, x_bar))
                    results.append(found)
                self.assert_close(*results)

    def test_convention_of_complex_gradients(self) -> None:
        """JAX's gradient of a real L by z is ∂L/∂Re z − i ∂L/∂Im z; PyTorch's is its conjugate."""
        if "complex128" not in TYPES:
            self.skipTest("no complex128 in this build")
        one = lutra.Pattern(([0, 1], [0]))  # as in test_torch.py: x = b / a, a = 2i, b = 3, L = Re x
        by_a, by_b = jax.grad(lambda a, b: lutra.jax.solve(a, b, one).real.sum(), argnums=(0, 1))(
            jnp.array([2j]), jnp.array([3.0 + 0j])
        )
        self.assertAlmostEqual(complex(by_b[0]), -0.5j, places=14)
        self.assertAlmostEqual(complex(by_a[0]), 0.75, places=14)

    def test_vmap_is_a_batch(self) -> None:
        pattern, values, b = self.problem("float64", (4,))
        solve = lambda v, b: lutra.jax.solve(v, b, pattern)  # noqa: E731
        together = lutra.jax.solve(values, b, pattern).block_until_ready()
        before = self.factorizations(pattern)
        np.testing.assert_array_equal(jax.vmap(solve)(values, b), together)
        self.assertEqual(self.factorizations(pattern), before)  # the same batch, whose factors are kept
        for in_axes, arguments in (
            ((0, None), (values, b[0])),
            ((None, 0), (values[0], b)),
            ((1, 1), (values.T, b.T)),
        ):
            expected = jax.vmap(lambda v, b: self.dense(pattern, v, b), in_axes)(*arguments)
            self.assert_close(jax.jit(jax.vmap(solve, in_axes))(*arguments), expected)
        twice = jax.vmap(jax.vmap(solve, (None, 0)), (0, None))(values, b)
        self.assert_close(
            twice, jax.vmap(jax.vmap(lambda v, b: self.dense(pattern, v, b), (None, 0)), (0, None))(values, b)
        )
        jacobians = [
            jax.jacrev(lambda v, s=one: s(v, b[0]))(values[0])
            for one in (solve, lambda v, b: self.dense(pattern, v, b))
        ]
        self.assert_close(*jacobians)

    def test_one_factorization_for_forward_and_backward(self) -> None:
        pattern, values, b = self.problem("float64", (3,))
        loss = jax.jit(jax.value_and_grad(lambda v: (lutra.jax.solve(v, b, pattern) ** 2).sum()))
        before = self.factorizations(pattern)
        for step in range(1, 6):
            loss(values * (1 + 0.01 * step))[1].block_until_ready()
            self.assertEqual(self.factorizations(pattern), before + step)
        pattern.close()
        self.assert_close(loss(values)[1], jax.grad(lambda v: (self.dense(pattern, v, b) ** 2).sum())(values))

    def test_compiled_functions_outlive_their_pattern(self) -> None:
        pattern, values, b = self.problem("float64")
        compiled = jax.jit(lambda v, b, p=pattern: lutra.jax.solve(v, b, p)).lower(values, b).compile()
        expected = self.dense(pattern, values, b)
        pattern.close()
        del pattern
        self.assert_close(compiled(values, b), expected)

    def test_loops(self) -> None:
        pattern, values, b = self.problem("float64")

        def fixed(solve: Any, scale: Any) -> Any:
            step = lambda x, s: (x + 0.1 * solve(values * (1 + s * scale), b), None)  # noqa: E731
            return (jax.lax.scan(step, jnp.zeros_like(b), jnp.arange(10.0))[0] ** 2).sum()

        ours, theirs = (
            jax.jit(jax.value_and_grad(lambda scale, s=solve: fixed(s, scale)))(0.1)
            for solve in (lambda v, b: lutra.jax.solve(v, b, pattern), lambda v, b: self.dense(pattern, v, b))
        )
        self.assert_close(ours, theirs)

    @unittest.skipUnless(sys.platform == "linux", "reads /proc")
    def test_a_loop_leaks_nothing(self) -> None:
        A = unsymmetric(300)
        for shape in ((), (4,)):
            pattern = lutra.Pattern(A)
            values, b = jnp.asarray(np.broadcast_to(A.data, (*shape, A.nnz))), jnp.ones((*shape, 300))
            gradient = jax.jit(jax.grad(lambda v, p=pattern, b=b: (lutra.jax.solve(v, b, p) ** 2).sum()))
            start = 0
            for step in range(1100):
                values = values - 1e-9 * gradient(values)
                if step == 99:
                    values.block_until_ready()
                    start = resident_bytes()
            values.block_until_ready()
            self.assertLess(resident_bytes() - start, 2**20)

    @unittest.skipUnless(sys.platform == "linux", "reads /proc")
    def test_a_compiled_loop_leaks_nothing(self) -> None:
        """A thousand solves, each with new values, in one compiled loop."""
        A = unsymmetric(100)
        for shape in ((), (4,)):
            pattern = lutra.Pattern(A)
            b = jnp.ones((*shape, 100))

            @jax.jit
            def loop(values: Any, pattern: Any = pattern, b: Any = b) -> Any:
                def step(x: Any, s: Any) -> Any:
                    return x + lutra.jax.solve(values * (1 + 1e-3 * s), b, pattern), None

                return jax.lax.scan(step, jnp.zeros_like(b), jnp.arange(1000.0))[0]

            values = jnp.asarray(np.broadcast_to(A.data, (*shape, A.nnz)))
            other = 2 * values
            loop(values).block_until_ready()
            start, before = resident_bytes(), self.factorizations(pattern)
            loop(other).block_until_ready()
            self.assertEqual(self.factorizations(pattern) - before, 1000)
            self.assertLess(resident_bytes() - start, 2**20)

    def test_bad_input_and_singular_matrices(self) -> None:
        pattern, values, b = self.problem("float64", (3,))
        with self.assertRaisesRegex(ValueError, "values: .*entries"):
            lutra.jax.solve(values[:, 1:], b, pattern)
        with self.assertRaisesRegex(ValueError, "b: .*wanted"):
            lutra.jax.solve(values, b[:2], pattern)
        with self.assertRaisesRegex(Exception, "system 1.*row.*column"):
            lutra.jax.solve(values.at[1, 3].set(jnp.nan), b, pattern).block_until_ready()
        zero = values.at[1].set(0)
        with self.assertRaisesRegex(Exception, "1 of 3 systems: system 1 is .*singular"):
            jax.jit(lambda v: lutra.jax.solve(v, b, pattern))(zero).block_until_ready()
        with self.assertRaisesRegex(Exception, "singular"):
            lutra.jax.solve(zero[1], b[1], pattern).block_until_ready()
        quiet = lutra.Pattern(unsymmetric(6), on_failure="nan")
        x = np.asarray(lutra.jax.solve(zero, b, quiet))
        self.assertEqual(np.isnan(x).all(axis=1).tolist(), [False, True, False])
        self.assertTrue(np.isnan(lutra.jax.solve(zero[1], b[1], quiet)).all())
        self.assert_close(lutra.jax.solve(values, b, quiet), self.dense(pattern, values, b))

    def test_arrays_are_never_written(self) -> None:
        A = unsymmetric(6)
        b = jnp.ones(6)
        with self.assertRaisesRegex(TypeError, "arrays of JAX cannot be written"):
            lutra.splu(A).solve(b, out=b)
        with self.assertRaisesRegex(TypeError, "arrays of JAX cannot be written"):
            lutra.splu(A, batch=A.data[None]).solve(b[None], out=b[None])
        self.assertTrue((b == 1).all())

    def test_options_and_methods(self) -> None:
        pattern, values, b = self.problem("float64")
        self.assert_close(lutra.jax.solve(values, b, unsymmetric(6), ordering="amd"), self.dense(pattern, values, b))
        with self.assertRaisesRegex(Exception, "ordering"):
            lutra.jax.solve(values, b, unsymmetric(6), ordering="no").block_until_ready()
        definite = np.array([4.0, 1.0, 1.0, 3.0])
        for method in ("ldlt", "cholesky"):
            pattern = lutra.Pattern(([0, 2, 4], [0, 1, 0, 1]), method=method)
            for v, right in ((definite, np.array([5.0, 4.0])), (np.tile(definite, (2, 1)), np.array([[5.0, 4.0]] * 2))):
                self.assert_close(lutra.jax.solve(v, right, pattern), jnp.ones(right.shape))


if __name__ == "__main__":
    unittest.main()
