#!/usr/bin/env python3
"""The section Time: what each thread did, also while it did not run, against what the program's own clocks say."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import perf_events
import prices
from paths import HANG_S, PATHS, FolderTest, json_in, main, polls

BOUND = 0.03  # of a thread's time: clocks of the kernel that leave out interrupts differ by that
START_NS = 150_000_000  # what a start may take on a loaded machine; until then the program is not there
PARTS = ("running_ns", "runnable_ns", "waiting_ns", "unknown_ns")


def setUpModule():
    prices.use_own()


def stolen_ns():
    """The time that a hypervisor took from this machine's processors: the clock of a thread stands still then."""
    fields = pathlib.Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()
    return int(fields[8]) * 1_000_000_000 // os.sysconf("SC_CLK_TCK")


@unittest.skipIf(perf_events.refusal() != 0, "the kernel refuses perf_event_open; cpu_test.py tests what is said then")
class Time(FolderTest):
    def start(self, *arguments):
        return subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, cwd=self.folder)

    def tarn(self, *arguments, **settings):
        return super().tarn(*arguments, **settings).stdout

    def report(self, name="rec"):
        report = json.loads(self.tarn("report", "--json", "--quick", "--top", "1000", name))
        times = report["time"]
        self.assertEqual(times["waiting_ns"], times["unplaced_ns"] + sum(site["waited_ns"] for site in times["sites"]))
        self.assertEqual(times["threads"], sum(named["threads"] for named in times["names"]))
        for part in (*PARTS, "waits", "preemptions"):
            self.assertEqual(times[part], sum(named[part] for named in times["names"]), part)
        return report, {named["name"]: named for named in times["names"]}

    def lifetime(self, times):
        return sum(times[part] for part in PARTS)

    def test_times_are_those_of_the_clocks(self):
        for sources in (["--cpu"], ["--cpu", "--heap", "--locks", "--syscalls"]):
            stolen = stolen_ns()
            printed = self.tarn("record", *sources, "-o", "rec", "--", PATHS.times, "account")
            stolen = stolen_ns() - stolen
            account = json.loads(printed.splitlines()[1])
            report, names = self.report()
            truth, total = names["truth"], account["whole"]
            waited_ns = sum(account[name]["wall_ns"] - account[name]["cpu_ns"] for name in ("lock", "read", "sleep"))
            delta = BOUND * total["wall_ns"] + stolen
            self.assertEqual(truth["threads"], 1)
            self.assertEqual(truth["unknown_ns"], 0, report["cpu"]["lost"])
            self.assertGreaterEqual(self.lifetime(truth), total["wall_ns"], "the thread also begins and ends")
            self.assertAlmostEqual(truth["running_ns"], total["cpu_ns"], delta=delta)
            self.assertAlmostEqual(truth["waiting_ns"], waited_ns, delta=delta)
            self.assertAlmostEqual(truth["runnable_ns"], total["wall_ns"] - total["cpu_ns"] - waited_ns, delta=delta)
            for function, part in {"wait_for_lock": "lock", "wait_for_byte": "read", "sleep_once": "sleep"}.items():
                waits = [site for site in report["time"]["sites"]
                         if function in [frame["function"] for frame in site["stack"]]]
                # On a loaded machine there may have been no room for the stack.
                self.assertIn([site["names"] for site in waits], [[["truth"]], []], function)
                placed_ns = sum(site["waited_ns"] for site in waits)
                part_ns = account[part]["wall_ns"] - account[part]["cpu_ns"]
                self.assertLess(placed_ns, part_ns + delta / 3, function)
                self.assertGreater(placed_ns + report["time"]["unplaced_ns"], part_ns - delta / 3, function)
            # The thread reads its clock all the time.
            names_of_vdso = {function["function"] for function in report["cpu"]["functions"]
                             if function["module"] == "linux-vdso.so.1"}
            self.assertTrue([name for name in names_of_vdso if name.endswith("clock_gettime")], names_of_vdso)
            # The thread ends after it has read its counts.
            self.assertAlmostEqual(truth["waits"], account["waits"], delta=3 + account["waits"] // 20)
            self.assertAlmostEqual(truth["preemptions"], account["preemptions"], delta=3 + account["preemptions"] // 20)
            wall_ns = report["end"]["wall_us"] * 1000
            first = names["tool_times"]
            self.assertLess(self.lifetime(truth), self.lifetime(first))
            self.assertLess(self.lifetime(first), wall_ns)
            self.assertGreater(self.lifetime(first), 0.95 * wall_ns - START_NS)
        text = self.tarn("report", "--quick", "rec")
        self.assertRegex(text, r"\nTime of 2 threads in a run of [\d.]+ s: .* running, .* runnable, .* waiting\.\n")
        self.assertRegex(text, r"\nTime +running +runnable +waiting\n")
        self.assertRegex(text, r"\n +[\d.]+ s +\d+ % +[\d.]+ s +\d+ % +[\d.]+ s +\d+ %  truth\n")
        self.assertRegex(text, r"\nWaiting\n +[\d.]+ s +\d+ %  by \w+\n   at (?:own_)?times.[ch]pp:\d+ ")
        first = self.tarn("report", "--quick", "--top", "1", "rec")
        self.assertRegex(first, r"\n   and 1 more name\n")
        self.assertRegex(first, r"\n +[\d.]+ s +\d+ %  at [\d,]+ more sites?; --top N\n")
        collapsed = self.tarn("export", "--format", "collapsed", "--measure", "wait_time", "rec").splitlines()
        self.assertEqual(sum(int(line.rsplit(" ", 1)[1]) for line in collapsed), report["time"]["waiting_ns"])
        self.assertEqual([line for line in collapsed if not line.rsplit(" ", 1)[0].endswith("[waiting]")], [])
        for option, is_redacted in ((), False), (["--redact"], True):
            page = self.folder / "page.html"
            self.tarn("report", "--quick", *option, "--html", str(page), "rec")
            contents = json.loads(json_in(page))
            self.assertEqual([named.get("name") for named in contents["time"]["names"]],
                             [None if is_redacted else named["name"] for named in report["time"]["names"]])
            self.assertEqual(sum(weight[4] for weight in contents["cpu"]["weights"]), report["time"]["waiting_ns"])
            self.assertNotIn("sites", contents["time"])
        heap = json.loads(self.tarn("report", "--json", "--quick", "--source", "heap", "rec"))
        self.assertEqual((heap["time"], heap["cpu"]), (None, None))

    def test_a_thread_that_never_runs_has_waited_all_the_time(self):
        with self.start(PATHS.times, "idle") as program:
            self.assertEqual(program.stdout.readline(), "ready\n")
            tasks = pathlib.Path(f"/proc/{program.pid}/task")
            for _ in polls():
                if len(list(tasks.iterdir())) == 2:
                    break
            self.tarn("record", "--cpu", "--for", "2s", "-o", "rec", "--pid", str(program.pid))
            program.stdin.close()
            program.wait(timeout=HANG_S)
        report, names = self.report()
        times, wall_ns = names["tool_times"], report["end"]["wall_us"] * 1000
        self.assertEqual(times["threads"], 2)
        # Both waited before they were recorded, and say where.
        self.assertLess(report["time"]["unplaced_ns"], 0.1 * times["waiting_ns"])
        places = {frame["function"].split("@")[0]: site["waited_ns"] for site in report["time"]["sites"]
                  for frame in site["stack"]}
        self.assertGreater(places["main"], 0.95 * 2e9, places)
        self.assertGreater(places["getchar"], 0.95 * 2e9, places)
        # The recorder leaves the program after that time, and before the recording ends.
        self.assertGreater(times["waiting_ns"], 2 * 0.95 * 2e9)
        self.assertLess(self.lifetime(times), 2 * (wall_ns + START_NS))

    def test_time_after_a_wake_up_is_runnable(self):
        # Each sleep takes a millisecond and a little. On a busy machine, most of the time until a thread runs again is
        # that in which others run.
        rounds = 250
        threads = 8 * os.cpu_count()
        printed = self.tarn("record", "--cpu", "-o", "rec", "--", PATHS.times, "crowd", str(threads), str(rounds))
        truth = json.loads(printed.splitlines()[1])
        report, names = self.report()
        crowd = names["crowd"]
        self.assertEqual(crowd["threads"], threads)
        self.assertGreater(truth["delay_ns"], 2 * threads * rounds * 1_000_000, "the machine is not crowded")
        self.assertAlmostEqual(crowd["running_ns"], truth["running_ns"], delta=0.05 * self.lifetime(crowd))
        self.assertAlmostEqual(crowd["runnable_ns"], truth["delay_ns"], delta=0.1 * truth["delay_ns"])
        # Each thread was read before it ended.
        self.assertEqual(crowd["undivided_ns"], 0)
        self.assertNotIn("may be time in which", self.tarn("report", "--quick", "rec"))

    def test_samples_that_cover_little_are_said_to(self):
        self.tarn("record", "--cpu", "-o", "rec", "--", PATHS.times, "brief", "150")
        report, _ = self.report()
        running_ns, cpu = report["time"]["running_ns"], report["cpu"]
        self.assertGreater(running_ns, 600_000_000)
        covered = round(100 * cpu["samples"] * cpu["interval_ns"] / running_ns)
        self.assertIn(f"\nThe samples cover {covered} % of the running time: threads that run for less than 5 ms in "
                      "all, or for some 10 µs\n   at a time, have too few.\n", self.tarn("report", "--quick", "rec"))

    def test_the_share_of_brief_threads_is_within_its_error(self):
        # 19 of 20 intervals contain the share; that three of six do not has a chance of 0.2 %.
        missed = []
        for _ in range(6):
            share = float(self.tarn("record", "--cpu", "-o", "rec", "--", PATHS.times, "mixed", "100").split()[1])
            report, _ = self.report()
            functions = report["cpu"]["functions"]
            brief_functions = [function for function in functions if "spin_briefly" in function["function"]]
            text = " ".join(self.tarn("report", "--quick", "rec").split())
            # On some machines no thread of 2 ms has a sample.
            if "and have no sample: no function has that time, and each error contains it." in text:
                missed += [(share, function) for function in functions if function["total_error"] < share / 2]
                continue
            without_samples = {"total_share": 0, "total_error": 0, "total": 0}
            total = max([without_samples] + brief_functions, key=lambda function: function["total_share"])
            stacks = [line.rsplit(" ", 1) for line in self.tarn("export", "--format", "collapsed", "--measure",
                                                                "cpu_time", "rec").splitlines()]
            brief = sum(int(nanoseconds) for stack, nanoseconds in stacks if "spin_briefly" in stack)
            self.assertAlmostEqual(brief / report["time"]["running_ns"], total["total_share"], delta=0.005)
            if abs(total["total_share"] - share) > total["total_error"]:
                missed.append((share, total))
            self.assertLess(total["total"] / report["cpu"]["samples"], share, "samples alone are too few")
        self.assertLess(len(missed), 3, missed)
        self.assertRegex(self.tarn("report", "--quick", "rec"),
                         r"\nThreads that ran for less than 5 ms took \d+ % of the running time, and have ")

    def test_each_file_of_a_recording_has_its_own_time(self):
        begun_ns = time.monotonic_ns()
        printed = self.tarn("record", "--cpu", "-o", "rec", "--every", "400ms", "--", PATHS.times, "account")
        wall_ns = time.monotonic_ns() - begun_ns
        lifetime = 0
        files = list(self.folder.glob("rec.*"))
        self.assertGreater(len(files), 1)
        for path in files:
            lifetime += sum(self.lifetime(times) for times in self.report(path.name)[1].values())
        self.assertLess(lifetime, 2 * wall_ns)  # of two threads
        self.assertGreater(lifetime, 2 * 0.95 * json.loads(printed.splitlines()[1])["whole"]["wall_ns"])

    def test_lost_records_make_time_unknown(self):
        # A ring that nobody reads is full after 22,000 records. Half of the rounds have 200,000, on at most as many
        # rings as there are processors, of which the two threads use few at a time.
        rounds = 100_000 * max(1, os.cpu_count() // 2)
        arguments = ("record", "--cpu", "-o", "rec", "--", PATHS.times, "switch", str(rounds))
        with self.start(PATHS.tarn, *arguments) as command:
            self.assertEqual(command.stdout.readline(), "ready\n")
            command.send_signal(signal.SIGSTOP)
            self.assertEqual(command.stdout.readline(), "half\n")
            command.send_signal(signal.SIGCONT)
            error = command.communicate(timeout=HANG_S)[1]
            self.assertEqual(command.returncode, 0, error)
        self.assertRegex(error, r"the kernel had no room for \d+ records")
        report, names = self.report()
        times, wall_ns = names["tool_times"], report["end"]["wall_us"] * 1000
        self.assertGreater(report["cpu"]["lost"], 0)
        self.assertGreater(times["unknown_ns"], 0)
        self.assertAlmostEqual(self.lifetime(times), 2 * wall_ns, delta=2 * (0.05 * wall_ns + START_NS))
        cpu_ns = (report["end"]["user_us"] + report["end"]["system_us"]) * 1000
        self.assertLess(times["running_ns"], 1.1 * cpu_ns + START_NS, "what is unknown does not count as running")
        text = self.tarn("report", "--quick", "rec")
        self.assertRegex(text, r"\nWhat they did in [\d.]+ m?s, [\d.]+ % of their time, is unknown")
        self.assertRegex(text, r"\nTime +running +runnable +waiting +unknown\n")


if __name__ == "__main__":
    main("tarn", "times")
