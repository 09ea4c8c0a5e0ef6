"""Valgrind sees into guarded pools: memcheck_test.py BIN runs cases of misuse/pool under it and wants its reports."""

import os
import subprocess
import sys
import unittest

BIN = sys.argv.pop(1)


def report_of(case):
    command = ["valgrind", "-q", os.path.join(BIN, "misuse", "pool"), case]
    return subprocess.run(command, env=dict(os.environ, TARN_GUARD="1"), capture_output=True, text=True,
                          timeout=120).stderr


class Memcheck(unittest.TestCase):
    def test_a_write_to_a_freed_block(self):
        report = report_of("pool_guard_use_after_free")
        self.assertRegex(report, r"Invalid write of size 8(?s:.)*is 8 bytes inside a block of size 24 free'd")

    def test_a_write_behind_a_block(self):
        report = report_of("pool_guard_overrun")
        self.assertRegex(report, r"Invalid write of size 1(?s:.)*is 0 bytes after a block of size 24 alloc'd")

    def test_nothing_where_nothing_is_wrong(self):
        self.assertNotIn("Invalid", report_of("pool_guard_leak"))


if __name__ == "__main__":
    unittest.main()
