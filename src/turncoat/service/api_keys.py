"""Keys that callers show: `tk_<id>_<secret>`. The secret is 32 random bytes, shown once; only its SHA-256 is kept.

A key may do what its scopes say and nothing else: decide, reward, read, admin. It can have an end, and can be revoked;
a `KeyRing` reads the store again every moment, so that this works within a second wherever the service runs.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Literal, NamedTuple, get_args

from msgspec import Meta

from turncoat.service.clock import Clock, SystemClock, as_datetime, as_seconds
from turncoat.service.errors import NotFound, Unauthorised, Unprocessable
from turncoat.service.messages import Answer, Message, Name
from turncoat.service.store import Session, Store

Scope = Literal["decide", "reward", "read", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
PREFIX = "tk"

COLUMNS = ("id", "name", "sha256", "scopes", "created_at", "expires_at", "revoked_at")
ALL = "SELECT id, name, sha256, scopes, created_at, expires_at, revoked_at FROM api_key ORDER BY created_at, id"
REVOKE = "UPDATE api_key SET revoked_at = :now WHERE id = :id AND revoked_at IS NULL"


class NewKey(Message, frozen=True, kw_only=True):
    """A key to make."""

    name: Name
    scopes: Annotated[list[Scope], Meta(min_length=1, max_length=len(SCOPES))]
    expires_at: datetime | None = None


class KeyRecord(Answer, frozen=True, kw_only=True):
    """A key as it is known afterwards: all but its secret."""

    id: str
    name: str
    scopes: list[Scope]
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None


class IssuedKey(KeyRecord, frozen=True, kw_only=True):
    """A key just made. This is the only time that it is seen."""

    key: str


class Holder(NamedTuple):
    """Who shows a good key."""

    id: str
    name: str
    scopes: frozenset[str]


class _Kept(NamedTuple):
    holder: Holder
    sha256: bytes
    ends_at: float


LOCAL = Holder("local", "local", frozenset(SCOPES))  # someone on this machine, while there is no key at all
NOBODY = _Kept(Holder("", "", frozenset()), bytes(32), 0.0)
UNKNOWN = "the key is not known, has run out or was revoked; accepted is Authorization: Bearer tk_<id>_<secret>"


def issue(session: Session, new: NewKey, now: float) -> IssuedKey:
    """Make a key and keep its hash."""
    ends_at = None if new.expires_at is None else as_seconds(new.expires_at)
    if ends_at is not None and ends_at <= now:
        raise Unprocessable(f"expires_at is {new.expires_at}; accepted is a time to come", field="expires_at")
    scopes = [scope for scope in SCOPES if scope in new.scopes]
    if not scopes or len(scopes) < len(set(new.scopes)):
        raise Unprocessable(f"scopes are {new.scopes}; accepted are {', '.join(SCOPES)}", field="scopes")
    number, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    row = (number, new.name, hashlib.sha256(secret.encode()).hexdigest(), " ".join(scopes), now, ends_at, None)
    session.insert("api_key", COLUMNS, [row])
    return IssuedKey(
        key=f"{PREFIX}_{number}_{secret}",
        id=number,
        name=new.name,
        scopes=scopes,
        created_at=as_datetime(now),
        expires_at=None if ends_at is None else as_datetime(ends_at),
        revoked_at=None,
    )


def revoke(session: Session, number: str, now: float) -> KeyRecord:
    """From now on it is good for nothing. One revoked before stays as it was."""
    session.run(REVOKE, id=number, now=now)
    found = [key for key in listed(session) if key.id == number]
    if not found:
        raise NotFound(f"there is no key of id {number!r}; the id is the part between the underscores", field="id")
    return found[0]


def listed(session: Session) -> list[KeyRecord]:
    """All keys ever made, in order."""
    return [
        KeyRecord(
            id=number,
            name=name,
            scopes=scopes.split(),
            created_at=as_datetime(created_at),
            expires_at=None if expires_at is None else as_datetime(expires_at),
            revoked_at=None if revoked_at is None else as_datetime(revoked_at),
        )
        for number, name, _, scopes, created_at, expires_at, revoked_at in session.rows(ALL)
    ]


class KeyRing:
    """The keys of a store, in memory. `refresh` reads them again."""

    def __init__(self, store: Store, clock: Clock | None = None) -> None:
        self._store = store
        self._clock = clock or SystemClock()
        self._kept: dict[bytes, _Kept] = {}
        self.is_needed = True  # until it is known that there is no key

    def refresh(self) -> None:
        """Read the store."""
        with self._store.reading() as session:
            self._take(session.rows(ALL))

    def _take(self, rows: Iterable[tuple[str, str, str, str, float, float | None, float | None]]) -> None:
        kept, any_key = {}, False
        for number, name, sha256, scopes, _, expires_at, revoked_at in rows:
            any_key = True
            if revoked_at is None:
                ends_at = float("inf") if expires_at is None else expires_at
                holder = Holder(number, name, frozenset(scopes.split()))
                kept[number.encode()] = _Kept(holder, bytes.fromhex(sha256), ends_at)
        self._kept, self.is_needed = kept, any_key  # once there was a key, none at all is no way in again

    def holder(self, key: bytes) -> Holder:
        """Whose key this is."""
        prefix, _, rest = key.partition(b"_")
        number, _, secret = rest.partition(b"_")
        kept = self._kept.get(number, NOBODY)
        same = hmac.compare_digest(hashlib.sha256(secret).digest(), kept.sha256)
        if not same or prefix != b"tk" or self._clock.now() >= kept.ends_at:
            raise Unauthorised(UNKNOWN, field="Authorization")
        return kept.holder
