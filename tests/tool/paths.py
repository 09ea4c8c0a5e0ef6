"""What a test of the command is told on its command line: where the things are that it runs."""

import argparse
import os
import sys
import unittest

PATHS = argparse.Namespace()


def main(*names, **numbers):
    """Runs the tests of the calling script, with an option for each of the names, and for each number its default."""
    parser = argparse.ArgumentParser()
    for name in names:
        parser.add_argument(f"--{name}", type=os.path.abspath, required=True)
    for name, default in numbers.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    rest = parser.parse_known_args(namespace=PATHS)[1]
    unittest.main(argv=[sys.argv[0], *rest])
