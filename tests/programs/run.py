#!/usr/bin/env python3
"""Runs the tiny programs of this folder under the drop-in and compares how each one ends.

    run.py --library libtarn-malloc.so --bin DIR [NAME ...]      run (all when no NAME is given)
    run.py --library libtarn-malloc.so --bin DIR --prove [NAME ...]
                                     show that each program fails when what it names is broken

A NAME is group/case, e.g. misuse/double_free_at_once. What a case expects stands above it in lines
that begin with "//@" ("#@" in scripts); README.md lists the words.
Exit status: 0 all passed, 1 something failed, 77 the only program asked for was skipped.
"""

import argparse
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

HERE = os.path.dirname(os.path.abspath(__file__))
GROUPS = ("conformance", "misuse", "nasty", "real")
SKIPPED = 77
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}

RUNS_TO_FAIL = 4  # of a program that is to fail when something is broken
PATIENCE_S = (2, 20, 200)  # the seconds for which it waits for what does not come; more on a busy machine
CASE = re.compile(r"CASE\((\w+)\)")
# What stands on standard error beside the lines of a program under QEMU: how QEMU says that a signal ended it, and how
# a command of this system, which the program started, says that it cannot load a drop-in for another processor.
EMULATOR_LINES = re.compile(
    r"^(qemu: uncaught target signal|ERROR: ld\.so: object .* from LD_PRELOAD cannot be preloaded) .*\n", re.MULTILINE)
HANG_S = 300.0  # the seconds after which a program hangs, also on a machine with ten times the work that it can do


def lines_of(path):
    with open(path, encoding="utf-8") as source:
        return source.read().splitlines()


class Expectation:
    """What the lines above one case say, and those at the top of its file."""

    def __init__(self, path, case):
        self.path = path
        self.common_environment = {}
        self.exit, self.signal, self.stderr = 0, None, []
        self.last_of_all = self.last = None
        self.environment, self.clear_environment = {}, False
        self.limits = {"RLIMIT_AS": 10 << 30}  # a leak must not take the machine down
        self.closed, self.timeout = [], HANG_S
        self.tarn_only, self.no_preload, self.xml = False, False, False
        self.needs, self.arguments, self.broken_by = [], [], []
        self.not_under = {}  # a reason for each command that cannot run it
        self.is_case = False  # of a program that has several
        conditions, at_top = [], True
        comment = "#" if path.endswith(".sh") else "//"
        for number, line in enumerate(lines_of(path), 1):
            word = re.match(comment + r"@ ([a-z-]+) ?(.*)", line)
            start = CASE.match(line)
            if word:
                conditions.append((number, *word.groups()))
            elif at_top and not line.startswith(comment):
                conditions, at_top = self.take_all(conditions), False
                self.last_of_all, self.last = self.last, None
            elif start:
                if start.group(1) == case:
                    self.is_case = True
                    self.take_all(conditions)
                conditions = []
        if conditions:
            sys.exit(f"{path}:{conditions[0][0]}: no case follows")
        last = self.last or (self.last_of_all if self.stderr else None)
        self.stderr += [last] if last else []

    def tells_more(self):
        """Run on guarded or hardened blocks though it does not ask for them: reports may tell more."""
        return any(self.common_environment.get(name) == "1" and name not in self.environment
                   for name in ("TARN_GUARD", "TARN_HARDEN"))

    def take_all(self, conditions):
        for number, word, argument in conditions:
            self.take(number, word, argument)
        return []

    def take(self, number, word, argument):
        if word == "exit":
            self.exit, self.signal = int(argument), None
        elif word == "signal":
            self.signal = signal.Signals["SIG" + argument]
        elif word == "stderr":
            self.stderr.append(argument)
        elif word == "last":
            self.last = argument
        elif word == "more" and self.last:
            self.last += " " + argument
        elif word == "more" and self.stderr:
            self.stderr[-1] += " " + argument
        elif word == "env" and argument == "nothing":
            self.clear_environment = True
        elif word == "env":
            name, _, value = argument.partition("=")
            self.environment[name] = value
        elif word == "limit":
            name, _, value = argument.partition("=")
            number_part, unit = re.fullmatch(r"(\d+)([KMG]?)", value).groups()
            self.limits["RLIMIT_" + name.upper()] = int(number_part) * UNITS.get(unit, 1)
        elif word == "closed":
            self.closed = [int(word) for word in argument.split()]
        elif word == "needs":
            self.needs += argument.split()
        elif word == "not-under" and " " in argument:
            self.not_under.update([argument.split(" ", 1)])
        elif word == "arguments":
            self.arguments = argument.split()
        elif word == "broken-by":
            self.broken_by += argument.split()
        elif word in ("tarn-only", "no-preload", "xml") and not argument:
            setattr(self, word.replace("-", "_"), True)
        else:
            sys.exit(f"{self.path}:{number}: unknown word '{word} {argument}'; README.md lists them")


