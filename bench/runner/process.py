"""Starting, watching, measuring and ending children.

Every child leads its own session, so that ending its group ends what it started too, and nothing else.
"""

import contextlib
import os
import resource
import shlex
import signal
import socket
import subprocess
import threading
import time
from dataclasses import dataclass

from .loaded import has_loaded

WATCH_INTERVAL_S = 0.02


class Failed(Exception):
    """A child did not do what it should, and no result of it is to be trusted; the message says what."""


class Interrupted(Exception):
    """SIGINT, SIGTERM or SIGHUP arrived."""

    def __init__(self, number):
        super().__init__(signal.Signals(number).name)
        self.number = number


@dataclass(frozen=True)
class Ended:
    wall_s: float
    cpu_s: float  # user and system, of the child and of what it waited for
    largest_kib: int  # what wait4 calls ru_maxrss
    floor_kib: int  # the kernel carries ru_maxrss over exec, so it is never below what this process once had
    output: object  # the child's whole output, or what `read` made of its lines

    def peak_kib(self):
        """The largest resident size of any one process at or below the child."""
        if self.largest_kib <= self.floor_kib:
            raise Failed(f"a peak below {self.floor_kib} KiB cannot be told from the demo's own")
        return self.largest_kib


class Child:
    """A running child; made by Supervisor.start, used from the main thread."""

    def __init__(self, supervisor, name, command, popen, log_path, began):
        self.name, self.command, self.pid = name, command, popen.pid
        self._supervisor, self._popen, self._log_path, self._began = supervisor, popen, log_path, began
        self._reaping = threading.Lock()  # a pid is signalled and reaped under it: never someone else's new process
        self._reaped = threading.Event()
        self._timed_out = False
        self._expected = self._has_loaded = None
        self._watcher = None

    def watch(self, timeout_s, expected=None):
        """In the background: end the child after timeout_s; note when `expected`, the files (program, library),
        has been seen in one process of the child's session."""
        self._expected = expected
        self._watcher = threading.Thread(target=self._watch, args=(self._began + timeout_s,), daemon=True)
        self._watcher.start()

    def _watch(self, deadline):
        while True:
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                self._timed_out = True
                self.signal(signal.SIGKILL)
                return
            if self._expected and not self._has_loaded:
                self._has_loaded = has_loaded(self.pid, *self._expected)
            # Once seen there is nothing to poll for: the watcher shares the processors with what it measures.
            looking = self._expected and not self._has_loaded
            if self._reaped.wait(min(left_s, WATCH_INTERVAL_S) if looking else left_s):
                return

    def signal(self, number):
        """Send a signal to the child's group, unless it has been reaped."""
        with self._reaping:
            if not self._reaped.is_set():
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self.pid, number)

    def ask(self, number, program):
        """Send a signal to the processes of the child's session that run `program`, as its user would. The child itself
        may be a wrapper that does not pass the signal on."""
        with self._reaping:
            if not self._reaped.is_set():
                for pid in self._processes_of(program):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, number)

    def _processes_of(self, program):
        for entry in os.listdir("/proc"):
            with contextlib.suppress(OSError, ValueError):
                pid = int(entry)
                if os.getsid(pid) == self.pid and os.path.basename(os.readlink(f"/proc/{pid}/exe")) == program:
                    yield pid

    def alive(self):
        """False once the child has ended, reaped or not."""
        return not self._reaped.is_set() and os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None

    def ends_within(self, patience_s):
        """Wait so long, at most, for the end; gives whether it has come."""
        deadline = time.monotonic() + patience_s
        while self.alive():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.01)
        return True

    def await_listener(self, address, timeout_s):
        """Wait until connections are accepted at the address: a path, or a port of this machine."""
        is_path = isinstance(address, str)
        family, endpoint = (socket.AF_UNIX, address) if is_path else (socket.AF_INET, ("127.0.0.1", address))
        deadline = time.monotonic() + timeout_s
        while self.alive() and time.monotonic() < deadline:
            with socket.socket(family) as probe, contextlib.suppress(OSError):
                probe.connect(endpoint)
                return
            time.sleep(0.01)
        raise Failed(self._explain("does not listen"))

    def finish(self, check=True, read="".join):
        """Wait for the end and give the measures; raises Failed unless all went well (or check is false).

        `read` gets the lines of the output one by one: this process must stay small, see Ended.
        """
        floor_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        wall_s = time.monotonic() - self._began
        with self._supervisor.undisturbed():
            self.signal(signal.SIGKILL)  # what may be left in its group
            with self._reaping:
                _, status, usage = os.wait4(self.pid, 0)
                self._reaped.set()
            self._popen.returncode = os.waitstatus_to_exitcode(status)
            self._supervisor.forget(self)
        if self._watcher:
            self._watcher.join()
        try:
            if check:
                self._check(self._popen.returncode)
            with open(self._log_path, encoding="utf-8", errors="replace") as log:
                output = read(log)
        finally:
            os.unlink(self._log_path)
        return Ended(wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss, floor_kib, output)

    def _check(self, code):
        if self._timed_out:
            raise Failed(self._explain("did not end in time"))
        if code < 0:
            raise Failed(self._explain(f"killed by {signal.Signals(-code).name}"))
        if code > 0:
            raise Failed(self._explain(f"exit status {code}"))
        if self._expected and not self._has_loaded:
            program, library = self._expected
            raise Failed(self._explain(f"{library} was not seen in /proc/PID/maps of {program}"))

    def _explain(self, why):
        return "\n      | ".join([f"{self.name}: {why}\n      command: {self.command}", *tail(self._log_path)])


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def tail(path, count=8, max_bytes=4096):
    """The last lines of a file; a line that a program rewrote in place counts as several."""
    with open(path, "rb") as log:
        log.seek(max(0, os.path.getsize(path) - max_bytes))
        text = log.read().decode("utf-8", errors="replace")
    lines = text.replace("\b", "\n").replace("\r", "\n").splitlines()
    return [line for line in lines if line.strip()][-count:]


