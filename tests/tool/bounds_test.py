#!/usr/bin/env python3
"""`tarn record --for`, --every and --keep: recordings that are bounded in time and in files."""

import errno
import json
import os
import pathlib
import re
import shutil
import subprocess
import time

import prices
from paths import HANG_S, PATHS, FolderTest, main, polls


def setUpModule():
    prices.use_simple()


class Bounds(FolderTest):
    def start(self, *options):
        running = subprocess.Popen([PATHS.tarn, "record", "--heap", "--full", *options, "-o", "rec", "--",
                                    PATHS.attached, "0"], cwd=self.folder, stdin=subprocess.PIPE,
                                    stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(running.kill)
        self.assertEqual(running.stdout.readline(), "ready\n")
        return running

    def allocate(self, running, blocks):
        self.say(running, f"blocks {blocks}")

    def say(self, running, line):
        running.stdin.write(line + "\n")
        running.stdin.flush()
        self.assertEqual(running.stdout.readline(), "done\n")

    def finish(self, running):
        output, errors = running.communicate(timeout=HANG_S)
        self.assertEqual((output, running.returncode), ("0 wrong\n", 3), errors)
        return errors

    def report(self, name):
        return json.loads(self.tarn("report", "--json", "--stacks", "--quick", "--top", "100000", name).stdout)

    def numbers(self):
        return sorted(int(path.name.rpartition(".")[2]) for path in self.folder.iterdir())

    def large_blocks(self, name):
        return sum(site["allocations"] for site in self.report(name)["sites"]
                   if any("allocate_large" in frame["function"] for frame in site["stack"]))

    def test_a_recording_ends_after_its_time_and_the_program_goes_on(self):
        running = self.start("--for", "1s")
        self.assertIn("recording took ", running.stderr.readline())
        output = running.stderr.readline()
        if "busy machine" in output:
            output = running.stderr.readline()
        self.assertIn("tarn report rec", output)
        size = (self.folder / "rec").stat().st_size
        self.allocate(running, 500)
        self.assertEqual(self.finish(running), "")
        self.assertEqual((self.folder / "rec").stat().st_size, size)
        self.assertEqual(self.large_blocks("rec"), 0)
        self.assertTrue(self.report("rec")["end"]["running"])

    def test_each_file_that_is_deleted_meanwhile_is_saved_beside_it(self):
        running = self.start("--every", "1s")
        self.allocate(running, 40)
        (self.folder / "rec.1").unlink()
        for _ in polls():
            if (self.folder / "rec.2").exists():
                break
        (self.folder / "rec.2").unlink()
        errors = self.finish(running)
        for name in "rec.1", "rec.2":
            line = f"tarn: {name} was deleted, moved or replaced while it was written; the recording is in {name}.saved"
            self.assertEqual(errors.count(line), 1, errors)
        self.assertEqual(self.large_blocks("rec.1.saved"), 40)
        self.report("rec.2.saved")

    def test_a_launcher_is_followed_until_the_time_is_over(self):
        for command in ["sh", "-c", f"'{PATHS.attached}' 0; true"], ["timeout", "600", PATHS.attached, "0"]:
            with self.subTest(command=command):
                running = subprocess.Popen([PATHS.tarn, "record", "--heap", "--full", "--for", "2s", "-o", "rec", "--",
                                            *command], cwd=self.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                           stderr=subprocess.PIPE, text=True)
                self.addCleanup(running.kill)
                self.assertEqual(running.stdout.readline(), "ready\n")
                self.allocate(running, 40)
                self.assertIn(f"tarn: kept the recording of {PATHS.attached} 0\n",
                              self.lines_to(running, "tarn report rec"))
                self.allocate(running, 500)
                running.communicate(timeout=HANG_S)
                self.assertEqual([path.name for path in self.folder.iterdir()], ["rec"])
                self.assertEqual(self.large_blocks("rec"), 40)
                self.assertTrue(self.report("rec")["end"]["running"])

    def lines_to(self, running, word):
        """The lines that `tarn record` says, up to the first one with this word."""
        lines = []
        while not lines or (word not in lines[-1] and lines[-1]):
            lines.append(running.stderr.readline())
        return lines

    def test_files_of_a_launcher_are_refused(self):
        for command in ["sh", "-c", "true"], ["timeout", "5", "true"]:
            result = self.tarn("record", "--every", "1s", "-o", "rec", "--", *command, code=2)
            self.assertRegex(result.stderr, rf"^tarn: --every [^\n]* {command[0]} starts its program [^\n]*\n$")
        self.tarn("record", "--every", "1s", "-o", "rec", "--", "env", "true")
        self.assertEqual(self.numbers(), [1])

    def test_no_call_is_dispatched_once_the_recording_is_over(self):
        if shutil.which("strace") is None:
            self.skipTest("needs strace")
        running = subprocess.Popen(["strace", "-f", "-qq", "-e", "trace=write", "-e", "signal=SIGSYS", "-o", "trace",
                                    PATHS.tarn, "record", "--for", "1s", "-o", "rec", "--", PATHS.attached, "0"],
                                   cwd=self.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(running.kill)
        self.assertEqual(running.stdout.readline(), "ready\n")
        # On a busy machine the recording may be over before the program begins.
        self.assertTrue(any("tarn report rec" in line or "nothing was recorded" in line for line in running.stderr))
        self.allocate(running, 300)  # so many hooks that each thread has decided anew
        for _ in range(20):
            self.allocate(running, 1)
        self.finish(running)
        self.assertNotIn("SIGSYS", (self.folder / "trace").read_text(encoding="utf-8").split('"done', 1)[1])

    def command(self, process, *arguments, code=0):
        result = self.tarn("record", "--pid", str(process), *arguments, code=code)
        self.assertEqual(result.stdout, "")
        self.assertRegex(result.stderr, r"^tarn: [^\n]*\n$" if code else "^$")
        return result.stderr

    def test_a_recording_stops_and_starts_and_has_what_happened_while_it_ran(self):
        running = self.start()
        self.allocate(running, 100)
        refusal = self.command(running.pid, "start", code=2)
        self.assertIn(f"the recording of process {running.pid} runs already", refusal)
        self.command(running.pid, "stop")
        self.assertEqual(running.stderr.readline(), "tarn: recording stopped; rec has what was before\n")
        self.assertTrue(self.report("rec")["end"]["running"])
        self.assertIn("is stopped already", self.command(running.pid, "stop", code=2))
        self.allocate(running, 70)
        self.command(running.pid, "start")
        self.assertEqual(running.stderr.readline(), "tarn: recording started again, in rec.2\n")
        self.allocate(running, 30)
        self.command(running.pid, "stop")
        self.allocate(running, 50)
        self.finish(running)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["rec", "rec.2"])
        self.assertEqual([self.large_blocks(name) for name in ("rec", "rec.2")], [100, 30])

    def held_blocks(self, name, moment):
        """The blocks of 64 KiB that the program held in a file at the peak, or at the end."""
        sites = self.report(name)["memory"]["sites"]
        return sum(site[f"{moment}_bytes"] for site in sites
                   if any("hold_large" in frame["function"] for frame in site["stack"])) / 65536

    def test_the_peak_of_each_file_is_what_it_added(self):
        running = self.start()
        self.say(running, "hold 40")
        self.say(running, "drop")
        self.say(running, "hold 5")
        for command in ("stop", "start"):
            self.command(running.pid, command)
        self.say(running, "hold 12")
        self.say(running, "drop")
        for command in ("stop", "start"):
            self.command(running.pid, command)
        self.say(running, "hold 3")
        self.finish(running)
        names = ("rec", "rec.2", "rec.3")
        self.assertEqual([(self.held_blocks(name, "peak"), self.held_blocks(name, "end")) for name in names],
                         [(40, 5), (12, 0), (3, 3)])
        report = self.report("rec.2")
        self.assertGreaterEqual(report["memory"]["peak_bytes"], 12 * 65536)
        self.assertLess(report["memory"]["peak_bytes"], 13 * 65536)
        self.assertGreater(report["memory"]["peak_ns"], 0)
        self.assertLessEqual(report["memory"]["peak_ns"], report["timeline"]["to_ns"][-1])

    def await_next_file(self):
        before = max(self.numbers())
        for _ in polls():
            if max(self.numbers()) > before:
                return

    def test_the_peak_of_a_later_file_is_found_where_an_earlier_one_was_higher(self):
        running = self.start("--every", "300ms")
        self.say(running, "hold 40")
        self.say(running, "drop")
        self.await_next_file()
        self.say(running, "hold 10")
        self.await_next_file()
        self.say(running, "drop")
        self.finish(running)
        # A block that is counted while a file ends may be at the peak of neither.
        peaks = [self.held_blocks(path.name, "peak") for path in self.folder.iterdir()]
        self.assertAlmostEqual(sum(peaks), 50, delta=2)

    def test_the_program_itself_can_be_named_and_its_end_ends_the_last_file(self):
        running = self.start("--every", "1h")
        process = next(iter(pathlib.Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()))
        self.command(process, "stop")
        self.allocate(running, 10)
        self.command(process, "start")
        self.allocate(running, 20)
        self.finish(running)
        self.assertEqual(self.numbers(), [1, 2])
        self.assertEqual([self.large_blocks(name) for name in ("rec.1", "rec.2")], [0, 20])
        self.assertFalse(self.report("rec.2")["end"]["running"])

    def test_a_recording_that_has_no_next_file_stays_stopped(self):
        running = self.start()
        self.command(running.pid, "stop")
        (self.folder / "rec.2").mkdir()
        self.assertIn("has not started: its tarn record says why", self.command(running.pid, "start", code=3))
        self.command(running.pid, "start")
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["rec", "rec.2", "rec.3"])
        self.finish(running)

    def test_commands_to_what_cannot_be_stopped_are_refused_in_one_line(self):
        self.assertIn("is not recorded", self.command(os.getpid(), "stop", code=3))
        self.assertIn("stop uses the options of the running recording: leave out --heap",
                      self.command(os.getpid(), "--heap", "stop", code=2))
        running = self.start("--follow")
        self.assertIn("recorded with its children", self.command(running.pid, "stop", code=2))
        self.finish(running)
        running = self.start("--for", "100ms")
        running.stderr.readline()  # the recording is over, also where it has ended before the program began
        self.assertIn("is no longer recorded", self.command(running.pid, "stop", code=3))
        self.finish(running)

    def test_each_file_has_its_part_and_no_block_counts_twice(self):
        running = self.start("--every", "100ms")
        blocks = 0
        for _ in polls():
            self.allocate(running, 50)
            blocks += 50
            if (self.folder / "rec.4").exists():
                break
        self.finish(running)
        names = sorted(path.name for path in self.folder.iterdir())
        self.assertGreaterEqual(len(names), 4)
        self.assertEqual(sum(self.large_blocks(name) for name in names), blocks)
        self.assertEqual([self.report(name)["end"]["running"] for name in ("rec.1", "rec.2")], [True, True])

    def test_the_last_files_are_kept(self):
        running = self.start("--every", "50ms", "--keep", "2")
        for _ in polls():
            if max(self.numbers(), default=0) >= 6:
                break
        self.finish(running)
        numbers = self.numbers()
        self.assertEqual(len(numbers), 2)
        self.assertEqual(numbers[1], numbers[0] + 1)
        last = self.report(f"rec.{numbers[1]}")["end"]
        self.assertEqual((last["running"], last["status"]), (False, 3))

    def test_nothing_is_lost_between_two_files(self):
        running = self.start("--every", "20ms")
        blocks = 0
        for _ in polls(0):
            self.allocate(running, 5000)  # which takes most of the time, so files end meanwhile
            blocks += 5000
            if (self.folder / "rec.8").exists():
                break
        self.finish(running)
        self.assertEqual(sum(self.large_blocks(path.name) for path in self.folder.iterdir()), blocks)

    def start_on_small_disk(self, kib, *options):
        """Records files on a file system of this size, and returns the recording and the path of that from here."""
        (self.folder / "full").mkdir()
        own_mounts = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
                      f'mount -t tmpfs -o size={kib}k none full && exec "$@"', "sh"]
        if subprocess.run([*own_mounts, "true"], check=False, capture_output=True, cwd=self.folder,
                          timeout=HANG_S).returncode:
            self.skipTest("no mount namespace here")
        running = subprocess.Popen([*own_mounts, PATHS.tarn, "record", "--heap", "--full", *options, "-o", "full/rec",
                                    "--", PATHS.attached, "0"], cwd=self.folder, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(running.kill)
        self.assertEqual(running.stdout.readline(), "ready\n")
        return running, pathlib.Path(f"/proc/{running.pid}/root{self.folder}/full")

    def fill(self, disk):
        with open(disk / "ballast", "wb", buffering=0) as ballast:
            try:
                while True:
                    ballast.write(bytes(4096))
            except OSError as error:
                self.assertEqual(error.errno, errno.ENOSPC)

    def take_files(self, running, disk):
        """Ends the program, takes the files of its disk here, and returns what was said in the end."""
        keeper = os.open(disk, os.O_RDONLY | os.O_DIRECTORY)
        self.addCleanup(os.close, keeper)
        errors = self.finish(running)
        for name in os.listdir(keeper):
            (self.folder / name).write_bytes(pathlib.Path(f"/proc/self/fd/{keeper}/{name}").read_bytes())
        (self.folder / "full").rmdir()
        return errors

    def test_files_go_on_when_a_full_disk_has_room_again(self):
        running, disk = self.start_on_small_disk(256, "--every", "200ms")
        for _ in polls():
            if (disk / "rec.2").exists():
                break
        self.fill(disk)
        line = self.lines_to(running, "No space left")[-1]
        self.assertRegex(line, r"^tarn: full/rec\.\d+: (the recording cannot be written: )?No space left on device; "
                               r"trying again\n$")
        begun = time.monotonic()
        while time.monotonic() < begun + 1:
            self.allocate(running, 10)
        (disk / "ballast").unlink()
        line = self.lines_to(running, "again")[-1]
        pattern = (r"^tarn: full/rec\.(\d+) is written again; full/rec\.(\d+) (?:to full/rec\.(\d+) were|was) "
                   r"not saved, from \d{4}-\d\d-\d\d \d\d:\d\d:\d\d to \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\n$")
        self.assertRegex(line, pattern)
        resumed, first, last = re.match(pattern, line).groups()
        missing = set(range(int(first), int(last or first) + 1))
        self.assertEqual(max(missing) + 1, int(resumed))
        self.allocate(running, 30)
        errors = self.take_files(running, disk)
        self.assertNotIn("No space left", errors)
        self.assertEqual(set(self.numbers()), set(range(1, max(self.numbers()) + 1)) - missing)
        for number in self.numbers():
            report = self.report(f"rec.{number}")
            self.assertEqual((report["damage"], report["end"] is None), ("", False), number)

    def test_a_file_that_a_full_disk_has_cut_is_whole_once_there_is_room(self):
        running, disk = self.start_on_small_disk(256, "--every", "1h")
        self.allocate(running, 40)
        self.fill(disk)
        self.allocate(running, 50)
        line = self.lines_to(running, "No space left")[-1]
        self.assertRegex(line, r"^tarn: full/rec\.1: the recording cannot be written: [^\n]*; trying again\n$")
        self.allocate(running, 60)
        (disk / "ballast").unlink()
        self.assertEqual(self.lines_to(running, "again")[-1],
                         "tarn: full/rec.1 is written again; nothing is missing\n")
        self.allocate(running, 70)
        self.take_files(running, disk)
        self.assertEqual(self.numbers(), [1])
        self.assertEqual((self.large_blocks("rec.1"), self.report("rec.1")["damage"]), (220, ""))

    def test_a_disk_that_stays_full_has_whole_files_and_a_line_names_the_missing_ones(self):
        running, disk = self.start_on_small_disk(256, "--every", "200ms", "--keep", "3")
        for _ in polls():
            if (disk / "rec.2").exists():
                break
        self.fill(disk)
        self.lines_to(running, "No space left")
        begun = time.monotonic()
        while time.monotonic() < begun + 1:
            self.allocate(running, 10)
        errors = self.take_files(running, disk)
        self.assertNotIn("No space left", errors)
        (self.folder / "ballast").unlink()
        self.assertRegex(errors, r"^tarn: full/rec\.\d+ (to full/rec\.\d+ were|was) not saved, from [^\n]* UTC\n")
        self.assertIn(len(self.numbers()), (1, 2))
        for number in self.numbers():
            self.assertEqual(self.report(f"rec.{number}")["damage"], "")

    def test_two_recordings_do_not_share_a_file(self):
        running = self.start()
        result = subprocess.run([PATHS.tarn, "record", "-o", "rec", "--", "true"], capture_output=True, text=True,
                                check=False, cwd=self.folder, timeout=HANG_S, env={**os.environ, "LC_ALL": "C"})
        self.assertEqual(result.stderr, "tarn: rec: another tarn record writes to this file: Device or resource busy\n")
        self.assertNotEqual(result.returncode, 0)
        self.allocate(running, 50)
        self.finish(running)
        self.assertEqual((self.large_blocks("rec"), self.report("rec")["damage"]), (50, ""))

    def test_what_cannot_be_is_reported(self):
        for options, command in ((("--for", "10%"), "a percentage needs"), (("--for", "soon"), "invalid time"),
                                 (("--for", "0s"), "shorter than 10 ms"), (("--keep", "3"), "requires --every"),
                                 (("--every", "1s", "--follow"), "exclude each other"),
                                 (("--for", "1s", "--follow"), "exclude each other")):
            result = subprocess.run([PATHS.tarn, "record", *options, "--", "true"], capture_output=True, text=True,
                                    check=False, cwd=self.folder, timeout=HANG_S, env={**os.environ, "LC_ALL": "C"})
            self.assertEqual((result.returncode, result.stdout), (2, ""), result.stderr)
            self.assertIn(command, result.stderr)


if __name__ == "__main__":
    main("tarn", "attached")
