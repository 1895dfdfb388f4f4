"""API keys: bearer tokens `tk_<id>_<secret>`. The secret is 32 random bytes, shown once; only its SHA-256 is kept.

A key has scopes (decide, reward, read, admin), may expire and may be revoked; every worker's `KeyRing` polls the store,
so that a revocation takes effect everywhere within a second.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from datetime import datetime
from typing import Annotated, Literal, NamedTuple, get_args

import msgspec
from msgspec import Meta

from turncoat.service.clock import Clock, SystemClock, as_datetime, as_seconds
from turncoat.service.errors import NotFound, Unauthorised, Unprocessable
from turncoat.service.messages import Answer, Message, Name
from turncoat.service.store.interface import Row, Session, Store

Scope = Literal["decide", "reward", "read", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
PREFIX = "tk"

COLUMNS = ("id", "name", "sha256", "scopes", "created_at", "expires_at", "revoked_at")
ALL = f"SELECT {', '.join(COLUMNS)} FROM api_key ORDER BY created_at, id"
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
    """The holder of a valid key."""

    id: str
    name: str
    scopes: frozenset[str]


class _StoredKey(NamedTuple):
    holder: Holder
    sha256: bytes
    ends_at: float


LOCAL = Holder("local", "local", frozenset(SCOPES))  # any caller on this machine, while no key exists
NO_KEY = _StoredKey(Holder("", "", frozenset()), bytes(32), 0.0)
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
    return IssuedKey(key=f"{PREFIX}_{number}_{secret}", **msgspec.structs.asdict(_record(row)))


def revoke(session: Session, number: str, now: float) -> KeyRecord:
    """Revoke a key. One that was revoked before keeps its time."""
    session.run(REVOKE, id=number, now=now)
    found = [key for key in listed(session) if key.id == number]
    if not found:
        raise NotFound(f"there is no key of id {number!r}; the id is the part between the underscores", field="id")
    return found[0]


def listed(session: Session) -> list[KeyRecord]:
    """All keys ever made, in order."""
    return [_record(row) for row in session.rows(ALL)]


def _record(row: Row) -> KeyRecord:
    number, name, _, scopes, created_at, *ends = row
    expires_at, revoked_at = (None if at is None else as_datetime(at) for at in ends)
    return KeyRecord(
        id=number,
        name=name,
        scopes=scopes.split(),
        created_at=as_datetime(created_at),
        expires_at=expires_at,
        revoked_at=revoked_at,
    )


class KeyRing:
    """The keys of a store, in memory. `refresh` reads them again."""

    def __init__(self, store: Store, clock: Clock | None = None) -> None:
        self._store = store
        self._clock = clock or SystemClock()
        self._kept: dict[bytes, _StoredKey] = {}
        self.is_needed = True  # until the store was read and holds no key

    def refresh(self) -> None:
        """Read the store."""
        with self._store.reading() as session:
            rows = session.rows(ALL)
        kept = {}
        for number, name, sha256, scopes, _, expires_at, revoked_at in rows:
            if revoked_at is None:
                ends_at = float("inf") if expires_at is None else expires_at
                holder = Holder(number, name, frozenset(scopes.split()))
                kept[number.encode()] = _StoredKey(holder, bytes.fromhex(sha256), ends_at)
        self._kept = kept
        self.is_needed = bool(rows)  # revoked keys count: revoking the last one must not open the service

    def holder(self, key: bytes) -> Holder:
        """The holder of this key; an unknown, expired or revoked key raises Unauthorised."""
        prefix, _, rest = key.partition(b"_")
        number, _, secret = rest.partition(b"_")
        kept = self._kept.get(number, NO_KEY)
        same = hmac.compare_digest(hashlib.sha256(secret).digest(), kept.sha256)
        if not same or prefix != PREFIX.encode() or self._clock.now() >= kept.ends_at:
            raise Unauthorised(UNKNOWN, field="Authorization")
        return kept.holder
