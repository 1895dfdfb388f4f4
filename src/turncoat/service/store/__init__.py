"""Where decisions and rewards are kept: a SQLite file by default, PostgreSQL for many workers."""

from __future__ import annotations

from turncoat.optional_imports import require
from turncoat.service.store.interface import Session, Store, StoreDown, StoreError


def open_store(where: str, *, beside: bool = False) -> Store:
    """A file's name, or an address like postgresql://user@host/database. Tables are made or brought up to date.

    `beside`: it may be in use by a service, next to which this is to look and to write a row now and then.
    """
    kind, is_address, _ = where.partition("://")
    if not is_address:
        from turncoat.service.store.sqlite import SQLiteStore

        return SQLiteStore(where, beside=beside)
    if kind not in ("postgresql", "postgres"):
        raise StoreError(f"the store's address begins with {kind}://; accepted are postgresql:// and names of files")
    require("psycopg", "a PostgreSQL store", "postgres")
    from turncoat.service.store.postgres import PostgresStore

    return PostgresStore(where)


__all__ = ["Session", "Store", "StoreDown", "StoreError", "open_store"]
