#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs compute-sanitizer's four tools over all device tests of a CUDA build, test by test.

A first run of each test without a tool finds the kernels that it launches, by a library that CUDA loads
(kernel_names.cpp). Tests that launch none are left out. A kernel is covered by a tool if a test that launches it ended
under the tool. Each kernel that is not covered is named, with its tests and what became of them: most run longer than
the limit. Kernels launched by other kernels, and nodes added to graphs without capture, have no names here.

Results are kept in BUILD/sanitizer, so that a later run goes on where one was ended; --fresh forgets them. The exit
status is 1 if a tool reported an error or a test failed under it.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
ERRORS_FOUND = 66  # exit status that compute-sanitizer is asked for


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path, help="folder of a CUDA build with tests")
    parser.add_argument("--tools", default=",".join(TOOLS), help="some of " + ", ".join(TOOLS))
    parser.add_argument("--programs", default="", metavar="TEXT", help="only programs whose name has this text")
    parser.add_argument("--seconds", type=float, default=300, help="limit of a test under a tool [300]")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="limit of the whole run; then it ends")
    parser.add_argument("--sanitizer", default="compute-sanitizer", help="the program compute-sanitizer")
    parser.add_argument("--names", type=Path, help="library of kernel_names.cpp; compiled if it is not given")
    parser.add_argument("--list", action="store_true", help="print the commands, and run none")
    parser.add_argument("--fresh", action="store_true", help="forget the results of earlier runs")
    options = parser.parse_args(arguments)
    options.tools = options.tools.split(",")
    unknown = [tool for tool in options.tools if tool not in TOOLS]
    if unknown:
        parser.error(f"there is no tool '{unknown[0]}'; there are {', '.join(TOOLS)}")
    return options


def programs_of(build, text):
    """Test programs of one process, in order. Those of several ranks start MPI."""
    found = sorted(path for path in build.glob("unit_tests/*/lutra_test_*") if os.access(path, os.X_OK))
    return [path for path in found if path.is_file() and text in path.name and "rank" not in path.name]


