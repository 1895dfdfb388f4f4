"""uvicorn's HTTP protocol with limits on the size of the headers and on their time (slowloris protection).

The two hot routes go the fast path (fast_path.py), the others uvicorn's way.

Lingering close: where a request is refused before it has arrived, the rest is read and thrown away for a while. Closed
at once, the connection would be reset, and a caller who is still sending would not read the answer.
"""

from __future__ import annotations

import asyncio
import math
import socket
from collections.abc import Callable, Mapping
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from turncoat.service.http import limits
from turncoat.service.http.fast_path import FastExchange, FastRoute, FastRoutes
from turncoat.service.http.responses import PROBLEM, ProblemBody, encode


class _HeadTooLarge(Exception):
    """Ends the parsing of a request whose headers are too large."""


class _LingeringTransport:
    """The transport of one of uvicorn's responses: it lingers if the request has not arrived as a whole."""

    __slots__ = ("_cycle", "_linger", "_transport", "is_closing", "write")

    def __init__(self, cycle: RequestResponseCycle, linger: Callable[[], None]) -> None:
        self._cycle: RequestResponseCycle | None = cycle
        self._linger, self._transport = linger, cycle.transport
        self.write, self.is_closing = cycle.transport.write, cycle.transport.is_closing
        tell = cycle.on_response

        def complete() -> None:
            self._cycle = None  # break the reference cycle, which would wait for the garbage collector
            tell()

        cycle.on_response = complete

    def close(self) -> None:
        """Close after the response."""
        if self._cycle is not None and self._cycle.more_body and self._cycle.response_complete:
            self._linger()
        else:
            self._transport.close()


