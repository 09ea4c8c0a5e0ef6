#!/usr/bin/env python3
"""`tarn record --locks`: every lock of a program with known counts, and who held it while others waited."""

import json
import pathlib
import re
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from paths import PATHS, main, run_program

ROUNDS = 1500


class Recorded(unittest.TestCase):
    arguments, mode = (), ()

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="tarn locks "))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.run_program(PATHS.locks, *cls.arguments)  # by itself
        cls.output = cls.run_program(PATHS.tarn, "record", "--locks", *cls.mode, "-o", "rec", "--", PATHS.locks,
                                   *cls.arguments).stderr
        report = cls.run_program(PATHS.tarn, "report", "--json", "--top", "100000", "rec", code=0).stdout
        cls.report = json.loads(report)

    @classmethod
    def run_program(cls, *arguments, code=5):
        return run_program(*arguments, code=code, cwd=cls.folder)

    @staticmethod
    def is_in(stack, function):
        return any(f"::{function}(" in f"::{frame['function']}(" for frame in stack)

    def locks(self, function, of_type="mutex"):
        """The locks first used in a function of locks.cpp, in the order of their addresses."""
        locks = [lock for lock in self.report["locks"]
                 if lock["type"] == of_type and self.is_in(lock["stack"], function)]
        return sorted(locks, key=lambda lock: lock["address"])

    def lock(self, function, of_type="mutex"):
        locks = self.locks(function, of_type)
        self.assertEqual(len(locks), 1, [lock["stack"][:3] for lock in self.report["locks"]])
        return locks[0]

    def check(self, lock, **expected):
        self.assertEqual({name: lock[name] for name in expected}, expected)


