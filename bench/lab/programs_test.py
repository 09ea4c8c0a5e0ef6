#!/usr/bin/env python3
"""Every form of every program of the lab in small: the work is the same, and a wrong word is refused in one line.

    programs_test.py BIN PROGRAM...
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

# What keeps each short. Every other key is as usual.
SMALL = {
    "list": ["nodes=100", "total=2000"],
    "heapdemo": ["allocations=200"],
    "heapdemo2": ["allocations=200"],
    "lock-cost": ["pairs=500", "cores=1"],
    "aba": ["operations=2000"],
    "count-a": ["bytes=5000"],
    "m-string": ["requests=200"],
    "false-sharing": ["writes=2000"],
    "growth": ["live=500", "steps=1000"],
    "atomics": ["replaced=5"],
    "peers": ["pool=1", "percent=1"],
    "categories": ["requests=200"],
}
FOLDER, NAMES = pathlib.Path(), []


def run(name, *arguments):
    return subprocess.run([FOLDER / f"lab-{name}", *arguments], capture_output=True, text=True, timeout=100,
                          check=False, stdin=subprocess.DEVNULL)


class Programs(unittest.TestCase):
    def test_forms_do_the_same_work(self):
        for name in NAMES:
            arguments = SMALL.get(name, [])
            listing = run(name, "--forms")
            if listing.returncode == 3:  # something that is not ours is missing
                self.assertEqual(listing.stderr.count("\n"), 1, listing.stderr)
                continue
            if name == "count-a":
                folder = self.enterContext(tempfile.TemporaryDirectory())
                arguments = [*arguments, f"file={folder}/words"]
            results = {}
            for form in listing.stdout.split():
                with self.subTest(f"{name} {form}"):
                    result = run(name, form, *arguments)
                    self.assertEqual((result.returncode, result.stderr), (0, ""))
                    line = json.loads(result.stdout)
                    self.assertGreater(line["units"], 0)
                    self.assertGreaterEqual(line["ns"], 0)
                    results[form] = line["checksum"]
            results.pop("make", None)  # prepares only
            with self.subTest(name):
                self.assertEqual(len(set(results.values())), 1, results)

    def test_wrong_arguments_are_refused_in_one_line(self):
        for name in NAMES:
            form = (run(name, "--forms").stdout.split() or [None])[0]
            if form is None:
                continue
            for command in ([], ["nothing"], [form, "colour=1"], [form, "word"], [form, "--forms"]):
                with self.subTest(f"{name} {command}"):
                    result = run(name, *command)
                    self.assertEqual(result.returncode, 2)
                    self.assertEqual(result.stderr.count("\n"), 1, result.stderr)

    def test_numbers_outside_of_their_range_are_refused(self):
        for number in ("0", "-1", "1000000000000000000", "many", "", "1e3"):
            with self.subTest(number):
                result = run("list", "malloc", f"nodes={number}")
                self.assertEqual((result.returncode, result.stderr.count("\n")), (2, 1))
                self.assertIn("a number from 1 to", result.stderr)


if __name__ == "__main__":
    FOLDER, NAMES = pathlib.Path(sys.argv[1]), sys.argv[2:]
    unittest.main(argv=sys.argv[:1])
