"""The ASGI application: the routes in their order under Starlette, and how a worker process builds it.

`Endpoint` answers one route: authentication, body, handler, response, metrics.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from time import perf_counter
from typing import Any

import msgspec
from prometheus_client import disable_created_metrics
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import Match
from starlette.routing import Route as StarletteRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from turncoat.service.api_keys import LOCAL, Holder
from turncoat.service.engine import Engine
from turncoat.service.errors import NotAllowed, NotFound, Problem
from turncoat.service.first_key import add_first_key
from turncoat.service.http import logs, responses
from turncoat.service.http.auth import check_single
from turncoat.service.http.context import AppContext
from turncoat.service.http.cors import CrossOrigin
from turncoat.service.http.deadlines import Receiver
from turncoat.service.http.fast_path import FastRoute, FastRoutes
from turncoat.service.http.openapi import describe
from turncoat.service.http.page_process import exit_with_parent
from turncoat.service.http.request_ids import CURRENT, Identity
from turncoat.service.http.responses import Header, Response, StreamingResponse
from turncoat.service.http.route import Call, ClientDisconnected, Route, check_media, decoder, read_body
from turncoat.service.http.routes import HEALTH, HOT, ROUTES
from turncoat.service.http.server import ENVIRONMENT, Settings, check_bind
from turncoat.service.messages import Command
from turncoat.service.precompile import load_kernels
from turncoat.service.store import open_store

PATIENCE = 0.4  # of a deadline, for a lock: a command may wait for the applier's turn, and then for its own
SWITCH_SECONDS = 0.001  # the interpreter's switch interval: the engine thread waits no longer for the event loop

log = logging.getLogger("turncoat.http")
access = logging.getLogger("turncoat.access")


def make_app(context: AppContext, pages: Sequence[StarletteRoute] = ()) -> ASGIApp:
    """The ASGI application. `pages` are the dashboard's routes, which authenticate themselves."""
    served = HEALTH if context.settings.role == "applier" else ROUTES
    context.description = responses.encode(describe(served))
    routes = [*(StarletteRoute(one.path, Endpoint(one, context), methods=[one.method]) for one in served), *pages]

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        await context.open()
        try:
            yield
        finally:
            await context.close()

    async def failed(request: Request, error: Exception) -> Response:
        return responses.internal_error()

    unmatched = _unmatched(context, routes)
    handlers: Any = {404: unmatched, 405: unmatched, Exception: failed}
    app = _Application(routes=routes, lifespan=lifespan, exception_handlers=handlers)
    app.router.redirect_slashes = False
    if context.settings.role == "applier":
        return app
    app.fast_routes = FastRoutes(*(FastRoute(Endpoint(one, context), how, say) for one, how, say in HOT))
    origins = context.settings.cors_origins
    return CrossOrigin(app, served, origins, context.metrics.route("preflight")) if origins else app


