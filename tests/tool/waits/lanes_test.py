#!/usr/bin/env python3
"""The section on lanes: what each thread did and when, against a program that says it of itself (lanes.cpp)."""

import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import perf_events
import prices
from paths import PATHS, FolderTest, json_in, main

BOUND_NS = 30_000_000
STATES = ("running", "runnable", "lock", "kernel", "sleep", "idle", "unknown")
PHASES = {"spin": ("running", "runnable"), "lock": ("lock",), "read": ("kernel",), "sleep": ("sleep",)}
FUNCTIONS = {"lock": "wait_for_lock", "read": "wait_for_byte", "sleep": "sleep_once"}


def setUpModule():
    prices.use_own()


@unittest.skipIf(perf_events.refusal() != 0, "the kernel refuses perf_event_open; cpu_test.py tests what is said then")
class Lanes(FolderTest):
    def tarn(self, *arguments, **settings):
        return super().tarn(*arguments, **settings).stdout

    def record(self, *sources):
        lines = self.tarn("record", "--cpu", *sources, "-o", "rec", "--", PATHS.lanes).splitlines()
        phases = [json.loads(line) for line in lines]
        report = json.loads(self.tarn("report", "--json", "--quick", "--top", "100", "rec"))
        lanes = {report["threads"][lane["thread"]]["name"]: lane for lane in report["lanes"]["threads"]}
        for lane in lanes.values():
            for part in lane["activities"]:
                self.assertEqual(part["ns"], sum(part["interval_ns"]))
                self.assertEqual(len(part["intervals"]), len(part["interval_ns"]))
                if part["state"] != "lock":
                    self.assertIsNone(part["holder"])
        return report, phases, lanes

    def window(self, lanes, phases, to_ns, phase):
        """The time of a phase since the program's start: the thread's lane ends soon after its last phase."""
        lane = lanes[phase["thread"]]
        last = max(interval for part in lane["activities"] for interval in part["intervals"])
        lived_ns = sum(ns for part in lane["activities"]
                       for interval, ns in zip(part["intervals"], part["interval_ns"]) if interval == last)
        end_ns = (to_ns[last - 1] if last else 0) + lived_ns
        offset = end_ns - max(other["end_ns"] for other in phases if other["thread"] == phase["thread"])
        return phase["begin_ns"] + offset, phase["end_ns"] + offset

    def test_lanes_are_those_of_the_clocks(self):
        for sources in ((), ("--locks", "--heap")):
            report, phases, lanes = self.record(*sources)
            to_ns = report["lanes"]["to_ns"]
            self.assertEqual(to_ns, sorted(to_ns))
            numbers = {thread["name"]: index for index, thread in enumerate(report["threads"])}
            # The kernel sums up for each thread how long it was woken and did not run; each wait has a like part of it.
            worker = [phase for phase in phases if phase["thread"] == "worker"]
            delays_ns = sum(phase["delay_ns"] for phase in phases if phase["phase"] != "spin")
            for phase in worker:
                states = PHASES[phase["phase"]]
                wall_ns = phase["end_ns"] - phase["begin_ns"]
                truth_ns = wall_ns if phase["phase"] == "spin" else wall_ns - phase["cpu_ns"] - phase["delay_ns"]
                begin_ns, end_ns = self.window(lanes, phases, to_ns, phase)
                slack_ns = BOUND_NS + delays_ns
                inside_ns = outside_ns = 0
                for part in lanes["worker"]["activities"]:
                    if part["state"] not in states:
                        continue
                    # Two threads that open their files of times may wait for each other in fopen, for microseconds.
                    if phase["phase"] in FUNCTIONS and part["ns"] > BOUND_NS:
                        self.assertIn(FUNCTIONS[phase["phase"]], [frame["function"] for frame in part["stack"]])
                    for interval, ns in zip(part["intervals"], part["interval_ns"]):
                        from_ns = to_ns[interval - 1] if interval else 0
                        is_inside = to_ns[interval] > begin_ns - slack_ns and from_ns < end_ns + slack_ns
                        inside_ns, outside_ns = inside_ns + is_inside * ns, outside_ns + (not is_inside) * ns
                self.assertAlmostEqual(inside_ns, truth_ns, delta=slack_ns, msg=phase)
                self.assertLess(outside_ns, slack_ns, phase)
            if sources:
                held_ns = {part["holder"]: part["ns"] for part in lanes["worker"]["activities"]
                           if part["state"] == "lock"}
                # Once the lock is free, the worker may wait for a processor, and nobody holds it.
                self.assertGreater(held_ns.get(numbers["holder"], 0), 0.9 * lanes["worker"]["lock_ns"] - slack_ns,
                                   held_ns)
            # The other thread waits for the spin to end, and then sleeps while the worker waits for its lock.
            lock = next(phase for phase in worker if phase["phase"] == "lock")
            begin_ns, end_ns = self.window(lanes, phases, to_ns, lock)
            asleep_ns = sum(ns for part in lanes["holder"]["activities"] if part["state"] == "sleep"
                            for interval, ns in zip(part["intervals"], part["interval_ns"])
                            if to_ns[interval] > begin_ns and (to_ns[interval - 1] if interval else 0) < end_ns)
            self.assertAlmostEqual(asleep_ns, end_ns - begin_ns, delta=slack_ns)

    def test_shares_are_printed_for_each_thread(self):
        report, _, lanes = self.record("--locks")
        times = report["time"]
        for state in ("running", "runnable"):
            total_ns = sum(lane[f"{state}_ns"] for lane in lanes.values())
            self.assertAlmostEqual(total_ns, times[f"{state}_ns"], delta=10)
        waits_ns = sum(lane[f"{state}_ns"] for lane in lanes.values() for state in STATES[2:])
        self.assertAlmostEqual(waits_ns, times["waiting_ns"] + times["unknown_ns"], delta=100)
        text = self.tarn("report", "--quick", "rec")
        # A busy kernel loses records: then there is a column for the time that is not known.
        self.assertRegex(text, r"\nThreads +running runnable +lock +kernel +sleep +idle( +unknown)?\n")
        share = round(100 * lanes["worker"]["lock_ns"] / sum(lanes["worker"][f"{state}_ns"] for state in STATES))
        self.assertRegex(text, rf"\n +[\d.]+ s +\d+ % +\d+ % +{share} % +\d+ % +\d+ % +\d+ %( +\d+ %)?  \d+ worker\n")
        self.assertRegex(self.tarn("report", "--quick", "--top", "1", "rec"), r" %  2 more threads; --top N\n")
        first = json.loads(self.tarn("report", "--quick", "--json", "--top", "1", "rec"))["lanes"]
        self.assertEqual((len(first["threads"]), first["others"]["threads"]), (1, 2))
        self.assertAlmostEqual(first["others"]["running_ns"] + first["threads"][0]["running_ns"], times["running_ns"],
                               delta=10)
        part = json.loads(self.tarn("report", "--quick", "--json", "--start", "50%", "rec"))["lanes"]
        self.assertEqual(part["to_ns"], [])
        self.assertEqual({len(state["intervals"]) for lane in part["threads"] for state in lane["activities"]}, {0})

    def test_a_chain_of_waits_is_named(self):
        for sources in (("--locks", "--cpu"), ("--locks", "--syscalls")):
            waited_ns = json.loads(self.tarn("record", *sources, "-o", "rec", "--", PATHS.lanes, "chain"))["waited_ns"]
            report = json.loads(self.tarn("report", "--json", "--quick", "rec"))
            names = [thread["name"] for thread in report["threads"]]
            chains = {tuple(names[thread] for link in chain["links"] for thread in link["threads"] + link["holders"]):
                      chain for chain in report["wait_for"]}
            chain = chains.get(("first", "second", "second", "third"))
            self.assertTrue(chain, chains.keys())
            for link, function in zip(chain["links"], ("wait_for_lock", "wait_and_hold")):
                self.assertAlmostEqual(link["waited_ns"], waited_ns, delta=BOUND_NS + 0.1 * waited_ns)
                self.assertIn(function, [frame["function"] for frame in link["waits_at"]["stack"]])
            work = chain["work"][0]
            self.assertEqual((work["state"], work["call"]), ("kernel", "read"), chain["work"])
            self.assertIn("wait_for_byte", [frame["function"] for frame in work["stack"]])
            self.assertAlmostEqual(work["ns"], waited_ns, delta=BOUND_NS + 0.2 * waited_ns)
            text = " ".join(self.tarn("report", "--quick", "rec").split())
            self.assertRegex(text, r"Longest wait chain: first \(\d+\) waited [\d.]+ m?s for the mutex at "
                                   r"own_times.hpp:\d+ wait_for_lock, held by second \(\d+\), which waited for the "
                                   r"mutex at lanes.cpp:\d+ wait_and_hold, held by third \(\d+\), which waited in "
                                   r"read at own_times.hpp:\d+ wait_for_byte\.")

    def test_the_end_of_a_chain_is_what_the_holder_did_meanwhile(self):
        # While it held the lock, it waited longer for the spin, when nobody waited for the lock.
        report, _, lanes = self.record("--locks")
        (chain,) = report["wait_for"]
        work = chain["work"][0]
        self.assertEqual((work["state"], work["call"]), ("sleep", "clock_nanosleep"), chain["work"])
        self.assertGreater(work["ns"], 0.6 * chain["links"][0]["waited_ns"])
        self.assertAlmostEqual(chain["links"][0]["waited_ns"], lanes["worker"]["lock_ns"], delta=BOUND_NS)

    def test_a_page_has_the_lanes(self):
        self.record("--locks")
        for option in ((), ("--redact",)):
            page = self.folder / "page.html"
            self.tarn("report", "--quick", *option, "--html", str(page), "rec")
            text = json_in(page)
            self.assertEqual("wait_for_lock" in text, not option)
            lanes = json.loads(text)["lanes"]
            self.assertEqual(len(lanes["threads"]), 3)
            parts = [part for lane in lanes["threads"] for part in lane["activities"]]
            self.assertTrue([part for part in parts if part["state"] == "lock" and part["stack"] > 0])

    def test_a_recording_without_samples_has_none(self):
        self.tarn("record", "--locks", "-o", "rec", "--", PATHS.lanes)
        self.assertIsNone(json.loads(self.tarn("report", "--quick", "--json", "rec"))["lanes"])
        self.assertNotIn("\nThreads ", self.tarn("report", "--quick", "rec"))


main("tarn", "lanes")
