# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lutra inside PETSc, from Python: the situations of PETSc's tutorials on KSP and SNES.

usage: test_petsc4py.py liblutra_petsc.so
"""
import sys
import unittest

from petsc_problems import assemble, backward_error, laplacian, matrix, np, start

PETSc = start(sys.argv.pop(1))
SMALL = 4e-15


def direct(A, pc="lu", prefix=None):
    ksp = PETSc.KSP().create(comm=PETSc.COMM_SELF)
    ksp.setOptionsPrefix(prefix)
    ksp.setOperators(A)
    ksp.setType("preonly")
    ksp.getPC().setType(pc)
    ksp.getPC().setFactorSolverType("lutra")
    ksp.setFromOptions()
    return ksp


def vectors(A, values):
    b = A.createVecLeft()
    b.setArray(values)
    return b, A.createVecRight()


def viewed(F):
    """What MatView prints."""
    import os
    import tempfile
    with tempfile.TemporaryDirectory() as folder:
        viewer = PETSc.Viewer().createASCII(os.path.join(folder, "view"), comm=PETSc.COMM_SELF)
        viewer.pushFormat(PETSc.Viewer.Format.ASCII_INFO)
        F.view(viewer)
        viewer.popFormat()
        viewer.destroy()
        with open(os.path.join(folder, "view")) as file:
            return file.read()


class Linear(unittest.TestCase):
    def test_known_solution(self):
        """u = x(1 - x)y(1 - y) solves the differences exactly."""
        k = 15
        entries = list(laplacian(k, k))
        A = matrix(PETSc, k * k, entries)
        s = np.arange(1, k + 1) / (k + 1)
        bump = s * (1 - s)
        exact = np.outer(bump, bump).ravel()
        rhs = 2 / (k + 1) ** 2 * np.add.outer(bump, bump).ravel()
        b, x = vectors(A, rhs)
        ksp = direct(A)
        ksp.solve(b, x)
        self.assertEqual(ksp.getConvergedReason(), PETSc.KSP.ConvergedReason.CONVERGED_ITS)
        self.assertLess(np.max(np.abs(x.getArray() - exact)), 1e-14)
        self.assertLess(backward_error(entries, x.getArray(), rhs), SMALL)

    def test_two_systems_one_pattern(self):
        """New values: a factorization, and no analysis. Both solvers stay usable."""
        first, second = list(laplacian(9, 11, 0.1)), list(laplacian(9, 11, 0.4))
        A = matrix(PETSc, 99, first)
        b, x = vectors(A, np.arange(99.0))
        ksp, other = direct(A), direct(matrix(PETSc, 99, second))
        ksp.solve(b, x)
        self.assertLess(backward_error(first, x.getArray(), b.getArray()), SMALL)
        assemble(A, second)
        ksp.setOperators(A)
        ksp.solve(b, x)
        self.assertLess(backward_error(second, x.getArray(), b.getArray()), SMALL)
        self.assertIn("factorizations with this analysis: 2", viewed(ksp.getPC().getFactorMatrix()))
        y = x.duplicate()
        other.solve(b, y)
        self.assertLess(backward_error(second, y.getArray(), b.getArray()), SMALL)

    def test_transposed_and_many(self):
        entries = list(laplacian(8, 9, 0.3))
        A = matrix(PETSc, 72, entries)
        b, x = vectors(A, np.cos(np.arange(72.0)))
        ksp = direct(A)
        ksp.solveTranspose(b, x)
        self.assertLess(backward_error(entries, x.getArray(), b.getArray(), transposed=True), SMALL)
        B = PETSc.Mat().createDense([72, 4], comm=PETSc.COMM_SELF)
        B.setUp()
        B.getDenseArray()[:] = np.random.default_rng(1).normal(size=(72, 4))
        B.assemble()
        X = B.duplicate()
        ksp.getPC().getFactorMatrix().matSolve(B, X)
        for j in range(4):
            self.assertLess(backward_error(entries, X.getDenseArray()[:, j], B.getDenseArray()[:, j]), SMALL)

    def test_inertia(self):
        """A - σI has as many negative eigenvalues as A has below σ: 2 - 2 cos(jπ/(n + 1))."""
        n, sigma = 40, 0.5
        entries = [(i, j, 2.0 - sigma if i == j else -1.0)
                   for i in range(n) for j in (i - 1, i, i + 1) if 0 <= j < n]
        below = sum(2 - 2 * np.cos(j * np.pi / (n + 1)) < sigma for j in range(1, n + 1))
        ksp = direct(matrix(PETSc, n, entries), "cholesky")
        ksp.setUp()
        self.assertEqual(ksp.getPC().getFactorMatrix().getInertia(), (below, 0, n - below))

    def test_krylov_with_lagged_factors(self):
        """Factors of an older matrix precondition GMRES for new ones."""
        entries = list(laplacian(12, 12, 0.2))
        A = matrix(PETSc, 144, entries)
        ksp = direct(A)
        ksp.setType("gmres")
        ksp.setTolerances(rtol=1e-12)
        b, x = vectors(A, np.ones(144))
        ksp.solve(b, x)
        ksp.getPC().setReusePreconditioner(True)
        entries = list(laplacian(12, 12, 0.21))
        assemble(A, entries)
        ksp.solve(b, x)
        self.assertGreater(ksp.getConvergedReason(), 0)
        self.assertTrue(1 < ksp.getIterationNumber() < 15)
        self.assertLess(backward_error(entries, x.getArray(), b.getArray()), 1e-9)
        self.assertIn("factorizations with this analysis: 1", viewed(ksp.getPC().getFactorMatrix()))


class Nonlinear(unittest.TestCase):
    """-Δu = λ eᵘ (Bratu) by Newton's method."""

    def solve(self, solver, **options):
        k, lam = 20, 6.0
        h2 = 1 / (k + 1) ** 2
        grid = list(laplacian(k, k))
        J = matrix(PETSc, k * k, grid)
        L = J.copy()
        count = [0]

        def function(snes, x, f):
            L.mult(x, f)
            f.setArray(f.getArray() - lam * h2 * np.exp(x.getArray()))

        def jacobian(snes, x, A, P):
            count[0] += 1
            L.copy(P)
            d = P.getDiagonal()
            d.setArray(d.getArray() - lam * h2 * np.exp(x.getArray()))
            P.setDiagonal(d)
            P.assemble()
            return PETSc.Mat.Structure.SAME_NONZERO_PATTERN

        snes = PETSc.SNES().create(comm=PETSc.COMM_SELF)
        x, f = J.createVecs()
        snes.setFunction(function, f)
        snes.setJacobian(jacobian, J)
        snes.setTolerances(rtol=1e-12)
        snes.getKSP().setType("preonly")
        snes.getKSP().getPC().setType("lu")
        snes.getKSP().getPC().setFactorSolverType(solver)
        names = PETSc.Options()
        for name, value in options.items():
            names[name] = value
        snes.setFromOptions()
        for name in options:
            names.delValue(name)
        x.set(0)
        snes.solve(None, x)
        self.assertGreater(snes.getConvergedReason(), 0)
        u = x.getArray()
        residual = np.array(-lam * h2 * np.exp(u))
        for i, j, value in grid:
            residual[i] += value * u[j]
        self.assertLess(np.linalg.norm(residual), 1e-10)
        return snes, u.copy(), count[0]

    def test_newton(self):
        snes, u, jacobians = self.solve("lutra")
        peer, v, _ = self.solve("petsc")
        self.assertEqual(snes.getIterationNumber(), peer.getIterationNumber())
        self.assertLess(np.max(np.abs(u - v)), 1e-12)
        self.assertIn(f"factorizations with this analysis: {jacobians}",
                      viewed(snes.getKSP().getPC().getFactorMatrix()))

    def test_lagged_jacobian(self):
        _, u, every = self.solve("lutra")
        snes, v, jacobians = self.solve("lutra", snes_lag_jacobian=3)
        peer, _, _ = self.solve("petsc", snes_lag_jacobian=3)
        self.assertLess(jacobians, every)
        self.assertGreater(snes.getIterationNumber(), jacobians)
        self.assertEqual(snes.getIterationNumber(), peer.getIterationNumber())
        self.assertLess(np.max(np.abs(u - v)), 1e-10)
        self.assertIn(f"factorizations with this analysis: {jacobians}",
                      viewed(snes.getKSP().getPC().getFactorMatrix()))


