"""Where decisions and rewards are kept: a SQLite file by default, PostgreSQL for many workers."""

from __future__ import annotations

from turncoat.optional_imports import require
from turncoat.service.store.interface import Durability, Session, Store, StoreDown, StoreError


def open_store(
    where: str, *, allow_in_use: bool = False, durability: Durability = "flush", patience: float = 5.0
) -> Store:
    """Open a SQLite file, or an address like postgresql://user@host/database, and migrate its tables.

    `durability`: what a commit waits for (interface.py).
    `allow_in_use`: do not fail if a service holds the SQLite file; read it, and write a row now and then.
    `patience`: seconds to wait for another program that has locked a SQLite file.
    """
    kind, is_address, _ = where.partition("://")
    if not is_address:
        from turncoat.service.store.sqlite import SQLiteStore

        return SQLiteStore(where, allow_in_use=allow_in_use, durability=durability, patience=patience)
    if kind not in ("postgresql", "postgres"):
        raise StoreError(f"the store's address begins with {kind}://; accepted are postgresql:// and names of files")
    require("psycopg", "a PostgreSQL store", "postgres")
    from turncoat.service.store.postgres import PostgresStore

    return PostgresStore(where, durability=durability)


__all__ = ["Durability", "Session", "Store", "StoreDown", "StoreError", "open_store"]
