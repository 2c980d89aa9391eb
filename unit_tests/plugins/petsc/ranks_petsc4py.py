# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Block Jacobi and additive Schwarz methods on several ranks, with Lutra for the blocks.

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
    scatter, everything = PETSc.Scatter.toAll(x)
    scatter.scatter(x, everything)
    return everything.getArray().copy(), ksp.getIterationNumber()


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


def main():
    for pc in ("bjacobi", "asm"):
        assert factorizes_blocks(pc), pc
        for sub_pc, wind in (("lu", 0.3), ("cholesky", 0.0)):
            entries = list(laplacian(ROWS, COLUMNS, wind))
            x, iterations = solve(entries, pc, sub_pc, "lutra")
            _, expected = solve(entries, pc, sub_pc, "petsc")
            error = backward_error(entries, x, np.ones(ROWS * COLUMNS))
            assert iterations == expected, (pc, sub_pc, iterations, expected)
            assert error < 1e-9, (pc, sub_pc, error)
    PETSc.Sys.Print(f"passed on {PETSc.COMM_WORLD.getSize()} ranks")


main()
