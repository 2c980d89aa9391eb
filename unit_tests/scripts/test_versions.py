#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that every file that names the version of Lutra names the same one, and that a release is described."""

import re
import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Files with the whole version, and the pattern around it.
WHOLE = [
    ("CMakeLists.txt", r"project\(Lutra VERSION (\S+) "),
    ("python/pyproject.toml", r'(?m)^version = "(.*)"'),
    ("CITATION.cff", r"(?m)^version: (.*)$"),
    ("packaging/conda/recipe.yaml", r"(?m)^  version: (.*)$"),
    ("packaging/spack/packages/lutra/package.py", r'version\("([\d.]+)", tag='),
    ("packaging/spack/packages/lutra/package.py", r'tag="v([\d.]+)"'),
    ("src/c/lutra.h", r'such as "([\d.]+)"'),
    ("CHANGELOG.md", r"(?m)^## (\S+),"),  # the topmost section
]
# Files with major and minor version.
MINOR = [
    ("README.md", r"\bVersion ([\d.]+) solves"),
    ("packaging/lutra.1", r'"Lutra ([\d.]+)"'),
    ("docs/building.md", r"SONAME `liblutra\.so\.([\d.]+)`"),
    ("docs/building.md", r"find_package\(Lutra ([\d.]+) REQUIRED\)"),
]


def found(file, pattern):
    return re.search(pattern, (ROOT / file).read_text(encoding="utf-8")).group(1)


VERSION = found(*WHOLE[0])


def texts():
    """Files that may name a version in a call of find_package."""
    for folder in ("cmake", "docs", "example", "packaging", "perf_tests", "python", "scripts", "src", "unit_tests"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_file() and (path.name == "CMakeLists.txt" or path.suffix in (".cmake", ".md", ".sh")):
                yield path


class Versions(unittest.TestCase):
    def test_all_files_agree(self):
        self.assertRegex(VERSION, r"^\d+\.\d+\.\d+$")
        for file, pattern in WHOLE:
            with self.subTest(file=file, pattern=pattern):
                self.assertEqual(found(file, pattern), VERSION)
        for file, pattern in MINOR:
            with self.subTest(file=file, pattern=pattern):
                self.assertEqual(found(file, pattern), VERSION.rsplit(".", 1)[0])

    def test_find_package_asks_for_this_version(self):
        places = [*texts(), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
        asked = {(path.relative_to(ROOT).as_posix(), version) for path in places
                 for version in re.findall(r"find_package\(Lutra ([\d.]+)", path.read_text(encoding="utf-8"))}
        self.assertGreater(len(asked), 10)
        self.assertEqual({item for item in asked if item[1] != VERSION.rsplit(".", 1)[0]}, set())

    def test_the_release_has_a_date(self):
        """The date of CITATION.cff is that of the changes."""
        months = ("January February March April May June July August September October November December").split()
        day, month, year = found("CHANGELOG.md", rf"(?m)^## {re.escape(VERSION)}, (.*)$").split()
        self.assertEqual(found("CITATION.cff", r'date-released: "(.*)"'),
                         f"{year}-{months.index(month) + 1:02}-{int(day):02}")

    def test_release_script_takes_only_this_version(self):
        told = subprocess.run(["bash", str(ROOT / "scripts" / "release.sh"), "--version"], capture_output=True, text=True)
        self.assertEqual((told.returncode, told.stdout.strip()), (0, VERSION))


if __name__ == "__main__":
    unittest.main()