class Ending:
    """How one run of a program ended."""

    def __init__(self, status, stdout, stderr, seconds):
        self.status, self.stdout, self.stderr, self.seconds = status, stdout, stderr, seconds

    def description(self):
        if self.status is None:
            return "ran out of time"
        if self.status < 0:
            return f"signal {signal.Signals(-self.status).name}"
        return f"exit {self.status}"


def execute(command, expected, preload, extra_environment, directory):
    """Runs COMMAND in a session of its own; output goes to files, so a stray child blocks nobody."""
    keep = ("PATH", "HOME", "USER", "TMPDIR")
    environment = {name: os.environ[name] for name in keep if name in os.environ}
    environment.update(LC_ALL="C.UTF-8", TZ="UTC", TMPDIR=directory)
    if expected.clear_environment:
        environment = {}
    environment.update(expected.common_environment)
    environment.update(expected.environment)
    environment.update(extra_environment)
    if preload:
        environment["LD_PRELOAD"] = preload

    def prepare():
        for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_DFL)  # a parent under nohup ignores some
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for name, value in expected.limits.items():
            resource.setrlimit(getattr(resource, name), (value, value))
        for descriptor in expected.closed:
            os.close(descriptor)

    began = time.monotonic()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                   env=environment, cwd=directory, preexec_fn=prepare,
                                   start_new_session=True)
        try:
            status = process.wait(expected.timeout)
        except subprocess.TimeoutExpired:
            status = None
        try:
            os.killpg(process.pid, signal.SIGKILL)  # whatever it left behind
        except ProcessLookupError:
            pass
        process.wait()
        seconds = time.monotonic() - began
        out.seek(0)
        err.seek(0)
        return Ending(status, out.read().decode(errors="replace"),
                      err.read().decode(errors="replace"), seconds)


def pattern_of(text, notes):
    """TEXT as a regular expression: {name} is what the program noted, <int> any number."""
    parts = re.split(r"(\{\w+\}|0xADDR|<int>|<stack>)", text)
    for index, part in enumerate(parts):
        if part == "0xADDR":
            parts[index] = "0x[0-9a-f]+"
        elif part == "<int>":
            parts[index] = "[0-9]+"
        elif part == "<stack>":
            parts[index] = r"\S+\+0x[0-9a-f]+(?:\n    \S+\+0x[0-9a-f]+)*".replace("    ", "tarn:     ")
        elif re.fullmatch(r"\{\w+\}", part):
            parts[index] = re.escape(notes.get(part[1:-1], f"<{part[1:-1]} was not noted>"))
        else:
            parts[index] = re.escape(part)
    return "".join(parts)


# A fault that names both places advises this instead: where the guard is on, nothing is gained by switching it on.
ADVICE_WITH_PLACES = {
    "tarn: free each block once; TARN_GUARD=1 shows where it was allocated and freed before":
        "tarn: free each block once: remove one of these two frees",
    "tarn: end every use of the block before its free; TARN_GUARD=1 shows where it was allocated":
        "tarn: end every use of the block before its free"}


