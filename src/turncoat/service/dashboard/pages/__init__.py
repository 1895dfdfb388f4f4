"""Pages, rendered on request from the store. They need no script and load nothing from other hosts.

The HTTP layer mounts `routes` behind its login; `Templates.login` is the login page.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Route

from turncoat.service.dashboard.data.windows import RANGES
from turncoat.service.dashboard.pages.downloads import MEDIA
from turncoat.service.dashboard.pages.renderer import Render, Templates
from turncoat.service.errors import Damaged, NotFound, Problem
from turncoat.service.store.interface import StoreDown

POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # no-referrer would send "Origin: null" with forms: the CSRF check fails
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
KINDS = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
FRESH = 0.9  # seconds for which a rendered page is cached
KEPT = ("experiments", "experiment", "system")
MOST_KEPT = 64  # pages in the cache
AT_ONCE = 2  # pages rendered concurrently, and downloads
LONGEST = 200  # characters of a parameter
FILTERS = ("experiment", "arm", "stream", "outcome", "since", "until")

Gauges = Callable[[], Mapping[str, Any]]


def routes(
    render: Render, gauges: Gauges = dict, prefix: str = "", *, needs_key: Callable[[], bool] = lambda: False
) -> list[Route]:
    """All pages, for `Starlette(routes=…)`. `gauges` is what the system page shows; it is called on a worker thread.

    `render`: `render_in_threads(store)`, or the same in another process. `prefix`: the prefix of all URLs. `needs_key`:
    whether visitors have a key; then they can sign out, and the example commands show one.
    """
    return Dashboard(render, gauges, Templates(prefix), needs_key).routes(prefix)


def page(html: str, status: int = 200) -> HTMLResponse:
    """HTML with the headers that every page has."""
    return HTMLResponse(html, status, {**HEADERS, "Cache-Control": "no-store"})


def visible(request: Request) -> tuple[str, ...] | None:
    """The experiments that the visitor's key is for, as the login found; None: all."""
    only: tuple[str, ...] | None = getattr(request.state, "experiments", None)
    return only


