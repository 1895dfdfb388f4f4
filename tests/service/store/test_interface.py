"""What a store does, both of them: each verb, and every value as it was given."""

from __future__ import annotations

import random
import struct
from typing import Any

import pytest

from turncoat.service.store import Store, StoreError

COLUMNS = ("id", "n", "x", "note", "data")
TWO = [("a", 1, 0.5, "first", b"\x00\xff"), ("b", None, None, None, None)]
ALL = "SELECT id, n, x, note, data FROM scratch ORDER BY id"


def filled(store: Store, rows: list[tuple[Any, ...]], *columns: str) -> None:
    with store.transaction() as session:
        session.insert("scratch", columns or COLUMNS, rows)


def found(store: Store, sql: str = ALL, **values: Any) -> list[tuple[Any, ...]]:
    with store.reading() as session:
        return session.rows(sql, **values)


def same_bits(one: float, other: float) -> bool:
    return struct.pack("<d", one) == struct.pack("<d", other)


def test_what_was_inserted_is_found_as_it_was(scratch: Store) -> None:
    filled(scratch, TWO)
    rows = found(scratch)
    assert rows == TWO
    assert [type(value) for value in rows[0]] == [str, int, float, str, bytes]


def test_nothing_to_write_is_nothing_written(scratch: Store) -> None:
    with scratch.transaction() as session:
        session.insert("scratch", COLUMNS, [])
        session.update("scratch", ("id", "n"), [])
        session.add_up("pairs", ("a", "b"), ("n", "x"), [])
        assert session.insert_new("scratch", COLUMNS, [], key=1) == set()
    assert found(scratch) == []


def test_a_row_that_is_there_already_is_refused_and_nothing_of_the_batch_kept(scratch: Store) -> None:
    filled(scratch, TWO)
    with pytest.raises(StoreError):
        filled(scratch, [("c", 1, 1.0, "", b""), ("a", 1, 1.0, "", b"")])
    assert [row[0] for row in found(scratch)] == ["a", "b"]


def test_run_says_how_many_rows_it_touched(scratch: Store) -> None:
    filled(scratch, TWO)
    with scratch.transaction() as session:
        assert session.run("UPDATE scratch SET n = :n", n=7) == 2
        assert session.run("UPDATE scratch SET n = :n WHERE id = :id", n=8, id="a") == 1
        assert session.run("DELETE FROM scratch WHERE id = :id", id="nobody") == 0
    assert [row[1] for row in found(scratch)] == [8, 7]


def test_a_value_may_be_named_twice_and_nothing_in_it_is_taken_for_sql(scratch: Store) -> None:
    odd = "100% of :id, 'quoted' \\ %(id)s %s ?1 -- ;"
    filled(scratch, [(odd, 1, 1.0, odd, b"")])
    assert found(scratch, "SELECT note FROM scratch WHERE id = :id AND note = :id", id=odd) == [(odd,)]


def test_nothing_equals_a_text_with_a_nul(scratch: Store) -> None:
    filled(scratch, [("ab", 1), ("a", 1)], "id", "n")
    assert found(scratch, "SELECT id FROM scratch WHERE id = :id", id="a\0b") == []


def test_remainders_are_computed_by_the_database(scratch: Store) -> None:
    filled(scratch, [(f"{n}", n) for n in range(10)], "id", "n")
    assert found(scratch, "SELECT n FROM scratch WHERE n % :step = :rest ORDER BY n", step=4, rest=1) == [
        (1,), (5,), (9,)
    ]  # fmt: skip


@pytest.mark.parametrize("kind", [list, tuple, set])
def test_lists_of_values(scratch: Store, kind: type) -> None:
    filled(scratch, [(f"{n}", n) for n in range(10)], "id", "n")
    by_text = "SELECT id FROM scratch WHERE id IN :ids ORDER BY id"
    assert found(scratch, by_text, ids=kind(["7", "2", "none"])) == [("2",), ("7",)]
    assert found(scratch, by_text, ids=kind([])) == []
    both = "SELECT n FROM scratch WHERE n IN :ns AND id IN :ids"
    assert found(scratch, both, ns=kind([3, 4, 2**62]), ids=kind(["4", "5"])) == [(4,)]


