#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that type names are unique, since the linker treats two types of one name in one namespace as one type, and that
public headers define the types that they expose."""

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

DEFINITION = re.compile(r"^(?:struct|class|enum class) (\w+)(?: final)?(?: :[^;{]*)?\s*\{", re.MULTILINE)
# What a user's program does not name: comments, members of a class that are not public, and the namespace Impl.
NOT_EXPOSED = re.compile(r"//[^\n]*|^ (?:private|protected):.*?^\};|^namespace Impl \{.*?^\}  // namespace Impl$"
                         r"|\) \{\n(?:  [^\n]*\n|\n)*\}\n|\bImpl::\w+(?:<[^;{()]*>)?", re.MULTILINE | re.DOTALL)


def public_headers():
    listed = re.search(r"Lutra_PUBLIC_HEADERS\s([^)]*)\)", (SOURCES / "CMakeLists.txt").read_text()).group(1)
    return [SOURCES / f"{name}.hpp" for name in listed.split()]


def types_of(paths):
    """The types that headers define in the namespace lutra."""
    texts = [path.read_text(encoding="utf-8") for path in paths]
    return {m.group(1) for text in texts for m in DEFINITION.finditer(text) if namespace_at(text, m.start()) == "lutra"}


class Names(unittest.TestCase):
    def test_public_headers_define_the_types_they_expose(self):
        public = public_headers()
        internal = types_of(SOURCES.rglob("*.hpp")) - types_of(public)
        self.assertGreater(len(internal), 100)
        for path in public:
            text = NOT_EXPOSED.sub("", path.read_text(encoding="utf-8"))
            exposed = set(re.findall(r"(?<!::)\b[A-Z]\w+", text)) - set(re.findall(r"using (\w+) =", text))
            with self.subTest(header=path.name):
                self.assertEqual(exposed & internal, set())

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