def cases_of(program):
    listed = subprocess.run([program, "--list-tests", "--verbosity", "quiet"], capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        sys.exit(f"{program} does not list its tests: {listed.stderr.strip()}")
    return [line.strip() for line in listed.stdout.splitlines() if line.strip()]


def as_filter(case):
    """The name of a test as Catch2 reads it on the command line."""
    return "".join("\\" + letter if letter in ',[]"\\*' else letter for letter in case)


def tool_command(options, tool, program, case):
    return [options.sanitizer, "--tool", tool, "--error-exitcode", str(ERRORS_FOUND), str(program), as_filter(case)]


def compiled_names(build):
    """Compiles kernel_names.cpp."""
    cuda = Path(os.environ.get("CUDA_HOME") or Path(shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc").parents[1])
    library = build / "sanitizer" / "kernel_names.so"
    folders = [cuda, cuda / "extras" / "CUPTI"]
    command = [os.environ.get("CXX_HOST", "c++"), "-std=c++20", "-O1", "-shared", "-fPIC",
               str(Path(__file__).with_name("kernel_names.cpp")), "-o", str(library)]
    command += [f"-I{folder}/include" for folder in folders]
    for folder in folders:
        command += [f"-L{folder}/lib64", f"-Wl,-rpath,{folder}/lib64"]
    if subprocess.run(command + ["-lcupti"], check=False).returncode != 0:
        sys.exit("kernel_names.cpp does not compile; it needs CUPTI, which comes with CUDA")
    return library


class Results:
    """{program: {case: {"kernels": [name], tool: outcome}}}, in a file that is replaced after each test."""

    def __init__(self, folder, fresh):
        folder.mkdir(parents=True, exist_ok=True)
        self.file = folder / "results.json"
        self.all = {}
        if self.file.exists() and not fresh:
            self.all = json.loads(self.file.read_text(encoding="utf-8"))

    def of(self, program, case):
        return self.all.setdefault(program.name, {}).setdefault(case, {})

    def save(self):
        part = self.file.with_suffix(".part")
        part.write_text(json.dumps(self.all, indent=1), encoding="utf-8")
        part.replace(self.file)


def run(command, log, seconds, environment=None):
    """Exit status of a command; None after the limit."""
    with log.open("w", encoding="utf-8") as output:
        try:
            return subprocess.run(command, stdout=output, stderr=subprocess.STDOUT, timeout=seconds, check=False,
                                  stdin=subprocess.DEVNULL, env={**os.environ, **(environment or {})}).returncode
        except subprocess.TimeoutExpired:
            return None


def find_kernels(options, program, case, folder):
    """Sorted names of the kernels that a test launches."""
    names = folder / "kernels.txt"
    names.unlink(missing_ok=True)
    names.touch()
    run([program, as_filter(case)], folder / "kernels.log", options.seconds,
        {"LUTRA_KERNEL_LOG": str(names), "CUDA_INJECTION64_PATH": str(options.names)})
    return sorted(set(names.read_text(encoding="utf-8").splitlines()))


def outcome_of(status):
    if status is None:
        return "ran longer than the limit"
    return {0: "clean", ERRORS_FOUND: "errors"}.get(status, f"failed with status {status}")


def check_case(options, program, case, results, folder):
    entry = results.of(program, case)
    if "kernels" not in entry:
        entry["kernels"] = find_kernels(options, program, case, folder)
        results.save()
    for tool in options.tools if entry["kernels"] else []:
        if tool in entry:
            continue
        number = list(results.all[program.name]).index(case)
        log = folder / f"{program.name}.{number}.{tool}.log"
        entry[tool] = outcome_of(run(tool_command(options, tool, program, case), log, options.seconds))
        if entry[tool] == "clean":
            log.unlink()
        else:
            print(f"{tool}: {program.name} '{case}': {entry[tool]}; see {log}", flush=True)
        results.save()


def summarize(options, results):
    """Prints what each tool found and could not cover. @returns whether something was found."""
    found = False
    launching = [(f"{program} '{case}'", entry) for program, cases in results.all.items()
                 for case, entry in cases.items() if entry.get("kernels")]
    kernels = sorted({kernel for _, entry in launching for kernel in entry["kernels"]})
    for tool in options.tools:
        outcomes = [entry.get(tool, "not run") for _, entry in launching]
        ended = ("clean", "errors")
        covered = {kernel for _, entry in launching if entry.get(tool) in ended for kernel in entry["kernels"]}
        bad = [name for name, entry in launching if entry.get(tool) == "errors" or
               entry.get(tool, "").startswith("failed")]
        found = found or bool(bad)
        print(f"{tool}: {outcomes.count('clean')} of {len(launching)} tests clean, {len(bad)} with errors; "
              f"{len(covered)} of {len(kernels)} kernels covered")
        for name in bad:
            print(f"  errors: {name}")
        for kernel in (kernel for kernel in kernels if kernel not in covered):
            print(f"  not covered: {kernel}")
            for name, entry in launching:
                if kernel in entry["kernels"]:
                    print(f"    {name}: {entry.get(tool, 'not run')}")
    return found


def main(arguments=None):
    options = parse(arguments)
    programs = programs_of(options.build, options.programs)
    if not programs:
        sys.exit(f"{options.build} has no test programs; build the tests first")
    if options.list:
        for program in programs:
            for case in cases_of(program):
                for tool in options.tools:
                    print(subprocess.list2cmdline(tool_command(options, tool, program, case)))
        return 0
    if shutil.which(options.sanitizer) is None:
        sys.exit(f"'{options.sanitizer}' is not there; it comes with CUDA")
    folder = options.build / "sanitizer"
    results = Results(folder, options.fresh)
    options.names = options.names or compiled_names(options.build)
    end = time.monotonic() + 60 * options.minutes
    for program in programs:
        for case in cases_of(program):
            if time.monotonic() < end:
                check_case(options, program, case, results, folder)
    if time.monotonic() >= end:
        print("The time is over; the next run goes on from here.")
    return 1 if summarize(options, results) else 0


if __name__ == "__main__":
    sys.exit(main())
