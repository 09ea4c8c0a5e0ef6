#!/usr/bin/env python3
"""The server of examples/appserver under wrk, on loopback: run.py --build BUILD [options].

All servers run all the time and are asked in turn, round by round; ratios are of one round, as both then meet the same
machine. CPU time is the server's own, from the kernel's scheduler."""

import argparse
import contextlib
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from runner import averages, columns, machine, peers, process, text  # noqa: E402  pylint: disable=wrong-import-position

PAGE, SMALL, BARE, READ = "/page?rows=256", "/small", "/bare?rows=256", "/read?rows=256&by="
WAYS = ["const", "read_only", "snapshot", "snapshots", "mutex", "shared_mutex", "shared_ptr", "request_lock"]


class Server:
    """A server that prints its address, on an allocator, until the end of the bench."""

    def __init__(self, command, preload=""):
        environment = peers.neutral_environment("TARN_")
        if preload:
            environment["LD_PRELOAD"] = preload
        self.process = subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE)
        output = self.process.stdout.readline()
        if not output:
            raise process.Failed(f"{' '.join(map(str, command))} did not start")
        self.port = int(re.search(r":(\d+)/", output)[1])
        mappings = pathlib.Path(f"/proc/{self.process.pid}/maps")
        if preload and os.path.realpath(preload) not in mappings.read_text("utf-8"):
            raise process.Failed(f"{preload} was not loaded")

    def busy_ns(self):
        return sum(int((task / "schedstat").read_text("utf-8").split()[0])
                   for task in pathlib.Path(f"/proc/{self.process.pid}/task").iterdir())

    def resident_kib(self):
        return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{self.process.pid}/status").read_text("utf-8"))[1])

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(20)


def load(server, path, seconds, connections=16):
    """Requests a second, the server's microseconds a request, the 99th percentile of latency in ms."""
    before = server.busy_ns()
    output = subprocess.run(["wrk", "-t1", f"-c{connections}", f"-d{seconds}", "--latency",
                             f"http://127.0.0.1:{server.port}{path}"],
                            capture_output=True, text=True, check=True).stdout
    busy = server.busy_ns() - before
    if "Socket errors" in output or "Non-2xx" in output:
        raise process.Failed(f"{path}: {output}")
    number, unit = re.search(r"\s99%\s+([\d.]+)(us|ms|s)", output).groups()
    requests = int(re.search(r"(\d+) requests in", output)[1])
    return {"requests": float(re.search(r"Requests/sec:\s+([\d.]+)", output)[1]), "us": busy / 1000 / requests,
            "p99_ms": float(number) * {"us": 0.001, "ms": 1, "s": 1000}[unit]}


def measure(rows, rounds, seconds):
    """Of each row the results of all rounds."""
    samples = {name: [] for name, _, _ in rows}
    for number in range(rounds + 1):
        for name, server, path in rows if number % 2 else reversed(rows):
            result = load(server, path, seconds)
            if number:  # the first warms up
                samples[name].append(result)
        print(f"   round {number} of {rounds}", file=sys.stderr)
    return samples


def median(results, key):
    return statistics.median(result[key] for result in results)


def ratio(results, base, key):
    return averages.ratio_by_round([own_result[key] for own_result in results], [other[key] for other in base])


def best(results, key):
    """Where other work runs, too: what it disturbed least."""
    return (max if key == "requests" else min)(result[key] for result in results)


def table(title, samples, names, base, busy):
    lines = []
    for name in names:
        results, others = samples[name], samples[base]
        value = best if busy else median
        times = [best(results, key) / best(others, key) if busy else ratio(results, others, key)
                 for key in ("requests", "us")]
        lines.append([name, f"{value(results, 'requests'):,.0f}", f"{value(results, 'us'):.2f}",
                      f"{value(results, 'p99_ms'):.2f}", f"{times[0]:.2f}", f"{times[1]:.3f}"])
    print(text.lay_out([title, "requests/s", "server us", "p99 ms", f"requests / {base}", f"us / {base}"], lines),
          end="\n\n")


