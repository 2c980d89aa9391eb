#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes what MkDocs builds the site from: copies of the pages, a page for each public header, and the navigation.

    scripts/site.py build/site

scripts/site.sh calls it. The copies keep their places, so that links between them stay; files of the sources that a
page links to are copied as well, folders become pages that list their files, and public headers their API pages.
"""

import os
import re
import shutil
import sys
from pathlib import Path

from api_pages import ROOT, c_page, header_page, include_name, plain_page, plugin_headers, public_headers, python_page

LINK = re.compile(r"(\]\()([^)\s#]+)((?:#[^)\s]*)?\))")
FENCE = re.compile(r"^```.*?^```[^\n]*$", re.MULTILINE | re.DOTALL)
PAGES = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"]


def title_of(text):
    """The first heading of a page, as plain text."""
    return re.search(r"^# +(.*)$", text, re.MULTILINE).group(1).replace("`", "")


class Site:
    """The folder of pages, and what is in it."""

    def __init__(self, folder):
        self.folder = folder
        self.api = {path.as_posix(): f"api/{path.stem}.md" for path in public_headers()}
        self.api["src/c/lutra.h"] = "api/lutra_h.md"
        self.api.update({path.as_posix(): f"api/{path.name.replace('.', '_')}.md" for path in plugin_headers()})

    def write(self, place, text):
        file = self.folder / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def target(self, place):
        """What a link to a place of the sources leads to; copies or lists it where it is no page."""
        source = ROOT / place
        if place in self.api:
            return self.api[place]
        if source.is_dir():
            return self.list_folder(place)
        if source.suffix == ".md":
            return place
        file = self.folder / (place if source.suffix or source.name == "LICENSE" else place + ".txt")
        file.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, file)
        return file.relative_to(self.folder).as_posix()

    def list_folder(self, place):
        """A page with the files of a folder, or the page that the folder has itself."""
        if (ROOT / place / "README.md").exists():
            return f"{place}/README.md"
        name = f"{place}/index.md"
        if not (self.folder / name).exists():
            lines = [f"# {place}\n"]
            self.write(name, "")  # folders may link to each other
            for path in sorted((ROOT / place).iterdir(), key=lambda p: (p.is_file(), p.name)):
                inner = path.relative_to(ROOT).as_posix()
                if path.name != "__pycache__":
                    lines.append(f"- [{path.name}]({os.path.relpath(self.target(inner), place)})")
            self.write(name, "\n".join(lines) + "\n")
        return name

    def copy_page(self, place):
        """Copies a page, with links to what the site has in place of the sources."""

        def replaced(match):
            before, target, after = match.groups()
            if re.match(r"https?:|mailto:", target):
                return match.group(0)
            inner = os.path.normpath(Path(place).parent / target)
            return before + os.path.relpath(self.target(Path(inner).as_posix()), Path(place).parent) + after

        text, parts, end = (ROOT / place).read_text(encoding="utf-8"), [], 0
        for fence in FENCE.finditer(text):  # code has no links
            parts += [LINK.sub(replaced, text[end:fence.start()]), fence.group(0)]
            end = fence.end()
        self.write(place, "".join(parts) + LINK.sub(replaced, text[end:]))

    def write_api(self):
        """Pages of headers and of the package, and the list of them."""
        lines = ["# Interfaces\n", "- [lutra.h](lutra_h.md): C and other languages", "- [lutra](python.md): Python"]
        for path in plugin_headers():
            page = self.api[path.as_posix()]
            self.write(page, header_page(path) if path.suffix == ".hpp" else plain_page(path))
            lines.append(f"- [{include_name(path)}]({Path(page).name}): {path.parts[2]}")
        lines += ["\nPublic headers of C++; [`Lutra.hpp`](Lutra.md) includes what most programs need.\n"]
        self.write("api/lutra_h.md", c_page())
        self.write("api/python.md", python_page())
        stage = ""
        for path in public_headers():
            self.write(self.api[path.as_posix()], header_page(path))
            if path.parts[1] != stage:
                stage = path.parts[1]
                lines.append(f"\n## {stage}\n")
            lines.append(f"- [{path.stem}]({path.stem}.md)")
        self.write("api/README.md", "\n".join(lines) + "\n")


def navigation(listing):
    """The pages that docs/README.md lists, by its headings. Raises ValueError for a page that it does not list."""
    text = (ROOT / listing).read_text(encoding="utf-8")
    nav, seen = [], set()
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        heading, body = section.split("\n", 1)
        pages = []
        for _, target, _ in LINK.findall(body):
            place = Path(os.path.normpath(Path(listing).parent / target)).as_posix()
            if place.endswith(".md") and place not in seen:
                seen.add(place)
                pages.append((title_of((ROOT / place).read_text(encoding="utf-8")), place))
        nav.append((heading, pages))
    missing = {p.relative_to(ROOT).as_posix() for p in (ROOT / "docs").glob("*.md")} - seen - {listing}
    if missing:
        raise ValueError(f"{listing} does not list {', '.join(sorted(missing))}")
    return nav


def quoted(text):
    return '"' + text.replace('"', "'") + '"'


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    folder = Path(sys.argv[1])
    shutil.rmtree(folder / "pages", ignore_errors=True)
    site = Site(folder / "pages")
    for page in [*PAGES, *(p.relative_to(ROOT).as_posix() for p in sorted((ROOT / "docs").rglob("*.md")))]:
        site.copy_page(page)
    for figure in sorted((ROOT / "docs").rglob("*.svg")):
        site.target(figure.relative_to(ROOT).as_posix())
    shutil.copyfile(ROOT / "packaging" / "site" / "wide.css", folder / "pages" / "wide.css")
    site.write_api()
    lines = ["nav:", "  - Lutra: README.md", "  - Map: docs/README.md"]
    for heading, pages in navigation("docs/README.md"):
        lines += [f"  - {quoted(heading)}:", *(f"      - {quoted(title)}: {place}" for title, place in pages)]
    lines += ["  - Interfaces: api/README.md", "  - Changes: CHANGELOG.md", "  - Security: SECURITY.md"]
    config = (ROOT / "packaging" / "site" / "mkdocs.yml").read_text(encoding="utf-8")
    (folder / "mkdocs.yml").write_text(config + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
