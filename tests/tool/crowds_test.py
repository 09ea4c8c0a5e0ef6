#!/usr/bin/env python3
"""`tarn record` of programs that start more threads than a recording has rows for."""

import json

import prices
from paths import PATHS, FolderTest, main

OWN_ROWS = 4096  # format::first_threads
SHARED_ROW = 16383  # format::max_threads: where each event takes a lock
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


if __name__ == "__main__":
    main("tarn", "brief")
