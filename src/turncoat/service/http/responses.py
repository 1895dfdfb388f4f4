"""What goes back: JSON, problem+json (RFC 9457), lines of JSON."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Sequence
from typing import Any

import msgspec
from starlette.types import Receive, Send

from turncoat.service.errors import NotAllowed, Problem, TooLarge, TooSlow, Unauthorised, Unavailable
from turncoat.service.messages import Answer

Header = tuple[bytes, bytes]

JSON = b"application/json"
LINES = b"application/x-ndjson"
PROBLEM = b"application/problem+json"
NOSNIFF = (b"x-content-type-options", b"nosniff")
NO_STORE = (b"cache-control", b"no-store")
CLOSE = (b"connection", b"close")

encode = msgspec.json.Encoder().encode
_KINDS = {JSON: [(b"content-type", JSON), NOSNIFF, NO_STORE], PROBLEM: [(b"content-type", PROBLEM), NOSNIFF, NO_STORE]}


class ProblemBody(Answer, frozen=True, kw_only=True, omit_defaults=True):
    """What was refused and why."""

    type: str
    title: str
    status: int
    detail: str
    field: str | None = None
    accepted: str | None = None


class Reply:
    """A whole answer."""

    __slots__ = ("body", "headers", "media", "status")

    def __init__(self, status: int, body: bytes, *, media: bytes = JSON, headers: Sequence[Header] = ()) -> None:
        self.status = status
        self.body = body
        self.media = media
        self.headers = headers

    async def send(self, send: Send, receive: Receive) -> None:
        """Out with it."""
        kind = _KINDS.get(self.media) or [(b"content-type", self.media), NOSNIFF, NO_STORE]
        length = (b"content-length", b"%d" % len(self.body))
        start = {"type": "http.response.start", "status": self.status, "headers": [*kind, length, *self.headers]}
        await send(start)
        await send({"type": "http.response.body", "body": self.body})


class Streamed:
    """An answer whose end is not known when it begins."""

    __slots__ = ("media", "parts", "status")

    def __init__(self, parts: AsyncGenerator[bytes, None], *, media: bytes = LINES) -> None:
        self.status = 200
        self.parts = parts
        self.media = media

    async def send(self, send: Send, receive: Receive) -> None:
        """Part after part, until the caller has gone. `send` waits while they are slow, so nothing piles up here."""
        headers = [(b"content-type", self.media), NOSNIFF, NO_STORE]
        gone = asyncio.create_task(_gone(receive))  # to a caller who has gone, `send` does nothing and says nothing
        try:
            await send({"type": "http.response.start", "status": self.status, "headers": headers})
            async for part in self.parts:
                if gone.done():
                    return
                await send({"type": "http.response.body", "body": part, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        finally:
            gone.cancel()
            await self.parts.aclose()


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def answer(content: Any, status: int = 200, headers: Sequence[Header] = ()) -> Reply:
    """A message, as JSON."""
    return Reply(status, encode(content), headers=headers)


def answer_list(messages: Iterable[Any]) -> Reply:
    """Many messages, as JSON. One after the other: a thousand at once would keep every other thread waiting."""
    return Reply(200, b"[" + b",".join(map(encode, messages)) + b"]")


def refusal(problem: Problem) -> Reply:
    """A Problem, as problem+json."""
    headers: list[Header] = []
    if isinstance(problem, Unauthorised):
        headers.append((b"www-authenticate", b'Bearer realm="turncoat"'))
    elif isinstance(problem, Unavailable):
        headers.append((b"retry-after", b"1"))
    elif isinstance(problem, NotAllowed) and problem.accepted:
        headers.append((b"allow", problem.accepted.encode()))
    elif isinstance(problem, TooLarge | TooSlow):
        headers.append(CLOSE)  # the rest of the body is not wanted
    return Reply(problem.status, encode(problem_body(problem)), media=PROBLEM, headers=headers)


def problem_body(problem: Problem) -> ProblemBody:
    """The same, as a message."""
    return ProblemBody(
        type=kind_of(type(problem)),
        title=problem.title,
        status=problem.status,
        detail=problem.detail,
        field=problem.field,
        accepted=problem.accepted,
    )


def kind_of(problem: type[Problem]) -> str:
    """By which callers know a kind of problem."""
    return f"urn:turncoat:problem:{problem.__name__.lower()}"


def mistake() -> Reply:
    """Our own fault: said plainly, with nothing of the inside."""
    body = ProblemBody(
        type="urn:turncoat:problem:mistake",
        title="a mistake of the service",
        status=500,
        detail="the service made a mistake; its log says which",
    )
    return Reply(500, encode(body), media=PROBLEM)
