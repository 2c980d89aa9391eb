#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables and figures from the reports of the benchmark programs (perf_tests/, --benchmark_out=FILE.json).

  scripts/plot.py --table solve.json                    Markdown: commit, times, errors, ratios to a peer
  scripts/plot.py solve.json -o times.png               one panel per stage, one bar per matrix and solver
  scripts/plot.py --ratios solve.json -o ratios.svg     the peer's time divided by each solver's
  scripts/plot.py --sweep sizes.json -o sizes.svg       time against n with the fitted exponent
  scripts/plot.py --model trisolve.json                 predicted and measured times of triangular solves

and from the reports that `lutra solve` and `lutra sequence` write with --json=FILE.json and a Krylov method:

  scripts/plot.py --convergence a.json b.json -o c.svg  relative residual against iterations, one curve per solve
"""

import argparse
import json
import math
import re
import statistics
import sys
from pathlib import Path

UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
STAGE_ORDER = ["read", "matching", "ordering", "symbolic", "levels", "plan", "analyze", "columns", "factor", "refactor",
               "lower", "upper", "trisolve", "solve", "first"]


class Line:
    """One benchmark of a report."""

    def __init__(self, entry, best):
        self.matrix, self.stage, self.solver = entry["name"].split("/")[:3]
        self.error = entry.get("error_message", "")
        self.label = entry.get("label", "")
        median = None if self.error else entry["real_time"] * UNITS[entry["time_unit"]]
        self.seconds = entry.get("min_s", median) if best else median
        self.entry = entry

    @property
    def failed(self):
        return bool(self.error) or self.entry.get("failed", 0) > 0

    @property
    def reason(self):
        return self.error or self.label

    def count(self, name):
        return self.entry.get(name)


def read_report(file, best):
    """Benchmarks of one file. Of the aggregates of --benchmark_repetitions only the median is kept."""
    try:
        report = json.loads(Path(file).read_text(encoding="utf-8"))
        entries = report["benchmarks"]
    except (OSError, ValueError, KeyError) as problem:
        sys.exit(f"plot.py: {file} is not a report of a benchmark program: {problem}")
    repeated = {e["run_name"] for e in entries if e.get("aggregate_name") == "median"}
    lines = [Line(e, best) for e in entries
             if e.get("aggregate_name", "median") == "median"
             and (e.get("run_type") == "aggregate" or e["run_name"] not in repeated)]
    return lines, report.get("context", {})


def read_reports(files, best):
    """Benchmarks of all files by (matrix, stage, solver); a solver that occurs in a second file is called solver@file."""
    lines, contexts = {}, []
    for file in files:
        found, context = read_report(file, best)
        contexts.append((file, context))
        taken = {(l.matrix, l.stage, l.solver) for l in found} & lines.keys()
        for line in found:
            if taken:
                line.solver += "@" + Path(file).stem
            lines[line.matrix, line.stage, line.solver] = line
    if not lines:
        sys.exit("plot.py: no benchmarks in " + ", ".join(map(str, files)))
    return lines, contexts


def in_order(values, order=()):
    """The distinct values: those in `order` first, the others in the order of first occurrence."""
    unique = list(dict.fromkeys(values))
    return [v for v in order if v in unique] + [v for v in unique if v not in order]


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def seconds_text(line):
    if line is None:
        return ""
    if line.seconds is None:
        return "failed"
    text = f"{line.seconds:.3g}" if line.seconds >= 1e-3 else f"{line.seconds:.2e}"
    return f"{text} (failed)" if line.failed else text


def ratio(lines, matrix, stage, solver, peer):
    """Time of `peer` divided by the time of `solver`; None where one of them is missing or failed."""
    ours, theirs = lines.get((matrix, stage, solver)), lines.get((matrix, stage, peer))
    if ours is None or theirs is None or ours.failed or theirs.failed or not ours.seconds:
        return None
    return theirs.seconds / ours.seconds


class Axes:
    """The matrices, stages and solvers of the reports."""

    def __init__(self, lines, stages):
        self.matrices = in_order(key[0] for key in lines)
        self.stages = in_order((key[1] for key in lines), STAGE_ORDER)
        self.solvers = in_order((key[2] for key in lines), ["lutra"])
        if stages:
            unknown = set(stages) - set(self.stages)
            if unknown:
                sys.exit(f"plot.py: invalid stage '{', '.join(sorted(unknown))}' (choose from {', '.join(self.stages)})")
            self.stages = stages


def markdown_row(cells):
    return "| " + " | ".join(cells) + " |"


def print_markdown(columns, rows):
    """A Markdown table without the columns that are empty in every row."""
    used = [c for c in range(len(columns)) if any(row[c] for row in rows)]
    print(markdown_row([columns[c] for c in used]))
    print(markdown_row(["---"] * len(used)))
    for row in rows:
        print(markdown_row([row[c] for c in used]))


def print_table(lines, axes):
    columns = ["matrix", "solver", *(f"{stage} [s]" for stage in axes.stages), "nnz(L+U)", "flops", "peak MB",
               "perturbed/delayed pivots", "componentwise backward error", "normwise"]
    rows = []
    for matrix in axes.matrices:
        for solver in axes.solvers:
            row = [lines.get((matrix, stage, solver)) for stage in axes.stages]
            if any(row):
                rows.append([matrix, solver, *map(seconds_text, row), *properties_of(row)])
    print_markdown(columns, rows)


def properties_of(row):
    """Counts of the last stage of a row that has them, and the largest backward errors."""
    def last(name):
        return next((l.count(name) for l in reversed(row) if l is not None and l.count(name) is not None), None)

    def worst(name):
        return max((l.count(name) for l in row if l is not None and l.count(name) is not None), default=None)

    def text(value, form):
        return "" if value is None else format(value, form)

    peak = last("peak_bytes")
    counts = [text(last(name), ".0f") for name in ("perturbed_pivots", "delayed_pivots")]
    pivots = "/".join(count or "–" for count in counts) if any(counts) else ""
    return [text(last("nnz_lu"), ".0f"), text(last("flops"), ".2e"), text(peak and peak / 1e6, ".1f"), pivots,
            text(worst("backward_componentwise"), ".1e"), text(worst("backward_normwise"), ".1e")]


def print_ratios(lines, axes, peer):
    others = [s for s in axes.solvers if s != peer]
    if peer not in axes.solvers or not others:
        return
    print(f"\nTime of {peer} divided by the time of each solver (above 1: faster than {peer}). Geometric mean over the "
          f"matrices both solved (minimum; solved of tried):\n")
    print(markdown_row(["solver", *axes.stages]))
    print(markdown_row(["---"] * (len(axes.stages) + 1)))
    for solver in others:
        cells = []
        for stage in axes.stages:
            ratios = [r for m in axes.matrices if (r := ratio(lines, m, stage, solver, peer)) is not None]
            tried = sum((m, stage, solver) in lines for m in axes.matrices)
            cells.append(f"{geometric_mean(ratios):.3g} ({min(ratios):.2g}; {len(ratios)} of {tried})" if ratios else "")
        print(markdown_row([solver, *cells]))


def print_losses(lines):
    failed = [line for line in lines.values() if line.failed]
    if failed:
        print("\nFailures (not part of the means):\n")
    for line in failed:
        print(f"- {line.matrix}, {line.stage}, {line.solver}: {line.reason}")


def print_limits(lines, axes):
    """Lutra's times beside the lower bounds that the hardware sets."""
    rows = []
    for key, line in lines.items():
        limits = [line.count(f"limit_{what}_s") or 0 for what in ("copy", "flops", "launch", "latency")]
        if key[1] in axes.stages and key[2].startswith("lutra") and line.seconds and max(limits) > 0:
            texts = [f"{limit:.1e}" if limit else "" for limit in limits]
            rows.append([*key, f"{line.seconds:.2e}", *texts, f"{line.seconds / max(limits):.3g}"])
    if not rows:
        return
    print()
    print_markdown(["matrix", "stage", "solver", "time [s]", "copy limit", "dgemm limit", "launch limit", "latency limit",
                    "time / largest limit"], rows)


