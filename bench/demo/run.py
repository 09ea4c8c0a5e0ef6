#!/usr/bin/env python3
"""A real server, recorded, read and remedied; then real programs on glibc's malloc, on Tarn and on its packaged peers:
side by side, interleaved, results compared.

Exit status: 0 all well; 1 something went wrong (a crash, a different result, an allocator not in use, a missing
program); 2 bad usage; 130 or 143 interrupted.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))
# pylint: disable=wrong-import-position
import loop  # noqa: E402
import table  # noqa: E402
from allocators import find_allocators  # noqa: E402
from runner import machine  # noqa: E402
from runner.loaded import parse_bindings, wrong_bindings  # noqa: E402
from runner.process import Failed, Interrupted, Supervisor  # noqa: E402
from workloads import Context, all_workloads, missing_programs  # noqa: E402

PROBE_TIMEOUT_S = 30


def parse_arguments(names):
    parser = argparse.ArgumentParser(
        prog="./dev demo", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    modes = parser.add_mutually_exclusive_group(required=True)
    modes.add_argument("--tarn", metavar="PATH", help="Tarn's libtarn-malloc.so")
    modes.add_argument("--without-tarn", action="store_true", help="compare only glibc and the peers")
    parser.add_argument("--rounds", type=int, default=1, metavar="N",
                        help="runs of each program on each allocator (1; 3 for figures to keep)")
    parser.add_argument("--only", action="append", choices=names, metavar="NAME",
                        help="run only this program; may be repeated: " + ", ".join(names))
    parser.add_argument("--json", metavar="OUT", help="write every figure of every round to this file")
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error(f"--rounds {arguments.rounds}: give a number of at least 1")
    if arguments.tarn and not os.path.isfile(arguments.tarn):
        parser.error(f"--tarn: no such file: {arguments.tarn}")
    if arguments.json:
        try:
            open(arguments.json, "a", encoding="utf-8").close()
        except OSError as error:
            parser.error(f"--json: {error}")
    return arguments


class Demo:
    """The steps of the demo, and what went wrong in them."""

    def __init__(self, context, allocators, workloads, rounds):
        self.context, self.allocators, self.workloads, self.rounds = context, allocators, workloads, rounds
        self.results = table.Results(workloads, [a.name for a in allocators])
        self.problems = []
        self.expected = {}  # workload name → (allocator name, result) of its first good run
        self._given_up = set()  # (workload, allocator) that failed: not tried again
        self._step, self._steps = 0, len(workloads) * len(allocators) * rounds

    def problem(self, text):
        self.problems.append(text)
        print("  WRONG: " + text, flush=True)

    def check_bindings(self):
        """Each program binds its malloc to the library that is put in front."""
        checked = 0
        for workload in self.workloads:
            for program, argv in workload.probes():
                for allocator in self.allocators:
                    settings = allocator.environment({"LD_DEBUG": "bindings", "LD_BIND_NOW": "1"})
                    try:
                        outcome = self.context.supervisor.run(
                            f"{program} on {allocator.name}", argv, settings, PROBE_TIMEOUT_S, read=parse_bindings)
                    except Failed as failure:
                        self.problem(str(failure))
                        continue
                    wrong = wrong_bindings(outcome.output, allocator.file)
                    if not outcome.output:
                        self.problem(f"{program} on {allocator.name}: binds no malloc; "
                                     "use a program that is linked dynamically")
                        continue
                    if wrong:
                        source, target, symbol = wrong[0]
                        self.problem(f"{program} on {allocator.name}: {source} takes {symbol} from {target}"
                                     + (f" (and {len(wrong) - 1} more like it)" if len(wrong) > 1 else ""))
                    checked += not wrong
        print(f"malloc, calloc, realloc and free are bound as they should be in {checked} pairs of program and "
              "allocator.", flush=True)

    def run(self):
        for turn in range(self.rounds):
            for workload in self.workloads:
                # Each round starts with another allocator, so that none is always first.
                shift = turn % len(self.allocators)
                for allocator in self.allocators[shift:] + self.allocators[:shift]:
                    self._run_once(turn, workload, allocator)

    def _run_once(self, turn, workload, allocator):
        self._step += 1
        label = (f"[{self._step:>3}/{self._steps}] round {turn + 1}/{self.rounds}  "
                 f"{workload.name:<9}{allocator.name:<10} ")
        if (workload.name, allocator.name) in self._given_up:
            self.results.add(workload, allocator.name, None)
            print(label + "not tried again", flush=True)
            return
        print(label, end="", flush=True)
        began = time.monotonic()
        try:
            outcome = workload.run(self.context, allocator)
        except Failed as failure:
            self._given_up.add((workload.name, allocator.name))
            self.results.add(workload, allocator.name, None)
            print("failed", flush=True)
            self.problem(str(failure))
            return
        self.results.add(workload, allocator.name, outcome.figures)
        text = "  ".join(f"{m.name} {table.number(outcome.figures[m.name] * m.scale)} {m.unit}"
                         for m in workload.metrics)
        print(f"{time.monotonic() - began:>5.1f} s   {text}", flush=True)
        first_name, first = self.expected.setdefault(workload.name, (allocator.name, outcome.result))
        if outcome.result != first:
            self.problem(f"{workload.name}: the result differs\n      on {allocator.name}: {outcome.result}\n"
                         f"      on {first_name}: {first}")

    def as_json(self, facts, notes):
        return {
            "machine": facts,
            "rounds": self.rounds,
            "allocators": {a.name: a.file for a in self.allocators},
            "notes": notes,
            "units": {w.name: {m.name: m.unit for m in w.metrics} for w in self.workloads},
            "scales": {w.name: {m.name: m.scale for m in w.metrics} for w in self.workloads},
            "figures": self.results.figures,
            "means": {name: self.results.means(name) for name in self.results.names},
            "results": {name: result for name, (_, result) in self.expected.items()},
            "problems": self.problems,
        }


def walk_the_loop(arguments, folder, supervisor):
    """The figures of the loop, and what went wrong."""
    programs = Path(arguments.tarn).resolve().parent.parent / "bin"
    tarn, server = str(programs / "tarn"), str(programs / "tarn-appserver")
    problems = [f"{loop.NAME} left out: {line}" for line in loop.missing(tarn, server)]
    if problems:
        return None, problems
    try:
        return loop.Loop(supervisor, folder, tarn, server).run(), []
    except Failed as failure:
        return None, [f"{loop.NAME}: {failure}"]


def demonstrate(arguments, workloads, folder, supervisor):
    allocators, notes = find_allocators(arguments.tarn, folder)
    facts = machine.system_facts()
    print(machine.sentence(facts))
    for allocator in allocators:
        print(f"{allocator.name:<10} {allocator.path}")
    if machine.warning(facts):
        notes.append(machine.warning(facts))
    for note in notes:
        print(f"note: {note}")

    missing = {w.name: missing_programs(w) for w in workloads}
    demo = Demo(Context(supervisor, folder), allocators, [w for w in workloads if not missing[w.name]],
                arguments.rounds)
    figures_of_loop = None
    if arguments.tarn and (not arguments.only or loop.NAME in arguments.only):
        figures_of_loop, problems = walk_the_loop(arguments, folder, supervisor)
        for text in problems:
            demo.problem(text)
    for name, lines in missing.items():
        for line in lines:
            demo.problem(f"{name} left out: {line}")
    if demo.workloads:
        print("\nReal programs, on Tarn's drop-in and on its peers:", flush=True)
        for workload in demo.workloads:
            workload.prepare(demo.context)
        demo.check_bindings()
        demo.run()
        print("\n" + table.report(demo.results) + "\n")
    for note in notes:
        print(f"note: {note}")
    for name, (_, result) in demo.expected.items():
        print(f"{name}: {result}")
    if arguments.json:
        everything = {**demo.as_json(facts, notes), loop.NAME: figures_of_loop}
        Path(arguments.json).write_text(json.dumps(everything, indent=1) + "\n", encoding="utf-8")
    if demo.problems:
        print(f"\nproblems: {len(demo.problems)}")
        for text in demo.problems:
            print("  " + text)
        return 1
    if demo.workloads:
        print("\nAll well: every program gave the same result on every allocator, and each allocator was in use.")
    return 0


def main():
    workloads = all_workloads()
    arguments = parse_arguments([loop.NAME] + [w.name for w in workloads])
    if arguments.only:
        workloads = [w for w in workloads if w.name in arguments.only]
    folder = tempfile.mkdtemp(prefix="tarn-demo-")
    try:
        with Supervisor(folder) as supervisor:
            return demonstrate(arguments, workloads, folder, supervisor)
    except Interrupted as interrupted:
        print(f"\nended by {interrupted}; every process of the demo has been ended", file=sys.stderr)
        return 128 + interrupted.number
    except BrokenPipeError:
        # The reader of the report has gone; the interpreter must not try to write the rest to it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
