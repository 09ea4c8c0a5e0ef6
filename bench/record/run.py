#!/usr/bin/env python3
"""What recording costs: run.py --build BUILD [options]; ./dev bench record builds all that it needs.

Each program runs plain and under each recorder in turn, round by round. A ratio is of the CPU time of one round,
the recorder's own processes in it, over the plain run beside it; medians of all rounds are shown, with their quartiles.
Beside the default command stands its goal: ≤ where it is met, ! where it is not."""

import argparse
import json
import os
import pathlib
import shutil
import signal
import socket
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
# Goals of the default command. The second one is of programs that do nothing but what is recorded.
GOAL, GOAL_OF_EVENTS = 1.10, 1.20
NODE = ("const rows = [];\n"
        "for (let round = 0; round < 40; ++round) {\n"
        "  const rows_of = (_, n) => ({id: n, name: `row ${n * 7919 % 10007}`});\n"
        "  const text = JSON.stringify(Array.from({length: 5000}, rows_of));\n"
        "  rows.push(JSON.parse(text).filter((row) => row.id % 3).map((row) => row.name).sort().length);\n"
        "}\n"
        "console.log(rows.length);\n")
GNUPLOT = ("set terminal svg; set output '/dev/null'; set samples 2000; "
           "do for [n=1:10] { plot for [k=1:10] sin(k*x+n)/k title sprintf('%d', k) }")


@dataclass(frozen=True)
class Program:
    name: str
    command: list
    recorders: list
    events: int = 0  # what a recorder of every one of them counts
    environment: tuple = ()
    unit: str = ""  # of which it does `events`
    load: object = None  # called while it runs; ends it
    goal: float = 0  # of the default command; 0: none


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
        "--locks --full": [*record, "--locks", "--full", "--"],
        "--syscalls": [*record, "--syscalls", "--"],
        "heaptrack": ["heaptrack", "-o", trace],
        "dhat": ["valgrind", "--tool=dhat", f"--dhat-out-file={trace}"],
        "strace": ["strace", "-f", "-c", "-o", trace],
    }
    return {name: command for name, command in recorders.items()
            if not command or command[0] == str(tarn) or shutil.which(command[0])}


def run(arguments, program, folder, supervisor):
    """Processor seconds and the largest resident memory of all its processes, and the bytes of files that it left."""
    for path in folder.iterdir():
        path.unlink()
    environment = peers.neutral_environment("TARN_") | dict(program.environment)
    child = supervisor.start(program.name, [str(word) for word in [*arguments, *program.command]], environment)
    child.watch(LONGEST_S)
    try:
        if program.load:
            program.load(child)
    except (process.Failed, subprocess.SubprocessError):
        child.signal(signal.SIGKILL)
        child.finish(check=False)
        raise
    outcome = child.finish()
    result = {"seconds": outcome.cpu_s, "kib": outcome.largest_kib,
              "file": sum(path.stat().st_size for path in folder.iterdir())}
    if "record" in arguments[1:2]:
        result["reported"] = reported_cost(arguments[0], folder / "recording")
    return result


def reported_cost(tarn, recording):
    """Processor seconds that a recording took by its own account, those of `tarn record` itself in it."""
    report = subprocess.run([tarn, "report", "--quick", "--json", "--top", "0", str(recording)], capture_output=True,
                            text=True, check=True)
    overhead = json.loads(report.stdout)["recorder"]["overhead"]
    return (sum(overhead["kinds_ns"].values()) + overhead["collector_ns"]) * 1e-9


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


class Server:
    """A server on loopback, and a fixed number of requests to it; CPU time is the server's alone."""

    def __init__(self):
        self.port = process.free_port()

    def connect(self):
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=LONGEST_S)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    @staticmethod
    def receive(connection, count):
        """Reads exactly so many bytes, and returns the last part of them."""
        part = b""
        while count > 0:
            part = connection.recv(min(count, 1 << 18))
            if not part:
                raise process.Failed("the server has closed its connection")
            count -= len(part)
        return part


