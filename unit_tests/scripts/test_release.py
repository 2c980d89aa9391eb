#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs scripts/release.sh in a clone of this work tree, with a wheel that has the right names in it."""

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
IDENTITY = {f"GIT_{who}_{what}": f"tests{'@localhost' if what == 'EMAIL' else ''}"
            for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def run(command, folder, **options):
    return subprocess.run(list(map(str, command)), cwd=folder, capture_output=True, text=True,
                          env={**os.environ, **IDENTITY}, **options)


@unittest.skipUnless((ROOT / ".git").exists() and shutil.which("git"), "these sources are not a work tree of git")
class Release(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.clone = Path(folder.name) / "lutra"
        run(["git", "-c", "safe.directory=*", "clone", "--quiet", "--depth", "1", ROOT.as_uri(), cls.clone], ROOT, check=True)
        listed = run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], ROOT, check=True).stdout
        present = {name for name in listed.split("\0") if name and (ROOT / name).exists()}
        for name in run(["git", "ls-files", "-z"], cls.clone, check=True).stdout.split("\0"):
            if name and name not in present:
                (cls.clone / name).unlink()
        for name in present:  # the work tree as it is, committed or not
            (cls.clone / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, cls.clone / name, follow_symlinks=False)
        cls.commit()
        cls.version = run(["scripts/release.sh", "--version"], cls.clone, check=True).stdout.strip()
        cls.out = cls.clone / "build" / f"release-{cls.version}"

    @classmethod
    def commit(cls):
        run(["git", "add", "--all"], cls.clone, check=True)
        run(["git", "commit", "--quiet", "--allow-empty", "-m", "Work tree"], cls.clone, check=True)

    def release(self, *words):
        return run(["scripts/release.sh", "--python", sys.executable, "--skip", "site", "--skip", "configure", *words],
                   self.clone)

    def write_wheel(self, version, without=""):
        dist = self.clone / "build" / "wheel" / "dist"
        dist.mkdir(parents=True, exist_ok=True)
        wheel = dist / f"lutra_sparse-{self.version}-cp311-cp311-manylinux_2_36_x86_64.whl"
        with zipfile.ZipFile(wheel, "w") as files:
            for path in (ROOT / "python" / "lutra").glob("*.py"):
                if path.name != without:
                    files.writestr(f"lutra/{path.name}", "")
            files.writestr("lutra/_core.abi3.so", "")
            metadata = f"Metadata-Version: 2.1\nName: lutra-sparse\nVersion: {version}\nSummary: solvers\n"
            files.writestr(f"lutra_sparse-{version}.dist-info/METADATA", metadata)
        self.addCleanup(wheel.unlink, missing_ok=True)
        return wheel

    def test_archive_and_wheel(self):
        wheel = self.write_wheel(self.version)
        told = self.release()
        self.assertEqual(told.returncode, 0, told.stderr)
        self.assertIn("not included: a .deb: none of version", told.stderr)
        self.assertIn("not included: the site: skipped", told.stderr)
        self.assertNotIn("not included: wheels", told.stderr)
        sums = dict(reversed(line.split("  ")) for line in (self.out / "SHA256SUMS").read_text().splitlines())
        self.assertEqual(set(sums), {f"lutra-{self.version}.tar.gz", wheel.name})
        for name, digest in sums.items():
            self.assertEqual(hashlib.sha256((self.out / name).read_bytes()).hexdigest(), digest)
        with tarfile.open(self.out / f"lutra-{self.version}.tar.gz") as archive:
            self.assertIn(f"lutra-{self.version}/CMakeLists.txt", archive.getnames())

    def test_wrong_wheels_are_refused(self):
        for version, without in (("0.0.1", ""), (self.version, "compare.py")):
            with self.subTest(version=version, without=without):
                wheel = self.write_wheel(version, without)
                told = self.release()
                self.assertEqual(told.returncode, 1)
                self.assertTrue(told.stderr.endswith(f"release.sh: {wheel.name} is not a wheel of this release\n"), told.stderr)
                self.assertFalse((self.out / "SHA256SUMS").exists())

    def test_changed_trees_and_other_tags_are_refused(self):
        (self.clone / "stray.txt").write_text("")
        told = self.release()
        self.assertEqual((told.returncode, told.stderr), (1, "release.sh: not committed:\n?? stray.txt\n"))
        (self.clone / "stray.txt").unlink()
        run(["git", "tag", f"v{self.version}"], self.clone, check=True)
        tagged = run(["git", "rev-parse", "HEAD"], self.clone, check=True).stdout.strip()
        self.commit()
        told = self.release()
        run(["git", "tag", "--delete", f"v{self.version}"], self.clone, check=True)
        self.assertEqual((told.returncode, told.stderr), (1, f"release.sh: the tag v{self.version} is another commit, "
                                                             f"{tagged}; raise the version\n"))

    def test_versions_that_differ_are_refused(self):
        project = self.clone / "python" / "pyproject.toml"
        text = project.read_text()
        project.write_text(text.replace(f'version = "{self.version}"', 'version = "0.0.1"'))
        self.commit()
        told = self.release()
        project.write_text(text)
        self.commit()
        self.assertEqual(told.returncode, 1)
        self.assertIn("AssertionError: '0.0.1' != ", told.stderr)
        self.assertTrue(told.stderr.endswith(f"test_versions.py failed in {self.clone}\n"), told.stderr)

    def test_mistakes_in_the_call(self):
        for words, message in ((["--skip", "archive"], "--skip takes site, packages or configure"),
                               (["--kokkos-source", "k"], "--kokkos-source and --kokkos-kernels-source go together"),
                               (["--fast", "1"], "unknown option '--fast'; --help lists the options"),
                               (["--wheels"], "--wheels needs a value; --help lists the options")):
            with self.subTest(words=words):
                told = self.release(*words)
                self.assertEqual((told.returncode, told.stderr), (1, f"release.sh: {message}\n"))


if __name__ == "__main__":
    unittest.main()
