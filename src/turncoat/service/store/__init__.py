"""Where decisions and rewards are kept: a SQLite file by default, PostgreSQL for many workers."""

from __future__ import annotations

from turncoat.service.store.interface import Session, Store, StoreDown, StoreError


def open_store(where: str) -> Store:
    """A file's name, or an address like postgresql://user@host/database. Tables are made or brought up to date."""
    from turncoat.service.store.sqlite import SQLiteStore

    return SQLiteStore(where)


__all__ = ["Session", "Store", "StoreDown", "StoreError", "open_store"]