class Locks(Recorded):
    """Each acquisition counts."""
    arguments, mode = (str(ROUNDS),), ("--full",)

    def test_all_are_counted(self):
        self.assertEqual([lock["error"] for lock in self.report["locks"]], [0] * len(self.report["locks"]))
        self.assertRegex(self.output, r"[0-9] locks taken(?! \(estimated)")

    def test_of_one_thread(self):
        lock = self.lock("of_one_thread")
        self.check(lock, acquisitions=ROUNDS, waited_count=0, waited_ns=0, holds=ROUNDS, threads=1, locks=1,
                   category="one thread")
        self.assertGreater(lock["held_ns"], 0)

    def test_of_several_threads_one_after_the_other(self):
        self.check(self.lock("by_turns"), acquisitions=2 * ROUNDS, waited_count=0, threads=2, holds=2 * ROUNDS,
                   category="uncontended")

    def test_contended_and_by_whom(self):
        lock = self.lock("hold_it")
        self.check(lock, acquisitions=40, threads=2, category="contended", holds=40)
        self.assertGreater(lock["waited_count"], 0)
        waiter = [site for site in lock["sites"] if self.is_in(site["stack"], "wait_for_it")]
        self.assertEqual(sum(site["acquisitions"] for site in waiter), 20)
        longest = max((wait for site in waiter for wait in site["waits"]), key=lambda wait: wait["waited_ns"])
        self.assertTrue(self.is_in(longest["stack"], "hold_it"))
        self.assertFalse(self.is_in(longest["stack"], "wait_for_it"))
        self.assertEqual(self.report["threads"][longest["holder"]]["id"], self.report["program"]["process"])
        self.assertEqual(sum(wait["waits"] for site in lock["sites"] for wait in site["waits"]), lock["waited_count"])
        self.assertLessEqual(longest["waited_ns"], lock["waited_ns"])
        self.assertIn("held", lock["remedy"])
        text = self.run_program(PATHS.tarn, "report", "--top", "3", "rec", code=0).stdout
        self.assertRegex(text, r"contended: 1 mutex, acquired 40 times by 2 threads\n"
                               r"   [\d,]+ waits?, [\d.]+ m?s in all")
        self.assertRegex(" ".join(text.split()),
                         r" \d+ locks, acquired \d{1,3}(,\d{3})+ times; "
                         r"[\d,]+ times? after a wait: [\d.]+ m?s, summed over \d threads in a run of [\d.]+ m?s ")
        self.assertNotRegex(text, r"libc-start|invoke\.h|libc_start_call_main|\b0 gave up")
        self.assertEqual(lock["calls_inside"], [], "no calls were recorded")
        self.assertIn("hold_it", text)
        self.assertRegex(" ".join(text.split()),
                         r" (Worth doing|Little to gain): locks\. (1 thread|[\d,]+ threads together) waited "
                         r"[\d.]+ (s|ms|µs) for locks in a run of [\d.]+ (s|ms), most at locks\.cpp:\d+ ")

    def test_a_gate_limits_the_waits(self):
        def gate(limit, code):
            return self.run_program(PATHS.tarn, "gate", "rec", "--max", limit, code=code)
        gate("lock waits <= 100000 %", 0)
        self.assertRegex(gate("lock waits <= 0.0001 %", 1).stdout,
                         r"lock waits: [1-9].* % of one thread, limit 0.0001 % of one thread")
        self.assertIn("the recording has no system calls", gate("system calls <= 1", 2).stderr)

    def test_a_diff_says_that_the_loads_are_very_different(self):
        self.run_program(PATHS.tarn, "record", "--locks", "--full", "-o", "more", "--", PATHS.locks, str(5 * ROUNDS))
        text = " ".join(self.run_program(PATHS.tarn, "diff", "rec", "more", code=0).stdout.split())
        self.assertRegex(text, r"note: very different amounts: .*locks [\d,]+ → [\d,]+ \([45]\.\d times as much\)")
        self.assertNotIn("very different", self.run_program(PATHS.tarn, "diff", "rec", "rec", code=0).stdout)

    def test_kinds_of_mutexes(self):
        kinds = self.locks("kinds")
        self.assertEqual(sorted((kind["acquisitions"], kind["refused"]) for kind in kinds if kind["threads"] == 1),
                         [(ROUNDS, ROUNDS), (3 * ROUNDS, 0)])
        robust = [lock for lock in self.report["locks"] if lock["type"] == "mutex" and lock["threads"] == 3]
        self.assertEqual([lock["acquisitions"] for lock in robust], [4])  # two of them of who had died
        self.assertEqual([(lock["holds"], lock["still_held"]) for lock in robust], [(4, 0)])

    def test_readers_and_writers(self):
        self.check(self.lock("readers_and_writers", "reader-writer lock"), acquisitions=3 * ROUNDS,
                   shared=2 * ROUNDS, refused=ROUNDS, waited_count=0, read_mostly=None)

    def test_a_spin_lock_is_recorded_with_its_refusals(self):
        self.check(self.lock("spins", "spin lock"), acquisitions=ROUNDS, refused=ROUNDS, waited_count=0, holds=ROUNDS)

    def test_a_mutex_of_c11_is_recorded(self):
        self.check(self.lock("c11"), acquisitions=ROUNDS, refused=2 * ROUNDS, waited_count=0, holds=ROUNDS)

    def test_a_lock_that_is_made_again_at_one_place_is_one(self):
        self.check(self.lock("short_lived"), acquisitions=ROUNDS, locks=1)

    def test_a_lock_that_follows_another_at_its_address_is_not_it(self):
        first, second = self.lock("first_tenant"), self.lock("second_tenant")
        self.assertEqual(first["address"], second["address"])
        self.assertEqual((first["acquisitions"], second["acquisitions"]), (1, ROUNDS))

    def test_waiting_for_a_condition_is_not_holding_its_lock(self):
        condition = self.lock("take_turns", "condition variable")
        self.assertEqual(condition["category"], "condition")
        self.assertGreater(condition["acquisitions"], 0)
        self.assertGreater(condition["waited_ns"], 0)
        self.check(self.lock("take_turns"), acquisitions=2 * ROUNDS, holds=2 * ROUNDS)
        # Waiting is not holding: of two threads that take turns, one waits for the other to be woken.
        self.assertLess(self.lock("take_turns")["held_ns"], condition["waited_ns"])
        never = (self.locks("cancels", "condition variable") + self.locks("cancelled", "condition variable"))[0]
        self.check(never, refused=1)
        # Nor is a wait that is cancelled.
        held_ns = sum(site["held_ns"] for lock in self.report["locks"] for site in lock["sites"]
                      if self.is_in(site["stack"], "cancelled"))
        self.assertLess(held_ns, 50_000_000)