class Supervisor:
    """Owns every child, so that the end of this process, however it comes, ends them all. Use as a context manager."""

    def __init__(self, folder):
        self.folder = folder  # working directory of the children (a core file would land there) and place of their logs
        self._children = {}
        self._started = 0
        self._undisturbed = False
        self._pending = None

    def __enter__(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._interrupt)
        return self

    def __exit__(self, *_):
        self._undisturbed = True  # a second Ctrl-C must not cut the clean-up short
        for child in list(self._children.values()):
            child.signal(signal.SIGKILL)
            child.finish(check=False)

    def _interrupt(self, number, _frame):
        if self._undisturbed:
            self._pending = number
        else:
            raise Interrupted(number)

    @contextlib.contextmanager
    def undisturbed(self):
        """Signals wait: between starting a process and noting it, or between reaping and forgetting it."""
        before, self._undisturbed = self._undisturbed, True
        try:
            yield
        finally:
            self._undisturbed = before
        if self._pending and not before:
            raise Interrupted(self._pending)

    def start(self, name, argv, environment, executable=None):
        """Start a child. Its output goes to a log that Child.finish returns."""
        self._started += 1
        log_path = os.path.join(self.folder, f"{self._started}.log")
        changed = [f"{k}={v}" for k, v in sorted(environment.items()) if os.environ.get(k) != v]
        command = shlex.join(["env", *changed, executable or argv[0], *argv[1:]])
        with open(log_path, "wb") as log, self.undisturbed():
            began = time.monotonic()
            popen = subprocess.Popen(
                argv, executable=executable, env=environment, cwd=self.folder, start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
            child = Child(self, name, command, popen, log_path, began)
            self._children[child.pid] = child
        return child

    def run(self, name, argv, environment, timeout_s, expected=None, read="".join):
        """Start, watch, wait, measure: see Child.watch and Child.finish."""
        child = self.start(name, argv, environment)
        child.watch(timeout_s, expected)
        return child.finish(read=read)

    def forget(self, child):
        self._children.pop(child.pid, None)
