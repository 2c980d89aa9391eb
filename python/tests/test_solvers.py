# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares solutions, factors, inertia and Krylov methods with NumPy and SciPy."""

from __future__ import annotations

import logging
import threading
import unittest
import unittest.mock
import warnings

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from common import ON_DEVICE, SCALARS, random_values, symmetric, tolerance, unsymmetric

import lutra


class Splu(unittest.TestCase):
    def test_solves_with_all_types_and_transposes(self) -> None:
        for dtype in SCALARS:
            A = unsymmetric(120, dtype)
            B = random_values((120, 3), dtype)
            lu = lutra.splu(A)
            self.assertEqual(lu.dtype, np.dtype(dtype))
            for trans, op in (("N", A), ("T", A.T), ("H", A.conj().T)):
                for b in (B[:, 0].copy(), B, np.asfortranarray(B), B[::2].repeat(2, axis=0)[:120]):
                    x = lu.solve(b, trans)
                    self.assertEqual((x.shape, x.dtype), (b.shape, b.dtype))
                    expected = np.linalg.solve(op.toarray(), b)
                    self.assertLess(abs(x - expected).max(), tolerance(dtype) * abs(expected).max())

    def test_log_is_told_of_calls_stages_and_choices(self) -> None:
        events: list[lutra.Event] = []
        lu = lutra.splu(unsymmetric(40), log=events.append)
        lu.solve(np.ones(40))
        for begins, ends in (("call begins", "call ends"), ("stage begins", "stage ends")):
            names = [[event.name for event in events if event.kind == kind] for kind in (begins, ends)]
            self.assertEqual(sorted(names[0]), sorted(names[1]))
        self.assertEqual([e.name for e in events if e.kind == "call begins"], ["analyze", "factorize", "solve"])
        chosen = {event.name: event.text for event in events if event.kind == "choice"}
        self.assertEqual(chosen["ordering"], lu.report.choice.ordering)
        self.assertGreater(max(event.bytes for event in events), 0)
        self.assertIn("numeric ends after", "".join(map(str, events)))

    def test_log_by_logging(self) -> None:
        with self.assertLogs("solver", level="INFO") as logs:
            lutra.splu(unsymmetric(40), log=logging.getLogger("solver"))
        self.assertIn("INFO:solver:method: lu", logs.output)
        with self.assertRaisesRegex(TypeError, "log: a function or a logging.Logger is wanted, not int"):
            lutra.splu(unsymmetric(4), log=3)

    def test_exception_of_a_log_ends_no_call(self) -> None:
        def refuse(event: lutra.Event) -> None:
            raise ValueError("no log today")

        seen: list[object] = []
        with unittest.mock.patch("sys.unraisablehook", lambda hook: seen.append(hook.exc_value)):
            x = lutra.splu(sp.eye(3, format="csr"), log=refuse).solve(np.ones(3))
        self.assertTrue(np.allclose(x, 1))
        self.assertIn("no log today", str(seen[0]))

    def test_forecast_is_close_to_the_peak(self) -> None:
        n = 60
        line = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(n, n))
        A = sp.csr_matrix(sp.kronsum(line, line))
        for method, factorize in (("lu", lutra.splu), ("ldlt", lutra.ldlt), ("cholesky", lutra.cholesky)):
            told = lutra.forecast(A, method=method)
            factors = factorize(A)
            factors.solve(np.ones(n * n))
            measured = factors.report.memory.device_peak_bytes
            self.assertLessEqual(abs(told.solve.device - measured), 0.1 * measured)
            self.assertEqual(told.solve.host, 0)
            self.assertGreater(lutra.forecast(A, 16, method=method).solve.device, told.solve.device)
        with self.assertRaises(ValueError):
            lutra.forecast(A, 0)
        self.assertIsNone(lutra.forecast(sp.csr_matrix(([1.0], ([0], [0])), shape=(2, 2)), method="lu"))

    def test_streamed_factors_are_the_resident_ones(self) -> None:
        line = sp.diags([-1.0, 2.1, -1.2], [-1, 0, 1], shape=(60, 60))
        A = sp.csr_matrix(sp.kronsum(line, line))
        b = random_values(3600, float)
        resident = lutra.splu(A, engine="multifrontal")
        limit = int(0.8 * resident.report.memory.device_peak_bytes)  # solves then read factors from the host
        streamed = lutra.splu(A, engine="multifrontal", factor_storage="streamed", memory_limit=limit)
        x, y = resident.solve(b), streamed.solve(b)
        if ON_DEVICE:  # the order of sums depends on the parts, so that roundings differ
            np.testing.assert_allclose(y, x, rtol=0, atol=1e-10 * abs(x).max())
        else:
            self.assertEqual(x.tobytes(), y.tobytes())
        self.assertGreater(streamed.report.memory.moved_by_solve, 0, streamed.report.choice.why)
        self.assertIsNone(resident.report.memory.moved_by_solve)

    def test_ordering_that_is_not_asked_for(self) -> None:
        A = unsymmetric(40)
        report = lutra.splu(A, expected_factorizations=7).report
        self.assertIn(report.choice.ordering, ("amd", "nd"))
        self.assertIn("in 7 factorizations", report.choice.why)
        self.assertGreater(report.predicted.analysis, 0)
        self.assertGreater(report.predicted.over_measured, 0)
        # The loser follows, with its time, where nested dissection was tried.
        self.assertRegex(lutra.splu(A).report.choice.why, "in 20 factorizations[;,]")
        self.assertEqual(lutra.splu(A, ordering="metis").report.choice.ordering, "metis")
        self.assertEqual(lutra.ldlt(symmetric(30), ordering="rcm").report.choice.ordering, "rcm")

    def test_incomplete_factors_are_applied_exactly_or_by_sweeps(self) -> None:
        A = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(6, 6), format="csr")  # its factors have no fill
        b = np.ones(6)
        x = np.linalg.solve(A.toarray(), b)
        np.testing.assert_allclose(lutra.spilu(A, apply="exact").solve(b), x)
        np.testing.assert_allclose(lutra.spilu(A, apply="jacobi", jacobi_sweeps=6).solve(b), x)  # as many as rows
        few = lutra.spilu(A, apply="jacobi", jacobi_sweeps=3).solve(b)
        self.assertGreater(abs(few - x).max(), 0.1)
        ilu = lutra.spilu(A)
        choice = ilu.report.choice
        self.assertIn(choice.trisolve == "jacobi", (False, ON_DEVICE), choice.why)
        expected = few if choice.trisolve == "jacobi" else x
        np.testing.assert_allclose(ilu.solve(b), expected, err_msg=f"{choice.trisolve}: {choice.why}")

    def test_unchecked_solutions(self) -> None:
        A = unsymmetric(40)
        b = A @ np.arange(40.0)
        lu = lutra.splu(A, check="never")
        self.assertLess(abs(lu.solve(b) - np.arange(40.0)).max(), 1e-9)
        self.assertEqual(lu.report.status, "unchecked")
        self.assertIsNone(lu.report.errors.backward_componentwise)

    def test_refactor_keeps_the_analysis(self) -> None:
        A = unsymmetric(80)
        lu = lutra.splu(A)
        other = A.copy()
        other.data = random_values(A.nnz, "float64", 7)
        lu.refactor(other)
        b = np.arange(80.0)
        np.testing.assert_allclose(other @ lu.solve(b), b, atol=1e-8)
        self.assertIsNotNone(lu.report.times.refactor)
        self.assertEqual(lu.report.status, "success")

    def check_factors(self, A: sp.csr_matrix, **options: object) -> lutra.LU:
        lu = lutra.splu(A, **options)
        F = sp.diags(lu.row_scale) @ A @ sp.diags(lu.col_scale)
        F = F.toarray()[np.argsort(lu.perm_r)][:, np.argsort(lu.perm_c)]
        product = (lu.L @ lu.U).toarray()
        np.testing.assert_allclose(product, F, atol=1e2 * np.finfo(A.dtype).eps * abs(F).max())
        self.assertEqual(sp.triu(lu.L, 1).nnz + sp.tril(lu.U, -1).nnz, 0)
        self.assertTrue((lu.L.diagonal() == 1).all())
        return lu

    def test_factors_multiply_to_the_scaled_matrix(self) -> None:
        for dtype in SCALARS:
            A = unsymmetric(90, dtype)
            self.check_factors(A, engine="multifrontal")
            self.check_factors(A, engine="multifrontal", trisolve="levels")
            self.check_factors(A, engine="simplicial")

    def test_factors_with_interchanged_rows(self) -> None:
        for dtype in SCALARS:
            blocks = [random_values((12, 12), dtype, seed) for seed in range(4)]  # fronts, and one above them
            border = random_values((48, 6), dtype, 5)
            A = sp.bmat([[sp.block_diag(blocks), border], [border.T, random_values((6, 6), dtype, 6)]], format="csr")
            lu = self.check_factors(A, pivoting="threshold", pivot_threshold=1.0, matching="none")
            self.assertGreater(lu.report.pivots.interchanged, 0)

    def test_writes_into_out(self) -> None:
        A = unsymmetric(30)
        lu = lutra.splu(A)
        b = np.ones((30, 2))
        x = lu.solve(b)
        self.assertIs(lu.solve(b, out=b), b)
        np.testing.assert_array_equal(x, b)
        frozen = np.ones(30)
        frozen.flags.writeable = False
        lu.solve(frozen)  # a read-only array
        with self.assertRaises(TypeError):
            lu.solve(np.ones(30), out=frozen)

    def test_widens_but_never_narrows(self) -> None:
        lu = lutra.splu(unsymmetric(20))
        self.assertEqual(lu.solve(np.ones(20, dtype=np.int32)).dtype, np.float64)
        self.assertEqual(lu.solve([1.0] * 20).dtype, np.float64)
        with self.assertRaisesRegex(TypeError, r"the matrix is real, b of complex128; factorize A.astype\('complex128'\)"):
            lu.solve(np.ones(20) * 1j)

    def test_linear_operator(self) -> None:
        A = unsymmetric(60)
        M = lutra.splu(A).as_linear_operator()
        b = random_values(60, "float64")
        np.testing.assert_allclose(A @ (M @ b), b, atol=1e-9)
        np.testing.assert_allclose(A.T @ M.rmatvec(b), b, atol=1e-9)
        x, info = spla.gmres(A, b, M=M, atol=0)
        self.assertEqual(info, 0)

    def test_linear_operator_of_real_factors_takes_complex_vectors(self) -> None:
        A = unsymmetric(60)
        M = lutra.splu(A).as_linear_operator()
        b = random_values(60, "float64") + 1j * random_values(60, "float64")
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # NumPy warns if it drops imaginary parts
            np.testing.assert_allclose(A @ M.matvec(b), b, atol=1e-9)
            np.testing.assert_allclose(A.T @ M.rmatvec(b), b, atol=1e-9)
            B = np.stack([b, 2j * b], axis=1)
            np.testing.assert_allclose(A @ M.matmat(B), B, atol=1e-9)
            np.testing.assert_allclose(A.T @ M.rmatmat(B), B, atol=1e-9)

    def test_a_complex_preconditioner_of_a_real_system_is_refused(self) -> None:
        A = unsymmetric(30)
        with self.assertRaisesRegex(TypeError, "M: it returns complex128 for vectors of float64"):
            lutra.gmres(A, np.ones(30), M=lambda b: b * (1 + 1j))

    def test_a_permutation_is_an_ordering_of_its_own(self) -> None:
        A = unsymmetric(4)
        lutra.splu(A, user_permutation=[3, 2, 1, 0])
        with self.assertRaisesRegex(ValueError, "ordering and user_permutation are two orderings"):
            lutra.splu(A, ordering="amd", user_permutation=[3, 2, 1, 0])

    def test_threads_share_solvers(self) -> None:
        A = unsymmetric(300)
        shared = lutra.splu(A)
        b = random_values(300, "float64")
        expected = shared.solve(b)
        different = []

        def work() -> None:
            own = lutra.splu(A)
            for _ in range(20):
                for solver in (own, shared):
                    if not np.array_equal(solver.solve(b), expected):
                        different.append(solver)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(different, [])


