"""API keys: bearer tokens `tk_<id>_<secret>`. The secret is 32 random bytes, shown once; only its SHA-256 is kept.

A key has scopes (decide, reward, read, admin), may be for some experiments only, may have a rate limit, may expire and
may be revoked; every worker's `KeyRing` polls the store, so that a revocation takes effect everywhere within a second.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import secrets
from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Literal, NamedTuple, get_args

import msgspec
from msgspec import Meta

from turncoat.service.clock import Clock, SystemClock, as_datetime, as_seconds
from turncoat.service.errors import NotFound, TooMany, Unauthorised, Unprocessable
from turncoat.service.experiments.audit import append_entry
from turncoat.service.messages import Answer, Key, Message, Name
from turncoat.service.rate_limits import TokenBucket
from turncoat.service.store.interface import Row, Session, Store
from turncoat.service.validation import check_name, checked

Scope = Literal["decide", "reward", "read", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
PREFIX = "tk"

COLUMNS = (
    *("id", "name", "sha256", "scopes", "created_at", "expires_at", "revoked_at"),
    *("experiments", "rate", "burst"),
)
ALL = f"SELECT {', '.join(COLUMNS)} FROM api_key ORDER BY created_at, id"
REVOKE = "UPDATE api_key SET revoked_at = :now WHERE id = :id AND revoked_at IS NULL"


class NewKey(Message, frozen=True, kw_only=True):
    """A key to make."""

    name: Name
    scopes: Annotated[list[Scope], Meta(min_length=1, max_length=len(SCOPES))]
    expires_at: datetime | None = None
    experiments: Annotated[list[Key], Meta(min_length=1, max_length=1000)] | None = None  # None: all
    rate: Annotated[float, Meta(ge=0.001, le=1e6)] | None = None  # requests per second, of each worker
    burst: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None  # at once; by default a second's, at least 1


class KeyRecord(Answer, frozen=True, kw_only=True):
    """A key as it is known afterwards: all but its secret."""

    id: str
    name: str
    scopes: list[Scope]
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    experiments: list[str] | None = None
    rate: float | None = None
    burst: int | None = None


class IssuedKey(KeyRecord, frozen=True, kw_only=True):
    """A key just made. This is the only time that it is seen."""

    key: str


class Holder(NamedTuple):
    """The holder of a valid key."""

    id: str
    name: str
    scopes: frozenset[str]
    experiments: frozenset[str] | None = None  # None: all

    def sees(self, experiment: str | None) -> bool:
        """Whether the key is for this experiment; None: whether it is for all of them."""
        return self.experiments is None or experiment in self.experiments


class _StoredKey(NamedTuple):
    holder: Holder
    sha256: bytes
    ends_at: float
    bucket: TokenBucket | None = None


LOCAL = Holder("local", "local", frozenset(SCOPES))  # any caller on this machine, while no key exists
NO_KEY = _StoredKey(Holder("", "", frozenset()), bytes(32), 0.0)
UNKNOWN = "the key is not known, has run out or was revoked; accepted is Authorization: Bearer tk_<id>_<secret>"


def issue(session: Session, new: NewKey, now: float, actor: str = "local") -> IssuedKey:
    """Make a key and keep its hash, with an entry in the audit."""
    number, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    record = keep(session, new, number, secret, now, actor)
    return IssuedKey(key=f"{PREFIX}_{number}_{secret}", **msgspec.structs.asdict(record))


def keep(session: Session, new: NewKey, number: str, secret: str, now: float, actor: str) -> KeyRecord:
    """Keep the hash of a key's secret, with an entry in the audit."""
    scopes = [scope for scope in SCOPES if scope in new.scopes]
    if not scopes or len(scopes) < len(set(new.scopes)):
        raise Unprocessable(f"scopes are {new.scopes}; accepted are {', '.join(SCOPES)}", field="scopes")
    checked(new)
    check_name(new.name, "name")
    ends_at = None if new.expires_at is None else as_seconds(new.expires_at)
    if ends_at is not None and ends_at <= now:
        raise Unprocessable(f"expires_at is {new.expires_at}; accepted is a time to come", field="expires_at")
    burst = new.burst
    if new.rate is not None:
        burst = burst or max(math.ceil(new.rate), 1)
    elif burst is not None:
        raise Unprocessable(f"burst is {burst} and there is no rate; accepted is a burst with a rate", field="burst")
    experiments = None if new.experiments is None else " ".join(dict.fromkeys(new.experiments))
    digest = hashlib.sha256(secret.encode()).hexdigest()
    row = (number, new.name, digest, " ".join(scopes), now, ends_at, None, experiments, new.rate, burst)
    session.insert("api_key", COLUMNS, [row])
    record = _record(row)
    told = {name: getattr(record, name) for name in ("id", "scopes", "experiments", "rate", "burst")}
    after = {name: value for name, value in told.items() if value is not None}
    append_entry(session, now, actor, "make key", None, before=None, after=after)
    return record