def print_model(lines, axes):
    """Predicted and measured times, and the median error of the prediction."""
    rows = {}
    for (matrix, stage, solver), line in lines.items():
        if stage in axes.stages and line.count("predicted_over_measured") and not line.failed:
            rows.setdefault(solver, []).append((matrix, stage, line))
    for solver, found in rows.items():
        print(f"\nPredicted and measured, {solver}:\n")
        print_markdown(["matrix", "stage", "predicted [s]", "measured [s]", "ratio", "method and reason"],
                       [[matrix, stage, f"{line.count('predicted_s'):.2e}", f"{line.seconds:.2e}",
                         f"{line.count('predicted_s') / line.seconds:.2f}", line.label] for matrix, stage, line in found])
        errors = [abs(line.count("predicted_s") / line.seconds - 1) for _, _, line in found]
        print(f"\nMedian error of the prediction: {100 * statistics.median(errors):.0f} % over {len(errors)} times")


def pyplot():
    try:
        import matplotlib
    except ImportError:
        sys.exit("plot.py: figures need matplotlib (Debian: python3-matplotlib; or pip install matplotlib in a virtual "
                 "environment). --table works without it.")
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt
    return plt


def draw_bars(plt, lines, axes, height_of, ylabel):
    """One panel per stage, one group of bars per matrix, one bar per solver; a cross marks a failure."""
    stages = len(axes.stages)
    width = max(9.0, 0.28 * len(axes.matrices) * (len(axes.solvers) + 1))
    figure, panels = plt.subplots(stages, 1, figsize=(width, 2.6 * stages + 1), squeeze=False, sharex=True,
                                  layout="constrained")
    bar = 0.8 / len(axes.solvers)
    for panel, stage in zip(panels[:, 0], axes.stages):
        for s, solver in enumerate(axes.solvers):
            positions = [m + (s - (len(axes.solvers) - 1) / 2) * bar for m in range(len(axes.matrices))]
            heights = [height_of(matrix, stage, solver) for matrix in axes.matrices]
            panel.bar(positions, [h if h is not None else float("nan") for h in heights], bar, label=solver)
            failed = [p for p, m in zip(positions, axes.matrices)
                    if (m, stage, solver) in lines and lines[m, stage, solver].failed]
            for position in failed:
                panel.annotate("×", (position, 0), xycoords=panel.get_xaxis_transform(), ha="center", va="bottom")
        panel.set_yscale("log")
        panel.set_title(stage)
        panel.set_ylabel(ylabel)
        panel.grid(axis="y", alpha=0.3)
    panels[-1, 0].set_xticks(range(len(axes.matrices)), axes.matrices, rotation=30, ha="right")
    figure.legend(*panels[0, 0].get_legend_handles_labels(), ncols=min(6, len(axes.solvers)), loc="outside upper center")
    return figure


