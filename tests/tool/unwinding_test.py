#!/usr/bin/env python3
"""The recorder's stacks beside gdb's, at the same stops of the same programs."""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

PATHS = argparse.Namespace()
HERE = pathlib.Path(__file__).parent
ENDS = ("main", "start_thread")  # beyond it is the C library's business, and gdb may not look


class Unwinding(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tarn-unwinding-"))
        self.addCleanup(shutil.rmtree, self.folder)
        if shutil.which("gdb") is None:
            self.skipTest("gdb is not there")

    def run_program(self, *words, **environment):
        done = subprocess.run(words, capture_output=True, text=True, timeout=100, check=False, cwd=self.folder,
                              env={**os.environ, "XDG_CACHE_HOME": str(self.folder), **environment})
        self.assertEqual(done.returncode, 0, f"{words}\n{done.stdout}{done.stderr}")
        return done.stdout

    def build(self, compiler, source, *options):
        program = self.folder / "program"
        if shutil.which(compiler[0]) is None:
            self.skipTest(f"{compiler[0]} is not there")
        self.run_program(*compiler, *options, str(HERE / source), "-o", str(program))
        return program

    def stacks_of_gdb(self, program):
        self.run_program("gdb", "-q", "-nx", "-batch", "-x", str(HERE / "gdb_stacks.py"), str(program),
                         TARN_STACKS=str(self.folder / "gdb.json"))
        return {int(bytes_): of for bytes_, of in json.loads((self.folder / "gdb.json").read_text()).items()}

    def recorded(self, program):
        """By the bytes that stop() allocated: who called it."""
        self.run_program(PATHS.tarn, "record", "--heap", "--full", "-o", "rec", "--", str(program))
        report = json.loads(self.run_program(PATHS.tarn, "report", "--json", "--stacks", "--top", "100000", "rec"))
        found = {}
        for site in report["sites"]:
            names = [each["function"].split("(")[0] for each in site["stack"]]
            if "stop" not in names:
                continue
            stack = [{"module": os.path.basename(each["module"]), "offset": each["offset"]}
                     for each in site["stack"][names.index("stop") + 1:]]
            found.setdefault(site["bytes"] // site["allocations"], []).append(stack)
        return found

    @staticmethod
    def frames(stack):
        """Modules and offsets, those of one frame, and of equal ones after another, once."""
        made = []
        for each in stack:
            frame = (each["module"], each["offset"])
            if not made or made[-1] != frame:
                made.append(frame)
        return made

    def compare(self, program, least):
        expected, found = self.stacks_of_gdb(program), self.recorded(program)
        self.assertGreaterEqual(len(expected), least)
        self.assertEqual(sorted(found), sorted(expected))
        for bytes_, stacks in expected.items():
            for stack in stacks:
                last = next((at for at, each in enumerate(stack) if each["function"] in ENDS or
                             each["function"].endswith("::main")), len(stack) - 1)
                # The frame of a signal is no call: either address of it is as good.
                want = [each for each in stack[:last + 1] if not each["signal"]]
                signals = {(each["module"], each["offset"] + more) for each in stack if each["signal"] for more in (0, 1)}
                candidates = [[each for each in self.frames(of) if each not in signals] for of in found[bytes_]]
                frames = self.frames(want)
                self.assertTrue(any(of[:len(frames)] == frames for of in candidates),
                                f"{bytes_}: gdb has\n{stack}\nrecorded is\n{candidates}")

    def test_c(self):
        for options in ("-O2", "-fomit-frame-pointer"), ("-O2", "-fno-omit-frame-pointer"), ("-O0", "-no-pie"):
            with self.subTest(options=options):
                self.compare(self.build(["cc"], "stacks.c", "-g", *options), 6)

    def test_cpp(self):
        for options in ("-O2", "-fomit-frame-pointer"), ("-O0",):
            with self.subTest(options=options):
                self.compare(self.build(["c++"], "stacks.cpp", "-g", *options), 4)

    def test_rust(self):
        for options in ("-O",), ():
            with self.subTest(options=options):
                self.compare(self.build(["rustc"], "stacks.rs", "-g", *options), 2)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--tarn", required=True)
    PATHS, rest = parser.parse_known_args()
    unittest.main(argv=[__file__, *rest])
