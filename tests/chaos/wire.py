"""HTTP as the clients speak it: one connection kept alive, raw bytes, and three ways in which a request can fail.

refused     connection refused: the request was never sent
lost        it was sent, and no answer came: whether it was recorded is not known
answered    with whatever status
"""

from __future__ import annotations

import socket
from contextlib import suppress
from typing import NamedTuple

PATIENCE = 20.0  # seconds for an answer


class Refused(Exception):
    """Nothing was sent."""


class Lost(Exception):
    """Sent, and not answered."""


class Answer(NamedTuple):
    """What came back."""

    status: int
    body: bytes


class Line:
    """A connection to a port of this machine, made anew when it breaks."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._socket: socket.socket | None = None

    def send(self, method: str, path: str, body: bytes = b"", **headers: str) -> Answer:
        """One request, one answer."""
        named = {"Host": f"127.0.0.1:{self._port}", "Content-Type": "application/json"}
        named |= {name.replace("_", "-"): value for name, value in headers.items()}
        head = "".join(f"{name}: {value}\r\n" for name, value in named.items())
        request = f"{method} {path} HTTP/1.1\r\n{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
        connection = self._connected()
        try:
            connection.sendall(request)
            return self._read(connection)
        except OSError as broken:
            self.close()
            raise Lost from broken

    def close(self) -> None:
        """Hang up."""
        if self._socket is not None:
            with suppress(OSError):
                self._socket.close()
            self._socket = None

    def _connected(self) -> socket.socket:
        if self._socket is None:
            try:
                self._socket = socket.create_connection(("127.0.0.1", self._port), timeout=PATIENCE)
            except OSError as problem:
                raise Refused from problem
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self._socket

    def _read(self, connection: socket.socket) -> Answer:
        data = b""
        while (end := data.find(b"\r\n\r\n")) < 0:
            data += self._more(connection)
        head, body = data[:end].lower(), data[end + 4 :]
        at = head.index(b"content-length: ") + 16
        length = int(head[at:].split(b"\r", 1)[0])
        while len(body) < length:
            body += self._more(connection)
        if b"connection: close" in head:
            self.close()
        return Answer(int(head.split(b" ", 2)[1]), body)

    @staticmethod
    def _more(connection: socket.socket) -> bytes:
        data = connection.recv(65536)
        if not data:
            raise ConnectionError("closed")
        return data
