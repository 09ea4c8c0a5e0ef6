#!/usr/bin/env python3
"""`tarn record --pid` of processes of one family: each worker of a server that forks is recorded by itself."""

import collections
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from attaching import AttachTest, setUpModule  # noqa: F401  pylint: disable=unused-import
from paths import HANG_S, PATHS, main

MANNERS = ("fork", "fork bare")
BRED = 40


Worker = collections.namedtuple("Worker", "server pid")


class AttachForked(AttachTest):
    def ask(self, program, line):
        program.stdin.write(line + "\n")
        program.stdin.flush()
        return program.stdout.readline().strip()

    def server(self, *modes):
        return self.start(PATHS.prefork, *modes)

    def worker(self, server, line="fork"):
        return Worker(server, int(self.ask(server, line)))

    def tell(self, worker, line):
        self.say(worker.server, f"to {worker.pid} {line}")

    def finish(self, program):
        output, _ = program.communicate(timeout=HANG_S)
        self.assertEqual((output, program.returncode), ("", 3))

    def end_with(self, recorder, blocks, output="rec"):
        """Ends a recording, which has so many blocks of one place."""
        self.end(recorder)
        self.assertEqual(self.blocks_in("allocate_large", output), blocks)

    def record_blocks(self, worker, count):
        recorder = self.record(worker)
        self.tell(worker, f"blocks {count}")
        self.end_with(recorder, count)

    def test_workers_of_a_parent_that_was_recorded(self):
        for manner in MANNERS:
            with self.subTest(manner=manner):
                server = self.server()
                before = self.worker(server, manner)
                recorder = self.record(server)
                during = self.worker(server, manner)
                self.say(server, "blocks 5")
                self.end_with(recorder, 5)
                after = self.worker(server, manner)
                for count, worker in enumerate((before, during, after), 7):
                    self.record_blocks(worker, count)
                    self.record_blocks(worker, 2 * count)
                self.finish(server)

    def test_two_workers_at_the_same_time(self):
        for manner in MANNERS:
            with self.subTest(manner=manner):
                server = self.server()
                self.end(self.record(server, "--for", "10ms"), interrupt=False)
                workers = [self.worker(server, manner) for _ in range(2)]
                recorders = [self.record(worker, output=str(worker.pid)) for worker in workers]
                for count, worker in enumerate(workers, 10):
                    self.tell(worker, f"blocks {count}")
                for count, (worker, recorder) in enumerate(zip(workers, recorders), 10):
                    self.end_with(recorder, count, str(worker.pid))
                self.finish(server)

    def test_a_worker_while_its_parent_is_recorded(self):
        for manner in MANNERS:
            with self.subTest(manner=manner):
                server = self.server()
                recorder = self.record(server, output="parent")
                worker = self.worker(server, manner)
                self.say(server, "blocks 3")
                self.record_blocks(worker, 4)
                self.say(server, "blocks 3")
                self.record_blocks(worker, 5)
                self.end_with(recorder, 6, "parent")
                self.finish(server)

    def test_the_parent_ends_before_its_worker(self):
        server = self.server()
        recorder = self.record(server, output="parent")
        worker = self.worker(server)
        recorder_of_worker = self.record(worker)
        self.end_with(recorder, 0, "parent")
        self.tell(worker, "blocks 4")
        self.end_with(recorder_of_worker, 4)
        self.finish(server)

    def test_a_worker_of_a_worker(self):
        server = self.server()
        recorder = self.record(server, output="parent")
        worker = self.worker(server)
        recorder_of_worker = self.record(worker)
        grandchild = Worker(server, int(self.ask(server, f"to {worker.pid} fork")))
        self.end(self.record(grandchild, "--for", "10ms", output="grandchild"), interrupt=False)
        self.tell(worker, "blocks 4")
        self.end_with(recorder_of_worker, 4)
        self.end_with(recorder, 0, "parent")
        self.finish(server)

    def test_workers_with_threads(self):
        for manner in MANNERS:
            with self.subTest(manner=manner):
                server = self.server()
                recorder = self.record(server, output="parent")
                worker = self.worker(server, manner)
                self.say(server, "blocks 1")
                for _ in range(2):
                    self.tell(worker, "thread")
                recorder_of_worker = self.record(worker)
                self.tell(worker, "blocks 4")
                self.end(recorder_of_worker)
                self.assertGreater(self.blocks_in("allocate_large"), 4)
                self.end_with(recorder, 1, "parent")
                self.finish(server)

    def test_workers_that_are_forked_while_the_parent_is_attached_to(self):
        server = self.server("breeds", str(BRED))
        self.say(server, "begin")
        for _ in range(3):
            self.end(self.record(server, "--for", "10ms", output="parent"), interrupt=False)
        workers = [int(number) for number in self.ask(server, "bred").split()]
        self.assertEqual(len(workers), BRED)
        recorded = 0
        for worker in (Worker(server, number) for number in workers):
            command = [PATHS.tarn, "record", "-o", "rec", "--for", "10ms", "--pid", str(worker.pid)]
            result = subprocess.run(command, cwd=self.folder, stderr=subprocess.PIPE, text=True, check=False,
                                    timeout=HANG_S)
            self.tell(worker, "blocks 2")
            recorded += result.returncode == 0
            if result.returncode != 0:  # it was forked in the few microseconds for which the loader cannot be used
                self.assertRegex(result.stderr, r"^tarn: process \d+ was forked while another thread of its parent was "
                                                r"in the loader, [^\n]*\n$")
        self.assertGreater(recorded, BRED // 2)
        self.finish(server)

    def test_a_recorder_of_the_parent_that_was_killed(self):
        server = self.server()
        recorder = self.record(server, output="parent")
        worker = self.worker(server)
        recorder.kill()
        recorder.wait(timeout=HANG_S)
        self.record_blocks(worker, 4)
        self.finish(server)

    def test_a_worker_that_is_recorded_names_its_recorder(self):
        server = self.server()
        recorder = self.record(server, output="parent")
        worker = self.worker(server)
        recorder_of_worker = self.record(worker, output="worker")
        self.assertIn(f"process {server.pid} is recorded already, by the tarn record of process {recorder.pid}; end",
                      self.refused(server.pid))
        self.assertIn(f"by the tarn record of process {recorder_of_worker.pid}; end", self.refused(worker.pid))
        self.end(recorder_of_worker)
        self.record_blocks(worker, 2)
        self.end(recorder)
        self.finish(server)

    def test_a_command_for_a_worker_does_not_reach_the_recorder_of_its_parent(self):
        server = self.server()
        recorder = self.record(server)
        worker = self.worker(server)
        self.assertIn(f"process {worker.pid} is not recorded", self.refused(worker.pid, "stop"))
        self.say(server, "blocks 2")
        self.end_with(recorder, 2)
        self.finish(server)

    def test_nothing_is_left_that_grows(self):
        server = self.server()
        self.end(self.record(server, "--for", "10ms"), interrupt=False)
        worker = self.worker(server)
        for _ in range(3):
            self.record_blocks(worker, 2)
        maps = pathlib.Path(f"/proc/{worker.pid}/maps").read_text(encoding="utf-8")
        self.assertEqual(len(re.findall(r" 00000000 .*memfd:libtarn-record\.so", maps)), 1)
        self.assertEqual(len(re.findall(r" 00000000 .*/memfd:tarn-record ", maps)), 1)
        links = [entry.readlink().name for entry in pathlib.Path(f"/proc/{worker.pid}/fd").iterdir()]
        self.assertEqual(len([link for link in links if "tarn-record" in link]), 1, links)
        self.finish(server)

    def test_workers_of_a_program_that_tarn_record_started(self):
        recorder = self.start(PATHS.tarn, "record", "-o", "first", "--", PATHS.prefork)
        children = pathlib.Path(f"/proc/{recorder.pid}/task/{recorder.pid}/children")
        program = int(children.read_text(encoding="utf-8").split()[0])
        worker = int(self.ask(recorder, "fork"))
        self.assertIn(f"process {program} is recorded already, by the tarn record of process {recorder.pid}; end",
                      self.refused(program))
        self.assertIn(f"process {worker} comes from a program that tarn record started, and is not recorded: start",
                      self.refused(worker))
        self.finish(recorder)


if __name__ == "__main__":
    main("tarn", "prefork")
