# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of lutra.torch: gradients of the first and second order, against dense solves of PyTorch."""

from __future__ import annotations

import importlib.util
import sys
import unittest
from typing import Any

import numpy as np
import scipy.sparse as sp
from common import SCALARS, random_values, resident_bytes, unsymmetric

import lutra

HAS_TORCH = importlib.util.find_spec("torch") is not None
if HAS_TORCH:
    import torch

    import lutra.torch

TYPES = [scalar for scalar in SCALARS if scalar in ("float64", "complex128")]


@unittest.skipUnless(HAS_TORCH, "PyTorch is not installed")
class Torch(unittest.TestCase):
    def problem(self, scalar: str, shape: tuple[int, ...], n: int = 6, columns: int | None = 2) -> tuple[Any, ...]:
        """A matrix, its pattern, values [shape × entries] and b [shape × n × columns]."""
        A = unsymmetric(n, scalar)
        values = A.data * (1 + 0.1 * random_values((*shape, A.nnz), scalar, 2))
        b = random_values((*shape, n) if columns is None else (*shape, n, columns), scalar, 3)
        pair = (torch.tensor(array, requires_grad=True) for array in (values, b))
        return A, lutra.Pattern(A), *pair

    def dense(self, A: sp.csr_matrix, pattern: lutra.Pattern, values: Any, b: Any, trans: str = "N") -> Any:
        full = values.new_zeros((*values.shape[:-1], *A.shape))
        full[..., torch.as_tensor(pattern.rows).long(), torch.as_tensor(pattern.columns).long()] = values
        full = full if trans == "N" else full.transpose(-1, -2) if trans == "T" else full.transpose(-1, -2).conj()
        vector = b.dim() == values.dim()
        x = torch.linalg.solve(full, b[..., None] if vector else b)
        return x[..., 0] if vector else x

    def test_agrees_with_dense_autograd(self) -> None:
        for scalar in TYPES:
            for trans in "NTH":
                for shape, columns in (((), None), ((), 2), ((3,), None), ((3,), 2), ((2, 2), 2)):
                    A, pattern, values, b = self.problem(scalar, shape, columns=columns)
                    weight = torch.tensor(random_values(tuple(b.shape), scalar, 9))
                    results = []
                    for solve in (lutra.torch.solve, lambda v, b, p, t, A=A: self.dense(A, p, v, b, t)):
                        x = solve(values, b, pattern, trans)
                        loss = ((x * weight).sum() ** 2).real + (x.abs() ** 4).sum()
                        results.append((x.detach(), *torch.autograd.grad(loss, (values, b))))
                    for ours, theirs in zip(*results):
                        self.assertLess(float((ours - theirs).abs().max()), 1e-9 * (1 + float(theirs.abs().max())))

    def test_gradcheck_and_gradgradcheck(self) -> None:
        for scalar in TYPES:
            for trans in "NTH":
                for shape, columns in (((), None), ((2,), 2)):
                    _, pattern, values, b = self.problem(scalar, shape, n=4, columns=columns)

                    def solve(values: Any, b: Any, pattern: Any = pattern, trans: str = trans) -> Any:
                        return lutra.torch.solve(values, b, pattern, trans)

                    self.assertTrue(torch.autograd.gradcheck(solve, (values, b)))
                    self.assertTrue(torch.autograd.gradgradcheck(solve, (values, b)))

    def test_convention_of_complex_gradients(self) -> None:
        """PyTorch's gradient of a real L by z is ∂L/∂Re z + i ∂L/∂Im z; JAX's is its conjugate."""
        if "complex128" not in SCALARS:
            self.skipTest("no complex128 in this build")
        # x = b / a. L = Re x for a = 2i, b = 3: Re x = Im(b) / 2, and near a, Re(b / a) = 3 Re(a) / |a|².
        one = lutra.Pattern(([0, 1], [0]))
        a = torch.tensor([2j], dtype=torch.complex128, requires_grad=True)
        b = torch.tensor([3.0 + 0j], dtype=torch.complex128, requires_grad=True)
        lutra.torch.solve(a, b, one).real.sum().backward()
        self.assertAlmostEqual(complex(b.grad[0]), 0.5j, places=14)
        self.assertAlmostEqual(complex(a.grad[0]), 0.75, places=14)
        # Differences, for all methods of complex matrices
        for trans in "NTH":
            _, pattern, values, b = self.problem("complex128", (2,), n=4)
            weight = torch.tensor(random_values(tuple(b.shape), "complex128", 7))

            def loss(values: Any, b: Any, pattern: Any = pattern, trans: str = trans, weight: Any = weight) -> Any:
                return (lutra.torch.solve(values, b, pattern, trans) * weight).sum().real

            gradients = torch.autograd.grad(loss(values, b), (values, b))
            step = 1e-6
            for which, at in ((0, (1, 2)), (0, (0, 5)), (1, (1, 2, 1))):

                def moved(
                    by: complex, which: int = which, at: Any = at, start: Any = (values, b), f: Any = loss
                ) -> float:
                    arguments = [argument.detach().clone() for argument in start]
                    arguments[which][at] += by
                    return float(f(*arguments))

                real, imaginary = ((moved(h) - moved(-h)) / (2 * step) for h in (step, 1j * step))
                self.assertAlmostEqual(complex(gradients[which][at]), complex(real, imaginary), places=7)

    def test_one_factorization_for_all_passes(self) -> None:
        _, pattern, values, b = self.problem("float64", (3,))
        x = lutra.torch.solve(values, b, pattern)
        (gradient,) = torch.autograd.grad((x**2).sum(), values, create_graph=True)
        (gradient**2).sum().backward()
        self.assertEqual(pattern.factorizations, 1)

    def test_several_factors_are_alive(self) -> None:
        """Backward passes use the factors of their own values, whatever was solved between."""
        A, pattern, values, b = self.problem("float64", ())
        steps = [lutra.torch.solve(values * (1 + 0.1 * s), b, pattern) for s in range(6)]
        (ours,) = torch.autograd.grad(sum((x**2).sum() for x in steps), values)
        (theirs,) = torch.autograd.grad(
            sum((self.dense(A, pattern, values * (1 + 0.1 * s), b) ** 2).sum() for s in range(6)), values
        )
        self.assertLess(float((ours - theirs).abs().max()), 1e-9 * float(theirs.abs().max()))
        self.assertEqual(pattern.factorizations, 6)
        del steps
        self.assertLessEqual(sum(len(idle) for idle in pattern._idle.values()), pattern.kept)
        pattern.close()
        lutra.torch.solve(values, b, pattern)

    def test_symmetric_methods(self) -> None:
        line = sp.csr_matrix(sp.diags([-1.0, 2.5, -1.0], [-1, 0, 1], shape=(5, 5)))
        transposed = torch.as_tensor(
            np.argsort(sp.csr_matrix((np.arange(line.nnz), line.indices, line.indptr)).T.tocsr().data)
        )
        for method in ("ldlt", "cholesky"):
            pattern = lutra.Pattern(line, method=method)
            values = torch.tensor(np.tile(line.data, (2, 1)), requires_grad=True)
            b = torch.tensor(random_values((2, 5), "float64"), requires_grad=True)

            def solve(values: Any, b: Any, pattern: Any = pattern) -> Any:
                return lutra.torch.solve((values + values[:, transposed]) / 2, b, pattern)

            self.assertTrue(torch.autograd.gradcheck(solve, (values, b)))

    def test_kinds_of_patterns(self) -> None:
        A, _, values, b = self.problem("float64", ())
        expected = lutra.torch.solve(values, b, A)
        csr = torch.sparse_csr_tensor(
            torch.as_tensor(A.indptr), torch.as_tensor(A.indices), torch.as_tensor(A.data), A.shape
        )
        for pattern in ((A.indptr, A.indices), csr, (torch.as_tensor(A.indptr), torch.as_tensor(A.indices))):
            self.assertTrue(torch.equal(lutra.torch.solve(values, b, pattern), expected))
        lutra.torch.solve(values, b, A, ordering="amd")
        with self.assertRaisesRegex(TypeError, "ordering: options belong to the Pattern"):
            lutra.torch.solve(values, b, lutra.Pattern(A), ordering="amd")
        with self.assertRaisesRegex(ValueError, "columns of row 0 must ascend"):
            lutra.Pattern(([0, 2], [0, 0]))
        with self.assertRaisesRegex(ValueError, "row 0 has column 3 of 1"):
            lutra.Pattern(([0, 1], [3]))
        with self.assertRaisesRegex(TypeError, "not csc"):
            lutra.Pattern(A.tocsc())

    def test_conjugated_tensors_and_strides(self) -> None:
        if "complex128" not in SCALARS:
            self.skipTest("no complex128 in this build")
        A, pattern, values, b = self.problem("complex128", (3,))
        ours = lutra.torch.solve(values.conj(), b.transpose(0, 2).contiguous().transpose(0, 2).conj(), pattern)
        theirs = self.dense(A, pattern, values, b).conj()
        self.assertLess(float((ours - theirs).abs().max()), 1e-11)

    def test_lazy_tensors_and_gradients_of_solvers_without_them(self) -> None:
        A = sp.csr_matrix(np.array([[4.0, 1.0], [1.0, 3.0]]))
        b = torch.tensor([1.0 + 1.0j, 2.0j], dtype=torch.complex128)
        lu, batch = lutra.splu(A), lutra.splu(A, batch=A.data[None])
        negative = b.conj().imag
        self.assertTrue(negative.is_neg())
        expected = torch.from_numpy(np.linalg.solve(A.toarray(), -b.imag.numpy()))
        self.assertLess(float((lu.solve(negative) - expected).abs().max()), 1e-15)
        self.assertLess(float((batch.solve(negative[None])[0] - expected).abs().max()), 1e-15)
        with self.assertRaisesRegex(TypeError, "out: a tensor that is conjugated or negated"):
            lu.solve(np.ones(2), out=negative)
        with self.assertRaisesRegex(TypeError, "b: the tensor requires a gradient"):
            lu.solve(torch.ones(2, dtype=torch.float64, requires_grad=True))
        if "complex128" not in SCALARS:
            self.skipTest("no complex128 in this build")
        expected = torch.from_numpy(np.linalg.solve(A.toarray(), b.numpy().conj()))
        self.assertLess(float((lutra.splu(A.astype(complex)).solve(b.conj()) - expected).abs().max()), 1e-15)

    def test_numbers_where_the_library_cannot_read_them(self) -> None:
        """Tensors that are not contiguous, not aligned, or empty take another way, with the same solutions."""
        for scalar in TYPES:
            for shape in ((), (3,)):
                _, pattern, values, b = (
                    x if not torch.is_tensor(x) else x.detach() for x in self.problem(scalar, shape)
                )
                expected = lutra.torch.solve(values, b, pattern)
                wide = torch.zeros((*values.shape[:-1], 2 * values.shape[-1]), dtype=values.dtype)[..., ::2]
                wide[...] = values
                shifted = np.zeros(values.numel() * values.element_size() + 8, dtype=np.uint8)[8:].view(scalar)
                shifted[:] = values.numpy().ravel()
                unaligned = torch.from_numpy(shifted).reshape(values.shape)
                self.assertNotEqual(unaligned.data_ptr() % 16, 0)
                swapped = b.transpose(0, -1).contiguous().transpose(0, -1)
                for v in (values, wide, unaligned):
                    for right in (b, swapped):
                        self.assertTrue(torch.equal(lutra.torch.solve(v, right, pattern), expected))
                none = lutra.torch.solve(values, b[..., :0], pattern)
                self.assertEqual(none.shape, b[..., :0].shape)
        with self.assertRaises((TypeError, RuntimeError)):
            lutra.torch.solve(values.half(), b.half(), pattern)
        with self.assertRaises((TypeError, RuntimeError, ValueError)):
            lutra.torch.solve(values[0].to_sparse(), b[0], pattern)

    @unittest.skipUnless(sys.platform == "linux", "reads /proc")
    def test_a_loop_leaks_nothing(self) -> None:
        for shape in ((), (4,)):
            A, pattern, values, b = self.problem("float64", shape, n=300)
            values = values.detach().requires_grad_()
            start = 0
            for step in range(1100):
                (gradient,) = torch.autograd.grad((lutra.torch.solve(values, b, pattern) ** 2).sum(), values)
                values = (values - 1e-9 * gradient).detach().requires_grad_()
                if step == 99:
                    start = resident_bytes()
            self.assertLess(resident_bytes() - start, 2**20)

    def test_bad_input(self) -> None:
        _, pattern, values, b = self.problem("float64", (3,))
        with self.assertRaisesRegex(ValueError, "values: .*entries"):
            lutra.torch.solve(values[:, 1:], b, pattern)
        with self.assertRaisesRegex(ValueError, "b: .*wanted"):
            lutra.torch.solve(values, b[:2], pattern)
        with self.assertRaisesRegex(TypeError, "float32"):
            lutra.torch.solve(values, b.float(), pattern)
        with self.assertRaisesRegex(ValueError, "system 1.*row"):
            lutra.torch.solve(values * torch.tensor([[1.0], [float("nan")], [1.0]], dtype=torch.float64), b, pattern)

    def test_singular_matrices(self) -> None:
        A, pattern, values, b = self.problem("float64", (3,))
        keep = torch.tensor([[1.0], [0.0], [1.0]], dtype=torch.float64)
        with self.assertRaisesRegex(lutra.BatchError, "system 1"):
            lutra.torch.solve(values * keep, b, pattern)
        with self.assertRaises(lutra.SingularMatrixError):
            lutra.torch.solve(values[0] * 0, b[0], pattern)
        quiet = lutra.Pattern(A, on_failure="nan")
        x = lutra.torch.solve(values * keep, b, quiet)
        self.assertEqual(x.isnan().flatten(1).all(1).tolist(), [False, True, False])
        self.assertFalse(bool(x[::2].isnan().any()))
        self.assertTrue(bool(lutra.torch.solve(values[0] * 0, b[0], quiet).isnan().all()))


if __name__ == "__main__":
    unittest.main()
