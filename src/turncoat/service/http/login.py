"""The dashboard's way in: a key typed into a form once, then a cookie that no script reads and no other site uses.

Only the key itself is in the cookie: revoking it ends the session everywhere, and nothing else need be kept.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from turncoat.service.api_keys import Holder
from turncoat.service.errors import Forbidden, Malformed, Unauthorised
from turncoat.service.http import limits
from turncoat.service.http.auth import is_own_page, may
from turncoat.service.http.body import read
from turncoat.service.http.context import Office

COOKIE = "turncoat_key"
SECONDS = 12 * 3600


class Typed(NamedTuple):
    """What somebody typed into the form."""

    key: str
    next_page: str


def visitor(office: Office, request: Request, scope: str = "read") -> Holder:
    """Who looks at a page: by their cookie, or anyone on this machine while there is no key."""
    if office.guard.is_open:
        return office.guard.local(dict(request.scope["headers"]), changes=request.method not in ("GET", "HEAD"))
    key = request.cookies.get(COOKIE)
    if key is None:
        raise Unauthorised("this page needs a key; sign in with one", field="key")
    return may(office.guard.holder_of(key), scope)


async def typed(request: Request) -> Typed:
    """What the form says: `key`, and `next`, where to go from there."""
    body = await read(request.receive, dict(request.scope["headers"]), limits.BODY)
    try:
        fields = parse_qs(body.decode("ascii"), max_num_fields=10)
    except ValueError:
        raise Malformed("the form cannot be read", field="key") from None
    return Typed(fields.get("key", [""])[0].strip(), inside(fields.get("next", [""])[0]))


def inside(address: str | None) -> str:
    """An address of our own pages; anything else is the first page, so that nobody is sent elsewhere from here."""
    own = address is not None and address.startswith("/") and address.isprintable()
    return str(address) if own and not str(address).startswith(("//", "/\\")) else "/"


def sign_in(office: Office, request: Request, form: Typed) -> Response:
    """On to the pages, with the cookie, if the key is good for reading."""
    may(office.guard.holder_of(form.key), "read")
    answer = RedirectResponse(form.next_page, 303)
    answer.set_cookie(COOKIE, form.key, max_age=SECONDS, httponly=True, samesite="strict", secure=_is_https(request))
    return answer


def sign_out(request: Request) -> Response:
    """Forget the cookie."""
    answer = RedirectResponse("/", 303)
    answer.delete_cookie(COOKIE, httponly=True, samesite="strict", secure=_is_https(request))
    return answer


def check_own_page(request: Request) -> None:
    """A form must have been sent by one of our own pages, which browsers say."""
    headers = dict(request.scope["headers"])
    if b"origin" not in headers and b"sec-fetch-site" not in headers:
        raise Forbidden("a form is sent with the header Origin, and it is missing", field="Origin")
    if not is_own_page(headers):
        raise Forbidden("a page of another origin sent this form; accepted are our own pages", field="Origin")


def _is_https(request: Request) -> bool:
    """Also by the word of a proxy in front: a lie would only make the cookie useless to whoever told it."""
    return "https" in (request.url.scheme, request.headers.get("x-forwarded-proto"))