class Dashboard:
    """Answers requests for pages."""

    def __init__(self, render: Render, gauges: Gauges, pages: Templates, needs_key: Callable[[], bool]) -> None:
        self._render, self._gauges, self._pages, self._needs_key = render, gauges, pages, needs_key
        self._rendered: dict[Any, tuple[float, str]] = {}
        self._few, self._downloads = asyncio.Semaphore(AT_ONCE), asyncio.Semaphore(AT_ONCE)

    def routes(self, prefix: str = "") -> list[Route]:
        """All pages."""
        root = prefix.rstrip("/")
        return [
            Route(f"{root}/", self.experiments, methods=["GET"]),
            Route(f"{root}/experiments/{{key}}", self.experiment, methods=["GET"]),
            Route(f"{root}/decisions", self.decisions, methods=["GET"]),
            Route(f"{root}/decisions.ndjson", partial(self.download, "ndjson"), methods=["GET"]),
            Route(f"{root}/decisions.csv", partial(self.download, "csv"), methods=["GET"]),
            Route(f"{root}/system", self.system, methods=["GET"]),
            Route(f"{root}/static/{{name}}", self.static, methods=["GET"]),
        ]

    def forget(self) -> None:
        """Empty the cache: something was changed, and its page is looked at next."""
        self._rendered.clear()

    async def _show(self, name: str, **arguments: Any) -> Response:
        """Serve a page from the cache, or render it: many viewers cost as much as one."""
        kept_as = (name, *arguments.values()) if name in KEPT else None
        try:
            html = self._kept(kept_as)
            if html is None:
                async with self._few:
                    html = self._kept(kept_as)  # another request may have rendered it meanwhile
                    if html is None:
                        if name == "system":
                            arguments["gauges"] = await run_in_threadpool(self._gauges)
                        html = await self._render(name, self._needs_key(), arguments)
                        self._keep(kept_as, html)
        except NotFound as problem:
            return page(self._pages.problem("Not found", problem.detail), 404)
        except Damaged as problem:
            return page(self._pages.problem("Damaged", f"{problem.detail}."), 503)
        except StoreDown:
            return page(self._pages.problem("No answer", "The store cannot be reached just now. Try again soon."), 503)
        return page(html)

    def _kept(self, name: Any) -> str | None:
        made, html = self._rendered.get(name, (-FRESH, None))
        return html if time.monotonic() - made < FRESH else None

    def _keep(self, name: Any, html: str) -> None:
        if name is not None:
            self._rendered.pop(name, None)
            while len(self._rendered) >= MOST_KEPT:
                del self._rendered[next(iter(self._rendered))]
            self._rendered[name] = time.monotonic(), html

    async def experiments(self, request: Request) -> Response:
        """The list."""
        asked = request.query_params.get("page", "1")
        number = min(max(int(asked), 1), 1_000_000) if asked.isascii() and asked.isdigit() and len(asked) < 9 else 1
        search, tag = (request.query_params.get(name, "").strip()[:LONGEST] for name in ("search", "tag"))
        base = str(request.base_url).rstrip("/")
        return await self._show("experiments", number=number, search=search, tag=tag, base=base, only=visible(request))

    async def experiment(self, request: Request) -> Response:
        """One of them, in the time `?range=`."""
        within = request.query_params.get("range", "")
        shown = {"key": request.path_params["key"], "within": within if within in RANGES else "all"}
        return await self._show("experiment", **shown, base=str(request.base_url).rstrip("/"))

    async def decisions(self, request: Request) -> Response:
        """One decision, by `?id=`, or those that pass a filter."""
        said = request.query_params
        if "id" in said:
            wanted = said["id"].strip().lower()[:LONGEST]
            return await self._show("decision", wanted=wanted, only=visible(request))
        return await self._show("decisions", said=_filter(request), before=said.get("before", "")[:LONGEST])

    async def download(self, kind: str, request: Request) -> Response:
        """The decisions that pass a filter, as a file."""
        if self._downloads.locked():
            return page(self._pages.problem("Busy", f"{AT_ONCE} downloads are under way. Try again soon."), 503)
        asked = {"said": _filter(request), "kind": kind}
        try:
            first = await self._render("download", self._needs_key(), {**asked, "before": ""})
        except Problem as problem:
            return page(self._pages.problem(problem.title, problem.detail), problem.status)

        async def parts() -> AsyncIterator[str]:
            older, _, text = first.partition("\n")
            async with self._downloads:
                yield text
                while older:
                    more = await self._render("download", self._needs_key(), {**asked, "before": older})
                    older, _, text = more.partition("\n")
                    yield text

        headers = {
            **HEADERS,
            "Cache-Control": "no-store",
            "Content-Disposition": f'attachment; filename="decisions.{kind}"',
        }
        return StreamingResponse(parts(), headers=headers, media_type=MEDIA[kind])

    async def system(self, _request: Request) -> Response:
        """How the service is doing."""
        return await self._show("system")

    async def static(self, request: Request) -> Response:
        """A static file. Its URL changes with its content, so it may be cached for ever."""
        name = request.path_params["name"]
        content = self._pages.files.get(name)
        if content is None:
            return page(self._pages.problem("Not found", "There is no such file."), 404)
        headers = {**HEADERS, "Cache-Control": "public, max-age=31536000, immutable"}
        return Response(content, media_type=KINDS[name.rpartition(".")[2]], headers=headers)


def _filter(request: Request) -> dict[str, str]:
    """What was typed into the form that filters decisions."""
    return {name: value[:LONGEST] for name in FILTERS if (value := request.query_params.get(name, "").strip())}


__all__ = ["HEADERS", "POLICY", "Dashboard", "page", "routes"]
