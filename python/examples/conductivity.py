# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fits the conductivities of a rod to measured temperatures, by gradients through sparse solves in JAX.

Both ends of a rod are kept at 0. Three heaters are turned on in turn, and the temperatures are measured at all points.
The conductivity of each segment is what L-BFGS varies; its gradient is one backward pass through a Cholesky solve.

    pip install jax ./python
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


class Panel:
    """A diagram of 320 × 200 in an SVG, with lines in the coordinates of its axes."""

    def __init__(self, left: float, title: str, x_range: tuple[float, float], y_range: tuple[float, float]) -> None:
        self.left, self.x_range, self.y_range = left, x_range, y_range
        self.parts = [
            f'<rect x="{left}" y="20" width="320" height="200" fill="none" stroke="#888"/>',
            f'<text x="{left + 160}" y="252" text-anchor="middle">{title}</text>',
        ]

    def position(self, x: float, y: float) -> tuple[float, float]:
        (x0, x1), (y0, y1) = self.x_range, self.y_range
        return self.left + 320 * (x - x0) / (x1 - x0), 220 - 200 * (y - y0) / (y1 - y0)

    def line(self, x: np.ndarray, y: np.ndarray, color: str, width: float, label: str = "", row: int = 0) -> None:
        points = " ".join("{:.1f},{:.1f}".format(*self.position(*point)) for point in zip(x.tolist(), y.tolist()))
        self.parts.append(f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="{width}"/>')
        if label:
            where = f'x="{self.left + 312}" y="{38 + 16 * row}" text-anchor="end"'
            self.parts.append(f'<text {where} fill="{color}">{label}</text>')

    def mark(self, texts: dict[float, str], is_x: bool) -> None:
        for value, text in texts.items():
            x, y = self.position(value, self.y_range[0]) if is_x else self.position(self.x_range[0], value)
            x, y, anchor = (x, 235, "middle") if is_x else (x - 5, y + 4, "end")
            self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{text}</text>')


def draw(file: str, place: np.ndarray, true: np.ndarray, guesses: list[np.ndarray], misfits: list[float]) -> None:
    """The conductivities after some steps, and the misfit of every step."""
    last = len(guesses) - 1

    def stairs(c: np.ndarray) -> np.ndarray:
        return np.repeat(c, 2)[:-1]

    x = np.repeat(place, 2)[1:]
    highest = 1.15 * max(np.max(guesses[step]) for step in (10, 50, last))
    left = Panel(50, "conductivity along the rod", (0.0, 1.0), (0.0, highest))
    left.line(x, stairs(true), "#bbb", 6, "true")
    for row, (step, color) in enumerate(((10, "#c50"), (50, "#07a"), (last, "#000")), 1):
        left.line(x, stairs(guesses[min(step, last)]), color, 1.2, f"{min(step, last)} steps", row)
    left.mark({0.0: "0", 0.5: "0.5", 1.0: "1"}, True)
    left.mark({float(c): str(c) for c in range(int(highest) + 1)}, False)
    logs = np.log10(np.maximum(misfits, 1e-300))
    bottom, top = float(np.floor(logs.min())), float(np.ceil(logs.max()))
    right = Panel(440, "mean squared misfit, by steps of L-BFGS", (0.0, float(last)), (bottom, top))
    right.line(np.arange(last + 1.0), logs, "#07a", 1.5)
    right.mark({0.0: "0", float(last): str(last)}, True)
    right.mark({bottom: f"1e{bottom:.0f}", top: f"1e{top:.0f}"}, False)
    with open(file, "w", encoding="utf-8") as svg:
        svg.write('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 780 262" ')
        svg.write('font-family="sans-serif" font-size="12">\n')
        svg.write('<rect width="780" height="262" fill="#fff"/>\n' + "\n".join(left.parts + right.parts) + "\n</svg>\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=40)
    parser.add_argument("--steps", type=int, default=2000, help="of L-BFGS, at most")
    parser.add_argument("--chart", help="file for a picture, SVG")
    options = parser.parse_args()
    rod = Rod(options.points)
    true = np.where((rod.place > 0.3) & (rod.place < 0.6), 3.0, 1.0)
    guesses, misfits = fit(rod, rod.temperatures(jnp.asarray(true)), options.steps)
    worst = float(np.abs(guesses[-1] / true - 1).max())
    print(f"{len(guesses) - 1} steps, mean squared misfit {misfits[-1]:.1e}, largest relative error {worst:.1e}")
    if options.chart:
        draw(options.chart, rod.place, true, guesses, misfits)
    return int(worst > 1e-3)


if __name__ == "__main__":
    sys.exit(main())
