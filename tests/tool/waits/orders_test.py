#!/usr/bin/env python3
"""The order in which a program takes locks: what could deadlock, what could not, and who waits for a waiting holder."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from paths import PATHS, main, polls, run_program

SHARED = tempfile.TemporaryDirectory(prefix="tarn-orders-")
ENVIRONMENT = {**os.environ, "XDG_CACHE_HOME": SHARED.name}


def tarn(*arguments, code=0):
    return run_program(PATHS.tarn, *arguments, code=code, cwd=SHARED.name, env=ENVIRONMENT)


def setUpModule():
    tarn("record", "--locks", "--heap", "-o", "rec", "--", PATHS.orders)
    tarn("record", "--locks", "-o", "late", "--", PATHS.orders, "late")


def orders(recording="rec"):
    return json.loads(tarn("report", "--json", "--top", "1000", recording).stdout)["lock_orders"]


def names(stack):
    return " ".join(frame["function"] for frame in stack)


class Orders(unittest.TestCase):
    recording = "rec"

    def inversion(self, *functions):
        """The one whose steps are in these functions, whatever it begins with."""
        inversions = [inversion for inversion in orders(self.recording)["inversions"]
                 if len(inversion["steps"]) == len(functions)
                 and all(any(function in names(step["takes_at"]["stack"]) for step in inversion["steps"])
                         for function in functions)]
        self.assertEqual(len(inversions), 1, functions)
        return inversions[0]

    def test_two_locks_in_both_orders(self):
        inversion = self.inversion("left_then_right", "right_then_left")
        self.assertFalse(inversion["by_one_thread"])
        self.assertEqual(inversion["similar_cycles"], 1)
        first, second = inversion["steps"]
        self.assertEqual([first["times"], second["times"]], [1, 1])
        self.assertNotEqual(first["threads"], second["threads"])
        self.assertNotEqual(first["lock"]["address"], second["lock"]["address"])
        for step in inversion["steps"]:
            self.assertEqual(step["lock"]["type"], "mutex")
            self.assertIn("_then_", names(step["held_from"]["stack"]))

    def test_three_locks_in_a_circle(self):
        inversion = self.inversion("one_then_two", "two_then_three", "three_then_one")
        taken_at = [names(step["takes_at"]["stack"]) for step in inversion["steps"]]
        index = next(index for index in range(3) if "one_then_two" in taken_at[index])
        self.assertIn("two_then_three", taken_at[(index + 1) % 3])

    def test_of_many_locks_at_the_same_places_there_is_one(self):
        inversion = self.inversion("transfer", "transfer")
        self.assertEqual(inversion["similar_cycles"], 2)

    def test_by_one_thread_alone(self):
        self.assertTrue(self.inversion("both_ways_alone", "both_ways_alone")["by_one_thread"])

    def test_nothing_else_is_one(self):
        self.assertEqual(len(orders(self.recording)["inversions"]), 4,
                         [[names(step["takes_at"]["stack"]) for step in inversion["steps"]]
                                                          for inversion in orders(self.recording)["inversions"]])

    def test_a_holder_that_waits(self):
        (chain,) = [chain for chain in orders(self.recording)["chains"]
                    if "waits_for_the_near_one" in names(chain["links"][0]["waits_at"]["stack"])]
        first, second = chain["links"]
        self.assertIn("holds_the_near_one_and_waits", names(first["held_from"]["stack"]))
        self.assertIn("holds_the_near_one_and_waits", names(second["waits_at"]["stack"]))
        self.assertIn("holds_the_far_one", names(second["held_from"]["stack"]))
        self.assertEqual(second["thread"], first["holder"])
        self.assertEqual(chain["waited_ns"], min(first["waited_ns"], second["waited_ns"]))
        self.assertGreater(chain["waited_ns"], 0)


class LateOrders(Orders):
    """Where acquisitions are sampled, the first one of each thread at each place is recorded, and each that waits."""
    recording = "late"


class Texts(unittest.TestCase):
    def test_the_text_says_it_in_words(self):
        text = tarn("report", "rec").stdout
        self.assertIn("\nPossible deadlock: locks. Locks are taken in 3 orders that could deadlock. "
                      "See Orders of locks.\n", text)
        judged = re.search("\\n((Worth doing|Worth a look|Little to gain):|Too short|No other remedy|No remedy)", text)
        if judged:
            self.assertLess(text.index("Possible deadlock"), judged.start())
        self.assertNotIn("No remedy found", text)
        self.assertNotIn("No remedy for locks", text)
        for finding in ("could deadlock: two locks are taken in both orders\n", "3 locks are taken in a circle",
                        "; so is 1 more, at the same sites", "could deadlock, if a second thread did the same",
                        "and meanwhile waited", "mutex A was acquired\n   at ",
                        "and while it was held, mutex B\n   at ", "one order everywhere"):
            self.assertIn(finding, text)
        self.assertNotIn("orders that could", tarn("report", "--source", "heap", "rec").stdout)

    def test_a_deadlock_that_happened_is_found(self):
        with subprocess.Popen([PATHS.tarn, "record", "--locks", "-o", "dead", "--", PATHS.orders, "deadlock"],
                              cwd=SHARED.name, env=ENVIRONMENT, stderr=subprocess.DEVNULL) as recorder:
            for _ in polls():
                try:
                    if orders("dead")["inversions"]:
                        break
                except AssertionError:
                    continue  # not begun
            recorder.send_signal(signal.SIGTERM)
        (inversion,) = orders("dead")["inversions"]
        self.assertEqual([step["times"] for step in inversion["steps"]], [1, 1])
        self.assertFalse(inversion["by_one_thread"])
        self.assertTrue(inversion["is_deadlock"])
        text = tarn("report", "dead").stdout
        self.assertIn("1. a deadlock: both still waited at the end; two locks were taken in both orders\n", text)
        self.assertIn("Worth doing: locks. A deadlock: 2 threads waited for each other until the end.", text)
        self.assertNotIn("No remedy", text)
        self.assertRegex(text, r"(?m)^   thread \d+ waited [\d.]+ m?s and still waited at the end, for thread \d+, "
                               r"which waited for it in turn$")


if __name__ == "__main__":
    main("tarn", "orders")