class Redis(Server):
    REQUESTS = 1_500_000

    def command(self):
        return ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]

    def ask(self, requests):
        subprocess.run(["redis-benchmark", "-p", str(self.port), "-q", "-c", "20", "-P", "4", "-r", "10000", "-n",
                        str(requests // 6), "-t", "set,get,lpush,lpop,hset,zadd"],
                       stdout=subprocess.DEVNULL, timeout=300, check=True)

    def load(self, server):
        server.await_listener(self.port, 60)
        self.ask(self.REQUESTS)
        subprocess.run(["redis-cli", "-p", str(self.port), "shutdown", "nosave"], stdout=subprocess.DEVNULL, timeout=60,
                       check=True)


class Memcached(Server):
    """Four connections, one for each of its threads, send a set and 49 gets at once; each request is a line."""

    REQUESTS, GETS = 400_000, 49

    def command(self):
        return ["memcached", "-u", "root", "-l", "127.0.0.1", "-p", str(self.port), "-U", "0"]

    def ask(self, requests):
        connections = [self.connect() for _ in range(4)]
        for number in range(requests // 4 // (1 + self.GETS)):
            key, value = b"key-%05d" % (number * 7919 % 10007), b"x" * 100
            request = b"set %s 0 0 100\r\n%s\r\n" % (key, value) + b"get %s\r\n" % key * self.GETS
            answer = len(b"STORED\r\n") + self.GETS * len(b"VALUE %s 0 100\r\n%s\r\nEND\r\n" % (key, value))
            for connection in connections:
                connection.sendall(request)
            for connection in connections:
                self.receive(connection, answer)
        for connection in connections:
            connection.close()

    def load(self, server):
        server.await_listener(self.port, 60)
        self.ask(self.REQUESTS)
        server.ask(signal.SIGTERM, self.command()[0])


class Haproxy(Server):
    """It answers each request itself."""

    REQUESTS = 150_000

    def __init__(self, folder):
        super().__init__()
        self.configuration = folder / "haproxy.cfg"
        self.configuration.write_text(
            "global\n  nbthread 2\n"
            "defaults\n  mode http\n  timeout client 60s\n  timeout connect 9s\n  timeout server 60s\n"
            f"frontend here\n  bind 127.0.0.1:{self.port}\n  http-request set-header x-path %[path,lower]\n"
            '  http-request return status 200 content-type text/plain string "hello"\n', encoding="utf-8")

    def command(self):
        return ["haproxy", "-db", "-f", str(self.configuration)]

    def ask(self, requests):
        subprocess.run(["h2load", "--h1", "-n", str(requests), "-c", "20",
                        f"http://127.0.0.1:{self.port}/Some/Path"], stdout=subprocess.DEVNULL, timeout=300, check=True)

    def load(self, server):
        server.await_listener(self.port, 60)
        self.ask(self.REQUESTS)
        server.ask(signal.SIGUSR1, self.command()[0])


class Mosquitto(Server):
    """One client publishes to four that have subscribed (MQTT 3.1.1)."""

    MESSAGES, AT_ONCE = 60_000, 20

    def __init__(self, folder):
        super().__init__()
        self.configuration = folder / "mosquitto.conf"
        self.configuration.write_text(f"listener {self.port} 127.0.0.1\nallow_anonymous true\nmax_queued_messages 0\n"
                                      "user root\n", encoding="utf-8")

    def command(self):
        return ["mosquitto", "-c", str(self.configuration)]

    def client(self, name):
        connection = self.connect()
        connection.sendall(b"\x10\x10\x00\x04MQTT\x04\x02\x00\x00\x00\x04" + name)
        self.receive(connection, 4)
        return connection

    def load(self, server):
        server.await_listener(self.port, 60)
        readers = [self.client(b"in-%d" % number) for number in range(4)]
        for reader in readers:
            reader.sendall(b"\x82\x0a\x00\x01\x00\x05topic\x00")
            self.receive(reader, 5)
        writer = self.client(b"outs")
        message = b"\x30\x6b\x00\x05topic" + b"x" * 100
        for _ in range(self.MESSAGES // self.AT_ONCE):
            writer.sendall(message * self.AT_ONCE)
            for reader in readers:
                self.receive(reader, len(message) * self.AT_ONCE)
        server.ask(signal.SIGTERM, self.command()[0])


def programs(build, folder, small):
    """All of them; `small`: only that each runs."""
    share = 1000 if small else 1
    plain, pointers = build / "bin" / "bench-record", build / "bin" / "bench-record-frame-pointers"
    heap = ["--heap", "--full", "heaptrack"]
    pairs, locks, calls, threads = 20_000_000 // share, 10_000_000 // share, 1_000_000 // share, 20_000 // share
    default = ["record", "--heap", "heaptrack"]
    programs = [
        Program("blocks", [plain, "blocks", str(pairs), "2"], heap, 2 * pairs, unit="pair"),
        Program("blocks, frame pointers", [pointers, "blocks", str(pairs), "2"], heap, 2 * pairs, unit="pair"),
        Program("blocks, fewer", [plain, "blocks", str(pairs // 10), "2"], ["--full", "heaptrack", "dhat"],
                2 * (pairs // 10), unit="pair"),
        Program("locks", [plain, "locks", str(locks)], ["--locks", "--locks --full"], locks, unit="pair"),
        Program("contended lock", [plain, "table", str(locks // 8), "4"], ["--locks", "record"], locks // 8 * 4,
                unit="update", goal=GOAL),
        Program("mutex, empty, 4 threads", [plain, "mutex", str(locks // 8), "4"], ["--locks"], locks // 8 * 4,
                unit="pair"),
        Program("semaphore, empty, 8 threads", [plain, "semaphore", str(locks // 16), "8"], ["--locks"],
                locks // 16 * 8, unit="pair"),
        Program("system calls", [plain, "calls", str(calls)], ["--syscalls", "strace"], calls, unit="call"),
        Program("reads", [plain, "calls", str(10 * calls)], default, 10 * calls, unit="call", goal=GOAL_OF_EVENTS),
        Program("brief threads", [plain, "threads", str(threads)], default, threads, unit="thread",
                goal=GOAL_OF_EVENTS),
        Program("recursion", [plain, "tree", str(pairs // 20)], heap, pairs // 20, unit="block"),
    ]
    compiler = subprocess.run(["g++", "-print-prog-name=cc1plus"], capture_output=True, text=True,
                              check=True).stdout.strip()
    source = preprocessed(folder)
    programs.append(Program("compiler", [compiler, "-quiet", "-std=c++20", "-O2", source, "-o", "/dev/null"],
                            [*heap, "record"]))
    programs.append(Program("python3", ["/usr/bin/python3", "-c", PYTHON], [*heap, "record"],
                         environment=(("PYTHONMALLOC", "malloc"), ("PYTHONHASHSEED", "0"))))
    servers = {"redis": (Redis, (), ("redis-server", "redis-benchmark")), "memcached": (Memcached, (), ("memcached",)),
               "haproxy": (Haproxy, (folder,), ("haproxy", "h2load")),
               "mosquitto": (Mosquitto, (folder,), ("mosquitto",))}
    for name, (kind, arguments, needed) in servers.items():
        if all(map(shutil.which, needed)):
            server = kind(*arguments)
            full = ["--full"] if name == "redis" else []
            programs.append(Program(name, server.command(), [*default, *full], load=server.load, goal=GOAL))
    for name, program_arguments in ("node", ["-e", NODE]), ("gnuplot", ["-e", GNUPLOT]):
        if shutil.which(name):
            programs.append(Program(name, [name, *program_arguments], default, goal=GOAL))
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
    timings = results[name]
    if timings is None:
        return [f"  {name}", "failed"]
    plain_kib = statistics.median(result["kib"] for result in results["plain"])
    kib = statistics.median(result["kib"] for result in timings)
    # Of a small program the kernel reports what this script had when it started it.
    mebibytes = f"{kib / 1024:.0f} MiB" if name == "plain" else f"+ {(kib - plain_kib) / 1024:.0f} MiB"
    memory = "" if program.unit else mebibytes
    size = statistics.median(result["file"] for result in timings)
    per_unit = ""
    if program.events:
        added = statistics.median(result["seconds"] - other["seconds"]
                                  for result, other in zip(timings, results["plain"]))
        base = plain / program.events * 1e9
        per_unit = f"{base:.1f} ns a {program.unit}" if name == "plain" else f"+ {added / program.events * 1e9:.1f} ns"
    if name == "plain":
        return [program.name, "1", "", "", per_unit or f"{plain:.2f} s", memory]
    all_ratios = [result["seconds"] / other["seconds"] for result, other in zip(timings, results["plain"])]
    account = ""
    if "reported" in timings[0]:
        added = statistics.median(result["seconds"] - other["seconds"]
                                  for result, other in zip(timings, results["plain"]))
        account = f"{statistics.median(result['reported'] for result in timings):.2f} of {added:.2f} s"
    quartiles = statistics.quantiles(all_ratios, n=4) if len(all_ratios) > 1 else [all_ratios[0]] * 3
    ratio = statistics.median(all_ratios)
    goal = ""
    if name == "record" and program.goal:
        goal = f"{'≤' if ratio <= program.goal else '!'} {program.goal:.2f}"
    return [f"  {name}", f"{ratio:.2f}", goal, f"{quartiles[0]:.2f} to {quartiles[2]:.2f}", per_unit, memory,
            f"{size / 1000:,.0f} kB", account]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--rounds", type=int, default=7, help="how often each program runs under each recorder (7)")
    parser.add_argument("--only", metavar="WORD", action="append",
                        help="programs whose name has this word; may be repeated")
    parser.add_argument("--json", metavar="FILE", type=pathlib.Path, help="all that was measured")
    parser.add_argument("--check", action="store_true", help="small: does each program run under each recorder?")
    options = parser.parse_args()
    options.build = options.build.resolve()
    with tempfile.TemporaryDirectory(prefix="tarn-bench-") as temporary:
        inputs, outputs = pathlib.Path(temporary) / "in", pathlib.Path(temporary) / "out"
        inputs.mkdir()
        outputs.mkdir()
        started = tools(options.build / "bin" / "tarn", outputs)
        chosen_programs = [program for program in programs(options.build, inputs, options.check)
                           if not options.only or set(options.only) & set(program.name.replace(",", "").split())]
        if not chosen_programs:
            parser.error(f"no program is called {' or '.join(options.only)}")
        results, lines = {}, []
        with process.Supervisor(inputs) as supervisor:
            for program in chosen_programs:
                print(f"   {program.name}", file=sys.stderr)
                figures = measure(program, started, 1 if options.check else options.rounds, outputs, supervisor)
                results[program.name] = figures
                lines += [line(program, figures, name) for name in figures]
    missing = sorted({recorder for program in chosen_programs for recorder in program.recorders} - started.keys())
    print(f"{machine.name()}, load {os.getloadavg()[0]:.1f}\n")
    columns = ["program, under", "CPU time", "goal", "quartiles", "", "memory", "files", "says it took"]
    print(text.lay_out(columns, lines))
    if missing:
        print(f"\nNot installed, left out: {', '.join(missing)}.")
    if options.json:
        options.json.write_text(json.dumps(results, indent=1), encoding="utf-8")


if __name__ == "__main__":
    try:
        main()
    except (process.Failed, subprocess.SubprocessError) as problem:
        sys.exit(f"bench record: {problem}")