class _Application(Starlette):
    """Starlette's application, and what LimitedProtocol answers without it."""

    fast_routes: FastRoutes | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, with its id."""
        if scope["type"] != "http":
            return await super().__call__(scope, receive, send)
        headers = dict(scope["headers"])
        if len(headers) < len(scope["headers"]) and [name for name, _ in scope["headers"]].count(b"traceparent") > 1:
            del headers[b"traceparent"]  # as the standard says
        CURRENT.set(request := Identity(headers))

        async def identified(message: Message) -> None:
            if message["type"] == "http.response.start" and request.header not in message["headers"]:
                message["headers"] = [*message["headers"], request.header]  # a page
            await send(message)

        if len(headers) < len(scope["headers"]):
            try:
                check_single(scope["headers"])
            except Problem as problem:
                return await responses.problem_response(problem)(scope, receive, send)
        return await super().__call__(scope, receive, identified)


def _unmatched(
    context: AppContext, routes: Sequence[StarletteRoute]
) -> Callable[[Request, HTTPException], Awaitable[Response]]:
    meter = context.metrics.route("unmatched")

    async def handler(request: Request, wrong: HTTPException) -> Response:
        """404 and 405, after authentication: other callers learn nothing about paths."""
        try:
            context.auth.authorize(dict(request.scope["headers"]), None, changes=False)
            if wrong.status_code == 404:
                raise NotFound(f"there is nothing at {request.url.path!r}; /openapi.json lists what there is")
            here = [one.methods or () for one in routes if one.matches(request.scope)[0] is not Match.NONE]
            allowed = ", ".join(sorted(set().union(*here)))
            raise NotAllowed(f"{request.method} cannot be done here; accepted: {allowed}", accepted=allowed)
        except Problem as problem:
            meter.count(problem.status, 0.0)
            return responses.problem_response(problem)

    return handler


class Endpoint:
    """The endpoint of one route."""

    def __init__(self, route: Route, context: AppContext) -> None:
        self.route = route
        self._context = context
        self._decode: Callable[[bytes], Any] = bytes if route.takes in (None, bytes) else decoder(route.takes)
        self._meter = context.metrics.route(route.name, timed=route.group == "decisions")
        self._media = route.media
        self._changes = route.method != "GET"
        self._takes_no_query = not self._changes and not route.query and route.group != "service"
        self.is_logged = context.settings.access_log
        self.dated: tuple[Sequence[Header], bytes] = (), b""  # uvicorn's headers, and their lines (fast_path.py)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request under ASGI."""
        began = perf_counter()
        params = scope["path_params"]
        response: Response | StreamingResponse
        try:
            headers = dict(scope["headers"])
            holder = self._admit(headers, params)
            body = b"" if self.route.takes is None else await read_body(receive, headers, self.route.limit)
            response = await self.answer(self._call(body, params, headers, scope["query_string"], holder))
        except Problem as problem:
            response = self.refuse(problem, params)
        except ClientDisconnected:
            return
        except Exception:
            log.exception("a mistake while answering %s %s", self.route.method, self.route.path)
            response = responses.internal_error()
        seconds = perf_counter() - began
        await response(scope, receive, send)
        self.count(response.status, seconds)

    def read(self, body: bytes, params: Mapping[str, str], headers: Mapping[bytes, bytes]) -> Call:
        """A request without a query, authenticated and decoded."""
        return self._call(body, params, headers, b"", self._admit(headers, params))

    def _admit(self, headers: Mapping[bytes, bytes], params: Mapping[str, str]) -> Holder:
        scope = self.route.scope
        holder = LOCAL if scope is None else self._context.auth.authorize(headers, scope, changes=self._changes)
        if holder.experiments is not None:
            self.route.check_experiment(holder, params)
        if self.route.takes is not None:
            check_media(headers, self._media)
        return holder

    def _call(
        self, body: bytes, params: Mapping[str, str], headers: Mapping[bytes, bytes], query: bytes, holder: Holder
    ) -> Call:
        call = Call(None if self.route.takes is None else self._decode(body), params, headers, query, holder)
        if self._takes_no_query and query:
            call.numbers()
        return call

    async def answer(self, call: Call) -> Response | StreamingResponse:
        """The response to a call."""
        return self.response(await self.route.handler(self._context, call))

    def response(self, content: Any) -> Response | StreamingResponse:
        """The response with a handler's answer."""
        is_one = isinstance(content, Response | StreamingResponse)
        return content if is_one else Response(self.route.status, responses.encode(content))

    def refuse(self, problem: Problem, params: Mapping[str, str]) -> Response:
        """The response with a problem."""
        return self.route.refuses(problem, params)

    def submit(self, command: Command, receiver: Receiver) -> None:
        """Queue a command."""
        self._context.engine_thread.submit_for(command, receiver)

    def count(self, status: int, seconds: float) -> None:
        """Count a response, and log it where that was asked for."""
        self._meter.count(status, seconds)
        if self.is_logged:
            access.info("", extra={"route": self.route.name, "status": status, "ms": round(seconds * 1e3, 3)})


# --- a worker process ---


def open_app(settings: Settings) -> ASGIApp:
    """The application with its store opened. Kernels are compiled by then, and load in the background."""
    logs.configure(settings.log_level)
    sys.setswitchinterval(SWITCH_SECONDS)
    disable_created_metrics()  # type: ignore[no-untyped-call]  # they would be half of /metrics
    patience = PATIENCE * settings.deadline_s
    store = open_store(settings.database, durability=settings.durability, patience=patience)
    try:
        add_first_key(store, os.environ)
        check_bind(settings, store)
        context = AppContext(Engine(store), store, settings, is_loaded=load_kernels().is_set)
        if settings.role == "applier":
            return make_app(context)
        from turncoat.service.http.login import dashboard_routes

        return make_app(context, dashboard_routes(context, context.pages.render))
    except BaseException:
        store.close()
        raise


def worker() -> ASGIApp:
    """The application of one worker of several, with the settings from the environment."""
    exit_with_parent(lambda: os.kill(os.getpid(), signal.SIGTERM))
    return open_app(msgspec.json.decode(os.environ[ENVIRONMENT], type=Settings))
