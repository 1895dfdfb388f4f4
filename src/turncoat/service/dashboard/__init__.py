"""The dashboard: pages made on request, from what the store holds. They need no script and nothing from outside.

The HTTP layer mounts `routes` and guards them; `Pages.login` is the page it shows to who has no key yet.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from platform import python_version
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from turncoat._version import __version__
from turncoat.service.clock import Clock
from turncoat.service.dashboard.gauges import from_facts
from turncoat.service.dashboard.pages import Pages
from turncoat.service.problems import NotFound
from turncoat.service.records import read_decision
from turncoat.service.store.interface import Store, StoreDown
from turncoat.service.views import Views

POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # with no-referrer browsers send our own forms with "Origin: null"
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
KINDS = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
FACTS = "SELECT name, value FROM fact"
FRESH = 0.9  # seconds for which a page may be shown again as it is
MOST_KEPT = 64  # pages
AT_ONCE = 2  # pages made: decisions are served by the same process

Gauges = Callable[[], Mapping[str, Any]]


def routes(
    store: Store,
    gauges: Gauges = dict,
    prefix: str = "",
    *,
    needs_key: Callable[[], bool] = lambda: False,
    clock: Clock | None = None,
) -> list[Route]:
    """All pages, for `Starlette(routes=…)`. `gauges` is what the system page shows; it is called on a worker thread.

    `prefix` is what their addresses begin with. `needs_key`: whether visitors have a key. Then they can sign out, and
    the lines that teach show one.
    """
    desk = _Dashboard(store, gauges, Pages(prefix, needs_key), Views(store, clock))
    root = prefix.rstrip("/")
    return [
        Route(f"{root}/", desk.experiments, methods=["GET"]),
        Route(f"{root}/experiments/{{key}}", desk.experiment, methods=["GET"]),
        Route(f"{root}/decisions", desk.decisions, methods=["GET"]),
        Route(f"{root}/system", desk.system, methods=["GET"]),
        Route(f"{root}/static/{{name}}", desk.static, methods=["GET"]),
    ]


def kind_of(store: Store) -> str:
    """What keeps decisions."""
    return "PostgreSQL" if store.shared else "SQLite"


def page(html: str, status: int = 200) -> HTMLResponse:
    """HTML with the headers that every page has."""
    return HTMLResponse(html, status, {**HEADERS, "Cache-Control": "no-store"})


class _Dashboard:
    """Answers requests. Pages are read and rendered on worker threads."""

    def __init__(self, store: Store, gauges: Gauges, pages: Pages, views: Views) -> None:
        self._store, self._gauges, self._pages, self._views = store, gauges, pages, views
        self._made: dict[Any, tuple[float, str]] = {}
        self._few = asyncio.Semaphore(AT_ONCE)

    async def _show(self, make: Callable[[], str], kept_as: Any = None) -> Response:
        """A page made a moment ago will do: many viewers cost as much as one."""
        try:
            html = self._kept(kept_as)
            if html is None:
                async with self._few:
                    html = self._kept(kept_as)  # somebody else may have made it meanwhile
                    if html is None:
                        html = await run_in_threadpool(make)
                        self._keep(kept_as, html)
        except NotFound as problem:
            return page(self._pages.problem("Not found", problem.detail), 404)
        except StoreDown:
            return page(self._pages.problem("No answer", "The store cannot be reached just now. Try again soon."), 503)
        return page(html)

    def _kept(self, name: Any) -> str | None:
        made, html = self._made.get(name, (-FRESH, None))
        return html if time.monotonic() - made < FRESH else None

    def _keep(self, name: Any, html: str) -> None:
        if name is not None:
            self._made.pop(name, None)
            while len(self._made) >= MOST_KEPT:
                del self._made[next(iter(self._made))]
            self._made[name] = time.monotonic(), html

    async def experiments(self, request: Request) -> Response:
        """The list."""
        asked = request.query_params.get("page", "1")
        number = min(max(int(asked), 1), 1_000_000) if asked.isascii() and asked.isdigit() and len(asked) < 9 else 1
        base = str(request.base_url).rstrip("/")

        def make() -> str:
            lines, more = self._views.experiments(number)
            return self._pages.experiments(lines, page=number, more=more, base=base)

        return await self._show(make, ("experiments", number, base))

    async def experiment(self, request: Request) -> Response:
        """One of them."""
        key, base = request.path_params["key"], str(request.base_url).rstrip("/")

        def make() -> str:
            return self._pages.experiment(self._views.experiment(key), base=base)

        return await self._show(make, ("experiment", key, base))

    async def decisions(self, request: Request) -> Response:
        """One decision, by `?id=`."""
        wanted = request.query_params.get("id", "").strip().lower()[:100]

        def make() -> str:
            record = None
            if wanted:
                try:
                    with self._store.reading() as session:
                        record = read_decision(session, wanted)
                except NotFound:
                    pass
            return self._pages.decision(wanted, record, {} if record is None else record.probabilities)

        return await self._show(make)

    async def system(self, _request: Request) -> Response:
        """How the service is doing."""

        def make() -> str:
            with self._store.reading() as session:
                facts = {str(name): str(value) for name, value in session.rows(FACTS)}
            measured = {"store_bytes": self._store.size(), **from_facts(facts), **self._gauges()}
            measured |= {"turncoat": __version__, "python": python_version(), "store": kind_of(self._store)}
            return self._pages.system(measured)

        return await self._show(make, ("system",))

    async def static(self, request: Request) -> Response:
        """A file that pages load. Its address changes with its content, so it may be kept."""
        name = request.path_params["name"]
        content = self._pages.files.get(name)
        if content is None:
            return page(self._pages.problem("Not found", "There is no such file."), 404)
        headers = {**HEADERS, "Cache-Control": "public, max-age=31536000, immutable"}
        return Response(content, media_type=KINDS[name.rpartition(".")[2]], headers=headers)


__all__ = ["HEADERS", "POLICY", "Pages", "page", "routes"]
