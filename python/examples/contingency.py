# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""N-1 contingency analysis: the Newton power flows of all outages as batches of systems with one pattern.

Each line or transformer of a network of pandapower is taken out in turn. A Newton step of all outages that have not
converged is one batch: an outage only changes values, and where it removes an entry it leaves an explicit zero.
Outages that cut off a part of the network are masked from the start, and those whose systems turn out to be singular,
by their status, from then on. The same flows are computed one by one, some of them by pandapower, and all of them by
lightsim2grid if it is installed, and compared.

    pip install pandapower lightsim2grid ./python
    python python/examples/contingency.py --case case1354pegase
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
import warnings
from typing import Any, NamedTuple

import numpy as np
import pandapower
import pandapower.networks
import scipy.sparse as sp
from pandapower.pypower import newtonpf
from scipy.sparse.csgraph import connected_components

import lutra

TOLERANCE = 1e-10  # of the power mismatch, per unit
LIGHTSIM_TOLERANCE = 1e-9  # rounding does not let lightsim2grid reach 2e-10 in networks of thousands of buses


class Grid(NamedTuple):
    """A network, per unit, with its admittances on a fixed pattern that includes the diagonal."""

    Y: sp.csr_matrix
    power: np.ndarray  # [buses] injected
    start: np.ndarray  # [buses] voltages
    pv: np.ndarray  # buses with given voltage magnitude
    pq: np.ndarray
    outages: list[tuple[str, int, np.ndarray, np.ndarray]]  # table, index, positions in Y.data, changes there


