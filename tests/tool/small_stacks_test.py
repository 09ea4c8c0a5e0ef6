#!/usr/bin/env python3
"""`tarn record` of threads and fibers with small stacks, of which little is left where they are recorded."""

import json

import prices
from paths import PATHS, FolderTest, main

MODES = [], ["--full"], ["--heap"], ["--heap", "--full"], ["--locks"], ["--locks", "--full"], ["--syscalls"]
HOOK_BYTES = 2048  # what a hook needs of the stack at most, as docs/guide/record.md says
SMALLEST = 16384  # PTHREAD_STACK_MIN of most programs


def setUpModule():
    prices.use_simple()


class SmallStacks(FolderTest):
    def needs(self, kind, size, left, modes=None):
        """The bytes of the stack that each operation needs, and those of a signal's frame."""
        program = [PATHS.small_stacks, kind, str(size), str(left)]
        command = program if modes is None else [PATHS.tarn, "record", *modes, "-o", "rec", "--", *program]
        lines = self.run_program(*command).stdout.splitlines()
        return {name: int(count) for name, count in map(str.split, lines)}

    def locks_taken(self):
        report = json.loads(self.tarn("report", "--json", "--quick", "rec").stdout)
        return sum(lock["acquisitions"] for lock in report["locks"])

    def test_threads_with_the_smallest_stack_run(self):
        for kind in "thread", "default":
            self.needs(kind, SMALLEST, 1500)
            for modes in MODES:
                with self.subTest(kind=kind, modes=modes):
                    self.needs(kind, SMALLEST, 1500, modes)
                    if "--locks" in modes and "--full" in modes:
                        self.assertEqual(self.locks_taken(), 40)

    def test_hooks_need_little_of_a_stack_that_the_program_made(self):
        for kind in "own", "fiber":
            plain = self.needs(kind, 65536, 20000)
            for modes in MODES:
                with self.subTest(kind=kind, modes=modes):
                    needs = self.needs(kind, 65536, 20000, modes)
                    has_calls = not modes or "--syscalls" in modes or modes == ["--full"]
                    allowance = HOOK_BYTES + (plain["signal"] if has_calls else 0)
                    for name in "allocate", "lock", "read":
                        self.assertLessEqual(needs[name], plain[name] + allowance, name)
                    self.assertGreater(sum(needs.values()), sum(plain.values()), "something was recorded")

    def test_they_run_with_as_much_left(self):
        signal = self.needs("fiber", 65536, 20000)["signal"]
        room = 700  # for the program's own frames
        for kind in "own", "fiber":
            for modes in MODES:
                with self.subTest(kind=kind, modes=modes):
                    has_calls = not modes or "--syscalls" in modes or modes == ["--full"]
                    self.needs(kind, SMALLEST, HOOK_BYTES + room + (signal if has_calls else 0), modes)


if __name__ == "__main__":
    main("tarn", "small-stacks")
