#!/usr/bin/env python3
"""`tarn record --pid` where it may not attach: one line says why, and the program runs on as it was."""

import ctypes
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from attaching import AttachTest, setUpModule  # noqa: F401  pylint: disable=unused-import
from paths import HANG_S, PATHS, main, polls

PTRACE_SEIZE = 0x4206
# A 32-bit program that only waits: its headers, and `mov eax, 29; int 0x80; jmp -9`.
PROGRAM_32 = (b"\x7fELF\x01\x01\x01" + bytes(9) +
              struct.pack("<HHIIIIIHHHHHH", 2, 3, 1, 0x8048054, 52, 0, 0, 52, 32, 1, 0, 0, 0) +
              struct.pack("<IIIIIIII", 1, 0, 0x8048000, 0x8048000, 93, 93, 5, 4096) + b"\xb8\x1d\0\0\0\xcd\x80\xeb\xf7")
# Becomes a program whose filter answers one system call with an action, and allows all others.
BECOMES_FILTERED = """
import ctypes, os, struct, sys
libc = ctypes.CDLL(None)
number, action = map(int, sys.argv[1:3])
code = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, action), (0x06, 0, 0, 0x7fff0000)]
filter = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in code))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(code), ctypes.addressof(filter)))
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, ctypes.byref(program)) == 0
os.execv(sys.argv[3], sys.argv[3:])
"""
KILL, DENY, ALLOW = 0x80000000, 0x00050001, 0x7fff0000
MADVISE, MEMFD_CREATE = 28, 319
# May only read and write.
STRICT = ("import ctypes, os; library = ctypes.CDLL(None); print('ready', flush=True); library.prctl(22, 1); "
          "os.read(0, 1)")
# A thread has the loader's lock until the end of the input. Then another one needs it.
HAS_LOCK = """
import ctypes, sys, threading
libc = ctypes.CDLL(None)
ready = threading.Event()
@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
def wait(*_):
    ready.set()
    return len(sys.stdin.read()) + 1
holder = threading.Thread(target=libc.dl_iterate_phdr, args=(wait, None))
holder.start()
ready.wait()
print("ready", flush=True)
holder.join()
assert ctypes.CDLL("libm.so.6").abs(-3) == 3
print("done")
"""

SYS_PTRACE, SYS_ADMIN = 19, 21


def may(capability):
    status = pathlib.Path("/proc/self/status").read_text(encoding="utf-8")
    return int(re.search(r"^CapEff:\s*(\w+)", status, re.MULTILINE)[1], 16) >> capability & 1


