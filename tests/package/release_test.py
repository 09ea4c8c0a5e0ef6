#!/usr/bin/env python3
"""The checklist of a release, over small checkouts: release_test.py [unittest arguments]."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
IDENTITY = {f"GIT_{role}_{part}": "tester@example.org" for role in ("AUTHOR", "COMMITTER")
            for part in ("NAME", "EMAIL")}


class Release(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tarn-release-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.checkout = self.folder / "checkout"
        self.results = self.folder / "results"
        self.results.mkdir()
        shutil.copytree(PROJECT / "packaging", self.checkout / "packaging",
                        ignore=shutil.ignore_patterns("__pycache__"))
        self.write("include/tarn/version.hpp", "#define TARN_VERSION_MAJOR 0\n#define TARN_VERSION_MINOR 2\n"
                                               "#define TARN_VERSION_PATCH 1\n")
        self.write("CHANGELOG.md", "# Changelog\n\n## 0.2.1 (2026-12-24)\n\nWords.\n")
        self.git("init", "--quiet", "--initial-branch=main")
        self.commit()

    def write(self, name, text):
        path = self.checkout / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def git(self, *arguments):
        return subprocess.run(["git", *arguments], cwd=self.checkout, check=True, capture_output=True, text=True,
                              env={**os.environ, **IDENTITY}).stdout.strip()

    def commit(self):
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "state")
        self.manifest(self.git("rev-parse", "HEAD"), False)

    def manifest(self, commit, has_changes):
        (self.results / "manifest.json").write_text(json.dumps({"commit": commit, "has_changes": has_changes}),
                                                    encoding="utf-8")

    def release(self, *arguments, version="0.2.1", expect=1):
        result = subprocess.run([sys.executable, "-B", self.checkout / "packaging/release.py", version, "--packages",
                                 self.results, *arguments], check=False, capture_output=True, text=True)
        self.assertEqual(result.returncode, expect, result.stderr)
        return result.stdout + result.stderr

    def test_a_complete_commit_is_ready(self):
        self.assertIn("git tag --sign v0.2.1 --message 'Tarn 0.2.1'", self.release(expect=0))

    def test_everything_that_is_missing_is_named_at_once(self):
        self.git("tag", "v0.3.0")
        self.git("switch", "--quiet", "--create", "side")
        self.write("CHANGELOG.md", "# Changelog\n\n## 0.3.0 (unreleased)\n")
        self.manifest("0123", False)
        output = self.release(version="0.3.0").splitlines()
        for line, problem in zip(output, ["version.hpp says 0.2.1: make it 0.3.0", "no heading '## 0.3.0 (YYYY-MM-DD)'",
                                      "has changes: commit or remove CHANGELOG.md", "not the branch main",
                                      "the tag v0.3.0 exists", "the packages are of commit 0123"], strict=True):
            self.assertIn(problem, line)

    def test_packages_of_changed_files_are_refused(self):
        self.manifest(self.git("rev-parse", "HEAD"), True)
        self.assertIn("or of changed files: run ./dev package", self.release())
        (self.results / "manifest.json").unlink()
        self.assertIn("manifest.json is missing: run ./dev package", self.release())

    def test_a_word_that_is_no_version_is_refused(self):
        self.assertEqual(self.release(version="next"), "release.py: next is no version: write MAJOR.MINOR.PATCH\n")

    def tarball(self, version, folder, code):
        """A package with a library of some functions."""
        prefix = self.folder / f"tarn-{version}-Linux-x86_64"
        (prefix / "lib").mkdir(parents=True)
        subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", prefix / "lib/libtarn-malloc.so"], check=True,
                       input=code, text=True)
        path = folder / f"{prefix.name}.tar.gz"
        with tarfile.open(path, "w:gz") as tar:
            tar.add(prefix, prefix.name)
        return path

    @unittest.skipUnless(shutil.which("abidiff"), "abidiff (Debian package abigail-tools) is missing")
    def test_a_lost_function_needs_another_minor_version(self):
        functions = "int allocate(int n) { return n; }\nint trim(int n) { return n; }\n"
        (self.folder / "old").mkdir()
        earlier = self.tarball("0.2.0", self.folder / "old", functions)
        older = self.tarball("0.1.0", self.folder / "old", functions)
        self.tarball("0.2.1", self.results, functions.splitlines()[0])
        output = self.release("--earlier", earlier)
        self.assertIn("libtarn-malloc.so lacks a part of the interface of 0.2.0, which 0.2.1 promises", output)
        self.assertIn("trim", output)
        self.release("--earlier", older, expect=0)

    @unittest.skipUnless(shutil.which("abidiff"), "abidiff (Debian package abigail-tools) is missing")
    def test_a_new_function_breaks_nobody(self):
        function = "int allocate(int n) { return n; }\n"
        (self.folder / "old").mkdir()
        earlier = self.tarball("0.2.0", self.folder / "old", function)
        self.tarball("0.2.1", self.results, function + "int trim(int n) { return n; }\n")
        self.release("--earlier", earlier, expect=0)


if __name__ == "__main__":
    unittest.main()
