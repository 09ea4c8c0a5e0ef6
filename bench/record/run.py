#!/usr/bin/env python3
"""What recording costs: run.py --build BUILD [options]; ./dev bench record builds all that it needs.

Each program runs plain and under each recorder in turn, round by round. A ratio is of the processor time of one round,
the recorder's own processes in it, over the plain run beside it; medians of all rounds are shown, with their
quartiles."""

import argparse
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from runner import machine, peers, process, text  # noqa: E402  pylint: disable=wrong-import-position

PYTHON = ("import collections\n"
          "for round in range(60):\n"
          "    words = [str(n * 7919 % 10007) for n in range(100000)]\n"
          "    counts = collections.Counter(words)\n"
          "    lines = sorted(f'{word} {count}' for word, count in counts.items())\n")


PEERS = ("heaptrack", "dhat", "strace")
LONGEST_S = 1800


@dataclass(frozen=True)
class Program:
    name: str
    words: list
    recorders: list
    events: int = 0  # what a recorder of every one of them counts
    environment: tuple = ()
    unit: str = ""  # of which it does `events`
    load: object = None  # called while it runs; ends it


def tools(tarn, folder):
    """How a program is started under each recorder, and the files that it leaves."""
    recording, trace = str(folder / "recording"), str(folder / "trace")
    record = [str(tarn), "record", "-o", recording]
    recorders = {
        "plain": [],
        "record": [*record, "--"],
        "--heap": [*record, "--heap", "--"],
        "--full": [*record, "--heap", "--full", "--"],
        "--locks": [*record, "--locks", "--"],
        "--syscalls": [*record, "--syscalls", "--"],
        "heaptrack": ["heaptrack", "-o", trace],
        "dhat": ["valgrind", "--tool=dhat", f"--dhat-out-file={trace}"],
        "strace": ["strace", "-f", "-c", "-o", trace],
    }
    return {name: words for name, words in recorders.items()
            if not words or words[0] == str(tarn) or shutil.which(words[0])}


def run(words, program, folder, supervisor):
    """Processor seconds and the largest resident memory of all its processes, and the bytes of files that it left."""
    for path in folder.iterdir():
        path.unlink()
    environment = peers.neutral_environment("TARN_") | dict(program.environment)
    child = supervisor.start(program.name, [str(word) for word in [*words, *program.words]], environment)
    child.watch(LONGEST_S)
    try:
        if program.load:
            program.load(child)
    except (process.Failed, subprocess.SubprocessError):
        child.signal(signal.SIGKILL)
        child.finish(check=False)
        raise
    ended = child.finish()
    return {"seconds": ended.cpu_s, "kib": ended.largest_kib,
            "file": sum(path.stat().st_size for path in folder.iterdir())}


def preprocessed(folder):
    """A C++ file as the compiler proper takes it: what every machine has, the standard library."""
    source = folder / "compiled.cpp"
    headers = ("algorithm", "chrono", "filesystem", "functional", "future", "iostream", "map", "random", "regex",
               "unordered_map")
    source.write_text("".join(f"#include <{header}>\n" for header in headers) +
                      "bool f(const std::string& s) { return std::regex_search(s, std::regex(\"a+(b|c)*\")); }\n"
                      "int g(std::map<std::string, std::vector<int>>& m) { std::sort(m[\"a\"].begin(), "
                      "m[\"a\"].end()); return m[\"a\"][0]; }\n",
                      encoding="utf-8")
    output = folder / "compiled.ii"
    subprocess.run(["g++", "-std=c++20", "-E", source, "-o", output], check=True)
    return output


