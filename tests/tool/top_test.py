#!/usr/bin/env python3
"""`tarn top`, driven in tmux as a person would. Skipped where there is no tmux."""

import contextlib
import os
import pathlib
import pty
import pwd
import re
import shutil
import signal
import subprocess
import time

from paths import HANG_S, PATHS, FolderTest, main, polls


def runs(process):
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


class TopTest(FolderTest):
    def tarn(self, *arguments, code=3, **settings):
        return super().tarn(*arguments, code=code, stdin=subprocess.DEVNULL, **settings).stderr


class Terminal(TopTest):
    def setUp(self):
        super().setUp()
        if shutil.which("tmux") is None:
            self.skipTest("no tmux")
        self.opened = 0
        self.addCleanup(self.close)

    def close(self):
        for number in range(1, self.opened + 1):
            subprocess.run(["tmux", "-S", f"{self.folder}/{number}", "kill-server"], capture_output=True, check=False)

    def tmux(self, *arguments):
        return subprocess.run(["tmux", "-S", f"{self.folder}/{self.opened}", *arguments], capture_output=True,
                              text=True, timeout=HANG_S, check=True).stdout

    def open(self, *arguments, width=80, height=24, environment=""):
        self.opened += 1  # a server each, as one that ends may still hold its socket
        command = " ".join(f"'{word}'" for word in (PATHS.tarn, "top", "--interval", "0.3", *arguments))
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(width), "-y", str(height),
                  f"{environment} {command}; echo ended with $?; cat")

    def screen(self, *keys):
        return self.tmux("capture-pane", "-p", *keys)

    def wait_for(self, pattern, *keys):
        for _ in polls():
            screen = self.screen(*keys)
            if re.search(pattern, screen):
                return screen
        self.fail(f"no {pattern} on\n{screen}")

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def begin(self, *arguments):
        """A recorded program, and the process that records it."""
        recorder = subprocess.Popen([PATHS.tarn, "record", "-o", "/dev/null", *arguments], stderr=subprocess.DEVNULL)
        self.addCleanup(self.end, recorder)
        return recorder

    @staticmethod
    def end(recorder):
        for signal_to_it in signal.SIGTERM, signal.SIGTERM, signal.SIGKILL:  # the program; what it left; itself
            recorder.send_signal(signal_to_it)
            try:
                return recorder.wait(2)
            except subprocess.TimeoutExpired:
                continue
        return recorder.wait()

    def child_of(self, process):
        for _ in polls():
            children = pathlib.Path(f"/proc/{process}/task/{process}/children").read_text().split()
            if children:
                return int(children[0])
        self.fail("there is no child")

    def wait_for_threads(self, process):
        """Returns once the process runs threads of its own: then it has been loaded, and its main() has begun."""
        for _ in polls():
            if len(os.listdir(f"/proc/{process}/task")) > 1:
                return
        self.fail("it starts no thread")

    def shown_process(self):
        return int(re.search(r"resident  (\d+) tool_busy", self.screen())[1])

    def test_views_sorts_filters_pauses_and_quits(self):
        self.open("--", PATHS.busy)
        self.wait_for(r"\d+k .* same-thread .*busy.cpp:\d+ make_temporary")
        sites = self.wait_for(r"cross-thread .*busy.cpp:\d+ make_parcel")
        self.assertLess(sites.index("make_temporary"), sites.index("make_parcel"), "the most allocations first")
        self.assertRegex(sites, r"lock waits \d+ % of one thread   system calls .*/s, \d+ % of one thread\n"
                                r"heap .* allocations/s, .* (bytes|KiB|MiB|GiB)/s; \d+ % remote frees; "
                                r"[\d,]+ blocks? in use; \d+ % s")
        self.keys("s", "s")
        # Of samples: in the time between two looks there may be none.
        self.wait_for(r"by remote/s(.|\n)*make_parcel(.|\n)*make_temporary")
        self.keys("1")
        threads = self.wait_for(r"\[1:threads\]")
        self.assertRegex(threads, r"\d  worker \d+\n")
        self.assertRegex(threads, r"\d  con \[2J ", "a name is text, whatever is in it")
        self.keys("3")
        self.wait_for(r"contended +mutex busy.cpp:\d+ ")
        self.keys("4")
        self.wait_for(r"small +write busy.cpp:\d+ work")
        self.keys("/", "WRITE", "Enter")
        self.assertNotIn("nanosleep", self.wait_for("filter: WRITE\n"))
        self.keys("Escape")
        self.wait_for("nanosleep")
        self.keys("t")
        self.wait_for(r"by calls\n")
        self.keys("?")
        self.wait_for("Esc shows all")
        self.keys("?", "p")
        paused = self.wait_for(r"\[paused\]").splitlines()[1:]
        time.sleep(1)
        self.assertEqual(self.screen().splitlines()[1:], paused)
        self.keys("p")
        self.wait_for(r"^\d+ threads")
        process = self.shown_process()
        self.assertTrue(runs(process))
        self.keys("q")
        self.wait_for("ended with 0")
        self.assertFalse(runs(process), "it ends with its top")

    def test_a_size_that_changes(self):
        self.open("--", PATHS.busy)
        self.wait_for("make_parcel")
        for width, height in (30, 8), (20, 3), (120, 40), (80, 24):
            self.tmux("resize-window", "-x", str(width), "-y", str(height))
            self.wait_for(r"q quit")
            self.assertEqual(len(self.screen().splitlines()), height)
        self.wait_for("make_parcel")
        self.keys("C-c")
        self.wait_for("ended with 0")

    def test_a_log_or_a_recording_that_cannot_be_written(self):
        for option, text in ("--log", "tarn: --log: /nonexistent/x: No such file or directory"), \
                            ("-o", "ended at once with exit code 3; run tarn record -o /nonexistent/x -- "):
            process, terminal = pty.fork()
            if process == 0:
                os.execv(PATHS.tarn, ["tarn", "top", option, "/nonexistent/x", "--", PATHS.busy])
            output = b""
            with os.fdopen(terminal, "rb", buffering=0) as screen, contextlib.suppress(OSError):
                while part := screen.read(1000):
                    output += part
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), 3, output)
            self.assertIn(text, output.decode())

    def test_a_program_that_dies(self):
        recorder = self.begin("--", PATHS.busy)
        process = self.child_of(recorder.pid)
        self.open("--pid", str(process))
        self.wait_for("make_temporary")
        os.kill(process, signal.SIGKILL)
        self.wait_for(r"^\[ended\]")
        self.assertRegex(self.screen(), "by allocs\n", "totals, as nothing happens any more")
        self.keys("1")
        self.wait_for(r"\d  worker \d+\n")
        self.keys("q")
        self.wait_for("ended with 0")

    def test_recorders_and_children_are_found(self):
        recorder = self.begin("--follow", "--", "sh", "-c", f"{PATHS.busy} & wait")
        child = self.child_of(self.child_of(recorder.pid))
        self.addCleanup(lambda: runs(child) and os.kill(child, signal.SIGTERM))
        self.wait_for_threads(child)
        self.open("--pid", str(child))
        self.wait_for("make_temporary")
        self.assertEqual(self.shown_process(), child)
        self.keys("q")
        self.wait_for("ended with 0")
        self.assertTrue(runs(child), "it was only looked at")
        self.open("--pid", str(recorder.pid))
        self.wait_for(rf"resident  {self.child_of(recorder.pid)} sh -c")
        self.keys("q")
        self.wait_for("ended with 0")

    def test_a_program_on_the_heaps_alone(self):
        for options, has_stats in ((), False), (("--stats",), True):
            program = subprocess.Popen([PATHS.tarn, "run", *options, "--", PATHS.busy], stderr=subprocess.DEVNULL)
            self.addCleanup(program.wait)
            self.addCleanup(program.kill)
            self.wait_for_threads(program.pid)
            self.open("--pid", str(program.pid))
            screen = self.wait_for(r"\n +[\d.]+K? .* producer \d+\n")
            self.assertRegex(screen, rf"{program.pid} tool_busy\n\d+ heaps?: .* in use of .* mapped\n")
            self.assertEqual("allocations are not counted" in screen, not has_stats)
            self.keys("s", "s", "s")
            self.wait_for(r"by remote/s\n.*\n +\S+ +\S+ +\S+ +[1-9]\S+ .*producer")  # its blocks, freed by others
            if has_stats:
                self.keys("s", "s")
                self.wait_for(r"by allocs/s\n(.|\n)* +[1-9][\d.,k]+ +[\d.]+[KM]?  worker \d+\n")
            program.kill()
            self.wait_for(r"^\[ended\].*\n.*heaps: ")
            self.keys("q")
            self.wait_for("ended with 0")

    def test_the_sum_leaves_out_frees_that_wait(self):
        with subprocess.Popen([PATHS.tarn, "run", "--stats", "--option", "background_purge=0", "--",
                               PATHS.threads, "1", "100000", "wait"],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as program:
            self.addCleanup(program.kill)
            self.assertEqual(program.stdout.readline(), b"done\n")
            self.open("--pid", str(program.pid))
            screen = self.wait_for(r"\n +10\.\dM .*  w ")  # the row of the thread that sleeps
            self.assertRegex(screen, r"\n\d heaps: [\d.]+ (KiB|bytes) in use of [\d.]+ MiB mapped\n")
            self.keys("q")
            self.wait_for("ended with 0")
            program.kill()

    def test_colours_are_only_for_terminals_that_have_them(self):
        for environment, expected in ("", True), ("NO_COLOR=1", False), ("TERM=vt100", False):
            self.open("--", PATHS.busy, environment=environment)
            self.wait_for("make_temporary")
            self.assertEqual("\x1b[36m" in self.screen("-e"), expected, environment)
            self.keys("q")
            self.wait_for("ended with 0")
        self.open("--", PATHS.busy, environment="TERM=nonsense")
        self.wait_for('unknown terminal type "nonsense"')

    def test_output_and_recording_are_kept_where_asked(self):
        self.open("-o", f"{self.folder}/rec", "--log", f"{self.folder}/log", "--", PATHS.busy, "1500")
        self.wait_for(r"^\[ended\]")
        self.keys("q")
        self.wait_for("ended with 0")
        self.assertIn("allocations", pathlib.Path(self.folder, "log").read_text())
        self.assertGreater(pathlib.Path(self.folder, "rec").stat().st_size, 100)


class Errors(TopTest):
    def test_they_say_why(self):
        self.assertIn("is neither recorded nor running on Tarn's heaps", self.tarn("top", "--pid", str(os.getpid())))
        with subprocess.Popen([PATHS.other_heaps]) as other:
            for _ in polls():  # until the loader has loaded it
                output = self.tarn("top", "--pid", str(other.pid))
                if "is neither recorded nor running on Tarn's heaps" not in output:
                    break
            self.assertIn("uses another version of Tarn", output)
            other.kill()
        with subprocess.Popen(["true"]) as child:
            child.wait()
            self.assertIn("does not exist", self.tarn("top", "--pid", str(child.pid)))
        self.assertIn("needs a terminal", self.tarn("top", "--", PATHS.busy, code=5))
        self.assertIn("exclude each other", self.tarn("top", "--pid", "1", "-o", "x", code=2))
        self.tarn("top", code=2)
        self.assertIn("/nonexistent/program: ", self.tarn("top", "--", "/nonexistent/program", code=127))

    def as_nobody(self, pid, *arguments):
        """What tarn top says of a process when it is run by somebody else than root."""
        if os.geteuid() != 0 or shutil.which("setpriv") is None:
            self.skipTest("needs root, and setpriv")
        command = ["setpriv", *(arguments or ("--reuid=65534",)), "--regid=65534", "--clear-groups", PATHS.tarn]
        if subprocess.run([*command, "--version"], capture_output=True, check=False).returncode != 0:
            self.skipTest("nobody may run this build")
        result = subprocess.run([*command, "top", "--pid", str(pid)], capture_output=True, text=True, timeout=HANG_S,
                                check=False,
                                stdin=subprocess.DEVNULL)
        self.assertEqual(result.returncode, 3)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        return result.stderr

    def begin_as_nobody(self, *arguments):
        program = subprocess.Popen(arguments, user=65534, group=65534, extra_groups=[], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE,
                                   text=True)
        self.addCleanup(program.wait)
        self.addCleanup(program.kill)
        self.addCleanup(program.stdout.close)
        self.addCleanup(program.stdin.close)
        return program

    def test_of_another_user(self):
        own_name, nobody = (pwd.getpwuid(user).pw_name for user in (0, 65534))
        self.assertEqual(self.as_nobody(os.getpid()),
                         f"tarn: no permission to inspect process {os.getpid()} of {own_name} as {nobody}; "
                                                      "try the same command with sudo\n")

    def test_that_does_not_let_itself_be_read(self):
        self.as_nobody(os.getpid())  # or skip
        program = self.begin_as_nobody("/usr/bin/python3", "-c", "import ctypes, time; ctypes.CDLL(None).prctl(4, 0); "
                                                                "print('hidden', flush=True); time.sleep(60)")
        self.assertEqual(program.stdout.readline(), "hidden\n")
        self.assertIn("although it belongs to nobody", self.as_nobody(program.pid))

    def test_whose_memory_is_kept_closer_than_its_environment(self):
        self.as_nobody(os.getpid())  # or skip
        program = self.begin_as_nobody(PATHS.tarn, "run", "--", "sh", "-c", "echo runs; read line")
        self.assertEqual(program.stdout.readline(), "runs\n")
        # /proc asks for the effective user, process_vm_readv for the real one.
        output = self.as_nobody(program.pid, "--ruid=65533", "--euid=65534")
        self.assertRegex(output, rf"^tarn: no permission to read the memory of process {program.pid}.*\n$")


if __name__ == "__main__":
    main("tarn", "busy", "other-heaps", "threads")
