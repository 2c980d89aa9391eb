# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pages of the public interfaces, made from the comments of headers and the docstrings of the Python package."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COMMAND = re.compile(r"^@(t?param|returns?|throws)\b\s*")


def public_headers():
    """The headers that src/CMakeLists.txt lists, relative to the root."""
    listed = re.search(r"Lutra_PUBLIC_HEADERS\s([^)]*)\)", (ROOT / "src" / "CMakeLists.txt").read_text()).group(1)
    return [Path("src") / f"{name}.hpp" for name in listed.split()]


def plugin_headers():
    """Headers for other programs, which they include as <lutra/…>."""
    return sorted(path.relative_to(ROOT) for path in (ROOT / "src" / "plugins").glob("*/lutra/*.h*"))


def include_name(path):
    """The name by which a program includes a header."""
    return f"lutra/{path.name}" if path.parent.name == "lutra" else path.name


def prose(lines):
    """Markdown of a comment: paragraphs, and a list of parameters, result and exceptions."""
    text, items = [], []
    for line in lines:
        command = COMMAND.match(line)
        if command:
            word, rest = command.group(1), line[command.end():]
            if word.endswith("param"):
                name, _, rest = rest.partition(" ")
                items.append(f"`{name}`: {rest}")
            else:
                items.append(f"{'Returns' if word.startswith('return') else 'Throws'} {rest}")
        elif items and line.strip():
            items[-1] += " " + line.strip()
        else:
            text.append(line)
    escaped = [re.sub(r"<(?=\w)", r"\\<", line) for line in text]
    return "\n".join(escaped).strip() + "\n\n" + "".join(f"- {item}\n" for item in items) + ("\n" if items else "")


def code_of(line):
    """The line without comments, texts and braces in quotes."""
    return re.sub(r"//.*|\"(\\.|[^\"])*\"|'\{'|'\}'", "", line)


def without_bodies(lines):
    """Lines of a type, where functions end before their bodies and members that are not public are left out."""
    kept, depth, end_of_body = [], 0, None
    hidden = []  # for each open brace of a type, whether its members are left out at this point
    for line in lines:
        code = code_of(line)
        after = depth + code.count("{") - code.count("}")
        access = re.match(r"\s+(public|private|protected):$", line)
        opens_type = re.match(r"\s*(struct|class|enum|union)\b", line)
        if end_of_body is not None:  # inside a function
            end_of_body = None if after <= end_of_body else end_of_body
        elif access:
            hidden[-1] = access.group(1) != "public"
        elif after < depth:
            hidden = hidden[:after]
            kept += [] if any(hidden) else [line]
        elif after == depth:
            body = re.sub(r"\)([\w ]*?)(?: :.*)? \{.*\}$", r")\1;", line) if depth else line
            kept += [] if any(hidden) else [body]
        elif opens_type or depth == 0 or re.search(r"=\s*\{$", code):
            kept += [] if any(hidden) else [line]
            hidden += [bool(re.match(r"\s*class\b", line)) if opens_type else "class " in "".join(kept[:2])] * (after - depth)
        else:
            kept += [] if any(hidden) else [re.sub(r"\s*\{[^{}]*$", ";", line)]
            end_of_body = depth
        depth = after
    text = re.sub(r"\)\s+: [^;]*;", ");", "\n".join(kept))  # constructors end before their initializers
    text = re.sub(r"\n\n+(?=\s*\};?$)", "\n", text, flags=re.MULTILINE)
    return re.sub(r"\{\n\n+", "{\n", text).split("\n")


def function_only(lines):
    """A function at namespace scope without its body."""
    text = "\n".join(lines)
    begin = re.match(r"(?s)template [^\n]*\n\s*requires requires\(.*?\n\}", text)
    match = re.compile(r"\)( const| noexcept)*( -> [^{]*)? ?\{").search(text, begin.end() if begin else 0)
    return (text[:match.end()].rstrip("{").rstrip() + ";").split("\n") if match else lines


def declarations(text):
    """(comment, lines) of each declaration in namespace lutra, Lutra in plug-ins; not of namespaces within it."""
    body = re.search(r"^namespace [Ll]utra \{\n(.*)^\}  // namespace [Ll]utra$", text, re.MULTILINE | re.DOTALL)
    inner = re.sub(r"^namespace ((?:Impl|internal) )?\{.*?^\}  // namespace(?: Impl| internal)?$", "",
                   body.group(1) if body else "", flags=re.MULTILINE | re.DOTALL)
    comment, lines, depth = [], [], 0
    for line in inner.split("\n"):
        if not lines and line.startswith("///"):
            comment.append(line[3:].removeprefix(" "))
        elif not lines and (not line.strip() or line.startswith(("//", "#"))):
            comment = [] if not line.strip() else comment
        else:
            lines.append(line)
            code = code_of(line)
            depth += code.count("{") + code.count("(") - code.count("}") - code.count(")")
            is_constraint = re.fullmatch(r"(?s)template [^\n]*\n\s*requires requires\(.*", "\n".join(lines))
            if depth == 0 and re.search(r"[;}]\s*$", code) and not (is_constraint and lines.count("}") == 1):
                yield comment, lines
                comment, lines = [], []


def name_of(lines):
    """Kind and name of what is declared, and whether it is a type."""
    text = re.sub(r"(?s)^\s*requires requires\(.*?\n\}\n", "", "\n".join(lines), flags=re.MULTILINE)
    text = re.sub(r"^template <([^<>]|<[^<>]*>)*>\n|^\s*requires.*\n", "", text, flags=re.MULTILINE)
    kind = re.match(r"(struct|class|enum class|enum|using|concept|namespace)\s+(\w+)", text)
    if kind:
        return f"{kind.group(1)} {kind.group(2)}", kind.group(1) not in ("using", "concept", "namespace")
    function = re.search(r"(operator\S+|\w+)\(", text)
    value = re.search(r"(\w+)(?: = .*|\{.*)?;", text)
    name = function or value
    return (name.group(1) + ("()" if function else "") if name else ""), False