class Refused(AttachTest):
    def test_what_cannot_be_is_reported(self):
        program = self.program()
        recorder = self.record(program)
        self.assertIn("recorded already", self.refused(program.pid))
        self.end(recorder)
        self.assertEqual(self.report()["damage"], "")
        self.assertIn("keeps the --sample 1024 of its first recording: repeat with --sample 1024, or restart it",
                      self.refused(program.pid, "--sample", "4096", code=2))
        self.assertIn("does not exist", self.refused(2**22 + 1))
        other_program = self.program(1)
        threads = {int(name) for name in os.listdir(f"/proc/{other_program.pid}/task")} - {other_program.pid}
        self.assertIn(f"is a thread of process {other_program.pid}; record that", self.refused(threads.pop()))
        self.finish(other_program)
        self.assertIn("kernel thread", self.refused(2))
        for option in ("--full", "--follow", "--syscalls"):
            self.assertIn("exclude each other", self.refused(program.pid, option, code=2))
        self.assertIn("No such file", self.refused(program.pid, output="none/rec"))
        self.assertIn("exclude each other", self.refused(program.pid, "--", "true", code=2))
        self.finish(program)

    def test_a_thread_that_has_the_loaders_lock(self):
        program = self.start(sys.executable, "-c", HAS_LOCK)
        earlier_recording = b"tarn\r\n\x1a\n and more"
        (self.folder / "rec").write_bytes(earlier_recording)
        threads = {int(name) for name in os.listdir(f"/proc/{program.pid}/task")} - {program.pid}
        self.assertIn(f"its thread {threads.pop()} is in dlopen or dl_iterate_phdr", self.refused(program.pid))
        self.refused(program.pid, output="other")
        self.assertEqual([(path.name, path.read_bytes()) for path in self.folder.iterdir()],
                         [("rec", earlier_recording)])
        self.assertEqual(program.communicate(timeout=HANG_S), ("done\n", None))

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

    def test_a_32_bit_program_is_left_alone(self):
        path = self.folder / "program32"
        path.write_bytes(PROGRAM_32)
        path.chmod(0o755)
        try:
            program = subprocess.Popen([path])
        except OSError:
            self.skipTest("no 32-bit program runs here")
        self.addCleanup(program.wait)
        self.addCleanup(program.kill)
        self.assertIn("is no 64-bit x86-64 program", self.refused(program.pid, code=126))

    def test_a_user_without_the_right_to_trace(self):
        way = ["setpriv", "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace"]
        if os.geteuid() != 0 or not may(SYS_PTRACE) or shutil.which(way[0]) is None:
            self.skipTest("needs setpriv and a user who may give up a right")
        program = self.program()
        command = [*way, PATHS.tarn, "record", "--for", "10ms", "--pid", str(program.pid), "-o", "/dev/null"]
        result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=HANG_S)
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertRegex(result.stderr, r"^tarn: [^\n]*process \d+ [^\n]*try sudo tarn record --pid \d+\n$")
        self.finish(program)

    def filtered(self, number, action, *command):
        return [sys.executable, "-c", BECOMES_FILTERED, str(number), str(action), *map(str, command)]

    def record_filtered(self, program, *filters, code=0):
        command = [PATHS.tarn, "record", "-o", "rec", "--for", "500ms", "--pid", program.pid]
        for call, action in filters:
            command = self.filtered(call, action, *command)
        return self.run_program(*map(str, command), code=code).stderr

    def test_a_filter_that_allows_what_the_recorder_needs(self):
        program = self.start(*self.filtered(MEMFD_CREATE, ALLOW, PATHS.attached, 2))
        if may(SYS_ADMIN):  # the kernel shows the filter
            self.assertIn(" stood still for ", self.record_filtered(program))
        self.assertIn(" stood still for ", self.record_filtered(program, (MEMFD_CREATE, ALLOW)))
        self.assertGreater(self.report()["heap"]["allocations"], 0)
        self.assertIn("by a filter that cannot be read from here", self.record_filtered(
            program, (MEMFD_CREATE, ALLOW), (MEMFD_CREATE, ALLOW), code=3))
        self.finish(program)

    def test_a_filter_that_forbids_a_call_of_the_recorder(self):
        for call, name in (MEMFD_CREATE, "memfd_create"), (MADVISE, "madvise"):
            for action in KILL, DENY:
                with self.subTest(call=name, action=action):
                    program = self.start(*self.filtered(call, action, PATHS.attached, 0))
                    if may(SYS_ADMIN):
                        self.assertIn(f"its filter forbids {name}, ", self.refused(program.pid))
                    if call == MADVISE:  # tarn record begins with memfd_create itself
                        self.assertIn("by a filter that cannot be read from here",
                                      self.record_filtered(program, (call, action), code=3))
                    self.finish(program)

    def test_a_program_that_may_only_read_and_write(self):
        program = self.start(sys.executable, "-c", STRICT)
        for _ in polls():
            if "Seccomp:\t1" in pathlib.Path(f"/proc/{program.pid}/status").read_text(encoding="utf-8"):
                break
        self.assertIn("its filter forbids all calls but read and write", self.refused(program.pid))


if __name__ == "__main__":
    main("tarn", "attached", "static")
