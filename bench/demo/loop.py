"""The loop on a real server: record it, read the report, take the remedies, see what each gave.

The server is examples/appserver: two workers, pages of 256 rows. `--allocator=global` runs its handlers on the process
heap; without it each request has an arena, which is what the report's first sites ask for.
"""

import os
import re
import shutil
import signal
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import fixing
from runner.process import Failed, free_port

ROUNDS, REQUESTS, CONNECTIONS = 3, 60000, 16
NAME = "loop"
PAGE = "/page?rows=256"
STARTING_S, LOADING_S, ENDING_S = 20, 120, 30
REPORT_LINES = 12


@dataclass(frozen=True)
class Way:
    """One way to run the server."""
    name: str
    before: tuple  # arguments before the server's own
    server: tuple  # arguments after them


def ways(tarn, folder):
    plain = ("--allocator=global",)
    return {
        "plain": Way("as it is", (), plain),
        "recorded": Way("while it is recorded", (tarn, "record", "--heap", "-o", f"{folder}/before.rec", "--"), plain),
        "drop-in": Way("on the drop-in", (tarn, "run", "--"), plain),
        "arenas": Way("requests in arenas", (), ()),
        "after": Way("and recorded", (tarn, "record", "--heap", "-o", f"{folder}/after.rec", "--"), ()),
    }


def parse_load(text):
    """Requests per second; every one must have been answered well."""
    rate, right = re.search(r"finished in .*, ([\d.]+) req/s", text), re.search(r"status codes: (\d+) 2xx", text)
    if not rate or not right or int(right.group(1)) != REQUESTS:
        raise Failed(f"h2load: not {REQUESTS} answers:\n" + text)
    return float(rate.group(1))


def spent_us(figures, name):
    return median(run["cpu_us"] for run in figures[name])


def missing(tarn, server):
    """Lines naming what is not there."""
    lines = [f"{path} was not built: it needs {needs}" for path, needs in
             ((tarn, "the packages of the group build"), (server, "libboost1.81-dev and libtomlplusplus-dev"))
             if not os.access(path, os.X_OK)]
    return lines + ([] if shutil.which("h2load") else ["h2load is not installed (Debian package nghttp2-client)"])


class Loop:
    def __init__(self, supervisor, folder, tarn, server):
        self.supervisor, self.folder, self.tarn, self.server = supervisor, folder, tarn, server
        self.ways = ways(tarn, folder)

    def measure(self, key):
        """One run of the server under load: requests per second, and its CPU time for each request."""
        way, port = self.ways[key], free_port()
        config = os.path.join(self.folder, "appserver.toml")
        command = [*way.before, self.server, "--config", config, "--port", str(port), "--workers", "2", *way.server]
        child = self.supervisor.start(f"the server, {way.name}", command, dict(os.environ))
        child.watch(STARTING_S + LOADING_S + ENDING_S)
        try:
            child.await_listener(port, STARTING_S)
        except Failed:
            child.signal(signal.SIGKILL)
            child.finish(check=False)
            raise
        load = self.supervisor.run("h2load", ["h2load", "--h1", f"--requests={REQUESTS}", f"--clients={CONNECTIONS}",
                                              f"http://127.0.0.1:{port}{PAGE}"], dict(os.environ), LOADING_S)
        child.ask(signal.SIGTERM, os.path.basename(self.server))
        outcome = child.finish()
        return {"rate": parse_load(load.output), "cpu_us": outcome.cpu_s / REQUESTS * 1e6}

    def tarn_says(self, *arguments):
        return self.supervisor.run("tarn " + arguments[0], [self.tarn, *arguments], dict(os.environ), 120).output

    def run(self):
        with open(os.path.join(self.folder, "appserver.toml"), "w", encoding="utf-8") as config:
            config.write("# all defaults\n")
        print(f"\n1. A server of two threads, {PAGE}, {CONNECTIONS} connections; it is recorded:\n\n"
              "   $ tarn record --heap -o before.rec -- tarn-appserver --allocator=global\n", flush=True)
        figures = {key: [] for key in self.ways if key != "after"}
        self.measure("recorded")
        print("2. The report:\n\n   $ tarn report before.rec\n")
        report = self.tarn_says("report", os.path.join(self.folder, "before.rec"))
        for line in report.splitlines()[:REPORT_LINES]:
            print("   " + line)
        print("   …\n\n3. The remedies, in turn: the drop-in, then an arena for each request.", flush=True)
        for turn in range(ROUNDS):
            keys = ["plain", "recorded", "drop-in", "arenas"]
            for key in keys[turn:] + keys[:turn]:
                figures[key].append(self.measure(key))
        self.measure("after")
        self.print_table(figures)
        print("\n4. What it predicted, and what came of it:\n\n   $ tarn diff before.rec after.rec\n")
        difference = self.tarn_says("diff", *(os.path.join(self.folder, f"{name}.rec") for name in ("before", "after")))
        for line in difference.splitlines()[:REPORT_LINES]:
            print("   " + line)
        figures["fix"] = self.fix()
        return figures

    def fix(self):
        """Lets `tarn fix` edit the plain server, and returns the runs of it and of the plain one beside it."""
        print("\n5. The same by tarn fix, without a hand: a patch for the plain server that it builds and measures.\n",
              flush=True)
        programs = Path(self.tarn).parent
        reason = fixing.missing(programs)
        if reason:
            print(f"   left out: {reason}")
            return {}
        config = os.path.join(self.folder, "appserver.toml")
        recording = os.path.join(self.folder, "fix.rec")
        edited = fixing.Fixing(self.supervisor, self.folder, programs)
        edited.prepare(PAGE, CONNECTIONS, config)
        plain = self.server
        self.server = edited.server
        self.ways["to fix"] = Way("while it is recorded", (self.tarn, "record", "--heap", "-o", recording, "--"),
                                  self.ways["plain"].server)
        self.measure("to fix")
        print("   $ tarn fix fix.rec -p build --prove load.sh\n", flush=True)
        sites = edited.fix(recording)
        fixing.print_sites(sites)
        pairs = {"plain": [], "patched": []}
        if any(site["patch"] for site in sites):
            self.ways["patched"] = Way("patched by tarn fix", (), self.ways["plain"].server)
            for _ in range(ROUNDS):
                self.server = plain
                pairs["plain"].append(self.measure("plain"))
                self.server = edited.server
                pairs["patched"].append(self.measure("patched"))
            self.print_table(pairs)  # alone, as the first table is minutes older
        self.server = plain
        return pairs

    def print_table(self, figures):
        print(f"\n   {'':<24}{'requests/s':>12}{'CPU time each':>22}{'':>4}")
        base = spent_us(figures, "plain")
        for key in figures:
            rate, cpu = median(run["rate"] for run in figures[key]), spent_us(figures, key)
            print(f"   {self.ways[key].name:<24}{rate:>12,.0f}{cpu:>19.1f} µs{cpu / base:>7.2f}")