def draw_times(plt, lines, axes):
    def seconds(matrix, stage, solver):
        line = lines.get((matrix, stage, solver))
        return None if line is None else line.seconds
    return draw_bars(plt, lines, axes, seconds, "seconds")


def draw_ratios(plt, lines, axes, peer):
    if peer not in axes.solvers:
        sys.exit(f"plot.py: invalid peer '{peer}' (choose from {', '.join(axes.solvers)})")
    figure = draw_bars(plt, lines, axes, lambda m, st, s: ratio(lines, m, st, s, peer), f"time of {peer} / time of solver")
    for panel in figure.axes:
        panel.axhline(1, color="black", linewidth=0.8)
    return figure


def growth(points):
    """Exponent p of t ~ n^p, by least squares on the logarithms."""
    xs, ys = zip(*((math.log(n), math.log(t)) for n, t in points))
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    spread = sum((x - mean_x) ** 2 for x in xs)
    return sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys)) / spread if spread > 0 else float("nan")


def kind_of(matrix):
    """The name of a generated matrix without size and seed: "aniso2d" for "aniso2d:225"."""
    return re.sub(r":[0-9:]*", "", matrix)


def draw_sweep(plt, lines, axes):
    """Time against n, one curve per kind of matrix."""
    kinds = in_order(kind_of(matrix) for matrix in axes.matrices)
    figure, panels = plt.subplots(len(kinds), len(axes.stages), squeeze=False, layout="constrained",
                                  figsize=(4.2 * len(axes.stages), 3.6 * len(kinds)))
    for row, kind in zip(panels, kinds):
        for panel, stage in zip(row, axes.stages):
            for solver in axes.solvers:
                points = sorted((line.count("n"), line.seconds) for (m, st, s), line in lines.items()
                                if st == stage and s == solver and kind_of(m) == kind and not line.failed)
                if points:
                    name = f"{solver} (n^{growth(points):.2f})" if len(points) > 1 else solver
                    panel.plot(*zip(*points), marker="o", markersize=3, label=name)
            panel.set(xscale="log", yscale="log", title=f"{kind}: {stage}", xlabel="n", ylabel="seconds")
            panel.xaxis.set_minor_formatter("")
            panel.grid(alpha=0.3)
            if panel.lines:
                panel.legend(fontsize="small")
    return figure