class Failures(unittest.TestCase):
    def test_singular(self):
        A = matrix(PETSc, 3, [(i, j, 1.0) for i in range(3) for j in range(3)])
        b, x = vectors(A, np.ones(3))
        ksp = direct(A)
        ksp.solve(b, x)
        self.assertEqual(ksp.getConvergedReason(), PETSc.KSP.ConvergedReason.DIVERGED_PCSETUP_FAILED)
        assemble(A, [(i, i, 3.0) for i in range(3)])
        ksp.setOperators(A)
        ksp.solve(b, x)
        self.assertGreater(ksp.getConvergedReason(), 0)
        np.testing.assert_allclose(x.getArray(), np.linalg.solve(np.ones((3, 3)) + 2 * np.eye(3), np.ones(3)))

    def test_wrong_option(self):
        options = PETSc.Options()
        options["wrong_mat_lutra_orderin"] = "amd"
        A = matrix(PETSc, 4, laplacian(2, 2))
        ksp = direct(A, prefix="wrong_")
        with self.assertRaises(PETSc.Error) as caught:
            ksp.setUp()
        options.delValue("wrong_mat_lutra_orderin")
        self.assertEqual(caught.exception.ierr, 95)  # PETSC_ERR_USER_INPUT
        self.assertIn("-wrong_mat_lutra_orderin: ", str(caught.exception))
        direct(A).setUp()  # the process goes on


if __name__ == "__main__":
    unittest.main()
