#!/usr/bin/env python3
"""`tarn record --pid` of a process that hangs already: who waits for whom, and what cannot be told."""

import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from attaching import AttachTest, setUpModule  # noqa: F401  pylint: disable=unused-import
from paths import PATHS, main, polls

FUTEX = "202"


class LastingWaits(AttachTest):
    def await_waiting(self, program, count):
        """Returns once as many threads of the program wait for a word in memory."""
        tasks = pathlib.Path(f"/proc/{program.pid}/task")
        for _ in polls():
            calls = [(task / "syscall").read_text(encoding="utf-8").split()[0] for task in tasks.iterdir()]
            if calls.count(FUTEX) == count:
                return
        self.fail(calls)

    def hang(self, mode, waiting):
        program = self.start(PATHS.hung, *mode.split())
        self.await_waiting(program, waiting)
        return program

    def record_a_snapshot(self, program):
        """Starts to record the program, and returns once it has been looked at."""
        recorder = self.record(program)
        recording = self.folder / "rec"
        size = recording.stat().st_size
        for _ in polls():
            if recording.stat().st_size != size:
                return recorder
        self.fail("no snapshot was written")

    def recorded(self, mode, waiting, *options):
        """The findings of a recording of the program in this mode, and the text of the report."""
        program = self.hang(mode, waiting)
        self.end(self.record(program, "--for", "300ms", *options), interrupt=False)
        text = self.tarn("report", "--quick", "rec").stdout
        document = json.loads(self.tarn("report", "--json", "--quick", "rec").stdout)
        program.kill()
        return document["lasting_waits"], text

    @staticmethod
    def functions(entry):
        return [frame["function"] for frame in entry["stack"]]

    def test_two_threads_that_wait_for_each_other(self):
        for mode in ("deadlock", "robust"):
            with self.subTest(mode=mode):
                findings, text = self.recorded(mode, 2)
                self.assertEqual([group["awaited"] for group in findings["groups"]], ["mutex", "mutex"])
                self.assertEqual((findings["in_deadlock"], findings["for_mutexes"]), (2, 2))
                first, second = findings["groups"]
                self.assertEqual((first["threads"], second["threads"]), ([second["holder"]], [first["holder"]]))
                self.assertNotEqual(first["address"], second["address"])
                self.assertTrue(first["is_deadlock"] and second["is_deadlock"])
                self.assertTrue(any("take_inner" in name for name in self.functions(first)), first)
                self.assertIn("A deadlock: 2 threads waited for each other from before the recording until its end.",
                              " ".join(text.split()))
                self.assertIn("until its end, 2 of them for each other: a deadlock.", " ".join(text.split()))
                self.assertNotIn("tarn record --cpu", text)
                self.assertRegex(" ".join(text.split()),
                                 rf"1\. a deadlock: thread {first['threads'][0]} waited for the mutex at "
                                 rf"0x{first['address']:x}, which thread {first['holder']} had and which waited for it "
                                 "in turn ")

    def test_two_writers_of_reader_writer_locks_that_wait_for_each_other(self):
        findings, text = self.recorded("writers", 2)
        self.assertEqual([group["awaited"] for group in findings["groups"]], ["reader_writer"] * 2)
        self.assertEqual((findings["in_deadlock"], findings["without_holder"]), (2, 0))
        first, second = findings["groups"]
        self.assertEqual((first["threads"], second["threads"]), ([second["holder"]], [first["holder"]]))
        self.assertEqual([group["address"] % 64 for group in findings["groups"]], [0, 0], "they begin there")
        line = " ".join(text.split())
        self.assertRegex(line, "2 threads waited for a reader-writer lock .*, 2 of them for each other: a deadlock")
        self.assertRegex(line, r"a deadlock: thread \d+ waited for the reader-writer lock at 0x[0-9a-f]+, which thread")

    def test_a_writer_that_waits_for_readers(self):
        findings, text = self.recorded("reader", 1)
        (group,) = findings["groups"]
        self.assertEqual((group["awaited"], group["holder"], group["is_deadlock"]), ("reader_writer", None, False))
        self.assertTrue(any("write_what_is_read" in name for name in self.functions(group)), group)
        self.assertRegex(" ".join(text.split()), "1 thread waited for a reader-writer lock from .*waited for the "
                         "reader-writer lock at 0x[0-9a-f]+, which threads had that read; which ones is not known")

    def test_one_that_waits_for_the_end_of_another_one_in_a_deadlock(self):
        findings, text = self.recorded("joined", 3)
        self.assertEqual(findings["in_deadlock"], 2)
        joins = findings["groups"][-1]
        self.assertEqual((joins["awaited"], joins["is_deadlock"]), ("thread_end", False))
        self.assertIn(joins["holder"], [group["holder"] for group in findings["groups"][:2]])
        self.assertRegex(text, rf"waited for the end of thread {joins['holder']}; that one waited, too")

    def test_a_thread_that_waits_for_itself(self):
        findings, text = self.recorded("itself", 1)
        group = findings["groups"][0]
        self.assertEqual((findings["in_deadlock"], group["threads"]), (1, [group["holder"]]))
        self.assertIn("which it had already", text)

    def test_a_holder_that_sleeps(self):
        for options in ((), ("--locks", "--cpu")):
            with self.subTest(options=options):
                findings, text = self.recorded("holder", 3, *options)
                self.assertEqual((findings["in_deadlock"], findings["for_mutexes"]), (0, 3))
                self.assertEqual(len(findings["groups"]), 1)
                group = findings["groups"][0]
                self.assertEqual(len(group["threads"]), 3)
                self.assertNotIn(group["holder"], [None, *group["threads"]])
                self.assertTrue(any("sleep_with_mutex" in name for name in self.functions(group["holder_at"])), group)
                self.assertIn("3 threads waited for a mutex from before the recording until its end.", text)
                self.assertNotIn("deadlock", text)

    def test_what_has_no_holder_is_no_deadlock(self):
        findings, text = self.recorded("conditions", 4)
        self.assertEqual(findings, {"groups": [], "in_deadlock": 0, "for_mutexes": 0, "without_holder": 4,
                                    "interrupted": 0})
        self.assertNotIn("deadlock", text)
        self.assertIn("threads that have waited since before are shown by tarn record --cpu --pid.",
                      " ".join(text.split()))

    def test_one_that_is_killed_while_it_is_recorded_again(self):
        program = self.hang("deadlock", 2)
        self.end(self.record(program, "--for", "100ms"), interrupt=False)
        recorder = self.record_a_snapshot(program)
        program.kill()
        self.assertIn("has ended", self.end(recorder, interrupt=False))
        document = json.loads(self.tarn("report", "--json", "--quick", "rec").stdout)
        self.assertEqual(document["lasting_waits"]["in_deadlock"], 2)

    def test_threads_that_hang_while_they_are_recorded_and_are_recorded_again(self):
        program = self.start(PATHS.hung, "later")
        recorder = self.record(program)
        program.stdin.write("\n")
        program.stdin.flush()
        self.await_waiting(program, 2)
        self.end(recorder)
        self.end(self.record(program, "--for", "300ms"), interrupt=False)
        groups = json.loads(self.tarn("report", "--json", "--quick", "rec").stdout)["lasting_waits"]["groups"]
        self.assertEqual(len(groups), 2)
        for group in groups:
            self.assertTrue(any("take_inner" in name for name in self.functions(group)), group)
            self.assertFalse([frame for frame in group["stack"] if "libtarn-record" in frame["module"]])

    def test_a_holder_that_waits_for_a_condition(self):
        findings, text = self.recorded("condition_held", 2)
        (group,) = findings["groups"]
        self.assertEqual((group["names"], group["holder_name"], group["holder_is"]), (["waiter"], "holder", "thread"))
        self.assertTrue(any("hold_and_wait_for_condition" in name for name in self.functions(group["holder_at"])))
        self.assertRegex(" ".join(text.split()), rf"waiter \({group['threads'][0]}\) waited for the mutex")
        self.assertIn(f"meanwhile holder ({group['holder']}) was in pthread_cond_wait", text)

    def test_a_word_of_the_program_is_no_mutex(self):
        findings, text = self.recorded("word", 2)
        self.assertEqual((findings["in_deadlock"], findings["for_mutexes"], findings["without_holder"]), (0, 1, 1))
        self.assertTrue(any("wait_for_session" in name for name in self.functions(findings["groups"][0]["holder_at"])))
        self.assertNotIn("deadlock", text)

    def test_an_ended_holder_whose_number_is_used_again(self):
        if os.geteuid() != 0:
            self.skipTest("only root chooses the number of a new thread")
        findings, text = self.recorded("reused", 2)
        group = findings["groups"][0]
        self.assertEqual((findings["in_deadlock"], group["holder"], group["holder_is"]), (0, None, "ended"))
        self.assertNotIn("deadlock", text)

    def test_a_shared_mutex_names_no_thread(self):
        findings, text = self.recorded(f"shared {self.folder}/mutex", 1)
        (group,) = findings["groups"]
        self.assertEqual((findings["in_deadlock"], group["holder"], group["holder_is"]), (0, None, "shared"))
        self.assertEqual(group["holder_number"], group["threads"][0])
        self.assertNotIn("deadlock", text)

    def test_a_deadlock_that_is_closed_while_it_is_recorded(self):
        program = self.hang("half", 2)
        recorder = self.record_a_snapshot(program)
        program.stdin.write("\n")
        program.stdin.flush()
        self.await_functions(program)
        self.end(recorder)
        document = json.loads(self.tarn("report", "--json", "--quick", "rec").stdout)
        self.assertEqual(document["lasting_waits"]["in_deadlock"], 2)

    def await_functions(self, program):
        """Returns once two threads wait by FUTEX_WAIT, as for a mutex; one of them waited for a semaphore."""
        tasks = pathlib.Path(f"/proc/{program.pid}/task")
        for _ in polls():
            calls = [(task / "syscall").read_text(encoding="utf-8").split() for task in tasks.iterdir()]
            if sum(call[0] == FUTEX and int(call[2], 16) & 0x7f == 0 for call in calls) == 2:
                return
        self.fail(calls)

    def test_a_deadlock_of_which_a_signal_interrupts_a_thread(self):
        findings, text = self.recorded("interrupted", 2)
        self.assertEqual(findings["in_deadlock"], 2)
        self.assertIn("A deadlock: 2 threads waited for each other", text)

    def test_a_stream_in_a_deadlock(self):
        findings, text = self.recorded("streams", 2)
        self.assertEqual((findings["in_deadlock"], {group["awaited"] for group in findings["groups"]}),
                         (2, {"mutex", "stream"}))
        self.assertIn("waited for the lock of a FILE at", " ".join(text.split()))

    def test_waits_that_end_are_none(self):
        program = self.hang("released", 2)
        recorder = self.record_a_snapshot(program)
        program.stdin.write("\n")
        program.stdin.flush()
        self.await_waiting(program, 0)
        self.end(recorder)
        document = json.loads(self.tarn("report", "--json", "--quick", "rec").stdout)
        self.assertEqual(document["lasting_waits"],
                         {"groups": [], "in_deadlock": 0, "for_mutexes": 0, "without_holder": 0, "interrupted": 0})


if __name__ == "__main__":
    main("tarn", "hung")
