"""The server under load, seen from outside: load_test.py PROGRAM SAMPLE-CONFIGURATION TARN."""

import collections
import contextlib
import http.client
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unittest

from driver import PATIENCE, PROGRAM, TARN, Server, get

# Counts the pages whose title and footer are not of one configuration.
WHOLE_PAGES = """
torn, threads = 0, {}
function setup(thread) table.insert(threads, thread) end
function response(status, headers, body)
  local title, footer = body:match("<title>(%w+)<.*<p>(%w+)\\n$")
  if status ~= 200 or title == nil or title ~= footer then torn = torn + 1 end
end
function done() for _, thread in ipairs(threads) do io.write("torn: " .. thread:get("torn") .. "\\n") end end
"""


def site(number):
    return f'[server]\nport = 0\n[site]\ntitle = "v{number}"\nfooter = "v{number}"\n'


@unittest.skipUnless(shutil.which("wrk"), "wrk is not here")
class Reload(unittest.TestCase):
    def under_load(self, *arguments):
        with Server(site='[site]\ntitle = "v1"\nfooter = "v1"\n') as server:
            script = pathlib.Path(server.folder.name) / "whole.lua"
            script.write_text(WHOLE_PAGES, encoding="utf-8")
            url = f"http://127.0.0.1:{server.port}/page?rows=20"
            with subprocess.Popen(["wrk", "-t1", "-c8", "-d2", "--timeout", "60", "-s", script, *arguments, url],
                                  stdout=subprocess.PIPE,
                                  text=True) as wrk:
                number = 1
                while wrk.poll() is None:
                    number += 1
                    server.reload(site(number))
                    self.assertEqual(server.process.stdout.readline(), f"appserver: configuration {number}\n")
                output = wrk.stdout.read()
            self.assertGreater(number, 1)
            self.assertGreater(int(re.search(r"(\d+) requests in", output)[1]), 0, output)
            self.assertNotIn("Socket errors", output)
            self.assertNotIn("Non-2xx", output)
            self.assertIn("torn: 0\n", output)
            self.assertEqual((server.end(), server.output()), (0, ""))

    def test_with_connections_that_stay(self):
        self.under_load()

    def test_with_a_connection_for_each_request(self):
        self.under_load("-H", "Connection: close")


class Stop(unittest.TestCase):
    def test_each_request_that_was_begun_is_answered_whole(self):
        """What the clients have got whole is what the server says that it answered, and none has got a part."""
        with tempfile.TemporaryDirectory() as folder:
            log = pathlib.Path(folder) / "access"
            with Server(f'access_log = "{log}"\naccess_log_bytes = 67108864') as server:
                statuses, parts = collections.Counter(), []

                def client(name):
                    with server.connect() as line, line.makefile("rb") as replies, contextlib.suppress(ConnectionError):
                        while True:
                            line.sendall(3 * get("/page?rows=300"))
                            for number in range(3):  # the server reads them at once: it answers all, or none
                                head = b"".join(iter(replies.readline, b"\r\n")) if replies.peek() else b""
                                if not head:
                                    parts.extend(["so many of three requests", number] if number else [])
                                    return
                                size = int(re.search(rb"Content-Length: (\d+)", head)[1])
                                if len(body := replies.read(size)) != size:
                                    parts.append(body)
                                statuses[name] += 1

                clients = [threading.Thread(target=client, args=(name,)) for name in range(6)]
                for peer in clients:
                    peer.start()
                while len(statuses) < len(clients):
                    time.sleep(0.01)
                time.sleep(0.3)
                self.assertEqual(server.end(), 0)
                for peer in clients:
                    peer.join()
                self.assertEqual((parts, server.output()), ([], ""))
                lines = subprocess.run([TARN, "journal", "cat", log], capture_output=True, text=True, check=True).stdout
                self.assertEqual(lines.count('"GET /page?rows=300 HTTP/1.1" 200 '), statuses.total())


CALLS = re.compile(r"(malloc|calloc|realloc|reallocarray|memalign|aligned_alloc|posix_memalign|operator new.*|free|"
                   r"operator delete.*)$")
LOCKS = re.compile(r"pthread_(mutex_(try|timed|clock)?lock|rwlock_(try|timed)?(rd|wr)lock|spin_lock)\b")


