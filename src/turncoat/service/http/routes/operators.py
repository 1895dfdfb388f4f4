"""Routes for operators: health, readiness, metrics, OpenAPI, API keys.

A key that is issued or revoked is an audit entry, without the secret.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Literal, TypeVar

from turncoat.service import api_keys
from turncoat.service.errors import Unavailable
from turncoat.service.http.context import AppContext
from turncoat.service.http.responses import Response
from turncoat.service.http.route import Call
from turncoat.service.http.routes.experiments import actor
from turncoat.service.messages import Answer

KeyT = TypeVar("KeyT", bound=api_keys.KeyRecord)

READY_SECONDS = 2.0  # for the store and the engine thread to answer


class Health(Answer, frozen=True, kw_only=True, omit_defaults=True):
    """How the service is, and why if it is not well."""

    status: Literal["ok", "ready", "degraded, deciding"]
    detail: str | None = None


async def healthz(context: AppContext, call: Call) -> Health:
    """Whether the process lives."""
    return Health(status="ok")


async def readyz(context: AppContext, call: Call) -> Health:
    """Whether it can decide: the store answers, and the engine's thread lives; or decisions go on, stale, without."""
    if not context.engine_thread.alive:
        raise Unavailable("the engine's thread has ended")
    try:
        if context.engine_thread.trouble:
            raise Unavailable(context.engine_thread.trouble)
        async with asyncio.timeout(READY_SECONDS):
            await context.query(context.ping, urgent=True)
            await context.engine_thread.run(lambda: None)
    except (Unavailable, TimeoutError) as problem:
        why = str(problem) or f"the store or the engine did not answer within {READY_SECONDS:g} seconds"
        if context.settings.on_store_down == "stale" and context.settings.role != "applier":
            return Health(status="degraded, deciding", detail=why)
        raise Unavailable(why) from None
    return Health(status="ready")


async def get_metrics(context: AppContext, call: Call) -> Response:
    """Figures for Prometheus."""
    context.metrics.hand_over()
    text = await context.query(context.metrics.text)
    return Response(200, text, media=b"text/plain; version=0.0.4; charset=utf-8")


async def get_openapi(context: AppContext, call: Call) -> Response:
    """This description."""
    return Response(200, context.description)


# --- API keys ---


async def create_key(context: AppContext, call: Call) -> api_keys.IssuedKey:
    """Make a key. It is shown this once."""
    return await _change_keys(context, call, partial(api_keys.issue, new=call.body))


async def list_keys(context: AppContext, call: Call) -> Response:
    """All keys ever made, without their secrets."""
    return await context.query_list(partial(context.engine.read, api_keys.listed))


async def revoke_key(context: AppContext, call: Call) -> api_keys.KeyRecord:
    """Make a key good for nothing, everywhere within a second."""
    return await _change_keys(context, call, partial(api_keys.revoke, number=call.params["id"]))


async def _change_keys(context: AppContext, call: Call, change: Callable[..., KeyT]) -> KeyT:
    """Change a key, and read all keys again."""

    def changed() -> KeyT:
        with context.store.transaction() as session:
            return change(session, now=context.clock.now(), actor=actor(call))

    key = await context.engine_thread.run(changed)
    await context.query(context.ring.refresh, urgent=True)
    return key
