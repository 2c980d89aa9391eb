#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counts the hops from the user's call to the kernel, and fails where one of the chains below is broken or too long.

A hop is a call from one named function of the library to another on the way to the function that launches the kernel.
The user's own call and the launch are none, nor are constructors, accessors, lambdas, and templates that only run a
lambda of their caller. Each chain is checked against the sources: a function of that name in that file must have a
body that calls the next one, and the last one must have a launch. Chains end in the deepest launch of that way.
"""

import re
import sys
from pathlib import Path

SRC = Path(__file__).resolve().parents[1] / "src"
LAUNCH = re.compile(r"\bparallel_(?:for|reduce|scan)\s*\(|<<<|\bcudaLaunch")

CALLS = "NumericCalls.hpp factorize; Numeric.cpp factorize; Numeric.cpp factorize_values; "
SOLVE = "SparseLU.hpp solve; NumericSolve.cpp solve_strided; Refinement.cpp solve_refined; "
FRONTS = "MultifrontalPlan.cpp factorize; FrontLu.cpp factorize_fronts; "
APPLY = "SparseILU.hpp apply; NumericSolve.cpp apply_strided; IncompleteSolve.cpp apply; "

# name: (most hops, "file function; file function; …"), files without Lutra_.
CHAINS = {
    "SparseLU::factorize, fronts on hosts": (7, CALLS + FRONTS + "LuHostSchedule.hpp run; HostFronts.hpp for_each"),
    "SparseLU::factorize, fronts, portable": (7, CALLS + FRONTS + "FrontsPortable.hpp run_portable; "
        "FrontTeams.hpp work_by_levels; FrontLevels.hpp for_each_front"),
    "SparseLU::factorize, fronts on CUDA": (
        7, CALLS + FRONTS + "FrontScheduleCuda.hpp run; FrontScheduleCuda.hpp run_launches"),
    "SparseLU::factorize by rows on hosts": (
        7, CALLS + "SimplicialPlan.hpp factorize; UpLookingEngine.hpp factorize; "
        "UpLookingLu.cpp factorize_up_looking"),
    "SparseLDLT::factorize on hosts": (
        7, CALLS + "LdltEngine.cpp factorize; LdltEngine.cpp factorize_with_room; FrontLdlt.cpp factorize_ldlt; "
        "LdltHostSchedule.hpp run; HostFronts.hpp for_each"),
    "SparseLDLT::factorize, portable": (
        7, CALLS + "LdltEngine.cpp factorize; LdltEngine.cpp factorize_with_room; FrontLdlt.cpp factorize_ldlt; "
        "FrontTeams.hpp work_by_levels; FrontLevels.hpp for_each_front"),
    "SparseLDLT::factorize, pivots in place on CUDA": (
        7, CALLS + "LdltEngine.cpp factorize; " + FRONTS + "FrontScheduleCuda.hpp run; "
        "FrontScheduleCuda.hpp run_launches"),
    "SparseLU::solve on fronts, portable": (
        7, SOLVE + "MultifrontalPlan.cpp apply; FrontSolver.cpp solve; PortableFrontSweeps.hpp run; "
        "FrontSubstitution.hpp sweep_fronts; FrontLevels.hpp for_each_front"),
    "SparseLDLT::solve on hosts": (
        7, SOLVE + "LdltEngine.hpp apply; FrontSolver.cpp solve; LdltSweeps.hpp run; LdltSweeps.hpp sweep; "
        "LdltSweeps.hpp sweep_all"),
    "SparseLU::solve by rows on hosts": (
        7, SOLVE + "SimplicialPlan.hpp apply; LuTriangles.hpp solve; RowSubstitution.hpp solve; "
        "HostSubstitution.hpp substitute; HostSubstitution.hpp visit_rows"),
    "SparseILU::apply, data flow, portable": (
        8, APPLY + "LuTriangles.hpp solve; PackedTriangleEngine.hpp solve; PackedTriangleEngine.hpp solve_group; "
        "BlockSolve.hpp solve_blocks_portable"),
    "SparseILU::apply by rows on hosts": (
        8, APPLY + "LuTriangles.hpp solve; RowSubstitution.hpp solve; HostSubstitution.hpp substitute; "
        "HostSubstitution.hpp visit_rows"),
}


def without_comments(text):
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)


def closing(text, start):
    """Index of the bracket that closes the one at start."""
    depth = 0
    for i in range(start, len(text)):
        depth += text[i] in "({"
        depth -= text[i] in ")}"
        if depth == 0:
            return i
    return len(text)


def bodies(text, function):
    """The bodies of all functions of a name."""
    found = []
    for match in re.finditer(rf"\b{function}\s*\(", text):
        after = text[closing(text, match.end() - 1) + 1:]
        head = re.match(r"\s*(?:const\b\s*)?(?:noexcept\b\s*)?(?:override\b\s*)?(?:->\s*[\w:<>, ]+?)?\s*\{", after)
        if head:
            begin = len(text) - len(after) + head.end() - 1
            found.append(text[begin:closing(text, begin) + 1])
    return found


def check(chain, files):
    """@returns what is wrong with a chain; empty: nothing"""
    links = [link.split() for link in chain.split(";")]
    for (file, function), following in zip(links, [*links[1:], None]):
        if file not in files:
            return f"there is no file Lutra_{file}"
        own = bodies(files[file], function)
        if not own:
            return f"Lutra_{file} does not define {function}"
        wanted = LAUNCH if following is None else re.compile(rf"\b{following[1]}\s*(?:<[^;{{}}()]*>)?\s*\(")
        if not any(wanted.search(body) for body in own):
            return f"{function} in Lutra_{file} {'launches nothing' if following is None else 'does not call ' + following[1]}"
    return ""


def main():
    files = {path.name.removeprefix("Lutra_"): without_comments(path.read_text())
             for path in SRC.rglob("Lutra_*.?pp")}
    failed = False
    for name, (most, chain) in CHAINS.items():
        links = [link.split() for link in chain.split(";")]
        hops, wrong = len(links) - 1, check(chain, files)
        if hops > most:
            wrong = wrong or f"more than {most} hops"
        print(f"{hops:2} hops  {name}{': ' + wrong if wrong else ''}")
        print("         " + " > ".join(function for _, function in links))
        failed = failed or bool(wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
