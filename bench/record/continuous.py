#!/usr/bin/env python3
"""What it costs to leave recording on: continuous.py --build BUILD [--minutes N] [-- OPTION...]

Each server runs twice, plain and under `tarn record --continuous OPTION...`. Every few seconds both get the same number
of requests, one after the other. Each minute shows, since the start: the CPU time of the recorded server over that of
the plain one, what `tarn record` itself took of one processor, and the resident memory of both beyond the plain
server's."""

import argparse
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from run import Haproxy, Memcached, Redis  # noqa: E402  pylint: disable=wrong-import-position
from runner import peers, process, text  # noqa: E402  pylint: disable=wrong-import-position

PAUSE_S = 10
PORTION = {"redis": 60_000, "memcached": 40_000, "haproxy": 10_000}


def child_of(pid):
    """The first process that a process started."""
    return int(pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()[0])


def measured(pid):
    """Processor seconds and resident MiB of a process."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return ((int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"),
            int(fields[21]) * os.sysconf("SC_PAGE_SIZE") / (1 << 20))


class Pair:
    """A server, plain and recorded."""

    def __init__(self, name, make, tarn, options, folder, supervisor):
        self.name = name
        record = [tarn, "record", "--continuous", *options, "-o", str(folder / name), "--"]
        self.servers, self.children = [], []
        for form, prefix in (("plain", []), ("recorded", record)):
            own_folder = folder / f"{name}-{form}"
            own_folder.mkdir()
            server = make(own_folder)
            self.servers.append(server)
            self.children.append(supervisor.start(f"{name}, {form}", [*prefix, *server.command()],
                                                  peers.neutral_environment("TARN_")))
            self.children[-1].await_listener(server.port, 60)
        plain, recorder = (child.pid for child in self.children)
        self.processes = [plain, child_of(recorder), recorder]
        self.ask()  # the start, and the first touch of memory
        self.began = time.monotonic()
        self.before = [measured(pid)[0] for pid in self.processes]

    def ask(self):
        for server in self.servers:
            server.ask(PORTION[self.name])

    def line(self):
        now = [measured(pid) for pid in self.processes]
        plain, recorded, recorder = (seconds - before for (seconds, _), before in zip(now, self.before))
        resident = [mib for _, mib in now]
        return [self.name, f"{recorded / plain:.3f}", f"{100 * recorder / (time.monotonic() - self.began):.2f} %",
                f"{resident[1] - resident[0]:.1f}", f"{resident[2]:.1f}"]

    def end(self):
        for child in self.children:
            child.signal(signal.SIGTERM)
            child.finish(check=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--minutes", type=int, default=60)
    parser.add_argument("options", nargs="*", help="of tarn record, behind --")
    options = parser.parse_args()
    tarn = str(options.build.resolve() / "bin" / "tarn")
    servers = {"redis": lambda folder: Redis(), "memcached": lambda folder: Memcached(), "haproxy": Haproxy}
    with tempfile.TemporaryDirectory(prefix="tarn-continuous-") as name, \
            process.Supervisor(pathlib.Path(name)) as supervisor:
        folder = pathlib.Path(name)
        pairs = [Pair(server, make, tarn, options.options, folder, supervisor) for server, make in servers.items()
                 if shutil.which(make(folder).command()[0])]
        if not pairs:
            raise process.Failed("none of redis-server, memcached and haproxy is installed")
        try:
            start = time.monotonic()
            for minute in range(1, options.minutes + 1):
                while time.monotonic() < start + 60 * minute:
                    for pair in pairs:
                        pair.ask()
                    time.sleep(PAUSE_S)
                files = sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
                print(f"minute {minute}, files {files / (1 << 20):.1f} MiB", flush=True)
                heads = ["server", "CPU over plain", "recorder", "MiB beyond plain", "of the recorder"]
                print(text.lay_out(heads, [pair.line() for pair in pairs]), flush=True)
        finally:
            for pair in pairs:
                pair.end()
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (process.Failed, OSError, subprocess.SubprocessError) as problem:
        sys.exit(f"continuous.py: {problem}")