def test_insert_new_adds_what_is_new_and_says_which(scratch: Store) -> None:
    filled(scratch, TWO)
    with scratch.transaction() as session:
        new = session.insert_new("scratch", COLUMNS, [("b", 9, 9.0, "again", b""), ("c", 3, 3.0, "new", b"")], key=1)
        assert new == {("c",)}
        pairs = [(1, "x", 1, 1.0), (1, "y", 1, 1.0)]
        assert session.insert_new("pairs", ("a", "b", "n", "x"), pairs, key=2) == {(1, "x"), (1, "y")}
        assert session.insert_new("pairs", ("a", "b", "n", "x"), [*pairs, (2, "x", 1, 1.0)], key=2) == {(2, "x")}
    assert found(scratch) == [*TWO, ("c", 3, 3.0, "new", b"")]


def test_update_sets_the_rows_named_and_no_other(scratch: Store) -> None:
    filled(scratch, [*TWO, ("c", 3, 3.0, "third", b"3")])
    with scratch.transaction() as session:
        session.update("scratch", ("id", "x", "data"), [("a", -1.0, b"new"), ("c", None, None), ("nobody", 1.0, b"")])
    assert found(scratch) == [("a", 1, -1.0, "first", b"new"), TWO[1], ("c", 3, None, "third", None)]


def test_add_up_makes_a_row_and_then_adds_to_it(scratch: Store) -> None:
    for _ in range(3):
        with scratch.transaction() as session:
            session.add_up("pairs", ("a", "b"), ("n", "x"), [(1, "x", 2, 0.1), (2, "x", -1, 1e100)])
    with scratch.transaction() as session:
        session.add_up("pairs", ("a", "b"), ("n", "x"), [(1, "y", 5, 0.0)])
    rows = found(scratch, "SELECT a, b, n, x FROM pairs ORDER BY a, b")
    assert rows == [(1, "x", 6, 0.1 + 0.1 + 0.1), (1, "y", 5, 0.0), (2, "x", -3, 1e100 + 1e100 + 1e100)]


def test_doubles_come_back_bit_for_bit(scratch: Store) -> None:
    rng = random.Random(20)
    edges = [0.0, 5e-324, -5e-324, 2.2250738585072014e-308, 1e308, -1.7976931348623157e308, 0.1, 1 / 3, 2.0**53, 1e15]
    numbers = edges + [
        number
        for number in (struct.unpack("<d", rng.randbytes(8))[0] for _ in range(3000))
        if number == number and abs(number) != float("inf")
    ]
    filled(scratch, [(f"i{i:05}", number) for i, number in enumerate(numbers)], "id", "x")
    with scratch.transaction() as session:
        session.insert_new("scratch", ("id", "x"), [(f"n{i:05}", number) for i, number in enumerate(numbers)], key=1)
        session.insert("scratch", ("id",), [(f"u{i:05}",) for i in range(len(numbers))])
        session.update("scratch", ("id", "x"), [(f"u{i:05}", number) for i, number in enumerate(numbers)])
        for i, number in enumerate(edges):
            session.run("INSERT INTO scratch (id, x) VALUES (:id, :x)", id=f"r{i:05}", x=number)
    for way, written in (("i", numbers), ("n", numbers), ("u", numbers), ("r", edges)):
        back = [x for (x,) in found(scratch, "SELECT x FROM scratch WHERE id >= :a AND id < :b ORDER BY id",
                                    a=way, b=chr(ord(way) + 1))]  # fmt: skip
        assert len(back) == len(written)
        assert [(one, other) for one, other in zip(written, back, strict=True) if not same_bits(one, other)] == []


def test_a_negative_zero_stays_a_zero(scratch: Store) -> None:
    filled(scratch, [("a", -0.0)], "id", "x")
    ((back,),) = found(scratch, "SELECT x FROM scratch")
    assert back == 0.0
    assert same_bits(back, -0.0) == scratch.shared  # SQLite drops the sign


def test_whole_numbers_of_64_bits(scratch: Store) -> None:
    numbers = [0, -1, 2**31, 2**53 + 1, 2**63 - 1, -(2**63)]
    filled(scratch, [(f"{i}", number) for i, number in enumerate(numbers)], "id", "n")
    assert [n for (n,) in found(scratch, "SELECT n FROM scratch ORDER BY id")] == numbers
    for number in numbers:
        assert len(found(scratch, "SELECT id FROM scratch WHERE n = :n", n=number)) == 1


