#!/usr/bin/env python3
"""`tarn record` of programs that start more threads than a recording has rows for."""

import json
import os
import subprocess

import prices
from paths import PATHS, FolderTest, main

OWN_ROWS = 4096  # format::first_threads
THREADS = 50000


def setUpModule():
    prices.use_simple()


class Threads(FolderTest):
    def report(self, *options):
        """The report on brief threads, of which at most 8 live at one time."""
        self.tarn("record", "--heap", "--locks", *options, "-o", "rec", "--", PATHS.brief, str(THREADS))
        return json.loads(self.tarn("report", "--json", "--quick", "--stacks", "--top", "1000", "rec").stdout)

    def site(self, report, function):
        sites = [site for site in report["sites"] if any(function in frame["function"] for frame in site["stack"])]
        self.assertEqual(len(sites), 1)
        return sites[0]

    def check_rows(self, report):
        rows = report["threads"]
        # A thread may need a row of its own while the kernel has not yet forgotten those that have ended.
        self.assertLess(len(rows), OWN_ROWS + 100)
        self.assertEqual(rows[OWN_ROWS]["name"], "ended threads")
        count = sum(1 + row.get("predecessors", 0) for row in rows) - 1
        self.assertEqual(count, THREADS + 1)
        self.assertFalse(any("predecessors" in row for row in rows[:OWN_ROWS - 100]))
        text = self.tarn("report", "--quick", "rec").stdout
        self.assertIn("; 50,001 threads\n", text)
        self.assertNotRegex(text, r"by 4,\d\d\d threads")  # but by at least so many
        self.assertTrue(all(lock["may_have_more_threads"] for lock in report["locks"]))
        for site in report["sites"]:  # the first thread has few blocks, and the others one at each site
            has_few_samples = report["recorder"]["mode"] == "sampled" and site["error"] > 0
            self.assertEqual(site["may_have_more_threads"], site["allocations"] > THREADS / 2 or has_few_samples)

    def test_rows_of_ended_threads_serve_later_ones(self):
        report = self.report("--full")
        self.check_rows(report)
        counters = ("allocations", "freed_by_same_thread", "remote_frees", "end_blocks")
        brief_site, left_site = self.site(report, "make_own"), self.site(report, "make_left")
        self.assertEqual([brief_site[name] for name in counters], [THREADS, THREADS, 0, 0])
        self.assertEqual([left_site[name] for name in counters], [THREADS, 0, THREADS, 0])
        lock = next(lock for lock in report["locks"]
                    if any("take_common" in frame["function"] for frame in lock["stack"]))
        self.assertEqual(lock["acquisitions"], THREADS)
        text = self.tarn("report", "--quick", "rec").stdout
        self.assertNotIn("thread 0 allocated", text)
        pairs = left_site["thread_pairs"]
        self.assertIn(OWN_ROWS, {pair["allocating_thread"] for pair in pairs})
        # Hardly any of 50,000 threads frees what one other has allocated.
        self.assertNotIn("mostly:", text)

    def test_samples_have_the_same_rows(self):
        report = self.report()
        self.check_rows(report)
        self.assertGreaterEqual(report["heap"]["allocations"], 2 * THREADS)
        self.assertEqual(report["recorder"]["dropped"], 0)

    def test_signals_that_are_set_for_new_threads_are_no_calls_of_the_program(self):
        self.tarn("record", "--syscalls", "--full", "-o", "rec", "--", PATHS.brief, "5000")
        calls = json.loads(self.tarn("report", "--json", "--top", "1000", "rec").stdout)["syscalls"]
        remedies = {call["remedy"] for call in calls if call["name"] == "rt_sigprocmask"} - {""}
        self.assertEqual(remedies, {"threads begin and end again and again: start them once, and reuse them"})

    def test_a_first_acquisition_in_a_later_thread_stands_for_itself(self):
        threads, acquisitions = 20000, 30
        self.tarn("record", "--locks", "-o", "rec", "--", PATHS.brief, str(threads), str(acquisitions))
        report = json.loads(self.tarn("report", "--json", "--quick", "--top", "1000", "rec").stdout)
        count = sum(lock["acquisitions"] for lock in report["locks"]
                      if any("take_common" in frame["function"] for frame in lock["stack"]))
        self.assertAlmostEqual(count / (threads * acquisitions), 1, delta=0.2)


class Locks(FolderTest):
    """More pairs of a thread and a lock than are counted apart."""
    CELLS = 65536  # format::max_lock_cells

    def record(self, threads, *options):
        """The report, and the most KiB that `tarn record` had in memory."""
        recorder = subprocess.Popen([PATHS.tarn, "record", "--locks", *options, "-o", "rec", "--", PATHS.lock_crowd,
                                     str(threads)], cwd=self.folder, stdout=subprocess.DEVNULL,
                                    stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(recorder.pid, 0)
        recorder.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(recorder.returncode, 0)
        report = json.loads(self.tarn("report", "--json", "--quick", "--top", "1000", "rec").stdout)
        return report, usage.ru_maxrss

    @staticmethod
    def function(facts):
        return facts["stack"][0]["function"].rpartition("::")[2].partition("(")[0]

    def group(self, report, function):
        """The locks that were first used in a function."""
        groups = [lock for lock in report["locks"] if self.function(lock) == function]
        self.assertEqual(len(groups), 1, [lock["stack"] for lock in report["locks"]])
        return groups[0]

    def test_sums_stay_exact_and_memory_bounded(self):
        threads = 100
        report, peak = self.record(threads, "--full")
        group = self.group(report, "take_each")
        acquisitions = threads * (2000 + 1999) + 1
        self.assertEqual([group[name] for name in ("acquisitions", "holds", "error", "threads")],
                         [acquisitions, acquisitions, 0, threads + 1])
        self.assertEqual({self.function(site): site["acquisitions"] for site in group["sites"]},
                         {"take_each": threads * 2000, "take_each_around_inner": threads * 1999,
                          "take_first_inside": 1})
        self.assertEqual(self.group(report, "take_each_around_inner")["acquisitions"], threads * 1999 + 1)
        limits = {limit["limit"]: limit for limit in report["recorder"]["limits"]}
        shared = limits[f"counts of locks by thread and call stack ({self.CELLS:,})"]
        # Each of these cells has one acquisition, except those of the inner lock.
        self.assertGreaterEqual(shared["events"], acquisitions - self.CELLS)
        self.assertRegex(shared["missing"], r"^[0-9,]+ further acquisitions count for all locks of one first use")
        self.assertEqual(report["recorder"]["dropped"], 0)
        self.assertIn("Limits reached: counts of locks by thread", self.tarn("report", "--quick", "rec").stdout)
        self.assertLess(peak, 120 << 10)  # a cell for each of 400,000 pairs takes some 200 MiB

    def test_locks_that_count_together_make_no_order(self):
        report, _ = self.record(60, "--full")
        self.assertEqual(report["lock_orders"]["inversions"], [])
        self.assertGreater(report["lock_orders"]["unattributed"], 0)
        self.assertIn("further acquisitions have no order", json.dumps(report["recorder"]["limits"]))

    def test_few_locks_count_apart(self):
        report, _ = self.record(10, "--full")
        self.assertEqual(report["recorder"]["limits"], [])
        self.assertEqual(self.group(report, "take_each")["locks"], 2000)


if __name__ == "__main__":
    main("tarn", "brief", "lock-crowd")
