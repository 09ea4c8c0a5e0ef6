"""A server that a test runs over loopback, and requests to it. The test's arguments come first: PROGRAM SAMPLE TARN."""

import contextlib
import http.client
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM, SAMPLE, TARN = sys.argv[1:4]  # the server, its sample configuration, the command `tarn`
del sys.argv[1:4]
PATIENCE = 60  # seconds: a guard against hangs, where something has to come
SITE = '[site]\ntitle = "one"\nfooter = "one"\n'


class Server:
    """A running server, its configuration and what it says."""

    def __init__(self, server="", site=SITE, arguments=(), under=(), passed=()):
        self.folder = tempfile.TemporaryDirectory()
        self.file = pathlib.Path(self.folder.name) / "app.toml"
        self.file.write_text(f"[server]\nport = 0\n{server}\n{site}", encoding="utf-8")
        self.errors = open(pathlib.Path(self.folder.name) / "errors", "w+", encoding="utf-8")
        self.process = subprocess.Popen([*under, PROGRAM, "--config", str(self.file), *arguments],
                                        stdout=subprocess.PIPE, stderr=self.errors, text=True, pass_fds=passed)
        match = re.search(r":(\d+)/", self.process.stdout.readline())
        self.port = int(match[1]) if match else None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.errors.close()
        self.folder.cleanup()

    def connect(self):
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def ask(self, method, path, body=None, headers=None):
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)) as line:
            line.request(method, path, body, headers or {})
            return Reply(line.getresponse())

    def refuses(self):
        """Whether nobody is let in any more, soon."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            try:
                self.connect().close()
            except OSError:
                return True
            time.sleep(0.01)
        return False

    def raw(self, sent):
        """All that comes for these bytes, until the server closes."""
        with self.connect() as line:
            line.sendall(sent)
            return everything(line)

    def reload(self, text):
        self.file.write_text(text, encoding="utf-8")
        self.process.send_signal(signal.SIGHUP)

    def output(self):
        self.errors.flush()
        return pathlib.Path(self.errors.name).read_text(encoding="utf-8")

    def end(self, patience=PATIENCE):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(patience)


class OneServer(unittest.TestCase):
    """Tests of one server with narrow limits, `server`, that runs while they do."""

    SITE = SITE

    @classmethod
    def setUpClass(cls):
        cls.server = Server("header_bytes = 1024\nbody_bytes = 100\nrequest_ms = 1500", cls.SITE)
        cls.addClassCleanup(cls.server.__exit__)


class Reply:
    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.text = response.read().decode()


def everything(line):
    parts = []
    while part := line.recv(65536):
        parts.append(part)
    return b"".join(parts)


def get(path, headers=""):
    return f"GET {path} HTTP/1.1\r\nHost: x\r\n{headers}\r\n".encode()


LAST = "Connection: close\r\n"