class Symmetric(unittest.TestCase):
    def test_ldlt_solves_and_counts(self) -> None:
        for dtype in SCALARS:
            A = symmetric(60, dtype)
            options = {"symmetry": "hermitian"} if np.dtype(dtype).kind == "c" else {}
            factors = lutra.ldlt(A, **options)
            self.assertEqual(factors.inertia, (60, 20, 0))
            b = random_values(80, dtype)
            expected = np.linalg.solve(A.toarray(), b)
            self.assertLess(abs(factors.solve(b) - expected).max(), tolerance(dtype) * abs(expected).max())
            np.testing.assert_array_equal(factors.perm_r, factors.perm_c)
            S = sp.diags(factors.row_scale)
            order = np.argsort(factors.perm_r)
            F = (S @ A @ S).toarray()[order][:, order]
            product = (factors.L @ factors.D @ factors.L.conj().T).toarray()
            np.testing.assert_allclose(product, F, atol=1e3 * np.finfo(dtype).eps * abs(F).max())
        self.assertGreater(factors.report.pivots.two_by_two, 0)
        self.assertIn(factors.report.pivots.attempt, ("pairs", "interchanges", "delays"))

    def test_parts_one_after_another_solve(self) -> None:
        for dtype in SCALARS:
            A = symmetric(60, dtype)
            complex_type = np.dtype(dtype).kind == "c"
            factors = lutra.ldlt(A, **({"symmetry": "hermitian"} if complex_type else {}))
            B = random_values((80, 2), dtype)
            Y = factors.solve_parts(B, "L")
            Z = np.empty_like(B)
            self.assertIs(factors.solve_parts(Y, "D", out=Z), Z)
            X = factors.solve_parts(Z, "U")
            self.assertLess(abs(A @ X - B).max(), 10 * tolerance(dtype) * abs(X).max())
            np.testing.assert_allclose(factors.solve_parts(Y, "DU"), X, rtol=0, atol=tolerance(dtype) * abs(X).max())
            sign, log_magnitude = factors.determinant()
            expected_sign, expected = np.linalg.slogdet(A.toarray().astype("complex128" if complex_type else "float64"))
            self.assertLess(abs(sign - expected_sign), tolerance(dtype))
            self.assertLess(abs(log_magnitude - expected), tolerance(dtype) * abs(expected))
            self.assertEqual(isinstance(sign, complex), complex_type)
        with self.assertRaisesRegex(ValueError, "parts"):
            factors.solve_parts(B, "LX")
        with self.assertRaisesRegex(ValueError, "79"):
            factors.solve_parts(B[:79], "L")

    def test_shifts_need_no_new_analysis(self) -> None:
        for dtype in SCALARS:
            A = symmetric(45, dtype)
            complex_type = np.dtype(dtype).kind == "c"
            factors = lutra.ldlt(A, **({"symmetry": "hermitian"} if complex_type else {}))
            shift = np.linspace(0.5, 1.5, 60).astype(np.finfo(dtype).dtype)
            factors.refactor(A, shift=shift)
            b = random_values(60, dtype)
            expected = np.linalg.solve(A.toarray() + np.diag(shift), b)
            self.assertLess(abs(factors.solve(b) - expected).max(), tolerance(dtype) * abs(expected).max())
            factors.refactor(A)
            np.testing.assert_allclose(A @ factors.solve(b), b, atol=100 * tolerance(dtype))
        for shift, error in ((np.ones(59), ValueError), (np.ones(60) * 1j, TypeError), (["a"] * 60, TypeError)):
            with self.assertRaisesRegex(error, "shift"):
                factors.refactor(A, shift=shift)
        A.data[7] = np.nan
        with self.assertRaisesRegex(ValueError, "row.*column"):
            factors.refactor(A, shift=np.ones(60))

    def test_quality_can_be_raised_until_one_half(self) -> None:
        factors = lutra.ldlt(symmetric(30), pivot_threshold=0.4)
        self.assertTrue(factors.increase_quality())
        self.assertFalse(factors.increase_quality())
        factors.refactor(symmetric(30))
        np.testing.assert_allclose(symmetric(30) @ factors.solve(np.ones(40)), 1, atol=1e-9)

    def test_schur_complements_condense_and_expand(self) -> None:
        for dtype in SCALARS:
            complex_type = np.dtype(dtype).kind == "c"
            options = {"symmetry": "hermitian"} if complex_type else {}
            regular = unsymmetric(120, dtype) + sp.csr_matrix(sp.identity(120, dtype=dtype) * 30)
            for A, solver, given in ((regular, lutra.splu, {}), (symmetric(90, dtype), lutra.ldlt, options)):
                rows = 40 + np.random.default_rng(4).permutation(36)  # more than one block of columns
                rest = np.setdiff1d(np.arange(120), rows)
                schur = lutra.SchurComplement(A, rows, solver, **given)
                dense = A.toarray()
                expected = dense[np.ix_(rows, rows)] - dense[np.ix_(rows, rest)] @ np.linalg.solve(
                    dense[np.ix_(rest, rest)], dense[np.ix_(rest, rows)]
                )
                self.assertLess(abs(schur.matrix - expected).max(), 10 * tolerance(dtype) * abs(expected).max())
                for factor in (1, 2):
                    schur.refactor(A * factor)
                    b = random_values((120, 2), dtype)
                    x = schur.expand(b, np.linalg.solve(schur.matrix, schur.condense(b)))
                    self.assertLess(abs(factor * A @ x - b).max(), 100 * tolerance(dtype) * abs(x).max())
        for rows in ([0, 0], [120], [-1], np.arange(120)):
            with self.assertRaises(ValueError):
                lutra.SchurComplement(A, rows)

    def test_one_triangle_suffices(self) -> None:
        A = symmetric(30)
        lower = lutra.ldlt(sp.tril(A), triangle="lower")
        np.testing.assert_allclose(A @ lower.solve(np.ones(40)), 1, atol=1e-9)

    def test_cholesky(self) -> None:
        for dtype in SCALARS:
            A = symmetric(40, dtype)[:40, :40]
            factors = lutra.cholesky(A)
            self.assertEqual(factors.inertia, (40, 0, 0))
            with self.assertRaises(lutra.NotPositiveDefiniteError) as caught:
                lutra.cholesky(symmetric(40, dtype))
            self.assertGreaterEqual(caught.exception.column, 0)


