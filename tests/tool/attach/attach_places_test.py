#!/usr/bin/env python3
"""`tarn record --pid`: no thread loads the recorder where it must not call functions; the recorder waits."""

import os
import pathlib
import re
import select
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from attaching import AttachTest, setUpModule  # noqa: F401  pylint: disable=unused-import
from paths import HANG_S, PATHS, main, polls

CYCLES = 10
STOPS = 10  # after so many of the first thread, one at another place has been stopped, too


def stops_of(program):
    """The first thread waits in one system call, so it waits anew only after a stop."""
    status = pathlib.Path(f"/proc/{program.pid}/status").read_text(encoding="utf-8")
    return int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", status, re.MULTILINE)[1])


class AttachPlaces(AttachTest):
    def waits_until_it_leaves(self, program, leave):
        """The recorder attaches only once the first thread has left its place."""
        before = stops_of(program)
        recorder = subprocess.Popen([PATHS.tarn, "record", "--pid", str(program.pid), "-o", "rec"], cwd=self.folder,
                                    stderr=subprocess.PIPE, text=True)
        self.addCleanup(recorder.communicate, timeout=HANG_S)
        self.addCleanup(recorder.kill)
        for _ in polls():
            has_answer = bool(select.select([recorder.stderr], [], [], 0)[0])
            if has_answer or stops_of(program) >= before + STOPS:
                break
        self.assertFalse(has_answer, "it has attached or given up")
        leave()
        self.assertRegex(recorder.stderr.readline(), r"one thread of which stood still")
        self.end(recorder)
        for thread in os.listdir(f"/proc/{program.pid}/task"):
            self.assertEqual(os.sched_getscheduler(int(thread)), os.SCHED_OTHER, thread)
        self.finish(program)

    def start(self, *arguments, **settings):
        program = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **settings)
        self.addCleanup(program.communicate, timeout=HANG_S)
        self.addCleanup(program.kill)
        if (line := program.stdout.readline()) != "ready\n":
            self.skipTest(line.strip())
        return program

    def waits_at(self, location, company=""):
        program = self.start(PATHS.places, location, company)

        def leave():
            program.stdin.write("x")
            program.stdin.flush()
            self.assertEqual(program.stdout.readline(), "left\n")
        self.waits_until_it_leaves(program, leave)

    def test_a_thread_of_the_kernel_for_io_uring(self):
        for company in "works", "polls":
            with self.subTest(company=company):
                self.waits_at("small", company)

    def test_a_thread_that_the_c_library_has_not_started(self):
        for company in "shares", "own":
            with self.subTest(company=company):
                self.waits_at("small", company)

    def test_a_thread_in_a_restartable_sequence(self):
        program = self.start(PATHS.sequences)
        for _ in range(CYCLES):
            self.end(self.record(program, "--for", "10ms"), interrupt=False)
        self.finish(program)

    def test_a_handler_of_a_signal(self):
        for form in "small", "large", "restorer":
            with self.subTest(form=form):
                self.waits_at(form)

    def test_a_malloc_that_logs(self):
        for program, preloaded in (PATHS.places_own, ""), (PATHS.places, PATHS.logging):
            with self.subTest(preloaded=preloaded):
                program = self.start(program, "malloc", stderr=subprocess.STDOUT,
                                     env={**os.environ, "LD_PRELOAD": preloaded})

                def leave(program=program):
                    while program.stdout.readline() != "left\n":
                        continue
                self.waits_until_it_leaves(program, leave)


if __name__ == "__main__":
    main("tarn", "places", "places-own", "logging", "sequences")
