# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests that arrays of CuPy, PyTorch and JAX on a CUDA device are read and written in place."""

from __future__ import annotations

import importlib
import os
import unittest
import warnings
from types import ModuleType
from typing import Any

import numpy as np
import scipy.sparse as sp
from common import SCALARS, random_values, symmetric, tolerance, unsymmetric

import lutra


def library(name: str) -> ModuleType:
    """Imports a library that can use the device, or skips the test."""
    if lutra.build_info()["backend"] != "cuda":
        raise unittest.SkipTest("this Lutra does not work on a CUDA device")
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # JAX would take most of the memory
    try:
        found = importlib.import_module(name)
    except ImportError as error:
        raise unittest.SkipTest(f"{name} is not installed") from error
    if name == "jax":
        found.config.update("jax_enable_x64", True)
        if found.default_backend() != "gpu":
            raise unittest.SkipTest("JAX does not see the device")
    return found


class OnDevice(unittest.TestCase):
    def assert_solves(self, A: sp.csr_matrix, x: np.ndarray, b: np.ndarray) -> None:
        self.assertEqual(x.dtype, b.dtype)
        expected = np.linalg.solve(A.toarray(), b)
        self.assertLess(abs(x - expected).max(), 10 * tolerance(A.dtype.name) * abs(expected).max())


