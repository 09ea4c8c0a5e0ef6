"""Requests that are wrong, or mean: hostile_test.py PROGRAM SAMPLE-CONFIGURATION TARN. A client that means well is
served beside each of them, on a connection that stays open."""

import contextlib
import http.client
import random
import re
import socket
import threading
import time
import unittest

from driver import LAST, PATIENCE, SITE, OneServer, everything, get

POST = "POST /login HTTP/1.1\r\nHost: x\r\n"
GET = "GET /healthz HTTP/1.1\r\nHost: x\r\n"
LENGTH = "Content-Length: 8\r\n"
CODING = "Transfer-Encoding: "
CHUNKED = POST + CODING + "chunked\r\n\r\n"
TEXT = "user=ada"  # 8 bytes
CHUNKS = "8\r\nuser=ada\r\n0\r\n\r\n"

# What is sent, then a good request on the same connection; the status of each answer. After an answer that is the only
# one the connection must be closed, since nobody knows where the next request begins.
LINES = [
    ([400], "\x01\x02\x03\r\n\r\n"),
    ([400], "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"),  # TLS
    ([400], "GET /small\r\n\r\n"),
    ([400], " GET /small HTTP/1.1\r\nHost: x\r\n\r\n"),
    ([400], "GET  /small HTTP/1.1\r\nHost: x\r\n\r\n"),
    ([505], "GET /small HTTP/1.1 \r\nHost: x\r\n\r\n"),
    ([505], "GET /small http/1.1\r\nHost: x\r\n\r\n"),
    ([505], "GET /small HTTP/3.0\r\n\r\n"),
    ([505], "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    ([505], "GET /small HTTP/1.1\nHost: x\n\n"),
    ([200, 200], "\r\nGET /small HTTP/1.1\r\nHost: x\r\n\r\n"),
    ([400], "\r\n\r\nGET /small HTTP/1.1\r\nHost: x\r\n\r\n"),
    ([400], "\nGET /small HTTP/1.1\r\nHost: x\r\n\r\n"),
    ([400], "\rGET /small HTTP/1.1\r\nHost: x\r\n\r\n"),
    ([200, 200], "GET http://x/small HTTP/1.1\r\nHost: x\r\n\r\n"),
    ([404, 200], "GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n"),
    ([404, 200], "GET /small%00 HTTP/1.1\r\nHost: x\r\n\r\n"),
    ([404, 200], "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n"),
    ([405, 200], "FOO /small HTTP/1.1\r\nHost: x\r\n\r\n"),
    ([400, 200], "GET /page?rows=99999999999999999999 HTTP/1.1\r\nHost: x\r\n\r\n"),
    ([400, 200], "GET /page?rows=-1 HTTP/1.1\r\nHost: x\r\n\r\n"),
]
FIELDS = [
    ([400], "GET /small HTTP/1.1\r\n\r\n"),
    ([400], "GET /small HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n"),
    ([400], "GET /small HTTP/1.1\r\nHost: x y\r\n\r\n"),
    ([400], "GET /small HTTP/1.1\r\nHost: x, y\r\n\r\n"),
    ([400], "GET /small HTTP/1.1\r\nHost : x\r\n\r\n"),
    ([400], GET + ": b\r\n\r\n"),
    ([400], GET + "X\r\n\r\n"),
    ([400], GET + "X: a\0b\r\n\r\n"),
    ([400], GET + "X\0: b\r\n\r\n"),
    ([400], GET + "X: a\rY: b\r\n\r\n"),
    ([400], GET + "X: a\r\n b\r\n\r\n"),
    ([400], GET + "X: a\r\n\tb\r\n\r\n"),
    ([400], GET + "X: a\r\n \r\n\r\n"),
    ([400], GET + CODING + "\r\n chunked\r\n\r\n"),
    ([400], GET + "X: a\nY: b\r\n\r\n"),
    ([431], GET + "X: " + 1100 * "x" + "\r\n\r\n"),
    ([431], GET + 200 * "X: y\r\n" + "\r\n"),
    ([431], "GET /" + 1100 * "x" + " HTTP/1.1\r\nHost: x\r\n\r\n"),
]
BODIES = [
    ([200, 200], POST + LENGTH + "\r\n" + TEXT),
    ([200, 200], CHUNKED + CHUNKS),
    ([200, 200], POST + CODING + "ChunKed\r\n\r\n" + CHUNKS),
    ([200, 200], CHUNKED + "8;a=\"b\"\r\nuser=ada\r\n0\r\nX: y\r\n\r\n"),
    ([200, 200], GET + LENGTH + "\r\n" + TEXT),
    # Two lengths, or one that is none.
    ([400], POST + LENGTH + "Content-Length: 9\r\n\r\n" + TEXT),
    ([400], POST + LENGTH + CODING + "chunked\r\n\r\n" + CHUNKS),
    ([400], POST + CODING + "chunked\r\n" + LENGTH + "\r\n" + CHUNKS),
    ([400], CHUNKED + "8\r\nuser=ada\r\n0\r\nContent-Length: 5\r\n\r\n"),
    ([400], POST + "Content-Length: -1\r\n\r\n"),
    ([400], POST + "Content-Length: +8\r\n\r\n" + TEXT),
    ([400], POST + "Content-Length: 0x8\r\n\r\n" + TEXT),
    ([400], POST + "Content-Length: \r\n\r\n"),
    ([400], POST + "Content-Length: 18446744073709551616\r\n\r\n"),
    ([413], POST + "Content-Length: 18446744073709551615\r\n\r\n"),
    ([413], POST + "Content-Length: 101\r\n\r\n"),
    # Codings that another server may see, or not.
    ([400], POST + CODING + "\r\n\r\n" + CHUNKS),
    ([400], POST + CODING + "xchunked\r\n\r\n" + CHUNKS),
    ([400], POST + CODING + "chunked, identity\r\n\r\n" + CHUNKS),
    ([400], POST + CODING + "chunked, chunked\r\n\r\n" + CHUNKS),
    ([400], POST + CODING + "gzip, chunked\r\n\r\n" + CHUNKS),
    ([400], POST + CODING + "\"chunked\"\r\n\r\n" + CHUNKS),
    ([400], POST + CODING + "\x0bchunked\r\n\r\n" + CHUNKS),
    ([400], POST + "Transfer-Encoding : chunked\r\n\r\n" + CHUNKS),
    ([400], POST + CODING + "identity\r\n" + LENGTH + "\r\n" + TEXT),
    ([400], POST + 2 * (CODING + "chunked\r\n") + "\r\n" + CHUNKS),
    ([400], POST + CODING + "identity\r\n" + CODING + "chunked\r\n\r\n" + CHUNKS),
    ([400], "POST /login HTTP/1.0\r\n" + CODING + "chunked\r\n\r\n" + CHUNKS),
    # Chunks.
    ([400], CHUNKED + "zz\r\n"),
    ([400], CHUNKED + "-8\r\nuser=ada\r\n0\r\n\r\n"),
    ([400], CHUNKED + "0x8\r\nuser=ada\r\n0\r\n\r\n"),
    ([400], CHUNKED + " 8\r\nuser=ada\r\n0\r\n\r\n"),
    ([400], CHUNKED + "8 \r\nuser=ada\r\n0\r\n\r\n"),
    ([400], CHUNKED + "8\nuser=ada\n0\n\n"),
    ([400], CHUNKED + "8;\n\r\nuser=ada\r\n0\r\n\r\n"),
    ([400], CHUNKED + "8\r\nuser=adaXX0\r\n\r\n"),
    ([400], CHUNKED + "10000000000000008\r\nuser=ada\r\n0\r\n\r\n"),
    ([413], CHUNKED + "fffffffff\r\n"),
    ([413], CHUNKED + 2 * ("3c\r\n" + 60 * "x" + "\r\n") + "0\r\n\r\n"),
    ([431], CHUNKED + "8\r\nuser=ada\r\n0\r\n" + 400 * "X: y\r\n" + "\r\n"),
]


class Hostile(OneServer):
    SITE = SITE + "sessions = 100000\n"

    def setUp(self):
        """Somebody else, whom nothing of this must touch."""
        self.is_over, self.served, self.troubles = threading.Event(), 0, []

        def other():
            try:
                with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.server.port,
                                                                   timeout=PATIENCE)) as line:
                    line.connect()
                    first = line.sock
                    while not self.is_over.wait(0.001):
                        line.request("GET", "/version")
                        if line.getresponse().read() != b"1 one\n" or line.sock is not first:
                            self.troubles.append("another answer, or a closed connection")
                        self.served += 1
            except Exception as error:  # pylint: disable=broad-except
                self.troubles.append(error)

        witness = threading.Thread(target=other)
        witness.start()

        def end():
            until = time.monotonic() + PATIENCE
            while self.served == 0 and not self.troubles and time.monotonic() < until:
                time.sleep(0.001)
            self.is_over.set()
            witness.join()
            self.assertEqual(self.troubles, [])
            self.assertGreater(self.served, 0)

        self.addCleanup(end)

    def check(self, table):
        for expected, sent in table:
            with self.subTest(sent=sent[:200]):
                answer = self.server.raw(sent.encode("latin-1") + get("/healthz", LAST))
                statuses = [int(status) for status in re.findall(rb"HTTP/1\.[01] (\d{3}) ", answer)]
                self.assertEqual(statuses, expected, answer)
                self.assertEqual(answer.count(b"Connection: close\r\n") + answer.count(b"HTTP/1.0 "), 1, answer)

    def test_lines(self):
        self.check(LINES)

    def test_fields(self):
        self.check(FIELDS)

    def test_bodies(self):
        self.check(BODIES)

    def test_bodies_that_come_in_pieces(self):
        empty = ["0", "\r\n", "\r", "\n"]  # an end alone, which Beast's own assertions do not expect (fuzz_request.cpp)
        for body, pieces in ("user=ada", ["8\r\nuser", "=ada", "\r", "\n", *empty]), ("", empty):
            with self.server.connect() as line:
                line.sendall((CHUNKED).encode())
                for piece in pieces:
                    time.sleep(0.02)
                    line.sendall(piece.encode())
                line.sendall(get("/healthz", LAST))
                statuses = re.findall(rb"HTTP/1\.[01] (\d{3}) ", everything(line))
                self.assertEqual(statuses, [b"200" if body else b"400", b"200"], body)

    def test_cookies_that_are_none(self):
        for cookie in "", "session=", "session=" + 32 * "0", "session=" + 31 * "0" + "g", "session=0x" + 30 * "0", "x":
            reply = self.server.ask("GET", "/counter", headers={"Cookie": cookie})
            self.assertEqual((reply.status, reply.headers["Set-Cookie"]), (401, None), cookie)

    def test_cookies_that_are_forged(self):
        good = self.server.ask("POST", "/login", TEXT).headers["Set-Cookie"].split(";")[0]
        forged = [good[:-1] + ("0" if good[-1] != "0" else "1"), good + "0", good[:-1],
                  good.upper().replace("SESSION", "session") + "G"]
        for cookie in forged:
            self.assertEqual(self.server.ask("GET", "/counter", headers={"Cookie": cookie}).status, 401, cookie)
        self.assertEqual(self.server.ask("GET", "/counter", headers={"Cookie": good}).text, "ada 1\n")

    def test_slow_requests_time_out(self):
        self.assertTrue(self.server.raw(b"GET /small HT").startswith(b"HTTP/1.1 408 "))
        self.assertTrue(self.server.raw((POST + LENGTH + "\r\nuser").encode()).startswith(b"HTTP/1.1 408 "))

    def test_truncated_requests(self):
        for sent in "GET /small HT", POST + LENGTH, POST + LENGTH + "\r\nuser", CHUNKED + "8\r\nuse":
            with self.server.connect() as line:
                line.sendall(sent.encode())
                line.shutdown(socket.SHUT_WR)
                self.assertTrue(everything(line).startswith(b"HTTP/1.1 400 "), sent)
        with self.server.connect() as line:
            line.shutdown(socket.SHUT_WR)
            self.assertEqual(everything(line), b"")

    def test_clients_that_vanish(self):
        for sent in b"", b"GET /sm", get("/page?rows=100000"), 50 * get("/page?rows=1000"):
            for _ in range(20):
                with self.server.connect() as line:
                    line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # a reset
                    line.sendall(sent)

    def test_mutations_of_good_requests(self):
        chance = random.Random(1)
        good = [sent for expected, sent in LINES + FIELDS + BODIES if len(sent) < 500]
        marks = ["\r\n", "\n", "\0", " ", ":", "Content-Length: 3\r\n", CODING + "chunked\r\n", "0\r\n\r\n", "\xff",
                 "HTTP/1.1"]
        for _ in range(400):
            sent = chance.choice(good)
            for _ in range(chance.randint(1, 4)):
                begin, end = sorted((chance.randint(0, len(sent)), chance.randint(0, len(sent))))
                if chance.random() < 0.5:
                    sent = sent[:begin] + chance.choice(marks) + sent[begin:]
                elif chance.random() < 0.5:
                    sent = sent[:begin] + sent[min(end, begin + 8):]
                else:
                    sent = sent[:end] + sent[begin:end] + sent[end:]
            with self.server.connect() as line:
                line.sendall(sent.encode("latin-1"))
                line.shutdown(socket.SHUT_WR)
                answer = everything(line)
            self.assertTrue(not answer or re.match(rb"HTTP/1\.[01] [2345]\d\d ", answer), (sent, answer))
        self.assertIsNone(self.server.process.poll())
        self.assertEqual(self.server.output(), "")


if __name__ == "__main__":
    unittest.main()
