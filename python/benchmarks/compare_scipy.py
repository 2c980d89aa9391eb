# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares Lutra with splu of SciPy (SuperLU): first solution, and refactorization with solve.

Reads the Matrix Market files of a folder, square ones up to a number of rows, and prints a table of ratios of CPU
seconds, each the least of some repetitions in turn, on one core. SciPy has no refactorization: its splu runs anew.
Matrices that one of the two calls singular are left out and listed, and so are those that take SciPy longer than
the time limit, with the ratio of that limit as a lower bound.

    python python/benchmarks/compare_scipy.py ../shared/matrices --json report.json
"""

from __future__ import annotations

import argparse
import functools
import json
import lzma
import math
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import IO, Any

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")


def opened(file: Path) -> IO[bytes]:
    return lzma.open(file) if file.suffix == ".xz" else file.open("rb")


def rows_of(file: Path) -> tuple[int, int]:
    """Rows and columns from the header of the file."""
    with opened(file) as text:
        for line in (raw.decode() for raw in text):
            if not line.startswith("%"):
                rows, columns = line.split()[:2]
                return int(rows), int(columns)
    return 0, 0


def seconds_of(action: Any) -> tuple[float, Any]:
    begin = time.process_time()
    result = action()
    return time.process_time() - begin, result


def measure(file: Path, only: str, given: dict[str, str]) -> dict[str, Any]:
    """Times of one of the two solvers. Another process measures the other."""
    import numpy as np
    import scipy.io
    import scipy.sparse as sp
    import scipy.sparse.linalg as spla

    import lutra

    with opened(file) as text:
        A = sp.csr_matrix(scipy.io.mmread(text))
    A.sum_duplicates()
    if A.dtype.kind not in "fc":
        A = A.astype(float)
    by_columns = A.tocsc()
    b = A @ np.ones(A.shape[0], dtype=A.dtype)
    warnings.simplefilter("ignore")
    first, again, x = [], [], b
    spent = time.process_time()
    for repetition in range(100):
        if only == "scipy":
            seconds, x = seconds_of(lambda: spla.splu(by_columns).solve(b))
            first.append(seconds)
            again.append(seconds)
        else:
            seconds, lu = seconds_of(lambda: lutra.splu(A, **given))
            solve, x = seconds_of(functools.partial(lu.solve, b))
            first.append(seconds + solve)
            for _ in range(2):
                seconds, _ = seconds_of(functools.partial(lu.refactor, A))
                solve, x = seconds_of(functools.partial(lu.solve, b))
                again.append(seconds + solve)
        if time.process_time() - spent > (20 if repetition < 2 else 0.5):
            break
    error = float(np.linalg.norm(A @ x - b) / np.linalg.norm(b))
    return {"first": min(first), "again": min(again), "residual": error, "nnz": int(A.nnz)}


def in_own_process(file: Path, only: str, limit: float, given: list[str]) -> dict[str, Any]:
    command = [sys.executable, __file__, str(file), "--only", only, *(f"--option={text}" for text in given)]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return {"problem": f"more than {limit:.0f} s"}
    if run.returncode != 0:
        return {"problem": (run.stderr.strip().splitlines() or ["ended"])[-1][:100]}
    return json.loads(run.stdout)


def geometric_mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path, help="folder of Matrix Market files, or one file with --only")
    parser.add_argument("--max-rows", type=int, default=100_000)
    parser.add_argument("--limit", type=float, default=120, help="seconds a solver may take for one matrix")
    parser.add_argument("--json", type=Path, help="also write all times to this file")
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help="of lutra.splu")
    parser.add_argument("--only", choices=["scipy", "lutra"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only:
        print(json.dumps(measure(options.path, options.only, dict(text.split("=", 1) for text in options.option))))
        return
    records, left_out = [], []
    for file in sorted(options.path.glob("*.mtx*")):
        rows, columns = rows_of(file)
        if rows != columns or not 0 < rows <= options.max_rows:
            continue
        name = file.name.split(".")[0]
        ours, theirs = (in_own_process(file, only, options.limit, options.option) for only in ("lutra", "scipy"))
        if "problem" in ours or "problem" in theirs:
            left_out.append((name, ours.get("problem", ""), theirs.get("problem", "")))
            continue
        record = {"matrix": name, "rows": rows, "lutra": ours, "scipy": theirs}
        record["first_ratio"] = theirs["first"] / ours["first"]
        record["again_ratio"] = theirs["again"] / ours["again"]
        records.append(record)
        print(f"{name:34} {rows:7} {record['first_ratio']:7.2f} {record['again_ratio']:7.2f}", flush=True)
    for name, ours, theirs in left_out:
        print(f"left out: {name}: lutra: {ours or 'solved'}; scipy: {theirs or 'solved'}")
    print("\n| rows | matrices | first solution | refactor + solve |\n| --- | --- | --- | --- |")
    for label, low, high in (("up to 1000", 0, 1000), ("to 10,000", 1000, 10_000), ("to 100,000", 10_000, 100_000),
                             ("all", 0, 100_000)):  # fmt: skip
        chosen = [r for r in records if low < r["rows"] <= high]
        means = [geometric_mean([r[key] for r in chosen]) for key in ("first_ratio", "again_ratio")]
        print(f"| {label} | {len(chosen)} | {means[0]:.2f} | {means[1]:.2f} |")
    if options.json:
        options.json.write_text(json.dumps({"records": records, "left_out": left_out}, indent=1))


if __name__ == "__main__":
    main()
