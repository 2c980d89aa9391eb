# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Refactorization and solve through PETSc: Lutra, Lutra without PETSc, and the LU solvers that PETSc has.

usage: petsc_times.py [--lutra-option NAME=VALUE]… [--skip MATRIX:PEER]… liblutra_petsc.so A.mtx[.xz]…

Solvers take turns. Times are processor times, the shortest of all turns, which other programs on the machine disturb
least; those of peers are relative to Lutra through PETSc. Set OMP_NUM_THREADS and OPENBLAS_NUM_THREADS to 1: this is a
comparison of single threads. Writes a table in Markdown.
"""
import argparse
import ctypes
import lzma
import math
import os
import statistics
import sys
import time

import numpy as np
import petsc4py
import scipy.io
import scipy.sparse

PEERS = ("mumps", "superlu", "umfpack", "klu")
ROUNDS = 15
SAMPLE = 0.005  # seconds: a sample is several runs if one is shorter


class Matrix(ctypes.Structure):
    """lutra_matrix of lutra.h"""
    _fields_ = [("n_rows", ctypes.c_int64), ("n_cols", ctypes.c_int64), ("nnz", ctypes.c_int64),
                ("row_map", ctypes.c_void_p), ("columns", ctypes.c_void_p), ("values", ctypes.c_void_p),
                ("row_map_type", ctypes.c_int)]


class Alone:
    """Lutra by its C interface, as the plug-in uses it."""

    def __init__(self, library, A, b, options):
        self.library, self.A, self.b, self.x = library, A, b, np.empty_like(b)
        self.matrix = Matrix(*A.shape, A.nnz, A.indptr.ctypes.data, A.indices.ctypes.data, A.data.ctypes.data, 0)
        self.solver = ctypes.c_void_p()
        library.lutra_message.restype = ctypes.c_char_p
        self.check(library.lutra_create(ctypes.byref(self.solver), 5, 1, 0, None))  # LUTRA_AUTO, F64, INT32
        for name, value in options:
            self.check(library.lutra_set_option(self.solver, name.encode(), value.encode()))
        self.check(library.lutra_analyze(self.solver, ctypes.byref(self.matrix)))

    def check(self, status):
        if status not in (0, 9):
            raise RuntimeError(self.library.lutra_message().decode())

    def run(self):
        n = ctypes.c_int64(len(self.b))
        self.check(self.library.lutra_factorize(self.solver, ctypes.byref(self.matrix)))
        self.check(self.library.lutra_solve(self.solver, 0, ctypes.c_int64(1), ctypes.c_void_p(self.b.ctypes.data), n,
                                            ctypes.c_void_p(self.x.ctypes.data), n))
        return self.x


class Inside:
    """A solver of PETSc, by KSP."""

    def __init__(self, PETSc, A, b, solver):
        comm = PETSc.COMM_SELF
        self.mat = PETSc.Mat().createAIJ(A.shape, csr=(A.indptr, A.indices, A.data), comm=comm)
        self.b, self.x = PETSc.Vec().createWithArray(b, comm=comm), self.mat.createVecRight()
        self.ksp = PETSc.KSP().create(comm=comm)
        self.ksp.setOperators(self.mat)
        self.ksp.setType("preonly")
        self.ksp.getPC().setType("lu")
        self.ksp.getPC().setFactorSolverType(solver)
        self.ksp.setUp()

    def run(self):
        self.mat.stateIncrease()  # as new values do
        self.ksp.solve(self.b, self.x)
        if self.ksp.getConvergedReason() < 0:
            raise RuntimeError(f"KSP ends with {self.ksp.getConvergedReason()}")
        return self.x.getArray(readonly=True)


def read(path):
    with (lzma.open if path.endswith(".xz") else open)(path, "rb") as file:
        A = scipy.sparse.csr_matrix(scipy.io.mmread(file), dtype=float)
    A.sort_indices()
    return A


def backward_error(A, x, b):
    scale = abs(A) @ abs(x) + abs(b)
    residual = abs(b - A @ x)
    return np.max(residual[scale > 0] / scale[scale > 0])


def measure(candidates):
    """Shortest processor time of each, taking turns."""
    first, repeats = {}, {}
    for name, candidate in candidates.items():
        start = time.process_time()
        candidate.run()
        first[name] = time.process_time() - start
        repeats[name] = max(1, math.ceil(SAMPLE / first[name]))
    best = min(seconds for name, seconds in first.items() if name in PEERS)
    close = [name for name in candidates if name not in PEERS or first[name] < 3 * best]  # one run tells of the others
    seconds = {name: [] if name in close else [first[name]] for name in candidates}
    for turn in range(ROUNDS):
        names = close[turn % len(close):] + close[:turn % len(close)]
        for name in names:
            start = time.process_time()
            for _ in range(repeats[name]):
                candidates[name].run()
            seconds[name].append((time.process_time() - start) / repeats[name])
    return {name: min(times) for name, times in seconds.items()}


def create(make, name):
    try:
        candidate = make()
        candidate.run()
        return candidate
    except Exception as error:  # a peer that is not built, or fails
        print(f"{name}: {str(error).splitlines()[-1]}", file=sys.stderr)
        return None


def compare(PETSc, library, path, options, peers):
    A = read(path)
    b = A @ np.random.default_rng(1).uniform(0.5, 1.5, A.shape[1])
    makers = {"lutra": lambda: Inside(PETSc, A, b, "lutra"), "alone": lambda: Alone(library, A, b, options)}
    for peer in peers:
        makers[peer] = lambda peer=peer: Inside(PETSc, A, b, peer)
    candidates = {name: create(make, name) for name, make in makers.items()}
    candidates = {name: candidate for name, candidate in candidates.items() if candidate}
    times = measure(candidates)
    errors = {name: backward_error(A, candidate.run(), b) for name, candidate in candidates.items()}
    return times, errors


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lutra-option", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--skip", action="append", default=[], metavar="MATRIX:PEER", help="a peer that takes minutes")
    parser.add_argument("plugin")
    parser.add_argument("matrices", nargs="+")
    arguments = parser.parse_args()
    options = [tuple(option.split("=", 1)) for option in arguments.lutra_option]
    words = [sys.argv[0], "-dll_append", arguments.plugin, "-mat_mumps_icntl_14", "200"]  # per cent of workspace more
    for name, value in options:
        words += [f"-mat_lutra_{name}", value]
    petsc4py.init(words)
    from petsc4py import PETSc
    folder = os.path.dirname(os.path.realpath(arguments.plugin))
    candidates = [os.path.join(folder, "liblutra_c.so"), os.path.join(folder, "../../c/liblutra_c.so")]
    library = ctypes.CDLL(next(name for name in candidates if os.path.exists(name)))

    print("| matrix | lutra, ms | alone |", " | ".join(PEERS), "| best | errors: lutra, best |")
    print("| --- " * (6 + len(PEERS)) + "|")
    best_ratios, alone_ratios = [], []
    for path in arguments.matrices:
        name = os.path.basename(path).split(".mtx")[0]
        peers = [peer for peer in PEERS if f"{name}:{peer}" not in arguments.skip]
        times, errors = compare(PETSc, library, path, options, peers)
        best = min((peer for peer in PEERS if peer in times), key=times.get)
        ratio = {name: seconds / times["lutra"] for name, seconds in times.items()}
        best_ratios.append(ratio[best])
        alone_ratios.append(ratio["alone"])
        cells = [f"{ratio[peer]:.2f}" if peer in ratio else "-" for peer in PEERS]
        print(f"| {name} | {1e3 * times['lutra']:.2f} | {ratio['alone']:.3f} |", " | ".join(cells),
              f"| {ratio[best]:.2f} ({best}) | {errors['lutra']:.0e}, {errors[best]:.0e} |", flush=True)
    print(f"geometric means: alone / lutra {statistics.geometric_mean(alone_ratios):.3f}, "
          f"best / lutra {statistics.geometric_mean(best_ratios):.2f}")


main()
