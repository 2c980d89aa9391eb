#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks the pages: links lead somewhere, files and options that are named exist, code comes from the examples."""

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs").glob("*.md"))
NOTES = sorted((ROOT / "docs" / "notes").glob("*.md"))
TEXTS = PAGES + [ROOT / "docs" / "notes" / "README.md", ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
MAX_LINES = 150
MAX_COLUMNS = 160  # of a line outside tables


def code_blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def anchors(text):
    """GitHub's anchors of the headings of a page."""
    headings = re.findall(r"^#+ +(.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def normalized(code):
    """Lines without indentation and empty lines, so that a part of a function compares with its source."""
    return "\n".join(line.strip() for line in code.splitlines() if line.strip())


class Pages(unittest.TestCase):
    def test_links_lead_somewhere(self):
        for page in TEXTS:
            text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
            for target in re.findall(r"\]\(([^)\s]+)\)", text):
                if re.match(r"https?:", target):
                    continue
                path, _, anchor = target.partition("#")
                with self.subTest(page=page.name, target=target):
                    file = (page.parent / path).resolve() if path else page
                    self.assertTrue(file.exists())
                    if anchor:
                        self.assertIn(anchor, anchors(file.read_text()))

    def test_files_named_exist(self):
        tracked = [p for folder in ("src", "unit_tests", "perf_tests", "example", "scripts", "cmake", "docs")
                   for p in (ROOT / folder).rglob("*")]
        names = {p.name for p in tracked} | {p.stem for p in tracked}
        for page in TEXTS:
            text = page.read_text()
            named = set(re.findall(r"\bLutra_[A-Z]\w*(?:\.(?:hpp|cpp))?", text))
            named |= {Path(p).name for p in re.findall(r"\b(?:scripts|perf_tests|unit_tests)/[\w./]*\w\.(?:py|sh|cmake|cpp|hpp)", text)}
            for name in sorted(named):
                if re.match(r"Lutra_(Thing|ENABLE|REQUIRE|SCALARS|ORDINALS|BACKENDS|ROOT|DIR)", name):
                    continue  # stands for any name; options and variables of CMake
                with self.subTest(page=page.name, name=name):
                    self.assertTrue(name in names, f"{name} does not exist")

    def test_cmake_options_named_exist(self):
        cmake = "".join(p.read_text() for p in [ROOT / "CMakeLists.txt", *(ROOT / "cmake").glob("*.cmake")])
        for page in TEXTS:
            for option in sorted(set(re.findall(r"\bLutra_[A-Z]{3,}_?[A-Z_]*\b", page.read_text()))):
                if option in ("Lutra_ROOT", "Lutra_DIR"):
                    continue
                with self.subTest(page=page.name, option=option):
                    self.assertTrue(re.search(rf"\b{option}\b", cmake), f"{option} does not exist")

    def test_code_of_the_guide_comes_from_examples(self):
        sources = [normalized(p.read_text()) for p in (ROOT / "example").rglob("*.cpp")]
        sources += [normalized(p.read_text()) for p in (ROOT / "example").rglob("CMakeLists.txt")]
        guide = (ROOT / "docs" / "guide.md").read_text()
        blocks = code_blocks(guide, "cpp") + code_blocks(guide, "cmake")
        self.assertTrue(blocks)
        for block in blocks:
            with self.subTest(block=block):
                # "// …" stands for lines left out.
                for part in re.split(r"^\s*// …\s*$", block, flags=re.MULTILINE):
                    self.assertTrue(any(normalized(part) in source for source in sources), "in no example:\n" + part)

    def test_pages_are_short(self):
        for page in PAGES:
            lines = page.read_text().splitlines()
            with self.subTest(page=page.name):
                self.assertLessEqual(len(lines), MAX_LINES)
                self.assertFalse([line[:60] for line in lines if len(line) > MAX_COLUMNS and not line.startswith("|")])

    def test_notes_have_a_date_and_are_listed(self):
        listed = (ROOT / "docs" / "notes" / "README.md").read_text()
        for note in NOTES:
            if note.name != "README.md":
                with self.subTest(note=note.name):
                    self.assertRegex(note.name, r"^\d{4}-\d{2}-\d{2}-[a-z0-9-]+\.md$")
                    self.assertEqual(listed.count(f"({note.name})"), 1)


if __name__ == "__main__":
    unittest.main()
