#!/usr/bin/env python3
"""What the command records on an old kernel, which tests/support/old_kernel.c stands for, and the line that it says."""

import json
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from paths import HANG_S, PATHS, main

LEFT_OUT = "this kernel cannot dispatch system calls to their program (x86-64, Linux 5.11)"


class OldKernel(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tarn-old-kernel-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def run_there(self, *arguments):
        return subprocess.run([PATHS.old_kernel, *arguments], capture_output=True, text=True, timeout=HANG_S,
                              check=False, cwd=self.folder)

    def test_everything_but_system_calls_is_recorded(self):
        result = self.run_there(PATHS.tarn, "record", "--full", "-o", "all.rec", "--", PATHS.threads, "3", "500")
        self.assertEqual((result.returncode, result.stdout), (7, "done\n"), result.stderr)
        first, *others = result.stderr.splitlines()
        self.assertEqual(first, f"tarn: system calls are not recorded: {LEFT_OUT}")
        self.assertNotIn("system calls", "".join(others))
        report = json.loads(self.run_there(PATHS.tarn, "report", "--json", "all.rec").stdout)
        self.assertGreaterEqual(report["heap"]["allocations"], 3 * 500)

    def test_system_calls_that_are_asked_for_are_refused(self):
        result = self.run_there(PATHS.tarn, "record", "--syscalls", "-o", "calls.rec", "--", PATHS.threads, "3", "500")
        self.assertEqual((result.returncode, result.stdout), (5, ""))
        self.assertEqual(result.stderr, f"tarn: --syscalls: {LEFT_OUT}\n")
        self.assertFalse((self.folder / "calls.rec").exists())

    def test_the_malloc(self):
        result = self.run_there(PATHS.tarn, "run", "--stats=json", "--", PATHS.threads, "3", "500")
        self.assertEqual((result.returncode, result.stdout), (7, "done\n"), result.stderr)
        self.assertGreaterEqual(json.loads(result.stderr)["sums"]["allocated_blocks"], 3 * 500)


if __name__ == "__main__":
    main("tarn", "old_kernel", "threads")
