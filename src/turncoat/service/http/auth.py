"""Who comes in. With a key in the store everyone needs one; without any, callers on this machine need none.

A web page that somebody visits can send requests to this machine too. So while no key is needed, the Host header must
name this machine (a foreign name that points here does not), and what a page sends to change something must come from
one of our own pages. What a proxy on this machine passes on comes from elsewhere, and needs a key.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address

from turncoat.service.api_keys import LOCAL, Holder, KeyRing
from turncoat.service.errors import Forbidden, Unauthorised

HERE = frozenset({b"localhost", b"127.0.0.1", b"[::1]"})
PASSED_ON = frozenset({b"forwarded", b"via", b"x-forwarded-for", b"x-forwarded-host", b"x-real-ip"})
NEEDED = "this needs a key; accepted is the header Authorization: Bearer tk_<id>_<secret>"

Headers = Mapping[bytes, bytes]


class Guard:
    """Knows who may do what."""

    def __init__(self, ring: KeyRing, *, loopback: bool) -> None:
        self._ring = ring
        self._loopback = loopback

    def admit(self, headers: Headers, scope: str, *, changes: bool) -> Holder:
        """Whoever asks, if they may. `changes`: whether it does more than look."""
        if not self._ring.is_needed:
            return self.local(headers, changes=changes)
        return may(self.shown(headers.get(b"authorization")), scope)

    def shown(self, authorization: bytes | None) -> Holder:
        """Whose key this header shows."""
        if authorization is None:
            raise Unauthorised(NEEDED, field="Authorization")
        kind, _, key = authorization.partition(b" ")
        if kind.lower() != b"bearer":
            raise Unauthorised(NEEDED, field="Authorization")
        return self._ring.holder(key.strip())

    def local(self, headers: Headers, *, changes: bool) -> Holder:
        """Somebody on this machine, while no key is needed."""
        if not self._loopback:
            raise Unauthorised(NEEDED, field="Authorization")
        host = headers.get(b"host", b"")
        if _name(host) not in HERE:
            said, accepted = host.decode("latin-1"), "localhost, 127.0.0.1, [::1]"
            raise Forbidden(f"Host is {said!r}; while there is no key accepted are {accepted}", field="Host")
        if not PASSED_ON.isdisjoint(headers):
            raise Unauthorised(f"a proxy passed this on, so it may come from anywhere: {NEEDED}", field="Authorization")
        if changes and not is_own_page(headers):
            raise Forbidden("a page of another origin sent this; without keys only our own pages may", field="Origin")
        return LOCAL

    @property
    def is_open(self) -> bool:
        """Whether callers on this machine need no key."""
        return not self._ring.is_needed

    def holder_of(self, key: str) -> Holder:
        """Whose key this is, wherever it was shown."""
        return self._ring.holder(key.encode("utf-8", "replace"))


def may(holder: Holder, scope: str) -> Holder:
    """The same, if the key is for that."""
    if scope not in holder.scopes:
        has = ", ".join(sorted(holder.scopes))
        raise Forbidden(f"this needs a key with the scope {scope!r}; this one has {has}", field="Authorization")
    return holder


def is_own_page(headers: Headers) -> bool:
    """Whether a request was sent by one of our own pages, or by no page at all."""
    if headers.get(b"sec-fetch-site", b"none") not in (b"none", b"same-origin"):
        return False
    origin = headers.get(b"origin")
    return origin is None or origin.partition(b"://")[2].lower() == headers.get(b"host", b"").lower()


def is_loopback(host: str) -> bool:
    """Whether only this machine can connect to that address."""
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _name(host: bytes) -> bytes:
    """The name in a Host header, without its port."""
    return (host if host.endswith(b"]") else host.rpartition(b":")[0] or host).lower()
