"""The limit on headers, by the protocol itself: the same for every way to cut the same bytes into pieces."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from turncoat.service.http import limits
from turncoat.service.http.protocol import LimitedProtocol

BEGIN, END = b"GET / HTTP/1.1\r\nHost: localhost\r\n", b"\r\n\r\n"
FILLERS: dict[str, Callable[[int], bytes] | None] = {
    "one header": lambda size: b"X: " + b"y" * (size - 3),
    "many small headers": lambda size: (b"X: y\r\n" * (size // 6)).removesuffix(b"\r\n").ljust(size, b"y"),
    "an address": None,
}
PIECES = {"one piece": 10**6, "its bytes": 1, "pieces of 7": 7, "pieces of 5,000": 5000, "pieces of 32,767": 32_767}


class Wire(asyncio.Transport):
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written, self._closing = b"", False

    def write(self, data: Any) -> None:
        if not self._closing:
            self.written += bytes(data)

    def is_closing(self) -> bool:
        return self._closing

    def close(self) -> None:
        self._closing = True

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        pass

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


async def app(scope: Any, receive: Any, send: Any) -> None:
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


async def statuses(pieces: Iterator[bytes], together: bool = False) -> list[int]:
    """The statuses of what is answered to these pieces; `together`: none is read alone."""
    wire = Wire()
    protocol = LimitedProtocol(uvicorn.Config(app, log_config=None, lifespan="off"), ServerState(), {})
    protocol.connection_made(wire)
    for piece in pieces:
        if wire.is_closing():
            break
        protocol.data_received(piece)
        if not together:
            await asyncio.sleep(0)
    before = None
    while before != wire.written:
        before = wire.written
        for _ in range(20):
            await asyncio.sleep(0)
    protocol.connection_lost(None)
    return [int(part[:3]) for part in wire.written.split(b"HTTP/1.1 ")[1:]]


def head(size: int, filler: str) -> bytes:
    """A request of exactly so many bytes."""
    fill = FILLERS[filler]
    if fill is None:
        return BEGIN.replace(b"/ ", b"/" + b"z" * (size - len(BEGIN + END) + 2) + b" ").removesuffix(b"\r\n") + END
    return BEGIN + fill(size - len(BEGIN + END)) + END


def cut(data: bytes, size: int) -> Iterator[bytes]:
    return (data[start : start + size] for start in range(0, len(data), size))


@pytest.mark.parametrize("size", PIECES.values(), ids=PIECES)
@pytest.mark.parametrize("filler", FILLERS)
def test_the_limit_is_the_same_however_headers_arrive(filler: str, size: int) -> None:
    """What came in one piece was not counted: 256 KiB of headers were taken."""
    for length, expected in ((limits.HEAD, 204), (limits.HEAD + 1, 431), (2 * limits.HEAD, 431)):
        request = head(length, filler)
        assert len(request) == length
        assert asyncio.run(statuses(cut(request, size))) == [expected], length
        again = asyncio.run(statuses(cut(head(60, "one header") + request, size)))
        assert again == [204, expected] or (size >= length and expected == 431 and again == []), length


def test_spaces_count_too() -> None:
    spaces = BEGIN + b"X:" + b" " * limits.HEAD + b"y" + END
    for size in PIECES.values():
        assert asyncio.run(statuses(cut(spaces, size))) == [431]


@pytest.mark.parametrize("size", PIECES.values(), ids=PIECES)
def test_what_came_before_is_not_counted(size: int) -> None:
    """A request that began in the piece in which another ended was charged with all of that piece."""
    body = b"x" * 50_000
    post = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    whole = (post + head(5000, "one header")) * 3 + head(60, "one header") * 900
    assert asyncio.run(statuses(cut(whole, size), together=True)) == [204] * 906


def test_no_headers_however_placed_are_longer_than_twice_the_limit() -> None:
    """A request that begins in the middle of a piece, and never ends."""
    body = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10000\r\n\r\n" + b"x" * 10_000
    endless = body + BEGIN + b"X: " + b"y" * (2 * limits.HEAD)
    assert asyncio.run(statuses(cut(endless, 20_000))) == [204, 431]
    assert asyncio.run(statuses(cut(endless, 200_000))) == []  # closed: the first has no answer yet
