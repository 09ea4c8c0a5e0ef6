"""The part of Redis's wire protocol (RESP 2) that the demo speaks, over a Unix socket."""

import socket

SEND_BATCH_BYTES = 256 * 1024


class ServerError(Exception):
    """The server answered with an error."""


def encode(*words):
    """One command as the bytes of an array of bulk strings."""
    parts = [b"*%d\r\n" % len(words)]
    for word in words:
        data = word if isinstance(word, bytes) else str(word).encode()
        parts.append(b"$%d\r\n%s\r\n" % (len(data), data))
    return b"".join(parts)


def read_reply(stream):
    """One reply from a binary file object: str, int, bytes, None or a list; ServerError for an error reply."""
    line = stream.readline()
    if not line.endswith(b"\r\n"):
        raise ServerError("the server closed the connection")
    kind, value = line[:1], line[1:-2]
    if kind == b"+":
        return value.decode()
    if kind == b"-":
        raise ServerError(value.decode())
    if kind == b":":
        return int(value)
    if kind == b"$":
        return None if value == b"-1" else stream.read(int(value) + 2)[:-2]
    if kind == b"*":
        return None if value == b"-1" else [read_reply(stream) for _ in range(int(value))]
    raise ServerError(f"not a reply: {line!r}")


class Connection:
    """One client connection; a context manager."""

    def __init__(self, path, timeout_s):
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(timeout_s)
        self._socket.connect(path)
        self._stream = self._socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._stream.close()
        self._socket.close()

    def ask(self, *words):
        """Send one command and return its reply."""
        self._socket.sendall(encode(*words))
        return read_reply(self._stream)

    def shut_down(self):
        """Tell the server to end without saving; it answers by closing the connection."""
        self._socket.sendall(encode("SHUTDOWN", "NOSAVE"))
        if self._stream.read(1):
            raise ServerError("the server refused to shut down")

    def load(self, commands):
        """Send many commands in batches and check that each is answered without error."""
        batch, count, size = [], 0, 0
        for command in commands:
            batch.append(encode(*command))
            size += len(batch[-1])
            if size >= SEND_BATCH_BYTES:
                count += self._exchange(batch)
                batch, size = [], 0
        return count + self._exchange(batch)

    def _exchange(self, batch):
        self._socket.sendall(b"".join(batch))
        for _ in batch:
            read_reply(self._stream)
        return len(batch)
