#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counts what the house is measured by: lines of code, public headers, includes of internals, long files, wide pages."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MAX_FILE_LINES = 500
MAX_PAGE_COLUMNS = 120


def without_comments(text):
    """C++ without comments; strings are not changed."""
    token = re.compile(r'R"([^(\s\\]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|//[^\n]*|/\*.*?\*/', re.DOTALL)
    return token.sub(lambda m: "" if m.group(0).startswith("/") else m.group(0), text)


def code_lines(path):
    return sum(1 for line in without_comments(path.read_text()).splitlines() if line.strip())


def room_of(path):
    """The folder of the stage or method that a source belongs to: its own, without impl/ and what is below."""
    parts = path.relative_to(ROOT / "src").parts[:-1]
    return parts[: parts.index("impl")] if "impl" in parts else parts


def includes_of_internals(sources):
    """(source, header) for each include of a header in impl/ of another stage or method; all share common/impl/."""
    headers = {p.name: p for p in sources if p.suffix == ".hpp"}
    found = []
    for path in sources:
        for name in re.findall(r'^#include "(Lutra_\w+\.hpp)"', path.read_text(), re.MULTILINE):
            header = headers.get(name)
            if header is None or "impl" not in header.parts or room_of(header)[0] == "common":
                continue
            room = room_of(header)
            if room_of(path)[: len(room)] != room:
                found.append((path, header))
    return found


def main():
    sources = sorted(p for p in (ROOT / "src").rglob("*") if p.suffix in {".hpp", ".cpp", ".h"})
    lines = {p: code_lines(p) for p in sources}
    by_stage = {}
    for path, count in lines.items():
        stage = path.relative_to(ROOT / "src").parts[0]
        by_stage[stage] = by_stage.get(stage, 0) + count
    listed = re.search(r"Lutra_PUBLIC_HEADERS\s([^)]*)\)", (ROOT / "src" / "CMakeLists.txt").read_text()).group(1)
    public = [*listed.split(), "c/lutra.h"]
    long_files = [p for p in sources if len(p.read_text().splitlines()) > MAX_FILE_LINES]
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]
    wide = sum(len(line) > MAX_PAGE_COLUMNS for page in pages for line in page.read_text().splitlines())
    internals = includes_of_internals(sources)
    dispatch = sum(p.read_text().count("is_host_space") for p in sources)

    print(f"code lines of src/               {sum(lines.values())}")
    for stage, count in sorted(by_stage.items(), key=lambda item: -item[1]):
        print(f"  {stage:<31}{count}")
    print(f"public headers                   {len(public)}")
    print(f"is_host_space                    {dispatch}")
    print(f"includes of others' internals    {len(internals)}")
    for path, header in internals:
        print(f"  {path.relative_to(ROOT / 'src')}  {header.name}")
    print(f"lines of pages above {MAX_PAGE_COLUMNS} columns   {wide}")
    print(f"files above {MAX_FILE_LINES} lines            {len(long_files)}")
    for path in long_files:
        print(f"  {path.relative_to(ROOT)}  {len(path.read_text().splitlines())}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
