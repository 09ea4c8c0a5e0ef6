#!/usr/bin/env python3
"""The Python functions on recorded stacks: docs/guide/languages.md."""

import collections
import json
import pathlib
import signal
import subprocess
import sys
import unittest

from paths import HANG_S, PATHS, FolderTest, main, polls

TYPE_FREE = 48  # bytes from the start of a type of CPython 3.11 to its function that frees objects
PROGRAM = pathlib.Path(__file__).resolve().parent / "recorded/functions.py"
VERSION = "import sys; print(sys.version_info[:2] == (3, 11) and sys.version_info >= (3, 11, 1))"


def is_read(interpreter):
    result = subprocess.run([interpreter, "-c", VERSION], capture_output=True, text=True, check=False)
    return result.stdout == "True\n"


PYTHON = next((path for path in ("/usr/bin/python3", sys.executable) if is_read(path)), None)


def line_of(word):
    """The line of the program that has this word as its comment."""
    lines = PROGRAM.read_text(encoding="utf-8").splitlines()
    return next(number for number, text in enumerate(lines, 1) if text.endswith(f"# {word}"))


def python_frames(site):
    return [(frame["function"], frame["line"]) for frame in site["stack"] if frame["module"] == "[Python]"]


@unittest.skipIf(PYTHON is None, "no CPython 3.11")
class PythonFunctions(FolderTest):
    def report(self, recording="rec"):
        return json.loads(self.tarn("report", "--json", "--quick", "--top", "100000", recording).stdout)

    def record(self, *arguments, modes=("--full",), output=None):
        result = self.tarn("record", *modes, "-o", "rec", "--", PYTHON, PROGRAM, *map(str, arguments))
        if output is not None:
            self.assertEqual(result.stdout, f"{output}\n")
        return self.report()

    def allocations(self, report):
        """The allocations of the program's own lines, by the Python functions on the stack, the innermost first."""
        counts = collections.Counter()
        for site in report["sites"]:
            if frames := python_frames(site):
                counts[tuple(frames)] += site["allocations"]
        return counts

    def check(self, report, count, *frames):
        expected = (*frames, ("<module>", line_of("starts")))
        stacks = {stack: number for stack, number in self.allocations(report).items() if stack[0] == frames[0]}
        self.assertEqual(list(stacks), [expected])
        self.assertGreaterEqual(stacks[expected], count)
        self.assertLess(stacks[expected], count + count / 10 + 5)

    def test_nested_calls(self):
        report = self.record("nested", output=1000)
        self.assertIsNone(report["recorder"]["own_malloc"])
        nests = line_of("nests")
        self.check(report, 1000, ("Table.fill", line_of("fills")), ("nested.<locals>.inner", nests),
                   ("nested", nests + 1))
        site = next(site for site in report["sites"] if ["Table.fill"] == [name for name, _ in python_frames(site)][:1])
        decides = site["stack"][site["frame_index"]]
        self.assertEqual((decides["function"], decides["file"]), ("Table.fill", str(PROGRAM)))
        self.assertEqual(site["source_line"], "rows.append(bytearray(6000))  # fills")
        text = self.tarn("report", "--quick", "rec").stdout
        self.assertIn(f"functions.py:{line_of('fills')} Table.fill ", text)

    def test_samples(self):
        counts = self.allocations(self.record("nested", 30_000, modes=(), output=30_000))
        filled = sum(count for stack, count in counts.items() if stack[0] == ("Table.fill", line_of("fills")))
        self.assertLess(abs(filled - 30_000), 10_000)

    def test_generator(self):
        sums = line_of("yields") + 4
        self.check(self.record("generator", output=1000), 1000, ("numbers", line_of("yields")),
                   ("generator.<locals>.<genexpr>", sums), ("generator", sums))

    def test_callback_of_c(self):
        report = self.record("callback", output=1000)
        self.check(report, 1000, ("rank", line_of("ranks")), ("callback", line_of("sorts")))

    def test_threads(self):
        counts = self.allocations(self.record("threads", output=3))
        stacks = {stack: count for stack, count in counts.items() if stack[0] == ("buffer", line_of("allocates"))}
        self.assertEqual({stack[1] for stack in stacks}, {("threads.<locals>.work", line_of("works"))})
        self.assertEqual({tuple(name for name, _ in stack[2:]) for stack in stacks},
                         {("Thread.run", "Thread._bootstrap_inner", "Thread._bootstrap")})
        self.assertGreaterEqual(sum(stacks.values()), 3000)

    def test_code_at_the_address_of_freed_code(self):
        report = self.record("remade", 5000, output=5000)
        counts = collections.Counter()
        for stack, count in self.allocations(report).items():
            if stack[0][0].startswith("made_"):
                self.assertEqual(stack[0][1], 2)
                self.assertEqual(stack[1], ("<module>", 3))
                counts[stack[0][0]] += count
        self.assertEqual(len(counts), 5000)
        self.assertEqual({count for count in counts.values() if count > 2}, set())

    def stacks(self, measure):
        """Yields the frames of each recorded stack, the outermost first, and what is measured there."""
        export = json.loads(self.tarn("export", "--format", "speedscope", "rec").stdout)
        profile = next(profile for profile in export["profiles"] if profile["name"] == measure)
        for stack, weight in zip(profile["samples"], profile["weights"]):
            yield [export["shared"]["frames"][number] for number in stack], weight

    def test_code_that_differs_little_from_freed_code(self):
        self.record("cells", 50, modes=("--full", "--heap"), output=50)
        counts = collections.Counter()
        for stack, count in self.stacks("Blocks allocated"):
            if frames := [frame for frame in stack if "file" in frame]:
                counts[frames[-1]["file"], frames[-1]["name"], frames[-1]["line"]] += count
        for number in range(50):
            for key in ((f"file_{number:03}.py", f"fn_{number:03}", 4), (f"cell {number:03}", "<module>", 1),
                        ("lines", "<module>", number + 2)):
                self.assertIn(counts[key] - number, range(100, 110), key)

    def test_samples_of_code_that_differs_little_from_freed_code(self):
        self.record("cells_at_work", 150, modes=("--cpu",), output=6)
        export = json.loads(self.tarn("export", "--format", "speedscope", "rec").stdout)
        files = {frame.get("file") for frame in export["shared"]["frames"]}
        self.assertLessEqual({f"cell {number:03}" for number in range(6)}, files)

    def test_more_functions_than_there_is_room_for(self):
        self.tarn("record", "--full", "--heap", "-o", "rec", "--", PYTHON, PROGRAM, "crowd")
        report = json.loads(self.tarn("report", "--json", "--quick", "rec").stdout)
        self.assertIn("code objects of Python (65,536)", [limit["limit"] for limit in report["recorder"]["limits"]])
        caller, count_of_calls = ("crowd", line_of("late")), 0
        for frames, count in self.stacks("Blocks allocated"):
            names = [(frame["name"], frame.get("line")) for frame in frames]
            if caller in names:
                inner = names[names.index(caller) + 1:]
                self.assertEqual(inner[:2], [("[Python]", None), ("buffer", line_of("allocates"))])
                count_of_calls += count
        self.assertEqual(count_of_calls, 1000)

    def test_line_of_a_long_function(self):
        report = self.record("long_function", output=20_000)
        stacks = {stack for stack in self.allocations(report) if stack[0][0] == "<listcomp>"}
        self.assertEqual({stack[1] for stack in stacks}, {("<module>", 20_001)})

    def test_control_characters_do_not_reach_the_terminal(self):
        self.record("forged", 20_000, output=20_000)
        text = self.tarn("report", "--quick", "rec").stdout
        self.assertRegex(text, r"file 2. forged \[0m.py:\d+ name 1. forged  \[31m")
        self.assertNotRegex(text, r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")
        self.assertNotRegex(text, r"(?m)^\d. forged")

    def test_names_beyond_ascii(self):
        frames = {(frame["file"], frame["function"]) for site in self.record("foreign_names", output=1000)["sites"]
                  for frame in site["stack"] if frame["module"] == "[Python]"}
        for name in "caf\u00e9", "\u65e5\u672c", "\U00020000x":
            self.assertIn((f"{name}.py", name), frames)
        self.assertIn(("half\ufffd.py", "half"), frames)
        report = self.record("foreign_names_at_work", 500, modes=("--cpu",), output=True)
        frames = {(frame["file"], frame["function"]) for frame in report["cpu"]["functions"]}
        self.assertIn(("caf\u00e9\ufffd.py", "\u65e5\u672c"), frames)

    def test_deep_recursion(self):
        report = self.record("recursion", output=2000)
        stacks = [stack for stack in self.allocations(report) if stack[0] == ("buffer", line_of("allocates"))]
        ends = (("buffer", line_of("allocates")), ("descend.<locals>.<listcomp>", line_of("ends")),
                ("descend", line_of("ends")))
        self.assertEqual([stack[:3] for stack in stacks], [ends])  # sites of one function stand together
        self.assertEqual(set(stacks[0][3:-2]), {("descend", line_of("descends"))})
        self.assertGreater(len(stacks[0]), 10)

    def test_deep_recursion_through_c(self):
        stacks = [stack for stack in self.allocations(self.record("recursion_through_c", output=201))
                 if stack[0] == ("buffer", line_of("allocates"))]
        self.assertGreater(len(max(stacks, key=len)), 30)
        counts = line_of("counts")
        self.assertEqual({frame for stack in stacks for frame in stack[2:-2]}, {("Reversed.__len__", counts)})

    def test_system_calls(self):
        report = self.record("calls", output=1000)
        looks = [group["count"] for group in report["syscalls"]
                 if python_frames(group)[:1] == [("calls", line_of("looks"))]]
        self.assertEqual(sum(looks), 1000)

    def test_signals(self):
        for modes in ("--full",), ():
            self.record("signals", 300, modes=modes, output=300)

    def test_subinterpreter(self):
        self.record("subinterpreter", output=1)

    def test_daemon_threads(self):
        for _ in range(4):
            counts = self.allocations(self.record("daemons", output=4))
        works = {stack[1][0] for stack in counts if stack[0] == ("buffer", line_of("allocates"))}
        self.assertEqual(works, {"daemons.<locals>.work"})

    def test_thread_of_the_c_library(self):
        counts = self.allocations(self.record("foreign", output=20))
        stacks = {stack[1][0] for stack in counts if stack[0] == ("buffer", line_of("allocates"))}
        self.assertEqual(stacks, {"foreign.<locals>.<lambda>"})

    def test_fork_and_exec(self):
        result = self.tarn("record", "--full", "--follow", "-o", "rec", "--", PYTHON, PROGRAM, "child")
        self.assertEqual(result.stdout, "100\n0\n")
        functions = [{stack[0] for stack in self.allocations(self.report(path.name))}
                     for path in self.folder.iterdir() if path.name != "rec"]
        self.assertEqual(len(functions), 1)
        self.assertIn(("buffer", line_of("allocates")), functions[0])
        self.assertIn(("Table.fill", line_of("fills")), functions[0])

    def test_attached(self):
        with subprocess.Popen([PYTHON, PROGRAM, "endless"], stdout=subprocess.PIPE, text=True) as running:
            try:
                self.assertEqual(running.stdout.readline(), "ready\n")
                self.tarn("record", "--pid", str(running.pid), "--heap", "--for", "1s", "-o", "rec")
                self.assertIsNone(running.poll())
            finally:
                running.kill()
        stacks = {stack[0] for stack in self.allocations(self.report())}
        self.assertIn(("buffer", line_of("allocates")), stacks)

    def test_detaching_gives_python_its_function_back(self):
        code = ("import ctypes, sys\n"
                "for line in sys.stdin:\n"
                f"    place = id(type(compile('', '', 'exec'))) + {TYPE_FREE}\n"
                "    print(ctypes.c_void_p.from_address(place).value, flush=True)")
        program = subprocess.Popen([PYTHON, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(program.communicate)

        def freeing_function():
            program.stdin.write("\n")
            program.stdin.flush()
            return int(program.stdout.readline())

        pythons_function = freeing_function()
        for _ in range(2):
            with subprocess.Popen([PATHS.tarn, "record", "--pid", str(program.pid), "--heap", "-o", "rec"],
                                  cwd=self.folder, stderr=subprocess.PIPE, text=True) as recorder:
                self.assertIn("recording process", recorder.stderr.readline())
                self.assertNotEqual(freeing_function(), pythons_function)
                recorder.send_signal(signal.SIGINT)
                recorder.communicate(timeout=HANG_S)
            self.assertEqual(freeing_function(), pythons_function)

    def sampled(self, report):
        """The samples of each Python function of the program, with those of its callees."""
        return {frame["function"]: frame["total"] for frame in report["cpu"]["functions"]
                if frame["module"] == "[Python]" and frame["file"] == str(PROGRAM)}

    def test_samples_of_the_processor(self):
        report = self.record("busy", 1000, modes=("--cpu",), output=True)
        totals, samples = self.sampled(report), report["cpu"]["samples"]
        self.assertGreater(samples, 100)
        for function in "spin", "busy", "<module>":  # the first samples show where the loop has its frames
            self.assertGreater(totals[function], samples * 0.7, (totals, report["cpu"]["without_python"]))
        lines = {frame["line"] for frame in report["cpu"]["functions"] if frame["function"] == "spin"}
        self.assertLessEqual(lines, {line_of("spins") - 1, line_of("spins"), line_of("spins") + 1})

    def check_callers(self, function, first, callers, *others):
        """Compares the calls and the time of `first` in the samples with those of the program.

        `others` are further stacks that may be seen."""
        result = self.tarn("record", "--cpu", "-o", "rec", "--", PYTHON, PROGRAM, function, "4000")
        stacks = self.tarn("export", "--format", "collapsed", "--measure", "cpu_time", "rec").stdout
        times, interval = collections.Counter(), self.report()["cpu"]["interval_ns"]
        for line in stacks.splitlines():
            stack, nanoseconds = line.rsplit(" ", 1)
            names = [name for name in stack.split(";") if name in callers]
            times[tuple(names)] += int(nanoseconds)
        allowed = {(), *others} | {tuple(names) for names in self.chains(callers)}
        self.assertLessEqual(set(times), allowed)
        spent_inside = sum(spent for names, spent in times.items() if names[1:])
        self.assertGreater(spent_inside, 300 * interval)
        share = sum(spent for names, spent in times.items() if names[1:2] == (first,)) / spent_inside
        self.assertLess(abs(share - float(result.stdout)), 0.07, (share, result.stdout))

    def chains(self, callers):
        """All stacks from the outermost function on that the table of callers allows."""
        chains = [(name,) for name, caller in callers.items() if caller is None]
        for chain in chains:
            chains += [(*chain, name) for name, caller in callers.items() if caller == chain[-1]]
        return chains

    def test_callers_in_samples(self):
        self.check_callers("callers", "callers.<locals>.outer", {
            "part_of": None, "callers.<locals>.outer": "part_of", "summing": "part_of",
            "first_outer": "callers.<locals>.outer", "second_outer": "callers.<locals>.outer",
            "first_inner": "first_outer", "second_inner": "second_outer",
            "summing.<locals>.<genexpr>": "summing", "yielding": "summing.<locals>.<genexpr>"},
            ("part_of", "summing", "yielding"))  # where the generator is made

    def test_generators_in_samples(self):
        self.check_callers("generators", "steps", {
            "part_of": None, "steps": "part_of", "plain": "part_of", "stepping": "steps", "first_inner": "stepping",
            "second_inner": "plain"})

    def test_samples_of_code_at_the_address_of_freed_code(self):
        report = self.record("cells_of_equal_cost", 2000, modes=("--cpu",), output=True)
        samples = {frame["file"]: frame["total"] for frame in report["cpu"]["functions"]
                   if frame["function"] == "<module>"}
        for number in range(12):
            self.assertGreater(samples.get(f"<cell {number:02}>", 0), report["cpu"]["samples"] / 12 / 4)
        self.assertGreater(samples[str(PROGRAM)], report["cpu"]["samples"] / 2)

    def test_waits(self):
        self.record("waiting", 1000, modes=("--cpu",), output=True)
        text = self.tarn("report", "--quick", "rec").stdout.split("\nWaiting\n")[1]
        self.assertRegex(text, rf"(?m)^   at functions.py:{line_of('waits')} waiting$")

    def test_samples_of_a_running_process(self):
        with subprocess.Popen([PYTHON, PROGRAM, "busy", "600000"], stdout=subprocess.PIPE, text=True) as running:
            try:
                self.tarn("record", "--pid", str(running.pid), "--cpu", "--for", "2s", "-o", "rec")
                self.assertIsNone(running.poll())
            finally:
                running.kill()
        report = self.report()
        self.assertGreater(self.sampled(report)["spin"], report["cpu"]["samples"] * 0.5)

    def test_threads_that_hang_at_one_place_have_one_stack(self):
        with subprocess.Popen([PYTHON, PROGRAM, "hanging", "1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True) as running:
            self.assertEqual(running.stdout.readline(), "ready\n")
            tasks = pathlib.Path(f"/proc/{running.pid}/task")
            for _ in polls():
                states = [(task / "stat").read_text(encoding="ascii").rsplit(") ")[1][0] for task in tasks.iterdir()]
                if states == ["S"] * 3:
                    break
            self.tarn("record", "--pid", str(running.pid), "--cpu", "--for", "300ms", "-o", "rec")
            running.communicate("", timeout=HANG_S)
        report = self.report()
        waits = {python_frames(site)[0]: site["waited_ns"] for site in report["time"]["sites"] if python_frames(site)}
        # The third one waits for standard input.
        self.assertGreater(waits["pass_gate", line_of("hangs")], report["time"]["waiting_ns"] / 2)
        lasting = [group for group in report["lasting_waits"]["groups"] if python_frames(group)]
        self.assertEqual(len(lasting), len(report["lasting_waits"]["groups"]))

    def test_hostile_programs_are_sampled(self):
        for function, rounds, output in ("remade", 2000, 2000), ("recursion", 20_000, 40_000), ("signals", 300, 300):
            with self.subTest(function=function):
                self.record(function, rounds, modes=("--cpu",), output=output)


if __name__ == "__main__":
    main("tarn")
