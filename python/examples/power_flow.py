# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lutra in the Newton power flow of pandapower: replaces one line of that program, its solver.

A load profile is followed with pandapower as it comes, SciPy's `spsolve` in each Newton step, and then with
`lutra.splu`, which analyses the Jacobian's pattern once and refactorizes from then on. Voltages are compared.

    pip install pandapower ./python
    python python/examples/power_flow.py --case case9241pegase --steps 24 --svg jacobian.svg --chart seconds.svg
"""

from __future__ import annotations

import argparse
import time
from typing import Any, Callable

import numpy as np
import pandapower
import pandapower.networks
from pandapower.pypower import newtonpf

import lutra


class PatternSolver:
    """Replaces SciPy's `spsolve(A, b)` for a sequence of matrices with one pattern."""

    def __init__(self) -> None:
        self.factors: lutra.LU | None = None
        self.analyses = self.calls = 0
        self.matrix: Any = None

    def __call__(self, A: Any, b: np.ndarray, **_: Any) -> np.ndarray:
        self.calls += 1
        self.matrix = A = A.tocsr()  # pandapower does not sort columns; splu and refactor do
        try:
            if self.factors is None or self.factors.shape != A.shape:
                raise ValueError("another network")
            self.factors.refactor(A)
        except ValueError:  # the first matrix, or one with another pattern
            self.factors = lutra.splu(A)
            self.analyses += 1
        return self.factors.solve(b)


class Stopwatch:
    """A function that records the CPU seconds of each call."""

    def __init__(self, function: Callable[..., np.ndarray]) -> None:
        self.function = function
        self.seconds: list[float] = []

    def __call__(self, *arguments: Any, **options: Any) -> np.ndarray:
        begin = time.process_time()
        result = self.function(*arguments, **options)
        self.seconds.append(time.process_time() - begin)
        return result


def follow_profile(net: Any, steps: int, solver: Callable[..., np.ndarray]) -> tuple[np.ndarray, float, np.ndarray]:
    """Voltages [steps × buses], and CPU seconds in total and per linear system."""
    watch = newtonpf.spsolve = Stopwatch(solver)
    active, reactive = net.load.p_mw.copy(), net.load.q_mvar.copy()
    voltages = []
    begin = time.process_time()
    for step in range(steps):
        level = 1 + 0.03 * np.sin(2 * np.pi * step / steps)
        net.load.p_mw, net.load.q_mvar = level * active, level * reactive
        pandapower.runpp(net, init="dc", numba=True, lightsim2grid=False)
        voltages.append(net.res_bus.vm_pu * np.exp(1j * np.radians(net.res_bus.va_degree)))
    net.load.p_mw, net.load.q_mvar = active, reactive
    return np.array(voltages), time.process_time() - begin, np.array(watch.seconds)


def draw_seconds(file: str, title: str, theirs: np.ndarray, mine: np.ndarray) -> None:
    """CPU seconds of all linear systems so far."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 3), layout="constrained")
    for seconds, label in ((theirs, "SciPy: spsolve"), (mine, "Lutra: splu, then refactor")):
        axes.plot(np.cumsum(seconds), label=label)
    axes.set(title=title, xlabel="linear systems", ylabel="CPU seconds", xlim=0, ylim=0)
    axes.legend(frameon=False)
    figure.savefig(file, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", default="case2869pegase", help="a network of pandapower.networks")
    parser.add_argument("--steps", type=int, default=24, help="of the load profile")
    parser.add_argument("--svg", help="file for a picture of the Jacobian and its factors")
    parser.add_argument("--chart", help="file for a picture of the CPU seconds, by matplotlib")
    options = parser.parse_args()
    net = getattr(pandapower.networks, options.case)()
    scipy_solver = newtonpf.spsolve
    follow_profile(net, 1, scipy_solver)  # numba compiles
    ours = PatternSolver()
    theirs = follow_profile(net, options.steps, scipy_solver)
    mine = follow_profile(net, options.steps, ours)
    assert ours.factors is not None
    print(
        f"{options.case}: {len(net.bus)} buses, Jacobian of {ours.factors.shape[0]} rows, {ours.calls} linear systems"
    )
    print(f"{'':8} {'linear systems':>15} {'power flow':>12}  CPU seconds")
    print(f"{'SciPy':8} {theirs[2].sum():15.3f} {theirs[1]:12.3f}")
    print(f"{'Lutra':8} {mine[2].sum():15.3f} {mine[1]:12.3f}")
    print(f"{'ratio':8} {theirs[2].sum() / mine[2].sum():15.2f} {theirs[1] / mine[1]:12.2f}")
    print(f"largest difference of a voltage: {abs(theirs[0] - mine[0]).max():.1e} per unit; {ours.analyses} analyses")
    print(f"backward error of the last system: {ours.factors.report.errors.backward_componentwise:.1e}")
    if options.chart:
        draw_seconds(options.chart, options.case, theirs[2], mine[2])
    if options.svg:
        lutra.spy(ours.matrix, ours.factors, title=f"{options.case}: the Jacobian").save(options.svg)


if __name__ == "__main__":
    main()