def revoke(session: Session, number: str, now: float, actor: str = "local") -> KeyRecord:
    """Revoke a key, with an entry in the audit. One that was revoked before keeps its time."""
    changed = session.run(REVOKE, id=number, now=now)
    found = [key for key in listed(session) if key.id == number]
    if not found:
        raise NotFound(f"there is no key of id {number!r}; the id is the part between the underscores", field="id")
    if changed:
        append_entry(session, now, actor, "revoke key", None, before=None, after={"id": number})
    return found[0]


def listed(session: Session) -> list[KeyRecord]:
    """All keys ever made, in order."""
    return [_record(row) for row in session.rows(ALL)]


def _record(row: Row) -> KeyRecord:
    number, name, _, scopes, created_at, *ends, experiments, rate, burst = row
    expires_at, revoked_at = (None if at is None else as_datetime(at) for at in ends)
    return KeyRecord(
        id=number,
        name=name,
        scopes=scopes.split(),
        created_at=as_datetime(created_at),
        expires_at=expires_at,
        revoked_at=revoked_at,
        experiments=None if experiments is None else experiments.split(),
        rate=rate,
        burst=burst,
    )


class KeyRing:
    """The keys of a store, in memory. `refresh` reads them again."""

    def __init__(
        self, store: Store, clock: Clock | None = None, limited: Callable[[str], None] = lambda number: None
    ) -> None:
        """`limited` is told the id of a key whose request is refused by its rate."""
        self._store = store
        self._clock = clock or SystemClock()
        self._limited = limited
        self._kept: dict[bytes, _StoredKey] = {}
        self.is_needed = True  # until the store was read and holds no key

    def refresh(self) -> None:
        """Read the store."""
        with self._store.reading() as session:
            rows = session.rows(ALL)
        kept = {}
        for number, name, sha256, scopes, _, expires_at, revoked_at, experiments, rate, burst in rows:
            if revoked_at is None:
                ends_at = float("inf") if expires_at is None else expires_at
                only = None if experiments is None else frozenset(experiments.split())
                holder = Holder(number, name, frozenset(scopes.split()), only)
                before = self._kept.get(number.encode(), NO_KEY).bucket  # what it has used stays used
                bucket = before or (None if rate is None else TokenBucket(rate, burst))
                kept[number.encode()] = _StoredKey(holder, bytes.fromhex(sha256), ends_at, bucket)
        self._kept = kept
        self.is_needed = bool(rows)  # revoked keys count: revoking the last one must not open the service

    def holder(self, key: bytes) -> Holder:
        """The holder of this key. Unknown, expired or revoked: Unauthorised; its rate is used up: TooMany."""
        prefix, _, rest = key.partition(b"_")
        number, _, secret = rest.partition(b"_")
        kept = self._kept.get(number, NO_KEY)
        same = hmac.compare_digest(hashlib.sha256(secret).digest(), kept.sha256)
        if not same or prefix != PREFIX.encode():
            raise Unauthorised(UNKNOWN, field="Authorization")
        return self._admitted(kept)

    def holder_of_id(self, number: str) -> Holder:
        """The holder of the key with this id, for a caller who has proved to have it."""
        return self._admitted(self._kept.get(number.encode(), NO_KEY))

    def _admitted(self, kept: _StoredKey) -> Holder:
        now = self._clock.now()
        if now >= kept.ends_at:
            raise Unauthorised(UNKNOWN, field="Authorization")
        wait = 0.0 if kept.bucket is None else kept.bucket.take(now)
        if kept.bucket is not None and wait > 0.0:
            self._limited(kept.holder.id)
            accepted = f"{kept.bucket.rate:g} requests per second, {kept.bucket.burst} at once"
            raise TooMany(f"this key is for {accepted}; the next in {wait:.3g} s", wait=wait, accepted=accepted)
        return kept.holder
