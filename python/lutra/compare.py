# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times Lutra beside other sparse direct solvers on one matrix, with the error of each solution.

    python -m lutra.compare A.mtx

Reads Matrix Market files, also compressed (.mtx.gz, .mtx.xz), and matrices saved by scipy.sparse.save_npz. Every
solver runs in a process of its own, by the package's Python interface and its defaults.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import importlib.metadata
import importlib.util
import io
import json
import lzma
import math
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import scipy.io
import scipy.sparse as sp

from . import build_info
from ._peers import PEERS, LutraLU, Peer, first_line, load_peer


class MatrixFileError(ValueError):
    """A file that cannot be compared. The message names it."""


# ---- the matrix ---------------------------------------------------------------------------------------------------


def _read_matrix_market(file: Path) -> sp.csr_matrix:
    # Read as a whole, since SciPy's reader ends the process where a stream of damaged data raises an exception.
    with {".gz": gzip.open, ".xz": lzma.open}.get(file.suffix, open)(file, "rb") as stream:  # type: ignore[operator]
        text = io.BytesIO(stream.read())
    rows, columns, _, layout, field, _ = scipy.io.mminfo(text)
    if layout != "coordinate":
        raise ValueError("a dense array; a matrix in coordinates is wanted")
    if field == "pattern":
        raise ValueError("a pattern without values")
    if rows != columns:  # before the entries are read
        raise ValueError(f"not a square matrix: {rows} × {columns}")
    text.seek(0)
    return sp.csr_matrix(scipy.io.mmread(text))  # symmetric storage is expanded


def read_matrix(file: Path) -> sp.csr_matrix:
    """A square matrix by rows in double precision, real or complex. Raises MatrixFileError."""
    try:
        if file.suffix == ".npz":
            A = sp.csr_matrix(sp.load_npz(file))
        elif file.name.removesuffix(".gz").removesuffix(".xz").endswith(".mtx"):
            A = _read_matrix_market(file)
        else:
            raise ValueError("the name ends in none of .mtx, .mtx.gz, .mtx.xz and .npz")
        if A.shape[0] != A.shape[1]:
            raise ValueError(f"not a square matrix: {A.shape[0]} × {A.shape[1]}")
        if A.shape[0] == 0:
            raise ValueError("no rows")
        A.check_format(full_check=True)
    except MemoryError:
        raise MatrixFileError(f"{file}: too large for the memory of this machine") from None
    except OSError as error:
        raise MatrixFileError(f"{file}: {error.strerror or error}") from None
    except Exception as error:  # readers of damaged files raise many types
        raise MatrixFileError(f"{file}: {' '.join(str(error).split()) or type(error).__name__}") from None
    A.sum_duplicates()
    A = A.astype(np.complex128 if A.dtype.kind == "c" else np.float64)
    bad = np.flatnonzero(~np.isfinite(A.data))
    if bad.size:
        row = int(np.searchsorted(A.indptr, bad[0], side="right"))
        raise MatrixFileError(f"{file}: row {row}, column {A.indices[bad[0]] + 1} is {A.data[bad[0]]}")
    return A


def symmetry_of(A: sp.csr_matrix) -> str:
    """ "unsymmetric", "symmetric", or "definite" if the matrix is real and its diagonal positive as well."""
    if (A != A.T).nnz:
        return "unsymmetric"
    if A.dtype.kind == "c":
        return "symmetric"
    return "definite" if np.all(A.diagonal() > 0) else "symmetric"


def suits(peer: type[Peer], symmetry: str, is_complex: bool) -> bool:
    """Whether a solver is made for matrices of this symmetry and field."""
    if is_complex and not peer.takes_complex:
        return False
    return peer.needs == "any" or peer.needs == symmetry or (peer.needs == "symmetric" and symmetry == "definite")


# ---- the errors ---------------------------------------------------------------------------------------------------


