"""What the server answers, and its life: appserver_test.py PROGRAM SAMPLE-CONFIGURATION TARN."""

import contextlib
import http.client
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import threading
import time
import unittest

from driver import LAST, PATIENCE, PROGRAM, SAMPLE, SITE, OneServer, Server, everything, get


class Pages(OneServer):
    SITE = SITE + "sessions = 3\nrows = 1000\n"

    def test_small_and_what_is_around_every_reply(self):
        reply = self.server.ask("GET", "/small")
        self.assertEqual((reply.status, reply.text),
                         (200, "<!doctype html><title>one</title>\n<p>A small page.\n<p>one\n"))
        self.assertEqual(reply.headers["Content-Type"], "text/html; charset=utf-8")
        self.assertRegex(reply.headers["Date"], r"^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$")
        self.assertEqual(self.server.ask("GET", "/healthz").text, "ok\n")
        self.assertEqual(self.server.ask("GET", "/version").text, "1 one\n")

    def test_head_is_get_without_the_body(self):
        reply = self.server.ask("HEAD", "/small")
        self.assertEqual((reply.status, reply.text), (200, ""))
        self.assertEqual(int(reply.headers["Content-Length"]), len(self.server.ask("GET", "/small").text))

    def test_page_has_the_rows_that_were_asked_for(self):
        reply = self.server.ask("GET", "/page?rows=1000")
        self.assertEqual(reply.text.count("<tr>"), 1000)
        self.assertTrue(reply.text.startswith("<!doctype html><title>one</title>\n<table>\n<tr><td>customer number "
                                              "1</td>"))
        self.assertTrue(reply.text.endswith("</td></tr>\n</table>\n<p>one\n"))
        self.assertIn("<tr><td>customer number 999</td><td>balance, in cents</td><td>98001</td></tr>\n", reply.text)
        for wrong in ("", "?rows=", "?rows=0", "?rows=1001", "?rows=-1", "?rows=1x", "?rows=99999999999999999999",
                      "?row=1"):
            self.assertEqual(self.server.ask("GET", "/page" + wrong).status, 400, wrong)

    def test_sessions_are_counted_and_limited(self):
        cookies = []
        for user in "ada", "bob", "eve":
            reply = self.server.ask("POST", "/login", f"user={user}")
            self.assertEqual((reply.status, reply.text), (200, f"hello, {user}\n"))
            match = re.fullmatch(r"(session=[0-9a-f]{32}); Path=/; HttpOnly; SameSite=Strict; Max-Age=1800",
                                 reply.headers["Set-Cookie"])
            cookies.append(match[1])
        self.assertEqual(len(set(cookies)), 3)
        full = self.server.ask("POST", "/login", "user=fay")
        self.assertEqual((full.status, full.headers["Retry-After"]), (503, "1"))
        for number in 1, 2, 3:
            self.assertEqual(self.server.ask("GET", "/counter", headers={"Cookie": f"a=b; {cookies[1]}; c=d"}).text,
                             f"bob {number}\n")
        self.assertEqual(self.server.ask("GET", "/counter", headers={"Cookie": cookies[0]}).text, "ada 1\n")

    def test_names_that_are_none(self):
        for body in None, "", "user=", "user=a%20b", "user=<b>", "user=" + 33 * "a", "xuser=a":
            self.assertEqual(self.server.ask("POST", "/login", body).status, 400, body)

    def test_wrong_paths_and_methods(self):
        self.assertEqual(self.server.ask("GET", "/").status, 404)
        self.assertEqual(self.server.ask("GET", "/smallest").status, 404)
        for method, path, allowed in ("POST", "/small", "GET, HEAD"), ("GET", "/login", "POST"):
            reply = self.server.ask(method, path)
            self.assertEqual((reply.status, reply.headers["Allow"]), (405, allowed))

    def test_keep_alive(self):
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=PATIENCE)) as line:
            line.connect()
            first = line.sock
            for rows in 1, 500, 2, 1000, 3:
                line.request("GET", f"/page?rows={rows}")
                self.assertEqual(line.getresponse().read().count(b"<tr>"), rows)
            self.assertIs(line.sock, first)
        old = self.server.raw(b"GET /healthz HTTP/1.0\r\n\r\n")
        self.assertTrue(old.startswith(b"HTTP/1.0 200 ") and old.endswith(b"\r\n\r\nok\n"), old)

    def test_pipelined_requests_are_answered_in_their_order(self):
        sent = b"".join(get(f"/page?rows={rows}") for rows in range(1, 60)) + get("/healthz", LAST)
        answer = self.server.raw(sent)
        self.assertEqual(answer.count(b"HTTP/1.1 200 OK"), 60)
        self.assertEqual([part.count(b"<tr>") for part in answer.split(b"HTTP/1.1 200 OK")[1:]], [*range(1, 60), 0])
        # Byte by byte it is the same.
        with self.server.connect() as line:
            for byte in get("/version") + get("/healthz", LAST):
                line.send(bytes([byte]))
            self.assertEqual(re.findall(rb"\r\n\r\n([^\n]*)\n", everything(line)), [b"1 one", b"ok"])

    def test_continue_is_said_where_it_is_expected(self):
        with self.server.connect() as line:
            line.sendall(b"POST /login HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 6\r\n\r\n")
            self.assertEqual(line.recv(100), b"HTTP/1.1 100 Continue\r\n\r\n")
            line.sendall(b"user=<")
            self.assertTrue(line.recv(1000).startswith(b"HTTP/1.1 400 "))

    def test_metrics_add_up(self):
        def numbers():
            reply = self.server.ask("GET", "/metrics")
            self.assertTrue(reply.headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0"))
            self.assertTrue(reply.text.endswith("\n# EOF\n"))
            return {name: float(value) for name, value in re.findall(r"^([^# ]+) (\S+)$", reply.text, re.MULTILINE)}

        before = numbers()
        for _ in range(10):
            self.server.ask("GET", "/small")
        now = numbers()
        # The reply before may be counted a moment after the client has it.
        total = [sum(value for name, value in values.items() if "requests_total" in name) for values in (before, now)]
        self.assertIn(total[1] - total[0], (10, 11, 12))
        buckets = [value for name, value in now.items() if "_bucket" in name]
        self.assertEqual(buckets, sorted(buckets))
        self.assertEqual(buckets[-1], now["appserver_latency_seconds_count"])
        until = time.monotonic() + PATIENCE  # a worker looks at its heap ten times a second
        while max(now[f'appserver_footprint_bytes{{worker="{worker}"}}'] for worker in (0, 1)) == 0:
            self.assertLess(time.monotonic(), until)
            now = numbers()


class Life(unittest.TestCase):
    def test_reload_under_requests(self):
        with Server() as server:
            stop, texts, wrong = threading.Event(), set(), []

            def client():
                try:
                    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", server.port,
                                                                       timeout=PATIENCE)) as line:
                        line.connect()
                        first = line.sock
                        while not stop.is_set():
                            line.request("GET", "/page?rows=20")
                            text = line.getresponse().read().decode()
                            title, footer = re.search(r"<title>(\w+)<", text)[1], text.rsplit("<p>", 1)[1].strip()
                            texts.add(title)
                            if title != footer or line.sock is not first:
                                wrong.append((title, footer))
                except Exception as error:  # pylint: disable=broad-except
                    wrong.append(error)

            clients = [threading.Thread(target=client) for _ in range(4)]
            for peer in clients:
                peer.start()
            for number in range(2, 12):
                server.reload(f'[server]\nport = 0\n[site]\ntitle = "v{number}"\nfooter = "v{number}"\n')
                self.assertEqual(server.process.stdout.readline(), f"appserver: configuration {number}\n")
                self.assertEqual(server.ask("GET", "/version").text, f"{number} v{number}\n")
                while f"v{number}" not in texts and not wrong:
                    time.sleep(0.001)
            stop.set()
            for peer in clients:
                peer.join()
            self.assertEqual(wrong, [])
            self.assertGreaterEqual(len(texts), 10)
            self.assertEqual(server.end(), 0)
            self.assertEqual(server.output(), "")

    def test_failed_reload_says_so_once_and_changes_nothing(self):
        with Server() as server:
            server.reload('[site]\ntitle = "two"\nrows = "many"\n')
            until = time.monotonic() + PATIENCE
            while not server.output() and time.monotonic() < until:
                time.sleep(0.01)
            self.assertEqual(server.ask("GET", "/version").text, "1 one\n")
            server.reload('[server]\nport = 0\nworkers = 7\n[site]\ntitle = "three"\n')
            self.assertEqual(server.process.stdout.readline(),
                             "appserver: configuration 2; [server] has changed, too: from the next start on\n")
            self.assertEqual(server.ask("GET", "/version").text, "2 three\n")
            self.assertEqual(server.end(), 0)
            self.assertRegex(server.output(), r"\A.*reload failed: .*app\.toml:3:8: "
                                            r"site\.rows is not a whole number\n\Z")

    def test_requests_that_began_are_answered_before_the_end(self):
        with Server("stop_timeout_ms = 15000") as server:
            with server.connect() as idle, server.connect() as begun, server.connect() as piped:
                for line in idle, begun, piped:
                    line.sendall(get("/healthz"))
                    self.assertTrue(line.recv(1000).endswith(b"ok\n"))
                begun.sendall(b"POST /login HTTP/1.1\r\nHost: x\r\nContent-Length: 8\r\n\r\nuser")
                piped.sendall(get("/page?rows=9") + b"GET /small")
                time.sleep(0.2)  # until the worker has read it
                server.process.send_signal(signal.SIGTERM)
                self.assertEqual(idle.recv(1), b"")
                self.assertTrue(server.refuses())
                begun.sendall(b"=eve" + get("/version"))
                piped.sendall(b" HTTP/1.1\r\nHost: x\r\n\r\n")
                answer = everything(begun)
                self.assertEqual(re.findall(rb"\r\n\r\n([^\n]*)\n", answer), [b"hello, eve", b"1 one"])
                self.assertEqual([b"Connection: close\r\n" in part for part in answer.split(b"HTTP/1.1 200 OK")],
                                 [False, False, True])
                self.assertTrue(everything(piped).endswith(b"<p>A small page.\n<p>one\n"))
            self.assertEqual(server.process.wait(PATIENCE), 0)

    def test_who_does_not_end_by_the_deadline_is_ended(self):
        with Server("stop_timeout_ms = 100\nrequest_ms = 3600000") as server, server.connect() as line:
            line.sendall(b"GET /small")
            time.sleep(0.2)
            self.assertEqual(server.end(), 0)

    def test_connections_are_limited(self):
        with Server("connections = 2\nworkers = 1") as server:
            with server.connect() as first, server.connect() as two:
                for line in first, two:
                    line.sendall(get("/healthz"))
                    self.assertTrue(line.recv(1000).endswith(b"ok\n"))
                with server.connect() as third:
                    self.assertTrue(everything(third).startswith(b"HTTP/1.1 503 "))
                first.sendall(get("/healthz", LAST))
                self.assertTrue(everything(first).endswith(b"ok\n"))
            for _ in range(1000):
                if server.raw(get("/healthz", LAST)).endswith(b"ok\n"):
                    break
                time.sleep(0.02)
            else:
                self.fail("no room after clients have left")

    def test_sessions_and_idle_connections_end(self):
        with Server("idle_ms = 1000", SITE + "session_seconds = 2\nsessions = 1\n") as server:
            cookie = server.ask("POST", "/login", "user=ada").headers["Set-Cookie"].split(";")[0]
            self.assertEqual(server.ask("POST", "/login", "user=bob").status, 503)
            with server.connect() as line:
                self.assertEqual(everything(line), b"")
            time.sleep(2)
            self.assertEqual(server.ask("GET", "/counter", headers={"Cookie": cookie}).status, 401)
            self.assertEqual(server.ask("POST", "/login", "user=bob").status, 200)

    def test_both_allocators_serve_the_same(self):
        with Server(arguments=["--allocator=global", "--workers=1"]) as plain, \
                Server(arguments=["--allocator=tarn"]) as ours:
            for path in "/small", "/page?rows=300", "/nothing":
                self.assertEqual(plain.ask("GET", path).text, ours.ask("GET", path).text)
            self.assertEqual((plain.end(), ours.end()), (0, 0))