def compare(options):
    build = options.build
    mallocs, missing = columns.find_mallocs("bench-appserver")
    with contextlib.ExitStack() as ends:
        def started(kind, preload=""):
            server = Server([build / "bin" / "bench-appserver", "0", kind], preload)
            ends.callback(server.end)
            return server

        ours = started("tarn")
        plain = started("global")
        pages = [("tarn", ours, PAGE), ("glibc", plain, PAGE)]
        for column in mallocs:
            if column.preload:
                pages.append((column.name, started("global", column.preload), PAGE))
        drop_in = build / "lib" / "libtarn-malloc.so"
        dropped_in = started("global", str(drop_in))
        pages.append(("tarn's drop-in", dropped_in, PAGE))
        steps = [("1 naive", plain, READ + "mutex"), ("2 categories", plain, READ + "snapshot"),
                 ("3 drop-in", dropped_in, READ + "snapshot"), ("4 arenas", ours, READ + "snapshot"),
                 ("5 nothing to allocate", ours, BARE)]
        controls = [("small, tarn", ours, SMALL), ("small, glibc", plain, SMALL),
                    ("bare, tarn", ours, BARE), ("bare, glibc", plain, BARE)]
        ways = [(way, ours, READ + way) for way in WAYS]
        samples = measure(pages + controls + ways + steps, options.rounds, options.seconds)
    for line in missing:
        print(line)
    table("page of 256 rows, 20 KB", samples, [name for name, _, _ in pages], "glibc", options.busy)
    table("control", samples, ["small, tarn", "small, glibc"], "small, glibc", options.busy)
    table("control", samples, ["bare, tarn", "bare, glibc", "tarn", "glibc"], "bare, glibc", options.busy)
    table("256 reads of the configuration", samples, WAYS, "const", options.busy)
    table("steps of docs/guide/server-steps.md", samples, [name for name, _, _ in steps], "1 naive", options.busy)
    return samples


def soak(options):
    """Resident memory over many requests."""
    server = Server([options.build / "bin" / "bench-appserver", "0", "tarn"])
    try:
        load(server, PAGE, 5)
        load(server, SMALL, 2)
        start, request_count = server.resident_kib(), 0
        peak = start
        while request_count < options.soak:
            for path in PAGE, SMALL:
                request_count += int(load(server, path, 5)["requests"] * 5)
                peak = max(peak, server.resident_kib())
        end = server.resident_kib()
        print(f"soak: {request_count:,} requests, resident {start:,} KiB after the warm-up, at most {peak:,}, {end:,} "
              f"at the end ({100 * (end - start) / start:+.2f} %)")
        return {"requests": request_count, "start_kib": start, "max_kib": peak, "end_kib": end}
    finally:
        server.end()


def reload(options):
    """SIGHUP twice a second under load, with connections that stay and without."""
    rows = []
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as ends:
        file = pathlib.Path(folder) / "app.toml"
        script = pathlib.Path(folder) / "whole.lua"
        script.write_text('torn, threads = 0, {}\nfunction setup(thread) table.insert(threads, thread) end\n'
                          'function response(status, headers, body)\n'
                          '  local title, footer = body:match("<title>(%w+)<.*<p>(%w+)\\n$")\n'
                          '  if status ~= 200 or title == nil or title ~= footer then torn = torn + 1 end\nend\n'
                          'function done() for _, thread in ipairs(threads) do io.write("torn: " .. '
                          'thread:get("torn") .. '
                          '"\\n") end end\n', encoding="utf-8")

        def write(number):
            file.write_text(f'[server]\nport = 0\n[site]\ntitle = "v{number}"\nfooter = "v{number}"\n',
                            encoding="utf-8")

        write(1)
        server = Server([options.build / "bin" / "tarn-appserver", "--config", file])
        ends.callback(server.process.kill)
        for load_options in ["connections that stay"], ["a connection for each request", "-H", "Connection: close"]:
            with subprocess.Popen(["wrk", "-t1", "-c16", f"-d{options.reload}", "-s", script, *load_options[1:],
                                   f"http://127.0.0.1:{server.port}/page?rows=20"], stdout=subprocess.PIPE,
                                   text=True) as wrk:
                reloads = 1
                while wrk.poll() is None:
                    reloads += 1
                    write(reloads)
                    server.process.send_signal(signal.SIGHUP)
                    server.process.stdout.readline()
                    time.sleep(0.5)
                output = wrk.stdout.read()
            request_count = int(re.search(r"(\d+) requests in", output)[1])
            errors = re.search(r"Socket errors: (.*)", output)
            failures = re.search(r"Non-2xx or 3xx responses: (\d+)", output)
            rows.append({"with": load_options[0], "requests": request_count, "reloads": reloads - 1,
                         "torn": int(re.search(r"torn: (\d+)", output)[1]),
                         "failed": int(failures[1]) if failures else 0,
                         "errors": errors[1] if errors else "none"})
            print("reload: {with}: {requests:,} requests, {reloads} reloads, {failed} failed, {torn} torn, socket "
                  "errors: "
                  "{errors}".format(**rows[-1]))
    return rows


