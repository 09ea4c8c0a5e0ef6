#!/usr/bin/env python3
"""The crate of rust/, and what `tarn` says of a Rust program: crate_test.py BUILD [unittest arguments]."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
CRATE = PROJECT / "rust"
BUILD = None


@unittest.skipUnless(shutil.which("cargo"), "no cargo")
class Crate(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="tarn-rust-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.prefix = cls.folder / "a prefix"
        cls.run_tool("cmake", "--install", BUILD, "--prefix", cls.prefix, "--component", "libtarn-dev")

    @classmethod
    def run_tool(cls, *command, expect=0, cwd=CRATE, target="target", **settings):
        """The output of a command that must exit as expected."""
        environment = {name: value for name, value in os.environ.items()
                       if name not in ("RUSTFLAGS", "LIBTARN_PREFIX", "PKG_CONFIG_PATH", "DESTDIR")}
        environment.update(CARGO_TARGET_DIR=str(cls.folder / target), CARGO_TERM_COLOR="never", **settings)
        result = subprocess.run([str(word) for word in command], check=False, text=True, env=environment, cwd=cwd,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if result.returncode != expect:
            raise AssertionError(f"exit {result.returncode}, not {expect}: {command}\n{result.stdout}")
        return result.stdout

    def cargo(self, *arguments, **settings):
        return self.run_tool("cargo", *arguments, **{"LIBTARN_PREFIX": str(self.prefix), **settings})

    def copied(self):
        """The crate outside of a checkout."""
        copy = self.folder / "copy"
        if not copy.is_dir():
            shutil.copytree(CRATE, copy, ignore=shutil.ignore_patterns("target", "Cargo.lock"))
        return copy

    def test_tests_of_the_crate_pass(self):
        output = self.cargo("test", "--offline")
        passed = [int(count) for count in re.findall(r"test result: ok\. (\d+) passed; 0 failed; 0 ignored", output)]
        tests = sum((CRATE / path).read_text(encoding="utf-8").count("#[test]")
                    for path in ("tests/global.rs", "tests/heap.rs"))
        self.assertEqual(sum(passed), tests + sum((CRATE / path).read_text(encoding="utf-8").count("/// ```") // 2
                                                  for path in ("src/lib.rs", "src/heap.rs")) + 1, output)

    def test_linters_and_documentation_find_nothing(self):
        for tool in ("cargo-clippy", "cargo-fmt"):
            if not shutil.which(tool):
                self.skipTest(f"no {tool}")
        self.cargo("clippy", "--offline", "--all-targets", "--", "-D", "warnings")
        self.cargo("fmt", "--check")
        self.cargo("doc", "--offline", "--no-deps", RUSTDOCFLAGS="-D warnings")

    def test_version_is_that_of_the_library(self):
        header = (PROJECT / "include/tarn/version.hpp").read_text(encoding="utf-8")
        version = ".".join(re.search(rf"define TARN_VERSION_{part} +(\d+)", header)[1]
                           for part in ("MAJOR", "MINOR", "PATCH"))
        self.assertEqual(json.loads(self.cargo("metadata", "--offline", "--no-deps", "--format-version", "1"))
                         ["packages"][0]["version"], version)

    def test_example_of_the_global_allocator_and_a_heap(self):
        self.assertEqual(self.cargo("run", "--offline", "--quiet", "--example", "words"), "green. 1000\n" * 4)

    def test_pkg_config_finds_the_library(self):
        output = self.run_tool("cargo", "run", "--offline", "--quiet", "--example", "words", cwd=self.copied(),
                               target="copy-target", PKG_CONFIG_PATH=str(self.prefix / "lib/pkgconfig"))
        self.assertEqual(output, "green. 1000\n" * 4)

    def test_a_missing_library_is_named(self):
        output = self.cargo("build", "--offline", expect=101, LIBTARN_PREFIX=str(self.folder))
        self.assertIn(f"tarn: LIBTARN_PREFIX: no {self.folder}/lib/libtarn.a; it is the PREFIX of", output)
        output = self.run_tool("cargo", "build", "--offline", expect=101, cwd=self.copied(), target="copy-target",
                               PKG_CONFIG_LIBDIR="/")
        self.assertIn("tarn: libtarn.a is neither under LIBTARN_PREFIX nor known to pkg-config", output)

    def test_checkout_around_the_crate_is_built(self):
        output = self.run_tool("cargo", "run", "--offline", "--quiet", "--example", "words", PKG_CONFIG_LIBDIR="/")
        self.assertEqual(output, "green. 1000\n" * 4)

    def test_recorder_and_malloc_serve_a_rust_program(self):
        """tests/tool/places_test.py tests the names in a report."""
        self.cargo("build", "--offline", "--release", "--example", "tokens")
        program, tarn = self.folder / "target/release/examples/tokens", BUILD / "bin/tarn"
        recorded = self.run_tool(tarn, "record", "--heap", "--full", "-o", self.folder / "recording", "--", program)
        self.assertRegex(recorded, r"1250000\n(.*\n)*tarn: 2,500,0\d\d allocations at ")
        self.assertIn(" 2500", self.run_tool(tarn, "run", "--stats", "--", program))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
