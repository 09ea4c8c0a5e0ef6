"""A stand-in for Pyroscope, which takes what the server's published interface takes, and nothing else:
https://grafana.com/docs/pyroscope/latest/reference-server-api/. It also misbehaves on request."""

import gzip
import http.server
import re
import threading
import time
import urllib.parse


def numbers_of(message):
    """The numbers of a protobuf message by field, and its submessages as bytes."""
    fields, position = {}, 0

    def number():
        nonlocal position
        value = shift = 0
        while True:
            byte = message[position]
            position += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while position < len(message):
        tag = number()
        if tag & 7 == 0:
            value = number()
        elif tag & 7 == 2:
            size = number()
            value = message[position:position + size]
            position += size
            if len(value) != size:
                raise ValueError("cut")
        else:
            raise ValueError(f"wire type {tag & 7}")
        fields.setdefault(tag >> 3, []).append(value)
    return fields


class Profile:
    """What the store has of a profile that it took."""
    def __init__(self, query, body):
        self.body = gzip.decompress(body)
        fields = numbers_of(self.body)
        assert fields[1] and fields[6][0] == b""  # sample types; the first string is empty
        self.strings = [text.decode() for text in fields[6]]
        self.types = [self.strings[numbers_of(kind)[1][0]] for kind in fields[1]]
        self.from_ns, self.until_ns = int(query["from"]), int(query["until"])
        assert len(query["from"]) == len(query["until"]) == 19 and self.from_ns < self.until_ns  # nanoseconds
        assert fields[9] == [self.from_ns] and fields[10] == [self.until_ns - self.from_ns]
        self.name = query["name"]
        service, _, labels = self.name.partition("{")
        assert service and re.fullmatch(r"([a-zA-Z_][a-zA-Z0-9_.]*=[^,{}]+(,(?!})|(?=})))*}", labels), self.name


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        path, _, query = self.path.partition("?")
        behaviour = self.server.behaviours.pop(0) if self.server.behaviours else "take"
        self.server.attempts.append((query, body))
        if behaviour == "hang":
            self.server.released.wait(self.server.hang_s)
            return
        if behaviour == "close":
            self.close_connection = True
            return
        if behaviour == "nonsense":
            self.wfile.write(b"no HTTP\r\n" * 3)
            return
        if isinstance(behaviour, int):
            return self.answer(behaviour, b"as it\nis")
        try:
            query = dict(urllib.parse.parse_qsl(query, strict_parsing=True))
            assert path == "/ingest" and query.pop("format") == "pprof" and query.pop("spyName") == "tarn"
            assert set(query) == {"name", "from", "until"}
            self.server.profiles.append(Profile(query, body))
        except (AssertionError, KeyError, ValueError, IndexError) as error:
            return self.answer(422, str(error).encode())
        if behaviour == "cut":  # it has the profile, and its answer breaks off
            self.send_response(200)
            self.send_header("Content-Length", "100")
            self.end_headers()
            return
        self.answer(200, b"")

    def answer(self, status, text):
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


class Store(http.server.ThreadingHTTPServer):
    """Serves until close(). `behaviours` are those of the next requests; then all profiles are taken."""
    daemon_threads = True

    def __init__(self, behaviours=(), port=0, hang_s=600):
        super().__init__(("127.0.0.1", port), Handler)
        self.behaviours, self.hang_s, self.released = list(behaviours), hang_s, threading.Event()
        self.attempts, self.profiles = [], []
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.serving = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02})
        self.serving.start()

    def close(self):
        self.released.set()
        self.shutdown()
        self.serving.join()
        self.server_close()

    def handle_error(self, request, client_address):
        pass  # a client that has gone

    def wait_for(self, count, longest_s=120):
        """Waits until so many profiles are taken."""
        until = time.monotonic() + longest_s
        while len(self.profiles) < count and time.monotonic() < until:
            time.sleep(0.02)
        return len(self.profiles) >= count
