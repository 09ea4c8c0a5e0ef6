#!/usr/bin/env python3
"""`tarn record --pid`: a running program is recorded and left as it was, many times, whatever it does meanwhile."""

import os
import pathlib
import re
import resource
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from attaching import AttachTest, setUpModule  # noqa: F401  pylint: disable=unused-import
from paths import HANG_S, PATHS, main, polls

CYCLES = 30
STEP_S = 0.0001
# Ignores SIGTRAP, or blocks it with one waiting and handles it at the end of its input; then it prints how many came.
TAKES_TRAPS = """
import os, signal, sys
count = 0
def handle(*_):
    global count
    count += 1
signal.signal(signal.SIGTRAP, signal.SIG_IGN if sys.argv[1] == "ignores" else handle)
if sys.argv[1] == "blocks":
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTRAP])
    os.kill(os.getpid(), signal.SIGTRAP)
print("ready", flush=True)
sys.stdin.read()
signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTRAP])
os.kill(os.getpid(), signal.SIGTRAP)
print(count)
"""
# Waits in a system call, for a byte of its input or for a limit, and prints the result and the error. Its input is a
# socket.
WAITS = """
import ctypes, os, select, socket, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
limit, brief, buffer = struct.pack("qq", 60, 0), struct.pack("qq", 3, 0), ctypes.create_string_buffer(64)
options, stream = (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO), socket.socket(fileno=0)
mode = sys.argv[1]
for option in options:
    stream.setsockopt(socket.SOL_SOCKET, option, limit)
if mode in ("epoll_wait", "epoll_pwait2"):
    poll = select.epoll()
    poll.register(0, select.EPOLLIN)
    wait = {"epoll_wait": lambda: libc.epoll_wait(poll.fileno(), buffer, 1, 60000),
            "epoll_pwait2": lambda: libc.syscall(441, poll.fileno(), buffer, 1, limit, None, 8)}[mode]
elif mode == "accept":
    server = socket.socket(socket.AF_UNIX)
    server.bind("socket")
    server.listen()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
    wait = lambda: min(libc.accept(server.fileno(), None, None), 1)
elif mode == "send":
    stream.setblocking(False)
    try:
        while True:
            stream.send(b"x")
    except BlockingIOError:
        stream.setblocking(True)
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
    wait = lambda: libc.send(0, b"x", 1, 0)
elif mode == "io_getevents":
    context = ctypes.c_ulong()
    assert libc.syscall(206, 1, ctypes.byref(context)) == 0
    wait = lambda: libc.syscall(208, context, 1, 1, buffer, brief)
elif mode == "semtimedop":
    semaphore = libc.semget(0, 1, 0o600)
    wait = lambda: libc.semtimedop(semaphore, struct.pack("HhH", 0, -1, 0), 1, brief)
else:
    wait = {"recv": lambda: libc.recv(0, buffer, 1, 0), "read": lambda: libc.read(0, buffer, 1),
            "poll": lambda: libc.poll(struct.pack("ihh", 0, 1, 0), 1, 60000)}[mode]
print("ready", flush=True)
result = wait()
print(result, ctypes.get_errno() if result < 0 else 0)
if mode == "semtimedop":
    libc.semctl(semaphore, 0, 0)
"""
EAGAIN = 11
# The mode, the number of the call, and what it returns.
CALLS = (("epoll_wait", 232, "1 0"), ("epoll_pwait2", 441, "1 0"), ("accept", 43, "1 0"), ("send", 44, "1 0"),
         ("recv", 45, "1 0"), ("read", 0, "1 0"), ("poll", 7, "1 0"), ("io_getevents", 208, "0 0"),
         ("semtimedop", 220, f"-1 {EAGAIN}"))


