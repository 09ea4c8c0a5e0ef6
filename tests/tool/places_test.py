#!/usr/bin/env python3
"""Functions, files and lines of what was compiled in many ways: inlined, split, by GCC and by Clang."""

import json
import os
import pathlib
import shutil
import socket
import subprocess
import urllib.request

import prices
from paths import PATHS, FolderTest, main, polls

SOURCE = pathlib.Path(__file__).parent / "compiled/places.cpp"
LINES = {text.split()[-1]: number for number, text in enumerate(SOURCE.read_text().splitlines(), 1) if "  // " in text}
WAYS = (("-g",), ("-g", "-gdwarf-4"), ("-g", "-gsplit-dwarf"), ("-g", "-gsplit-dwarf", "-gdwarf-4"))


def setUpModule():
    prices.use_simple()


class Places(FolderTest):
    def run_program(self, *arguments, **settings):
        return super().run_program(*arguments, **settings).stdout

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
                report = self.run_program(PATHS.tarn, "report", "rec")
                self.assertNotRegex(report, "(?<!::)operator")  # without the lambda that it belongs to

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

    def test_names_of_rust_without_debug_information_are_read_in_both_forms(self):
        """Their hashes are left out, and so is the type of a method that allocates for others."""
        if shutil.which("rustc") is None:
            self.skipTest("rustc is not there")
        unstable = {**os.environ, "RUSTC_BOOTSTRAP": "1"}  # the older form is no stable option any more
        for form in ("legacy", "v0"):
            with self.subTest(form=form):
                self.run_program("rustc", "-Zunstable-options", f"-Csymbol-mangling-version={form}", "-o", "program",
                                 SOURCE.with_suffix(".rs"), env=unstable)
                site = self.site(5000)
                names = [frame["function"] for frame in site["stack"]]
                self.assertEqual(names[site["frame_index"]], "places::make")
                self.assertIn("places::main", names)
                self.assertEqual([name for name in names if name.startswith("<") or "::<" in name or "::h" in name], [])

    def test_a_gate_counts_in_each_function_and_file_that_it_names(self):
        """Also in one that seems to allocate for others, and in a region of OpenMP."""
        source = SOURCE.parent / "names.cpp"
        self.run_program("g++", "-std=c++20", "-O2", "-g", "-fopenmp", source, "-o", "program")
        decided = {count: site["stack"][site["frame_index"]]["function"].split("(")[0]
                   for count, site in ((count, self.site(count)) for count in (1000, 2000, 3000))}
        self.assertEqual(decided, {1000: "process_allocation", 2000: "main", 3000: "region"})
        for limited, count in (("function process_allocation", 1000), ("function alloc_text", 2000),
                             ("function region", 3000), ("file names.cpp", 6000)):
            with self.subTest(limited):
                limit = f"allocations at {limited} <= "
                self.run_program(PATHS.tarn, "gate", "rec", "--max", f"{limit}{count}")
                broken = self.run_program(PATHS.tarn, "gate", "rec", "--max", f"{limit}{count - 1}", code=1)
                self.assertIn(f"allocations at {limited}: {count:,}, limit {count - 1:,}; ", broken)
        for file in "nosuch.cpp", "ames.cpp":
            refused = super().run_program(PATHS.tarn, "gate", "rec", "--max", f"bytes at file {file} <= 1", code=2)
            self.assertIn("cannot be checked in rec: no recorded stack or program has a source file of that name",
                          refused.stderr)

    def test_debug_information_comes_from_a_server_that_the_environment_names(self):
        """Of a program whose debug information is on a debuginfod server alone."""
        if shutil.which("debuginfod") is None:
            self.skipTest("debuginfod is not there")
        self.run_program("g++", "-std=c++20", "-O2", "-g", "-Wl,--build-id", SOURCE, "-o", "program", "-pthread")
        served = self.folder / "served"
        served.mkdir()
        self.run_program("objcopy", "--only-keep-debug", "program", served / "program.debug")
        self.run_program("strip", "--strip-all", "program")
        self.assertEqual(self.site()["stack"][0]["file"], "")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        address = f"http://127.0.0.1:{port}"
        server = subprocess.Popen(["debuginfod", "-F", "-p", str(port), "-d", self.folder / "database", served],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(server.wait)
        self.addCleanup(server.terminate)
        for _ in polls():  # until the server has read the one file
            self.assertIsNone(server.poll(), "debuginfod ended")
            try:
                with urllib.request.urlopen(f"{address}/metrics") as answer:
                    if 'scanned_files_total{source="file"} 1' in answer.read().decode():
                        break
            except OSError:
                pass
        settings = {**os.environ, "DEBUGINFOD_URLS": address, "DEBUGINFOD_CACHE_PATH": str(self.folder / "cache")}
        sites = json.loads(self.run_program(PATHS.tarn, "report", "--json", "rec", env=settings))["sites"]
        site = next(site for site in sites if site["allocations"] == 100)
        self.assertEqual(site["stack"][site["frame_index"]]["line"], LINES["take"])


if __name__ == "__main__":
    main("tarn")
