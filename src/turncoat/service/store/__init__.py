"""Where decisions and rewards are kept: a SQLite file by default, PostgreSQL for many workers."""

from __future__ import annotations

from turncoat.service.store.interface import Session, Store, StoreDown, StoreError


def open_store(where: str, *, beside: bool = False) -> Store:
    """A file's name, or an address like postgresql://user@host/database. Tables are made or brought up to date.

    `beside`: it may be in use by a service, next to which this is to look and to write a row now and then.
    """
    from turncoat.service.store.sqlite import SQLiteStore

    return SQLiteStore(where, beside=beside)


__all__ = ["Session", "Store", "StoreDown", "StoreError", "open_store"]
