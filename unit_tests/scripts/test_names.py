#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that type names are unique: the linker treats two types of one name in one namespace as one type."""

import re
import unittest
from collections import defaultdict
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[2] / "src"
# A type that is not a template, defined outside of functions and other types.
TYPE = re.compile(r"^(?:struct|class|enum class) (\w+)(?: final)?(?: :[^;{]*)?\s*\{", re.MULTILINE)
TEMPLATE = re.compile(r"template <[^\n]*(?:\n[^\n]*)?\n$")
NAMESPACE = re.compile(r"^namespace ?([\w:]*) \{|^\}  // namespace ?([\w:]*)", re.MULTILINE)


def namespace_at(text, position):
    """The namespace at a position; None in one without a name."""
    names = []
    for match in NAMESPACE.finditer(text, 0, position):
        if match.group(0).startswith("}"):
            names.pop()
        else:
            names.append(match.group(1))
    return None if "" in names else "::".join(names)


class Names(unittest.TestCase):
    def test_types_have_names_of_their_own(self):
        places = defaultdict(set)
        for path in [*SOURCES.rglob("*.hpp"), *SOURCES.rglob("*.cpp")]:
            text = path.read_text(encoding="utf-8")
            for match in TYPE.finditer(text):
                if TEMPLATE.search(text[:match.start()]):
                    continue
                namespace = namespace_at(text, match.start())
                if namespace is not None:
                    places[f"{namespace}::{match.group(1)}"].add(path.name)
        self.assertGreater(len(places), 100)
        self.assertEqual({name: files for name, files in places.items() if len(files) > 1}, {})


if __name__ == "__main__":
    unittest.main()
