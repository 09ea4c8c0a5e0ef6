#!/usr/bin/env python3
"""`tarn record --cpu`: the shares of a program's functions are those of the work that they do."""

import json
import math
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import perf_events
import prices
from paths import HANG_S, PATHS, FolderTest, json_in, main

SHARES = {"spin<60>": 0.6, "spin<30>": 0.3, "spin<10>": 0.1}
BOUND = 0.03
# A sample of a share p among n errs by sqrt(p (1 - p) / n). Five times that is at most the bound with so many samples,
# which one of a million recordings exceeds.
ENOUGH = math.ceil(25 * 0.6 * 0.4 / BOUND ** 2)
ROUNDS = 16000  # some hundred samples: the function with a tenth of them is among them but for one in 10**15 runs


def setUpModule():
    prices.use_own()


class Processor(FolderTest):
    def cpu(self, name="rec"):
        return json.loads(self.tarn("report", "--json", "--quick", "--top", "1000", name).stdout)["cpu"]

    def is_refused(self):
        """Where the kernel refuses to sample, there is nothing to measure, and tarn says so."""
        if perf_events.refusal() == 0:
            return False
        self.assertIn("the kernel refuses to sample the processor",
                      self.tarn("record", "--cpu", "--", "true", code=5).stderr)
        return True

    def samples_of(self, record):
        """The samples of a recording that is long enough: `record` gets a number of rounds."""
        rounds = ROUNDS
        while True:
            record(rounds)
            cpu = self.cpu()
            if cpu["samples"] >= ENOUGH:
                return cpu
            rounds = rounds * 4 if cpu["samples"] < ENOUGH / 8 else int(rounds * 1.2 * ENOUGH / cpu["samples"])

    def check_shares(self, cpu):
        functions = {function["function"]: function for function in cpu["functions"]}
        for name, share in SHARES.items():
            self.assertAlmostEqual(functions[name]["self"] / cpu["samples"], share, delta=BOUND, msg=name)
            self.assertEqual(functions[name]["self"], functions[name]["total"])
            self.assertLess(functions[name]["self_error"], BOUND)
        # Everything but the start of the program and of the thread is in here.
        for name in ("take_turns", "work"):
            self.assertGreater(functions[name]["total"] / cpu["samples"], 1 - BOUND, name)
        self.assertLess(cpu["cut"] / cpu["samples"], BOUND)

    def test_shares_are_those_of_the_work(self):
        if self.is_refused():
            return
        cpu = self.samples_of(lambda rounds: self.tarn("record", "--cpu", "-o", "rec", "--", PATHS.shares, str(rounds)))
        self.check_shares(cpu)
        busy = sorted(thread["samples"] for thread in cpu["threads"])
        self.assertEqual(len(busy), 2)
        self.assertGreater(busy[0], cpu["samples"] / 10, "both threads do the same work")
        text = self.tarn("report", "--quick", "rec").stdout
        self.assertIn(f"CPU: {cpu['samples']:,} samples", text)
        self.assertNotIn("The samples cover", text)
        self.assertRegex(text, r"shares\.cpp:\d+ .*spin<60>\n")
        # The callers have no time of their own.
        self.assertRegex(text, r"Other functions, by what they and their callees take:\n(.*\n)?.* (take_turns|work)")
        collapsed = self.tarn("export", "--format", "collapsed", "rec").stdout
        sums = dict.fromkeys(SHARES, 0)
        for line in collapsed.splitlines():
            stack, nanoseconds = line.rsplit(" ", 1)
            for name in SHARES:
                sums[name] += int(nanoseconds) if stack.endswith(f";work;take_turns;{name};[running]") else 0
        for name in SHARES:
            self.assertAlmostEqual(sums[name] / cpu["interval_ns"] / cpu["samples"], SHARES[name], delta=BOUND)
        for form in ("speedscope", "firefox"):
            self.assertIn("CPU time", self.tarn("export", "--format", form, "rec").stdout)
        page = self.folder / "page.html"
        self.tarn("report", "--quick", "--html", str(page), "rec")
        weights = json.loads(json_in(page))["cpu"]["weights"]
        running = sum(weight[1] for weight in weights)
        self.assertAlmostEqual(running / cpu["interval_ns"], cpu["samples"], delta=0.1 * cpu["samples"])
        self.assertAlmostEqual(running, sum(int(line.rsplit(" ", 1)[1]) for line in collapsed.splitlines()),
                               delta=len(weights))
        refusal = self.tarn("report", "--source", "heap", "rec", code=2).stderr
        self.assertEqual(refusal, "tarn: rec has no heap; record the program with tarn record --heap\n")

    def test_two_recordings_are_compared_and_limited_by_function(self):
        if self.is_refused():
            return
        self.tarn("record", "--cpu", "-o", "long", "--", PATHS.shares, str(5 * ROUNDS))
        self.tarn("record", "--cpu", "-o", "short", "--", PATHS.shares, str(ROUNDS))
        self.tarn("record", "--heap", "-o", "heap", "--", PATHS.shares, "1")
        difference = json.loads(self.tarn("diff", "--json", "short", "long").stdout)
        long = self.cpu("long")
        self.assertAlmostEqual(difference["cpu"]["after"]["time_ns"] / long["interval_ns"], long["samples"],
                               delta=0.1 * long["samples"])
        changes = difference["cpu"]["changes"]
        self.assertEqual((changes[0]["after"]["operation"], changes[0]["after"]["function"]), ("runs", "spin<60>"))
        self.assertLess(changes[0]["before"]["time_ns"], changes[0]["after"]["time_ns"])
        self.assertRegex(self.tarn("diff", "short", "long").stdout,
                         r"CPU time: .* sampled\n +runs in shares.cpp spin<60> ")
        text = self.tarn("diff", "long", "long").stdout
        self.assertTrue(text.startswith("No change."), text)
        other = self.tarn("diff", "heap", "long").stdout
        self.assertIn("CPU time: not compared, because the recording before the change has none", other)
        self.assertTrue(other.startswith("Not comparable: the recordings have no source in common."), other)
        self.assertIn("The heap is not compared, because the recording after the change does not have it", other)
        self.assertIsNone(json.loads(self.tarn("diff", "--json", "heap", "long").stdout)["cpu"])
        seconds = long["samples"] * long["interval_ns"] / 1e9
        self.tarn("gate", "long", "--max", "cpu share at function take_turns <= 100 %",
                  "--max", f"cpu time at function spin<60> <= {0.75 * seconds:.3f} s",
                  "--max", f"cpu time <= {1.5 * seconds:.3f} s")
        result = self.tarn("gate", "long", "--max", "cpu share at function spin<60> <= 50 %",
                           "--max", f"cpu time <= {0.5 * seconds:.3f} s", code=1)
        self.assertIn("breaks 2 of 2 limits", result.stdout)
        self.assertRegex(result.stdout,
                         r"cpu share at function spin<60>: about [\d.]+ % \([\d.]+ %–[\d.]+ %\), limit 50 %")
        self.assertIn("the processor was not sampled",
                      self.tarn("gate", "heap", "--max", "cpu share at function work <= 1 %", code=2).stderr)

    def test_a_program_that_runs_is_sampled_with_the_threads_that_it_starts(self):
        if self.is_refused():
            return

        def record(rounds):
            with subprocess.Popen([PATHS.shares, str(rounds), "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  text=True) as program:
                self.assertEqual(program.stdout.readline(), "ready\n")
                with subprocess.Popen([PATHS.tarn, "record", "--cpu", "-o", "rec", "--pid", str(program.pid)],
                                      stderr=subprocess.PIPE, text=True, cwd=self.folder) as recorder:
                    line = recorder.stderr.readline()
                    self.assertIn("tarn: recording process", line)
                    program.stdin.write("\n")
                    program.stdin.close()
                    end = recorder.stderr.read()
                    self.assertEqual(recorder.wait(timeout=HANG_S), 0, line + end)
                    self.assertIn("CPU samples", end)
                program.wait(timeout=HANG_S)

        record(ROUNDS)
        cpu = self.cpu()
        self.assertEqual(len(cpu["threads"]), 2)
        functions = {function["function"]: function for function in cpu["functions"]}
        self.assertEqual(set(SHARES) - set(functions), set())
        self.assertGreater(functions["work"]["total"], cpu["samples"] / 2)

    def test_the_program_that_a_launcher_becomes_or_starts_is_sampled(self):
        if self.is_refused():
            return
        for script in ('exec "$0" "$1"', '"$0" "$1"; true'):
            self.tarn("record", "--cpu", "--heap", "-o", "rec", "--", "sh", "-c", script, PATHS.shares, str(ROUNDS))
            cpu = self.cpu()
            functions = {function["function"]: function for function in cpu["functions"]}
            self.assertEqual(set(SHARES) - set(functions), set(), script)
            self.assertGreater(functions["work"]["total"], cpu["samples"] / 2, script)

    def test_each_file_of_a_recording_has_the_samples_of_its_time(self):
        if self.is_refused():
            return
        self.tarn("record", "--cpu", "-o", "rec", "--every", "200ms", "--", PATHS.shares, str(ROUNDS))
        wall_us, sampled_us = 0, 0
        for path in self.folder.glob("rec.*"):
            report = json.loads(self.tarn("report", "--json", "--quick", path.name).stdout)
            wall_us += report["end"]["wall_us"]
            if report["cpu"] is not None:  # else the program had not begun
                sampled_us += report["cpu"]["samples"] * report["cpu"]["interval_ns"] / 1000
        self.assertGreater(sampled_us, 0)
        # Two threads run for no longer than the program. If each file had the samples of those before it, too, then the
        # sum would be a multiple of that.
        self.assertLess(sampled_us, 2 * wall_us + 500_000)

    def test_a_kernel_that_refuses_is_named(self):
        error = self.tarn("record", "--cpu", "-o", "rec", "--", "true", code=5, preexec_fn=perf_events.refuse).stderr
        self.assertIn("--cpu: the kernel refuses to sample the processor: Operation not permitted", error)
        self.assertIn("perf_event_paranoid", error)
        self.assertFalse((self.folder / "rec").exists())
        error = self.tarn("record", "--cpu", "--heap", "-o", "rec", "--", "true", preexec_fn=perf_events.refuse).stderr
        self.assertIn("tarn: the kernel refuses to sample the processor: Operation not permitted", error)
        report = json.loads(self.tarn("report", "--json", "--quick", "rec").stdout)
        self.assertEqual(report["recorder"]["sources"], ["heap"])
        self.assertIsNone(report["cpu"])


if __name__ == "__main__":
    main("tarn", "shares")