class Samples(Recorded):
    """Acquisitions that need not wait count by chance."""
    ROUNDS = 400_000
    arguments = ("samples", str(ROUNDS))

    def assert_estimated(self, lock, count, counter="acquisitions"):
        """Eight of its standard deviations: what is outside of them is not outside by chance."""
        self.assertGreater(lock["error"], 0)
        self.assertLess(lock["error"], 0.05)
        self.assertLess(abs(lock[counter] - count), 8 / 1.96 * lock["error"] * lock[counter], lock)

    def test_counts_lie_within_their_error(self):
        for function in "of_one_thread", "held_around":
            for lock in self.locks(function):
                with self.subTest(function=function):
                    self.assert_estimated(lock, self.ROUNDS)
                    self.assertEqual(lock["waited_count"], 0)
                    self.assertEqual(lock["holds"], lock["acquisitions"], "each is held with its weight")
        self.assertEqual(len(self.locks("held_around")), 2)
        self.assert_estimated(self.lock("tries_in_vain"), self.ROUNDS, "refused")
        self.assertEqual(self.lock("tries_in_vain")["acquisitions"], 1)

    def test_locks_that_are_released_in_another_order(self):
        locks = self.locks("hand_over_hand")
        self.assertEqual(sum(lock["locks"] for lock in locks), 3)
        acquisitions = sum(lock["acquisitions"] for lock in locks)
        deviation = sum((lock["error"] / 1.96 * lock["acquisitions"]) ** 2 for lock in locks) ** 0.5
        self.assertLess(abs(acquisitions - self.ROUNDS - 1), 8 * deviation)
        # A hold that was taken for another one would last from the beginning to the end.
        self.assertEqual(sum(lock["holds"] for lock in locks), acquisitions)

    def test_who_waits_is_counted_with_the_holder(self):
        lock = self.lock("hold_it")
        self.assertGreater(lock["waited_count"], 0)
        waiter = [site for site in lock["sites"] if self.is_in(site["stack"], "wait_for_it")]
        longest = max((wait for site in waiter for wait in site["waits"]), key=lambda wait: wait["waited_ns"])
        self.assertTrue(self.is_in(longest["stack"], "hold_it"), longest)
        self.assertFalse(self.is_in(longest["stack"], "wait_for_it"))
        self.assertEqual(self.report["threads"][longest["holder"]]["id"], self.report["program"]["process"])
        self.assertLessEqual(sum(wait["waits"] for site in lock["sites"] for wait in site["waits"]),
                             lock["waited_count"])
        self.assertLessEqual(longest["waited_ns"], lock["waited_ns"])
        # The holder's acquisitions are counted where somebody has waited for them.
        holder = [site["acquisitions"] for site in lock["sites"] if self.is_in(site["stack"], "hold_it")]
        self.assertGreaterEqual(sum(holder), max(wait["waits"] for site in waiter for wait in site["waits"]))

    def test_a_thread_that_takes_a_lock_once_is_seen(self):
        lock = self.lock("takes_it_often")
        self.check(lock, threads=2, category="uncontended")
        once = [site["acquisitions"] for site in lock["sites"] if self.is_in(site["stack"], "takes_it_once")]
        self.assertEqual(once, [1])
        self.assertEqual(self.lock("of_one_thread")["category"], "one thread")
        self.assertIn("one thread alone was seen to take it", self.lock("of_one_thread")["remedy"])

    def test_estimates_are_called_so(self):
        self.assertRegex(self.output, r"\d locks taken \(estimated\)")
        text = self.run_program(PATHS.tarn, "report", "rec", code=0).stdout
        self.assertRegex(text, r"(?m)^\d+ locks, acquired about [\d,]+ times \(± \d+ %\); ")
        self.assertRegex(text, r"one thread: 1 mutex, acquired about [\d,]+ times \(± \d+ %\) by 1 thread\n")

    def test_they_differ_by_chance_only(self):
        self.run_program(PATHS.tarn, "record", "--locks", "-o", "again", "--", PATHS.locks, *self.arguments)
        difference = json.loads(self.run_program(PATHS.tarn, "diff", "--json", "rec", "again", code=0).stdout)
        changes = [change["after"] or change["before"] for change in difference["locks"]["changes"]]
        functions = {change["function"].split("(")[0].split("::")[-1] for change in changes}
        # How often these wait is up to the system.
        self.assertEqual(functions - {"hold_it", "wait_for_it"}, set(), changes)


