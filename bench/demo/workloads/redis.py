"""redis-server under redis-benchmark, pipelined, on a Unix socket.

The server also holds, in its second database, a deterministic data set made with every kind of value and with
appends, deletions and overwrites; its digest is the result, taken before and after the load.
"""

import csv
import io
import os
import random
import re
import shutil
import signal

from allocators import neutral_environment
from figures import CPU, PEAK, requests
from runner.process import Failed
from workloads import Outcome

REQUESTS = 600_000
RANGE_REQUESTS = 60_000
KEYS = 100_000
VALUE_BYTES = 100
PIPELINE = 16
CLIENTS = 20
TIMEOUT_S = 120
PATIENCE_S = 2  # for a server that has closed its connections to end
EMPTY_DIGEST = "0" * 40

TESTS = {"SET": "set", "GET": "get", "LPUSH": "lpush", "LRANGE_100 (first 100 elements)": "lrange"}


def data_set(seed=1):
    """The commands that make the deterministic data set."""
    draw = random.Random(seed)

    def text(longest):
        return draw.randbytes(draw.randrange(1, longest)).hex()

    for i in range(12_000):
        yield ("SET", f"string:{i}", text(400))
    for i in range(12_000):
        yield ("APPEND", f"string:{draw.randrange(12_000)}", text(200))
        if i % 3 == 0:
            yield ("DEL", f"string:{draw.randrange(12_000)}")
    for i in range(4_000):
        key = draw.randrange(200)
        yield ("RPUSH", f"list:{key}", *(text(60) for _ in range(8)))
        yield ("HSET", f"hash:{key}", text(12), text(120), text(12), text(90))
        yield ("SADD", f"set:{key}", text(20), text(20), i)
        yield ("ZADD", f"sorted:{key}", draw.randrange(1_000), text(20))
        if i % 4 == 0:
            yield ("LTRIM", f"list:{draw.randrange(200)}", 3, -3)


def parse_benchmark(output):
    """{metric name: requests per second} from redis-benchmark --csv; other lines are passed over."""
    rates = {}
    for row in csv.reader(io.StringIO(output)):
        if len(row) > 1 and row[0] in TESTS:
            rates[TESTS[row[0]]] = float(row[1])
    return rates


class Redis:
    name = "redis"
    title = f"redis-server under redis-benchmark: pipelines of {PIPELINE}, {CLIENTS} clients, {VALUE_BYTES}-byte values"
    # redis-check-rdb is redis-server under another name: the server acts by the name it is called with. Its package
    # has no service, so that installing it starts nothing on the machine.
    programs = dict.fromkeys(("redis-check-rdb", "redis-benchmark", "redis-cli"), "redis-tools")
    metrics = (*map(requests, TESTS.values()), CPU, PEAK)

    def prepare(self, context):
        self._program = os.path.realpath(shutil.which("redis-check-rdb"))
        self._server = os.path.join(context.folder, "redis-server")
        os.symlink(self._program, self._server)

    def probes(self):
        return [("redis-server", [self._server, "--version"])]

    def run(self, context, allocator):
        socket_path = os.path.join(context.folder, "redis.sock")
        server = context.supervisor.start(f"redis-server on {allocator.name}", [
            self._server, "--port", "0", "--unixsocket", socket_path, "--dir", context.folder, "--daemonize", "no",
            "--save", "", "--appendonly", "no", "--enable-debug-command", "yes",
            "--crash-log-enabled", "no"], allocator.environment())
        server.watch(TIMEOUT_S, (self._program, allocator.file))
        try:
            result, rates = self._use(context, server, socket_path)
        except (OSError, Failed) as error:
            if server.ends_within(PATIENCE_S):
                server.finish()  # says how the server ended, unless it ended well
            else:
                server.signal(signal.SIGKILL)
                server.finish(check=False)
            raise Failed(f"{server.name}: {error}\n      command: {server.command}") from error
        outcome = server.finish()
        return Outcome({**rates, "cpu": outcome.cpu_s, "peak": outcome.peak_kib()}, result)

    def _use(self, context, server, socket_path):
        """Load, benchmark, check and shut down; gives (result, rates)."""
        server.await_listener(socket_path, TIMEOUT_S)
        with open(os.path.join(context.folder, "commands"), "wb") as commands:  # one by one: see runner.process.Ended
            commands.writelines(encode(*command) for command in data_set())
        loaded = client(context, socket_path, "-n", 1, "--pipe", input_name="commands")
        replies = re.search(r"errors: 0, replies: (\d+)", loaded)
        if not replies:
            raise Failed(f"redis-cli --pipe: {loaded}")
        before = client(context, socket_path, "-n", 1, "DEBUG", "DIGEST")
        rates = self._benchmark(context, socket_path, ["set", "get", "lpush"], REQUESTS)
        rates.update(self._benchmark(context, socket_path, ["lrange_100"], RANGE_REQUESTS))
        length = client(context, socket_path, "LLEN", "mylist")
        client(context, socket_path, "FLUSHDB", "ASYNC")  # frees in another thread what the main thread allocated
        after = client(context, socket_path, "DEBUG", "DIGEST")
        if EMPTY_DIGEST in (before, after):
            raise Failed("the digest is that of an empty server")
        client(context, socket_path, "SHUTDOWN", "NOSAVE")
        missing = [name for name in TESTS.values() if name not in rates]
        if missing:
            raise Failed("redis-benchmark gave no figure for " + ", ".join(missing))
        return f"{replies[1]} commands, digest {before}, after the load {after}, list of {length}", rates

    def _benchmark(self, context, socket_path, tests, count):
        outcome = context.supervisor.run("redis-benchmark", [
            "redis-benchmark", "-s", socket_path, "-t", ",".join(tests), "-n", str(count), "-r", str(KEYS),
            "-d", str(VALUE_BYTES), "-P", str(PIPELINE), "-c", str(CLIENTS), "--csv"],
            neutral_environment(), TIMEOUT_S)
        return parse_benchmark(outcome.output)


def encode(*arguments):
    """One command as the bytes of an array of bulk strings, in Redis's wire protocol (RESP 2)."""
    parts = [b"$%d\r\n%s\r\n" % (len(data), data) for data in (str(word).encode() for word in arguments)]
    return b"*%d\r\n%s" % (len(parts), b"".join(parts))


def client(context, socket_path, *arguments, input_name="/dev/null"):
    """What redis-cli prints; it fails where the server answers with an error."""
    argv = ["/bin/sh", "-c", 'exec redis-cli -e "$@" < "$0"', input_name, "-s", socket_path, *map(str, arguments)]
    return context.supervisor.run("redis-cli", argv, neutral_environment(), TIMEOUT_S).output.strip()