def complaints(expected, ending):
    """Every way in which ENDING differs from what was expected; empty when it is right."""
    lines = []
    expected_status = -expected.signal if expected.signal else expected.exit
    if ending.status != expected_status:
        name = f"signal {expected.signal.name}" if expected.signal else f"exit {expected.exit}"
        lines.append(f"{ending.description()} instead of {name}")
    notes = dict(re.findall(r"^(\w+)=(.*)$", ending.stdout, re.MULTILINE))
    places = "(; (freed before|allocated) at .*)?" if expected.tells_more() else ""
    patterns = [pattern_of(line, notes) + places for line in expected.stderr]
    if expected.tells_more():
        patterns = [f"({pattern}|{re.escape(ADVICE_WITH_PLACES[line])})" if line in ADVICE_WITH_PLACES else pattern
                    for line, pattern in zip(expected.stderr, patterns)]
    if 2 not in expected.closed and not re.fullmatch(
            "".join(pattern + "\n" for pattern in patterns), ending.stderr):
        lines.append("stderr is\n" + indented(ending.stderr) + "instead of\n"
                     + indented("".join(line + "\n" for line in expected.stderr)))
    if expected.xml:
        try:
            root = xml.etree.ElementTree.fromstring(ending.stdout)
            if root.tag != "malloc" or root.get("version") != "1":
                lines.append(f'root element is <{root.tag}>, not <malloc version="1">')
        except xml.etree.ElementTree.ParseError as error:
            lines.append(f"stdout is not XML: {error}\n" + indented(ending.stdout))
    return lines


def indented(text):
    lines = text.splitlines() or ["(nothing)"]
    if len(lines) > 40:
        lines = lines[:40] + ["..."]
    return "".join("      " + line[:400] + "\n" for line in lines)