class Crowd(Recorded):
    """Threads that wait every few microseconds: some waits stand for the others."""
    ROUNDS = 1_000_000
    arguments = ("crowd", str(ROUNDS))

    def test_samples_stand_for_acquisitions_that_wait_and_that_do_not(self):
        lock = self.lock("push_in")
        self.assertGreater(lock["error"], 0)
        self.assertLess(lock["error"], 0.02)
        # Eight standard deviations.
        self.assertAlmostEqual(lock["acquisitions"], 4 * self.ROUNDS, delta=4 * lock["error"] * 4 * self.ROUNDS)

    def test_holders_have_no_more_than_what_was_waited(self):
        lock = self.lock("push_in")
        waits = [wait for site in lock["sites"] for wait in site["waits"]]
        self.assertGreater(lock["waited_count"], 0)
        self.assertGreater(len(waits), 0)
        self.assertLessEqual(sum(wait["waits"] for wait in waits), lock["waited_count"])
        self.assertLessEqual(sum(wait["waited_ns"] for wait in waits), lock["waited_ns"])
        self.assertLessEqual(lock["held_wait_ns"], lock["waited_ns"])


class Tries(Recorded):
    """Threads that try a lock until they have it: a try that is recorded must fail as often as the others."""
    arguments = ("tries", "100000")

    def test_tries_in_vain_and_with_success_lie_within_their_error(self):
        kinds = re.findall(r"(?m)^(\w+): (\d+), (\d+) in vain$", self.output)
        self.assertEqual(len(kinds), 6)
        for name, successes, failures in kinds:
            with self.subTest(name):
                rows = [lock for lock in self.report["locks"]
                        if any(f"::{name}>" in frame["function"] for frame in lock["stack"])]
                self.assertEqual(len(rows), 1, rows)
                tolerance = 4 * rows[0]["error"] * (int(successes) + int(failures))
                self.assertAlmostEqual(rows[0]["acquisitions"], int(successes), delta=tolerance)
                self.assertAlmostEqual(rows[0]["refused"], int(failures), delta=tolerance)


class Permits(Recorded):
    """The C++ library gives up the processor some times before it waits: that is no loop of the program."""
    arguments, mode = ("permits", "500"), ("--syscalls", "--full")

    def test_the_loop_of_the_library_gets_no_remedy(self):
        yields = [call for call in self.report["syscalls"] if call["name"] == "sched_yield"
                  and self.is_in(call["stack"], "takes_the_permit")]
        self.assertGreater(sum(call["count"] for call in yields), 1000)
        self.assertEqual({call["remedy"] for call in yields}, {""})