def header_page(path):
    """The page of a header of C++."""
    text = (ROOT / path).read_text(encoding="utf-8")
    head = re.match(r"(?://[^\n]*\n)*(?:#ifndef.*\n#define.*\n\n)?((?://[^\n]*\n)*)", text).group(1)
    name = include_name(path)
    page = [f"# {name if '/' in name else path.stem}\n", "```cpp", f"#include <{name}>", "```\n"]
    page += [prose([line.lstrip("/").removeprefix(" ") for line in head.split("\n")])] if head else []
    sections = {}  # name: texts, so that overloads stand together
    for comment, lines in declarations(text):
        name, is_type = name_of(lines)
        if not name or name.startswith("namespace") or re.match(r"(struct|class) \w+;$", "\n".join(lines)):
            continue
        code = "\n".join(without_bodies(lines) if is_type else function_only(lines))
        sections.setdefault(name, []).append(f"{prose(comment)}```cpp\n{code}\n```\n")
    for name, parts in sections.items():
        page += [f"## {name}\n", *parts]
    if not sections:
        included = re.findall(r'#include "(Lutra_\w+)\.hpp"', text)
        page += ["Includes " + ", ".join(included) + ".\n" if included else "Macros and types of the build.\n"]
    return "\n".join(page)


def plain_page(path):
    """The page of a header of C that has no sections: what stands between its guards."""
    text = (ROOT / path).read_text(encoding="utf-8")
    body = re.sub(r"^#ifdef __cplusplus\n.*?^#endif\n", "", text, flags=re.MULTILINE | re.DOTALL)
    body = re.search(r"^#define \w+\n(.*)^#endif", body, re.MULTILINE | re.DOTALL).group(1)
    return f"# {include_name(path)}\n\n```c\n#include <{include_name(path)}>\n```\n\n```c\n{body.strip()}\n```\n"


def c_page():
    """The page of the C interface: its own sections, with the comments of the header."""
    text = (ROOT / "src" / "c" / "lutra.h").read_text(encoding="utf-8")
    intro, rest = re.search(r"/\* (C interface.*?)\*/(.*)#ifdef __cplusplus\n\}", text, re.DOTALL).groups()
    rest = re.sub(r"#include .*\n|#ifdef __cplusplus\nextern \"C\" \{\n#endif\n", "", rest)
    lines = [re.sub(r"^ \* ?", "", line) for line in intro.split("\n")]
    page = ["# lutra.h\n", "\n".join(" " + line if line.startswith("   ") else line for line in lines)]
    for number, part in enumerate(re.split(r"^/\* ---- (.*?) ---- \*/$", rest, flags=re.MULTILINE)):
        if number % 2:
            page.append(f"## {part[0].upper()}{part[1:]}\n")
        elif part.strip():
            page.append(("## Types\n\n" if number == 0 else "") + f"```c\n{part.strip()}\n```\n")
    return "\n".join(page)


# ---- Python -------------------------------------------------------------------------------------------------------


def docstring(node):
    """Markdown of a docstring: its examples become blocks of code."""
    text = ast.get_docstring(node) or ""
    examples = re.sub(r"((?:^(?:>>>|\.\.\.) .*\n?)(?:^(?!>>>)\S.*\n?|^(?:>>>|\.\.\.).*\n?)*)", r"```python\n\1\n```\n",
                      text + "\n", flags=re.MULTILINE)
    return examples.replace("\n\n```\n", "\n```\n").strip() + "\n"


def signature(node, name):
    """The call of a function as it is written."""
    arguments = ast.unparse(node.args).removeprefix("self, ").removeprefix("self")
    return f"```python\n{name}({arguments}){' -> ' + ast.unparse(node.returns) if node.returns else ''}\n```\n"


def python_object(node):
    """The section of a function or class."""
    if isinstance(node, ast.FunctionDef):
        return [f"## {node.name}\n", signature(node, node.name), docstring(node)]
    page = [f"## class {node.name}\n", docstring(node)]
    for member in node.body:
        if isinstance(member, ast.FunctionDef) and not member.name.startswith("_"):
            is_property = any(getattr(d, "id", "") == "property" for d in member.decorator_list)
            page += [f"### {node.name}.{member.name}\n", "" if is_property else signature(member, member.name),
                     docstring(member)]
    return page


def python_page():
    """The page of the package: what `lutra` and `lutra.mpi` define."""
    package = ROOT / "python" / "lutra"
    init = ast.parse((package / "__init__.py").read_text(encoding="utf-8"))
    names = next(ast.literal_eval(n.value) for n in init.body if isinstance(n, ast.Assign) and n.targets[0].id == "__all__")
    defined = {}
    for file in sorted(package.glob("_*.py")):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                defined[node.name] = node
    page = ["# The Python package lutra\n", docstring(init), "`help(lutra.splu)` and that of the other functions also "
            "list the options. `Report` has the fields of [the JSON report](../docs/json.md).\n"]
    if "Factors" in defined:
        page += python_object(defined["Factors"])
    for name in sorted(names, key=lambda n: (n[0].isupper(), n.lower())):
        if name in defined:
            page += python_object(defined[name])
    ranks = ast.parse((package / "mpi.py").read_text(encoding="utf-8"))
    page += ["# lutra.mpi\n", docstring(ranks)]
    for node in ranks.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
            page += python_object(node)
    return "\n".join(page)