class Program:
    """One case, or a source file without cases."""

    def __init__(self, name, path, options):
        self.name, self.options = name, options
        self.group, case = name.split("/")
        self.stem, ending = os.path.splitext(os.path.basename(path))
        self.expected = Expectation(path, case)
        self.expected.common_environment = dict(entry.split("=", 1) for entry in options.env)
        if ending == ".sh":
            self.command = ["/bin/bash", path]
        else:
            self.command = [os.path.join(options.bin, self.group, self.stem)]
            if self.expected.is_case:
                self.command.append(case)
        if ending != ".sh":
            self.command = options.under + self.command
        self.command += [argument.replace("{library}", options.library).replace(
            "{bin}", options.bin) for argument in self.expected.arguments]
        self.is_built = ending == ".sh" or os.path.exists(os.path.join(options.bin, self.group, self.stem))
        if options.runner == "qemu":  # Arm does not say which kind of access failed
            self.expected.stderr = [re.sub(" is (read|written) at ", " is accessed at ", line)
                                    for line in self.expected.stderr]
        self.missing = [need for need in self.expected.needs if not shutil.which(need)]

    def run_once(self, preload, extra_environment=None):
        with tempfile.TemporaryDirectory(prefix="tarn-programs-") as directory:
            ending = execute(self.command, self.expected,
                             None if self.expected.no_preload else preload,
                             extra_environment or {}, directory)
        if self.options.runner == "qemu":
            ending.stderr = EMULATOR_LINES.sub("", ending.stderr).replace(
                f" {os.path.basename(self.options.under[0])[:15]}:", f" {self.stem[:15]}:")
        return ending

    def sets_any_of(self, entries):
        """Whether it names one of these variables, so that a run with them would be the same once more."""
        return any(entry.split("=", 1)[0] in self.expected.environment for entry in entries)

    def check(self, preload, extra_environment=None):
        """Complaints about one run; real programs are compared with a run on the system's malloc."""
        ending = self.run_once(preload, extra_environment)
        if self.group != "real":
            return complaints(self.expected, ending), ending
        plain = self.run_once(None)
        problems = []
        for stream in ("status", "stdout", "stderr"):
            if getattr(plain, stream) != getattr(ending, stream):
                problems.append(f"{stream} is\n{indented(str(getattr(ending, stream)))}instead of\n"
                             + indented(str(getattr(plain, stream))))
        if plain.status != 0 or not plain.stdout:
            problems.append(f"the system's run is no measure: {plain.description()}\n{indented(plain.stderr)}")
        return problems, ending

    def runs_on_system(self):
        if self.expected.tarn_only or self.expected.no_preload or self.options.tarn_only:
            return False
        return self.group == "conformance" or (self.options.everywhere and self.group == "nasty")

    def test(self):
        good = True
        if self.runs_on_system():
            good = self.say("system", None) and good
        return self.say("tarn", self.options.library) and good

    def say(self, case, preload):
        problems, ending = self.check(preload)
        print(f"{'FAILED' if problems else 'passed'}  {self.name} ({case}, {ending.seconds:.2f} s)")
        for problem in problems:
            print("    " + problem.rstrip("\n"))
        if problems:
            text = " ".join(f"{k}={v}" for k, v in self.expected.environment.items())
            loaded = "" if not preload or self.expected.no_preload else f"LD_PRELOAD={preload} "
            print(f"    again: {loaded}{text + ' ' if text else ''}{' '.join(self.command)}")
        return not problems

    def check_broken(self, broken, environment):
        if self.expected.no_preload:  # given the broken library in place of the drop-in, or on top of it
            if self.options.library in self.command:
                self.command = [broken if word == self.options.library else word for word in self.command]
            else:
                environment["LD_PRELOAD"] = broken
        hangs = "deadlock" in environment["MALLOC_BREAK"]
        if hangs:
            environment["HANG_SECONDS"] = "2"
            self.expected.timeout = 6.0
        problems, ending = self.check(broken, environment)
        return problems if ending.status is not None or hangs else []  # being slow proves nothing else

    def check_text(self):
        """The run as it is against expectations that are one letter or one status off."""
        ending = self.run_once(self.options.library)
        expected_end = self.expected.exit, self.expected.signal, self.expected.stderr
        if expected_end[2]:
            self.expected.stderr = [line[:-1] + "#" for line in expected_end[2]]
        else:
            self.expected.exit, self.expected.signal = expected_end[0] + 1, None
        problems = complaints(self.expected, ending)
        self.expected.exit, self.expected.signal, self.expected.stderr = expected_end
        return problems

    def prove(self):
        """Breaks what the program names and wants a failure. Returns the proofs that did not hold."""
        escaped = []
        broken = os.path.join(self.options.bin, "proof", "libbroken.so")
        breaks = list(self.expected.broken_by)
        if self.group == "misuse" and not breaks:
            breaks = ["nothing"]  # the system's malloc itself: other texts, other endings
        for fault in breaks:
            # What threads do to each other is a matter of luck: a busy machine may need another run to have it.
            if not any(self.fails_with(fault, broken) for _ in range(RUNS_TO_FAIL)):
                escaped.append(f"passes {RUNS_TO_FAIL} times although {fault} is broken")
        if not breaks:
            escaped.append("names no broken-by")
        return escaped

    def fails_with(self, broken_thing, broken_library):
        """What is wrong with a run in which that thing is broken; nothing if it passes."""
        if broken_thing == "text":
            return self.check_text()
        if "=" in broken_thing:
            return self.fails_with_option(dict([broken_thing.split("=", 1)]))
        if self.group == "misuse" and broken_thing == "nothing":
            return self.check(None)[0]
        return self.check_broken(broken_library, {"MALLOC_BREAK": broken_thing})

    def fails_with_option(self, option):
        """A program that gave up waiting has failed only if it can wait as briefly where nothing is broken."""
        for patience in PATIENCE_S:
            limit = {"HANG_SECONDS": str(patience)}
            problems, ending = self.check(self.options.library, {**option, **limit})
            has_waited = ending.seconds >= patience / 2  # some clocks count whole seconds
            if not has_waited or not self.check(self.options.library, limit)[0]:
                return problems
        return []


