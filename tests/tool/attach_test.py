#!/usr/bin/env python3
"""`tarn record --pid`: a running program is recorded and left as it was, many times, whatever it does meanwhile."""

import ctypes
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import prices
from paths import HANG_S, PATHS, main, polls

CACHE = tempfile.TemporaryDirectory(prefix="tarn-cache-")
CYCLES = 30
PTRACE_SEIZE, PTRACE_DETACH = 0x4206, 17
# Allows every system call by a filter, and then waits for its input to end.
RESTRICTS_ITSELF = """
import ctypes, struct, sys
libc = ctypes.CDLL(None)
filter = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0x7fff0000))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", 1, ctypes.addressof(filter)))
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, ctypes.byref(program)) == 0
print("ready", flush=True)
sys.stdin.read()
"""


def setUpModule():
    os.environ["XDG_CACHE_HOME"] = CACHE.name
    prices.simplify(prices.measure(PATHS.tarn, CACHE.name))


class Attach(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tarn attach "))
        self.addCleanup(shutil.rmtree, self.folder)

    def start(self, *words, **settings):
        running = subprocess.Popen(words, cwd=self.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                   **settings)
        self.addCleanup(running.communicate, timeout=HANG_S)
        self.addCleanup(running.kill)
        self.assertEqual(running.stdout.readline(), "ready\n")
        return running

    def program(self, threads=0, **variables):
        return self.start(PATHS.attached, str(threads), env={**os.environ, **variables})

    def say(self, program, line):
        program.stdin.write(line + "\n")
        program.stdin.flush()
        self.assertEqual(program.stdout.readline(), "done\n")

    def finish(self, program):
        """Ends the input of the program, which has no wrong answer."""
        output, _ = program.communicate(timeout=HANG_S)
        self.assertEqual((output, program.returncode), ("0 wrong\n", 3))

    def record(self, program, *options):
        """Starts to record the program and returns once it is recorded."""
        recorder = subprocess.Popen([PATHS.tarn, "record", "--pid", str(program.pid), "--sample", "1024", "-o", "rec",
                                     *options], cwd=self.folder, stderr=subprocess.PIPE, text=True)
        self.addCleanup(recorder.communicate, timeout=HANG_S)
        self.addCleanup(recorder.kill)
        said = recorder.stderr.readline()
        self.assertRegex(said, r"recording process \d+, one thread of which stood still for \d+\.\d ms")
        return recorder

    def end(self, recorder, interrupt=True):
        if interrupt:
            recorder.send_signal(signal.SIGINT)
        _, errors = recorder.communicate(timeout=HANG_S)
        self.assertEqual(recorder.returncode, 0, errors)
        return errors

    def report(self):
        result = subprocess.run([PATHS.tarn, "report", "--json", "--stacks", "--quick", "--top", "100000", "rec"],
                                cwd=self.folder, capture_output=True, text=True, check=True, timeout=HANG_S)
        return json.loads(result.stdout)

    def blocks_in(self, function):
        return sum(site["allocations"] for site in self.report()["sites"]
                   if any(function in frame["function"] for frame in site["stack"]))

    def refused(self, process, *options, code=3, output="rec"):
        result = subprocess.run([PATHS.tarn, "record", "-o", output, "--pid", str(process), *options], cwd=self.folder,
                                capture_output=True, text=True, check=False, timeout=HANG_S)
        self.assertEqual((result.returncode, result.stdout), (code, ""), result.stderr)
        self.assertRegex(result.stderr, r"^tarn: [^\n]*\n$")
        return result.stderr

    def test_what_is_allocated_while_it_is_recorded_counts_and_nothing_else(self):
        for library in ("", PATHS.library):
            with self.subTest(library=library):
                program = self.program(LD_PRELOAD=library)
                self.say(program, "blocks 1000")
                for blocks in (300, 200):
                    recorder = self.record(program)
                    self.say(program, f"blocks {blocks}")
                    self.assertIn("goes on", self.end(recorder))
                    self.assertEqual(self.blocks_in("allocate_large"), blocks)
                    self.assertTrue(self.report()["end"]["running"])
                    self.say(program, "blocks 500")
                self.finish(program)

    def test_many_times_under_load(self):
        program = self.program(4)
        for cycle in range(CYCLES):
            recorder = self.record(program)
            self.say(program, f"blocks {cycle + 1}")
            self.end(recorder)
            self.assertEqual(self.blocks_in("allocate_large"), cycle + 1)
        maps = pathlib.Path(f"/proc/{program.pid}/maps").read_text(encoding="utf-8")
        self.assertEqual(len(re.findall(r" 00000000 .*memfd:libtarn-record\.so", maps)), 1)
        self.assertEqual(len(re.findall(r"/memfd:tarn-record ", maps)), 1)
        self.finish(program)

    def test_no_signal_is_lost(self):
        program = self.start(PATHS.attached, "0", "signals")
        for _ in range(CYCLES):
            self.end(self.record(program))
        self.finish(program)

    def test_the_program_ends_while_it_is_recorded(self):
        program = self.program(2)
        recorder = self.record(program)
        self.finish(program)
        self.assertIn("has ended", self.end(recorder, interrupt=False))
        end = self.report()["end"]
        self.assertEqual((end["running"], end["by_signal"], end["status"]), (False, False, 3))

    def test_the_program_is_killed(self):
        program = self.program(2)
        recorder = self.record(program)
        self.say(program, "blocks 10")
        program.kill()
        self.assertIn("has ended", self.end(recorder, interrupt=False))
        self.assertEqual(self.blocks_in("allocate_large"), 10)

    def test_a_child_of_fork_is_not_recorded_and_works(self):
        program = self.program(2)
        recorder = self.record(program)
        self.say(program, "fork")
        self.end(recorder)
        self.say(program, "fork")
        self.assertEqual(self.blocks_in("allocate_large"), 0)
        self.finish(program)

    def test_a_library_that_is_loaded_later_is_recorded(self):
        program = self.program()
        self.say(program, f"plugin {PATHS.plugin} 10")
        recorder = self.record(program)
        self.say(program, f"plugin {PATHS.plugin} 4000")
        self.end(recorder)
        # The thread's estimates are scaled to its exact sum, and few of its blocks are the loader's: they stand for
        # five others at most.
        self.assertAlmostEqual(self.blocks_in("allocate_in_plugin"), 4000, delta=200)
        self.say(program, f"plugin {PATHS.plugin} 10")
        self.finish(program)

    def test_a_program_that_becomes_another_one(self):
        program = self.program()
        recorder = self.record(program)
        program.stdin.write("exec\n")
        program.stdin.flush()
        for _ in polls():
            if "cat" in os.readlink(f"/proc/{program.pid}/exe"):
                break
        self.assertIn("has become another program", self.end(recorder))
        self.assertEqual(program.communicate("text\n", timeout=HANG_S)[0], "text\n")

    def test_a_recorder_that_was_killed_is_replaced(self):
        program = self.program(2)
        self.record(program).kill()
        for _ in polls():
            recorder = subprocess.Popen([PATHS.tarn, "record", "--pid", str(program.pid), "--sample", "1024", "-o",
                                         "rec"],
                                        cwd=self.folder, stderr=subprocess.PIPE, text=True)
            if "stood still" in recorder.stderr.readline():
                break
            recorder.communicate(timeout=HANG_S)
        self.say(program, "blocks 20")
        self.end(recorder)
        self.assertEqual(self.blocks_in("allocate_large"), 20)
        self.finish(program)

    def test_it_is_bounded_in_time_and_files(self):
        program = self.program()
        self.assertIn("goes on", self.end(self.record(program, "--for", "300ms"), interrupt=False))
        (self.folder / "rec").unlink()
        recorder = self.record(program, "--every", "50ms", "--keep", "2")
        for _ in polls():
            if max((int(path.suffix[1:]) for path in self.folder.iterdir()), default=0) >= 4:
                break
        self.end(recorder)
        self.assertEqual(len(list(self.folder.iterdir())), 2)
        self.finish(program)

    def test_what_cannot_be_is_said(self):
        program = self.program()
        recorder = self.record(program)
        self.assertIn("recorded already", self.refused(program.pid))
        self.end(recorder)
        self.assertIn("recorded before with --sample 1024", self.refused(program.pid, "--sample", "4096", code=2))
        self.assertIn("does not exist", self.refused(2**22 + 1))
        self.assertIn("kernel thread", self.refused(2))
        for option in ("--full", "--follow", "--syscalls"):
            self.assertIn("excludes", self.refused(program.pid, option, code=2))
        self.assertIn("No such file", self.refused(program.pid, output="none/rec"))
        self.assertIn("exclude each other", self.refused(program.pid, "--", "true", code=2))
        self.finish(program)

    def test_a_static_program_is_left_alone(self):
        reads, writes = os.pipe()
        self.addCleanup(os.close, reads)
        os.set_blocking(writes, False)
        while True:  # the program then waits in its first output
            try:
                os.write(writes, b"x" * 4096)
            except BlockingIOError:
                break
        os.set_blocking(writes, True)
        program = subprocess.Popen([PATHS.static], stdout=writes)
        os.close(writes)
        self.addCleanup(program.wait)
        self.addCleanup(program.kill)
        self.assertIn("is statically linked or uses another C library", self.refused(program.pid, code=126))

    def test_another_users_program_is_left_alone(self):
        if os.geteuid() != 0:
            self.skipTest("needs two users")
        program = self.program()
        try:
            result = subprocess.run([PATHS.tarn, "record", "--pid", str(program.pid), "-o", "/dev/null"], user=65534,
                                    capture_output=True, text=True, check=False, timeout=HANG_S)
        except PermissionError:
            self.skipTest("the other user may not run the command")
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertRegex(result.stderr, r"^tarn: process \d+ belongs to another user \(number 0\); try sudo .*\n$")
        self.finish(program)

    def test_a_traced_program_is_left_alone(self):
        program = self.program()
        libc = ctypes.CDLL(None, use_errno=True)
        libc.ptrace.argtypes = (ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
        self.assertEqual(libc.ptrace(PTRACE_SEIZE, program.pid, None, None), 0)
        self.assertIn(f"is traced by process {os.getpid()}", self.refused(program.pid))

    def test_a_restricted_program_is_left_alone(self):
        program = self.start(sys.executable, "-c", RESTRICTS_ITSELF)
        self.assertIn("restricted its system calls (seccomp)", self.refused(program.pid))

    def test_a_program_that_tarn_record_started_is_left_alone(self):
        recorder = self.start(PATHS.tarn, "record", "-o", "first", "--", PATHS.attached, "0")
        children = pathlib.Path(f"/proc/{recorder.pid}/task/{recorder.pid}/children")
        program = children.read_text(encoding="utf-8").split()[0]
        self.assertIn("was started by tarn record", self.refused(program))


if __name__ == "__main__":
    main("tarn", "attached", "plugin", "library", "static")
