#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs scripts/device_sanitizer.py with programs that stand for compute-sanitizer and for test programs, and checks
what it reports; and whether scripts/sanitize.sh runs every test that starts threads under the thread sanitizer."""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "device_sanitizer.py"

# A test program: its cases launch these kernels. These are shells, which start in no time on a busy machine, too.
PROGRAM = r"""#!/bin/sh
case "$*" in *--list-tests*) printf 'solves, twice [fast]\na slow one\na race\non hosts\n'; exit 0 ;; esac
case "$1" in
  solves*) printf 'front\nsweep\n' ;;
  "a slow one") printf 'sweep\nslow\n' ;;
  "a race") echo race ;;
esac >>"$LUTRA_KERNEL_LOG"
[ "$CUDA_INJECTION64_PATH" = names.so ]
"""

# compute-sanitizer: racecheck finds the race, initcheck crashes in it; a slow test takes a minute unless FAST is set.
SANITIZER = r"""#!/bin/sh
tool=$2 status=$4 case=$6
echo "$tool: $case" >>"$(dirname "$0")/calls"
[ "$case" != "a slow one" ] || [ -n "$FAST" ] || exec sleep 60
case "$tool of $case" in
  "racecheck of a race") echo "Race reported"; exit "$status" ;;
  "initcheck of a race") exit 134 ;;
esac
"""


class DeviceSanitizer(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.build = Path(self.folder.name)
        self.write("unit_tests/solver/lutra_test_solver", PROGRAM)
        self.write("unit_tests/comm/lutra_test_ranks", "#!/bin/sh\nexit 1\n")
        self.sanitizer = self.write("compute-sanitizer", SANITIZER)

    def tearDown(self):
        self.folder.cleanup()

    def write(self, name, text):
        file = self.build / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        file.chmod(0o755)
        return file

    def run_script(self, *arguments, seconds="60", **environment):
        return subprocess.run([sys.executable, SCRIPT, self.build, "--sanitizer", self.sanitizer, "--names", "names.so",
                               "--seconds", seconds, *arguments], capture_output=True, text=True, check=False,
                              env={**os.environ, "FAST": "1", **environment})

    def calls(self):
        file = self.build / "calls"
        return file.read_text(encoding="utf-8").splitlines() if file.exists() else []

    def test_report(self):
        done = self.run_script(seconds="3", FAST="")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        slow = "    lutra_test_solver 'a slow one': ran longer than the limit"
        lines = done.stdout.splitlines()
        self.assertIn("memcheck: 2 of 3 tests clean, 0 with errors; 3 of 4 kernels covered", lines)
        self.assertIn("racecheck: 1 of 3 tests clean, 1 with errors; 3 of 4 kernels covered", lines)
        self.assertIn("  errors: lutra_test_solver 'a race'", lines)
        self.assertIn("initcheck: 1 of 3 tests clean, 1 with errors; 2 of 4 kernels covered", lines)
        at = lines.index("initcheck: 1 of 3 tests clean, 1 with errors; 2 of 4 kernels covered")
        self.assertEqual(lines[at + 1:at + 6],
                         ["  errors: lutra_test_solver 'a race'", "  not covered: race",
                          "    lutra_test_solver 'a race': failed with status 134", "  not covered: slow", slow])
        self.assertIn(r"memcheck: solves\, twice \[fast\]", self.calls())
        self.assertFalse(any("on hosts" in call for call in self.calls()), "a test without kernels was run")
        log = next((self.build / "sanitizer").glob("*racecheck.log"))
        results = json.loads((self.build / "sanitizer" / "results.json").read_text(encoding="utf-8"))
        self.assertEqual(results["lutra_test_solver"]["a race"]["racecheck"], "errors")
        self.assertTrue(log.exists())

    def test_goes_on(self):
        self.assertEqual(self.run_script("--tools", "memcheck").returncode, 0)
        count = len(self.calls())
        self.assertEqual(count, 3)
        again = self.run_script("--tools", "memcheck")
        self.assertEqual(len(self.calls()), count, "a test was run again")
        self.assertIn("memcheck: 3 of 3 tests clean", again.stdout)
        self.run_script("--tools", "memcheck", "--fresh")
        self.assertEqual(len(self.calls()), 2 * count)
        ended = self.run_script("--tools", "synccheck", "--minutes", "0")
        self.assertIn("The time is over", ended.stdout)
        self.assertIn("synccheck: 0 of 3 tests clean", ended.stdout)

    def test_list(self):
        listed = self.run_script("--list", "--tools", "memcheck,synccheck")
        self.assertEqual(listed.returncode, 0, listed.stderr)
        self.assertEqual(len(listed.stdout.splitlines()), 8)
        self.assertIn("--tool synccheck --error-exitcode 66", listed.stdout)
        self.assertEqual(self.calls(), [])

    def test_refusals(self):
        self.assertIn("there is no tool 'mem'", self.run_script("--tools", "mem").stderr)
        self.assertIn("has no test programs", self.run_script("--programs", "none").stderr)
        self.assertIn("'no-such-tool' is not there", self.run_script("--sanitizer", "no-such-tool").stderr)


class ThreadSanitizer(unittest.TestCase):
    def test_every_test_with_threads_is_tagged(self):
        """A source of tests that start threads tags them for sanitize.sh, in a program that it builds."""
        script = (ROOT / "scripts" / "sanitize.sh").read_text(encoding="utf-8")
        programs = re.search(r"^thread_programs=\((.*)\)$", script, re.MULTILINE).group(1).split()
        for source in sorted((ROOT / "unit_tests").glob("*/*.cpp")):
            text = source.read_text(encoding="utf-8")
            if not re.search(r"std::(vector<std::)?j?thread\b(?!>? )|std::async", text) or "TEST_CASE" not in text:
                continue
            with self.subTest(source=source.name):
                self.assertIn("[threads]", text)
                self.assertIn(source.parent.name, programs)

    def test_suppressions_have_reasons(self):
        lines = (ROOT / "scripts" / "thread.supp").read_text(encoding="utf-8").splitlines()
        for before, line in zip([""] + lines, lines):
            if line and not line.startswith("#"):
                self.assertTrue(before.startswith("#"), f"'{line}' has no reason in the line before it")


if __name__ == "__main__":
    unittest.main()
