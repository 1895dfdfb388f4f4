"""Routes for those who keep the service running."""

from __future__ import annotations

import asyncio

from turncoat.service.errors import Unavailable
from turncoat.service.http.context import Office
from turncoat.service.http.responses import Reply
from turncoat.service.http.route import Call
from turncoat.service.messages import Answer

PATIENCE = 2.0  # seconds that the store and the engine's thread have to show that they are there


class Health(Answer, frozen=True, kw_only=True):
    """How the service is."""

    status: str


async def healthz(office: Office, call: Call) -> Health:
    """Whether the process lives."""
    return Health(status="ok")


async def readyz(office: Office, call: Call) -> Health:
    """Whether it can decide: the store answers, and the engine's thread lives."""
    if not office.desk.alive:
        raise Unavailable("the engine's thread has ended")
    if office.desk.trouble:
        raise Unavailable(office.desk.trouble)
    try:
        async with asyncio.timeout(PATIENCE):
            await office.look(lambda: _touch(office), at_once=True)
            await office.desk.run(lambda: None)
    except TimeoutError:
        raise Unavailable(f"the store or the engine did not answer within {PATIENCE:g} seconds") from None
    return Health(status="ready")


async def get_metrics(office: Office, call: Call) -> Reply:
    """Figures for Prometheus."""
    office.metrics.hand_over()
    text = await office.look(office.metrics.text)
    return Reply(200, text, media=b"text/plain; version=0.0.4; charset=utf-8")


async def get_openapi(office: Office, call: Call) -> Reply:
    """This description."""
    return Reply(200, office.description)


def _touch(office: Office) -> None:
    with office.store.reading() as session:
        session.rows("SELECT 1")
