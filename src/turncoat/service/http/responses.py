"""Responses: JSON, problem+json (RFC 9457), NDJSON."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import msgspec
from starlette.types import Receive, Scope, Send

from turncoat.service.errors import Mistake, NotAllowed, Problem, TooLarge, TooMany, TooSlow, Unauthorised, Unavailable
from turncoat.service.http.request_ids import CURRENT
from turncoat.service.messages import Answer

Header = tuple[bytes, bytes]

JSON = b"application/json"
LINES = b"application/x-ndjson"
PROBLEM = b"application/problem+json"
NOSNIFF = (b"x-content-type-options", b"nosniff")
NO_STORE = (b"cache-control", b"no-store")
CLOSE = (b"connection", b"close")  # the rest of the request's body is not read
EXTRA_HEADERS: dict[type[Problem], Header] = {
    Unauthorised: (b"www-authenticate", b'Bearer realm="turncoat"'),
    Unavailable: (b"retry-after", b"1"),
    TooLarge: CLOSE,
    TooSlow: CLOSE,
}

encode = msgspec.json.Encoder().encode


class ProblemBody(Answer, frozen=True, kw_only=True, omit_defaults=True):
    """What was refused and why."""

    type: str
    title: str
    status: int
    detail: str
    field: str | None = None
    accepted: str | None = None
    request_id: str | None = None


@cache
def named(media: bytes) -> list[Header]:
    """The headers of every response of this media type."""
    return [(b"content-type", media), NOSNIFF, NO_STORE]


@dataclass(slots=True)
class Response:
    """A response with a complete body, which is an ASGI application."""

    status: int
    body: bytes
    media: bytes = JSON
    headers: Sequence[Header] = ()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send headers and body."""
        headers = [*named(self.media), (b"content-length", b"%d" % len(self.body)), *self.headers]
        if (request := CURRENT.get()) is not None:
            headers.append(request.header)
        start = {"type": "http.response.start", "status": self.status, "headers": headers}
        start = {"type": "http.response.start", "status": self.status, "headers": headers}
        await send(start)
        await send({"type": "http.response.body", "body": self.body})


@dataclass(slots=True)
class StreamingResponse:
    """NDJSON that is streamed, without a known length."""

    parts: AsyncGenerator[bytes, None]
    status: int = 200

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send part after part until the caller disconnects. Backpressure: `send` waits for a slow caller."""
        headers = [(b"content-type", LINES), NOSNIFF, NO_STORE]
        if (request := CURRENT.get()) is not None:
            headers.append(request.header)
        gone = asyncio.create_task(_gone(receive))  # after a disconnect `send` does nothing and raises nothing
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


def json_response(content: Any, status: int = 200, headers: Sequence[Header] = ()) -> Response:
    """A message as a JSON response."""
    return Response(status, encode(content), headers=headers)


def json_list(messages: Iterable[Any]) -> Response:
    """Messages as a JSON list. Encoded one by one: a thousand at once would hold the interpreter's lock."""
    return Response(200, b"[" + b",".join(map(encode, messages)) + b"]")


def problem_response(problem: Problem) -> Response:
    """A Problem as a problem+json response."""
    headers = [EXTRA_HEADERS[type(problem)]] if type(problem) in EXTRA_HEADERS else []
    if isinstance(problem, NotAllowed) and problem.accepted:
        headers.append((b"allow", problem.accepted.encode()))
    if isinstance(problem, TooMany):
        headers.append((b"retry-after", b"%d" % math.ceil(problem.wait)))
    request = CURRENT.get()
    body = ProblemBody(
        type=f"urn:turncoat:problem:{type(problem).__name__.lower()}",
        title=problem.title,
        status=problem.status,
        detail=problem.detail,
        field=problem.field,
        accepted=problem.accepted,
        request_id=None if request is None else request.request_id,
    )
    return Response(problem.status, encode(body), PROBLEM, headers)


def internal_error() -> Response:
    """The answer to a mistake of ours."""
    return problem_response(Mistake("the service made a mistake; its log says which"))