def counts_of(profile):
    """How often which function was called in all of a run, from a file of callgrind."""
    names, calls, callee = {}, collections.Counter(), None
    for line in pathlib.Path(profile).read_text(encoding="utf-8").splitlines():
        if line.startswith(("fn=", "cfn=")):
            number, name = re.search(r"fn=\((\d+)\)(?: (.*))?", line).groups()
            names.setdefault(number, name)
            callee = names[number] if line.startswith("cfn=") else callee
        elif line.startswith("calls="):
            calls[callee] += int(line[6:].split()[0])
    return calls


def ask_all(server, cookie, pages, counters):
    """On one connection, which stays."""
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)) as line:
        for path, times in ("/page?rows=50", pages), ("/counter", counters):
            for _ in range(times):
                line.request("GET", path, headers={"Cookie": cookie})
                assert line.getresponse().read()


class SteadyState(unittest.TestCase):
    """Two runs of different length: what they differ in is what a request costs."""

    def profile(self, pages, counters):
        with tempfile.TemporaryDirectory() as folder:
            profile = pathlib.Path(folder) / "profile"
            under = ["valgrind", "--tool=callgrind", "-q", f"--callgrind-out-file={profile}"]
            with Server("workers = 1\nstop_timeout_ms = 60000", under=under) as server:
                cookie = server.ask("POST", "/login", "user=ada").headers["Set-Cookie"].split(";")[0]
                ask_all(server, cookie, pages, counters)
                self.assertEqual(server.end(60), 0)
            calls = counts_of(profile)
            return [{name: times for name, times in calls.items() if pattern.match(name)} for pattern in (CALLS, LOCKS)]

    @unittest.skipUnless(shutil.which("valgrind"), "valgrind is not here")
    def test_no_call_of_the_global_heap_and_a_lock_for_the_session(self):
        calls, locks = self.profile(20, 20)
        more_calls, more_locks = self.profile(120, 70)
        self.assertGreater(sum(calls.values()), 50)  # it does count
        # A few come once or not, as events follow each other at start and stop. One of each request would be 150.
        self.assertLess(abs(sum(more_calls.values()) - sum(calls.values())), 15, (calls, more_calls))
        self.assertEqual(sum(more_locks.values()) - sum(locks.values()), 50, (locks, more_locks))

    @unittest.skipIf(os.environ.get("CHECKED_BUILD") == "1", "a checked build looks up the names of threads")
    @unittest.skipUnless(shutil.which("strace"), "strace is not here")
    def test_system_calls_are_the_sockets_own(self):
        counts = []
        for times in 100, 600:
            with tempfile.TemporaryDirectory() as folder:
                trace = pathlib.Path(folder) / "trace"
                with Server("workers = 1", under=["strace", "-D", "-f", "-c", "-U", "name,calls", "-o",
                                                  trace]) as server:
                    if server.port is None:
                        self.skipTest("strace may not trace here")
                    cookie = server.ask("POST", "/login", "user=ada").headers["Set-Cookie"].split(";")[0]
                    ask_all(server, cookie, times, times)
                    self.assertEqual(server.end(60), 0)
                    until = time.monotonic() + PATIENCE
                    while "total" not in trace.read_text(encoding="utf-8") and time.monotonic() < until:
                        time.sleep(0.01)
                counts.append({name: int(calls) for name, calls in
                              re.findall(r"^\s*(\w+)\s+(\d+)$", trace.read_text(encoding="utf-8"), re.MULTILINE)})
        short, long = counts
        added = {name: (calls - short.get(name, 0)) / 1000 for name, calls in long.items()}
        self.assertEqual(round(added.pop("sendmsg"), 1), 1, added)
        self.assertLessEqual(added.pop("recvfrom"), 2.1)
        self.assertLessEqual(added.pop("epoll_wait"), 1.5)
        added.pop("total", None)
        self.assertEqual({name: calls for name, calls in added.items() if calls > 0.05}, {})  # a tick has its own


class Slow(unittest.TestCase):
    def test_who_is_slow_holds_nobody_up(self):
        settings = "connections = 4000\nrequest_ms = 60000\nidle_ms = 60000"
        with Server(settings) as server, contextlib.ExitStack() as connections:
            for number in range(600):
                line = connections.enter_context(server.connect())
                if number % 3 == 0:
                    line.sendall(b"GET /small HTTP/1.1\r\nHo")  # goes on never
                elif number % 30 == 1:
                    line.sendall(get("/page?rows=20000"))  # and reads nothing of it
            for path in ["/healthz", "/page?rows=300"] * 50:
                self.assertEqual(server.ask("GET", path).status, 200)
            self.assertIn("appserver_connections", server.ask("GET", "/metrics").text)


