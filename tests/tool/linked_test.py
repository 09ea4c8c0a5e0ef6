#!/usr/bin/env python3
"""`tarn record --pid` sees all calls of a running program, however that is linked."""

import json
import os
import shutil
import signal
import socket
import subprocess

import prices
from paths import HANG_S, PATHS, FolderTest, main, polls

BLOCKS, LOCKS = 20_000, 2_000
FORMS = ("fixed", "table", "no_plt", "plain_hash", "movable_table")
# Allocate as many blocks as the line of the input says, each larger than those of the language's own allocator.
PYTHON = """
import sys
print("ready", flush=True)
for line in sys.stdin:
    for _ in range(int(line)):
        bytearray(600)
    print("done", flush=True)
"""
NODE = """
console.log("ready")
require("readline").createInterface({input: process.stdin}).on("line", line => {
  for (let left = Number(line); left > 0; --left) Buffer.allocUnsafeSlow(600)
  console.log("done")
})
"""


def setUpModule():
    prices.use_simple()


class Linked(FolderTest):
    def start(self, *arguments, **variables):
        running = subprocess.Popen(arguments, cwd=self.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                   env={**os.environ, **variables})
        self.addCleanup(running.communicate, timeout=HANG_S)
        self.addCleanup(running.kill)
        self.assertEqual(running.stdout.readline(), "ready\n")
        return running

    def say(self, program, line):
        program.stdin.write(line + "\n")
        program.stdin.flush()
        self.assertEqual(program.stdout.readline(), "done\n")

    def while_attached(self, process, work, *options):
        """Records the process while it works, and returns the report and the recorder's messages."""
        recorder = subprocess.Popen([PATHS.tarn, "record", "--pid", str(process), "-o", "rec", *options],
                                    cwd=self.folder, stderr=subprocess.PIPE, text=True)
        self.addCleanup(recorder.wait, timeout=HANG_S)
        self.addCleanup(recorder.stderr.close)
        self.addCleanup(recorder.kill)
        first = recorder.stderr.readline()
        self.assertIn(" stood still for ", first)
        work()
        recorder.send_signal(signal.SIGINT)
        errors = recorder.stderr.read()  # communicate() would lose the lines that came together with the first one
        self.assertEqual(recorder.wait(timeout=HANG_S), 0, errors)
        return self.report(), errors

    def report(self):
        return json.loads(self.tarn("report", "--json", "--quick", "rec").stdout)

    def from_start(self, command, lines, **variables):
        """Returns the counts of the heap of a program that `tarn record` starts."""
        result = subprocess.run([PATHS.tarn, "record", "--heap", "-o", "rec", "--", *command], cwd=self.folder,
                                input=lines, capture_output=True, text=True, check=False, timeout=HANG_S,
                                env={**os.environ, **variables})
        self.assertEqual(result.returncode, 0, result.stderr)
        return self.report()["heap"]

    def needs(self, program):
        path = shutil.which(program, path="/usr/bin")
        if path is None:
            self.skipTest(f"needs {program} of a package")
        return path

    def test_all_calls_of_malloc_and_free_are_seen(self):
        for form in FORMS:
            with self.subTest(form=form):
                program = self.start(getattr(PATHS, form))
                for _ in range(2):
                    report, errors = self.while_attached(program.pid, lambda: self.say(program, f"blocks {BLOCKS}"))
                    self.assertNotIn("not all calls", errors)
                    self.assertGreaterEqual(report["heap"]["allocations"], BLOCKS)
                    self.assertLess(report["heap"]["allocations"], BLOCKS + 100)
                    self.assertGreaterEqual(report["heap"]["frees"], BLOCKS)

    def test_all_calls_at_a_contended_mutex_are_seen(self):
        for form in FORMS:
            with self.subTest(form=form):
                program = self.start(getattr(PATHS, form))
                report, _ = self.while_attached(program.pid, lambda: self.say(program, f"locks {LOCKS}"), "--locks")
                acquisitions = sum(lock["acquisitions"] for lock in report["locks"])
                self.assertAlmostEqual(acquisitions, 2 * LOCKS, delta=LOCKS / 2)

    def test_calls_that_lead_elsewhere_are_named(self):
        program = self.start(PATHS.fixed)
        self.say(program, "redirect")
        report, errors = self.while_attached(program.pid, lambda: self.say(program, f"blocks {BLOCKS}"))
        self.assertLess(report["heap"]["allocations"], BLOCKS)
        self.assertRegex(errors, r"tarn: not all calls of malloc by process \d+ are recorded: [^\n]*\n")
        errors = self.while_attached(program.pid, lambda: None, "--locks")[1]
        self.assertNotIn("not all calls", errors)

    def compare(self, command, counts, **variables):
        """Compares the counts of a running program with the difference of two starts."""
        smaller_run, larger_run = (self.from_start(command, f"{blocks}\n", **variables) for blocks in (1, BLOCKS + 1))
        program = self.start(*command, **variables)
        heap = self.while_attached(program.pid, lambda: self.say(program, str(BLOCKS)), "--heap")[0]["heap"]
        for count in counts:
            expected = larger_run[count] - smaller_run[count]
            self.assertAlmostEqual(heap[count] / expected, 1, delta=0.2,
                                   msg=f"{count}: {heap}, {smaller_run}, {larger_run}")

    def test_python(self):
        self.compare([self.needs("python3.11"), "-c", PYTHON], ("allocations", "frees"), PYTHONMALLOC="malloc")

    def test_node(self):
        self.compare([self.needs("node"), "-e", NODE], ("allocations",))  # frees: as its garbage collector runs

    def test_redis(self):
        server = self.needs("redis-server")
        address = self.folder / "socket"
        command = [server, "--port", "0", "--unixsocket", str(address), "--save", ""]

        def ask(rounds):
            for _ in polls():
                if address.exists():
                    break
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(str(address))
                for number in range(rounds):
                    client.sendall(f"SET key{number % 100} {'x' * 200}\r\n".encode())
                    self.assertEqual(client.recv(100), b"+OK\r\n")

        counts = []
        for rounds in 1, 2_001:
            recorder = subprocess.Popen([PATHS.tarn, "record", "--heap", "-o", "rec", "--", *command], cwd=self.folder,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.addCleanup(recorder.wait, timeout=HANG_S)
            self.addCleanup(recorder.kill)
            ask(rounds)
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(str(address))
                client.sendall(b"SHUTDOWN NOSAVE\r\n")
            recorder.wait(timeout=HANG_S)
            address.unlink(missing_ok=True)
            counts.append(self.report()["heap"]["allocations"])
        running = subprocess.Popen(command, cwd=self.folder, stdout=subprocess.DEVNULL)
        self.addCleanup(running.wait, timeout=HANG_S)
        self.addCleanup(running.kill)
        ask(1)
        heap = self.while_attached(running.pid, lambda: ask(2_000), "--heap")[0]["heap"]
        self.assertAlmostEqual(heap["allocations"] / (counts[1] - counts[0]), 1, delta=0.2, msg=f"{heap}, {counts}")


if __name__ == "__main__":
    main("tarn", *FORMS)
