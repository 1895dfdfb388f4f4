"""Authentication: once a key exists, every request needs one; before, callers on this machine need none.

Without keys, web pages open in a browser on this machine are the danger. DNS rebinding check: the Host header must name
this machine. CSRF check: a request that changes something must come from the service's own origin or from no page.
A request with proxy headers may come from elsewhere, and needs a key.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from ipaddress import ip_address

from turncoat.service.api_keys import LOCAL, Holder, KeyRing
from turncoat.service.errors import Forbidden, Malformed, Unauthorised

LOOPBACK_HOSTS = frozenset({b"localhost", b"127.0.0.1", b"[::1]"})
PROXY_HEADERS = frozenset(
    {
        *(b"forwarded", b"via", b"x-real-ip", b"x-client-ip", b"x-cluster-client-ip", b"true-client-ip"),
        *(b"x-forwarded", b"x-forwarded-for", b"x-forwarded-host", b"x-forwarded-port", b"x-forwarded-proto"),
        *(b"x-forwarded-server", b"x-original-forwarded-for", b"x-original-host", b"x-envoy-external-address"),
        *(b"cf-connecting-ip", b"cf-connecting-ipv6", b"cf-ray", b"fastly-client-ip", b"fly-client-ip"),
        *(b"x-azure-clientip", b"x-appengine-user-ip", b"cdn-loop"),
    }
)
# Where two parts of a system read different ones of two, one may be deceived about what the other does.
SINGLE = frozenset(
    {b"host", b"authorization", b"content-type", b"content-length", b"idempotency-key", b"if-match", b"origin"}
    | {b"sec-fetch-site"}
)
NEEDED = "this needs a key; accepted is the header Authorization: Bearer tk_<id>_<secret>"

Headers = Mapping[bytes, bytes]


class Authenticator:
    """Authenticates and authorises requests."""

    def __init__(self, ring: KeyRing, *, loopback: bool) -> None:
        self._ring = ring
        self._loopback = loopback

    def authorize(self, headers: Headers, scope: str | None, *, changes: bool) -> Holder:
        """The caller, if allowed. `scope` None: any key will do. `changes`: the request does more than read."""
        if not self._ring.is_needed:
            return self.loopback_caller(headers, changes=changes)
        kind, _, key = headers.get(b"authorization", b"").partition(b" ")
        if kind.lower() != b"bearer":
            raise Unauthorised(NEEDED, field="Authorization")
        holder = self._ring.holder(key.strip())
        return holder if scope is None else require_scope(holder, scope)

    def loopback_caller(self, headers: Headers, *, changes: bool) -> Holder:
        """A caller on this machine, while no key exists."""
        if not self._loopback:
            raise Unauthorised(NEEDED, field="Authorization")
        host = headers.get(b"host", b"")
        if _name(host) not in LOOPBACK_HOSTS:
            said, accepted = host.decode("latin-1"), "localhost, 127.0.0.1, [::1]"
            raise Forbidden(f"Host is {said!r}; while there is no key accepted are {accepted}", field="Host")
        if not PROXY_HEADERS.isdisjoint(headers):
            raise Unauthorised(f"a proxy passed this on, so it may come from anywhere: {NEEDED}", field="Authorization")
        if changes and not is_same_origin(headers):
            raise Forbidden("a page of another origin sent this; without keys only our own pages may", field="Origin")
        return LOCAL

    def holder_of(self, key: str) -> Holder:
        """The holder of a key from a form."""
        return self._ring.holder(key.encode("utf-8", "replace"))


def check_single(headers: Iterable[tuple[bytes, bytes]]) -> None:
    """Refuse a header that comes twice and that this service reads once."""
    seen: set[bytes] = set()
    for name, _ in headers:
        if name in SINGLE and name in seen:
            said = name.decode("ascii")
            raise Malformed(f"there are two headers {said}; accepted is one", field=said, accepted="one")
        seen.add(name)


def require_scope(holder: Holder, scope: str) -> Holder:
    """The holder, if the key has the scope."""
    if scope not in holder.scopes:
        has = ", ".join(sorted(holder.scopes))
        raise Forbidden(f"this needs a key with the scope {scope!r}; this one has {has}", field="Authorization")
    return holder


def is_same_origin(headers: Headers) -> bool:
    """CSRF check: whether a request was sent by the service's own origin, or by no page at all."""
    if headers.get(b"sec-fetch-site", b"none") not in (b"none", b"same-origin"):
        return False
    origin = headers.get(b"origin")
    return origin is None or origin.partition(b"://")[2].lower() == headers.get(b"host", b"").lower()


def is_loopback(host: str) -> bool:
    """Whether an address is a loopback address."""
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _name(host: bytes) -> bytes:
    """The host name of a Host header, without its port."""
    return (host if host.endswith(b"]") else host.rpartition(b":")[0] or host).lower()
