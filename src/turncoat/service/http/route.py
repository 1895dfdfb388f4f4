"""A route, and the request that its handler is given: its body is read up to a limit and decoded."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qsl

import msgspec
from starlette.types import Receive

from turncoat.service.api_keys import Holder, Scope
from turncoat.service.errors import (
    Forbidden,
    Malformed,
    NotFound,
    Problem,
    TooLarge,
    TooSlow,
    Unprocessable,
    WrongMedia,
)
from turncoat.service.http import limits
from turncoat.service.http.duplicate_keys import check_distinct_keys
from turncoat.service.http.responses import JSON, LINES, Response, problem_response
from turncoat.service.validation import validation_problem

if TYPE_CHECKING:
    from turncoat.service.http.context import AppContext


@dataclass(slots=True)
class Call:
    """An authenticated request with its decoded body."""

    body: Any
    params: Mapping[str, str]
    headers: Mapping[bytes, bytes]
    query: bytes
    holder: Holder

    def header(self, name: str) -> str | None:
        """A header's value: printable ASCII, or refused."""
        value = self.headers.get(name.lower().encode())
        if value is None:
            return None
        if not value.isascii() or not value.decode("ascii").isprintable():
            raise Malformed(f"the header {name} has other characters than printable ASCII", field=name)
        return value.decode("ascii")

    def numbers(self, **known: tuple[int, int, int]) -> dict[str, int]:
        """The query's integer parameters, each declared as (default, least, most); others are refused."""
        found = {name: default for name, (default, _, _) in known.items()}
        for name, value in parse_qsl(self.query.decode("latin-1"), keep_blank_values=True):
            if name not in known:
                accepted = ", ".join(known) or "none"
                raise Unprocessable(f"there is no parameter {name!r}; accepted are {accepted}", field=name)
            _, least, most = known[name]
            if not (value.isascii() and value.isdigit() and len(value) < 10 and least <= int(value) <= most):
                accepted = f"a whole number from {least} to {most}"
                raise Unprocessable(f"{name} is {value!r}; accepted is {accepted}", field=name, accepted=accepted)
            found[name] = int(value)
        return found

    def texts(self, *known: str) -> dict[str, list[str]]:
        """The query's parameters, each as often as it was given; those that are not known are refused."""
        found: dict[str, list[str]] = {name: [] for name in known}
        for name, value in parse_qsl(self.query.decode("latin-1"), keep_blank_values=True):
            if name not in known:
                raise Unprocessable(f"there is no parameter {name!r}; accepted are {', '.join(known)}", field=name)
            found[name].append(value)
        return found


Handler = Callable[["AppContext", Call], Awaitable[Any]]


@dataclass(frozen=True)
class Route:
    """A route. `scope` None: no key is needed. `takes`: the message in the body, or bytes for lines of `each`; `gives`:
    the message in the answer. `is_shared`: it is about the whole service, and not for a key for some experiments."""

    method: str
    path: str
    scope: Scope | None
    handler: Handler
    takes: Any = None
    gives: Any = None
    status: int = 200
    each: Any = None
    other_status: int | None = None  # when nothing was created
    limit: int = limits.BODY
    headers: tuple[str, ...] = ()
    query: tuple[str, ...] = ()
    group: str = "experiments"
    is_shared: bool = False
    refuses: Callable[[Problem, Mapping[str, str]], Response] = lambda problem, params: problem_response(problem)

    @property
    def name(self) -> str:
        """The handler's name."""
        return str(getattr(self.handler, "__name__", ""))

    def check_experiment(self, holder: Holder, params: Mapping[str, str]) -> None:
        """Refuse a key for other experiments: theirs are unknown to it, whether or not they exist."""
        if self.is_shared:
            raise only_whole(holder)
        key = params.get("key")
        if key is not None and not holder.sees(key):
            raise NotFound(f"there is no experiment {key!r}", field="key")

    @property
    def summary(self) -> str:
        """The first line of the handler's docstring."""
        return (self.handler.__doc__ or "").partition("\n")[0]

    @property
    def media(self) -> bytes:
        """The Content-Type of the request's body."""
        return LINES if self.takes is bytes else JSON


