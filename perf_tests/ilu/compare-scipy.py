#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Incomplete factors beside SciPy's spilu (SuperLU's ILUTP) at equal fill: set-up time and iterations of GMRES(50).

  perf_tests/ilu/compare-scipy.py --lutra build/release/bin/lutra FOLDER/*.mtx.xz

spilu gets the drop tolerance, or the fill factor, by which L and U have as many entries as those of `lutra solve
--precond`; the quicker of the two counts. Times are processor time, the least of --runs, each of the first set-up of
a process: for Lutra that of the program without iterations, less that of the program without a preconditioner, which
cannot tell less than a millisecond. Runs of Lutra and spilu alternate. On one thread: OMP_NUM_THREADS=1. GMRES for
spilu is in this file: right preconditioning, as Lutra's. SuperLU may end a process, so that each spilu has its own.
"""

import argparse
import json
import lzma
import math
import multiprocessing
import resource
import subprocess
import time
from pathlib import Path

import numpy
import scipy.io
import scipy.sparse
import scipy.sparse.linalg

KINDS = {"ilu0": ["--precond", "ilu0"], "iluk-1": ["--precond", "iluk", "--fill-level", "1"],
         "parilut-3": ["--precond", "parilut", "--steps", "3"]}


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


def tuned_spilu(A, b, wanted, answer):
    """Sends entries, options and iterations of each spilu with about the wanted number of entries."""
    for way in (tuned(A, wanted, 1e-10, 1.0, "drop_tol", fill_factor=20),
                tuned(A, wanted, 0.2, 20.0, "fill_factor", drop_tol=1e-10)):
        if way and abs(way[0] - wanted) <= 0.1 * wanted:
            answer.send((*way, gmres(A, spilu(A, **way[1])[0].solve, b)))


def time_spilu(A, options, answer):
    answer.send(spilu(A, **options)[1])


def in_own_process(function, *arguments):
    """What it sends until it ends, however that is."""
    receiver, sender = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.Process(target=function, args=(*arguments, sender))
    process.start()
    sender.close()
    answers = []
    try:
        while True:
            answers.append(receiver.recv())
    except EOFError:
        process.join()
    return answers


def run_lutra(arguments, file, *options):
    """The report, and processor time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([arguments.lutra, "solve", file, "--quiet", "--json", "--backend", arguments.backend,
                           "--method", "gmres", *options], capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return json.loads(done.stdout), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def compare(arguments, file, kind, A, b):
    report = run_lutra(arguments, file, *KINDS[kind])[0]
    ours = report["factors"]["nnz_l"] + report["factors"]["nnz_u"]
    theirs = in_own_process(tuned_spilu, A, b, ours)
    least = {options: math.inf for options in (("--precond", "none"), tuple(KINDS[kind]))}
    quickest = [math.inf] * len(theirs)
    for _ in range(arguments.runs):
        for options in least:
            least[options] = min(least[options], run_lutra(arguments, file, *options, "--max-iterations", "0")[1])
        for way, (_, options, _) in enumerate(theirs):
            quickest[way] = min([quickest[way], *in_own_process(time_spilu, A, options)])
    empty, full = least.values()
    seconds = max(full - empty, 1e-3)
    row = [Path(file).name.split(".mtx")[0], A.shape[0], kind, ours, f"{1e3 * seconds:.3g}",
           report["iterations"] if report["status"] == "success" else report["status"]]
    if not theirs:
        return row + ["no factors of this fill", "", "", ""], None
    best, (n, _, iterations) = min(zip(quickest, theirs), key=lambda pair: pair[0])
    return row + [n, f"{1e3 * best:.3g}", iterations or "not_converged", f"{best / seconds:.2f}"], best / seconds


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
