#!/usr/bin/env python3
"""Functions, files and lines of what was compiled in many ways: inlined, split, by GCC and by Clang."""

import json
import pathlib
import shutil

import prices
from paths import PATHS, FolderTest, main

SOURCE = pathlib.Path(__file__).with_name("places.cpp")
LINES = {text.split()[-1]: number for number, text in enumerate(SOURCE.read_text().splitlines(), 1) if "  // " in text}
WAYS = (("-g",), ("-g", "-gdwarf-4"), ("-g", "-gsplit-dwarf"), ("-g", "-gsplit-dwarf", "-gdwarf-4"))


def setUpModule():
    prices.use_simple()


class Places(FolderTest):
    def run_program(self, *words, **settings):
        return super().run_program(*words, **settings).stdout

    def site(self, allocations=100):
        """Of the program: the one with so many."""
        self.run_program(PATHS.tarn, "record", "--heap", "--full", "-o", "rec", "--", "./program")
        sites = json.loads(self.run_program(PATHS.tarn, "report", "--json", "rec"))["sites"]
        return next(site for site in sites if site["allocations"] == allocations)

    def stack_of(self, compiler, *options):
        self.run_program(compiler, "-std=c++20", "-O2", *options, SOURCE, "-o", "program", "-pthread")
        return [frame for frame in self.site()["stack"] if frame["file"].endswith(SOURCE.name)]

    def check(self, compiler):
        if shutil.which(compiler) is None:
            self.skipTest(f"{compiler} is not there")
        for options in WAYS:
            with self.subTest(options=options):
                stack = self.stack_of(compiler, *options)
                self.assertEqual([frame["line"] for frame in stack],
                                 [LINES[word] for word in ("take", "lambda", "work", "main")])
                take, inner, work, outer = (frame["function"].split("(")[0] for frame in stack)
                self.assertEqual((take, work), ("ns::take", "ns::server::work"))
                self.assertTrue(inner.startswith("ns::server::work"), inner)
                self.assertTrue(outer.startswith("main::") and outer.endswith("::operator"), outer)

    def test_places_in_programs_of_gcc_are_named(self):
        self.check("g++")
        self.check_lines_alone("g++", "lambda")

    def test_places_in_programs_of_clang_are_named(self):
        self.check("clang++-16")
        self.check_lines_alone("clang++-16", "function object")  # it does not say which of them are lambdas

    def check_lines_alone(self, compiler, kind):
        """With -g1 a lambda that is in a function without a linkage name has no name."""
        for options in (("-g1",), ("-g1", "-gsplit-dwarf")):
            with self.subTest(options=options):
                outer = self.stack_of(compiler, *options)[-1]
                self.assertEqual(outer["function"], f"{kind} at {SOURCE.name}:{LINES['main']}")
                shown = self.run_program(PATHS.tarn, "report", "rec")
                self.assertNotIn("operator", shown)

    def test_places_in_programs_of_rust_are_named(self):
        """Names are read, its library is passed, and no C++ is recommended."""
        if shutil.which("rustc") is None:
            self.skipTest("rustc is not there")
        for options in ((), ("-C", "opt-level=2")):
            with self.subTest(options=options):
                self.run_program("rustc", "-g", *options, "-o", "program", SOURCE.with_suffix(".rs"))
                site = self.site(5000)
                self.assertEqual(site["stack"][site["frame_index"]]["function"], "places::make")
                self.assertIn("places::main", [frame["function"] for frame in site["stack"]])
                self.assertIn("tarn run", site["remedy"])


if __name__ == "__main__":
    main("tarn")
