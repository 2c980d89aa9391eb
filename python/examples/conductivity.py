# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fits the conductivities of a rod to measured temperatures, by gradients through sparse solves in JAX.

Both ends of a rod are kept at 0. Three heaters are turned on in turn, and the temperatures are measured at all points.
The conductivity of each segment is what L-BFGS varies; its gradient is one backward pass through a Cholesky solve.

    pip install jax matplotlib
    python python/examples/conductivity.py --chart conductivity.svg
"""

from __future__ import annotations

import argparse
import sys

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize

import lutra
import lutra.jax

jax.config.update("jax_enable_x64", True)
HEATERS = (0.125, 0.5, 0.875)  # places


class Rod:
    """A rod of n points and n + 1 segments; segment i is between the points i - 1 and i."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.pattern = lutra.Pattern(
            sp.csr_matrix(sp.diags([1.0, 1.0, 1.0], [-1, 0, 1], shape=(n, n))), method="cholesky"
        )
        self.place = np.arange(n + 1) / n
        heated = [int(place * n) for place in HEATERS]
        self.heat = jnp.zeros((n, len(heated))).at[jnp.array(heated), jnp.arange(len(heated))].set(1.0)

    def matrix(self, c: jax.Array) -> jax.Array:
        """Entries in the order of the pattern, from conductivities [n + 1]."""
        rows, columns = self.pattern.rows, self.pattern.columns
        return jnp.where(rows == columns, c[rows] + c[rows + 1], -c[jnp.maximum(rows, columns)])

    def temperatures(self, c: jax.Array) -> jax.Array:
        """[n × heaters]"""
        return lutra.jax.solve(self.matrix(c), self.heat, self.pattern)


def fit(rod: Rod, measured: jax.Array, steps: int) -> tuple[list[np.ndarray], list[float]]:
    """Conductivities and mean squares of the misfit, one for each step from 1 everywhere."""

    @jax.jit
    @jax.value_and_grad
    def misfit(log_c: jax.Array) -> jax.Array:
        return ((rod.temperatures(jnp.exp(log_c)) - measured) ** 2).mean()

    guesses, misfits = [np.ones(rod.n + 1)], [float(misfit(jnp.zeros(rod.n + 1))[0])]

    def note(log_c: np.ndarray) -> None:
        guesses.append(np.exp(log_c))
        misfits.append(float(misfit(log_c)[0]))

    minimize(
        misfit,
        np.zeros(rod.n + 1),
        jac=True,
        method="L-BFGS-B",
        callback=note,
        options={"maxiter": steps, "ftol": 1e-16, "gtol": 1e-12},
    )
    return guesses, misfits


def draw(file: str, rod: Rod, true: np.ndarray, guesses: list[np.ndarray], misfits: list[float]) -> None:
    """The conductivities after some steps, and the misfit of every step."""
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(8, 3), layout="constrained")
    left.step(rod.place, true, where="mid", color="0.7", linewidth=5, label="true")
    for step in (10, 50, len(guesses) - 1):
        label = f"{step} steps"
        left.step(rod.place, guesses[min(step, len(guesses) - 1)], where="mid", linewidth=1.2, label=label)
    left.set(xlabel="place", ylabel="conductivity", xlim=(0, 1), ylim=0)
    left.legend(frameon=False)
    right.semilogy(misfits)
    right.set(xlabel="steps of L-BFGS", ylabel="mean squared misfit", xlim=0)
    pyplot.rcParams["svg.hashsalt"] = "conductivity"
    figure.savefig(file, metadata={"Date": None})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=40)
    parser.add_argument("--steps", type=int, default=2000, help="of L-BFGS, at most")
    parser.add_argument("--chart", help="file for a picture, by matplotlib")
    options = parser.parse_args()
    rod = Rod(options.points)
    true = np.where((rod.place > 0.3) & (rod.place < 0.6), 3.0, 1.0)
    guesses, misfits = fit(rod, rod.temperatures(jnp.asarray(true)), options.steps)
    worst = float(np.abs(guesses[-1] / true - 1).max())
    print(f"{len(guesses) - 1} steps, mean squared misfit {misfits[-1]:.1e}, largest relative error {worst:.1e}")
    if options.chart:
        draw(options.chart, rod, true, guesses, misfits)
    return int(worst > 1e-3)


if __name__ == "__main__":
    sys.exit(main())
