# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Several ranks: Lutra for the blocks of block Jacobi and additive Schwarz methods, and for the whole matrix.

usage: mpirun -n 4 ranks_petsc4py.py liblutra_petsc.so
"""
import sys

from petsc_problems import assemble, backward_error, laplacian, np, start

PETSc = start(sys.argv.pop(1))
ROWS, COLUMNS = 24, 20


def solve(entries, pc, sub_pc, solver):
    """Solution on all ranks, and the iterations."""
    n = ROWS * COLUMNS
    A = PETSc.Mat().createAIJ([n, n], nnz=8)
    assemble(A, entries, *A.getOwnershipRange())
    b, x = A.createVecs()
    b.set(1)
    options = PETSc.Options()
    options["sub_pc_type"] = sub_pc
    options["sub_pc_factor_mat_solver_type"] = solver
    ksp = PETSc.KSP().create()
    ksp.setOperators(A)
    ksp.setType("gmres")
    ksp.setTolerances(rtol=1e-11)
    ksp.getPC().setType(pc)
    ksp.setFromOptions()
    ksp.solve(b, x)
    assert ksp.getConvergedReason() > 0, ksp.getConvergedReason()
    return gathered(x), ksp.getIterationNumber()


def factorizes_blocks(pc):
    """Whether Lutra reads the options of the blocks: it refuses a wrong one."""
    options = PETSc.Options()
    options["sub_mat_lutra_orderin"] = "amd"
    try:
        solve(list(laplacian(ROWS, COLUMNS)), pc, "lu", "lutra")
    except PETSc.Error as error:
        return "-sub_mat_lutra_orderin: " in str(error)
    finally:
        options.delValue("sub_mat_lutra_orderin")
    return False


def gathered(x):
    scatter, everything = PETSc.Scatter.toAll(x)
    scatter.scatter(x, everything)
    return everything.getArray().copy()


def check_blocks():
    for pc in ("bjacobi", "asm"):
        assert factorizes_blocks(pc), pc
        for sub_pc, wind in (("lu", 0.3), ("cholesky", 0.0)):
            entries = list(laplacian(ROWS, COLUMNS, wind))
            x, iterations = solve(entries, pc, sub_pc, "lutra")
            _, expected = solve(entries, pc, sub_pc, "petsc")
            error = backward_error(entries, x, np.ones(ROWS * COLUMNS))
            assert iterations == expected, (pc, sub_pc, iterations, expected)
            assert error < 1e-9, (pc, sub_pc, error)


def check_whole_matrix():
    """LU of the whole matrix on all ranks: solves, transposed ones, new values, failures."""
    n = ROWS * COLUMNS
    A = PETSc.Mat().createAIJ([n, n], nnz=8)
    b, x = A.createVecs()
    b.set(1)
    ksp = PETSc.KSP().create()
    ksp.setType("preonly")
    ksp.getPC().setType("lu")
    ksp.getPC().setFactorSolverType("lutra")
    for wind in (0.3, 0.1):
        entries = list(laplacian(ROWS, COLUMNS, wind))
        assemble(A, entries, *A.getOwnershipRange())
        ksp.setOperators(A)
        ksp.solve(b, x)
        error = backward_error(entries, gathered(x), np.ones(n))
        assert error < 1e-14, (wind, error)
        ksp.solveTranspose(b, x)
        error = backward_error(entries, gathered(x), np.ones(n), transposed=True)
        assert error < 1e-14, (wind, error)
    for value, reason in ((0.0, "singular"), (np.nan, "not a number")):
        entries = [(i, j, a if i > 0 else value) for i, j, a in laplacian(ROWS, COLUMNS)]
        assemble(A, entries, *A.getOwnershipRange())
        ksp.setOperators(A)
        ksp.solve(b, x)
        assert ksp.getConvergedReason() == PETSc.KSP.ConvergedReason.DIVERGED_PCSETUP_FAILED, reason
    assemble(A, list(laplacian(ROWS, COLUMNS, 0.2)), *A.getOwnershipRange())
    ksp.setOperators(A)
    ksp.solve(b, x)
    assert ksp.getConvergedReason() > 0
    assert backward_error(list(laplacian(ROWS, COLUMNS, 0.2)), gathered(x), np.ones(n)) < 1e-14


def check_few_rows():
    """A rank without rows, and several right-hand sides."""
    n = 3
    entries = [(i, j, 1.0 + 4 * (i == j) + i) for i in range(n) for j in range(n)]
    A = PETSc.Mat().createAIJ([n, n], nnz=3)
    assemble(A, entries, *A.getOwnershipRange())
    B = PETSc.Mat().createDense([n, 2])
    B.setUp()
    first, last = B.getOwnershipRange()
    B.getDenseArray()[:] = np.arange(2 * n).reshape(n, 2)[first:last]
    B.assemble()
    X = B.duplicate()
    ksp = PETSc.KSP().create()
    ksp.setOperators(A)
    ksp.setType("preonly")
    ksp.getPC().setType("lu")
    ksp.getPC().setFactorSolverType("lutra")
    ksp.setUp()
    ksp.getPC().getFactorMatrix().matSolve(B, X)
    dense = np.zeros((n, n))
    for i, j, value in entries:
        dense[i, j] = value
    expected = np.linalg.solve(dense, np.arange(2.0 * n).reshape(n, 2))
    np.testing.assert_allclose(X.getDenseArray(), expected[first:last], rtol=1e-12, atol=1e-14)


check_blocks()
check_few_rows()
check_whole_matrix()
PETSc.Sys.Print(f"passed on {PETSc.COMM_WORLD.getSize()} ranks")
