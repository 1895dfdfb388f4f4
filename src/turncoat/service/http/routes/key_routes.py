"""Routes that make and revoke keys from afar. What they do is in the audit, the secrets are not."""

from __future__ import annotations

from functools import partial

from turncoat.service import api_keys
from turncoat.service.experiments.audit import write_down
from turncoat.service.http.context import Office
from turncoat.service.http.responses import Reply
from turncoat.service.http.route import Call
from turncoat.service.http.routes.experiments import actor


async def create_key(office: Office, call: Call) -> api_keys.IssuedKey:
    """Make a key. It is shown this once."""
    made = await office.desk.run(partial(_issue, office, call.body, actor(call)))
    await office.look(office.ring.refresh, at_once=True)
    return made


async def list_keys(office: Office, call: Call) -> Reply:
    """All keys ever made, without their secrets."""
    call.numbers()
    return await office.look_through(partial(_listed, office))


async def revoke_key(office: Office, call: Call) -> api_keys.KeyRecord:
    """Make a key good for nothing, everywhere within a second."""
    revoked = await office.desk.run(partial(_revoke, office, call.params["id"], actor(call)))
    await office.look(office.ring.refresh, at_once=True)
    return revoked


def _issue(office: Office, new: api_keys.NewKey, who: str) -> api_keys.IssuedKey:
    now = office.clock.now()
    with office.store.transaction() as session:
        made = api_keys.issue(session, new, now)
        write_down(session, now, who, "make key", None, before=None, after={"id": made.id, "scopes": made.scopes})
        return made


def _revoke(office: Office, number: str, who: str) -> api_keys.KeyRecord:
    now = office.clock.now()
    with office.store.transaction() as session:
        revoked = api_keys.revoke(session, number, now)
        write_down(session, now, who, "revoke key", None, before=None, after={"id": number})
        return revoked


def _listed(office: Office) -> list[api_keys.KeyRecord]:
    with office.store.reading() as session:
        return api_keys.listed(session)