class Krylov(unittest.TestCase):
    def setUp(self) -> None:
        laplace = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(24, 24))
        eye = sp.identity(24)
        self.A = sp.csr_matrix(sp.kron(laplace, eye) + sp.kron(eye, laplace) + sp.diags([0.3], [1], shape=(576, 576)))
        self.b = random_values((576, 2), "float64")

    def check(self, **options: object) -> lutra.Report:
        x, report = lutra.gmres(self.A, self.b, tolerance=1e-10, **options)
        self.assertEqual(report.status, "success")
        self.assertLess(np.linalg.norm(self.b - self.A @ x), 1e-9 * np.linalg.norm(self.b))
        return report

    def test_preconditioners(self) -> None:
        ilu = lutra.spilu(self.A, fill_level=2)
        plain = self.check(M="none").iterations
        own = self.check(M=ilu).iterations
        self.assertLess(own, plain)
        self.assertLess(self.check(M="ilu").iterations, plain)
        self.assertEqual(self.check(M=ilu.as_linear_operator()).iterations, own)
        self.assertEqual(self.check(M=ilu.solve).iterations, own)
        self.assertEqual(self.check(M=ilu, method="bicgstab").choice.method, "bicgstab")
        self.assertLessEqual(self.check(M=lutra.splu(self.A)).iterations, 2)
        self.check(M=ilu, trans="N", x0=np.ones((576, 2)))
        x, _ = lutra.gmres(self.A, self.b, M=ilu, trans="T", tolerance=1e-10)
        self.assertLess(np.linalg.norm(self.b - self.A.T @ x), 1e-9 * np.linalg.norm(self.b))

    def test_incomplete_factors_multiply_to_the_pattern_of_the_matrix(self) -> None:
        ilu = lutra.spilu(self.A)
        product = (ilu.L @ ilu.U).toarray()
        stored = self.A.toarray() != 0
        np.testing.assert_allclose(product[stored], self.A.toarray()[stored], atol=1e-12)
        self.assertEqual(ilu.L.nnz + ilu.U.nnz - 576, self.A.nnz)

    def test_too_few_iterations_are_a_warning(self) -> None:
        with self.assertWarns(lutra.AccuracyWarning):
            _, report = lutra.gmres(self.A, self.b, M="none", max_iterations=3)
        self.assertEqual(report.status, "not_converged")

    def test_an_exception_of_the_preconditioner_passes_through(self) -> None:
        def failing(b: np.ndarray) -> np.ndarray:
            raise KeyError("mine")

        with self.assertRaisesRegex(KeyError, "mine"):
            lutra.gmres(self.A, self.b, M=failing)


class Pictures(unittest.TestCase):
    def test_spy(self) -> None:
        A = unsymmetric(50)
        self.assertEqual(lutra.spy(A)._repr_svg_()[:4], "<svg")
        with_factors = lutra.spy(A, lutra.splu(A), title="<A & B>")
        self.assertIn("L + U", with_factors)
        self.assertIn("&lt;A &amp; B&gt;", with_factors)


if __name__ == "__main__":
    unittest.main()
