#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the choice of `--ordering auto` with each ordering by itself, for several numbers of factorizations N. A
time is that of ordering, analysis and N times refactorization and solve. Prints for each N the share of the matrices for
which auto takes at most 15 % longer than the best ordering, the geometric mean and the largest ratio.

  scripts/orderings.py FOLDER                               all square .mtx, .mtx.gz and .mtx.xz of a folder
  scripts/orderings.py FOLDER A.mtx poisson3d:40            files, and KIND:SIZE as of `lutra generate`
  scripts/orderings.py --jobs 8 --threads 1 FOLDER          eight processes at a time, with one thread each
  scripts/orderings.py FOLDER -- --backend cuda --method lu options for `lutra solve`

The time of each stage is the least of --runs processes, or of up to four times as many where they take less than a
second together. Refactorizations and solves count as equally long if orderings lead to the same fill and flops.
Matrices that an ordering does not solve are left out and listed.
"""
import argparse
import concurrent.futures
import gzip
import json
import lzma
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ENDINGS = (".mtx", ".mtx.gz", ".mtx.xz")
TOLERANCE = 1.15


def parse_arguments():
    own = sys.argv[1:]
    passed = []
    if "--" in own:
        passed = own[own.index("--") + 1:]
        own = own[:own.index("--")]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("matrices", nargs="+")
    parser.add_argument("--lutra", default=ROOT / "build" / "bin" / "lutra", help="the program")
    parser.add_argument("--orderings", default="amd,metis,nd")
    parser.add_argument("--factorizations", default="1,20,1000", help="numbers N")
    parser.add_argument("--min-rows", type=int, default=1000)
    parser.add_argument("--repeat", type=int, default=3, help="refactorizations in each process")
    parser.add_argument("--runs", type=int, default=2, help="processes of each ordering")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--threads", type=int, help="OMP_NUM_THREADS")
    parser.add_argument("--timeout", type=float, default=600, help="seconds for a process")
    parser.add_argument("--json", help="file for all times")
    options = parser.parse_args(own)
    options.passed = passed
    options.orderings = options.orderings.split(",")
    options.counts = [int(n) for n in options.factorizations.split(",")]
    return options


def size_of(path):
    """Rows and columns of a Matrix Market file; (0, 0) if there are none."""
    stream = {".xz": lzma.open, ".gz": gzip.open}.get(path.suffix, open)
    with stream(path, "rt", encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if line.strip() and not line.startswith("%"):
                words = line.split()
                return (int(words[0]), int(words[1])) if len(words) == 3 else (0, 0)
    return 0, 0


def files_of(options, folder):
    """Names and files of the matrices; those of generators are written to `folder`."""
    found = {}
    for argument in options.matrices:
        path = Path(argument)
        if path.is_dir():
            paths = sorted(p for p in path.iterdir() if p.name.endswith(ENDINGS))
            found.update((p.name.split(".mtx")[0], p) for p in paths)
        elif path.exists():
            found[path.name.split(".mtx")[0]] = path
        else:
            kind, _, size = argument.partition(":")
            made = Path(folder) / f"{kind}_{size}.mtx"
            subprocess.run([options.lutra, "generate", kind, "--size", size, made], check=True)
            found[argument] = made

    def counts(path):
        rows, columns = size_of(path)
        return rows == columns and rows > options.min_rows
    return {name: path for name, path in found.items() if counts(path)}


def run(options, path, ordering, count):
    """One process: its chosen ordering, seconds of each stage, and what identifies the order; or its status."""
    command = [options.lutra, "solve", path, "--ordering", ordering, "--expected-factorizations", str(count),
               "--repeat", str(options.repeat), "--json", *options.passed]
    environment = dict(os.environ)
    if options.threads:
        environment.update(OMP_NUM_THREADS=str(options.threads), OMP_PROC_BIND="false")
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment,
                              timeout=options.timeout, check=False)
        report = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        return {"status": "timeout"}
    except ValueError:
        return {"status": "no report"}
    if report["status"] not in ("success", "unchecked"):
        return {"status": report["status"]}
    factors = report["factors"]
    return {"status": "success", "chosen": report["choice"]["ordering"],
            "seconds": {key: value or 0 for key, value in report["times"].items()},
            "order": [factors["nnz_l"], factors["flops"]]}


def run_often(options, path, ordering, count):
    """The least seconds of each stage of several processes, or the status of one that failed."""
    started = time.monotonic()
    best = None
    for number in range(4 * options.runs):
        if number >= options.runs and time.monotonic() - started > 1:
            break
        one = run(options, path, ordering, count)
        if one["status"] != "success":
            return one
        if best:
            one["seconds"] = {key: min(value, best["seconds"][key]) for key, value in one["seconds"].items()}
        best = one
    seconds = best["seconds"]
    best["start"] = seconds["ordering"] + seconds["symbolic"] + seconds["levelization"]
    best["step"] = seconds["refactor"] + seconds["solve"] + seconds["refine"]
    return best


def measure(options, path):
    """Results of each ordering, and of auto for each N; or None and what failed."""
    wanted = [(ordering, 1) for ordering in options.orderings] + [("auto", count) for count in options.counts]
    results = {}
    for key in wanted:
        results[key] = run_often(options, path, *key)
        if results[key]["status"] != "success":
            return None, f"{key[0]}: {results[key]['status']}"
    for one in results.values():
        one["step"] = min(other["step"] for other in results.values() if other["order"] == one["order"])
    return results, None


def compare(options, results):
    """For each N: chosen ordering, ratio of auto to the best, name of the best, seconds of each."""
    rows = []
    for count in options.counts:
        total = {name: results[name, 1]["start"] + count * results[name, 1]["step"] for name in options.orderings}
        auto = results["auto", count]
        best = min(total, key=total.get)
        seconds = auto["start"] + count * auto["step"]
        rows.append({"count": count, "chosen": auto["chosen"], "ratio": seconds / total[best], "best": best,
                     "auto": seconds, **total})
    return rows


def main():
    options = parse_arguments()
    kept, left_out = [], []
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        files = files_of(options, folder)
        print(f"{'matrix':32}" + "".join(f"{'N = ' + str(n):>8}{'ratio':>7}{'best':>7}" for n in options.counts))
        futures = {name: pool.submit(measure, options, path) for name, path in files.items()}
        for name, future in futures.items():
            results, problem = future.result()
            if results is None:
                left_out.append(f"{name} ({problem})")
                continue
            rows = compare(options, results)
            kept.append({"matrix": name, "rows": rows,
                         "runs": [dict(one, ordering_option=key[0], expected=key[1]) for key, one in results.items()]})
            print(f"{name[:31]:32}" + "".join(f"{row['chosen'][:7]:>8}{row['ratio']:7.2f}{row['best'][:6]:>7}"
                                              for row in rows), flush=True)
    if options.json:
        Path(options.json).write_text(json.dumps(kept), encoding="utf-8")
    if left_out:
        print("left out: " + ", ".join(left_out))
    for k, count in enumerate(options.counts if kept else []):
        ratios = sorted((one["rows"][k]["ratio"], one["matrix"]) for one in kept)
        near = sum(ratio <= TOLERANCE for ratio, _ in ratios) / len(ratios)
        mean = math.exp(sum(math.log(ratio) for ratio, _ in ratios) / len(ratios))
        print(f"N = {count}: within 15 % of the best on {100 * near:.1f} % of {len(ratios)} matrices, geometric mean"
              f" {mean:.3f}, worst {ratios[-1][0]:.2f} ({ratios[-1][1]})")


if __name__ == "__main__":
    main()
