import os
import resource
import signal
import sys
import tempfile
import time
import unittest
from pathlib import Path

import folder  # noqa: F401
import allocators
from runner.process import Failed, Interrupted, Supervisor

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
LONG_S = 400


def has_ended(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    with open(f"/proc/{pid}/stat") as stat:  # a zombie of another parent counts as gone
        return stat.read().rsplit(")", 1)[1].split()[0] == "Z"


class ProcessTest(unittest.TestCase):
    def setUp(self):
        began = time.monotonic()  # nothing here waits for a long sleep to end by itself
        self.addCleanup(lambda: self.assertLess(time.monotonic() - began, LONG_S / 2))
        handlers = [(number, signal.getsignal(number)) for number in SIGNALS]
        self.addCleanup(lambda: [signal.signal(number, handler) for number, handler in handlers])
        folder_ = tempfile.TemporaryDirectory()
        self.addCleanup(folder_.cleanup)
        self.folder = folder_.name

    def run_one(self, script, timeout_s=LONG_S, **settings):
        with Supervisor(self.folder) as supervisor:
            return supervisor.run("child", ["/bin/sh", "-c", script], dict(os.environ), timeout_s, **settings)

    def assert_fails(self, subject, *arguments, **settings):
        with self.assertRaises(Failed) as caught:
            self.run_one(*arguments, **settings)
        self.assertIn(subject, str(caught.exception))

    def test_output_and_measures(self):
        outcome = self.run_one("echo out; echo err >&2; while [ $((i += 1)) -lt 20000 ]; do :; done")
        self.assertEqual(outcome.output, "out\nerr\n")
        self.assertGreater(outcome.wall_s, 0)
        self.assertGreater(outcome.cpu_s, 0)
        self.assertEqual(os.listdir(self.folder), [])

    def test_the_peak_has_the_memory_of_the_program(self):
        bulk = 2 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        self.assertGreater(self.run_one(f"{sys.executable} -S -c 'bytearray({bulk} * 1024)'").peak_kib(), bulk)

    def test_a_peak_below_our_own_is_not_given_out(self):
        with self.assertRaises(Failed):
            self.run_one("true").peak_kib()

    def test_output_is_read_line_by_line(self):
        self.assertEqual(self.run_one("printf 'a\\nb\\n'", read=list).output, ["a\n", "b\n"])

    def test_exit_status_and_last_words(self):
        self.assert_fails("child: exit status 3", "echo last words >&2; exit 3")
        self.assert_fails("| last words", "echo last words >&2; exit 3")

    def test_death_by_signal(self):
        self.assert_fails("killed by SIGSEGV", "kill -SEGV $$")

    def test_a_process_past_its_time_limit_fails(self):
        self.assert_fails("did not end in time", f"sleep {LONG_S}", timeout_s=0.2)

    def test_a_library_that_is_never_loaded(self):
        shell = os.path.realpath("/bin/sh")
        self.assert_fails("was not seen in /proc/PID/maps", "sleep 0.1", expected=(shell, "/opt/libnew.so"))

    def test_a_library_is_seen_in_a_program_that_the_child_starts(self):
        sleep, libc = os.path.realpath("/bin/sleep"), allocators.find_allocators(None, self.folder)[0][0].file
        self.run_one("/bin/sleep 3; true", expected=(sleep, libc))

    def test_a_listener_is_awaited(self):
        path = os.path.join(self.folder, "socket")
        script = (f"import socket, time; s = socket.socket(socket.AF_UNIX); s.bind({path!r}); "
                  f"s.listen(); time.sleep({LONG_S})")
        with Supervisor(self.folder) as supervisor:
            child = supervisor.start("child", [sys.executable, "-S", "-c", script], dict(os.environ))
            child.await_listener(path, LONG_S)
            self.assertTrue(child.alive())

    def test_a_child_that_ends_does_not_listen(self):
        with Supervisor(self.folder) as supervisor:
            child = supervisor.start("child", ["/bin/sh", "-c", "echo last words"], dict(os.environ))
            with self.assertRaisesRegex(Failed, "(?s)child: does not listen.*last words"):
                child.await_listener(os.path.join(self.folder, "socket"), LONG_S)

    def test_leaving_ends_children_and_grandchildren(self):
        with Supervisor(self.folder) as supervisor:
            child = supervisor.start("child", ["/bin/sh", "-c", f"sleep {LONG_S} & echo $! > pid; wait"],
                                     dict(os.environ))
            note = Path(self.folder, "pid")
            while not (note.exists() and note.read_text().endswith("\n")):
                time.sleep(0.01)
            grandchild = int(note.read_text())
            self.assertTrue(child.alive())
            self.assertFalse(has_ended(grandchild))
        self.assertFalse(child.alive())
        deadline = time.monotonic() + LONG_S
        while not has_ended(grandchild) and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertTrue(has_ended(grandchild))

    def test_an_interrupt_ends_the_children(self):
        for number in SIGNALS:
            with self.assertRaises(Interrupted) as caught:
                with Supervisor(self.folder) as supervisor:
                    child = supervisor.start("child", ["/bin/sleep", str(LONG_S)], dict(os.environ))
                    os.kill(os.getpid(), number)
                    child.finish()
            self.assertEqual(caught.exception.number, number)
            self.assertFalse(child.alive())

    def test_an_interrupt_waits_while_it_must(self):
        with self.assertRaises(Interrupted):
            with Supervisor(self.folder) as supervisor:
                with supervisor.undisturbed():
                    os.kill(os.getpid(), signal.SIGINT)
                    reached = True
        self.assertTrue(reached)


if __name__ == "__main__":
    unittest.main()
