"""uvicorn's HTTP protocol with limits on the size of the headers and on their time (slowloris protection).

The two hot routes go the fast path (fast_path.py), the others uvicorn's way.
"""

from __future__ import annotations

import asyncio
import math
import socket
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from turncoat.service.http import limits
from turncoat.service.http.fast_path import FastExchange, FastRoute, FastRoutes
from turncoat.service.http.responses import PROBLEM, ProblemBody, encode


class LimitedProtocol(HttpToolsProtocol):
    """A connection with limits. Requests whose headers arrive in one piece cost nothing more."""

    def __init__(self, *args: Any, **arguments: Any) -> None:
        super().__init__(*args, **arguments)
        self._in_head = True
        self._head_size = 0
        self._head_timer: asyncio.TimerHandle | None = None
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
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """The start of a request's headers. The ASGI scope is made later, for requests that need one."""
        self._in_head, self._head_size = True, 0
        self.url, self.headers, self.expect_100_continue = b"", [], False

    def on_headers_complete(self) -> None:
        """The end of a request's headers."""
        self._in_head = False
        found = self._fast_route()
        if found is not None:
            self.cycle = FastExchange(self, found, keep_alive=self.parser.should_keep_alive())  # type: ignore[assignment]
            return
        url, headers, expects = self.url, self.headers, self.expect_100_continue
        super().on_message_begin()
        self.headers += headers
        self.url, self.expect_100_continue = url, expects
        super().on_headers_complete()

    def _fast_route(self) -> tuple[FastRoute, dict[str, str]] | None:
        """The hot route of the request, if it may go the fast path: no other is under way, its body is bounded, and no
        page sent it (cors.py)."""
        if self._fast_routes is None or self.parser.get_method() != b"POST" or self.expect_100_continue:
            return None
        if (self.cycle is not None and not self.cycle.response_complete) or self.parser.get_http_version() != "1.1":
            return None
        if len(self.connections) >= (self.limit_concurrency or math.inf) or self.parser.should_upgrade():
            return None
        decisive = [one for one in self.headers if one[0] in (b"content-length", b"origin")]
        if len(decisive) != 1 or decisive[0][0] == b"origin":
            return None
        length = decisive[0][1]
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
        """Parse, and check size and time of the headers."""
        super().data_received(data)
        cycle: Any = self.cycle
        if type(cycle) is FastExchange:
            cycle.wait_for_body()
        if not self._in_head:
            if self._head_timer is not None:
                self._stop_waiting()
        elif not self.transport.is_closing():
            self._head_size += len(data)
            if self._head_size > limits.HEAD:
                self._refuse(431, "the headers are too large", f"at most {limits.HEAD} bytes of headers")
            elif self._head_timer is None:
                self._wait_for_head()

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
            else:
                self.transport.close()  # no byte was received

    def _refuse(self, status: int, title: str, accepted: str) -> None:
        kind = f"urn:turncoat:problem:head-{status}"
        said = ProblemBody(type=kind, title=title, status=status, detail=f"{title}; accepted: {accepted}")
        body = encode(said)
        head = f"HTTP/1.1 {status} {title}\r\ncontent-type: {PROBLEM.decode()}\r\ncontent-length: {len(body)}\r\n"
        self.transport.write(head.encode() + b"connection: close\r\n\r\n" + body)
        self.transport.close()
