#!/usr/bin/env python3
"""`tarn record` of programs that load one library at the address of another one, which they have unloaded."""

import json
import pathlib
import shutil
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent / "waits"))

import perf_events
import prices
from paths import PATHS, FolderTest, main

ROUNDS = 300  # more than a thread's cache of stacks needs


def setUpModule():
    prices.use_simple()


class Reloaded(FolderTest):
    def start(self, *command):
        program = subprocess.Popen([*map(str, command), PATHS.reloaded], stdin=subprocess.PIPE, cwd=self.folder,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, program)
        return program

    @staticmethod
    def end(program):
        for stream in (program.stdin, program.stdout, program.stderr): stream.close()
        if program.poll() is None: program.kill()
        program.wait()

    def say(self, program, line):
        """Lets the program obey a line, and returns its answer."""
        program.stdin.write(line + "\n")
        program.stdin.flush()
        answer = program.stdout.readline().strip()
        self.assertNotEqual(answer, "", program.stderr.read() if program.poll() is not None else line)
        return answer

    def load_in_turn(self, program, libraries, rounds=ROUNDS):
        addresses = set()
        for library in libraries:
            addresses.add(self.say(program, f"load {library}"))
            self.say(program, f"run {rounds}")
            self.say(program, "close")
        self.assertEqual(len(addresses), 1, "the libraries were loaded at different addresses")

    def finish(self, program):
        program.stdin.close()
        self.assertEqual(program.wait(), 0, program.stderr.read())

    def report(self, file="rec"):
        return json.loads(self.tarn("report", "--json", "--quick", "--stacks", "--top", "1000", file).stdout)

    @staticmethod
    def has(entry, function):
        return any(frame["function"].partition("(")[0] == function for frame in entry["stack"])

    def count(self, report, section, counter, function):
        return sum(entry[counter] for entry in report[section] if self.has(entry, function))

    def check(self, report, name, libraries, sources=("sites", "locks", "syscalls"), rounds=ROUNDS, delta=0,
              has_begins=True):
        """The counts of a library that was loaded so often, and run in two threads. If the process ran already, the
        library begins before its calls are hooked. Of few calls of the system, samples say little."""
        calls = 2 * rounds * libraries
        for section, counter, function, expected in (("sites", "allocations", "makes", calls + 2 * libraries),
                                                     ("sites", "allocations", "begins", libraries),
                                                     ("sites", "allocations", "ends", libraries),
                                                     ("locks", "acquisitions", "locks", calls),
                                                     ("syscalls", "count", "calls", calls)):
            if section not in sources or (function == "begins" and not has_begins): continue
            with self.subTest(function=f"{name}_{function}"):
                self.assertAlmostEqual(self.count(report, section, counter, f"{name}_{function}"), expected,
                                       delta=delta * expected * (5 if section == "syscalls" else 1))

    def test_each_library_has_its_own_names_and_counts(self):
        for mode, delta in (("--full",), 0), (("--sample", "1024"), 0.1):
            with self.subTest(mode=mode):
                program = self.start(PATHS.tarn, "record", *mode, "-o", "rec", "--")
                self.load_in_turn(program, [PATHS.first, PATHS.second, PATHS.first, PATHS.second, PATHS.second])
                self.finish(program)
                report = self.report()
                self.check(report, "first", 2, delta=delta)
                self.check(report, "second", 3, delta=delta)

    def test_a_library_that_is_loaded_again_is_noted_once(self):
        program = self.start(PATHS.tarn, "record", "--heap", "--locks", "--full", "-o", "rec", "--")
        self.load_in_turn(program, [PATHS.first, PATHS.second] * 50, 5)
        self.finish(program)
        report = self.report()
        stacks = [site["stack"] for site in report["sites"] if self.has(site, "first_makes")]
        self.assertEqual(len(stacks), 4)  # in the two threads, at its begin and its end
        self.check(report, "second", 50, ("sites", "locks"), 5)
        for function in "first_locks", "second_locks":
            self.assertEqual([lock["locks"] for lock in report["locks"] if self.has(lock, function)], [1])

    def test_an_unloading_that_is_not_seen_is_noticed_by_a_new_stack(self):
        program = self.start(PATHS.tarn, "record", "--full", "-o", "rec", "--")
        first = self.say(program, f"load {PATHS.first}")
        self.say(program, f"run {ROUNDS}")
        self.say(program, "close unseen")
        self.assertEqual(self.say(program, f"load {PATHS.slower}"), first)
        self.say(program, f"run {ROUNDS}")
        self.say(program, "close")
        self.finish(program)
        report = self.report()
        self.check(report, "first", 1)
        self.check(report, "slower", 1)

    def test_a_running_process(self):
        program = self.start("env")
        self.load_in_turn(program, [PATHS.first, PATHS.second], 3)
        recorder = self.attach(program)
        self.load_in_turn(program, [PATHS.first, PATHS.second, PATHS.first])
        self.detach(recorder)
        self.finish(program)
        report = self.report()
        self.check(report, "first", 2, ("sites", "locks"), delta=0.1, has_begins=False)
        self.check(report, "second", 1, ("sites", "locks"), delta=0.1, has_begins=False)

    def test_libraries_are_exchanged_between_two_recordings_of_a_process(self):
        program = self.start("env")
        first = self.say(program, f"load {PATHS.first}")
        recorder = self.attach(program)
        self.say(program, f"run {ROUNDS}")
        self.detach(recorder)
        self.check(self.report(), "first", 1, ("locks",), delta=0.1)
        self.say(program, "close")
        self.assertEqual(self.say(program, f"load {PATHS.second}"), first)
        recorder = self.attach(program)
        self.say(program, f"run {ROUNDS}")
        self.detach(recorder)
        self.say(program, "close")
        self.finish(program)
        report = self.report()
        self.check(report, "second", 1, ("locks",), delta=0.1)
        self.check(report, "first", 0, ("sites", "locks"))
        self.assertAlmostEqual(self.count(report, "sites", "allocations", "second_makes"), 2 * ROUNDS,
                               delta=0.1 * ROUNDS)

    def test_a_child_knows_only_what_it_has(self):
        program = self.start(PATHS.tarn, "record", "--follow", "--full", "-o", "rec", "--")
        self.load_in_turn(program, [PATHS.first, PATHS.second])
        program.stdin.write("fork\n")
        self.load_in_turn(program, [PATHS.second, PATHS.first])
        self.finish(program)
        files = [path.name for path in self.folder.glob("rec*")]
        self.assertEqual(len(files), 2, files)
        for file in files:
            report = self.report(file)
            for name in "first", "second": self.check(report, name, 1)

    def test_the_file_of_a_library_is_replaced_meanwhile(self):
        plugin = self.folder / "plugin.so"
        program = self.start(PATHS.tarn, "record", "--full", "-o", "rec", "--")
        for library in PATHS.first, PATHS.second:
            shutil.copy(library, self.folder / "new.so")
            (self.folder / "new.so").rename(plugin)
            self.load_in_turn(program, [plugin])
        self.finish(program)
        report = self.report()
        self.check(report, "second", 1)
        self.check(report, "first", 0)  # its file is gone, so it has no names
        self.assertRegex(report["recorder"]["replaced"], "plugin.so")

    def test_samples_of_the_processor_are_of_the_library_that_ran(self):
        if perf_events.refusal() != 0: self.skipTest("this kernel does not sample programs")
        for sources in ("--cpu",), ("--cpu", "--heap", "--locks"):
            with self.subTest(sources=sources):
                program = self.start(PATHS.tarn, "record", *sources, "-o", "rec", "--")
                # The samples know the first library only if it runs for long, but the recorder does in any case.
                self.load_in_turn(program, [PATHS.first], 300000 if len(sources) == 1 else 300)
                self.load_in_turn(program, [PATHS.second], 300000)
                self.finish(program)
                functions = {function["function"].partition("(")[0]: function["total"]
                             for function in self.report()["cpu"]["functions"]}
                self.assertGreater(functions.get("second_calls", 0), 0, functions)
                self.assertEqual("first_calls" in functions, len(sources) == 1, functions)

    def attach(self, program):
        recorder = subprocess.Popen([PATHS.tarn, "record", "--pid", str(program.pid), "--sample", "1024", "-o", "rec"],
                                    cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(recorder.stderr.close)
        line = recorder.stderr.readline()
        self.assertRegex(line, r"recording process \d+")
        return recorder

    def detach(self, recorder):
        recorder.send_signal(2)
        self.assertEqual(recorder.wait(), 0, recorder.stderr.read())


if __name__ == "__main__":
    main("tarn", "reloaded", "first", "second", "slower")
