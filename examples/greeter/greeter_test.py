#!/usr/bin/env python3
"""The tutorial's service does what its pages say: greeter_test.py GREETER [TARN]."""

import os
import pathlib
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
GREETER, TARN = None, None
PATIENCE = 60  # seconds: a guard against hangs alone


class Greeter(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tarn greeter "))
        self.addCleanup(shutil.rmtree, self.folder)
        self.greeting, self.journal = self.folder / "greeting.txt", self.folder / "greeter.journal"
        shutil.copy(HERE / "greeting.txt", self.greeting)
        self.manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(self.manager.close)
        self.manager.bind(str(self.folder / "notify"))
        self.manager.settimeout(PATIENCE)

    def start(self, *before):
        environment = {**os.environ, "NOTIFY_SOCKET": str(self.folder / "notify")}
        process = subprocess.Popen([*before, GREETER, self.greeting, self.journal, "0"], env=environment, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(self.end, process)
        self.port = int(process.stdout.readline().rsplit(" ", 1)[1])
        self.expect_notice("READY=1")
        return process

    def end(self, process):
        process.kill()
        process.communicate(timeout=PATIENCE)

    def expect_notice(self, notice):
        while notice not in self.manager.recv(256).decode().splitlines():
            pass

    def connect(self):
        """A connection, which is closed with the file that this returns."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as client:
            file = client.makefile("rw", encoding="utf-8", newline="\n")
        self.addCleanup(self.close, file)
        return file

    def close(self, client):
        try:
            client.close()
        except OSError:  # of a line that the service refused
            pass

    def ask(self, client, name):
        client.write(name + "\n")
        client.flush()
        return client.readline()

    def finish(self, process, expect=0):
        process.send_signal(signal.SIGTERM)
        output = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, expect, output)
        return output[1]

    def test_greets_and_counts_across_workers(self):
        process = self.start()
        first, two = self.connect(), self.connect()
        self.assertEqual(self.ask(first, "Ada"), "Good day, Ada: visit 1\n")
        self.assertEqual(self.ask(two, "Ada"), "Good day, Ada: visit 2\n")
        self.assertEqual(self.ask(first, "Grace"), "Good day, Grace: visit 1\n")
        first.close()
        two.close()
        self.assertEqual(self.finish(process), "")

    def test_reload(self):
        process = self.start()
        client = self.connect()
        self.assertEqual(self.ask(client, "Ada"), "Good day, Ada: visit 1\n")
        self.greeting.write_text("Welcome\n", encoding="utf-8")
        process.send_signal(signal.SIGHUP)
        self.expect_notice("RELOADING=1")
        self.expect_notice("READY=1")
        self.assertEqual(self.ask(client, "Ada"), "Welcome, Ada: visit 2\n")
        self.greeting.write_text("\n", encoding="utf-8")
        process.send_signal(signal.SIGHUP)
        self.expect_notice("RELOADING=1")
        self.expect_notice("READY=1")
        self.assertEqual(self.ask(client, "Ada"), "Welcome, Ada: visit 3\n")
        client.close()
        self.assertIn("the first line must be the greeting", self.finish(process))

    def test_line_that_is_too_long(self):
        process = self.start()
        try:
            output = self.ask(self.connect(), "x" * 600)
        except OSError:  # a reset: the service did not read the rest of the line
            output = ""
        self.assertEqual(output, "")
        client = self.connect()
        self.assertEqual(self.ask(client, "Ada"), "Good day, Ada: visit 1\n")
        client.close()
        self.finish(process)

    def test_shortage_of_descriptors(self):
        process = self.start()
        before = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)
        open_files = len(os.listdir(f"/proc/{process.pid}/fd"))
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (open_files, before[1]))
        client = self.connect()
        client.write("Ada\n")
        client.flush()
        self.assertIn(f"tarn: greeter: connections wait, because accept fails: Too many open files: this process may "
                      f"have {open_files}: ", process.stderr.readline())
        before_pauses = self.processor_ticks(process)
        time.sleep(0.5)
        self.assertLess(self.processor_ticks(process) - before_pauses, 5)  # of 10 ms; two loops take 50 and more
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, before)
        self.assertEqual(client.readline(), "Good day, Ada: visit 1\n")
        client.close()
        self.finish(process)

    @staticmethod
    def processor_ticks(process):
        fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
        return int(fields[11]) + int(fields[12])

    def test_start_that_fails(self):
        self.greeting.unlink()
        result = subprocess.run([GREETER, self.greeting, self.journal, "0"], capture_output=True, text=True,
                                check=False, timeout=PATIENCE)
        self.assertEqual(result.returncode, 1)
        self.assertIn("greeting.txt: cannot be opened to read: No such file or directory", result.stderr)
        for command in [[], ["a", "b", "many"], ["a", "b", "70000"], ["a", "b", ""]]:
            result = subprocess.run([GREETER, *command], capture_output=True, text=True, check=False, timeout=PATIENCE)
            self.assertEqual((result.returncode, result.stderr), (2, f"Usage: {GREETER} GREETING JOURNAL PORT\n"))

    def test_journal_survives_a_kill(self):
        process = self.start()
        client = self.connect()
        for _ in range(3):
            self.ask(client, "Ada")
        process.kill()
        process.communicate(timeout=PATIENCE)
        # The last reply may have been sent and not yet be in the journal.
        if TARN is None:
            self.assertIn(b"Good day, Ada: visit 2", self.journal.read_bytes())
            return
        output = subprocess.run([TARN, "journal", "cat", self.journal], capture_output=True, text=True, check=True,
                              timeout=PATIENCE).stdout
        self.assertEqual(output.splitlines()[:2], ["Good day, Ada: visit 1", "Good day, Ada: visit 2"])

    def test_unit_file(self):
        if shutil.which("systemd-analyze") is None:
            self.skipTest("needs systemd-analyze")
        unit = self.folder / "greeter.service"
        text = (HERE / "greeter.service").read_text(encoding="utf-8")
        unit.write_text(text.replace("/opt/greeter/bin/greeter", "/bin/true"), encoding="utf-8")
        result = subprocess.run(["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", unit],
                                capture_output=True, text=True, check=False,
                                timeout=PATIENCE)
        self.assertNotIn("greeter.service", result.stderr)


if __name__ == "__main__":
    GREETER = sys.argv.pop(1)
    if len(sys.argv) > 1 and not sys.argv[1].startswith("-"):
        TARN = sys.argv.pop(1)
    unittest.main()
