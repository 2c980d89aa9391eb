#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Solves the problems of problems.py by CasADi's Ipopt, with MUMPS and with liblutra_hsl.

  run_casadi.py LIBRARY [--repeat N] [--option NAME=VALUE]... [PROBLEM]...

Prints for each problem the objective, the iterations and the time of linear algebra with both solvers: processor time,
user and system, of Ipopt's augmented systems (StdAugSystemSolverMultiSolve of its timing statistics), the least of N
runs. The exit status is 1 unless each problem is solved with the objective of MUMPS within 1e-6, relative, and its
iterations within 10 % (rounded up). Times do not change the status. Options are Ipopt's, such as ma97_order=metis.
"""

import argparse
import ctypes
import math
import re
import sys
import tempfile
from pathlib import Path

SYSTEMS = re.compile(r"StdAugSystemSolverMultiSolve\.*:\s+([\d.]+) \(sys:\s+([\d.]+)")


class Run:
    """Outcome of one problem with one linear solver."""

    def __init__(self, casadi, program, nlp, options, folder):
        statistics = folder / "ipopt.txt"
        quiet = {"print_time": False, "ipopt.print_level": 0, "ipopt.sb": "yes", "ipopt.max_iter": 500}
        log = {"ipopt.output_file": str(statistics), "ipopt.file_print_level": 3,
               "ipopt.print_timing_statistics": "yes"}
        solver = casadi.nlpsol("solver", "ipopt", nlp, {**quiet, **log, **options})
        result = solver(**program.arguments())
        self.objective = float(result["f"])
        self.status = solver.stats()["return_status"]
        self.iterations = solver.stats()["iter_count"]
        user, system = SYSTEMS.search(statistics.read_text()).groups()
        self.seconds = float(user) + float(system)


def best(casadi, program, nlp, options, folder, repeat):
    runs = [Run(casadi, program, nlp, options, folder) for _ in range(repeat)]
    return min(runs, key=lambda run: run.seconds)


def mistakes(mumps, lutra):
    """Says how the run with Lutra differs from that with MUMPS by more than is allowed."""
    if lutra.status != mumps.status:
        yield f"{lutra.status} instead of {mumps.status}"
    if not abs(lutra.objective - mumps.objective) <= 1e-6 * abs(mumps.objective):
        yield f"objective {lutra.objective:.10g} instead of {mumps.objective:.10g}"
    if abs(lutra.iterations - mumps.iterations) > math.ceil(0.1 * mumps.iterations):
        yield f"{lutra.iterations} iterations instead of {mumps.iterations}"


def number_or_text(text):
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("problems", nargs="*", metavar="PROBLEM")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE")
    arguments = parser.parse_intermixed_args()
    try:
        import casadi
    except ImportError:
        print("skipped: CasADi is not installed")
        return 0
    import problems

    ctypes.CDLL(arguments.library)  # CasADi 3.8.2 crashes at its end if Ipopt cannot load the library
    lutra_options = {"ipopt.linear_solver": "ma97", "ipopt.hsllib": str(Path(arguments.library).resolve())}
    for option in arguments.option:
        name, value = option.split("=", 1)
        lutra_options["ipopt." + name] = number_or_text(value)
    failed, ratios = 0, []
    print(f"{'problem':18} {'variables':>9} {'objective':>14} {'difference':>10} {'iterations':>10} {'MUMPS s':>8} "
          f"{'Lutra s':>8} {'ratio':>6}")
    with tempfile.TemporaryDirectory() as name:
        for problem in arguments.problems or problems.PROBLEMS:
            program = problems.PROBLEMS[problem]()
            nlp = program.nlp()
            mumps, lutra = (best(casadi, program, nlp, options, Path(name), arguments.repeat)
                            for options in ({"ipopt.linear_solver": "mumps"}, lutra_options))
            difference = abs(lutra.objective - mumps.objective) / abs(mumps.objective)
            ratio = lutra.seconds / mumps.seconds if mumps.seconds > 0 else math.nan
            print(f"{problem:18} {program.size:9} {lutra.objective:14.8g} {difference:10.1e} "
                  f"{mumps.iterations:4} -> {lutra.iterations:<3} {mumps.seconds:8.3f} {lutra.seconds:8.3f} "
                  f"{ratio:6.2f}", flush=True)
            for mistake in mistakes(mumps, lutra):
                print(f"  {mistake}")
                failed += 1
            if problem in problems.LARGE and ratio > 0:
                ratios.append(ratio)
    if ratios:
        print(f"time over that of MUMPS, geometric mean of {len(ratios)} with more than 5,000 variables: "
              f"{math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