def crowd(options):
    """What connections that wait cost in memory, and what slow clients cost the others."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as connections:
        file = pathlib.Path(folder) / "app.toml"
        file.write_text("[server]\nport = 0\nconnections = 100000\nidle_ms = 600000\nrequest_ms = 600000\n",
                        encoding="utf-8")
        server = Server([options.build / "bin" / "tarn-appserver", "--config", file])
        connections.callback(server.process.kill)

        def connect(times, sent=b""):
            for _ in range(times):
                line = connections.enter_context(socket.create_connection(("127.0.0.1", server.port)))
                line.sendall(sent)
            time.sleep(0.5)

        baseline = load(server, SMALL, 3)
        before = server.resident_kib()
        idle = min(10_000, limit - 2_000)
        connect(idle, b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        figures = {"idle": idle, "bytes_per_idle": (server.resident_kib() - before) * 1024 / idle,
                   "alone": baseline, "beside_idle": load(server, SMALL, 3)}
        connect(1_000, b"GET /small HTTP/1.1\r\nHo")
        connect(50, b"GET /page?rows=100000 HTTP/1.1\r\nHost: x\r\n\r\n")
        busy = 0
        while busy != (busy := server.busy_ns() // 50_000_000):  # until these pages are built
            time.sleep(0.5)
        figures["beside_all"] = load(server, SMALL, 3)
        print(f"crowd: {idle:,} idle connections take {figures['bytes_per_idle']:,.0f} bytes each of the server. p99 "
              f"of /small: {baseline['p99_ms']:.2f} ms alone, {figures['beside_idle']['p99_ms']:.2f} beside them, "
              f"{figures['beside_all']['p99_ms']:.2f} beside 1,000 half requests and 50 that do not read 8 MB, too "
              f"({baseline['us']:.2f}, {figures['beside_idle']['us']:.2f}, {figures['beside_all']['us']:.2f} us a "
              "request)")
        return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=1, help="of wrk, for each row of a round")
    parser.add_argument("--busy", action="store_true", help="the best of all rounds, where other work runs, too")
    parser.add_argument("--soak", type=int, metavar="REQUESTS", help="instead: memory over so many requests")
    parser.add_argument("--reload", type=int, metavar="SECONDS", help="instead: SIGHUP twice a second under load")
    parser.add_argument("--crowd", action="store_true", help="instead: 10,000 idle connections, and slow ones")
    parser.add_argument("--json", metavar="FILE", help="the results of all rounds, too")
    options = parser.parse_args()
    if not shutil.which("wrk"):
        sys.exit("bench appserver needs wrk (package wrk)")
    if not (options.build / "bin" / "bench-appserver").exists():
        sys.exit("the server was left out of the build: it needs libboost1.81-dev and libtomlplusplus-dev")
    print(f"{machine.name()}, load {os.getloadavg()[0]:.2f} at the start; wrk -t1 -c16")
    try:
        if options.soak:
            results = soak(options)
        elif options.reload:
            results = reload(options)
        elif options.crowd:
            results = crowd(options)
        else:
            results = compare(options)
    except process.Failed as error:
        sys.exit(str(error))
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
