"""CORS: web pages of the origins in the settings may evaluate and reward from a browser, with a key of their own.

Off unless `turncoat serve --cors-origin` names an origin. It covers the routes with the scopes `decide` and `reward`,
and no others. An origin must match exactly. No credentials are allowed, so no cookie is ever sent along: the key is in
the header Authorization. CORS lets a page read answers; it is no right to anything. While there is no key the checks of
`auth` stand: a page of another origin is refused, whatever is set here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from turncoat.errors import OptionError

if TYPE_CHECKING:
    from turncoat.service.http.metrics import Meter
    from turncoat.service.http.route import Route

SCOPES = ("decide", "reward")
USUAL = {"http": "80", "https": "443"}
ORIGIN = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*)://([a-z0-9_.-]+|\[[0-9a-f:.]+\])(:(?P<port>[0-9]{1,5}))?")
VARY = (b"vary", b"Origin")
PREFLIGHT = (
    (b"access-control-allow-methods", b"POST"),
    (b"access-control-allow-headers", b"Authorization, Content-Type, Idempotency-Key"),
    (b"access-control-max-age", b"7200"),  # seconds; browsers cap it there
    (b"vary", b"Origin, Access-Control-Request-Method, Access-Control-Request-Headers"),
)


class CrossOrigin:
    """Answers preflight requests, and adds the headers that let a page of an allowed origin read an answer."""

    def __init__(self, app: ASGIApp, routes: Iterable[Route], origins: Iterable[str], meter: Meter) -> None:
        self._app = app
        self.fast_routes = getattr(app, "fast_routes", None)  # requests without Origin go there, and not through here
        self._meter = meter
        self._origins = frozenset(origin.encode() for origin in origins)
        open_to_pages = (re.sub(r"{\w+}", "[^/]+", route.path) for route in routes if route.scope in SCOPES)
        self._covers = re.compile("|".join(sorted(open_to_pages))).fullmatch

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http" or not self._covers(scope["path"]):
            return await self._app(scope, receive, send)
        headers = dict(scope["headers"])
        origin = headers.get(b"origin", b"")
        allowed = ((b"access-control-allow-origin", origin),) if origin in self._origins else ()
        if allowed and scope["method"] == "OPTIONS" and b"access-control-request-method" in headers:
            self._meter.count(204, 0.0)
            await send({"type": "http.response.start", "status": 204, "headers": [*allowed, *PREFLIGHT]})
            return await send({"type": "http.response.body", "body": b""})
        more = (VARY, *allowed, *((b"access-control-expose-headers", b"Retry-After") for _ in allowed))

        async def with_more(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *more]
            await send(message)

        return await self._app(scope, receive, with_more)


def check_origins(origins: Iterable[str]) -> None:
    """Refuse what no browser would send as Origin, and what would match more than one."""
    for origin in origins:
        found = ORIGIN.fullmatch(origin)
        if found is None or (found["port"] is not None and found["port"] == USUAL.get(found["scheme"])):
            raise OptionError(
                f"cors-origin is {origin!r}; accepted is one origin as browsers send it: scheme and host in lower "
                "case, and the port if it is not the usual one, as in https://shop.example or http://localhost:5173"
            )