class LimitedProtocol(HttpToolsProtocol):
    """A connection with limits. Requests whose headers arrive in one piece cost nothing more."""

    def __init__(self, *args: Any, **arguments: Any) -> None:
        super().__init__(*args, **arguments)
        self._in_head = True
        self._is_open = False  # in headers of which a byte has come
        self._head_size = 0
        self._head_timer: asyncio.TimerHandle | None = None
        self._piece = 0  # bytes that are being parsed, HEAD at most
        self._begun = 0  # requests that begin in them
        self._is_late = False  # the request began in the middle of a piece: its headers are longer than _head_size
        self._left: int | None = None  # bytes still to throw away in a lingering close
        self._fast_routes: FastRoutes | None = getattr(self.app, "fast_routes", None)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timer for the headers; disable Nagle's algorithm."""
        super().connection_made(transport)
        connected = transport.get_extra_info("socket")
        if connected is not None and connected.family != socket.AF_UNIX:
            # asyncio sets TCP_NODELAY only on sockets that it made; with Nagle's algorithm responses wait 40 ms
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._stop_waiting()
        self._left = 0
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """The start of a request's headers. The ASGI scope is made later, for requests that need one."""
        self._in_head = self._is_open = True
        self._head_size, self._is_late = 0, False
        self._begun += 1
        self.url, self.headers, self.expect_100_continue = b"", [], False

    def on_headers_complete(self) -> None:
        """The end of a request's headers."""
        is_long = self._is_late or self._head_size + self._piece > limits.HEAD
        if is_long and self._parsed_size() > limits.HEAD:
            self._refuse_head()
            raise _HeadTooLarge
        self._in_head = self._is_open = False
        headers = self.headers
        named = dict(headers)
        found = self._fast_route(named)
        if found is not None:
            keep_alive = self.parser.should_keep_alive()
            self.cycle = FastExchange(self, found, named, keep_alive=keep_alive)  # type: ignore[assignment]
            return
        url, expects = self.url, self.expect_100_continue
        super().on_message_begin()
        self.headers += headers
        self.url, self.expect_100_continue = url, expects
        super().on_headers_complete()
        self.cycle.transport = _LingeringTransport(self.cycle, self.linger)  # type: ignore[assignment]

    def _fast_route(self, named: Mapping[bytes, bytes]) -> tuple[FastRoute, dict[str, str]] | None:
        """The hot route of the request, if it may go the fast path: no other is under way, its body is bounded, no
        header is there twice (auth.py), and no page sent it (cors.py)."""
        if self._fast_routes is None or self.parser.get_method() != b"POST" or self.expect_100_continue:
            return None
        if (self.cycle is not None and not self.cycle.response_complete) or self.parser.get_http_version() != "1.1":
            return None
        if len(self.connections) >= (self.limit_concurrency or math.inf) or self.parser.should_upgrade():
            return None
        if len(named) < len(self.headers) or b"origin" in named:
            return None
        length = named.get(b"content-length", b"")
        known = len(length) < 10 and length.isdigit() and int(length) <= limits.BODY
        return self._fast_routes.find(self.url) if known else None

    def on_body(self, body: bytes) -> None:
        """A part of the body."""
        cycle: Any = self.cycle
        if type(cycle) is FastExchange:
            cycle.body += body
        else:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """The end of a request."""
        cycle: Any = self.cycle
        if type(cycle) is FastExchange:
            cycle.complete()
        else:
            super().on_message_complete()

    def data_received(self, data: bytes) -> None:
        """Parse, and check size and time of the headers. They have the same limit however they arrive."""
        while data and self._left is None and not self.transport.is_closing():
            room = limits.HEAD - self._head_size if self._in_head else limits.HEAD
            piece, data = (data, b"") if len(data) <= room else (data[:room], data[room:])
            begun = 0 if self._is_open else 1 if self._in_head or not self.cycle.more_body else -1
            self._piece, self._begun = len(piece), 0
            super().data_received(piece)
            if self._in_head:
                self._count_head(begun)
        cycle: Any = self.cycle
        if self._left is not None:
            self._throw_away(len(data))
        elif not self._in_head:
            if type(cycle) is FastExchange:
                cycle.wait_for_body()
            if self._head_timer is not None:
                self._stop_waiting()
        elif self._head_timer is None and not self.transport.is_closing():
            self._wait_for_head()

    def _count_head(self, begun: int) -> None:
        """Count a piece that has ended in headers. `begun`: how many requests began in it, if these began with it."""
        if self._begun == begun:
            self._head_size += self._piece
        else:
            self._is_late = True
        if self._head_size >= limits.HEAD and self._left is None:
            self._refuse_head()

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP, unless the request was refused already."""
        if self._left is None:
            super().send_400_response(msg)

    def _parsed_size(self) -> int:
        """Bytes of the request line and the headers, without optional spaces."""
        lines = sum(len(name) + len(value) + 4 for name, value in self.headers)
        return len(self.url) + len("GET  HTTP/1.1\r\n\r\n") + lines

    def _refuse_head(self) -> None:
        if self.cycle is not None and not self.cycle.response_complete:
            self._left = 0
            return self.transport.close()  # an earlier request waits for its answer, and would take this one for it
        self._refuse(431, "the headers are too large", f"at most {limits.HEAD} bytes of headers")
        return self.linger()

    def linger(self) -> None:
        """Close once the caller has, or after a while; the answer has been written."""
        self._left = limits.LINGER
        self._stop_waiting()
        if self.transport.is_closing():
            return
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.flow.resume_reading()
        self._head_timer = self.loop.call_later(limits.LINGER_SECONDS, self.transport.close)

    def _throw_away(self, n: int) -> None:
        self._left = (self._left or 0) - n
        if self._left <= 0:
            self.transport.close()

    def _wait_for_head(self) -> None:
        self._head_timer = self.loop.call_later(limits.HEAD_SECONDS, self._too_slow)

    def _stop_waiting(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _too_slow(self) -> None:
        self._head_timer = None
        if not self.transport.is_closing():
            if self._head_size:
                self._refuse(408, "the headers took too long", f"headers within {limits.HEAD_SECONDS:g} seconds")
            self.transport.close()  # without an answer where no byte was received

    def _refuse(self, status: int, title: str, accepted: str) -> None:
        kind = f"urn:turncoat:problem:head-{status}"
        said = ProblemBody(type=kind, title=title, status=status, detail=f"{title}; accepted: {accepted}")
        body = encode(said)
        head = f"HTTP/1.1 {status} {title}\r\ncontent-type: {PROBLEM.decode()}\r\ncontent-length: {len(body)}\r\n"
        self.transport.write(head.encode() + b"connection: close\r\n\r\n" + body)
