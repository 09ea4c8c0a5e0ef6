#!/usr/bin/env python3
"""Functions, files and lines of what was compiled in many ways: inlined, split, by GCC and by Clang."""

import json
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from paths import PATHS, main

SOURCE = pathlib.Path(__file__).with_name("places.cpp")
LINES = {text.split()[-1]: number for number, text in enumerate(SOURCE.read_text().splitlines(), 1) if "  // " in text}
WAYS = (("-g",), ("-g", "-gdwarf-4"), ("-g", "-gsplit-dwarf"), ("-g", "-gsplit-dwarf", "-gdwarf-4"))


class Places(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="tarn places ")
        self.addCleanup(shutil.rmtree, self.folder)

    def run_program(self, *words):
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False, cwd=self.folder)
        self.assertEqual(done.returncode, 0, f"{words}\n{done.stdout}{done.stderr}")
        return done.stdout

    def stack_of(self, compiler, *options):
        self.run_program(compiler, "-std=c++20", "-O2", *options, SOURCE, "-o", "program", "-pthread")
        self.run_program(PATHS.tarn, "record", "--heap", "--full", "-o", "rec", "--", "./program")
        sites = json.loads(self.run_program(PATHS.tarn, "report", "--json", "rec"))["sites"]
        site = next(each for each in sites if each["allocations"] == 100)
        return [each for each in site["stack"] if each["file"].endswith(SOURCE.name)]

    def check(self, compiler):
        if shutil.which(compiler) is None:
            self.skipTest(f"{compiler} is not there")
        for options in WAYS:
            with self.subTest(options=options):
                stack = self.stack_of(compiler, *options)
                self.assertEqual([each["line"] for each in stack], [LINES[word] for word in ("take", "lambda", "work", "main")])
                take, inner, work, outer = (each["function"].split("(")[0] for each in stack)
                self.assertEqual((take, work), ("ns::take", "ns::server::work"))
                self.assertTrue(inner.startswith("ns::server::work"), inner)
                self.assertTrue(outer.startswith("main::") and outer.endswith("::operator"), outer)

    def test_of_gcc(self):
        self.check("g++")

    def test_of_clang(self):
        self.check("clang++-16")


if __name__ == "__main__":
    main("tarn")
