"""What a test of the command is told on its command line: where the things are that it runs."""

import argparse
import os
import sys
import time
import unittest

PATHS = argparse.Namespace()
HANG_S = 600  # the seconds after which a step hangs, also on a machine with ten times the work that it can do


def polls(interval_s=0.05):
    """Yields at once and then after each interval, for a loop that looks for what another process does."""
    deadline = time.monotonic() + HANG_S
    while time.monotonic() < deadline:
        yield
        time.sleep(interval_s)


def main(*names, **numbers):
    """Runs the tests of the calling script, with an option for each of the names, and for each number its default."""
    parser = argparse.ArgumentParser()
    for name in names:
        parser.add_argument(f"--{name}", type=os.path.abspath, required=True)
    for name, default in numbers.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    words = parser.parse_known_args(namespace=PATHS)[1]
    unittest.main(argv=[sys.argv[0], *words])
