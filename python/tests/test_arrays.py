# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests which matrices and vectors are accepted, copied and refused."""

from __future__ import annotations

import ctypes
import unittest
import warnings

import numpy as np
import scipy.sparse as sp
from common import ON_DEVICE, ORDINALS, random_values, unsymmetric

import lutra


class Tensor:
    """An array that offers only DLPack."""

    def __init__(self, array: np.ndarray) -> None:
        self._array = array
        self.shape = array.shape
        self.dtype = array.dtype
        self.taken = 0

    def __dlpack__(self, **options: object) -> object:
        self.taken += 1
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array.__dlpack_device__()


class Elsewhere(Tensor):
    """An array on the host whose DLPack says that it is on a device."""

    def __init__(self, array: np.ndarray, device: tuple[int, int]) -> None:
        super().__init__(array)
        self._device = device

    def __dlpack__(self, **options: object) -> object:
        capsule = self._array.__dlpack__()
        pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
        pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        place = (ctypes.c_int32 * 2).from_address(pointer_of(capsule, b"dltensor") + 8)  # behind the data pointer
        place[:] = self._device
        return capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._device


class Matrix:
    """A matrix by rows made of tensors, not of SciPy."""

    def __init__(self, A: sp.csr_matrix) -> None:
        self.shape = A.shape
        self.indptr, self.indices, self.data = Tensor(A.indptr), Tensor(A.indices), Tensor(A.data)


class Formats(unittest.TestCase):
    def setUp(self) -> None:
        self.A = unsymmetric(40)
        self.b = random_values(40, "float64")
        self.x = np.linalg.solve(self.A.toarray(), self.b)

    def test_all_formats_and_arrays(self) -> None:
        for of in ("matrix", "array"):
            for name in ("csr", "csc", "coo", "bsr", "dia", "lil", "dok"):
                A = getattr(sp, f"{name}_{of}")(self.A)
                with warnings.catch_warnings(record=True) as seen:
                    warnings.simplefilter("always")
                    lu = lutra.splu(A)
                np.testing.assert_allclose(lu.solve(self.b), self.x, rtol=1e-8)
                costly = [w for w in seen if w.category is lutra.ConversionWarning]
                self.assertEqual(len(costly), name in ("lil", "dok"), name)
                if costly:
                    self.assertEqual(costly[0].filename, __file__)

    def test_dense_matrices_warn_and_unsorted_ones_are_left_alone(self) -> None:
        with self.assertWarns(lutra.ConversionWarning):
            lu = lutra.splu(self.A.toarray())
        np.testing.assert_allclose(lu.solve(self.b), self.x, rtol=1e-8)
        twice = sp.csr_matrix(([3.0, 1.0, 1.0, 2.0], [1, 0, 1, 1], [0, 3, 4]), shape=(2, 2))
        lu = lutra.splu(twice)
        np.testing.assert_allclose(lu.solve(np.array([5.0, 2.0])), [1, 1])
        self.assertEqual(twice.indices.tolist(), [1, 0, 1, 1])

    def test_integer_matrices_are_exact(self) -> None:
        A = sp.csr_matrix(np.array([[2, 1], [1, 3]]))
        self.assertEqual(lutra.splu(A).dtype, np.float64)
        with self.assertRaisesRegex(TypeError, "longdouble|float128|float96"):
            lutra.splu(A.astype(np.longdouble))

    def test_sparse_vectors_are_no_matrices(self) -> None:
        if not hasattr(sp, "coo_array"):
            return
        vector = sp.coo_array([1.0, 0.0, 2.0])
        if vector.ndim == 1:  # SciPy 1.13 and later
            for call in (lutra.splu, lutra.ldlt, lutra.spilu, lambda A: lutra.gmres(A, self.b)):
                with self.assertRaisesRegex(ValueError, r"a square matrix is wanted, this one has the shape \(3,\)"):
                    call(vector)
        with self.assertRaisesRegex(TypeError, r"b: a dense array is wanted, not a sparse matrix of format csr; pass b.toarray\(\)"):
            lutra.splu(self.A).solve(sp.csr_matrix(self.b))

    def test_indices_of_int64_are_not_narrowed(self) -> None:
        A = self.A.copy()
        A.indices, A.indptr = A.indices.astype(np.int64), A.indptr.astype(np.int64)
        if "int64" not in ORDINALS:
            with self.assertRaisesRegex(TypeError, "int64"):
                lutra.splu(A)
            return
        lu = lutra.splu(A)
        self.assertEqual(lu._solver.ordinal, "int64")
        np.testing.assert_allclose(lu.solve(self.b), self.x, rtol=1e-8)

    def test_offsets_alone_may_be_int64(self) -> None:
        A = self.A.copy()
        A.indptr = A.indptr.astype(np.int64)
        np.testing.assert_allclose(lutra.splu(A).solve(self.b), self.x, rtol=1e-8)

    def test_other_byte_order_and_strides(self) -> None:
        A = self.A.copy()
        A.data = A.data.astype(">f8")
        strided = np.zeros((40, 4))
        strided[:, 1] = self.b
        lu = lutra.splu(A)
        for b in (self.b.astype(">f8"), strided[:, 1], self.b[::-1][::-1]):
            np.testing.assert_allclose(lu.solve(b), self.x, rtol=1e-8)
        np.testing.assert_allclose(lu.solve(self.b[::-1]), np.linalg.solve(A.toarray(), self.b[::-1]), rtol=1e-8)
        out = np.zeros((40, 4))
        lu.solve(self.b, out=out[:, 2])
        np.testing.assert_allclose(out[:, 2], self.x, rtol=1e-8)
        self.assertEqual(out[:, [0, 1, 3]].any(), False)


