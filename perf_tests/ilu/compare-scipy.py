#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Incomplete factors beside SciPy's spilu (SuperLU's ILUTP) at equal fill: set-up time and iterations of GMRES(50).

  perf_tests/ilu/compare-scipy.py --lutra build/release/bin/lutra FOLDER/*.mtx.xz

spilu gets the drop tolerance, or the fill factor, by which L and U have as many entries as those of `lutra solve
--precond`; the quicker of the two counts, and its time is processor time, the least of --runs. That of Lutra is
wall-clock time of analysis and factorization in its report, the least of as many runs in turn with the others. On one
thread: OMP_NUM_THREADS=1. GMRES for spilu is in this file: right preconditioning, as Lutra's.
"""

import argparse
import json
import lzma
import math
import subprocess
import time
from pathlib import Path

import numpy
import scipy.io
import scipy.sparse
import scipy.sparse.linalg

KINDS = {"iluk-1": ["--precond", "iluk", "--fill-level", "1"], "parilut-3": ["--precond", "parilut", "--steps", "3"]}
SET_UP = ["matching", "ordering", "symbolic", "levelization", "numeric"]


def gmres(A, solve, b, restart=50, tolerance=1e-10, most=1000):
    """Iterations, None where it does not converge."""
    x, done, goal = numpy.zeros_like(b), 0, tolerance * numpy.linalg.norm(b)
    while done < most:
        r = b - A @ x
        beta = numpy.linalg.norm(r)
        if not numpy.isfinite(beta):
            return None
        if beta <= goal:
            return done
        V, H = [r / beta], numpy.zeros((restart + 1, restart))
        for j in range(restart):
            w = A @ solve(V[j])
            for _ in range(2):
                for i, v in enumerate(V):
                    h = v @ w
                    H[i, j] += h
                    w = w - h * v
            H[j + 1, j] = numpy.linalg.norm(w)
            done += 1
            if not numpy.isfinite(H[: j + 2, j]).all():
                return None
            rhs = numpy.zeros(j + 2)
            rhs[0] = beta
            y = numpy.linalg.lstsq(H[: j + 2, : j + 1], rhs, rcond=None)[0]
            rest = numpy.linalg.norm(H[: j + 2, : j + 1] @ y - rhs)
            if rest <= goal or H[j + 1, j] == 0 or done == most:
                break
            V.append(w / H[j + 1, j])
        x = x + solve(sum(c * v for c, v in zip(y, V)))
    return done if numpy.linalg.norm(b - A @ x) <= goal else None


def spilu(A, **options):
    """Factors and processor time; no factors where SuperLU finds the matrix singular."""
    start = time.process_time()
    try:
        factors = scipy.sparse.linalg.spilu(A, **options)
    except RuntimeError:
        factors = None
    return factors, time.process_time() - start


def entries(factors):
    return factors.nnz - factors.shape[0] if factors else math.inf


def tuned(A, wanted, low, high, option, **others):
    """The value of `option` between low and high by which spilu has the number of entries closest to `wanted`."""
    best = None
    rises = option == "fill_factor"
    for _ in range(16):
        middle = math.sqrt(low * high)
        n = entries(spilu(A, **{option: middle}, **others)[0])
        if n < math.inf and (best is None or abs(n - wanted) < abs(best[0] - wanted)):
            best = (n, {option: middle, **others})
        if abs(n - wanted) <= 0.02 * wanted:
            break
        low, high = (middle, high) if (n < wanted) == rises else (low, middle)
    return best


def run_lutra(arguments, file, kind):
    done = subprocess.run([arguments.lutra, "solve", file, "--quiet", "--json", "--backend", arguments.backend,
                           "--method", "gmres", *KINDS[kind]], capture_output=True, text=True, check=False)
    report = json.loads(done.stdout)
    return report, sum(report["times"][name] or 0 for name in SET_UP)


def compare(arguments, file, kind, A, b):
    report, seconds = run_lutra(arguments, file, kind)
    ours = report["factors"]["nnz_l"] + report["factors"]["nnz_u"]
    ways = [tuned(A, ours, 1e-12, 1.0, "drop_tol", fill_factor=20),
            tuned(A, ours, 0.05, 20.0, "fill_factor", drop_tol=1e-12)]
    times = [[math.inf] for _ in ways]
    factors = None
    for _ in range(arguments.runs):
        seconds = min(seconds, run_lutra(arguments, file, kind)[1])
        for way, taken in zip(ways, times):
            if way and abs(way[0] - ours) <= 0.1 * ours:
                taken.append(spilu(A, **way[1])[1])
    least = [min(taken) for taken in times]
    best = least.index(min(least))
    row = [Path(file).name.split(".mtx")[0], A.shape[0], kind, ours, f"{1e3 * seconds:.3g}",
           report["iterations"] if report["status"] == "success" else report["status"]]
    if least[best] == math.inf:
        return row + ["no factors of this fill", "", "", ""], None
    factors = spilu(A, **ways[best][1])[0]
    return row + [ways[best][0], f"{1e3 * least[best]:.3g}", gmres(A, factors.solve, b) or "not_converged",
                  f"{least[best] / seconds:.2f}"], least[best] / seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--lutra", default=Path(__file__).resolve().parents[2] / "build/release/bin/lutra", type=Path)
    parser.add_argument("--backend", default="serial")
    parser.add_argument("--runs", default=5, type=int)
    arguments = parser.parse_args()
    print("| matrix | n | Lutra | nnz(L+U) | ms | iterations | spilu: nnz(L+U) | ms | iterations | time of spilu / Lutra |")
    print("|" + " --- |" * 10)
    ratios = {kind: [] for kind in KINDS}
    for file in arguments.files:
        with (lzma.open if file.endswith(".xz") else open)(file, "rb") as stream:
            A = scipy.sparse.csc_matrix(scipy.io.mmread(stream))
        b = A @ (1 + (numpy.arange(A.shape[0]) % 7) / 4)
        for kind in KINDS:
            row, ratio = compare(arguments, file, kind, A, b)
            if ratio:
                ratios[kind].append(ratio)
            print("| " + " | ".join(map(str, row)) + " |", flush=True)
    for kind, values in ratios.items():
        if values:
            mean = math.exp(sum(map(math.log, values)) / len(values))
            print(f"\n{kind}: geometric mean {mean:.2f}, least {min(values):.2f}, {len(values)} matrices")


if __name__ == "__main__":
    main()
