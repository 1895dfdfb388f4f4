"""Many rows as one value: PostgreSQL reads them out of a JSON text, which is cheaper than a value for every field.

JSON, not JSONB, which would turn -0.0 into 0.0. Every double comes back bit for bit; bytes travel as base64.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from turncoat.service.store.interface import Row


class Recordset:
    """Some columns of a table: how their rows are written, and the statements that take them."""

    def __init__(self, table: str, columns: Sequence[str], types: Mapping[str, str]) -> None:
        self._table, self._columns = table, list(columns)
        self._row = msgspec.defstruct("Row", [f"c{i}" for i in range(len(columns))])
        in_bytes = [types[column] == "bytea" for column in columns]
        fields = [
            f"c{i} {'text' if is_bytes else types[column]}"
            for i, (column, is_bytes) in enumerate(zip(columns, in_bytes, strict=True))
        ]
        self._source = f"json_to_recordset($1::json) AS r({', '.join(fields)})"
        self._values = [f"decode(r.c{i}, 'base64')" if is_bytes else f"r.c{i}" for i, is_bytes in enumerate(in_bytes)]

    def written(self, rows: Sequence[Row]) -> str:
        """The rows as the JSON that the statements read."""
        row = self._row
        return msgspec.json.encode([row(*values) for values in rows]).decode()

    def insert(self) -> str:
        """Add them."""
        columns, values = ", ".join(self._columns), ", ".join(self._values)
        return f"INSERT INTO {self._table} ({columns}) SELECT {values} FROM {self._source}"

    def insert_new(self, key: int) -> str:
        """Add those that are not there yet, and return the first columns of those."""
        return f"{self.insert()} ON CONFLICT DO NOTHING RETURNING {', '.join(self._columns[:key])}"

    def update(self) -> str:
        """Set all columns but the first, by which a row is known."""
        pairs = zip(self._columns[1:], self._values[1:], strict=True)
        sets = ", ".join(f"{column} = {value}" for column, value in pairs)
        return f"UPDATE {self._table} AS t SET {sets} FROM {self._source} WHERE t.{self._columns[0]} = r.c0"

    def add_up(self, n_keys: int) -> str:
        """Add to what is there."""
        keys, sums = self._columns[:n_keys], self._columns[n_keys:]
        adding = ", ".join(f"{column} = {self._table}.{column} + excluded.{column}" for column in sums)
        return f"{self.insert()} ON CONFLICT ({', '.join(keys)}) DO UPDATE SET {adding}"