class Jacobian:
    """The Jacobian of the power mismatch on one pattern. Arrays are [buses or entries × outages]."""

    def __init__(self, grid: Grid) -> None:
        n = grid.Y.shape[0]
        self.rows = np.repeat(np.arange(n), np.diff(grid.Y.indptr))
        self.columns, self.starts = grid.Y.indices, grid.Y.indptr[:-1]
        self.diagonal = np.flatnonzero(self.rows == self.columns)
        angle, magnitude = np.concatenate([grid.pv, grid.pq]), grid.pq
        self.unknowns = angle, magnitude
        at_angle, at_magnitude = np.full(n, -1), np.full(n, -1)
        at_angle[angle] = np.arange(len(angle))
        at_magnitude[magnitude] = len(angle) + np.arange(len(magnitude))
        rows, columns, self.used = [], [], []  # of each derivative, and the entries of Y that it has
        # Active power has the rows of angles, reactive power those of magnitudes.
        for row_of, column_of in (
            (at_angle, at_angle),  # ∂P/∂θ
            (at_angle, at_magnitude),  # ∂P/∂V
            (at_magnitude, at_angle),  # ∂Q/∂θ
            (at_magnitude, at_magnitude),  # ∂Q/∂V
        ):
            row, column = row_of[self.rows], column_of[self.columns]
            self.used.append(np.flatnonzero((row >= 0) & (column >= 0)))
            rows.append(row[self.used[-1]])
            columns.append(column[self.used[-1]])
        size = len(angle) + len(magnitude)
        order = np.lexsort((np.concatenate(columns), np.concatenate(rows)))
        places = np.empty(len(order), dtype=np.int64)
        places[order] = np.arange(len(order))
        self.places = np.split(places, np.cumsum([len(used) for used in self.used])[:-1])
        counts = np.bincount(np.concatenate(rows), minlength=size)
        indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        indices = np.concatenate(columns)[order].astype(np.int32)
        self.pattern = sp.csr_matrix((np.ones(len(indices)), indices, indptr), shape=(size, size))

    def flows(self, Y: np.ndarray, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The power V_i conj(Y_ij V_j) of each entry, and its sums for each bus."""
        power = V[self.rows] * np.conj(Y * V[self.columns])
        return power, np.add.reduceat(power, self.starts, axis=0)

    def values(self, V: np.ndarray, power: np.ndarray, sums: np.ndarray) -> np.ndarray:
        """[entries of the Jacobian × outages]"""
        active, reactive = power.real.copy(), power.imag.copy()
        by_angle = [reactive, -active]
        active[self.diagonal] += sums.real
        reactive_sums = reactive.copy()
        reactive_sums[self.diagonal] += sums.imag
        by_angle[0][self.diagonal] -= sums.imag
        by_angle[1][self.diagonal] += sums.real
        size = np.abs(V)[self.columns]
        derivatives = (by_angle[0], active / size, by_angle[1], reactive_sums / size)
        result = np.empty((self.pattern.nnz, V.shape[1]))
        for derivative, used, places in zip(derivatives, self.used, self.places):
            result[places] = derivative[used]
        return result

    def mismatch(self, power: np.ndarray, sums: np.ndarray) -> np.ndarray:
        """[unknowns × outages]"""
        angle, magnitude = self.unknowns
        missing = sums - power[:, None]
        return np.concatenate([missing.real[angle], missing.imag[magnitude]])

    def systems(self, power: np.ndarray, Y: np.ndarray, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mismatches and values, for as many outages at once as the cache holds."""
        size, count = self.pattern.shape[0], V.shape[1]
        F, values = np.empty((size, count)), np.empty((self.pattern.nnz, count))
        block = max(8, 2**16 // len(self.rows))
        for first in range(0, count, block):
            some = slice(first, first + block)
            flow, sums = self.flows(Y[:, some], V[:, some])
            F[:, some] = self.mismatch(power, sums)
            values[:, some] = self.values(V[:, some], flow, sums)
        return F, values

    def corrected(self, V: np.ndarray, change: np.ndarray) -> np.ndarray:
        angle, magnitude = self.unknowns
        theta, size = np.angle(V), np.abs(V)
        theta[angle] -= change[: len(angle)]
        size[magnitude] -= change[len(angle) :]
        return size * np.exp(1j * theta)


def read_grid(net: Any) -> Grid:
    """Admittances, injections and outages of a network after a power flow of pandapower."""
    inside = net._ppc["internal"]
    n = inside["Ybus"].shape[0]
    Y = sp.csr_matrix(inside["Ybus"] + sp.csr_matrix((np.zeros(n), (np.arange(n), np.arange(n)))))
    Y.sum_duplicates()
    to_internal = net._ppc["internal"]["branch"][:, :2].real.astype(int)
    rows = np.repeat(np.arange(n), np.diff(Y.indptr))
    position = {(i, j): p for p, (i, j) in enumerate(zip(rows.tolist(), Y.indices.tolist()))}
    in_service = np.flatnonzero(net._ppc["branch"][:, 10].real > 0)  # the internal branches are these
    internal_of = {int(branch): k for k, branch in enumerate(in_service)}
    outages = []
    for table in ("line", "trafo"):
        first, last = net._pd2ppc_lookups["branch"].get(table, (0, 0))
        for index, branch in zip(net[table].index, range(first, last)):
            k = internal_of.get(branch)
            if k is None:
                continue
            i, j = to_internal[k]
            own = inside["Yf"][k].toarray().ravel(), inside["Yt"][k].toarray().ravel()
            where = np.array([position[i, i], position[i, j], position[j, i], position[j, j]])
            outages.append((table, int(index), where, -np.array([own[0][i], own[0][j], own[1][i], own[1][j]])))
    return Grid(Y, inside["Sbus"], inside["V"], inside["pv"], inside["pq"], outages)


class Flows(NamedTuple):
    """Power flows of all outages."""

    V: np.ndarray  # [outages × buses]
    systems: int  # linear systems solved
    seconds: float  # of processor time in them; NaN: not known
    whole: float  # of everything


def all_at_once(
    grid: Grid, jacobian: Jacobian, Y: np.ndarray, cut: np.ndarray, iterations: int
) -> tuple[Flows, list[str]]:
    """The flows, and the status of each outage. Systems are interleaved, as the library computes them.

    Outages that have ended are masked. Once they are a fifth of the batch, it becomes smaller.
    """
    start = time.process_time()
    result = np.tile(grid.start[:, None], len(cut))
    state = np.full(len(cut), "no convergence", dtype=object)
    state[cut] = "cut off"
    present, active = np.arange(len(cut)), ~cut  # outages in the batch, and which of them go on
    V = result.copy()
    batch: lutra.BatchedLU | None = None
    systems, seconds = 0, 0.0
    for _ in range(iterations):
        if active.sum() < 0.8 * len(present):
            result[:, present] = V
            present, V, Y, active = present[active], V[:, active], Y[:, active], active[active]
        F, values = jacobian.systems(grid.power, Y, V)
        done = active & (np.abs(F).max(axis=0) < TOLERANCE)
        state[present[done]] = "converged"
        active &= ~done
        if not active.any():
            break
        begin = time.process_time()
        if batch is None:
            A = jacobian.pattern.copy()
            A.data = values[:, 0].copy()
            batch = lutra.BatchedLU(A, values.T, mask=active, on_failure="ignore")
        else:
            batch.refactor(values.T, mask=active)
        change = batch.solve(F.T).T
        seconds += time.process_time() - begin
        systems += int(active.sum())
        failed = active & np.isnan(change[0])
        state[present[failed]] = [batch.statuses[k].replace("_", " ") for k in np.flatnonzero(failed)]
        active &= ~failed
        V[:, active] = jacobian.corrected(V[:, active], change[:, active])
    result[:, present] = V
    return Flows(result.T, systems, seconds, time.process_time() - start), state.tolist()


def one_by_one(grid: Grid, jacobian: Jacobian, Y: np.ndarray, iterations: int, converged: np.ndarray) -> Flows:
    """The same for outages that have converged, with `refactor` and `solve` of one matrix at a time."""
    start = time.process_time()
    V = np.tile(grid.start[:, None], len(converged))
    A = jacobian.pattern.copy()
    lu: lutra.LU | None = None
    systems, seconds = 0, 0.0
    for k in np.flatnonzero(converged):
        own = V[:, k : k + 1]  # a view
        for _ in range(iterations):
            power, sums = jacobian.flows(Y[:, k : k + 1], own)
            F = jacobian.mismatch(grid.power, sums)
            if np.abs(F).max() < TOLERANCE:
                break
            A.data = jacobian.values(own, power, sums)[:, 0]
            begin = time.process_time()
            if lu is None:
                lu = lutra.splu(A)
            else:
                lu.refactor(A)
            change = lu.solve(F[:, 0])
            seconds += time.process_time() - begin
            systems += 1
            own[:] = jacobian.corrected(own, change[:, None])
    return Flows(V.T, systems, seconds, time.process_time() - start)


def islands(grid: Grid, Y: np.ndarray) -> np.ndarray:
    """Whether an outage cuts off buses, by its graph alone."""
    found = np.zeros(Y.shape[1], dtype=bool)
    for k, row in enumerate(Y.T):
        graph = sp.csr_matrix((np.abs(row), grid.Y.indices, grid.Y.indptr), shape=grid.Y.shape, copy=True)
        graph.eliminate_zeros()
        found[k] = connected_components(graph, directed=False)[0] > 1
    return found


class Stopwatch:
    """A solver of linear systems whose calls and seconds are counted."""

    def __init__(self, solver: Any) -> None:
        self.solver, self.calls, self.seconds = solver, 0, 0.0

    def __call__(self, A: Any, b: np.ndarray, **options: Any) -> np.ndarray:
        begin = time.process_time()
        x = self.solver(A, b, **options)
        self.seconds += time.process_time() - begin
        self.calls += 1
        return x


def by_pandapower(net: Any, grid: Grid, outages: np.ndarray) -> Flows:
    """Some outages, with pandapower's own linear solver."""
    solver = newtonpf.spsolve
    watch = newtonpf.spsolve = Stopwatch(solver)
    start = time.process_time()
    V = []
    for outage in outages:
        table, index = grid.outages[outage][:2]
        net[table].loc[index, "in_service"] = False
        try:
            pandapower.runpp(net, init="dc", numba=False, lightsim2grid=False, tolerance_mva=1e-9, max_iteration=20)
            V.append(net._ppc["internal"]["V"])
        finally:
            net[table].loc[index, "in_service"] = True
    newtonpf.spsolve = solver
    return Flows(np.array(V), watch.calls, watch.seconds, time.process_time() - start)


def by_lightsim(net: Any, grid: Grid, count: int, iterations: int) -> Flows:
    """The first outages; voltages are zero where buses are cut off."""
    from lightsim2grid.contingencyAnalysis import AlgorithmType, ContingencyAnalysisCPP
    from lightsim2grid.network import init_from_pandapower

    first_of = {"line": 0, "trafo": len(net.line)}
    chosen = [first_of[table] + net[table].index.get_loc(index) for table, index, _, _ in grid.outages[:count]]
    to_internal = net._pd2ppc_lookups["bus"][net.bus.index]
    analysis = ContingencyAnalysisCPP(init_from_pandapower(net, pp_orig_file="pandapower_v3"))
    analysis.change_algorithm(AlgorithmType.NR_KLU)
    analysis.add_multiple_n1(chosen)
    start = time.process_time()
    analysis.compute(grid.start[to_internal].astype(complex), iterations, LIGHTSIM_TOLERANCE)
    whole = time.process_time() - start
    V = np.empty((count, len(grid.start)), dtype=complex)
    V[:, to_internal] = analysis.get_voltages()
    return Flows(V, int(np.sum(analysis.get_row_nb_iter())), float("nan"), whole)


def tell(name: str, flows: Flows, outages: int, difference: float | None) -> None:
    """A line of the table."""
    text = "" if difference is None else f"{difference:.1e}"
    per_system = "" if np.isnan(flows.seconds) else f"{1e3 * flows.seconds / max(1, flows.systems):.3f}"
    print(f"{name:24} {outages:8} {flows.systems:8} {per_system:>10} {1e3 * flows.whole / outages:10.2f} {text:>12}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", default="case118", help="a network of pandapower.networks")
    parser.add_argument("--outages", type=int, default=10**6, help="at most")
    parser.add_argument("--iterations", type=int, default=12, help="of Newton, at most")
    parser.add_argument("--check", type=int, default=5, help="outages that pandapower computes too")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # of pandapower
    net = getattr(pandapower.networks, options.case)()
    pandapower.runpp(net, init="dc", numba=False, lightsim2grid=False, tolerance_mva=1e-9)
    grid = read_grid(net)
    jacobian = Jacobian(grid)
    outages = grid.outages[: options.outages]
    Y = np.tile(grid.Y.data[:, None], len(outages))
    for k, (_, _, where, change) in enumerate(outages):
        np.add.at(Y[:, k], where, change)
    Y[np.abs(Y) < 1e-13 * np.abs(grid.Y.data).max()] = 0  # what the outage removes
    cut = islands(grid, Y)
    batched, state = all_at_once(grid, jacobian, Y, cut, options.iterations)
    converged = np.array(state) == "converged"
    singular = np.array(["singular" in text for text in state])
    count = int(converged.sum())
    print(
        f"{options.case}: {grid.Y.shape[0]} buses, systems of {jacobian.pattern.shape[0]} rows, {len(outages)} outages"
    )
    print(f"converged {count}, cut off buses {cut.sum()}, singular {singular.sum()},", end=" ")
    print(f"no convergence {len(outages) - count - cut.sum() - singular.sum()}")

    print(f"{'':24} {'outages':>8} {'systems':>8} {'ms/system':>10} {'ms/outage':>10} {'difference':>12}")
    tell("batches", batched, count, None)
    differences = []

    def compare(name: str, flows: Flows, of: np.ndarray) -> None:
        differences.append(float(np.abs(flows.V - batched.V[of]).max()))
        tell(name, flows, len(of), differences[-1])

    single = one_by_one(grid, jacobian, Y, options.iterations, converged)
    found = np.flatnonzero(converged)
    compare("one by one", single._replace(V=single.V[found]), found)
    if importlib.util.find_spec("lightsim2grid"):
        theirs = by_lightsim(net, grid, len(outages), options.iterations)
        others = np.flatnonzero((theirs.V == 0).all(axis=1) & converged | (theirs.V != 0).any(axis=1) & cut)
        if len(others):
            print(f"lightsim2grid cuts off other buses: {others}")
        compare("lightsim2grid, KLU", theirs._replace(V=theirs.V[found]), found)
    some = found[:: max(1, len(outages) // max(1, options.check))]
    compare("pandapower, SciPy", by_pandapower(net, grid, some), some)
    print(f"largest difference of a voltage {max(differences):.1e}")
    return int(max(differences) > 1e-10)


if __name__ == "__main__":
    sys.exit(main())
