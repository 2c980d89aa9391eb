# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests deadlines, and Ctrl-C while the library works."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
import unittest

import numpy as np
import scipy.sparse as sp

import lutra


def poisson3d(side: int) -> sp.csr_matrix:
    line = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(side, side))
    one = sp.identity(side)
    return sp.csr_matrix(
        sp.kron(sp.kron(line, one), one) + sp.kron(sp.kron(one, line), one) + sp.kron(sp.kron(one, one), line)
    )


def interrupted_after(seconds: float, call) -> float:
    """Seconds from SIGINT to the KeyboardInterrupt of `call`, or 0 if the call was faster."""
    sent = []

    def interrupt() -> None:
        time.sleep(seconds)
        sent.append(time.monotonic())
        signal.raise_signal(signal.SIGINT)

    other = threading.Thread(target=interrupt)
    other.start()
    try:
        call()
        other.join()  # where the signal arrives now
        time.sleep(1)
    except KeyboardInterrupt:
        caught = time.monotonic()
        other.join()
        return caught - sent[0]
    return 0


class Cancel(unittest.TestCase):
    def test_deadline(self) -> None:
        A = poisson3d(12)
        with self.assertRaisesRegex(TimeoutError, "deadline"):
            lutra.splu(A, deadline=1e-9)
        lu = lutra.splu(A, deadline=1000)
        np.testing.assert_allclose(A @ lu.solve(np.ones(A.shape[0])), 1)
        with self.assertRaisesRegex(ValueError, "deadline"):
            lutra.splu(A, deadline=-1)

    def test_interrupt(self) -> None:
        A = poisson3d(30)
        b = np.ones(A.shape[0])
        lu = lutra.splu(A)
        begin = time.monotonic()
        lu.refactor(A)
        each = time.monotonic() - begin

        def work() -> None:
            for _ in range(1 + int(5 / each)):
                lu.refactor(A)

        waited = interrupted_after(0.5 * each, work)
        print(f"refactor of {each:.3f} s: KeyboardInterrupt after {waited:.3f} s")
        self.assertLess(waited, 0.6)
        lu.refactor(A)
        np.testing.assert_allclose(A @ lu.solve(b), b)

    def test_interrupt_of_a_program(self) -> None:
        program = (
            "import numpy as np, scipy.sparse as sp, lutra\n"
            "A = sp.identity(300, format='csr') * 2\n"
            "lu = lutra.splu(A)\n"
            "print('ready', flush=True)\n"
            "try:\n"
            "    while True:\n"
            "        lu.refactor(A)\n"
            "except KeyboardInterrupt:\n"
            "    lu.refactor(A)\n"
            "    print(lu.solve(np.ones(300))[0])\n"
        )
        with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
            self.assertEqual(process.stdout.readline(), "ready\n")
            time.sleep(0.2)
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.communicate(timeout=60)[0], "0.5\n")
        self.assertEqual(process.returncode, 0)


if __name__ == "__main__":
    unittest.main()