class DLPack(unittest.TestCase):
    def test_matrix_and_vectors_by_dlpack(self) -> None:
        A = unsymmetric(50)
        matrix = Matrix(A)
        lu = lutra.splu(matrix)
        self.assertGreater(matrix.data.taken, 0)
        for shape in ((50,), (50, 3)):
            b = Tensor(random_values(shape, "float64"))
            x = lu.solve(b)
            self.assertEqual(b.taken, 1)
            np.testing.assert_allclose(x, np.linalg.solve(A.toarray(), b._array), rtol=1e-8)

    def test_host_tensors_are_written_in_place(self) -> None:
        A = unsymmetric(50)
        b, x = np.ones(50), np.zeros(50)
        lutra.splu(A).solve(Tensor(b), out=Tensor(x))
        np.testing.assert_allclose(A @ x, b, atol=1e-9)

    def test_solutions_in_memory_of_the_library(self) -> None:
        """Vectors of the library are where b is, here on the host, also if the solver works on a device.

        They say where they are, which NumPy relies on, and outlive the solver. Those on a device: test_device.py.
        """
        A = unsymmetric(50)
        for shape in ((50,), (50, 2)):
            b = Tensor(np.ones(shape))
            lu = lutra.splu(A)
            x = lu._solver.new_like(b)
            lu._solver.solve(b, x)
            lu.close()
            self.assertEqual(x.__dlpack_device__(), (1, 0))
            found = np.from_dlpack(x)
            self.assertEqual((found.shape, tuple(x.shape)), (shape, shape))
            np.testing.assert_allclose(A @ found, b._array, atol=1e-9)
            self.assertIsNotNone(x.__dlpack__(stream=None, max_version=(1, 0), dl_device=(1, 0), copy=False))
            for options in ({"dl_device": (2, 0)}, {"copy": True}):
                with self.assertRaises(BufferError):
                    x.__dlpack__(**options)

    def test_solutions_of_batches_are_nan_at_first(self) -> None:
        A = unsymmetric(50)
        with lutra.splu(A, batch=np.tile(A.data, (3, 1))) as batch:
            for b in (np.ones((3, 50)), np.ones((3, 50, 2)), np.ones((3, 50), dtype="complex128")):  # wider numbers
                found = np.from_dlpack(batch._batch.new_like(Tensor(b)))
                self.assertEqual((found.dtype, found.shape), (np.float64, b.shape))
                self.assertTrue(np.isnan(found).all())

    def test_memory_that_cannot_be_reached_is_refused(self) -> None:
        """Kernels that read memory of another device end the process."""
        A, ones = unsymmetric(50), np.ones(50)
        lu = lutra.splu(A)
        for device in ((2, 99), (8, 0)):  # a CUDA device that there is not, and Metal
            text = "the array is on (a )?device" if ON_DEVICE else "the array is on a device, but Lutra works with"
            with self.assertRaisesRegex(ValueError, f"b: {text}"):
                lu.solve(Elsewhere(ones, device))
            with self.assertRaisesRegex(ValueError, f"out: {text}"):
                lu.solve(Tensor(ones), out=Elsewhere(np.zeros(50), device))
            matrix = Matrix(A)
            matrix.data = Elsewhere(A.data, device)
            with self.assertRaisesRegex(ValueError, f"A: {text}"):
                lutra.splu(matrix)
        np.testing.assert_allclose(A @ lu.solve(ones), ones, atol=1e-9)

    def test_types_are_not_converted(self) -> None:
        lu = lutra.splu(unsymmetric(50))
        with self.assertRaisesRegex(TypeError, "b: an array of float64"):
            lu.solve(Tensor(np.ones(50, dtype=np.float32)))
        with self.assertRaisesRegex(ValueError, "51"):
            lu.solve(Tensor(np.ones(51)))


if __name__ == "__main__":
    unittest.main()
