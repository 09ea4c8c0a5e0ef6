#!/usr/bin/env python3
"""The recorder's stacks beside gdb's, at the same stops of the same programs."""

import json
import os
import pathlib
import platform
import shutil

from paths import PATHS, FolderTest, main

HERE = pathlib.Path(__file__).parent
ENDS = ("main", "start_thread")  # beyond it is the C library's business, and gdb may not look


class Unwinding(FolderTest):
    prefix = "tarn-unwinding-"  # gdb starts the program by a shell

    def setUp(self):
        super().setUp()
        if shutil.which("gdb") is None:
            self.skipTest("gdb is not there")

    def run_program(self, *arguments, **environment):
        return super().run_program(*arguments,
                                   env={**os.environ, "XDG_CACHE_HOME": str(self.folder), **environment}).stdout

    def build(self, compiler, source, *options):
        program = self.folder / "program"
        if shutil.which(compiler[0]) is None:
            self.skipTest(f"{compiler[0]} is not there")
        self.run_program(*compiler, *options, str(HERE / "compiled" / source), "-o", str(program))
        return program

    def stacks_of_gdb(self, program):
        self.run_program("gdb", "-q", "-nx", "-batch", "-x", str(HERE / "gdb_stacks.py"), str(program),
                         TARN_STACKS=str(self.folder / "gdb.json"))
        return {int(bytes_): stacks for bytes_, stacks in json.loads((self.folder / "gdb.json").read_text()).items()}

    def recorded(self, program):
        """By the bytes that stop() allocated: who called it."""
        self.run_program(PATHS.tarn, "record", "--heap", "--full", "-o", "rec", "--", str(program))
        report = json.loads(self.run_program(PATHS.tarn, "report", "--json", "--stacks", "--top", "100000", "rec"))
        stacks = {}
        for site in report["sites"]:
            names = [frame["function"].split("(")[0] for frame in site["stack"]]
            if "stop" not in names:
                continue
            stack = [{"module": os.path.basename(frame["module"]), "offset": frame["offset"]}
                     for frame in site["stack"][names.index("stop") + 1:]]
            stacks.setdefault(site["bytes"] // site["allocations"], []).append(stack)
        return stacks

    @staticmethod
    def frames(stack):
        """Modules and offsets, those of one frame, and of equal ones after another, once."""
        frames = []
        for frame in stack:
            frame = (frame["module"], frame["offset"])
            if not frames or frames[-1] != frame:
                frames.append(frame)
        return frames

    def compare(self, program, min_share):
        expected, recorded = self.stacks_of_gdb(program), self.recorded(program)
        self.assertGreaterEqual(len(expected), min_share)
        self.assertEqual(sorted(recorded), sorted(expected))
        for bytes_, stacks in expected.items():
            for stack in stacks:
                last = next((index for index, frame in enumerate(stack) if frame["function"] in ENDS or
                             frame["function"].endswith("::main")), len(stack) - 1)
                # The frame of a signal is no call: either address of it is as good.
                want = [frame for frame in stack[:last + 1] if not frame["signal"]]
                signals = {(frame["module"], frame["offset"] + step) for frame in stack if frame["signal"]
                           for step in (0, 1)}
                candidates = [[frame for frame in self.frames(stack) if frame not in signals]
                              for stack in recorded[bytes_]]
                frames = self.frames(want)
                self.assertTrue(any(candidate[:len(frames)] == frames for candidate in candidates),
                                f"{bytes_}: gdb has\n{stack}\nrecorded is\n{candidates}")

    def test_stacks_of_c_are_those_of_gdb(self):
        for options in ("-O2", "-fomit-frame-pointer"), ("-O2", "-fno-omit-frame-pointer"), ("-O0", "-no-pie"):
            with self.subTest(options=options):
                self.compare(self.build(["cc"], "stacks.c", "-g", *options), 6)

    def test_stacks_of_cpp_are_those_of_gdb(self):
        for options in ("-O2", "-fomit-frame-pointer"), ("-O0",):
            with self.subTest(options=options):
                self.compare(self.build(["c++"], "stacks.cpp", "-g", *options), 4)

    def test_stacks_of_rust_are_those_of_gdb(self):
        for options in ("-O",), ():
            with self.subTest(options=options):
                self.compare(self.build(["rustc"], "stacks.rs", "-g", *options), 2)

    # Beyond here gdb is not asked: it goes through no code made at run time, nor past a fiber's first function.

    def stacks_of(self, innermost, *arguments):
        """The functions of each stack on which one stands, and how many blocks it allocated."""
        self.run_program(PATHS.tarn, "record", "--heap", "--full", "-o", "rec", "--", *map(str, arguments))
        report = json.loads(self.run_program(PATHS.tarn, "report", "--quick", "--json", "--stacks", "--top", "100000",
                                             "rec"))
        stacks = [([frame["function"].split("(")[0].split("::")[-1] for frame in site["stack"]], site["allocations"])
                  for site in report["sites"]]
        return [stack for stack in stacks if innermost in stack[0]]

    def assert_one(self, stacks, *names, allocations=1):
        """One stack alone has these, in this order, innermost first."""
        def has(stack):
            left = iter(stack)
            return all(name in left for name in names)
        self.assertEqual([count for stack, count in stacks if has(stack)], [allocations], f"{names} in {stacks}")

    def test_fibers_and_signal_stacks(self):
        for options in ("-O2", "-fomit-frame-pointer"), ("-O2", "-fno-omit-frame-pointer"):
            with self.subTest(options=options):
                stacks = self.stacks_of("stop", self.build(["cc"], "fibers.c", "-g", *options))
                # Three of three kinds of memory and two threads, and fifty more: nothing behind the first function
                # differs.
                self.assert_one(stacks, "stop", "inner", "middle", "fiber_main", allocations=53)
                self.assert_one(stacks, "stop", "inner", "on_signal", "raising", "main")
                self.assert_one(stacks, "stop", "inner", "on_signal", "raising", "fiber_main")
                if platform.machine() == "x86_64":
                    self.assert_one(stacks, "stop", "inner", "", "through_frame", "fiber_main")
                    self.assertIn((["stop", "inner", ""], 1), stacks, "nothing beyond the end of a stack")
                self.assertEqual(len(stacks), 5 if platform.machine() == "x86_64" else 3)

    def test_code_made_at_run_time_has_the_names_of_its_map(self):
        if platform.machine() != "x86_64":
            self.skipTest("its code is x86's")
        program = self.build(["cc"], "fibers.c", "-g", "-O2")
        # The name of the map has the process in it, which a shell knows before it becomes the program.
        stacks = self.stacks_of("stop", "/bin/sh", "-c", f'exec "{program}" /tmp/perf-$$.map')
        process = json.loads(self.run_program(PATHS.tarn, "report", "--json", "--quick", "rec"))["program"]["process"]
        self.addCleanup(pathlib.Path(f"/tmp/perf-{process}.map").unlink)
        self.assert_one(stacks, "stop", "inner", "jitted_10", "through_frame", "fiber_main")

    def test_a_wrapper_is_passed_with_all_that_it_calls(self):
        self.stacks_of("stop", self.build(["cc"], "fibers.c", "-g", "-O2"))
        def deciding(*options):
            report = json.loads(self.run_program(PATHS.tarn, "report", "--quick", "--json", "--top", "1000", *options,
                                                 "rec"))
            return {site["stack"][site["frame_index"]]["function"] for site in report["sites"]}
        self.assertIn("stop", deciding())
        self.assertTrue({"middle", "on_signal"} <= deciding("--wrapper", "inner"))
        passed = deciding("--wrapper", "middle", "--wrapper", "inner")
        self.assertTrue({"fiber_main", "on_signal"} <= passed, passed)
        self.assertFalse({"stop", "inner", "middle"} & passed, passed)

    def test_stacks_of_fibers_of_boost_end_in_their_first_function(self):
        try:
            program = self.build(["c++"], "fibers.cpp", "-g", "-O2", "-std=c++20", "-Wl,--no-as-needed",
                                 "-lboost_context")
        except AssertionError:
            self.skipTest("needs Boost.Context")
        self.assertEqual([count for _, count in self.stacks_of("serve", program)], [2000])  # of a hundred fibers


if __name__ == "__main__":
    main("tarn")