class Processes(unittest.TestCase):
    def children(self, server, count=2):
        """The numbers of the processes, as soon as there are so many and they answer."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            children = pathlib.Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text("ascii")
            if len(children.split()) == count:
                break
            time.sleep(0.01)
        for _ in range(40):
            self.assertEqual(server.ask("GET", "/healthz").status, 200)
        return [int(word) for word in children.split()]

    def test_one_that_dies_is_replaced_and_loses_no_more_than_its_connections(self):
        with Server("processes = 2\nworkers = 1\naccess_log_bytes = 1048576") as server:
            first = self.children(server)
            self.assertEqual(len(first), 2)
            for victim in first:
                os.kill(victim, signal.SIGKILL)
            for _ in range(40):  # who connects meanwhile waits for the next process
                self.assertEqual(server.ask("GET", "/small").status, 200)
            self.assertEqual(set(self.children(server)) & set(first), set())
            output = server.output().splitlines()
            self.assertEqual(len(output), 2, output)
            for line in output:
                self.assertRegex(line, r'^tarn: application "appserver": process [01] of 2: process \d+ was ended by '
                                       r'signal 9 '
                                       r"\(Killed\), and starts again in 10 ms$")
            # The numbers of all processes, and of those that are dead.
            metrics = server.ask("GET", "/metrics").text
            self.assertRegex(metrics, r"worker=\"0\"")
            self.assertRegex(metrics, r"worker=\"1\"")
            self.assertEqual(server.end(), 0)
            self.assertTrue(server.refuses())

    def test_each_reloads_and_one_that_is_stopped_alone_listens_again(self):
        with Server("processes = 2\nworkers = 1") as server:
            first = self.children(server)
            server.reload('[server]\nport = 0\nprocesses = 2\nworkers = 1\n[site]\ntitle = "two"\nfooter = "two"\n')
            self.assertEqual(server.process.stdout.readline(), "appserver: configuration 2\n")
            os.kill(first[0], signal.SIGTERM)
            deadline = time.monotonic() + PATIENCE
            while "was stopped" not in server.output() and time.monotonic() < deadline:
                time.sleep(0.01)
            texts = {server.ask("GET", "/small").text for _ in range(40)}
            self.assertEqual(texts, {"<!doctype html><title>two</title>\n<p>A small page.\n<p>two\n"})
            self.assertIn(first[1], self.children(server))
            self.assertEqual(server.end(), 0)


class Start(unittest.TestCase):
    def fails(self, text, arguments=()):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "app.toml"
            if text is not None:
                file.write_text(text, encoding="utf-8")
            result = subprocess.run([PROGRAM, "--config", str(file), *arguments], capture_output=True, text=True,
                                    timeout=PATIENCE, check=False)
            self.assertNotEqual(result.returncode, 0)
            self.assertEqual(result.stdout, "")
            return result.stderr.replace(str(file), "FILE")

    def test_broken_configurations(self):
        for text, output in (
                (None, "FILE: cannot be opened: No such file or directory"),
                ("[server]\nport = 70000\n", "FILE:2:8: server.port is 70000, not from 0 to 65535"),
                ("[server]\n\n  prot = 80\n",
                 "FILE:3:3: server.prot is not a setting; there are address port workers "),
                ('[site]\ntitle = 7\n', "FILE:2:9: site.title is not a text"),
                ("server = 1\n", "FILE:1:10: server is not a table"),
                ("[sight]\n", "FILE:1:2: sight is not a setting; there are [server] and [site]"),
                ("[site]\nrows = = 1\n", "FILE:2:8: ")):
            self.assertTrue(self.fails(text).startswith(f"appserver: {output}"), self.fails(text))
        self.assertIn("server.address is nowhere, not an IPv4 address", self.fails('[server]\naddress = "nowhere"\n'))

    def test_port_in_use(self):
        with Server() as other:
            self.assertIn(f"port {other.port}: Address already in use", self.fails("", ["--port", str(other.port)]))

    def test_sample_shows_the_defaults(self):
        process = subprocess.Popen([PROGRAM, "--config", SAMPLE, "--port=0"], stdout=subprocess.PIPE, text=True)
        with process.stdout:
            self.assertRegex(process.stdout.readline(), r"^appserver: http://127\.0\.0\.1:\d+/, 2 workers\n$")
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(PATIENCE), 0)


if __name__ == "__main__":
    unittest.main()