class CuPy(OnDevice):
    def setUp(self) -> None:
        self.cp = library("cupy")
        self.csr_matrix = importlib.import_module("cupyx.scipy.sparse").csr_matrix

    def test_all_types_shapes_and_operations(self) -> None:
        for dtype in SCALARS:
            A = unsymmetric(90, dtype)
            lu = lutra.splu(self.csr_matrix(A))
            for shape in ((90,), (90, 3)):
                b = random_values(shape, dtype)
                for order in "CF":
                    x = lu.solve(self.cp.asarray(b, order=order))
                    self.assertIs(type(x), self.cp.ndarray)
                    self.assert_solves(A, x.get(), b)
                self.assert_solves(A.T, lu.solve(self.cp.asarray(b), trans="T").get(), b)

    def test_nothing_is_copied(self) -> None:
        A = unsymmetric(50)
        matrix = self.csr_matrix(A)
        b, out = self.cp.ones(50), self.cp.zeros((50, 3))
        lu = lutra.splu(matrix)
        address = out.data.ptr
        self.assertIs(lu.solve(b, out=out[:, 1]).base, out)
        self.assertEqual(out.data.ptr, address)
        self.assert_solves(A, out[:, 1].get(), np.ones(50))
        self.assertFalse(out[:, [0, 2]].any())
        matrix.data *= 2
        lu.refactor(matrix)
        self.assertIs(lu.solve(b, out=b), b)
        self.assert_solves(2 * A, b.get(), np.ones(50))

    def test_values_that_another_stream_computes_are_waited_for(self) -> None:
        A = unsymmetric(60)
        lu = lutra.splu(self.csr_matrix(A))
        with self.cp.cuda.Stream(non_blocking=True):
            waste = self.cp.ones((3000, 3000))
            for _ in range(20):
                waste = waste @ waste / 3000
            b = self.cp.ones(60) * waste[0, 0]  # 1, after a while
            x = lu.solve(b)
        self.assert_solves(A, x.get(), np.ones(60))

    def test_symmetric_and_incomplete_factors(self) -> None:
        A = symmetric(45)
        factors = lutra.ldlt(self.csr_matrix(A))
        self.assertEqual(factors.inertia, (45, 15, 0))
        b = self.cp.ones(60)
        y = factors.solve_parts(factors.solve_parts(b, "L"), "DU")
        self.assert_solves(A, y.get(), np.ones(60))
        factors.refactor(self.csr_matrix(A), shift=self.cp.ones(60))
        self.assert_solves(A + sp.identity(60), factors.solve(b).get(), np.ones(60))
        laplace = sp.diags([-1.0, 2.5, -1.0], [-1, 0, 1], shape=(80, 80), format="csr")
        matrix = self.csr_matrix(laplace)
        x, report = lutra.gmres(matrix, self.cp.ones(80), M=lutra.spilu(matrix), tolerance=1e-10)
        self.assertEqual(report.status, "success")
        np.testing.assert_allclose(laplace @ x.get(), 1, atol=1e-7)

    def test_solutions_in_memory_of_the_library(self) -> None:
        """They are on the device, say so, and outlive the solver. NumPy gets an error, not an address of the device."""
        A = unsymmetric(50)
        for shape in ((50,), (50, 2)):
            b = self.cp.ones(shape)
            lu = lutra.splu(A)
            x = lu._solver.new_like(b)
            self.assertEqual(x.__dlpack_device__(), (2, b.device.id))
            lu._solver.solve(b, x)
            lu.close()
            with self.assertRaises((BufferError, RuntimeError)):  # the latter before NumPy 2
                np.from_dlpack(x)
            with self.assertRaises(BufferError):
                x.__dlpack__(dl_device=(1, 0))
            self.assert_solves(A, self.cp.from_dlpack(x).get(), np.ones(shape))

    def test_managed_memory(self) -> None:
        A = unsymmetric(50)
        with self.cp.cuda.using_allocator(self.cp.cuda.malloc_managed):
            b, out = self.cp.ones(50), self.cp.zeros(50)
        lu = lutra.splu(A)
        self.assertEqual(lu._solver.new_like(b).__dlpack_device__()[0], 2)  # which is not managed
        self.assert_solves(A, lu.solve(b).get(), np.ones(50))
        lu.solve(b, out=out)
        self.assert_solves(A, out.get(), np.ones(50))

    def test_solutions_of_batches(self) -> None:
        A = unsymmetric(50)
        with lutra.splu(self.csr_matrix(A), batch=self.cp.asarray(np.stack([A.data, 2 * A.data]))) as batch:
            x = batch.solve(self.cp.ones((2, 50)))
            self.assert_solves(A, x[0].get(), np.ones(50))
            self.assert_solves(2 * A, x[1].get(), np.ones(50))
            with self.assertRaises(TypeError):
                batch.solve(self.cp.ones((2, 50), dtype="complex128"))

    def test_errors_name_row_and_column(self) -> None:
        A = unsymmetric(20)
        row = int(np.searchsorted(A.indptr, 5, side="right")) - 1
        A.data[5] = np.nan
        with self.assertRaisesRegex(ValueError, rf"row {row}\b.*column {A.indices[5]}\b"):
            lutra.splu(self.csr_matrix(A))
        A.data[5] = 1
        lu = lutra.splu(self.csr_matrix(A))
        with self.assertRaisesRegex(ValueError, "row 7"):
            lu.solve(self.cp.where(self.cp.arange(20) == 7, self.cp.nan, 1.0))
        with self.assertRaises(ValueError):
            lu.solve(self.cp.ones(21))
        with self.assertRaises(TypeError):
            lu.solve(self.cp.ones(20, dtype="float32"))
        with self.assertRaises(ValueError):
            lu.solve(self.cp.ones(20), out=np.ones(20))
        singular = self.csr_matrix(sp.csr_matrix(np.array([[1.0, 2.0], [2.0, 4.0]])))
        with self.assertRaises(lutra.SingularMatrixError):
            lutra.splu(singular)

    def test_host_arrays_too(self) -> None:
        A = unsymmetric(40)
        lu = lutra.splu(A)
        self.assert_solves(A, lu.solve(np.ones(40)), np.ones(40))
        self.assert_solves(A, lu.solve(self.cp.ones(40)).get(), np.ones(40))