class Herd(Recorded):
    """Of twenty threads that are woken each time, one has work, and acquires the mutex anew."""
    ROUNDS, THREADS = 200, 20
    arguments, mode = ("herd", str(ROUNDS)), ("--full",)

    def test_threads_that_are_woken_in_vain_are_named_with_a_remedy(self):
        condition = self.lock("take_items", "condition variable")
        idle = self.THREADS * (self.ROUNDS + 1) - self.ROUNDS - self.THREADS
        self.check(condition, category="condition", idle_wakeups=idle)
        self.assertRegex(condition["remedy"], f"after {idle:,} of [0-9,]+ wake-ups .*notify_one")
        text = " ".join(self.run_program(PATHS.tarn, "report", "--quick", "rec", code=0).stdout.split())
        self.assertRegex(text, rf"Worth doing: locks\. Threads were woken {idle:,} times to wait again at once, at "
                         r"locks.cpp:\d+ take_items")


class Heir(Recorded):
    arguments, mode = ("heir", "2000"), ("--full",)

    def test_one_thread_that_is_woken_for_each_item_is_no_herd(self):
        condition = self.lock("take_items", "condition variable")
        self.assertLess(condition["idle_wakeups"], 100)
        self.assertEqual(condition["remedy"], "")


class Kept(Recorded):
    """Waits and holds that never end."""
    arguments = ("kept", "1")

    def text(self):
        return self.run_program(PATHS.tarn, "report", "rec", code=0).stdout

    def test_a_wait_that_never_ends_is_a_wait(self):
        lock = next(lock for lock in self.locks("keeps_both") if lock["refused"] == 0)
        self.check(lock, acquisitions=1, category="contended", still_held=1)
        self.assertEqual(len(lock["still_waiting"]), 3)
        for wait in lock["still_waiting"]:
            self.assertTrue(self.is_in(wait["stack"], "wants_what_is_kept"))
            self.assertTrue(self.is_in(wait["held_from"]["stack"], "keeps_both"))
            self.assertEqual(self.report["threads"][wait["holder"]]["id"], self.report["program"]["process"])
            self.assertFalse(wait["is_deadlock"])
            self.assertGreater(wait["waited_ns"], 250_000_000)
        self.assertGreater(lock["waited_ns"], 750_000_000)
        self.assertGreater(lock["longest_wait_ns"], 250_000_000)
        by_holder = sum(wait["waited_ns"] for site in lock["sites"] for wait in site["waits"])
        self.assertGreater(by_holder, 750_000_000)
        text = self.text()
        self.assertRegex(text, r"(?m)^   thread \d+ waited [\d.]+ ms and still waited at the end, for thread \d+$")
        self.assertRegex(" ".join(text.split()), r" \d+ locks, acquired 2 times; waited [\d.]+ s, summed .*; "
                                                 r"3 threads still waited at the end ")
        self.assertNotIn("No remedy", text)
        self.assertIn("Worth doing: locks.", text)

    def test_a_hold_that_never_ends_is_long(self):
        lock = next(lock for lock in self.locks("keeps_both") if lock["refused"] == 1)
        self.check(lock, still_held=1)
        self.assertGreater(lock["held_ns"], 250_000_000)
        self.assertGreater(lock["longest_held_ns"], 250_000_000)
        self.assertNotIn("interrupted", lock["remedy"])
        self.assertNotIn("held 0 ns", lock["remedy"])
        self.assertRegex(self.text(), r"held [\d.]+ ms each; still held at the end")


class KeptInFull(Kept):
    mode = ("--full",)


class Stopped(Recorded):
    """A lock that is free while a thread that was woken does not run is not waited for because of its holder."""
    arguments = ("stopped", "5")

    def test_only_the_time_until_the_release_counts(self):
        lock = self.lock("wait_without_running")
        self.assertEqual(lock["waited_count"], 5)
        self.assertGreater(lock["waited_ns"], 500_000_000)
        self.assertGreater(lock["held_wait_ns"], 0)
        self.assertLess(lock["held_wait_ns"], lock["waited_ns"] - 450_000_000)
        (verdict,) = self.report["verdicts"]
        self.assertEqual((verdict["waited_ns"], verdict["held_ns"]), (lock["waited_ns"], lock["held_wait_ns"]))

    def test_the_report_says_so(self):
        text = " ".join(self.run_program(PATHS.tarn, "report", "rec", code=0).stdout.split())
        self.assertRegex(text, r" Most of that was for a processor: another thread had the lock for "
                               r"[\d.]+ [mµ]?s of it\. ")
        self.assertRegex(text, r" most of the waiting was for a processor: another thread had the lock for "
                               r"[\d.]+ [mµ]?s of it ")