def sources():
    """The source file of each name, in the order of groups, files and cases."""
    paths = {}
    for group in GROUPS:
        for entry in sorted(os.listdir(os.path.join(HERE, group))):
            stem, ending = os.path.splitext(entry)
            if ending not in (".c", ".cpp", ".sh"):
                continue
            path = os.path.join(HERE, group, entry)
            for case in [CASE.match(line).group(1) for line in lines_of(path) if line.startswith("CASE(")] or [stem]:
                other = paths.setdefault(f"{group}/{case}", path)
                if other != path:
                    sys.exit(f"run.py: {group}/{case} is in {entry} and in {os.path.basename(other)}")
    return paths


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", required=True, help="the drop-in to preload")
    parser.add_argument("--bin", required=True, help="where the programs were built")
    parser.add_argument("--under", type=shlex.split, default=[], metavar="COMMAND",
                        help="runs each program: QEMU, for programs of another processor, or old_kernel")
    parser.add_argument("--prove", action="store_true", help="show that each program can fail")
    parser.add_argument("--everywhere", action="store_true",
                        help="run the nasty programs on the system's malloc too")
    parser.add_argument("--tarn-only", action="store_true",
                        help="run nothing on the system's malloc, for a C library that promises less than glibc")
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE",
                        help="an entry of the environment for every program, such as an option of Tarn")
    parser.add_argument("names", nargs="*", help="group/case, or a group")
    options = parser.parse_args()
    options.library = os.path.abspath(options.library)
    options.bin = os.path.abspath(options.bin)
    options.runner = os.path.basename(options.under[0]).split("-")[0] if options.under else None
    source_of = sources()
    names = [name for name in source_of
             if not options.names or name in options.names or name.split("/")[0] in options.names]
    for case_name in options.names:
        if case_name not in GROUPS and case_name not in names:
            sys.exit(f"run.py: there is no program {case_name}")

    if options.prove:
        name = "conformance/malloc_writes"
        measure = Program(name, source_of[name], options)
        if measure.check(os.path.join(options.bin, "proof", "libbroken.so"))[0]:
            sys.exit("run.py: proof/libbroken.so does not even work with nothing broken")
    failed, skipped = [], []
    for name in names:
        program = Program(name, source_of[name], options)
        if not program.is_built:
            print(f"FAILED  {name}: {program.command[0]} is not built")
            failed.append(name)
        elif program.sets_any_of(options.env):
            print(f"SKIPPED {name}: says itself what it runs with")
            skipped.append(name)
        elif options.runner in program.expected.not_under:
            print(f"SKIPPED {name}: under {options.runner}: {program.expected.not_under[options.runner]}")
            skipped.append(name)
        elif program.missing:
            print(f"SKIPPED {name}: {', '.join(program.missing)} not installed")
            skipped.append(name)
        elif options.prove:
            began = time.monotonic()
            escaped = program.prove()
            seconds = time.monotonic() - began
            print(f"{'ESCAPED' if escaped else 'proven '}  {name} ({seconds:.2f} s) {'; '.join(escaped)}".rstrip())
            failed += [name] if escaped else []
        elif not program.test():
            failed.append(name)
    if len(names) > 1:
        print(f"{len(names)} programs, {len(failed)} failed, {len(skipped)} skipped")
        for name in failed:
            print("  failed:", name)
    if failed:
        return 1
    return SKIPPED if skipped and len(names) == 1 else 0


if __name__ == "__main__":
    sys.exit(main())
