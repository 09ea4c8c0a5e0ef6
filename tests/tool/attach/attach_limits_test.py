#!/usr/bin/env python3
"""`tarn record --pid`: limits of memory, descriptors, time and files, and what the program or a tracer may do."""

import pathlib
import re
import resource
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from attaching import AttachTest, setUpModule  # noqa: F401  pylint: disable=unused-import
from paths import HANG_S, PATHS, main, polls

TRACES = """
import ctypes, sys
ctypes.CDLL(None).ptrace(0x4206, int(sys.argv[1]), None, None)  # PTRACE_SEIZE
print("ready", flush=True)
sys.stdin.read()
"""
SHRINKS_THE_REGION = """
import os, sys
print("ready", flush=True)
sys.stdin.readline()
for name in os.listdir("/proc/self/fd"):
    try:
        if os.readlink(f"/proc/self/fd/{name}").startswith("/memfd:tarn-record"):
            os.ftruncate(int(name), 0)
            print("shrunk", flush=True)
    except PermissionError:
        print("refused", flush=True)
    except FileNotFoundError:  # the folder itself
        pass
sys.stdin.read()
"""
# Locks its memory and all that it maps later, and answers its input.
LOCKS_ITS_MEMORY = """
import ctypes, sys
ctypes.CDLL(None).mlockall(3)
print("ready", flush=True)
for line in sys.stdin:
    print("done", flush=True)
"""


class AttachLimits(AttachTest):
    def test_a_program_that_locks_its_memory_gets_no_untouched_pages(self):
        self.needs_way(sys.executable, "-c", "import ctypes; raise SystemExit(ctypes.CDLL(None).mlockall(3))")
        program = self.start(sys.executable, "-c", LOCKS_ITS_MEMORY)
        status = pathlib.Path(f"/proc/{program.pid}/status")
        resident_kib = lambda: int(re.search(r"VmRSS:\s*(\d+) kB", status.read_text(encoding="utf-8"))[1])
        before = resident_kib()
        recorder = self.record(program)
        self.say(program, "go on")
        self.assertLess(resident_kib() - before, 64 << 10)
        self.end(recorder)

    def test_hooks_that_cannot_be_removed_are_reported(self):
        program = self.program()
        recorder = self.record(program)
        tracer = self.start(sys.executable, "-c", TRACES, str(program.pid))
        recorder.send_signal(signal.SIGINT)
        errors = recorder.communicate(timeout=HANG_S)[1]
        self.assertEqual(recorder.returncode, 3)
        self.assertIn(f"tarn record --pid {program.pid} --for 1s removes them", errors)
        tracer.communicate(timeout=HANG_S)
        self.end(self.record(program, "--for", "100ms"), interrupt=False)
        self.finish(program)

    def test_a_program_cannot_shrink_the_region(self):
        program = self.start(sys.executable, "-c", SHRINKS_THE_REGION)
        recorder = self.record(program)
        program.stdin.write("go on\n")
        program.stdin.flush()
        self.assertEqual(program.stdout.readline(), "refused\n")
        self.end(recorder)

    def test_a_low_limit_of_descriptors(self):
        limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20))
        program = self.start(PATHS.attached, "0", preexec_fn=limit)
        for _ in range(2):
            self.end(self.record(program))
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


if __name__ == "__main__":
    main("tarn", "attached")
