#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs scripts/site.py, without MkDocs, and checks its pages: links, navigation, and pages of public interfaces."""

import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import api_pages  # noqa: E402

HEADER = """// SPDX-License-Identifier: none
#ifndef LUTRA_THING_HPP
#define LUTRA_THING_HPP

namespace lutra {

namespace Impl {
/// Not for users.
struct Hidden {};
}  // namespace Impl

class Later;

/// Holds a number.
/// @tparam T its type
template <class T>
class Thing : public Base<T> {
  using Base = int;

 public:
  /// Starts with a number.
  explicit Thing(T number)
      : m_number(number) {}
  Thing() : Thing(T()) {
    clear();
  }
  T number() const { return m_number; }
  /// Adds { and }.
  void add(T other) {
    if (other > 0) {
      m_number += other;
    }
  }

 private:
  void secret();
  T m_number;
};

/// Sum of a list.
/// @param list [n] what
///             is added
/// @returns the sum
/// @throws InputError if it is empty
inline double sum(const std::vector<double>& list) {
  return std::accumulate(list.begin(), list.end(), 0.0);
}

/// Kinds.
enum class Kind {
  one,  ///< the first
  two
};

}  // namespace lutra

#endif
"""
PAGE = """## class Thing

Holds a number.

- `T`: its type

```cpp
template <class T>
class Thing : public Base<T> {
  /// Starts with a number.
  explicit Thing(T number);
  Thing();
  T number() const;
  /// Adds { and }.
  void add(T other);
};
```

## sum()

Sum of a list.

- `list`: [n] what is added
- Returns the sum
- Throws InputError if it is empty

```cpp
inline double sum(const std::vector<double>& list);
```

## enum class Kind

Kinds.

```cpp
enum class Kind {
  one,  ///< the first
  two
};
```
"""


class Site(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        subprocess.run([sys.executable, str(ROOT / "scripts" / "site.py"), cls.folder.name], check=True)
        cls.pages = Path(cls.folder.name) / "pages"

    def test_links_lead_to_pages_or_files(self):
        pages = sorted(self.pages.rglob("*.md"))
        self.assertGreater(len(pages), 100)
        for page in pages:
            text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
            for target in re.findall(r"\]\(([^)\s#]+)[^)\s]*\)", text):
                if not re.match(r"https?:|mailto:", target):
                    with self.subTest(page=page.name, target=target):
                        self.assertTrue((page.parent / target).is_file())

    def test_navigation_has_every_page(self):
        nav = (Path(self.folder.name) / "mkdocs.yml").read_text(encoding="utf-8").split("\nnav:\n")[1]
        listed = re.findall(r": (\S+\.md)$", nav, re.MULTILINE)
        self.assertEqual(len(listed), len(set(listed)))
        for page in sorted((ROOT / "docs").glob("*.md")):
            self.assertIn(f"docs/{page.name}", listed)

    def test_public_headers_have_pages(self):
        index = (self.pages / "api" / "README.md").read_text(encoding="utf-8")
        for path in api_pages.public_headers():
            with self.subTest(header=path.name):
                text = (self.pages / "api" / f"{path.stem}.md").read_text(encoding="utf-8")
                self.assertIn(f"({path.stem}.md)", index)
                self.assertNotRegex(text, r"\bm_\w+;|^\s*(private|protected):")
                self.assertEqual(text.count("```") % 2, 0)
                types = re.findall(r"^(?:struct|class|enum class) (\w+)[^;\n]*\{$", (ROOT / path).read_text(), re.MULTILINE)
                self.assertEqual([t for t in types if not re.search(rf"^## .*\b{t}$", text, re.MULTILINE)
                                  and re.search(rf"^namespace lutra \{{[^}}]*\b{t}\b", (ROOT / path).read_text())], [])

    def test_a_header_becomes_its_page(self):
        name = "Lutra_Thing.hpp"
        (self.pages / name).write_text(HEADER)
        page = api_pages.header_page(self.pages / name)
        self.assertEqual(page[page.index("## "):], PAGE)

    def test_interfaces_of_c_and_python(self):
        header = (ROOT / "src" / "c" / "lutra.h").read_text(encoding="utf-8")
        page = (self.pages / "api" / "lutra_h.md").read_text(encoding="utf-8")
        functions = set(re.findall(r"\b(lutra_\w+)\(", re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)))
        self.assertGreater(len(functions), 20)
        self.assertEqual({name for name in functions if f"{name}(" not in page}, set())
        page = (self.pages / "api" / "python.md").read_text(encoding="utf-8")
        for heading in ("## splu", "## class Factors", "### Factors.solve", "## class SchurComplement"):
            self.assertIn(f"\n{heading}\n", page)
        self.assertIn("```python\nsplu(A: Any, batch: Any=None, **options: Any) -> LU | BatchedLU\n```", page)
        self.assertIn("```python\n>>> import numpy", page)


if __name__ == "__main__":
    unittest.main()
