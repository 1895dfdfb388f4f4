"""A request's body: read up to a limit, and checked against the message it should be."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Generic, TypeVar

import msgspec
from starlette.types import Receive

from turncoat.service.accepted import refusal
from turncoat.service.errors import Malformed, TooLarge, TooSlow, WrongMedia
from turncoat.service.http import limits

T = TypeVar("T")


class Gone(Exception):
    """The caller has closed the connection; there is nobody to answer."""


async def read(receive: Receive, headers: Mapping[bytes, bytes], limit: int) -> bytes:
    """All of the body, if it is no larger than `limit` bytes. Says no as soon as it is known to be."""
    length = headers.get(b"content-length", b"0")
    if len(length) > 19 or not length.isdigit() or int(length) > limit:
        raise too_large(limit)
    message = await receive()
    if message["type"] != "http.request":
        raise Gone
    body: bytes = message.get("body", b"")
    if message.get("more_body", False):
        body = await _rest(receive, body, limit)
    if len(body) > limit:
        raise too_large(limit)
    return body


async def _rest(receive: Receive, first: bytes, limit: int) -> bytes:
    chunks, size = [first], len(first)
    try:
        async with asyncio.timeout(limits.BODY_SECONDS):
            more = True
            while more:
                message = await receive()
                if message["type"] != "http.request":
                    raise Gone
                chunks.append(message.get("body", b""))
                size += len(chunks[-1])
                more = message.get("more_body", False)
                if size > limit:
                    raise too_large(limit)
    except TimeoutError:
        raise TooSlow(f"the body was not complete after {limits.BODY_SECONDS:g} seconds") from None
    return b"".join(chunks)


def too_large(limit: int) -> TooLarge:
    """What to say of a body that is."""
    return TooLarge(f"the body is larger than {limit} bytes", accepted=f"at most {limit} bytes")


class Decoder(Generic[T]):
    """Reads messages of one kind; made once."""

    def __init__(self, kind: type[T], media: bytes = b"application/json") -> None:
        self.kind = kind
        self._media = media
        self._decode = msgspec.json.Decoder(kind).decode

    def check_media(self, headers: Mapping[bytes, bytes]) -> None:
        """Is the body said to be what is read here?"""
        said = headers.get(b"content-type", b"")
        if said != self._media and said.partition(b";")[0].strip().lower() != self._media:
            media = self._media.decode()
            found = said.decode("latin-1") or "missing"
            raise WrongMedia(f"the Content-Type is {found}; accepted is {media}", field="Content-Type", accepted=media)

    def decode(self, body: bytes) -> T:
        """The message. A Problem names the field that is wrong and says what it accepts."""
        try:
            message = self._decode(body)
        except msgspec.ValidationError as complaint:
            raise refusal(self.kind, str(complaint)) from None
        except msgspec.DecodeError as complaint:
            said = f"not JSON: {complaint}" if body.strip() else "empty; accepted is JSON, at least {}"
            raise Malformed(f"the body is {said}", accepted="JSON") from None
        except UnicodeDecodeError:
            raise Malformed("the body is not UTF-8", accepted="JSON in UTF-8") from None
        except RecursionError:
            raise _too_deep() from None
        if body.count(b"[") + body.count(b"{") > limits.DEPTH:
            check_depth(msgspec.json.decode(body))
        return message


def check_depth(value: Any) -> None:
    """Lists and objects may lie inside one another only so far: whoever reads them back has a limit too."""
    level = [value]
    for _ in range(limits.DEPTH):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
    if any(isinstance(one, dict | list) for one in level):
        raise _too_deep()


def _too_deep() -> Malformed:
    accepted = f"lists and objects inside one another at most {limits.DEPTH} deep"
    return Malformed(f"the body is nested too deeply; accepted are {accepted}", accepted=accepted)
