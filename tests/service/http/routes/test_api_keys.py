"""Keys: made once, kept as hashes, known by their scopes, gone when revoked."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.service.contract.conftest import HandClock
from tests.service.http.direct import Direct
from turncoat.service import api_keys
from turncoat.service.api_keys import KeyRing, NewKey
from turncoat.service.errors import NotFound, Unauthorised, Unprocessable
from turncoat.service.store import Store, open_store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    one = open_store(str(tmp_path / "turncoat.db"))
    yield one
    one.close()


def issued(store: Store, clock: HandClock, **wanted: object) -> api_keys.IssuedKey:
    with store.transaction() as session:
        return api_keys.issue(session, NewKey(**{"name": "n", "scopes": ["read"], **wanted}), clock.now())  # type: ignore[arg-type]


def test_only_the_hash_of_the_secret_is_kept(store: Store) -> None:
    made = issued(store, HandClock(), scopes=["reward", "decide"])
    assert re.fullmatch(r"tk_[0-9a-f]{12}_[A-Za-z0-9_-]{43}", made.key)
    secret = made.key.split("_", 2)[2]
    with store.reading() as session:
        row = session.rows("SELECT id, sha256, scopes FROM api_key")[0]
        assert row == (made.id, hashlib.sha256(secret.encode()).hexdigest(), "decide reward")
        (listed,) = api_keys.listed(session)
    assert listed.scopes == ["decide", "reward"] and not hasattr(listed, "key")


def test_secrets_differ(store: Store) -> None:
    assert len({issued(store, HandClock()).key for _ in range(50)}) == 50


def test_a_ring_knows_keys_while_they_are_good(store: Store) -> None:
    clock = HandClock()
    ring = KeyRing(store, clock)
    assert ring.is_needed  # until it has looked
    ring.refresh()
    assert not ring.is_needed
    ends = datetime.fromtimestamp(clock.now() + 5.0, UTC)
    made = issued(store, clock, expires_at=ends)
    with pytest.raises(Unauthorised):
        ring.holder(made.key.encode())
    ring.refresh()
    assert ring.is_needed and ring.holder(made.key.encode()).scopes == {"read"}
    clock.time += 4.999
    assert ring.holder(made.key.encode()).name == "n"
    clock.time += 0.001
    with pytest.raises(Unauthorised):
        ring.holder(made.key.encode())


@pytest.mark.parametrize("key", [b"", b"tk", b"tk_", b"tk__", b"tk___", b"_", b"tk_\xff_\xff", b"tk_" + b"x" * 100_000])
def test_nonsense_is_no_key(store: Store, key: bytes) -> None:
    ring = KeyRing(store, HandClock())
    issued(store, HandClock())
    ring.refresh()
    with pytest.raises(Unauthorised):
        ring.holder(key)


def test_a_revoked_key_stays_in_the_list(store: Store) -> None:
    clock = HandClock()
    made = issued(store, clock)
    clock.time += 10.0
    for _ in range(2):  # the second time changes nothing
        with store.transaction() as session:
            revoked = api_keys.revoke(session, made.id, clock.now())
        assert revoked.revoked_at is not None and revoked.revoked_at.timestamp() == 1_800_000_010.0
        clock.time += 10.0
    with store.transaction() as session, pytest.raises(NotFound):
        api_keys.revoke(session, "nobody", clock.now())


def test_a_key_for_nothing_or_of_the_past_is_not_made(store: Store) -> None:
    clock = HandClock()
    past = datetime.fromtimestamp(clock.now(), UTC)
    cases: list[dict[str, object]] = [{"scopes": []}, {"scopes": ["root"]}, {"expires_at": past}, {"name": " "}]
    cases += [{"experiments": []}, {"experiments": ["a b"]}, {"rate": 0.0}, {"burst": 3}, {"rate": 1.0, "burst": 0}]
    for wrong in cases:
        with pytest.raises(Unprocessable):
            issued(store, clock, **wrong)
    with store.reading() as session:
        assert api_keys.listed(session) == []


def test_keys_over_http(asked: Direct) -> None:
    assert asked.ask("GET", "/v1/keys").json() == []
    made = asked.post("/v1/keys", {"name": "admin", "scopes": ["admin"]})
    assert made.status == 201
    bearer = {"authorization": f"Bearer {made.json()['key']}"}
    other = asked.post("/v1/keys", {"name": "other", "scopes": ["read", "read"]}, **bearer).json()
    assert asked.ask("GET", "/v1/experiments", headers={"authorization": f"Bearer {other['key']}"}).status == 200
    assert asked.ask("DELETE", f"/v1/keys/{other['id']}", headers=bearer).json()["revoked_at"]
    assert asked.ask("GET", "/v1/experiments", headers={"authorization": f"Bearer {other['key']}"}).status == 401
    assert asked.ask("DELETE", "/v1/keys/nobody", headers=bearer).status == 404
    listed = asked.ask("GET", "/v1/keys", headers=bearer)
    assert [key["name"] for key in listed.json()] == ["admin", "other"]
    assert other["key"].encode() not in listed.body and b"sha256" not in listed.body
    reader = asked.post("/v1/keys", {"name": "reader", "scopes": ["read"]}, **bearer).json()
    audit = asked.ask("GET", "/v1/audit", headers={"authorization": f"Bearer {reader['key']}"})
    actor = f"admin ({made.json()['id']})"
    assert [(entry["action"], entry["actor"]) for entry in audit.json()] == [
        ("open", "local"),
        ("make key", "local"),
        ("make key", actor),
        ("revoke key", actor),
        ("make key", actor),
    ]
    assert not any(one["key"].split("_", 2)[2].encode() in audit.body for one in (other, reader, made.json()))
