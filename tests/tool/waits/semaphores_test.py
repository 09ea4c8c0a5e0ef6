#!/usr/bin/env python3
"""`tarn record --locks` of semaphores: those that are locks, as in CPython, and those that tell of events."""

import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import perf_events
import prices
from paths import PATHS, FolderTest, main

ROUNDS = 20
EXIT_CODE = 5  # of a program in which each call had the expected result
PYTHON_LOCK = """
import threading, time
lock = threading.Lock()
def take_turns():
    for _ in range(20):
        with lock:
            time.sleep(0.002)
threads = [threading.Thread(target=take_turns) for _ in range(2)]
for each in threads: each.start()
for each in threads: each.join()
"""


def setUpModule():
    prices.use_simple()


class Semaphores(FolderTest):
    def record(self, *arguments, modes=("--locks", "--full"), code=EXIT_CODE):
        self.closing_lines = self.tarn("record", *modes, "-o", "rec", "--", *map(str, arguments), code=code).stderr
        return json.loads(self.tarn("report", "--json", "--quick", "--top", "1000", "rec").stdout)

    def semaphores(self, report, function):
        semaphores = [lock for lock in report["locks"] if lock["type"] == "semaphore"
                      and any(function in frame["function"] for frame in lock["stack"])]
        self.assertTrue(semaphores, function)
        return semaphores

    def semaphore(self, report, function):
        semaphores = self.semaphores(report, function)
        self.assertEqual(len(semaphores), 1, function)
        return semaphores[0]

    def check(self, lock, **expected):
        self.assertEqual({name: lock[name] for name in expected}, expected)

    def test_a_semaphore_that_its_taker_posts_is_a_lock(self):
        for modes in ("--locks", "--full"), ("--locks",), ():
            with self.subTest(modes=modes):
                report = self.record(PATHS.semaphores, ROUNDS, modes=modes)
                lock = self.semaphore(report, "take_guard")
                self.check(lock, category="contended", acquisitions=2 * ROUNDS, holds=2 * ROUNDS, threads=2, locks=1)
                self.assertGreater(lock["waited_count"], 0)
                waits = [wait for site in lock["sites"] for wait in site["waits"]]
                self.assertEqual(sum(wait["waits"] for wait in waits), lock["waited_count"])
                self.assertTrue(all("take_guard" in str(wait["stack"]) for wait in waits))
                self.assertIn("contended: 1 semaphore, acquired 40 times by 2 threads",
                              self.tarn("report", "--quick", "rec").stdout)

    @unittest.skipIf(perf_events.refusal() != 0, "the kernel refuses perf_event_open")
    def test_waits_for_a_lock_are_no_idle_time(self):
        report = self.record(PATHS.semaphores, ROUNDS, modes=("--cpu", "--locks"))
        waited_ns = self.semaphore(report, "take_guard")["waited_ns"]
        parts = [part for lane in report["lanes"]["threads"] for part in lane["activities"]]
        shown_ns = sum(part["ns"] for part in parts if part["state"] == "lock" and "take_guard" in str(part["stack"]))
        # Who has the lock again may still wait for a processor, which is another state.
        runnable_ns = sum(part["ns"] for part in parts if part["state"] == "runnable")
        self.assertGreater(shown_ns, 0)
        self.assertLess(shown_ns / waited_ns, 1.3)
        self.assertGreater((shown_ns + runnable_ns) / waited_ns, 0.7)
        idle = [part["stack"] for part in parts if part["state"] == "idle"]
        self.assertIn("await_event", str(idle))

    def test_one_that_another_thread_posts_tells_of_events(self):
        report = self.record(PATHS.semaphores, ROUNDS)
        self.check(self.semaphore(report, "await_event"), category="condition", acquisitions=ROUNDS + 2,
                   still_waiting=[], remedy="")
        self.check(self.semaphore(report, "await_answer"), category="condition", acquisitions=ROUNDS + 1)
        self.check(self.semaphore(report, "await_work"), category="condition", acquisitions=ROUNDS, still_waiting=[])
        guard = self.semaphore(report, "take_guard")
        waits = guard["waited_count"]
        self.assertIn(f"; {waits} time{'s' if waits != 1 else ''} after a wait: ",
                      self.tarn("report", "--quick", "rec").stdout)
        self.assertEqual(report["lock_orders"]["inversions"], [])
        self.assertEqual(report["recorder"]["limits"], [])

    def test_events_are_in_no_sum_of_locks(self):
        report = self.record(PATHS.semaphores, ROUNDS)
        count = sum(lock["acquisitions"] for lock in report["locks"] if lock["category"] != "condition")
        self.assertIn(f" {count} locks taken", self.closing_lines)
        self.assertRegex(self.tarn("report", "--quick", "rec").stdout, rf"locks, acquired {count} times")
        self.assertNotIn("await_", str(report["lock_orders"]["chains"]))

    def test_tries_and_waits_in_vain_are_refused(self):
        report = self.record(PATHS.semaphores, ROUNDS)
        self.check(self.semaphore(report, "try_in_vain"), acquisitions=0, refused=ROUNDS + 2)

    def test_threads_that_wait_for_each_other_wait_for_locks(self):
        report = self.record(PATHS.semaphores, "stuck")
        for function in "take_left", "take_right":
            lock = self.semaphore(report, function)
            self.check(lock, category="contended", acquisitions=1)
            self.assertEqual(len(lock["still_waiting"]), 1)
            wait = lock["still_waiting"][0]
            self.assertTrue(wait["is_deadlock"])
            self.assertIn(function, str(wait["held_from"]))
        self.assertIn("A deadlock: 2 threads waited for each other",
                      self.tarn("report", "--quick", "rec").stdout)

    def test_the_holder_of_a_lock_is_known_while_it_waits_itself(self):
        for rounds in 1, 100000:  # the last one of many is not recorded
            with self.subTest(rounds=rounds):
                report = self.record(PATHS.semaphores, "asleep", rounds, modes=("--locks",))
                lock = self.semaphore(report, "take_guard")
                wait, = lock["still_waiting"]
                self.assertFalse(wait["is_deadlock"])
                self.assertNotEqual(wait["holder"], wait["thread"])
                self.assertIn("fall_asleep", str(wait["held_from"]))

    def test_nobody_is_the_holder_where_several_have_places(self):
        report = self.record(PATHS.semaphores, "pool")
        wait, = self.semaphore(report, "take_place")["still_waiting"]
        self.assertIsNone(wait["holder"])
        self.assertFalse(wait["is_deadlock"])

    def test_samples_tell_the_two_kinds_apart(self):
        count = 100000
        for modes in ("--locks",), ():
            with self.subTest(modes=modes):
                report = self.record(PATHS.semaphores, "brisk", count, modes=modes)
                lock, event = self.semaphore(report, "take_guard"), self.semaphore(report, "await_event")
                self.assertNotEqual(lock["category"], "condition")
                self.assertAlmostEqual(lock["acquisitions"] / (2 * count), 1, delta=0.3)
                self.assertAlmostEqual(lock["holds"] / (2 * count), 1, delta=0.3)
                self.assertEqual(event["category"], "condition")
                self.assertAlmostEqual(event["acquisitions"] / count, 1, delta=0.3)

    def test_the_locks_of_python(self):
        report = self.record("/usr/bin/python3", "-c", PYTHON_LOCK, modes=("--locks",), code=0)
        lock = self.semaphore(report, "take_turns")
        self.check(lock, category="contended", acquisitions=40, holds=40, threads=2)
        self.assertGreater(lock["waited_count"], 0)
        for end_lock in self.semaphores(report, "Thread._set_tstate_lock"):
            self.check(end_lock, category="condition")


if __name__ == "__main__":
    main("tarn", "semaphores")
