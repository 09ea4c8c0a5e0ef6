#!/usr/bin/env python3
"""`tarn record --locks`: holds that another thread ends, recursive ones, those of signal handlers, and too many."""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import prices
from paths import PATHS, FolderTest, json_in, main


def setUpModule():
    prices.use_simple()


class Holds(FolderTest):
    def record(self, *arguments, mode=("--full",)):
        self.output = self.tarn("record", "--locks", *mode, "-o", "rec", "--", PATHS.holds,
                                *map(str, arguments)).stdout
        return json.loads(self.tarn("report", "--json", "--quick", "--top", "1000", "rec").stdout)

    def lock(self, report, function, of_type="mutex"):
        """The lock that is first used in this function, or next to it among the callers."""
        depths = [([f"::{function}(" in f"::{frame['function']}(" for frame in lock["stack"]] + [True]).index(True)
                  for lock in report["locks"]]
        lock = report["locks"][depths.index(min(depths))]
        self.assertEqual(lock["type"], of_type)
        return lock

    def left_out(self, report, limit):
        return sum(reached["events"] for reached in report["recorder"]["limits"]
                   if reached["limit"].startswith(limit))

    def test_a_hold_ends_when_another_thread_releases_the_lock(self):
        rounds = 40  # more than a thread keeps
        for mode in ("--full",), ():
            with self.subTest(mode=mode):
                report = self.record("handed", rounds, mode=mode)
                handed, later = self.lock(report, "take_handed"), self.lock(report, "take_later")
                self.assertEqual((handed["locks"], handed["still_held"]), (rounds, 0))
                self.assertEqual((later["holds"], later["still_held"]), (rounds + 1, 0))
                self.assertEqual(report["lock_orders"]["inversions"], [])
                self.assertEqual(handed["holds"], rounds + 1)

    def test_a_recursive_hold_is_part_of_the_outermost_one(self):
        report = self.record("nested", 20)
        inner, outer = self.lock(report, "take_inner"), self.lock(report, "nest")
        self.assertEqual((inner["acquisitions"], inner["holds"], outer["holds"]), (80, 20, 20))
        self.assertLessEqual(inner["held_ns"], outer["held_ns"])

    def test_a_lock_of_another_type_at_the_address_of_one_that_ended(self):
        report = self.record("reused")
        self.assertEqual(self.lock(report, "use_mutex")["acquisitions"], 1)
        self.assertEqual(self.lock(report, "use_shared_mutex", "reader-writer lock")["shared"], 1)

    def test_locks_of_a_signal_handler_are_neither_lost_nor_counted_several_times(self):
        for mode, error in (("--full",), 0), ((), 0.4):  # five standard errors
            with self.subTest(mode=mode):
                report = self.record("signals", 20000, mode=mode)
                signals = int(self.output.split()[0])
                # The handler may interrupt the recorder in the acquisition or in the release of the other lock.
                count = self.lock(report, "take_in_handler")["acquisitions"] + self.left_out(report, "signal handlers")
                self.assertAlmostEqual(count, signals, delta=signals * error)

    def test_locks_beyond_the_limit_count_as_one(self):
        report = self.record("crowd", 140000)  # more than the recorder's table has room for
        self.assertEqual([reached["limit"] for reached in report["recorder"]["limits"]], ["locks (65,535)"])
        self.assertEqual(sum(lock["acquisitions"] for lock in report["locks"]), 280000)

    def test_the_limits_that_were_reached_are_named(self):
        report = self.record("many", 40)
        self.assertEqual(self.left_out(report, "locks that one thread holds (32)"), 8)
        output = self.tarn("report", "--quick", "rec").stdout
        self.assertIn("\nLimits reached: locks that one thread holds (32): 8 further holds have no time", output)
        page = self.folder / "page.html"
        self.tarn("report", "--quick", "--html", str(page), "rec")
        self.assertIn("8 further holds have no time", json_in(page))
        deep = self.record("deep")
        self.assertGreater(self.left_out(deep, "frames of a call stack (64)"), 0)
        self.assertEqual(self.left_out(deep, "locks that one thread holds"), 101 - 32)
        self.assertEqual(self.record("many", 32)["recorder"]["limits"], [])
        self.assertNotIn("Limits reached", self.tarn("report", "--quick", "rec").stdout)


if __name__ == "__main__":
    main("tarn", "holds")
