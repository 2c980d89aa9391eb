# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matrices for the tests of liblutra_petsc, and errors computed with NumPy from their entries."""
import sys

try:
    import numpy as np
    import petsc4py
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)


def start(plugin, *options):
    """Starts PETSc with the plug-in loaded, and returns petsc4py.PETSc."""
    petsc4py.init([sys.argv[0], "-dll_append", plugin, "-no_signal_handler", *options])
    from petsc4py import PETSc
    return PETSc


def laplacian(rows, columns, wind=0.0):
    """Entries (i, j, value) of -Δu + wind ∂u/∂x on rows × columns interior points of a grid."""
    for i in range(rows * columns):
        row, column = divmod(i, columns)
        if row > 0:
            yield i, i - columns, -1.0
        if column > 0:
            yield i, i - 1, -1.0 - wind
        yield i, i, 4.0
        if column < columns - 1:
            yield i, i + 1, -1.0 + wind
        if row < rows - 1:
            yield i, i + columns, -1.0


def assemble(A, entries, first=0, last=None):
    """Sets those entries of A whose rows are in first … last - 1."""
    for i, j, value in entries:
        if i >= first and (last is None or i < last):
            A.setValue(i, j, value)
    A.assemble()


def matrix(PETSc, n, entries):
    A = PETSc.Mat().createAIJ([n, n], nnz=8, comm=PETSc.COMM_SELF)
    assemble(A, entries)
    return A


def backward_error(entries, x, b, transposed=False):
    """Largest |b - A x|_i / (|A| |x| + |b|)_i."""
    residual, scale = np.array(b), np.abs(b)
    for i, j, value in entries:
        if transposed:
            i, j = j, i
        residual[i] -= value * x[j]
        scale[i] += abs(value * x[j])
    return np.max(np.abs(residual) / scale)
