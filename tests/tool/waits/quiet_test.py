#!/usr/bin/env python3
"""`tarn record` of a program with quiet regions: what is heard in them, and nothing else."""

import json
import pathlib
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from paths import PATHS, main, run_program

ROUNDS = 300


class Quiet(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="tarn quiet "))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.run_program(PATHS.quiet, "2")  # by itself

    @classmethod
    def run_program(cls, *arguments, code=0):
        result = run_program(*arguments, code=code, cwd=cls.folder)
        return result.stdout + result.stderr

    def record(self, *options):
        self.run_program(PATHS.tarn, "record", *options, "-o", "rec", "--", PATHS.quiet, str(ROUNDS))

    def regions(self, *options):
        self.record(*options)
        report = json.loads(self.run_program(PATHS.tarn, "report", "--json", "rec"))
        return {region["name"]: region for region in report["quiet_regions"]}

    def check(self, region, entered, heap=0, calls=0, waits=0):
        self.assertEqual({name: region[name] for name in ("entered", "heap_calls", "system_calls", "lock_waits")},
                         {"entered": entered, "heap_calls": heap, "system_calls": calls, "lock_waits": waits})

    def test_heap_calls_are_heard_sampled_or_not(self):
        for mode in ((), ("--full",)):
            with self.subTest(mode=mode):
                violations = self.regions("--heap", *mode)
                self.check(violations["heap"], 2 * ROUNDS, heap=2 * 7 * ROUNDS)
                self.check(violations["long"], 1, heap=60_000)
                self.check(violations["silent"], ROUNDS)
                self.check(violations["calls"], ROUNDS)  # calls were not recorded

    def test_counts_of_the_heap_are_those_without_regions(self):
        self.record("--heap", "--full")
        heap = json.loads(self.run_program(PATHS.tarn, "report", "--json", "rec"))["heap"]
        in_rounds = 2 * ROUNDS * 5 + 38_300  # malloc, malloc, new, realloc, calloc
        self.assertGreaterEqual(heap["allocations"], in_rounds)
        self.assertLess(heap["allocations"], in_rounds + 100)

    def test_calls_and_waits_are_heard_with_their_stack(self):
        violations = self.regions("--syscalls")
        self.check(violations["calls"], ROUNDS, calls=2 * ROUNDS)
        self.check(violations["outer"], ROUNDS, calls=2 * ROUNDS)
        self.check(violations["inner"], ROUNDS, calls=ROUNDS)
        self.assertGreaterEqual(violations["waits"]["lock_waits"], 1)
        functions = [[frame["function"] for frame in site["stack"]] for site in violations["calls"]["sites"]]
        self.assertEqual(len(functions), 2)
        for stack in functions:
            self.assertTrue(any("of_calls" in name for name in stack), stack)

    def test_the_ninth_region_is_heard_as_the_eighth(self):
        violations = self.regions("--syscalls")
        self.check(violations["level 7"], 1, calls=1)
        self.assertNotIn("level 8", violations)

    def test_waits_are_heard_where_calls_are_not_recorded(self):
        violations = self.regions("--locks")
        self.assertGreaterEqual(violations["waits"]["lock_waits"], 1)
        self.check(violations["heap"], 2 * ROUNDS)

    def test_the_report_names_them(self):
        self.record()
        report = self.run_program(PATHS.tarn, "report", "rec")
        self.assertRegex(report, r"\n\d+ quiet regions, \d+ of them not quiet\n")
        self.assertIn(f"\ncalls: {2 * ROUNDS} system calls in {ROUNDS} times\n", report)
        self.assertNotIn("\nsilent:", report)

    def test_a_gate_holds_them(self):
        self.record()
        self.assertIn("violations: ", self.run_program(PATHS.tarn, "gate", "--max", "violations <= 0", "rec", code=1))
        self.run_program(PATHS.tarn, "gate", "--max", "violations <= 1M", "rec")
        self.run_program(PATHS.tarn, "record", "-o", "none", "--", "/bin/true")
        self.assertIn("\"violations\" cannot be checked in none: no quiet region was entered",
                      self.run_program(PATHS.tarn, "gate", "--max", "violations <= 0", "none", code=2))


if __name__ == "__main__":
    main("tarn", "quiet")
