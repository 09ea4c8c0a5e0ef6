#!/usr/bin/env python3
"""SIGKILL of `tarn record --pid` at any moment: the program goes on undisturbed, and may be recorded again."""

import os
import pathlib
import re
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from attaching import AttachTest, setUpModule  # noqa: F401  pylint: disable=unused-import
from paths import HANG_S, PATHS, main, polls

CYCLES = 60
STEP_S = 0.00005
MODES = ("reads", "sleeps", "computes")


class AttachKilled(AttachTest):
    def kill_recorder_after(self, program, delay_s):
        """Kills a recorder so long after it has begun to trace the first thread of the program."""
        status = pathlib.Path(f"/proc/{program.pid}/status")
        with open(self.folder / "errors", "w+b") as errors:
            recorder = subprocess.Popen([PATHS.tarn, "record", "--pid", str(program.pid), "--sample", "1024", "-o",
                                         "rec"],
                                        cwd=self.folder, stderr=errors)
            for _ in polls(0):
                is_traced = "\nTracerPid:\t0\n" not in status.read_text(encoding="utf-8")
                if is_traced or recorder.poll() is not None or os.fstat(errors.fileno()).st_size > 0:
                    break
            time.sleep(delay_s)
            recorder.kill()
            recorder.wait(timeout=HANG_S)

    def finish_led(self, program):
        output, _ = program.communicate(timeout=HANG_S)
        self.assertEqual((output, program.returncode), ("0 wrong\n", 3))

    def test_the_program_goes_on_and_is_recorded_again(self):
        for cycle in range(CYCLES):
            mode = MODES[cycle % len(MODES)]
            with self.subTest(mode=mode, cycle=cycle):
                program = self.start(PATHS.led, mode)
                for _ in range(2):
                    self.kill_recorder_after(program, cycle * STEP_S)
                    self.assertIsNone(program.poll())
                self.end(self.record(program, "--for", "10ms"), interrupt=False)
                self.finish_led(program)

    def test_nothing_is_left_that_grows(self):
        program = self.start(PATHS.led, "reads")
        for cycle in range(CYCLES // 2):
            self.kill_recorder_after(program, cycle * STEP_S)
        self.end(self.record(program, "--for", "10ms"), interrupt=False)
        maps = pathlib.Path(f"/proc/{program.pid}/maps").read_text(encoding="utf-8")
        self.assertEqual(len(re.findall(r" 00000000 .*memfd:libtarn-record\.so", maps)), 1)
        self.assertEqual(len(re.findall(r" 00000000 .*/memfd:tarn-record ", maps)), 1)
        links = [entry.readlink().name for entry in pathlib.Path(f"/proc/{program.pid}/fd").iterdir()]
        self.assertEqual(len([link for link in links if "tarn-record" in link]), 1, links)
        self.finish_led(program)


if __name__ == "__main__":
    main("tarn", "led")
