#!/usr/bin/env python3
"""The time in a recording: parts of it by `tarn report --start --end`."""

import json
import os
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from paths import PATHS, main, run_program

SHARED = tempfile.TemporaryDirectory(prefix="tarn-timeline-")


def tarn(*arguments, code=0):
    return run_program(PATHS.tarn, *arguments, code=code, cwd=SHARED.name,
                       env={**os.environ, "XDG_CACHE_HOME": SHARED.name})


def setUpModule():
    tarn("record", "--full", "-o", "rec", "--", PATHS.phases)


def report(*arguments):
    return json.loads(tarn("report", "--json", "--top", "1000", *arguments, "rec").stdout)


def blocks_at(report, function):
    return sum(site["allocations"] for site in report["sites"]
               if any(function in frame["function"] for frame in site["stack"]))


def taken_at(report, function):
    return sum(lock["acquisitions"] for lock in report["locks"]
               if any(function in frame["function"] for frame in lock["stack"]))


def idle_time(course):
    """A time amid the longest part of the run in which nothing is allocated."""
    longest, begin = (0, 0), 0
    for index, end in enumerate(course["to_ns"]):
        if sum(column[index] for column in course["allocations"].values()):
            begin = end
        longest = max(longest, (end - begin, (begin + end) // 2))
    return f"{longest[1] / 1e6}ms"


class Parts(unittest.TestCase):
    def test_a_part_has_what_happened_in_it_and_nothing_else(self):
        full_report = report()
        pause = idle_time(full_report["timeline"])
        first, last = report("--end", pause), report("--start", pause)
        self.assertIsNone(full_report["part"])
        for count, work, other in ((blocks_at, "early_work", "late_work"), (taken_at, "early_work", "late_work")):
            self.assertGreater(count(full_report, work), 10)
            self.assertGreater(count(full_report, other), 10)
            self.assertEqual(count(first, work), count(full_report, work))
            self.assertEqual(count(first, other), 0)
            self.assertEqual(count(last, work), 0)
            self.assertEqual(count(last, other), count(full_report, other))
        self.assertNotIn("write", [call["name"] for call in first["syscalls"]])
        self.assertIn("write", [call["name"] for call in last["syscalls"]])
        self.assertEqual(last["part"]["to_ns"], full_report["end"]["wall_us"] * 1000)
        self.assertEqual(last["end"]["wall_us"], (last["part"]["to_ns"] - last["part"]["from_ns"]) // 1000)

    def test_the_course_adds_up_to_the_whole(self):
        full_report = report()
        course = full_report["timeline"]
        count = len(course["to_ns"])
        self.assertGreater(count, 5)
        self.assertEqual(course["to_ns"][-1], full_report["end"]["wall_us"] * 1000)
        self.assertEqual(course["to_ns"], sorted(course["to_ns"]))
        self.assertEqual(sum(map(sum, course["allocations"].values())), full_report["heap"]["allocations"])
        self.assertEqual(sum(map(sum, course["bytes"].values())), full_report["heap"]["bytes"])
        self.assertEqual(sum(map(sum, course["acquisitions"].values())),
                         sum(lock["acquisitions"] for lock in full_report["locks"]))
        self.assertEqual(sum(map(sum, course["syscalls"].values())),
                         sum(call["count"] for call in full_report["syscalls"]))
        self.assertTrue(all(course["resident_bytes"][:-1]))
        self.assertIsNone(report("--end", "50%")["timeline"])
        self.assertFalse(sum(map(sum, report("--source", "locks")["timeline"]["allocations"].values())))

    def test_categories_are_those_of_the_whole(self):
        categories = {tuple(map(str, site["stack"])): site["category"] for site in report("--stacks")["sites"]}
        part = {tuple(map(str, site["stack"])): site["category"]
                for site in report("--stacks", "--end", "10%")["sites"]}
        self.assertLessEqual(part.items(), categories.items())

    def test_the_text_says_which_part(self):
        self.assertRegex(tarn("report", "--start", "500ms", "--end", "0.9s", "rec").stdout,
                         r"of that from 0\.\d\d to \d\.\d\d s")

    def test_times_that_mean_nothing(self):
        for command, why in ((("--start", "soon"), "invalid time 'soon'"), (("--end", "-1s"), "invalid time"),
                             (("--start", "2", "--end", "1"), "--start 2 is not before --end 1"),
                             (("--start", "9h"), "--start 9h is not before the end of the recording, "),
                             (("--start", "nan"), "invalid time")):
            output = tarn("report", *command, "rec", code=2).stderr
            self.assertIn(why, output)
            self.assertEqual(len(output.splitlines()), 1)
        header = pathlib.Path(SHARED.name, "rec").read_bytes()[:16]
        pathlib.Path(SHARED.name, "cut").write_bytes(header)
        self.assertIn("this recording has none", tarn("report", "--start", "1s", "cut", code=3).stderr)


if __name__ == "__main__":
    main("tarn", "phases")