class Attach(AttachTest):
    def test_no_system_call_is_interrupted(self):
        for mode, number, result in CALLS:
            with self.subTest(mode=mode):
                ours, theirs = socket.socketpair()
                program = subprocess.Popen([sys.executable, "-c", WAITS, mode], cwd=self.folder, stdin=theirs,
                                           stdout=subprocess.PIPE, text=True)
                self.addCleanup(program.wait)
                self.addCleanup(program.kill)
                self.addCleanup(program.stdout.close)
                theirs.close()
                self.assertEqual(program.stdout.readline(), "ready\n")
                call = pathlib.Path(f"/proc/{program.pid}/syscall")
                for _ in polls():
                    if call.read_text(encoding="utf-8").split()[0] in (str(number), "-1"):
                        break
                self.end(self.record(program))
                if mode == "accept":
                    ours.close()
                    ours = socket.socket(socket.AF_UNIX)
                    ours.connect(str(self.folder / "socket"))
                elif mode == "send":
                    ours.recv(1024 * 1024)
                else:
                    ours.send(b"x")
                self.assertEqual(program.communicate(timeout=HANG_S)[0], f"{result}\n")
                ours.close()

    def libraries_in_debugger(self, process):
        if shutil.which("gdb") is None:
            self.skipTest("no gdb")
        return self.run_program("gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off", "-ex",
                                "info sharedlibrary", "-p", str(process), stdin=subprocess.DEVNULL).stdout

    def test_a_debugger_reads_the_process_afterwards(self):
        program = self.program()
        self.end(self.record(program))
        self.assertRegex(self.libraries_in_debugger(program.pid), r"/proc/self/task/\d+/fd/\d+\n")
        self.finish(program)

    def test_a_process_with_another_number_than_its_proc_shows(self):
        way = ["unshare", "--pid", "--fork"]
        self.needs_way(*way, "true")
        program = self.start(*way, PATHS.attached, "0")
        children = pathlib.Path(f"/proc/{program.pid}/task/{program.pid}/children")
        process = children.read_text(encoding="utf-8").split()[0]
        self.assertIn("goes on", self.tarn("record", "--for", "50ms", "-o", "rec", "--pid", process).stderr)
        self.assertRegex(self.libraries_in_debugger(process), r"/proc/self/fd/1\d\d\d\n")
        self.finish(program)

    def test_what_is_allocated_while_it_is_recorded_counts_and_nothing_else(self):
        for library in ("", PATHS.library):
            with self.subTest(library=library):
                program = self.program(LD_PRELOAD=library)
                self.say(program, "blocks 1000")
                for blocks in (300, 200):
                    recorder = self.record(program)
                    self.say(program, f"blocks {blocks}")
                    errors = self.end(recorder)
                    self.assertIn("goes on", errors)
                    self.assertEqual(self.blocks_in("allocate_large"), blocks)
                    self.assertEqual(self.report()["recorder"]["replaced"], "")
                    self.assertIn(f"tarn: {self.report()['heap']['allocations']} allocations", errors)
                    self.assertTrue(self.report()["end"]["running"])
                    self.say(program, "blocks 500")
                self.finish(program)

    def test_waits_since_before_the_recording_are_said_to_be_missing(self):
        program = self.program()
        self.end(self.record(program, "--locks", "--for", "50ms"), interrupt=False)
        text = " ".join(self.tarn("report", "--quick", "rec").stdout.split())
        self.assertIn("No remedy found for locks. No lock was taken; threads that have waited since before are shown "
                      "by tarn record --cpu --pid.", text)
        self.finish(program)

    def test_a_program_may_have_replaced_some_operators_alone(self):
        self.end(self.record(program := self.start(PATHS.partly_replaced, "wait"), "--for", "300ms"), interrupt=False)
        self.assertEqual((program.communicate(timeout=HANG_S), program.returncode), (("", None), 0))
        self.assertGreaterEqual(self.report()["heap"]["allocations"], 10_000)

    def test_addresses_that_are_left_over_on_the_stack_are_no_calls(self):
        program = self.program(LD_PRELOAD=PATHS.library)
        program.stdin.write("leave\n")
        program.stdin.flush()
        self.assertEqual(program.stdout.readline(), "waits\n")
        recorder = self.record(program)
        program.stdin.write("x")
        program.stdin.flush()
        self.assertEqual(program.stdout.readline(), "done\n")
        self.end(recorder)
        self.finish(program)

    def test_it_stops_and_starts_while_it_is_attached(self):
        program = self.program()
        recorder = self.record(program)
        for command, blocks in ("stop", 300), ("start", 200):
            subprocess.run([PATHS.tarn, "record", "--pid", str(program.pid), command], check=True, timeout=HANG_S)
            self.assertRegex(recorder.stderr.readline(), f"^tarn: recording {command}")
            self.say(program, f"blocks {blocks}")
        self.assertIn("goes on", self.end(recorder))
        self.assertEqual(self.blocks_in("allocate_large"), 0)
        (self.folder / "rec.2").rename(self.folder / "rec")
        self.assertEqual(self.blocks_in("allocate_large"), 200)
        stopping = subprocess.run([PATHS.tarn, "record", "--pid", str(program.pid), "stop"], stderr=subprocess.PIPE,
                                  text=True, check=False, timeout=HANG_S)
        self.assertEqual(stopping.returncode, 3)
        self.assertRegex(stopping.stderr, r"^tarn: process \d+ is no longer recorded: [^\n]*\n$")
        self.finish(program)

    def test_the_peak_after_a_stop_is_of_what_was_seen_since(self):
        program = self.program()
        recorder = self.record(program)
        self.say(program, "hold 40")
        subprocess.run([PATHS.tarn, "record", "--pid", str(program.pid), "stop"], check=True, timeout=HANG_S)
        self.say(program, "drop")
        subprocess.run([PATHS.tarn, "record", "--pid", str(program.pid), "start"], check=True, timeout=HANG_S)
        self.say(program, "hold 10")
        self.say(program, "drop")
        self.end(recorder)
        (self.folder / "rec.2").rename(self.folder / "rec")
        memory = self.report()["memory"]
        self.assertEqual([(site["peak_bytes"], site["end_bytes"]) for site in memory["sites"]
                          if any("hold_large" in frame["function"] for frame in site["stack"])], [(10 * 65536, 0)])
        self.assertGreater(memory["peak_ns"], 0)
        self.finish(program)

    def test_each_attachment_has_its_sources(self):
        heap, locks, every = ("--heap",), ("--locks",), ("--heap", "--locks")
        for options in ((locks, heap, every, locks), (heap, locks, heap, every)):
            with self.subTest(options=options):
                program = self.program(2)
                for number, sources in enumerate(options, 1):
                    recorder = self.record(program, *sources)
                    self.say(program, f"blocks {100 * number}")
                    self.end(recorder)
                    report = self.report()
                    self.assertEqual(self.blocks_in("allocate_large"), 100 * number if "--heap" in sources else 0)
                    acquisitions = sum(lock["acquisitions"] for lock in report["locks"])
                    self.assertEqual(acquisitions > 0, "--locks" in sources, (sources, number))
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
        self.assertEqual(len(re.findall(r" 00000000 .*/memfd:tarn-record ", maps)), 1)
        self.finish(program)

    def test_no_signal_is_lost(self):
        program = self.program(0, "signals")
        for _ in range(CYCLES):
            self.end(self.record(program))
        self.finish(program)

    def test_it_makes_children_and_loads_libraries_meanwhile(self):
        program = self.program(1, "forks", "loads", PATHS.plugin)
        for cycle in range(CYCLES // 3):
            recorder = self.record(program)
            self.say(program, f"blocks {cycle + 1}")
            self.end(recorder)
            self.assertEqual(self.blocks_in("allocate_large"), cycle + 1)
        self.finish(program)

    def test_a_thousand_threads(self):
        program = self.program(0, "sleepers", "1000")
        recorder = self.record(program)
        self.say(program, "blocks 30")
        self.end(recorder)
        self.assertEqual(self.blocks_in("allocate_large"), 30)
        self.finish(program)

    def test_a_stopped_program_stays_so(self):
        program = self.program(1)
        program.send_signal(signal.SIGSTOP)
        recorder = self.record(program)
        status = pathlib.Path(f"/proc/{program.pid}/stat")
        for _ in polls():  # the thread that was stopped for the recorder comes back to this stop
            state = status.read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0]
            if state == "T":
                break
        self.assertEqual(state, "T")
        program.send_signal(signal.SIGCONT)
        self.say(program, "blocks 20")
        self.end(recorder)
        self.assertEqual(self.blocks_in("allocate_large"), 20)
        self.finish(program)

    def record_while_it_arrives(self, program, number, delay_s):
        """Sends the signal so long after a recorder has begun to trace the program, and returns that recorder."""
        status = pathlib.Path(f"/proc/{program.pid}/status")
        recorder = subprocess.Popen([PATHS.tarn, "record", "--pid", str(program.pid), "--sample", "1024", "-o", "rec"],
                                    cwd=self.folder, stderr=subprocess.PIPE, text=True)
        self.addCleanup(recorder.communicate, timeout=HANG_S)
        self.addCleanup(recorder.kill)
        for _ in polls(0):
            is_traced = "\nTracerPid:\t0\n" not in status.read_text(encoding="utf-8")
            if is_traced or select.select([recorder.stderr], [], [], 0)[0]:
                break
        time.sleep(delay_s)
        program.send_signal(number)
        self.assertIn("stood still", recorder.stderr.readline())
        return recorder

    def test_a_program_that_is_stopped_meanwhile(self):
        program = self.program()
        status = pathlib.Path(f"/proc/{program.pid}/status")
        for cycle in range(CYCLES):
            recorder = self.record_while_it_arrives(program, signal.SIGSTOP, cycle * STEP_S)
            for _ in polls():
                if is_stopped := "\nState:\tT" in status.read_text(encoding="utf-8"):
                    break
            self.assertTrue(is_stopped)
            program.send_signal(signal.SIGCONT)
            self.say(program, "blocks 20")
            self.end(recorder)
            self.assertEqual(self.blocks_in("allocate_large"), 20)
        self.finish(program)

    def test_a_trap_that_another_process_sends_meanwhile(self):
        for cycle in range(CYCLES // 3):
            program = self.start(sys.executable, "-c", TAKES_TRAPS, "handles")
            self.end(self.record_while_it_arrives(program, signal.SIGTRAP, cycle * STEP_S))
            self.assertEqual(program.communicate(timeout=HANG_S)[0], "2\n")

    def test_a_thread_that_is_lent_to_a_child_is_passed_over(self):
        program = self.program(1)
        program.stdin.write("vfork\n")
        program.stdin.flush()
        children = pathlib.Path(f"/proc/{program.pid}/task/{program.pid}/children")
        for _ in polls():
            if child := children.read_text(encoding="utf-8"):
                break
        self.end(self.record(program))
        os.kill(int(child), signal.SIGKILL)
        self.assertEqual(program.stdout.readline(), "done\n")
        self.finish(program)

    def test_what_comes_and_goes_is_recorded_or_refused_in_one_line(self):
        (self.folder / "again.sh").write_text("exec sh again.sh\n", encoding="utf-8")
        becomes = subprocess.Popen(["sh", "again.sh"], cwd=self.folder)
        self.addCleanup(becomes.wait)
        self.addCleanup(becomes.kill)
        for cycle in range(CYCLES // 6):
            ends = subprocess.Popen([PATHS.attached, "1"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
            for program in (ends, becomes):
                result = subprocess.run([PATHS.tarn, "record", "-o", "rec", "--for", "10ms", "--pid", str(program.pid)],
                                        cwd=self.folder, capture_output=True, text=True, check=False, timeout=HANG_S)
                if result.returncode != 0:
                    self.assertEqual(result.returncode, 3, result.stderr)
                    self.assertRegex(result.stderr, r"^tarn: [^\n]*\n$")
            self.assertEqual(ends.wait(timeout=HANG_S), 3, cycle)
        self.assertIsNone(becomes.poll())

    def test_traps_of_the_program_stay_its_own(self):
        for mode, count in (("handles", 1), ("ignores", 0), ("blocks", 2)):
            with self.subTest(mode=mode):
                program = self.start(sys.executable, "-c", TAKES_TRAPS, mode)
                for _ in range(3):
                    self.end(self.record(program))
                self.assertEqual(program.communicate(timeout=HANG_S)[0], f"{count}\n")
                self.assertEqual(program.returncode, 0)

    def test_a_filter_of_system_calls_that_comes_later(self):
        program = self.program(2)
        recorder = self.record(program)
        self.say(program, "filter")
        self.say(program, "blocks 20")
        self.end(recorder)
        self.assertEqual(self.blocks_in("allocate_large"), 20)
        self.say(program, "blocks 20")
        self.assertIn("restricted its system calls (seccomp)", self.refused(program.pid))
        self.finish(program)

    def test_a_program_whose_files_are_gone(self):
        copy = self.folder / "copy"
        shutil.copy2(PATHS.attached, copy)
        program = self.start(copy, "0")
        copy.unlink()
        recorder = self.record(program)
        self.say(program, "blocks 200")
        self.end(recorder)
        self.assertGreaterEqual(self.report()["heap"]["allocations"], 200)
        self.finish(program)

    def test_another_mount_namespace(self):
        way = ["unshare", "--mount"]
        self.needs_way(*way, "sh", "-c", "mount -t tmpfs none /tmp")
        library_folder = pathlib.Path(PATHS.tarn).parent.parent / "lib"
        hides = f"mount -t tmpfs none '{library_folder}' && exec '{PATHS.attached}' 0"
        program = self.start(*way, "sh", "-c", hides)
        recorder = self.record(program)
        self.say(program, "blocks 20")
        self.end(recorder)
        self.assertEqual(self.blocks_in("allocate_large"), 20)
        self.finish(program)

    def test_a_malloc_of_its_own_is_named(self):
        program = self.start(PATHS.own, "0")
        recorder = self.record(program)
        self.say(program, "blocks 20")
        self.assertRegex(self.end(recorder),
                         r"tarn: .*attached_own has a malloc of its own: its heap was not recorded\n")
        self.finish(program)

    def test_two_recorders_at_once(self):
        for _ in range(CYCLES // 6):
            program = self.program(1)
            command = [PATHS.tarn, "record", "--pid", str(program.pid), "--for", "50ms", "-o"]
            recorders = [subprocess.Popen([*command, name], cwd=self.folder, stderr=subprocess.PIPE, text=True)
                         for name in ("one", "two")]
            results = [(recorder.communicate(timeout=HANG_S)[1], recorder.returncode) for recorder in recorders]
            self.assertIn(0, [code for _, code in results], results)
            for errors, code in results:
                if code != 0:
                    self.assertRegex(errors, r"^tarn: process \d+ is recorded already, by the tarn record of process "
                                             r"\d+; .*\n$")
            maps = pathlib.Path(f"/proc/{program.pid}/maps").read_text(encoding="utf-8")
            self.assertEqual(len(re.findall(r" 00000000 .*memfd:libtarn-record\.so", maps)), 1)
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
        end = self.report()["end"]
        self.assertFalse(end["running"])
        self.assertIn(end["status"], (None, signal.SIGKILL))  # which the kernel says since Linux 6.15
        text = "killed by signal 9" if end["by_signal"] else "ended; how was not seen"
        self.assertIn(text, self.tarn("report", "--quick", "rec").stdout)

    def test_a_child_of_fork_is_not_recorded_and_works(self):
        program = self.program(2)
        recorder = self.record(program)
        self.say(program, "fork")
        self.end(recorder)
        self.say(program, "fork")
        self.assertEqual(self.blocks_in("allocate_large"), 0)
        self.finish(program)

    def test_a_child_without_handlers_of_fork_is_not_recorded(self):
        program = self.program()
        recorder = self.record(program, sample=1 << 30)  # what is not sampled is counted where nothing else is done
        self.say(program, "blocks 1")
        self.say(program, "fork bare")
        self.end(recorder)
        self.assertLess(self.report()["heap"]["allocations"], 1000)
        self.finish(program)

    def test_the_arithmetic_of_the_program_is_its_own(self):
        for mode in "flags", "traps":
            with self.subTest(mode=mode):
                program = self.start(PATHS.arithmetic, mode)
                recorder = self.record(program)
                self.say(program, "go on")
                self.end(recorder)
                self.assertGreater(self.report()["heap"]["allocations"], 39_999)
                self.assertEqual(program.communicate(timeout=HANG_S)[0], "0 raised\n")
                self.assertEqual(program.returncode, 0)

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

    def test_a_program_and_a_library_that_were_replaced_while_it_ran_are_named(self):
        files = (("server", PATHS.attached, PATHS.own, "allocate_large"),
                 ("plugin.so", PATHS.plugin, PATHS.library, "allocate_in_plugin"))
        folder = pathlib.Path(tempfile.mkdtemp())  # without a space, for LD_PRELOAD
        self.addCleanup(shutil.rmtree, folder)
        for name, source, _, _ in files:
            shutil.copy(source, folder / name)
        program = self.start(folder / "server", "0", env={**os.environ, "LD_PRELOAD": str(folder / "plugin.so")})
        for name, _, newer, _ in files:
            shutil.copy(newer, folder / "newer")
            os.replace(folder / "newer", folder / name)
        recorder = self.record(program)
        self.say(program, "blocks 30")
        self.say(program, f"plugin {folder}/plugin.so 30")
        self.end(recorder)
        self.assertEqual([self.blocks_in(function) for *_, function in files], [0, 0])
        output = self.tarn("report", "--quick", "rec").stdout
        self.assertRegex(output, rf"{folder}/(server|plugin\.so) was replaced since the program loaded it \(1 more "
                                 r"file, too\): its functions have no names here\.\n")
        for name, source, _, _ in files:
            shutil.copy(source, folder / name)  # the recorded build is back
        self.assertEqual([self.blocks_in(function) for *_, function in files], [30, 30])
        self.assertNotIn("replaced", self.tarn("report", "--quick", "rec").stdout)
        self.finish(program)

    def test_a_file_without_room_ends_with_a_whole_block(self):
        program = self.program()
        recorder = self.record(program)
        limit = (self.folder / "rec").stat().st_size + 100
        resource.prlimit(recorder.pid, resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        self.say(program, "blocks 3000")
        recorder.send_signal(signal.SIGINT)
        errors = recorder.communicate(timeout=HANG_S)[1]
        self.assertEqual(recorder.returncode, 3, errors)
        self.assertEqual(len(re.findall(r"(?m)^tarn: rec: the recording cannot be written: File too large; it has "
                                        r"(?:no events|the first [\d.]+ s)$", errors)), 1, errors)
        self.assertNotIn("tarn report", errors)
        self.assertLess((self.folder / "rec").stat().st_size, limit)  # without the begin of a block
        self.assertEqual(self.tarn("report", "--quick", "rec").stderr, "")
        self.finish(program)

    def test_a_process_that_ends_meanwhile_is_said_to_have_ended(self):
        process = subprocess.Popen(["true"])  # its parent has not asked for its status yet
        self.addCleanup(process.wait)
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        self.assertEqual(self.refused(process.pid), f"tarn: process {process.pid} has ended; nothing was recorded\n")
        lines = set()
        for delay in range(CYCLES):
            program = subprocess.Popen([PATHS.attached, "2"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self.assertEqual(program.stdout.readline(), b"ready\n")
            recorder = subprocess.Popen([PATHS.tarn, "record", "--pid", str(program.pid), "-o", "rec"],
                                        cwd=self.folder, stderr=subprocess.PIPE, text=True)
            time.sleep(delay / 1000)
            program.kill()
            errors = recorder.communicate(timeout=HANG_S)[1]
            program.communicate()
            if recorder.returncode != 0:
                lines.add((recorder.returncode, errors.replace(str(program.pid), "PID")))
        self.assertLessEqual(lines, {(3, "tarn: process PID has ended; nothing was recorded\n"),
                                     (3, "tarn: process PID does not exist\n")})

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



if __name__ == "__main__":
    main("tarn", "attached", "arithmetic", "partly-replaced", "own", "plugin", "library")