class Log(unittest.TestCase):
    def test_a_line_for_each_request_and_none_is_forged(self):
        with tempfile.TemporaryDirectory() as folder:
            log = pathlib.Path(folder) / "access"
            with Server(f'access_log = "{log}"\naccess_log_bytes = 1048576\nworkers = 1') as server:
                for path in "/small", '/a"b', "/\\", "/" + 3000 * "x":
                    server.raw(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
                server.raw(b"\1\r\n\r\n")
                server.process.send_signal(signal.SIGKILL)  # nothing is flushed, nothing is closed
                server.process.wait()
            log_text = subprocess.run([TARN, "journal", "cat", log], capture_output=True, text=True, check=True).stdout
            lines = re.findall(r'^.*127\.0\.0\.1 - - \[\d\d/\w{3}/\d{4}:\d\d:\d\d:\d\d \+0000\] (".*") (\d+) \d+ \d+$',
                               log_text, re.MULTILINE)
            self.assertEqual(lines, [('"GET /small HTTP/1.1"', "200"), ('"GET /a?b HTTP/1.1"', "404"),
                                     ('"GET /\\ HTTP/1.1"', "404"), ('"GET /' + 1023 * "x" + ' HTTP/1.1"', "404"),
                                     ('"  HTTP/1.1"', "400")], log_text)

    def test_a_full_disk_is_said_at_the_start(self):
        """All of the log is allocated then, so that a disk that fills later takes no line."""
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "app.toml"
            log = pathlib.Path(folder) / "disk" / "access"
            log.parent.mkdir()
            file.write_text(f'[server]\nport = 0\naccess_log = "{log}"\n', encoding="utf-8")
            mounted = ["unshare", "--mount", "--map-root-user", "sh", "-c",
                       'mount -t tmpfs -o size=2m tmpfs "$0" && shift && exec "$@"', log.parent, "-"]
            if subprocess.run([*mounted, "true"], capture_output=True, check=False).returncode != 0:
                self.skipTest("no file system can be mounted here")
            result = subprocess.run([*mounted, PROGRAM, "--config", file], capture_output=True, text=True,
                                    timeout=PATIENCE, check=False)
            self.assertEqual((result.returncode, result.stdout), (1, ""))
            self.assertEqual(result.stderr, 'tarn: application "appserver": not started: the initialiser threw: '
                                          f"{log}: has no room for a journal of 67108864 bytes: No space left on "
                                          f"device\n")


class Flood(unittest.TestCase):
    """Clients that ask for large pages and do not read them."""

    BUDGET = 64  # MiB
    CLIENTS = 30

    def resident(self, server, line="VmRSS"):
        status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text(encoding="ascii")
        return int(re.search(rf"{line}:\s+(\d+) kB", status)[1]) / 1024

    def wave(self, server):
        with contextlib.ExitStack() as stack:
            lines = [stack.enter_context(server.connect()) for _ in range(self.CLIENTS)]
            for line in lines:
                line.sendall(get("/page?rows=100000"))
            for _ in range(3):  # a client that means well is served meanwhile
                self.assertEqual(server.ask("GET", "/small").status, 200)

    def test_memory_stays_within_the_budget_and_goes_back(self):
        with Server(f"memory_bytes = {self.BUDGET << 20}\nheap_bytes = 0") as server:
            self.assertEqual(server.ask("GET", "/small").status, 200)
            first = self.resident(server)
            for _ in range(3):
                self.wave(server)
            # Free memory that may stay for a moment comes on top: 16 MiB of each worker, and a quarter of what is in
            # use.
            self.assertLess(self.resident(server, "VmHWM") - first, 2 * self.BUDGET)
            until = time.monotonic() + PATIENCE
            while self.resident(server) - first > self.BUDGET / 2 and time.monotonic() < until:
                time.sleep(0.1)
            self.assertLess(self.resident(server) - first, self.BUDGET / 2)
            self.assertEqual(server.ask("GET", "/page?rows=1000").status, 200)
            self.assertEqual((server.end(), server.output()), (0, ""))

    def test_what_does_not_fit_is_refused_for_the_moment(self):
        with Server("memory_bytes = 1048576\nworkers = 1") as server:
            reply = server.ask("GET", "/page?rows=100000")
            self.assertEqual((reply.status, reply.headers["Retry-After"]), (503, "1"))
            self.assertEqual(server.ask("GET", "/page?rows=100").status, 200)
            self.assertEqual((server.end(), server.output()), (0, ""))


if __name__ == "__main__":
    unittest.main()