class PyTorch(OnDevice):
    def setUp(self) -> None:
        self.torch = library("torch")
        if not self.torch.cuda.is_available():
            self.skipTest("PyTorch does not see the device")

    def matrix(self, A: sp.csr_matrix) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns that sparse tensors are in beta
            arrays = (self.torch.tensor(array).cuda() for array in (A.indptr, A.indices, A.data))
            return self.torch.sparse_csr_tensor(*arrays, size=A.shape)

    def test_matrix_vectors_and_streams(self) -> None:
        for dtype in SCALARS:
            A = unsymmetric(70, dtype)
            lu = lutra.splu(self.matrix(A))
            b = random_values((70, 2), dtype)
            x = lu.solve(self.torch.tensor(b).cuda())
            self.assertIs(type(x), self.torch.Tensor)
            self.assert_solves(A, x.cpu().numpy(), b)
        A = unsymmetric(60)
        lu = lutra.splu(self.matrix(A))
        with self.torch.cuda.stream(self.torch.cuda.Stream()):
            waste = self.torch.ones((3000, 3000), dtype=self.torch.float64, device="cuda")
            for _ in range(20):
                waste = waste @ waste / 3000
            b = self.torch.ones(60, dtype=self.torch.float64, device="cuda") * waste[0, 0]
            out = self.torch.zeros_like(b)
            self.assertIs(lu.solve(b, out=out), out)
        self.assert_solves(A, out.cpu().numpy(), np.ones(60))


    def test_gradients(self) -> None:
        """They are those of tensors on the host. The gradient that a sum passes on has strides of 0."""
        solve = importlib.import_module("lutra.torch").solve
        A = unsymmetric(30)
        pattern = lutra.Pattern(A)
        for values_shape, b_shape in (((), (30,)), ((), (30, 2)), ((3,), (3, 30)), ((3,), (3, 30, 2))):
            found = []
            for place in ("cpu", "cuda"):
                factor = 1 + 0.1 * random_values((*values_shape, A.nnz), "float64", 2)
                values = self.torch.tensor(A.data * factor, device=place, requires_grad=True)
                b = self.torch.tensor(random_values(b_shape, "float64", 3), device=place, requires_grad=True)
                x = solve(values, b, pattern)
                self.assertEqual(x.device.type, place)
                first = self.torch.autograd.grad(x.sum(), (values, b), create_graph=True)
                second = self.torch.autograd.grad((first[0] ** 2).sum(), (values, b))
                found.append([tensor.detach().cpu().numpy() for tensor in (x, *first, *second)])
            for host, device in zip(*found):
                self.assertLess(abs(host - device).max(), 1e-7 * (1 + abs(host).max()))

    def test_another_device_is_refused(self) -> None:
        if self.torch.cuda.device_count() < 2:
            self.skipTest("there is one device")
        A = unsymmetric(30)
        lu = lutra.splu(A)
        with self.torch.cuda.device(1):
            b = self.torch.ones(30, dtype=self.torch.float64, device="cuda:1")
            with self.assertRaisesRegex(ValueError, "b: the array is on device 1, but Lutra works on device 0"):
                lu.solve(b)
        self.assert_solves(A, lu.solve(self.torch.ones(30, dtype=self.torch.float64)).numpy(), np.ones(30))


class Jax(OnDevice):
    def test_vectors(self) -> None:
        jax = library("jax")
        for dtype in SCALARS:
            A = unsymmetric(70, dtype)
            b = random_values((70, 2), dtype)
            lu, on_device = lutra.splu(A), jax.numpy.asarray(b)
            x = lu.solve(on_device)
            self.assertIsInstance(x, jax.Array)
            with self.assertRaisesRegex(TypeError, "JAX cannot be written"):
                lu.solve(on_device, out=on_device)
            self.assertTrue((np.asarray(on_device) == b).all())
            self.assert_solves(A, np.asarray(x), b)

    def test_matrix(self) -> None:
        jax = library("jax")
        A = unsymmetric(40)
        matrix = importlib.import_module("jax.experimental.sparse").BCSR.from_scipy_sparse(A)
        x = lutra.splu(matrix).solve(jax.numpy.ones(40))
        self.assert_solves(A, np.asarray(x), np.ones(40))


if __name__ == "__main__":
    unittest.main()