class Redis:
    """redis-server on loopback, and a fixed number of requests to it; processor time is the server's alone."""

    REQUESTS = 1_500_000

    def __init__(self):
        self.port = process.free_port()

    def words(self):
        return ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]

    def load(self, server):
        server.await_listener(self.port, 60)
        subprocess.run(["redis-benchmark", "-p", str(self.port), "-q", "-c", "20", "-P", "4", "-r", "10000", "-n",
                        str(self.REQUESTS // 6),
                        "-t", "set,get,lpush,lpop,hset,zadd"], stdout=subprocess.DEVNULL, timeout=300, check=True)
        subprocess.run(["redis-cli", "-p", str(self.port), "shutdown", "nosave"], stdout=subprocess.DEVNULL, timeout=60,
                       check=True)


def programs(build, folder, small):
    """All of them; `small`: only that each runs."""
    share = 1000 if small else 1
    plain, pointers = build / "bin" / "bench-record", build / "bin" / "bench-record-frame-pointers"
    heap = ["--heap", "--full", "heaptrack"]
    pairs, locks, calls = 20_000_000 // share, 10_000_000 // share, 1_000_000 // share
    programs = [
        Program("blocks", [plain, "blocks", str(pairs), "2"], heap, 2 * pairs, unit="pair"),
        Program("blocks, frame pointers", [pointers, "blocks", str(pairs), "2"], heap, 2 * pairs, unit="pair"),
        Program("blocks, fewer", [plain, "blocks", str(pairs // 10), "2"], ["--full", "heaptrack", "dhat"],
                2 * (pairs // 10), unit="pair"),
        Program("locks", [plain, "locks", str(locks)], ["--locks"], locks, unit="pair"),
        Program("system calls", [plain, "calls", str(calls)], ["--syscalls", "strace"], calls, unit="call"),
    ]
    compiler = subprocess.run(["g++", "-print-prog-name=cc1plus"], capture_output=True, text=True,
                              check=True).stdout.strip()
    source = preprocessed(folder)
    programs.append(Program("compiler", [compiler, "-quiet", "-std=c++20", "-O2", source, "-o", "/dev/null"],
                            [*heap, "record"]))
    programs.append(Program("python3", ["/usr/bin/python3", "-c", PYTHON], [*heap, "record"],
                         environment=(("PYTHONMALLOC", "malloc"), ("PYTHONHASHSEED", "0"))))
    if shutil.which("redis-server") and shutil.which("redis-benchmark"):
        redis = Redis()
        programs.append(Program("redis", redis.words(), [*heap, "record"], load=redis.load))
    return [program for program in programs if not small or program.unit]


def measure(program, started, rounds, folder, supervisor):
    names = ["plain", *(recorder for recorder in program.recorders if recorder in started)]
    results = {name: [] for name in names}
    for number in range(rounds):
        for name in names if number % 2 else reversed(names):
            if results[name] is None:
                continue
            try:
                results[name].append(run(started[name], program, folder, supervisor))
            except process.Failed as problem:
                if name not in PEERS:
                    raise
                print(f"   {problem}", file=sys.stderr)
                results[name] = None
    return results


def line(program, results, name):
    plain = statistics.median(result["seconds"] for result in results["plain"])
    mine = results[name]
    if mine is None:
        return [f"  {name}", "failed", "", "", "", ""]
    plain_kib = statistics.median(result["kib"] for result in results["plain"])
    kib = statistics.median(result["kib"] for result in mine)
    # Of a small program the kernel reports what this script had when it started it.
    mebibytes = f"{kib / 1024:.0f} MiB" if name == "plain" else f"+ {(kib - plain_kib) / 1024:.0f} MiB"
    memory = "" if program.unit else mebibytes
    size = statistics.median(result["file"] for result in mine)
    per_unit = ""
    if program.events:
        added = statistics.median(result["seconds"] - other["seconds"] for result, other in zip(mine, results["plain"]))
        base = plain / program.events * 1e9
        per_unit = f"{base:.1f} ns a {program.unit}" if name == "plain" else f"+ {added / program.events * 1e9:.1f} ns"
    if name == "plain":
        return [program.name, "1", "", per_unit or f"{plain:.2f} s", memory, ""]
    all_ratios = [mine_once["seconds"] / other["seconds"] for mine_once, other in zip(mine, results["plain"])]
    quartiles = statistics.quantiles(all_ratios, n=4) if len(all_ratios) > 1 else [all_ratios[0]] * 3
    return [f"  {name}", f"{statistics.median(all_ratios):.2f}", f"{quartiles[0]:.2f} to {quartiles[2]:.2f}", per_unit,
            memory, f"{size / 1000:,.0f} kB"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--rounds", type=int, default=7, help="how often each program runs under each recorder (7)")
    parser.add_argument("--only", metavar="WORD", help="programs whose name has this word")
    parser.add_argument("--json", metavar="FILE", type=pathlib.Path, help="all that was measured")
    parser.add_argument("--check", action="store_true", help="small: does each program run under each recorder?")
    options = parser.parse_args()
    options.build = options.build.resolve()
    with tempfile.TemporaryDirectory(prefix="tarn-bench-") as temporary:
        inputs, outputs = pathlib.Path(temporary) / "in", pathlib.Path(temporary) / "out"
        inputs.mkdir()
        outputs.mkdir()
        started = tools(options.build / "bin" / "tarn", outputs)
        chosen = [program for program in programs(options.build, inputs, options.check)
                  if options.only in (None, *program.name.replace(",", "").split())]
        if not chosen:
            parser.error(f"no program is called {options.only}")
        results, lines = {}, []
        with process.Supervisor(inputs) as supervisor:
            for program in chosen:
                print(f"   {program.name}", file=sys.stderr)
                figures = measure(program, started, 1 if options.check else options.rounds, outputs, supervisor)
                results[program.name] = figures
                lines += [line(program, figures, name) for name in figures]
    missing = sorted({recorder for program in chosen for recorder in program.recorders} - started.keys())
    print(f"{machine.name()}, load {os.getloadavg()[0]:.1f}\n")
    print(text.lay_out(["program, under", "processor time", "quartiles", "", "memory", "files"], lines))
    if missing:
        print(f"\nNot installed, left out: {', '.join(missing)}.")
    if options.json:
        options.json.write_text(json.dumps(results, indent=1), encoding="utf-8")


if __name__ == "__main__":
    try:
        main()
    except (process.Failed, subprocess.SubprocessError) as problem:
        sys.exit(f"bench record: {problem}")
