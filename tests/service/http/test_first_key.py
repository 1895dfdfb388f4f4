"""The first key: given in the environment, made once, and gone when it is revoked."""

from __future__ import annotations

import logging
import secrets
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.service.http.process import running
from turncoat.errors import OptionError
from turncoat.service import api_keys
from turncoat.service.api_keys import SCOPES, KeyRing, NewKey
from turncoat.service.client import Client
from turncoat.service.errors import Unauthorised
from turncoat.service.experiments.audit import read
from turncoat.service.first_key import FILE, VARIABLE, add_first_key
from turncoat.service.http import app
from turncoat.service.http.server import Settings
from turncoat.service.store import Store, open_store

SECRET = "3f9d0c7be1a24586b0f3c8e79d5a6124"


def known(store: Store, key: str) -> bool:
    ring = KeyRing(store)
    ring.refresh()
    assert ring.is_needed
    try:
        return ring.holder(key.encode()).scopes == set(SCOPES)
    except Unauthorised:
        return False


def test_it_is_made_once_and_kept_as_a_hash(store: Store) -> None:
    key = f"tk_first_{SECRET}"
    for _ in range(3):
        add_first_key(store, {VARIABLE: key})
    assert known(store, key)
    with store.reading() as session:
        (listed,) = api_keys.listed(session)
        assert (listed.id, listed.name, listed.scopes) == ("first", "first", list(SCOPES))
        (entry,) = read(session)
        assert (entry.action, entry.actor, entry.after["id"]) == ("make key", "environment", "first")
        assert SECRET not in str(session.rows("SELECT * FROM api_key")) + str(session.rows("SELECT * FROM audit"))


def test_revoked_it_does_not_come_back(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    key = f"tk_first_{SECRET}"
    add_first_key(store, {VARIABLE: key})
    with store.transaction() as session:
        api_keys.revoke(session, "first", time.time())
    with caplog.at_level(logging.WARNING):
        add_first_key(store, {VARIABLE: key})
        add_first_key(store, {VARIABLE: f"tk_other_{SECRET}"})
    assert not known(store, key) and not known(store, f"tk_other_{SECRET}")
    assert caplog.text.count("was revoked, and stays revoked") == 2 and SECRET not in caplog.text


def test_where_there_are_keys_it_is_not_made(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    with store.transaction() as session:
        api_keys.issue(session, NewKey(name="n", scopes=["read"]), time.time())
    with caplog.at_level(logging.WARNING):
        add_first_key(store, {VARIABLE: f"tk_first_{SECRET}"})
    assert not known(store, f"tk_first_{SECRET}") and "there are other keys already" in caplog.text


def test_workers_that_start_together_make_one(store_url: str) -> None:
    stores = [open_store(store_url, allow_in_use=True) for _ in range(4)]
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda one: add_first_key(one, {VARIABLE: f"tk_first_{SECRET}"}), stores))
    with stores[0].reading() as session:
        assert len(api_keys.listed(session)) == len(read(session)) == 1
    for one in stores:
        one.close()


def test_it_is_read_from_a_file(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text(f"tk_first_{SECRET}\n")
    add_first_key(store, {FILE: str(file), VARIABLE: ""})
    assert known(store, f"tk_first_{SECRET}")


def test_without_one_nothing_is_made(store: Store) -> None:
    add_first_key(store, {})
    add_first_key(store, {VARIABLE: ""})
    with store.reading() as session:
        assert api_keys.listed(session) == []


@pytest.mark.parametrize(
    "given, said",
    [
        ("changeme", "another form"),
        (SECRET, "another form"),
        (f"tk_first_{SECRET[:-1]}", "another form"),
        (f"tk_fir st_{SECRET}", "another form"),
        (f"tk__{SECRET}", "another form"),
        (f"tk_first_{SECRET}ü", "another form"),
        (f"tk_first_{'a' * 64}", "guessed"),
        (f"tk_first_{'changeme' * 5}", "guessed"),
        (f"tk_first_{'0123456789abcdef' * 2}", "guessed"),
        ("tk_first_" + "password-password-password-pass", "another form"),
        ("tk_first_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", "guessed"),
    ],
)
def test_what_can_be_guessed_is_refused_and_not_repeated(store: Store, given: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=rf"{VARIABLE} has a .*{said}.*accepted is tk_<id>_<secret>") as refused:
        add_first_key(store, {VARIABLE: given})
    assert given not in str(refused.value)
    file = tmp_path / "secret"
    file.write_text(given)
    with pytest.raises(OptionError, match=f"{FILE} has a .*{said}"):
        add_first_key(store, {FILE: str(file)})


def test_a_file_that_cannot_be_read_is_named(store: Store, tmp_path: Path) -> None:
    missing, empty, binary = tmp_path / "missing", tmp_path / "empty", tmp_path / "binary"
    empty.touch()
    binary.write_bytes(b"\xff\xfe")
    for file, why in ((missing, "No such file"), (tmp_path, "Is a directory"), (empty, "empty"), (binary, "not text")):
        with pytest.raises(OptionError, match=f"{FILE} names {file}, which .*{why}"):
            add_first_key(store, {FILE: str(file)})
    with pytest.raises(OptionError, match="both set"):
        add_first_key(store, {FILE: str(empty), VARIABLE: f"tk_first_{SECRET}"})


def test_every_random_secret_is_accepted(store: Store) -> None:
    for _ in range(300):
        for secret in (secrets.token_hex(16), secrets.token_urlsafe(24), secrets.token_hex(32)):
            add_first_key(store, {VARIABLE: f"tk_x_{secret}"})


def test_a_container_starts_closed_and_can_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before, it did not start on such an address without a step by hand."""
    key = f"tk_first_{SECRET}"
    monkeypatch.setenv(VARIABLE, key)
    with running(tmp_path, host="0.0.0.0") as process:
        with Client(process.url) as client, pytest.raises(Unauthorised):
            client.experiments()
        with Client(process.url, key=key) as client:
            assert client.experiments() == []
        process.end()
        assert SECRET not in process.log()


def test_a_weak_one_stops_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "changeme")
    with pytest.raises(OptionError, match=VARIABLE):
        app.open_app(Settings(database=str(tmp_path / "turncoat.db")))
