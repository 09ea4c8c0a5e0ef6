#!/usr/bin/env python3
"""The time in a recording: parts of it by `tarn report --start --end`."""

import json
import os
import pathlib
import tempfile
import unittest

from paths import PATHS, main, run_program

SHARED = tempfile.TemporaryDirectory(prefix="tarn-timeline-")


def tarn(*words, code=0):
    return run_program(PATHS.tarn, *words, code=code, cwd=SHARED.name,
                       env={**os.environ, "XDG_CACHE_HOME": SHARED.name})


def setUpModule():
    tarn("record", "--full", "-o", "rec", "--", PATHS.phases)


def report(*words):
    return json.loads(tarn("report", "--json", "--top", "1000", *words, "rec").stdout)


def blocks_at(report, function):
    return sum(site["allocations"] for site in report["sites"]
               if any(function in place["function"] for place in site["stack"]))


def taken_at(report, function):
    return sum(lock["acquisitions"] for lock in report["locks"]
               if any(function in place["function"] for place in lock["stack"]))


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
        whole = report()
        pause = idle_time(whole["timeline"])
        first, last = report("--end", pause), report("--start", pause)
        self.assertIsNone(whole["part"])
        for count, work, other in ((blocks_at, "early_work", "late_work"), (taken_at, "early_work", "late_work")):
            self.assertGreater(count(whole, work), 10)
            self.assertGreater(count(whole, other), 10)
            self.assertEqual(count(first, work), count(whole, work))
            self.assertEqual(count(first, other), 0)
            self.assertEqual(count(last, work), 0)
            self.assertEqual(count(last, other), count(whole, other))
        self.assertNotIn("write", [call["name"] for call in first["syscalls"]])
        self.assertIn("write", [call["name"] for call in last["syscalls"]])
        self.assertEqual(last["part"]["to_ns"], whole["end"]["wall_us"] * 1000)
        self.assertEqual(last["end"]["wall_us"], (last["part"]["to_ns"] - last["part"]["from_ns"]) // 1000)

    def test_the_course_adds_up_to_the_whole(self):
        whole = report()
        course = whole["timeline"]
        count = len(course["to_ns"])
        self.assertGreater(count, 5)
        self.assertEqual(course["to_ns"][-1], whole["end"]["wall_us"] * 1000)
        self.assertEqual(course["to_ns"], sorted(course["to_ns"]))
        self.assertEqual(sum(map(sum, course["allocations"].values())), whole["heap"]["allocations"])
        self.assertEqual(sum(map(sum, course["bytes"].values())), whole["heap"]["bytes"])
        self.assertEqual(sum(map(sum, course["acquisitions"].values())),
                         sum(lock["acquisitions"] for lock in whole["locks"]))
        self.assertEqual(sum(map(sum, course["syscalls"].values())), sum(call["count"] for call in whole["syscalls"]))
        self.assertTrue(all(course["resident_bytes"][:-1]))
        self.assertIsNone(report("--end", "50%")["timeline"])
        self.assertFalse(sum(map(sum, report("--source", "locks")["timeline"]["allocations"].values())))

    def test_categories_are_those_of_the_whole(self):
        whole = {tuple(map(str, site["stack"])): site["category"] for site in report("--stacks")["sites"]}
        part = {tuple(map(str, site["stack"])): site["category"]
                for site in report("--stacks", "--end", "10%")["sites"]}
        self.assertLessEqual(part.items(), whole.items())

    def test_the_text_says_which_part(self):
        self.assertRegex(tarn("report", "--start", "500ms", "--end", "0.9s", "rec").stdout,
                         r"of that from 0\.\d\d to \d\.\d\d s")

    def test_times_that_mean_nothing(self):
        for words, why in ((("--start", "soon"), "invalid time 'soon'"), (("--end", "-1s"), "invalid time"),
                           (("--start", "2", "--end", "1"), "--start 2 is not before --end 1"),
                           (("--start", "9h"), "--start 9h is not before the end of the recording, "),
                           (("--start", "nan"), "invalid time")):
            output = tarn("report", *words, "rec", code=2).stderr
            self.assertIn(why, output)
            self.assertEqual(len(output.splitlines()), 1)
        header = pathlib.Path(SHARED.name, "rec").read_bytes()[:16]
        pathlib.Path(SHARED.name, "cut").write_bytes(header)
        self.assertIn("this recording has none", tarn("report", "--start", "1s", "cut", code=3).stderr)


if __name__ == "__main__":
    main("tarn", "phases")
