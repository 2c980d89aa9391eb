#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures incomplete factors as preconditioners of GMRES(50): relative residual 1e-10 in at most 1000 iterations.

  scripts/ilu-quality.py iterations FOLDER/*.mtx.xz     compares iterations of ParILUT after --steps with ILU(0)
  scripts/ilu-quality.py direct FOLDER/*.mtx.xz         compares time of set-up and iterations with the direct solver
  scripts/ilu-quality.py direct --backend cuda poisson3d:40 circuit:20000

A matrix is a Matrix Market file or KIND:SIZE as in `lutra generate`. Matrices that the direct solver finds singular, and
those with a run that exceeds the processor time --limit, are skipped and listed. --results keeps each run in a file, so
an interrupted call can be continued.
"""

import argparse
import json
import math
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
GMRES = ["--method", "gmres", "--restart", "50", "--max-iterations", "1000", "--tol", "1e-10"]
SOLVERS = {
    "lu": [],
    "ilu0": GMRES + ["--precond", "ilu0"],
    "iluk-1": GMRES + ["--precond", "iluk", "--fill-level", "1"],
    **{f"parilut-{steps}": GMRES + ["--precond", "parilut", "--steps", str(steps)] for steps in range(6)},
}
SET_UP = ["matching", "ordering", "symbolic", "levelization", "numeric"]
SOLVE = ["solve", "refine"]


class Solver:
    """Runs of the program, each made once."""

    def __init__(self, arguments):
        self.arguments = arguments
        self.known = {}
        self.scratch = tempfile.TemporaryDirectory()
        if arguments.results and arguments.results.exists():
            for line in arguments.results.read_text(encoding="utf-8").splitlines():
                run = json.loads(line)
                self.known[run["key"]] = run

    def file_of(self, matrix):
        if ":" not in matrix:
            return matrix
        kind, size = matrix.split(":")
        file = Path(self.scratch.name) / f"{kind}-{size}.mtx"
        if not file.exists():
            subprocess.run([self.arguments.lutra, "generate", kind, "--size", size, file], check=True)
        return file

    def run(self, matrix, solver):
        options = SOLVERS[solver] + ["--backend", self.arguments.backend]
        if solver != "lu":
            options += self.arguments.options.split()
        key = " ".join([Path(matrix).name, *options, str(self.arguments.repeat)])
        if key not in self.known:
            self.known[key] = {"key": key, **self.measure(matrix, options)}
            if self.arguments.results:
                with self.arguments.results.open("a", encoding="utf-8") as file:
                    print(json.dumps(self.known[key]), file=file)
        return self.known[key]

    def measure(self, matrix, options):
        """Status, size, iterations, and seconds of a first solve and of a solve with new values."""
        limit = (self.arguments.limit, self.arguments.limit)
        repeat = ["--repeat", str(self.arguments.repeat)] if self.arguments.repeat else []
        done = subprocess.run([self.arguments.lutra, "solve", self.file_of(matrix), "--quiet", "--json", *repeat, *options],
                              capture_output=True, text=True, check=False,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, limit))
        try:
            report = json.loads(done.stdout)
        except ValueError:
            return {"status": "limit" if done.returncode < 0 else "input", "message": done.stderr.strip()}
        times = {name: seconds or 0 for name, seconds in report["times"].items()}
        return {"status": report["status"], "n": report["matrix"]["rows"], "nnz": report["matrix"]["nnz"],
                "iterations": report["iterations"], "shift": report["pivots"]["shift"],
                "first": sum(times[name] for name in SET_UP + SOLVE),
                "again": sum(times[name] for name in ["refactor", *SOLVE])}


def regular(solver, matrices, names):
    """Runs by matrix and name, for the matrices that are not skipped; prints the skipped ones."""
    runs, left_out = {}, {}
    for matrix in matrices:
        lu = solver.run(matrix, "lu")
        found = {"lu": lu}
        if lu["status"] in ("success", "error_above_tolerance"):
            found.update((name, solver.run(matrix, name)) for name in names)
        reasons = [run["status"] for run in found.values() if run["status"] in ("limit", "input")]
        if len(found) == 1 and not reasons:
            reasons = [lu["status"]]
        name = Path(matrix).name.split(".mtx")[0]
        if reasons:
            left_out.setdefault(reasons[0], []).append(name)
        else:
            runs[name] = found
    for reason, left in sorted(left_out.items()):
        print(f"Left out, {reason}: {len(left)}: {', '.join(left)}\n")
    return runs


def converged(run):
    return run["status"] == "success"


def keeps_bar(run, reference):
    return converged(run) and run["iterations"] <= reference["iterations"] + max(1, 0.05 * reference["iterations"])


def print_rows(head, rows):
    print("| " + " | ".join(head) + " |\n|" + " --- |" * len(head))
    for row in rows:
        print("| " + " | ".join(map(str, row)) + " |")
    print()


def compare_iterations(runs, names):
    """The bar: ParILUT needs at most the iterations of ILU(0), one more, or 5 % more; listed for 3 steps."""
    reference = {matrix: found["ilu0"] for matrix, found in runs.items() if converged(found["ilu0"])}
    print(f"ILU(0) converges on {len(reference)} of {len(runs)} matrices.\n")
    rows = []
    for name in names:
        both = [m for m in reference if converged(runs[m][name])]
        ratios = [math.log(max(1, runs[m][name]["iterations"]) / max(1, reference[m]["iterations"])) for m in both]
        kept = sum(keeps_bar(runs[m][name], reference[m]) for m in reference)
        rows.append([name, len(both), sum(converged(found[name]) for found in runs.values()) - len(both),
                     f"{kept} ({100 * kept / max(1, len(reference)):.1f} %)",
                     f"{math.exp(sum(ratios) / max(1, len(ratios))):.3f}"])
    print_rows(["", "converges, as ILU(0) does", "where ILU(0) does not", "within its iterations + max(1, 5 %)",
                "geometric mean of its iterations"], rows)
    last = "parilut-3" if "parilut-3" in names else names[-1]
    for title, chosen in [
            (f"{last} converges, ILU(0) does not", [m for m in runs if m not in reference and converged(runs[m][last])]),
            (f"{last} misses the bar", [m for m in reference if not keeps_bar(runs[m][last], reference[m])])]:
        print(f"{title}: {len(chosen)}\n")
        print_iterations({m: runs[m] for m in chosen}, names)


def print_iterations(runs, names):
    print_rows(["matrix", "n", *names], [
        [m, found["lu"]["n"], *(found[name]["iterations"] if converged(found[name]) else found[name]["status"]
                                for name in names)] for m, found in runs.items()])


def compare_times(runs, names, list_from):
    """Which method is faster: for a first matrix, and for new values on a known pattern."""
    names = ["lu", *names]
    for kind, title in [("first", "Set-up and solve"), ("again", "New values on a known pattern, and solve")]:
        bins = [("n < 1,000", 0, 1e3), ("n < 10,000", 1e3, 1e4), ("n ≥ 10,000", 1e4, math.inf)]
        rows = []
        for label, low, high in bins:
            chosen = [found for found in runs.values() if low <= found["lu"]["n"] < high]
            won = Counter(min((name for name in names if converged(found[name]) or name == "lu"),
                              key=lambda name: found[name][kind]) for found in chosen)
            rows.append([label, len(chosen), *(won[name] for name in names)])
        print(f"{title}: fastest\n")
        print_rows(["", "matrices", *names], rows)
    for kind in ("first", "again"):
        print(f"Milliseconds, {kind} (iterations), n ≥ {list_from}\n")
        print_rows(["matrix", "n", "nnz", *names], [
            [m, found["lu"]["n"], found["lu"]["nnz"], *(
                f"{1e3 * found[name][kind]:.3g}" + (f" ({found[name]['iterations']})" if name != "lu" else "")
                if converged(found[name]) or name == "lu" else found[name]["status"] for name in names)]
            for m, found in runs.items() if found["lu"]["n"] >= list_from])


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["iterations", "direct"])
    parser.add_argument("matrices", nargs="+")
    parser.add_argument("--lutra", default=ROOT / "build/release/bin/lutra", type=Path, help="the program")
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--options", default="", help="options for incomplete factors: --options='--ordering rcm'")
    parser.add_argument("--limit", default=20, type=int, help="limit of a run in seconds of processor time (20)")
    parser.add_argument("--repeat", type=int, help="with direct: number of solves for the median (5)")
    parser.add_argument("--steps", default="012345", help="with iterations: numbers of ParILUT steps, one digit each (012345)")
    parser.add_argument("--results", type=Path, help="file of finished runs, one per line")
    parser.add_argument("--list-from", default=10000, type=int, help="with direct: smallest n of listed matrices")
    arguments = parser.parse_args()
    if arguments.what == "direct" and arguments.repeat is None:
        arguments.repeat = 5
    return arguments


def main():
    arguments = parse_arguments()
    solver = Solver(arguments)
    if arguments.what == "iterations":
        names = ["ilu0", *(f"parilut-{steps}" for steps in arguments.steps)]
        runs = regular(solver, arguments.matrices, names)
        compare_iterations(runs, names)
        print("All\n")
        print_iterations(runs, names)
    else:
        names = ["ilu0", "iluk-1", "parilut-3"]
        compare_times(regular(solver, arguments.matrices, names), names, arguments.list_from)


if __name__ == "__main__":
    main()