T = TypeVar("T")


def only_whole(holder: Holder) -> Forbidden:
    """The refusal of a key for some experiments where one for all is needed."""
    mine = ", ".join(sorted(holder.experiments or ()))
    return Forbidden(f"this needs a key for all experiments; this one is for {mine}", field="Authorization")


class ClientDisconnected(Exception):
    """The caller has closed the connection."""


async def read_body(receive: Receive, headers: Mapping[bytes, bytes], limit: int) -> bytes:
    """The whole body. More than `limit` bytes are refused as soon as that is known."""
    length = headers.get(b"content-length", b"0")
    if len(length) > 19 or not length.isdigit() or int(length) > limit:
        raise _too_large(limit)
    message = await receive()
    body: bytes = message.get("body", b"")
    if message.get("more_body", False):
        chunks, size = [body], len(body)
        try:
            async with asyncio.timeout(limits.BODY_SECONDS):
                while message.get("more_body", False) and size <= limit:
                    message = await receive()
                    chunks.append(message.get("body", b""))
                    size += len(chunks[-1])
        except TimeoutError:
            raise TooSlow(f"the body was not complete after {limits.BODY_SECONDS:g} seconds") from None
        body = b"".join(chunks)
    if message["type"] != "http.request":
        raise ClientDisconnected
    if len(body) > limit:
        raise _too_large(limit)
    return body


def _too_large(limit: int) -> TooLarge:
    return TooLarge(f"the body is larger than {limit} bytes", accepted=f"at most {limit} bytes")


def check_media(headers: Mapping[bytes, bytes], accepted: bytes) -> None:
    """Check the Content-Type."""
    said = headers.get(b"content-type", b"")
    if said != accepted and said.partition(b";")[0].strip().lower() != accepted:
        media, found = accepted.decode(), said.decode("latin-1") or "missing"
        raise WrongMedia(f"the Content-Type is {found}; accepted is {media}", field="Content-Type", accepted=media)


def decoder(kind: type[T]) -> Callable[[bytes], T]:
    """A function that decodes messages of one type; made once per route. A Problem names the wrong field."""
    decode = msgspec.json.Decoder(kind).decode
    needed = sum(one.required for one in msgspec.structs.fields(kind))  # type: ignore[arg-type]
    least = max(needed, 1)  # pairs: with these alone no key is there twice

    def decoded(body: bytes) -> T:
        try:
            message = decode(body)
            if body.count(b"[") + body.count(b"{") > limits.DEPTH:
                _check_depth(msgspec.json.decode(body), limits.DEPTH)
            check_distinct_keys(body, least)
        except msgspec.ValidationError as complaint:
            raise validation_problem(kind, str(complaint)) from None
        except msgspec.DecodeError as complaint:
            said = f"not JSON: {complaint}" if body.strip() else "empty; accepted is JSON, at least {}"
            raise Malformed(f"the body is {said}", accepted="JSON") from None
        except UnicodeDecodeError:
            raise Malformed("the body is not UTF-8", accepted="JSON in UTF-8") from None
        except RecursionError:
            raise _too_deep() from None
        return message

    return decoded


def _check_depth(value: Any, left: int) -> None:
    """Limit the nesting of lists and objects: other JSON parsers have limits too."""
    if isinstance(value, dict | list):
        if not left:
            raise _too_deep()
        for inner in value.values() if isinstance(value, dict) else value:
            _check_depth(inner, left - 1)


def _too_deep() -> Malformed:
    accepted = f"lists and objects inside one another at most {limits.DEPTH} deep"
    return Malformed(f"the body is nested too deeply; accepted are {accepted}", accepted=accepted)
