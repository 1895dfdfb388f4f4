"""The application: the table's routes, in its order, under Starlette."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from turncoat.service.errors import NotAllowed, NotFound, Problem
from turncoat.service.http import responses, table
from turncoat.service.http.context import Office
from turncoat.service.http.endpoint import Endpoint
from turncoat.service.http.openapi import describe


def make_app(office: Office, pages: Sequence[BaseRoute] = ()) -> ASGIApp:
    """What a server serves. `pages` are the dashboard's routes, which look after themselves."""
    rows = table.HEALTH if office.settings.role == "applier" else table.TABLE
    office.description = responses.encode(describe(rows))
    routes: list[BaseRoute] = [
        Route(path, _ByMethod({row.method: Endpoint(row, office) for row in rows if row.path == path}))
        for path in dict.fromkeys(row.path for row in rows)
    ]

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        await office.open()
        try:
            yield
        finally:
            await office.close()

    unmatched = _unmatched(office)
    handlers = {404: unmatched, 405: unmatched, Exception: _mistaken}
    app = Starlette(routes=[*routes, *pages], lifespan=lifespan, exception_handlers=handlers)
    app.router.redirect_slashes = False
    return app if office.settings.role == "applier" else _Front(office, app)


class _Front:
    """Finds the two addresses that nearly everyone asks for; a quarter of their time would go into looking for them."""

    def __init__(self, office: Office, app: ASGIApp) -> None:
        self._decide, self._reward = (Endpoint(row, office) for row in table.HOT)
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "POST":
            match scope["path"].split("/"):
                case ["", "v1", "experiments", str(key), "decisions"] if key:
                    scope["path_params"] = {"key": key}
                    return await self._decide(scope, receive, send)
                case ["", "v1", "decisions", str(decision_id), "reward"] if decision_id:
                    scope["path_params"] = {"decision_id": decision_id}
                    return await self._reward(scope, receive, send)
        await self._app(scope, receive, send)
        return None


class _ByMethod:
    """All that can be done at one address."""

    def __init__(self, endpoints: dict[str, Endpoint]) -> None:
        self._endpoints = endpoints
        if "GET" in endpoints:
            endpoints["HEAD"] = endpoints["GET"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        endpoint = self._endpoints.get(scope["method"])
        if endpoint is None:
            raise HTTPException(405, headers={"Allow": ", ".join(sorted(self._endpoints))})
        await endpoint(scope, receive, send)


def _unmatched(office: Office):  # type: ignore[no-untyped-def]
    meter = office.metrics.route("unmatched")

    async def handler(request: Request, wrong: HTTPException) -> Response:
        """No such address, or not this way: said only to those who may ask at all."""
        headers = dict(request.scope["headers"])
        problem: Problem
        try:
            if office.ring.is_needed:
                office.guard.shown(headers.get(b"authorization"))
            else:
                office.guard.local(headers, changes=False)
        except Problem as refused:
            problem = refused
        else:
            problem = _wrong(request, wrong)
        meter.count(problem.status, 0.0)
        return _response(responses.refusal(problem))

    return handler


def _wrong(request: Request, wrong: HTTPException) -> Problem:
    if wrong.status_code == 405:
        allowed = (wrong.headers or {}).get("Allow", "")
        return NotAllowed(f"{request.method} cannot be done here; accepted: {allowed}", accepted=allowed)
    return NotFound(f"there is nothing at {request.url.path!r}; /openapi.json lists what there is")


async def _mistaken(request: Request, mistake: Exception) -> Response:
    return _response(responses.mistake())


def _response(said: responses.Reply) -> Response:
    headers = {name.decode(): value.decode() for name, value in (responses.NOSNIFF, responses.NO_STORE, *said.headers)}
    return Response(said.body, said.status, headers=headers, media_type=said.media.decode())
