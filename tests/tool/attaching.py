"""What the tests of `tarn record --pid` share."""

import json
import os
import signal
import subprocess

import prices
from paths import HANG_S, PATHS, FolderTest


def setUpModule():
    prices.use_simple()


class AttachTest(FolderTest):
    """A test with programs that run, and recorders that are attached to them."""

    def start(self, *arguments, **settings):
        running = subprocess.Popen(arguments, cwd=self.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                   **settings)
        self.addCleanup(running.communicate, timeout=HANG_S)
        self.addCleanup(running.kill)
        self.assertEqual(running.stdout.readline(), "ready\n")
        return running

    def program(self, threads=0, *modes, **variables):
        return self.start(PATHS.attached, str(threads), *modes, env={**os.environ, **variables})

    def needs_way(self, *way):
        if subprocess.run(way, check=False, stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest(f"{' '.join(way)} may not be used here")

    def say(self, program, line):
        program.stdin.write(line + "\n")
        program.stdin.flush()
        self.assertEqual(program.stdout.readline(), "done\n")

    def finish(self, program):
        """Ends the input of the program, which has no wrong answer."""
        output, _ = program.communicate(timeout=HANG_S)
        self.assertEqual((output, program.returncode), ("0 wrong\n", 3))

    def record(self, program, *options, sample=1024, output="rec"):
        """Starts to record the program and returns once it is recorded."""
        recorder = subprocess.Popen([PATHS.tarn, "record", "--pid", str(program.pid), "--sample", str(sample),
                                     "-o", output, *options], cwd=self.folder, stderr=subprocess.PIPE, text=True)
        self.addCleanup(recorder.communicate, timeout=HANG_S)
        self.addCleanup(recorder.kill)
        output = recorder.stderr.readline()
        self.assertRegex(output, r"recording process \d+, one thread of which stood still for \d+\.\d ms")
        return recorder

    def end(self, recorder, interrupt=True):
        if interrupt:
            recorder.send_signal(signal.SIGINT)
        _, errors = recorder.communicate(timeout=HANG_S)
        self.assertEqual(recorder.returncode, 0, errors)
        return errors

    def report(self, output="rec"):
        return json.loads(self.tarn("report", "--json", "--stacks", "--quick", "--top", "100000", output).stdout)

    def blocks_in(self, function, output="rec"):
        return sum(site["allocations"] for site in self.report(output)["sites"]
                   if any(function in frame["function"] for frame in site["stack"]))

    def refused(self, process, *options, code=3, output="rec"):
        target = () if "stop" in options else ("-o", output)
        result = self.tarn("record", *target, "--pid", str(process), *options, code=code)
        self.assertEqual(result.stdout, "")
        self.assertRegex(result.stderr, r"^tarn: [^\n]*\n$")
        return result.stderr
