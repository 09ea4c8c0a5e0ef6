"""What tests of the command share: paths on their command lines, a folder for each test, runs of programs, pages."""

import argparse
import base64
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import zlib

PATHS = argparse.Namespace()
HANG_S = 600  # the seconds after which a step hangs, also on a machine with ten times the work that it can do


def polls(interval_s=0.05):
    """Yields at once and then after each interval, for a loop that looks for what another process does."""
    deadline = time.monotonic() + HANG_S
    while time.monotonic() < deadline:
        yield
        time.sleep(interval_s)


def run_program(*arguments, code=0, **settings):
    """Runs a program to its end, and returns what it wrote; fails where it ends with another exit code."""
    result = subprocess.run(arguments, **{"capture_output": True, "text": True, "timeout": HANG_S, "check": False,
                                          **settings})
    if result.returncode != code:
        raise AssertionError(f"{arguments}: {result.returncode} instead of {code}\n{result.stdout}{result.stderr}")
    return result


def json_in(page):
    """The JSON that an HTML report contains, as text."""
    packed = re.search(r'id="recording">([^<]*)<', page.read_text(encoding="utf-8"))[1]
    return zlib.decompress(base64.b64decode(packed)).decode()


def record_sites(folder):
    """Records the program of many sites in full, as `rec`, and with half its rounds, as `half`."""
    for name, rounds in ("rec", "2000"), ("half", "1000"):
        run_program(PATHS.tarn, "record", "--heap", "--full", "-o", f"{folder}/{name}", "--", PATHS.sites, rounds, "0")


class FolderTest(unittest.TestCase):
    """Each test has a folder of its own, with a space in its name, and runs programs in there."""
    prefix = "tarn test "

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=self.prefix))
        self.addCleanup(shutil.rmtree, self.folder)

    def run_program(self, *arguments, **settings):
        return run_program(*arguments, **{"cwd": self.folder, **settings})

    def tarn(self, *arguments, **settings):
        return self.run_program(PATHS.tarn, *arguments, **settings)


def main(*names, **numbers):
    """Runs the tests of the calling script, with an option for each of the names, and for each number its default."""
    parser = argparse.ArgumentParser()
    for name in names:
        parser.add_argument(f"--{name}", type=os.path.abspath, required=True)
    for name, default in numbers.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    arguments = parser.parse_known_args(namespace=PATHS)[1]
    unittest.main(argv=[sys.argv[0], *arguments])