class StoppedInFull(Stopped):
    mode = ("--full",)


class Convoy(Recorded):
    """Of each wait those are the holders that held the lock in its time, and not the one that released it last."""
    arguments = ("convoy", "40000")

    def test_the_slow_holder_is_named(self):
        lock = self.lock("holds_slowly")
        (quick,) = [site for site in lock["sites"] if self.is_in(site["stack"], "holds_quickly")]
        self.assertEqual(quick["waited_count"], 4)
        by_slow = [wait for wait in quick["waits"] if self.is_in(wait["stack"], "holds_slowly")]
        self.assertEqual(sum(wait["waits"] for wait in by_slow), 4)
        self.assertGreater(sum(wait["waited_ns"] for wait in by_slow), 0.95 * quick["waited_ns"])
        self.assertLessEqual(sum(wait["waited_ns"] for wait in quick["waits"]), quick["waited_ns"])
        text = self.run_program(PATHS.tarn, "report", "rec", code=0).stdout
        self.assertRegex(text, r"(?m)^   longest holder meanwhile: thread \d+, [\d.]+ (s|ms) \((9\d|100) %\), "
                               r"acquired elsewhere:\n.*holds_slowly$")
        self.assertRegex(text, r"(?m)^   at .*holds_quickly(\n   \d+ % of the time held, (75 % of the acquisitions: by "
                               r".*comes_later|25 % of the acquisitions: by .*comes_first)){2}$")
        # The sum of several waits may be longer than the run.
        self.assertRegex(" ".join(text.split()),
                         r"Longest wait chain: \d threads[^:]* waited [\d.]+ m?s in \d waits "
                         r"\(longest [\d.]+ m?s\) for ")


class ConvoyInFull(Convoy):
    mode = ("--full",)


class Queue(Recorded):
    """A hundred threads wait for one holder, and the last of them looks after a hundred releases."""
    arguments = ("queue", "1")

    def test_all_have_waited_for_the_first_holder(self):
        lock = self.lock("keeps_all_waiting")
        (line,) = [site for site in lock["sites"] if self.is_in(site["stack"], "stands_in_line")]
        self.assertEqual((line["acquisitions"], line["waited_count"]), (100, 100))
        for_first = [wait for wait in line["waits"] if self.is_in(wait["stack"], "keeps_all_waiting")]
        # Each of them waited at least these 300 ms, less the time between its arrival and its wait.
        self.assertGreater(sum(wait["waited_ns"] for wait in for_first), 0.9 * 100 * 300_000_000)
        self.assertGreater(lock["held_wait_ns"], 0.9 * 100 * 300_000_000)
        self.assertLessEqual(sum(wait["waited_ns"] for wait in line["waits"]), line["waited_ns"])


class QueueInFull(Queue):
    mode = ("--full",)


class Foreign(Recorded):
    """A process that is not recorded holds the lock: no thread of this one did."""
    arguments = ("foreign", "1")

    def test_a_thread_does_not_wait_for_itself(self):
        lock = self.lock("waits_for_a_process")
        self.check(lock, acquisitions=3, waited_count=1)
        self.assertGreater(lock["waited_ns"], 100_000_000)
        self.assertEqual([wait for site in lock["sites"] for wait in site["waits"]], [])


class ForeignInFull(Foreign):
    mode = ("--full",)


if __name__ == "__main__":
    main("tarn", "locks")
