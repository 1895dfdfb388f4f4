"""Logins of the dashboard: a random token in a cookie, and its SHA-256 in the store.

The token is not the key and opens nothing but pages. It ends after twelve hours, with the key that it was made with, or
by signing out, which all workers see at once: every page looks it up in the store.
"""

from __future__ import annotations

import hashlib
import secrets

from turncoat.service.errors import Unauthorised
from turncoat.service.store.interface import Session

SECONDS = 12 * 3600  # a login lasts
COLUMNS = ("sha256", "api_key", "expires_at")
FOUND = "SELECT api_key FROM login_session WHERE sha256 = :sha256 AND expires_at > :now"
ENDED = "DELETE FROM login_session WHERE sha256 = :sha256"
OLD = "DELETE FROM login_session WHERE expires_at <= :now"


def begin(session: Session, key_id: str, now: float) -> str:
    """Record a login with this key; its token. Logins that have run out are deleted."""
    token = secrets.token_urlsafe(32)
    session.run(OLD, now=now)
    session.insert("login_session", COLUMNS, [(_digest(token), key_id, now + SECONDS)])
    return token


def key_of(session: Session, token: str, now: float) -> str:
    """The id of the key that this login was made with."""
    found = session.rows(FOUND, sha256=_digest(token), now=now)
    if not found:
        raise Unauthorised("this login has ended; sign in again", field="key")
    return str(found[0][0])


def end(session: Session, token: str) -> None:
    """Forget a login."""
    session.run(ENDED, sha256=_digest(token))


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