def backward_errors(A: sp.csr_matrix, x: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    """Componentwise and normwise backward error of x in extended precision; infinite unless x is finite.

    >>> import numpy as np, scipy.sparse as sp
    >>> A = sp.csr_matrix([[2.0, 0.0], [0.0, 4.0]])
    >>> backward_errors(A, np.array([1.0, 1.5]), np.array([2.0, 4.0]))
    (0.2, 0.2)
    """
    if x.shape != b.shape or not np.all(np.isfinite(x)):
        return math.inf, math.inf
    wide = np.clongdouble if np.iscomplexobj(x) or np.iscomplexobj(A.data) else np.longdouble
    products = A.data.astype(wide) * x.astype(wide)[A.indices]
    rows = np.flatnonzero(np.diff(A.indptr))  # reduceat takes no empty rows
    residual, bound, sums = b.astype(wide), np.abs(b).astype(np.longdouble), np.zeros(len(b), np.longdouble)
    residual[rows] -= np.add.reduceat(products, A.indptr[rows])
    bound[rows] += np.add.reduceat(np.abs(products), A.indptr[rows])
    sums[rows] = np.add.reduceat(np.abs(A.data).astype(np.longdouble), A.indptr[rows])
    size = np.abs(residual)
    with np.errstate(divide="ignore", invalid="ignore"):
        componentwise = np.max(np.where(size == 0, 0, size / bound))
    normwise = np.max(size) / (np.max(sums) * np.max(np.abs(x)) + np.max(np.abs(b)))
    return float(componentwise), float(normwise)


# ---- the solvers --------------------------------------------------------------------------------------------------


def is_installed(peer: type[Peer]) -> bool:
    """Whether Python finds the module of a solver."""
    with contextlib.suppress(ImportError, ValueError):
        return importlib.util.find_spec(peer.module) is not None
    return False


def version_of(peer: type[Peer]) -> str:
    """Version of the package of a solver, or an empty text."""
    if issubclass(peer, LutraLU):
        return build_info()["version"]
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        return importlib.metadata.version(peer.package) if peer.package else ""
    return ""


class Problem:
    """A matrix, the same with other values, and a right-hand side, in files that the processes of solvers read."""

    def __init__(self, A: sp.csr_matrix, folder: Path) -> None:
        self.A = A
        self.B = A * 1.01
        self.b = A @ np.random.default_rng(1).uniform(1, 2, A.shape[0])
        self.folder = folder
        sp.save_npz(folder / "A.npz", self.A, compressed=False)
        sp.save_npz(folder / "B.npz", self.B, compressed=False)
        np.save(folder / "b.npy", self.b)

    def run(self, peer: type[Peer], repeat: int, limit: float) -> dict[str, Any]:
        """Times, fill and errors of one solver, or its problem."""
        for name in ("result.json", "solutions.npz"):
            (self.folder / name).unlink(missing_ok=True)
        command = [sys.executable, "-m", "lutra._peers", f"{peer.__module__}:{peer.__qualname__}", self.folder, repeat]
        try:
            ended = subprocess.run(list(map(str, command)), capture_output=True, text=True, errors="replace",
                                   timeout=limit, check=False)  # fmt: skip
        except subprocess.TimeoutExpired:
            return {"problem": f"more than {limit:g} s"}
        if not (self.folder / "result.json").exists():
            return {"problem": _end_of(ended)}
        result = json.loads((self.folder / "result.json").read_text(encoding="utf-8"))
        return result if "problem" in result else {**result, "errors": self._errors()}

    def _errors(self) -> dict[str, float]:
        """The larger errors of the solutions with A and with B."""
        with np.load(self.folder / "solutions.npz") as solutions:
            first, again = (solutions[name] for name in ("arr_0", "arr_1"))
        pairs = zip(backward_errors(self.A, first, self.b), backward_errors(self.B, again, self.b))
        return dict(zip(("componentwise", "normwise"), map(max, pairs)))


def _end_of(ended: subprocess.CompletedProcess[str]) -> str:
    """Why a process left no result."""
    if ended.returncode < 0:
        return f"ended by {signal.Signals(-ended.returncode).name}"
    lines = ended.stderr.strip().splitlines()
    return lines[-1][:120] if lines else f"ended with {ended.returncode}"


def compare(A: sp.csr_matrix, peers: list[type[Peer]], repeat: int, limit: float) -> list[dict[str, Any]]:
    """A row for each solver: name, package, version, and times, fill and errors, or the problem."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        problem = Problem(A, Path(folder))
        for peer in peers:
            head = {"solver": peer.name, "package": peer.package, "version": version_of(peer)}
            rows.append({**head, **problem.run(peer, repeat, limit)})
    return rows


# ---- the report ---------------------------------------------------------------------------------------------------


def describe_run() -> dict[str, Any]:
    """What times depend on: build of Lutra, processors, threads."""
    info = build_info()
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {"lutra": info["version"], "git": info["git"], "backend": info["backend"], "processors": processors,
            "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS")}  # fmt: skip


def format_row(row: dict[str, Any]) -> str:
    """A line of the table."""
    name = f"{row['solver']} {row['version']}".strip()
    if "problem" in row:
        return f"{name:24} {row['problem']}"
    times = "".join(f"{1e3 * row['seconds'][key]:12.3f}" for key in ("first", "refactor", "solve"))
    errors = "".join(f"{row['errors'][key]:14.1e}" for key in ("componentwise", "normwise"))
    notes = "".join(f"  {text}" for text in row["warnings"])
    return f"{name:24}{times}{row['fill'] if row['fill'] is not None else '-':>13}{errors}{notes}"


def format_report(report: dict[str, Any]) -> str:
    """The table and the lines around it."""
    matrix, run = report["matrix"], report["run"]
    kind = {"definite": "symmetric, positive diagonal"}.get(matrix["symmetry"], matrix["symmetry"])
    lines = [f"{matrix['file']}: {matrix['rows']} rows, {matrix['entries']} entries, {matrix['field']}, {kind}",
             f"Lutra {run['lutra']} on {run['backend']}, {run['processors']} processors, OMP_NUM_THREADS "
             f"{run['OMP_NUM_THREADS'] or 'not set'}; milliseconds, medians of {report['repeat']}",
             "", f"{'':24}{'factorize':>12}{'refactorize':>12}{'solve':>12}{'fill':>13}{'componentwise':>14}"
             f"{'normwise':>14}"]  # fmt: skip
    lines += [format_row(row) for row in report["rows"]]
    for text, names in (("not installed", report["not_installed"]), ("not for this matrix", report["unsuited"])):
        if names:
            lines += ["", f"{text}: {', '.join(names)}"]
    return "\n".join(lines)


def without_infinities(value: Any) -> Any:
    """The value with None for numbers that JSON does not have."""
    if isinstance(value, dict):
        return {name: without_infinities(item) for name, item in value.items()}
    if isinstance(value, list):
        return [without_infinities(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


# ---- the program --------------------------------------------------------------------------------------------------


def parse_arguments(words: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m lutra.compare", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("file", type=Path, help="the matrix")
    parser.add_argument("--repeat", type=int, default=5, metavar="N", help="times are medians of N [5]")
    parser.add_argument("--limit", type=float, default=300, metavar="S", help="seconds a solver may take in all [300]")
    parser.add_argument("--solver", action="append", default=[], metavar="NAME", choices=[p.name for p in PEERS],
                        help="only these: " + ", ".join(p.name for p in PEERS))  # fmt: skip
    parser.add_argument("--peer", action="append", default=[], metavar="MODULE:CLASS",
                        help="also a solver of your own, a class like those of lutra/_peers.py")  # fmt: skip
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write a report in JSON")
    arguments = parser.parse_args(words)
    if arguments.repeat < 1 or not arguments.limit > 0:
        parser.error("--repeat and --limit have to be positive")
    return arguments


def choose_peers(arguments: argparse.Namespace) -> list[type[Peer]]:
    """The solvers that the command line asks for. Raises ValueError for a class that cannot be loaded."""
    wanted = arguments.solver
    peers = [peer for peer in PEERS if not wanted or peer.name in wanted]
    for name in arguments.peer:
        try:
            peers.append(load_peer(name))
        except Exception as error:
            raise ValueError(f"--peer {name}: {first_line(error)}") from None
    return peers


def fail(message: object) -> NoReturn:
    """Ends the program with a message."""
    print(f"lutra.compare: {message}", file=sys.stderr)
    raise SystemExit(2)


def main(words: list[str] | None = None) -> None:
    """The program. A solver that fails has its message in its row; the exit status is 2 for mistakes in the call."""
    arguments = parse_arguments(words)
    try:
        peers = choose_peers(arguments)
        A = read_matrix(arguments.file)
    except ValueError as error:
        fail(error)
    symmetry = symmetry_of(A)
    missing = [peer for peer in peers if not is_installed(peer)]
    suited = [peer for peer in peers if suits(peer, symmetry, A.dtype.kind == "c")]
    report: dict[str, Any] = {
        "run": describe_run(),
        "matrix": {"file": arguments.file.name, "rows": A.shape[0], "entries": int(A.nnz), "symmetry": symmetry,
                   "field": "complex" if A.dtype.kind == "c" else "real"},
        "repeat": arguments.repeat,
        "not_installed": sorted({peer.package for peer in missing}),
        "unsuited": [peer.name for peer in peers if peer not in suited and peer not in missing],
    }  # fmt: skip
    ready = [peer for peer in suited if peer not in missing]
    try:
        report["rows"] = compare(A, ready, arguments.repeat, arguments.limit)
    except OSError as error:
        fail(f"temporary files: {error}")
    print(format_report(report))
    if arguments.json:
        try:
            arguments.json.write_text(json.dumps(without_infinities(report), indent=1) + "\n", encoding="utf-8")
        except OSError as error:
            fail(f"{arguments.json}: {error.strerror}")


if __name__ == "__main__":
    main()
