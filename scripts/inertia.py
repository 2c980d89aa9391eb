#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares inertia and backward error of SparseLDLT on symmetric matrices with eigenvalues and other solvers.

  scripts/inertia.py FOLDER/*.mtx.xz                   a table of all square symmetric matrices
  scripts/inertia.py --results runs.jsonl FOLDER/*     keeps the result of each matrix and does not repeat it

Needs NumPy and SciPy. The table compares the inertia of Lutra with

  eigenvalues  up to order --dense (3000): signs of the eigenvalues (LAPACK) of the matrix, scaled from both sides by
               powers of two, which is exact and keeps the inertia; eigenvalues below n·ε·max|λ| are undecided
  mumps        sym = 2, null pivots detected, no perturbation, if a C compiler finds dmumps_c.h and libdmumps_seq
  pardiso      mtype = −2 with scaling and matching, if libmkl_rt is found; no result if it perturbed pivots

Classes: definitive (no eigenvalue is undecided; or, without eigenvalues, at least one other solver without perturbed
pivots has the same inertia without zeros), singular (some eigenvalues are undecided and the others are 1000 times above
the bound, or a solver has zero pivots), borderline (the rest).
"""

import argparse
import ctypes
import ctypes.util
import glob
import json
import lzma
import multiprocessing
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import scipy.io
import scipy.linalg
import scipy.sparse

ROOT = Path(__file__).resolve().parents[1]
EPSILON = np.finfo(float).eps
MUMPS = r"""
#include <dmumps_c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* Lower triangle on standard input: n, nnz, rows, columns, values. */
int main(void) {
  int size[2];
  if (fread(size, 4, 2, stdin) != 2) return 1;
  int *irn = malloc(4L * size[1]), *jcn = malloc(4L * size[1]);
  double* a = malloc(8L * size[1]);
  if (fread(irn, 4, size[1], stdin) + fread(jcn, 4, size[1], stdin) + fread(a, 8, size[1], stdin) != 3L * size[1]) return 1;
  DMUMPS_STRUC_C m;
  memset(&m, 0, sizeof m);
  m.comm_fortran = -987654; m.par = 1; m.sym = 2; m.job = -1;
  dmumps_c(&m);
  for (int k = 0; k < 4; ++k) m.icntl[k] = 0;
  m.icntl[23] = 1; /* null pivots */
  m.icntl[13] = 100;
  m.n = size[0]; m.nnz = size[1]; m.irn = irn; m.jcn = jcn; m.a = a; m.job = 4;
  dmumps_c(&m);
  for (int k = 0; k < 3 && (m.infog[0] == -9 || m.infog[0] == -8); ++k) { m.icntl[13] *= 8; m.job = 2; dmumps_c(&m); }
  printf("%d %d %d %d %d\n", m.infog[0], m.n - m.infog[11] - m.infog[27], m.infog[11], m.infog[27], m.infog[12]);
  return 0;
}
"""


class Mumps:
    """MUMPS through a small program that is compiled once."""

    def __init__(self, folder):
        source = Path(folder) / "mumps.c"
        source.write_text(MUMPS, encoding="utf-8")
        self.program = str(source.with_suffix(""))
        done = subprocess.run(["cc", "-O1", str(source), "-o", self.program, "-I/usr/include/mumps_seq", "-ldmumps_seq"],
                              capture_output=True, check=False)
        self.found = done.returncode == 0

    def inertia(self, lower, limit):
        data = np.array([lower.shape[0], lower.nnz], np.int32).tobytes() + (lower.row + 1).astype(np.int32).tobytes() \
            + (lower.col + 1).astype(np.int32).tobytes() + lower.data.tobytes()
        done = subprocess.run([self.program], input=data, capture_output=True, check=False, timeout=limit)
        status, positive, negative, zero, _ = map(int, done.stdout.split())
        return [positive, negative, zero] if status >= 0 else None


class Pardiso:
    """MKL PARDISO through its C interface."""

    def __init__(self):
        names = [ctypes.util.find_library("mkl_rt"), *glob.glob(f"{sys.prefix}/lib/libmkl_rt.so*")]
        self.found = any(names)
        self.library = next(filter(None, names), None)

    def inertia(self, lower):
        call, n = ctypes.CDLL(self.library, mode=ctypes.RTLD_GLOBAL).pardiso, lower.shape[0]
        # Upper triangle by rows with the whole diagonal.
        diagonal = np.arange(n)
        upper = scipy.sparse.coo_matrix((np.r_[lower.data, np.zeros(n)],
                                         (np.r_[lower.col, diagonal], np.r_[lower.row, diagonal])), (n, n)).tocsr()
        upper.sort_indices()
        rows, columns = upper.indptr.astype(np.int32) + 1, upper.indices.astype(np.int32) + 1
        values, parameters = upper.data.astype(float), np.zeros(64, np.int32)
        parameters[[0, 1, 9, 10, 12, 20]] = [1, 2, 8, 1, 1, 1]
        memory, nothing = np.zeros(64, np.int64), np.zeros(n)
        pointer = lambda array: array.ctypes.data_as(ctypes.c_void_p)
        integer = lambda value: ctypes.byref(ctypes.c_int(value))
        error = ctypes.c_int(0)

        def run(phase):
            call(pointer(memory), integer(1), integer(1), integer(-2), integer(phase), integer(n), pointer(values),
                 pointer(rows), pointer(columns), pointer(nothing.view(np.int32)), integer(1), pointer(parameters),
                 integer(0), pointer(nothing), pointer(nothing), ctypes.byref(error))
        run(12)
        failed, perturbed = error.value != 0, int(parameters[13])
        positive, negative = int(parameters[21]), int(parameters[22])
        run(-1)
        return None if failed else {"perturbed": perturbed, "inertia": [positive, negative, n - positive - negative]}


def within(limit, function, *arguments):
    """The result of function(*arguments) in another process; None if it takes longer than the limit."""
    with multiprocessing.Pool(1) as pool:
        try:
            return pool.apply_async(function, arguments).get(limit)
        except multiprocessing.TimeoutError:
            return None


def read(file):
    opened = lzma.open(file) if str(file).endswith(".xz") else file
    return scipy.sparse.coo_matrix(scipy.io.mmread(opened)).tocsr()


def is_symmetric(matrix):
    if matrix.shape[0] != matrix.shape[1]:
        return False
    difference = abs(matrix - matrix.T) - 8 * EPSILON * abs(matrix)
    return difference.nnz == 0 or difference.max() <= 0


def equilibrated(matrix):
    """The matrix scaled by powers of two, so that the largest entries of rows are near 1."""
    scale = np.ones(matrix.shape[0])
    size = abs(matrix)
    for _ in range(10):
        largest = np.asarray((scipy.sparse.diags(scale) @ size @ scipy.sparse.diags(scale)).max(axis=1).todense()).ravel()
        scale /= np.sqrt(np.where(largest > 0, largest, 1))
    scale = scipy.sparse.diags(2.0 ** np.round(np.log2(scale)))
    return scale @ matrix @ scale


def eigenvalues(matrix):
    """Signs, and the gap: the magnitudes next to the bound on both sides, relative to the largest."""
    found = scipy.linalg.eigvalsh(equilibrated(matrix).toarray())
    size = abs(found)
    bound = found.size * EPSILON * size.max()
    below, above = size[size <= bound], size[size > bound]
    return {"inertia": [int((found > bound).sum()), int((found < -bound).sum()), int(below.size)],
            "below": float(below.max() / size.max()) if below.size else None,
            "above": float(above.min() / size.max()) if above.size else None}


def lutra(program, file, options):
    done = subprocess.run([program, "solve", file, "--method", "ldlt", "--quiet", "--json", *options],
                          capture_output=True, check=False)
    if not done.stdout:
        print(f"{file}: {done.stderr.decode().strip()}", file=sys.stderr)
        return None
    report = json.loads(done.stdout)
    inertia = report["inertia"]
    return {"inertia": [inertia[key] for key in ("positive", "negative", "zero")] if inertia else None,
            "status": report["status"], "rank": report["matrix"]["structural_rank"], "error": report["errors"]["backward_componentwise"],
            "steps": report["refinement_steps"], "pivots": report["pivots"], "escalations": report["escalations"],
            "nnz_l": report["factors"]["nnz_l"]}


def work(file, arguments, mumps, pardiso):
    matrix = read(file)
    if not is_symmetric(matrix):
        return None
    n = matrix.shape[0]
    result = {"n": n, "lutra": lutra(arguments.lutra, file, arguments.options.split())}
    if result["lutra"] is None:
        return None
    if np.iscomplexobj(matrix.data):
        return result
    lower = scipy.sparse.tril(matrix.astype(float), format="coo")
    if n <= arguments.dense:
        result["eigenvalues"] = eigenvalues(matrix.astype(float))
    if mumps.found:
        try:
            result["mumps"] = mumps.inertia(lower, arguments.limit)
        except (subprocess.TimeoutExpired, ValueError):
            result["mumps"] = None
    if pardiso.found:
        result["pardiso"] = within(arguments.limit, pardiso.inertia, lower)
    return result


def class_of(run):
    own, dense = run["lutra"], run.get("eigenvalues")
    peers = [run["mumps"]] if run.get("mumps") else []
    if run.get("pardiso") and run["pardiso"]["perturbed"] == 0:
        peers.append(run["pardiso"]["inertia"])
    if dense:
        if dense["inertia"][2] == 0:
            return "definitive"
        return "singular" if (dense["above"] or 1) > 1000 * run["n"] * EPSILON else "borderline"
    if own["status"] == "numerically_singular" or any(peer[2] > 0 for peer in peers):
        return "singular"
    return "definitive" if own["inertia"] and own["inertia"] in peers and peers.count(own["inertia"]) == len(peers) else "borderline"


def text(value):
    return ", ".join(map(str, value)) if value else "–"


def print_table(runs):
    print("| matrix | n | class | Lutra +, −, 0 | eigenvalues | largest zero, smallest other | MUMPS | PARDISO (perturbed) | backward error | steps | status |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    number = lambda value: "–" if value is None else f"{value:.0e}"
    for name, run in sorted(runs.items(), key=lambda item: item[1]["n"]):
        own, dense, pardiso = run["lutra"], run.get("eigenvalues"), run.get("pardiso")
        same = lambda inertia: "=" if inertia and inertia == own["inertia"] else text(inertia)
        print(f"| {name} | {run['n']} | {class_of(run)} | {text(own['inertia'])} | {same(dense['inertia']) if dense else ''} | "
              f"{number(dense['below']) + ', ' + number(dense['above']) if dense else ''} | "
              f"{same(run.get('mumps')) if 'mumps' in run else ''} | "
              f"{same(pardiso['inertia']) + (f' ({perturbed})' if (perturbed := pardiso['perturbed']) else '') if pardiso else ''} | "
              f"{number(own['error'])} | {own['steps']} | {own['status']} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("matrices", nargs="+")
    parser.add_argument("--lutra", default=ROOT / "build/release/bin/lutra", type=Path, help="the program")
    parser.add_argument("--options", default="", help="further options for it: --options='--matching auction'")
    parser.add_argument("--dense", default=3000, type=int, help="largest order for eigenvalues (3000)")
    parser.add_argument("--limit", default=300, type=int, help="seconds for a run of MUMPS or PARDISO (300)")
    parser.add_argument("--results", type=Path, help="file of finished matrices, one per line")
    arguments = parser.parse_args()
    runs = {}
    if arguments.results and arguments.results.exists():
        for line in arguments.results.read_text(encoding="utf-8").splitlines():
            run = json.loads(line)
            runs[run["name"]] = run
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        mumps, pardiso = Mumps(folder), Pardiso()
        for file in arguments.matrices:
            name = Path(file).name.split(".mtx")[0]
            if name in runs:
                continue
            run = work(file, arguments, mumps, pardiso)
            runs[name] = {"name": name, **(run or {"n": 0})}
            if arguments.results:
                with arguments.results.open("a", encoding="utf-8") as out:
                    print(json.dumps(runs[name]), file=out)
    print_table({name: run for name, run in runs.items() if "lutra" in run})


if __name__ == "__main__":
    main()
