"""Routes that make and revoke keys: a running service holds its SQLite file alone, so this is where it is done."""

from __future__ import annotations

from functools import partial

from turncoat.service import keys
from turncoat.service.http.office import Office
from turncoat.service.http.row import Call


async def create_key(office: Office, call: Call) -> keys.IssuedKey:
    """Make a key. It is shown this once."""
    made = await office.desk.run(partial(_issue, office, call.body))
    await office.look(office.ring.refresh)
    return made


async def list_keys(office: Office, call: Call) -> list[keys.KeyRecord]:
    """All keys ever made, without their secrets."""
    call.numbers()
    return await office.look(partial(_listed, office))


async def revoke_key(office: Office, call: Call) -> keys.KeyRecord:
    """Make a key good for nothing, everywhere within a second."""
    revoked = await office.desk.run(partial(_revoke, office, call.params["id"]))
    await office.look(office.ring.refresh)
    return revoked


def _issue(office: Office, new: keys.NewKey) -> keys.IssuedKey:
    with office.store.transaction() as session:
        return keys.issue(session, new, office.clock.now())


def _revoke(office: Office, number: str) -> keys.KeyRecord:
    with office.store.transaction() as session:
        return keys.revoke(session, number, office.clock.now())


def _listed(office: Office) -> list[keys.KeyRecord]:
    with office.store.reading() as session:
        return keys.listed(session)
