#!/usr/bin/env python3
"""`tarn report` on a mutex that guards what is read often and replaced seldom: it advises tarn::reloadable."""

import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from paths import PATHS, FolderTest, main

READS, RELOADS = 400_000, 10
SHORT_NS = 10_000  # docs/guide/record.md: reads hold the lock for less


class ReadMostly(FolderTest):
    def test_a_configuration_under_a_mutex_should_be_reloadable(self):
        self.tarn("record", "-o", "rec", "--", PATHS.read_mostly)
        (lock,) = json.loads(self.tarn("report", "--json", "rec").stdout)["locks"]
        reading = max(lock["sites"], key=lambda site: site["acquisitions"])
        if reading["held_ns"] > SHORT_NS * reading["acquisitions"]:
            self.skipTest("the threads lost their processor while they had the lock")
        self.assertAlmostEqual(lock["acquisitions"], READS + RELOADS, delta=READS / 5)  # sampled
        self.assertEqual(lock["read_mostly"]["replacements"], RELOADS)
        self.assertTrue(any(frame["function"].endswith("reload") for frame in lock["read_mostly"]["stack"]))
        text = " ".join(self.tarn("report", "rec").stdout.split())
        self.assertRegex(text, r"→ held [\d.]+ [mµn]s by most, and 10 times for [\d.]+ [mµ]s by another function, "
                               r"which allocates: if it is only read elsewhere, tarn::reloadable<T>, whose readers "
                               r"take no lock; ")
        self.assertRegex(text, r" perhaps replaced: at read_mostly\.cpp:\d+ reload ")


if __name__ == "__main__":
    main("tarn", "read-mostly")