def read_convergence(files):
    """The solves in files of `lutra solve --json` and `lutra sequence --json` that have a history of residuals."""
    solves = []
    for file in files:
        try:
            report = json.loads(Path(file).read_text(encoding="utf-8"))
            steps = report.get("steps", [report])
            found = [step for step in steps if step["residual_history"]]
        except (OSError, ValueError, KeyError, AttributeError) as problem:
            sys.exit(f"plot.py: {file} is not a report of lutra solve or lutra sequence: {problem!r}")
        if not found:
            sys.exit(f"plot.py: {file} has no residual_history: it is not of a Krylov method")
        solves += found
    return solves


def name_of_solve(solve):
    return [Path(solve["matrix"]["file"] or "-").name, solve["choice"]["method"], solve["choice"]["precond"] or "none"]


def print_convergence(solves):
    print_markdown(["matrix", "method", "preconditioner", "iterations", "relative residual", "status"],
                   [[*name_of_solve(s), str(s["iterations"]), f"{s['residual_history'][-1]:.1e}", s["status"]] for s in solves])


def draw_convergence(plt, solves):
    figure, panel = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for solve in solves:
        history = solve["residual_history"]
        panel.semilogy([r if r > 0 else float("nan") for r in history], label=" ".join(name_of_solve(solve)), linewidth=1,
                       marker="o" if len(history) < 40 else None, markersize=3)
    panel.set(xlabel="iterations", ylabel="‖b − A·x‖₂ / ‖b‖₂")
    panel.grid(alpha=0.3)
    panel.legend(fontsize="small")
    return figure


def describe_source(contexts):
    """One line per report: the commit, the execution space and the device or the host threads it was measured on."""
    sources = []
    for file, context in contexts:
        def value(key):
            return context.get(key, "?")
        threads = value("host_threads")
        where = context.get("device") or f"{threads} host thread{'s' if threads != '1' else ''}"
        sources.append(f"{Path(file).name}: Lutra {value('lutra')}, commit {value('lutra_git')}, {value('execution_space')}, "
                       f"{where}")
    return "\n".join(sources)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reports", nargs="+", metavar="FILE.json")
    parser.add_argument("-o", "--output", metavar="FIGURE", help="figure to write: .png, .svg or .pdf")
    parser.add_argument("--table", action="store_true", help="print the commit and Markdown tables; with -o draw as well")
    parser.add_argument("--limits", action="store_true", help="with --table: Lutra's times beside the limits of the hardware")
    parser.add_argument("--model", action="store_true", help="print predicted and measured times of triangular solves")
    parser.add_argument("--convergence", action="store_true",
                        help="print how solves with Krylov methods ended; with -o draw their residuals against iterations")
    parser.add_argument("--ratios", action="store_true", help="draw ratios to the peer instead of times")
    parser.add_argument("--sweep", action="store_true", help="draw time against n")
    parser.add_argument("--best", action="store_true",
                        help="minimum of the samples instead of the median, for a machine under other load")
    parser.add_argument("--peer", default="klu", help="solver to compare with (default: klu)")
    parser.add_argument("--stages", help="only these, comma-separated, in this order")
    arguments = parser.parse_args()
    if not (arguments.table or arguments.model or arguments.convergence or arguments.output):
        parser.error("choose --table, --model, --convergence or -o FIGURE")
    return arguments


def main():
    arguments = parse_arguments()
    if arguments.convergence:
        solves = read_convergence(arguments.reports)
        print_convergence(solves)
        if arguments.output:
            draw_convergence(pyplot(), solves).savefig(arguments.output, dpi=150)
        return
    lines, contexts = read_reports(arguments.reports, arguments.best)
    axes = Axes(lines, arguments.stages.split(",") if arguments.stages else None)
    if arguments.table:
        print(describe_source(contexts) + "; seconds, " + ("minima" if arguments.best else "medians") + ".\n")
        print_table(lines, axes)
    print_ratios(lines, axes, arguments.peer)
    print_losses(lines)
    if arguments.table and arguments.limits:
        print_limits(lines, axes)
    if arguments.model:
        print_model(lines, axes)
    if not arguments.output:
        return
    plt = pyplot()
    if arguments.sweep:
        figure = draw_sweep(plt, lines, axes)
    elif arguments.ratios:
        figure = draw_ratios(plt, lines, axes, arguments.peer)
    else:
        figure = draw_times(plt, lines, axes)
    figure.supxlabel(describe_source(contexts), fontsize=6, x=0.01, ha="left")
    figure.savefig(arguments.output, dpi=150)


if __name__ == "__main__":
    main()
