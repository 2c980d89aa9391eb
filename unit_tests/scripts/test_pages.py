#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks the pages: links have targets, files, options and commands exist, code is compiled somewhere, and numbers agree
with the code."""

import json
import re
import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs").glob("*.md"))
NOTES = sorted((ROOT / "docs" / "notes").glob("*.md"))
TOP = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")]
TEXTS = PAGES + [ROOT / "docs" / "notes" / "README.md", *TOP]
# Pages whose code comes from example/ and the tests of plug-ins
PAGES_OF_EXAMPLES = ("guide.md", "plugins.md", "trilinos.md", "trilinos-batches.md")
MAX_LINES = 150
MAX_COLUMNS = 120  # of every line, tables included
PRESETS = {p["name"] for p in json.loads((ROOT / "CMakePresets.json").read_text())["configurePresets"]}

# Numbers that a page repeats: page, pattern in the page, file, pattern in the file. Groups are compared as numbers in order.
DEVICE_MODEL = "src/common/Lutra_DeviceModel.cpp"
CONSTANTS = [
    ("numeric.md", r"at least (\d+) flops per stored", DEVICE_MODEL, r"min_flops_per_entry = (\d+);"),
    ("numeric.md", r"`--pivot threshold`, tolerance u = ([\d.]+)", "src/solver/options/Lutra_Options.hpp", r"(?s)struct LuChoices.*?pivot_threshold = ([\d.]+);"),
    ("ldlt.md", r"`pivot_threshold`,\s+([\d.]+), at most", "src/solver/options/Lutra_Options.hpp", r"(?s)struct LdltChoices.*?pivot_threshold =\s+([\d.]+);"),
    ("nested-dissection.md", r"leaves\s+of\s+(\d+)\s+vertices", "src/ordering/Lutra_NestedDissection.hpp", r"leaf_vertices = (\d+);"),
    ("ordering.md", r"by\s+which\s+AMD's\s+order\s+exceeds\s+([\d,]+)\s+flops", DEVICE_MODEL,
     r"saved_from_flops_per_row = (\d+);"),
    ("prediction.md", r"latency of a message \| ([\d.]+) µs \| ([\d.]+) µs", DEVICE_MODEL,
     r"(?s)latency_seconds = ([\d.]+)e-6,.*latency_seconds = ([\d.]+)e-6,"),
    ("prediction.md", r"link \| (\d+) GB/s \| (\d+) GB/s", DEVICE_MODEL,
     r"(?s)link_bandwidth = (\d+)e9.*link_bandwidth = (\d+)e9"),
    ("prediction.md", r"dependency inside a device \| ([\d.]+) µs \| ([\d.]+) µs", DEVICE_MODEL,
     r"(?s)distributed = \{\.start_seconds = [\de.-]+,\s+\.dependency_seconds = ([\d.]+)e-6.*"
     r"distributed = \{\.start_seconds = [\de.-]+,\s+\.dependency_seconds = ([\d.]+)e-6"),
    ("comm.md", r"watchdog of T = (\d+) s", "src/comm/Lutra_Communicator.hpp", r"watchdog_seconds = (\d+);"),
    ("distributed-triangles.md", r"need each other\s+\(up\s+to (\d+);", "src/trisolve/distributed/Lutra_DistributedTriangles.hpp", r"max_width = (\d+);"),
    ("distributed-triangles.md", r"solved\s+in\s+groups\s+of\s+up\s+to\s+(\d+)", "src/trisolve/distributed/Lutra_DistributedTriangles.hpp", r"max_columns = (\d+);"),
    ("building.md", r"Kokkos and Kokkos Kernels \| ([\d.]+) ", "cmake/LutraDependencies.cmake", r"find_package\(Kokkos ([\d.]+) "),
    ("building.md", r"a C\+\+20 compiler \| ([\d.]+),", "CMakeLists.txt", r"cmake_minimum_required\(VERSION ([\d.]+)\)"),
    ("building.md", r"find_package\(Lutra ([\d.]+) REQUIRED\)", "CMakeLists.txt", r"project\(Lutra VERSION (\d+\.\d+)\."),
    ("python.md", r"Python ([\d.]+), NumPy", "python/pyproject.toml", r'requires-python = ">=([\d.]+)"'),
]


def code_blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def anchors(text):
    """The anchors that GitHub makes for the headings of a page."""
    headings = re.findall(r"^#+ +(.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def normalized(code):
    """The code without indentation and empty lines, so that a part of a function can be compared with its source."""
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
        tracked = [p for folder in ("src", "unit_tests", "perf_tests", "example", "scripts", "cmake", "docs", "fuzz")
                   for p in (ROOT / folder).rglob("*")]
        names = {p.name for p in tracked} | {p.stem for p in tracked}
        for page in TEXTS:
            text = page.read_text()
            named = set(re.findall(r"\bLutra_[A-Z]\w*(?:\.(?:hpp|cpp))?", text))
            named |= {Path(p).name for p in re.findall(r"\b(?:scripts|perf_tests|unit_tests)/[\w./]*\w\.(?:py|sh|cmake|cpp|hpp)", text)}
            for name in sorted(named):
                if re.match(r"Lutra_(Thing|ENABLE|REQUIRE|FUZZ_|SCALARS|ORDINALS|BACKENDS|ROOT|DIR)", name):
                    continue  # stands for any name; options and variables of CMake
                with self.subTest(page=page.name, name=name):
                    self.assertTrue(name in names, f"{name} does not exist")

    def test_cmake_options_named_exist(self):
        cmake = "".join(p.read_text() for p in [ROOT / "CMakeLists.txt", *(ROOT / "cmake").glob("*.cmake")])
        for page in TEXTS:
            for option in sorted(set(re.findall(r"(?:\b|-[DU])(Lutra_[A-Z]{3,}_?[A-Z_]*)\b", page.read_text()))):
                if option in ("Lutra_ROOT", "Lutra_DIR"):
                    continue
                with self.subTest(page=page.name, option=option):
                    self.assertTrue(re.search(rf"\b{option}\b", cmake), f"{option} does not exist")

    def test_code_comes_from_examples(self):
        sources = [normalized(p.read_text()) for pattern in ("*.cpp", "CMakeLists.txt")
                   for folder in ("example", "unit_tests/trilinos", "unit_tests/plugins")
                   for p in (ROOT / folder).rglob(pattern)]
        for name in PAGES_OF_EXAMPLES:
            page = (ROOT / "docs" / name).read_text()
            blocks = code_blocks(page, "cpp") + code_blocks(page, "cmake")
            self.assertTrue(blocks)
            for block in blocks:
                with self.subTest(page=name, block=block):
                    # "// …" marks omitted lines.
                    for part in re.split(r"^\s*// …\s*$", block, flags=re.MULTILINE):
                        self.assertTrue(any(normalized(part) in source for source in sources), "in no example:\n" + part)

    def test_other_code_is_compiled(self):
        """unit_tests/consumer compiles the program in the README, unit_tests/pages the fragments of programs."""
        compiled = (ROOT / "unit_tests" / "pages" / "Lutra_PageSnippets.cpp").read_text()
        for page in TEXTS:
            blocks = code_blocks(page.read_text(), "cpp")
            if page.name == "README.md":
                self.assertEqual(len(blocks), 1 if page.parent == ROOT else 0)
            elif page.name not in PAGES_OF_EXAMPLES:
                for number in range(1, len(blocks) + 1):
                    with self.subTest(page=page.name, number=number):
                        self.assertIn(f'#include "{page.stem}_{number}.inc"', compiled)

    def test_commands_exist(self):
        cli = "".join(p.read_text() for p in (ROOT / "src" / "cli").glob("*.cpp"))
        for page in TEXTS:
            for block in code_blocks(page.read_text(), "sh"):
                with self.subTest(page=page.name, block=block):
                    checked = subprocess.run(["bash", "-n"], input=block.replace("<Trilinos>", "PLACE"), capture_output=True, text=True)
                    self.assertEqual((checked.returncode, checked.stderr), (0, ""))
                    lines = re.sub(r"(^|\s)#.*", "", block.replace("\\\n", " ")).splitlines()
                    for command in (part for line in lines for part in line.split("&&")):
                        self.check_command(command, cli)

    def check_command(self, command, cli):
        words = command.split()
        for word, following in zip(words, words[1:]):
            if word == "--preset":
                self.assertIn(following, PRESETS)
        script = next((w for w in words if re.match(r"scripts/[\w-]+\.(sh|py)$", w)), None)
        if script is not None:
            source = (ROOT / script).read_text() + (ROOT / "scripts" / "common.sh").read_text()
            own = words[words.index(script) + 1:]
            for option in [w for w in (own[:own.index("--")] if "--" in own else own) if w.startswith("-")]:
                self.assertRegex(source, rf"(?<![\w-]){option}\b")
        elif "lutra" in words:
            self.assertIn(f'add_subcommand("{words[words.index("lutra") + 1]}"', re.sub(r"\(\s+", "(", cli))
            for option in [w for w in words[words.index("lutra") + 1:] if w.startswith("--")]:
                self.assertIn(f'"{option}"', cli)

    def test_targets_and_components_exist(self):
        for page in TEXTS:
            for block in code_blocks(page.read_text(), "cmake"):
                for target in re.findall(r"Lutra::(\w+)", block):
                    with self.subTest(page=page.name, target=target):
                        self.assertIn(target, ("lutra", "c", "fortran", "nvshmem", "sundials", "trilinos"))
                for component in re.findall(r"COMPONENTS (\w+)", block):
                    self.assertIn(component, ("C", "nvshmem", "trilinos"))

    def test_numbers_are_those_of_the_code(self):
        for page, stated, file, defined in CONSTANTS:
            with self.subTest(page=page, stated=stated):
                there = re.search(stated, (ROOT / "docs" / page).read_text())
                here = re.search(defined, (ROOT / file).read_text())
                self.assertTrue(there, "the page no longer says this")
                self.assertTrue(here, f"{file} no longer defines this")
                self.assertEqual([float(text.replace(",", "")) for text in there.groups()],
                                 [float(text) for text in here.groups()])

    def test_limitations_have_tests(self):
        """A comment beside a test quotes the beginning of each limitation in the README."""
        limits = (ROOT / "README.md").read_text().split("## Limitations")[1].split("\n## ")[0]
        tests = "".join(p.read_text() for p in (ROOT / "unit_tests").rglob("*.cpp"))
        quoted = re.findall(r'// README, Limitations: "(.*)"', tests)
        for limit in re.findall(r"^- (.*)$", limits, re.MULTILINE):
            with self.subTest(limit=limit):
                self.assertTrue(any(limit.startswith(words) for words in quoted), "no test names it")

    def test_pages_are_short(self):
        for page in PAGES:
            lines = page.read_text().splitlines()
            with self.subTest(page=page.name):
                self.assertLessEqual(len(lines), MAX_LINES)

    def test_lines_are_short(self):
        for page in [*PAGES, *TOP]:
            with self.subTest(page=page.name):
                wide = [line[:60] for line in page.read_text().splitlines() if len(line) > MAX_COLUMNS]
                self.assertFalse(wide)

    def test_notes_have_a_date_and_are_listed(self):
        listed = (ROOT / "docs" / "notes" / "README.md").read_text()
        for note in NOTES:
            if note.name != "README.md":
                with self.subTest(note=note.name):
                    self.assertRegex(note.name, r"^\d{4}-\d{2}-\d{2}-[a-z0-9-]+\.md$")
                    self.assertEqual(listed.count(f"({note.name})"), 1)


if __name__ == "__main__":
    unittest.main()
