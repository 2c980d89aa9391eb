# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`pip install ./python` in a fresh virtual environment, over an installation of a build of Lutra, a first solve, and
the tests.

Says "skipped: …" where there are no virtual environments or no package index.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
FIRST_SOLVE = """
import sys, numpy as np, scipy.sparse as sp, lutra
A = sp.csr_matrix(sp.diags([-1.0, 2.5, -1.0], [-1, 0, 1], shape=(50, 50)))
lu = lutra.splu(A)
x = lu.solve(np.ones(50))
assert lutra.__file__.startswith(sys.prefix), lutra.__file__
assert lu.report.status == "success" and np.allclose(A @ x, 1), lu.report.describe()
print("solved by Lutra", lutra.__version__)
"""


def skip(reason: str) -> None:
    print("skipped:", reason)
    sys.exit(0)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, text in (
        ("build", "build folder of Lutra"),
        ("work", "folder for the installations, which is emptied"),
        ("config", "configuration of the build"),
    ):
        parser.add_argument(f"--{name}", required=True, help=text)
    parser.add_argument("settings", nargs="*", metavar="NAME=VALUE", help="variables of CMake")
    return parser.parse_args()


def main() -> None:
    arguments = parse_arguments()
    work = Path(arguments.work)
    shutil.rmtree(work, ignore_errors=True)
    prefix, venv = work / "prefix", work / "venv"
    made = subprocess.run([sys.executable, "-m", "venv", venv], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        skip(f"no virtual environment (Debian: python3-venv): {(made.stdout + made.stderr).strip()}")
    pip = [venv / "bin" / "python", "-m", "pip"]
    reached = subprocess.run([*pip, "download", "--no-deps", "--dest", work / "reached", "nanobind"],
                             capture_output=True, text=True, check=False)  # fmt: skip
    if reached.returncode != 0:
        skip("pip reaches no package index: " + reached.stderr.strip().splitlines()[-1])

    subprocess.run(["cmake", "--install", arguments.build, "--config", arguments.config, "--prefix", prefix],
                   stdout=subprocess.DEVNULL, check=True)  # fmt: skip
    settings = [f"build-dir={work / 'build'}"]
    settings += [f"cmake.define.{setting}" for setting in arguments.settings if setting.split("=", 1)[1]]
    subprocess.run([*pip, "install", PACKAGE, *(f"--config-settings={setting}" for setting in settings)],
                   env={**os.environ, "CMAKE_PREFIX_PATH": str(prefix)}, check=True)  # fmt: skip
    # The index has newer versions of NumPy and SciPy than the system.
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    for words in (["-c", FIRST_SOLVE], ["-m", "unittest", "discover", "-s", PACKAGE / "tests"]):
        subprocess.run([venv / "bin" / "python", *words], cwd=work, env=clean, check=True)


if __name__ == "__main__":
    main()
