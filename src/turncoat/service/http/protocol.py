"""uvicorn's HTTP protocol with limits on the size of the headers and on their time (slowloris protection).

It also coalesces writes: uvicorn sends headers and body apart, each a system call and a packet.
"""

from __future__ import annotations

import asyncio
import socket
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from turncoat.service.http import limits
from turncoat.service.http.responses import PROBLEM, ProblemBody, encode


class _CoalescedTransport:
    """The transport of one response: the headers wait for the body, and both are one write."""

    __slots__ = ("_cycle", "_head", "_transport", "is_closing")

    def __init__(self, cycle: RequestResponseCycle) -> None:
        self._cycle = cycle
        self._transport = cycle.transport
        self._head: bytes | None = None
        self.is_closing = cycle.transport.is_closing
        tell = cycle.on_response

        def complete() -> None:
            self._flush()  # a response to HEAD has no body
            del self._cycle  # break the reference cycle, which would wait for the garbage collector
            tell()

        cycle.on_response = complete

    def write(self, data: bytes) -> None:
        """The first write after the response has started is its headers."""
        if self._head is not None:
            self._transport.write(self._head + data)
            self._head = b""
        elif self._cycle.response_started:
            self._head = data
        else:
            self._transport.write(data)  # "100 Continue"

    def close(self) -> None:
        """Flush and close."""
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        if self._head:
            self._transport.write(self._head)
            self._head = b""


class LimitedProtocol(HttpToolsProtocol):
    """A connection with limits. Requests whose headers arrive in one piece cost nothing more."""

    def __init__(self, *args: Any, **arguments: Any) -> None:
        super().__init__(*args, **arguments)
        self._in_head = True
        self._head_size = 0
        self._head_timer: asyncio.TimerHandle | None = None

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
        """The start of a request's headers."""
        self._in_head, self._head_size = True, 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """The end of a request's headers."""
        self._in_head = False
        super().on_headers_complete()
        self.cycle.transport = _CoalescedTransport(self.cycle)  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        """Parse, and check size and time of the headers."""
        super().data_received(data)
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
