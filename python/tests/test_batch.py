# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of lutra.BatchedLU and BatchedLDLT: solutions, layouts, masks, failures and errors in the input."""

from __future__ import annotations

import threading
import unittest
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from common import SCALARS, random_values, symmetric, tolerance, unsymmetric

import lutra


def batch_of(A: sp.csr_matrix, systems: int, seed: int = 3) -> np.ndarray:
    """Values [systems × entries] around those of A."""
    noise = random_values((systems, A.nnz), A.dtype.name, seed)
    return (A.data * (1 + 0.1 * noise)).astype(A.dtype)


def matrix(A: sp.csr_matrix, values: np.ndarray) -> sp.csr_matrix:
    return sp.csr_matrix((values, A.indices, A.indptr), shape=A.shape)


def by_op(A: sp.csr_matrix, trans: str) -> sp.csr_matrix:
    return A if trans == "N" else A.T if trans == "T" else A.conj().T


class Solutions(unittest.TestCase):
    def check(self, A: sp.csr_matrix, values: np.ndarray, x: np.ndarray, b: np.ndarray, trans: str = "N") -> None:
        for k in range(len(values)):
            residual = np.abs(by_op(matrix(A, values[k]), trans) @ x[k] - b[k]).max()
            self.assertLess(residual, tolerance(A.dtype.name) * (1 + np.abs(x[k]).max()))

    def test_all_operations_and_types(self) -> None:
        for scalar in SCALARS:
            A = unsymmetric(40, scalar)
            for systems in (1, 7, 17):
                values = batch_of(A, systems)
                lu = lutra.splu(A, batch=values)
                self.assertIsInstance(lu, lutra.BatchedLU)
                self.assertEqual((lu.shape, lu.dtype), ((systems, 40, 40), np.dtype(scalar)))
                for trans in "NTH":
                    for shape in ((systems, 40), (systems, 40, 3)):
                        b = random_values(shape, scalar)
                        self.check(A, values, lu.solve(b, trans), b, trans)
                self.assertEqual(set(lu.statuses), {"success"})
                self.assertEqual(len(lu.errors.componentwise), systems)
                self.assertTrue((lu.errors.componentwise < tolerance(scalar)).all())

    def test_agrees_with_single_solves(self) -> None:
        A = unsymmetric(60)
        values, b = batch_of(A, 9), random_values((9, 60), "float64")
        x = lutra.splu(A, batch=values).solve(b)
        for k in range(9):
            one = lutra.splu(matrix(A, values[k])).solve(b[k])
            self.assertLess(np.abs(x[k] - one).max(), 1e-11 * (1 + np.abs(one).max()))

    def test_layouts_give_the_same_bits(self) -> None:
        A = unsymmetric(30)
        values, b = batch_of(A, 11), random_values((11, 30, 2), "float64")
        expected = lutra.splu(A, batch=values).solve(b)
        interleaved = np.asfortranarray(values)
        self.assertEqual(interleaved.strides[0], 8)
        b_last = np.moveaxis(np.ascontiguousarray(np.moveaxis(b, 0, -1)), -1, 0)  # systems have stride 1
        wide = np.zeros((11, 2 * A.nnz))[:, ::2]
        wide[:] = values
        for these in (interleaved, wide, values[::-1][::-1]):
            lu = lutra.splu(A, batch=these)
            for right in (b, b_last):
                x = lu.solve(right)
                np.testing.assert_array_equal(x, expected)
        self.assertEqual(lu.solve(b_last).strides[0], 8)

    def test_one_right_hand_side_for_all(self) -> None:
        A = unsymmetric(30)
        values, b = batch_of(A, 5), random_values(30, "float64")
        lu = lutra.splu(A, batch=values)
        np.testing.assert_array_equal(lu.solve(b), lu.solve(np.tile(b, (5, 1))))

    def test_out_and_refactor_with_other_counts(self) -> None:
        A = unsymmetric(30)
        with lutra.splu(A, batch=batch_of(A, 4)) as lu:
            for systems in (9, 2):
                values, b = batch_of(A, systems, seed=systems), random_values((systems, 30), "float64")
                lu.refactor(values)
                x = b.copy()
                self.assertIs(lu.solve(x, out=x), x)
                self.check(A, values, x, b)
        with self.assertRaisesRegex(ValueError, "closed"):
            lu.solve(b)
        self.assertIn("closed", repr(lu))

    def test_solutions_over_a_part_of_b(self) -> None:
        A = unsymmetric(30)
        lu = lutra.splu(A, batch=batch_of(A, 20))
        x = random_values((20, 30), "float64")
        expected = lu.solve(x[0].copy())
        np.testing.assert_array_equal(lu.solve(x[0], out=x), expected)
        b = random_values((21, 30), "float64")
        expected = lu.solve(b[:20].copy())
        np.testing.assert_array_equal(lu.solve(b[:20], out=b[1:]), expected)

    def test_engines(self) -> None:
        A = unsymmetric(40)
        values, b = batch_of(A, 5), random_values((5, 40), "float64")
        for options, engine in (
            ({"engine": "simplicial"}, "simplicial"),
            ({"engine": "multifrontal"}, "multifrontal"),
            ({"pivoting": "threshold"}, "multifrontal"),
        ):
            with lutra.splu(A, batch=values, **options) as lu:
                self.assertEqual(lu.report.engine, engine)
                self.check(A, values, lu.solve(b), b)
                self.assertEqual(lu.report.engine, engine)
                self.assertEqual(lu.report.group_size == 1, engine == "multifrontal")

    def test_narrower_types_are_converted(self) -> None:
        A = unsymmetric(20)
        lu = lutra.splu(A, batch=batch_of(A, 3).astype("float32"))
        self.assertEqual(lu.dtype, np.float64)
        lu.solve(np.ones((3, 20), dtype=int))
        if "complex128" in SCALARS:
            self.assertEqual(lutra.splu(A, batch=batch_of(A, 3) * 1j).dtype, np.complex128)
        with self.assertRaisesRegex(TypeError, "b: the matrix is real"):
            lu.solve(np.ones((3, 20)) * 1j)

    def test_arrays_with_dlpack(self) -> None:
        class Other:
            """An array of another library."""

            def __init__(self, array: np.ndarray) -> None:
                self.array, self.shape, self.dtype = array, array.shape, array.dtype

            def __dlpack__(self, **_: Any) -> Any:
                return self.array.__dlpack__()

            def __dlpack_device__(self) -> tuple[int, int]:
                return self.array.__dlpack_device__()

        A = unsymmetric(20)
        values, b = batch_of(A, 3), random_values((3, 20), "float64")
        lu = lutra.splu(A, batch=Other(values))
        np.testing.assert_array_equal(np.asarray(lu.solve(Other(b))), lutra.splu(A, batch=values).solve(b))

    def test_threads_share_a_batch(self) -> None:
        A = unsymmetric(40)
        values, b = batch_of(A, 8), random_values((8, 40), "float64")
        lu = lutra.splu(A, batch=values)
        expected, found = lu.solve(b), []
        threads = [threading.Thread(target=lambda: found.append(lu.solve(b))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for x in found:
            np.testing.assert_array_equal(x, expected)


class Symmetric(unittest.TestCase):
    def test_inertia_and_solutions(self) -> None:
        for scalar in SCALARS:
            A = symmetric(30, scalar)
            scale = np.array([1.0, -2.0, 0.5], dtype=A.data.real.dtype)
            values = scale[:, None] * A.data
            kind = "hermitian" if np.dtype(scalar).kind == "c" else "symmetric"
            factors = lutra.ldlt(A, batch=values, symmetry=kind)
            self.assertIsInstance(factors, lutra.BatchedLDLT)
            b = random_values((3, 40), scalar)
            x = factors.solve(b)
            for k in range(3):
                residual = np.abs(matrix(A, values[k]) @ x[k] - b[k]).max()
                self.assertLess(residual, tolerance(scalar) * (1 + np.abs(x[k]).max()))
            self.assertEqual(factors.inertia, [(30, 10, 0), (10, 30, 0), (30, 10, 0)])

    def test_cholesky_names_the_system(self) -> None:
        A = sp.csr_matrix(sp.diags([-1.0, 2.5, -1.0], [-1, 0, 1], shape=(20, 20)))
        values = np.tile(A.data, (3, 1))
        values[1] *= -1
        with self.assertRaises(lutra.BatchError) as caught:
            lutra.cholesky(A, batch=values)
        self.assertEqual(caught.exception.failures, {1: "not_positive_definite"})
        x = lutra.cholesky(A, batch=values, on_failure="ignore").solve(np.ones((3, 20)))
        self.assertTrue(np.isnan(x[1]).all())
        np.testing.assert_array_equal(x[0], x[2])


class Failures(unittest.TestCase):
    def setUp(self) -> None:
        self.A = unsymmetric(30)
        self.values = batch_of(self.A, 6)
        self.b = random_values((6, 30), "float64")
        self.good = lutra.splu(self.A, batch=self.values).solve(self.b)
        self.singular = self.values.copy()
        rows = np.repeat(np.arange(30), np.diff(self.A.indptr))
        self.singular[4, rows == 12] = 0

    def test_a_singular_system_is_named_and_changes_no_other(self) -> None:
        lu = lutra.splu(self.A, batch=self.values)
        with self.assertRaisesRegex(lutra.BatchError, "1 of 6 systems: system 4 is .*singular") as caught:
            lu.refactor(self.singular)
        self.assertEqual(list(caught.exception.failures), [4])
        x = np.full((6, 30), 7.0)
        with self.assertRaises(lutra.BatchError):
            lu.solve(self.b, out=x)
        others = [0, 1, 2, 3, 5]
        np.testing.assert_array_equal(x[others], self.good[others])
        np.testing.assert_array_equal(x[4], np.full(30, 7.0))
        self.assertIn("singular", lu.statuses[4])
        self.assertEqual({lu.statuses[k] for k in others}, {"success"})

    def test_failures_can_be_ignored_or_warned_about(self) -> None:
        lu = lutra.splu(self.A, batch=self.singular, on_failure="ignore")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            x = lu.solve(self.b)
        self.assertTrue(np.isnan(x[4]).all())
        np.testing.assert_array_equal(x[5], self.good[5])
        self.assertTrue(np.isnan(lu.errors.componentwise[4]))
        with self.assertWarnsRegex(lutra.AccuracyWarning, "system 4"):
            lutra.splu(self.A, batch=self.singular, on_failure="warn")
        with self.assertRaisesRegex(ValueError, "on_failure"):
            lutra.splu(self.A, batch=self.singular, on_failure="no")

    def test_a_mask_skips_systems(self) -> None:
        mask = np.array([True, True, False, True, False, True])
        bad = self.singular.copy()
        bad[2, 3] = np.nan
        lu = lutra.BatchedLU(self.A, bad, mask=mask)
        x = lu.solve(self.b)
        np.testing.assert_array_equal(x[mask], self.good[mask])
        self.assertTrue(np.isnan(x[~mask]).all())
        out = np.full((6, 30), 7.0)
        lu.solve(self.b, out=out)
        self.assertTrue((out[~mask] == 7).all())
        self.assertEqual([status == "not_solved" for status in lu.statuses], list(~mask))

    def test_messages_name_system_row_and_column(self) -> None:
        lu = lutra.splu(self.A, batch=self.values)
        bad = self.values.copy()
        bad[3, 17] = np.nan
        row = int(np.searchsorted(self.A.indptr, 17, side="right")) - 1
        with self.assertRaisesRegex(ValueError, rf"system 3\b.*row {row}\b.*column {self.A.indices[17]}\b"):
            lu.refactor(bad)
        np.testing.assert_array_equal(lu.solve(self.b), self.good)  # as if nothing had happened
        b = self.b.copy()
        b[5, 8] = np.inf
        with self.assertRaisesRegex(ValueError, r"system 5\b.*row 8\b"):
            lu.solve(b)

    def test_wrong_shapes(self) -> None:
        lu = lutra.splu(self.A, batch=self.values)
        for values in (self.values[:, 1:], self.values[0], self.values[None]):
            with self.assertRaisesRegex(ValueError, "values"):
                lu.refactor(values)
        for b in (self.b[:, 1:], self.b[1:], self.b[0, 1:], self.b[None, None]):
            with self.assertRaisesRegex(ValueError, "[bB]: |B is"):
                lu.solve(b)
        with self.assertRaisesRegex(ValueError, "X is|out"):
            lu.solve(self.b, out=np.empty((6, 29)))
        with self.assertRaisesRegex(ValueError, "mask: it has 5 elements, but the batch has 6"):
            lu.refactor(self.values, mask=np.ones(5, dtype=bool))
        with self.assertRaisesRegex(TypeError, "mask: an array of bool"):
            lu.refactor(self.values, mask=np.ones(6, dtype=int))
        with self.assertRaisesRegex(ValueError, "trans"):
            lu.solve(self.b, "C")
        with self.assertRaisesRegex(TypeError, "values: the factors are of float64"):
            lu.refactor(self.values * 1j)

    def test_the_pattern_must_be_csr_in_order(self) -> None:
        with self.assertRaisesRegex(ValueError, "a batch needs csr"):
            lutra.splu(self.A.tocsc(), batch=self.values)
        unsorted = sp.csr_matrix((np.ones(3), [1, 0, 1], [0, 2, 3]), shape=(2, 2))
        with self.assertRaisesRegex(ValueError, "a batch needs"):
            lutra.splu(unsorted, batch=np.ones((2, 3)))

    def test_no_systems(self) -> None:
        lu = lutra.splu(self.A, batch=self.values[:0])
        self.assertEqual(lu.solve(self.b[:0]).shape, (0, 30))


if __name__ == "__main__":
    unittest.main()
