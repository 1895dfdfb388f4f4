"""The dashboard: pages made on request, from what the store holds. They need no script and nothing from outside.

The HTTP layer mounts `routes` and guards them; `Pages.login` is the page it shows to who has no key yet.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from turncoat.service.dashboard.making import Make, Maker, here
from turncoat.service.dashboard.pages.renderer import Pages
from turncoat.service.errors import NotFound
from turncoat.service.store.interface import StoreDown

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
FRESH = 0.9  # seconds for which a page may be shown again as it is
KEPT = ("experiments", "experiment", "system")
MOST_KEPT = 64  # pages
AT_ONCE = 2  # pages made

Gauges = Callable[[], Mapping[str, Any]]


def routes(
    make: Make,
    gauges: Gauges = dict,
    prefix: str = "",
    *,
    needs_key: Callable[[], bool] = lambda: False,
) -> list[Route]:
    """All pages, for `Starlette(routes=…)`. `gauges` is what the system page shows; it is called on a worker thread.

    `make` has pages made: `here(store)`, or in another process. `prefix` is what their addresses
    begin with. `needs_key`: whether visitors have a key. Then they can sign out, and the lines that teach show one.
    """
    desk = _Dashboard(make, gauges, Pages(prefix), needs_key)
    root = prefix.rstrip("/")
    return [
        Route(f"{root}/", desk.experiments, methods=["GET"]),
        Route(f"{root}/experiments/{{key}}", desk.experiment, methods=["GET"]),
        Route(f"{root}/decisions", desk.decisions, methods=["GET"]),
        Route(f"{root}/system", desk.system, methods=["GET"]),
        Route(f"{root}/static/{{name}}", desk.static, methods=["GET"]),
    ]


def page(html: str, status: int = 200) -> HTMLResponse:
    """HTML with the headers that every page has."""
    return HTMLResponse(html, status, {**HEADERS, "Cache-Control": "no-store"})


class _Dashboard:
    """Answers requests."""

    def __init__(self, make: Make, gauges: Gauges, pages: Pages, needs_key: Callable[[], bool]) -> None:
        self._make, self._gauges, self._pages, self._needs_key = make, gauges, pages, needs_key
        self._made: dict[Any, tuple[float, str]] = {}
        self._few = asyncio.Semaphore(AT_ONCE)

    async def _show(self, name: str, **words: Any) -> Response:
        """A page made a moment ago will do: many viewers cost as much as one."""
        kept_as = (name, *words.values()) if name in KEPT else None
        try:
            html = self._kept(kept_as)
            if html is None:
                async with self._few:
                    html = self._kept(kept_as)  # somebody else may have made it meanwhile
                    if html is None:
                        if name == "system":
                            words["gauges"] = await run_in_threadpool(self._gauges)
                        html = await self._make(name, self._needs_key(), words)
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
        return await self._show("experiments", number=number, base=str(request.base_url).rstrip("/"))

    async def experiment(self, request: Request) -> Response:
        """One of them."""
        return await self._show("experiment", key=request.path_params["key"], base=str(request.base_url).rstrip("/"))

    async def decisions(self, request: Request) -> Response:
        """One decision, by `?id=`."""
        return await self._show("decision", wanted=request.query_params.get("id", "").strip().lower()[:100])

    async def system(self, _request: Request) -> Response:
        """How the service is doing."""
        return await self._show("system")

    async def static(self, request: Request) -> Response:
        """A file that pages load. Its address changes with its content, so it may be kept."""
        name = request.path_params["name"]
        content = self._pages.files.get(name)
        if content is None:
            return page(self._pages.problem("Not found", "There is no such file."), 404)
        headers = {**HEADERS, "Cache-Control": "public, max-age=31536000, immutable"}
        return Response(content, media_type=KINDS[name.rpartition(".")[2]], headers=headers)


__all__ = ["HEADERS", "POLICY", "Make", "Maker", "Pages", "here", "page", "routes"]
