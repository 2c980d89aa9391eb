#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares LDL^T refactorization of hard and easy matrices. Each symmetric matrix has an easy counterpart with the same
pattern, off-diagonal entries and ordering, but a dominant diagonal, so that no pivot fails. Both need the same flops,
except for delayed columns, and for cascades of pivots that lead to another ordering. The last column divides the ratio of
times by the ratio of entries of L, which grow no faster than flops. Prints geometric means of both. --cpu measures
processor time of a refactorization and a solve, from runs of N and 3 N repetitions, for busy machines.

  scripts/hard-easy.py build/bin/lutra [--repeat N] [--backend serial] [--cpu] A.mtx[.xz] ...
"""
import argparse
import json
import lzma
import math
import os
import resource
import subprocess
import sys
import tempfile


def read(path):
    """Rows, columns and values of the lower triangle, and the order n."""
    with (lzma.open if path.endswith(".xz") else open)(path, "rt") as stream:
        header = stream.readline().split()
        if header[4].lower() != "symmetric" or header[3].lower() == "complex":
            sys.exit(f"{path}: not a file of a real symmetric matrix")
        lines = (line for line in stream if line.strip() and not line.startswith("%"))
        n = int(next(lines).split()[0])
        entries = {}
        for line in lines:
            i, j, value = line.split()[:3]
            entries[max(int(i), int(j)), min(int(i), int(j))] = float(value)
    return n, entries


def make_easy(n, entries):
    """Sets each diagonal entry to twice the sum of the other magnitudes in its row."""
    sums = [0.0] * (n + 1)
    for (i, j), value in entries.items():
        if i != j:
            sums[i] += abs(value)
            sums[j] += abs(value)
    easy = dict(entries)
    easy.update({(i, i): 2 * sums[i] + 1 for i in range(1, n + 1)})
    return easy


def write(path, n, entries):
    with open(path, "w") as stream:
        stream.write(f"%%MatrixMarket matrix coordinate real symmetric\n{n} {n} {len(entries)}\n")
        stream.writelines(f"{i} {j} {value!r}\n" for (i, j), value in entries.items())


def run(options, path, repeat):
    """The report, and the processor time of the run in seconds."""
    command = [options.lutra, "solve", path, "--method", "ldlt", "--ordering", "metis", "--backend", options.backend,
               "--repeat", str(repeat), "--quiet", "--json=" + path + ".json"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run(command, check=False, stderr=subprocess.DEVNULL)
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    with open(path + ".json") as stream:
        return json.load(stream), used


def measure(options, path):
    """The report, and milliseconds."""
    report, few = run(options, path, options.repeat)
    if not options.cpu:
        return report, 1e3 * report["times"]["refactor"]
    many = run(options, path, 3 * options.repeat)[1]
    return report, 1e3 * max(many - few, 1e-9) / (2 * options.repeat)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lutra")
    parser.add_argument("matrices", nargs="+")
    parser.add_argument("--backend", default="serial")
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--repeat", type=int, default=8)
    options = parser.parse_args()
    logs, scaled = [], []
    print(f"{'matrix':24} {'hard ms':>9} {'easy ms':>9} {'ratio':>6} {'delayed':>8} {'2x2':>7} {'entries':>8} {'of both':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for path in options.matrices:
            n, entries = read(path)
            reports, times = [], []
            for kind, values in (("hard", entries), ("easy", make_easy(n, entries))):
                write(os.path.join(folder, kind + ".mtx"), n, values)
                report, milliseconds = measure(options, os.path.join(folder, kind + ".mtx"))
                reports.append(report)
                times.append(milliseconds)
            pivots = reports[0]["pivots"]
            growth = reports[0]["factors"]["nnz_l"] / reports[1]["factors"]["nnz_l"]
            logs.append(math.log(times[0] / times[1]))
            scaled.append(logs[-1] - math.log(growth))
            print(f"{os.path.basename(path).split('.mtx')[0]:24} {times[0]:9.3f} {times[1]:9.3f}"
                  f" {math.exp(logs[-1]):6.2f} {pivots['delayed']:8} {pivots['two_by_two']:7} {growth:8.3f}"
                  f" {math.exp(scaled[-1]):8.2f}", flush=True)
    mean = [math.exp(sum(values) / len(values)) for values in (logs, scaled)]
    print(f"geometric mean {mean[0]:.2f}, over entries {mean[1]:.2f}")


if __name__ == "__main__":
    main()