def test_what_is_computed_has_the_same_type_everywhere(scratch: Store) -> None:
    filled(scratch, [("a", 1, 0.5), ("b", 2, 0.25), ("c", 2**60, 1.0), ("d", -5, 8.0)], "id", "n", "x")
    sql = "SELECT COUNT(*), SUM(n), MAX(n), n + 1, SUM(x), AVG(x) FROM scratch WHERE id <= :last GROUP BY n + 1"
    rows = found(scratch, sql, last="a")
    assert rows == [(1, 1, 1, 2, 0.5, 0.5)]
    assert [type(value) for value in rows[0]] == [int, int, int, int, float, float]
    assert found(scratch, "SELECT SUM(n), AVG(n) FROM scratch WHERE id < 'c'") == [(3, 1.5)]
    assert found(scratch, "SELECT SUM(n), SUM(x), MAX(id), COUNT(n) FROM scratch") == [(2**60 - 2, 9.75, "d", 4)]
    assert found(scratch, "SELECT SUM(n), SUM(x), MAX(id), COUNT(n) FROM scratch WHERE id = ''") == [(None,) * 3 + (0,)]


def test_a_whole_number_may_stand_for_a_double(scratch: Store) -> None:
    filled(scratch, [("a", 3)], "id", "x")
    assert found(scratch, "SELECT x FROM scratch WHERE x <= :most", most=3) == [(3.0,)]


def test_text_of_every_script(scratch: Store) -> None:
    every = "".join(chr(point) for point in range(1, 0x3000)) + "漢字 𝔘 😀 \U0010fffd"
    texts = ["", " ", "'", '"', "\\", "\n\r\t", "é", "e\u0301", every]
    filled(scratch, [(f"{i}", text) for i, text in enumerate(texts)], "id", "note")
    assert [note for (note,) in found(scratch, "SELECT note FROM scratch ORDER BY id")] == texts
    for text in texts:
        assert len(found(scratch, "SELECT id FROM scratch WHERE note = :text", text=text)) == 1


def test_text_is_ordered_by_its_bytes(scratch: Store) -> None:
    names = ["a", "B", "b", "ä", "Z", "_", "~", "10", "9", "ß", "😀", "", "a-b", "a b", "ab"]
    filled(scratch, [(name,) for name in names], "id")
    assert [row[0] for row in found(scratch)] == sorted(names, key=str.encode)


def test_bytes_of_every_value_and_many_of_them(scratch: Store) -> None:
    blobs = [b"", bytes(range(256)), random.Random(1).randbytes(1_000_003)]
    filled(scratch, [(f"{i}", blob) for i, blob in enumerate(blobs)], "id", "data")
    with scratch.transaction() as session:
        session.run("INSERT INTO scratch (id, data) VALUES (:id, :data)", id="9", data=blobs[1])
    assert [bytes(data) for (data,) in found(scratch, "SELECT data FROM scratch ORDER BY id")] == [*blobs, blobs[1]]


def test_many_rows_at_once(scratch: Store) -> None:
    rows = [(f"{n:06}", n, n / 7, "x" * (n % 50), b"") for n in range(20_000)]
    filled(scratch, rows)
    assert found(scratch) == rows


def test_an_experiment_is_locked_by_its_number(store: Store) -> None:
    columns = ("id", "key", "created_at", "config", "state", "revision", "version", "seed", "salt", "machine")
    with store.transaction() as session:
        session.insert("experiment", columns, [(1, "a", 0.0, "{}", "running", 0, 17, 1, "", "")])
    with store.transaction() as session:
        assert session.lock_experiment(1)() == 17
        assert session.lock_experiment(1, wait=True)() == 17
        assert session.lock_experiment(2)() is None
        session.lock_settings()
        session.lock_settings()


def test_size_is_what_lies_on_the_disk(scratch: Store) -> None:
    before = scratch.size()
    filled(scratch, [("a", random.Random(1).randbytes(2_000_000))], "id", "data")
    assert before + 1_900_000 < scratch.size() < before + 20_000_000
