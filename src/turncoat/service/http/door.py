"""The dashboard's pages, behind the guard: who has no key yet is shown the form, and comes in by it.

Its way in and out are `/login` and `/logout`; what pages load (`/static`) is open to everyone.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from turncoat.service.dashboard import Make, Pages, here, page, routes
from turncoat.service.errors import Forbidden, Problem, Unauthorised
from turncoat.service.http import login
from turncoat.service.http.context import Office

OPEN = "/static/"
Page = Callable[[Request], Awaitable[Response]]


class Look(Protocol):
    """What the door needs of whoever draws pages."""

    def login(self, *, next_page: str = "", failed: bool = False) -> str:
        """The form."""

    def problem(self, title: str, detail: str) -> str:
        """Something that cannot be shown."""


class Door:
    """Stands in front of every page."""

    def __init__(self, office: Office, look: Look, show: Callable[[str, int], Response]) -> None:
        self._office = office
        self._look = look
        self._show = show

    def routes(self, pages: Sequence[Route]) -> list[Route]:
        """The pages, guarded, and the way in and out."""
        return [
            *(one if one.path.startswith(OPEN) else Route(one.path, self._guarded(one.endpoint)) for one in pages),
            Route("/login", self._careful(self._show_form)),
            Route("/login", self._careful(self._sign_in), methods=["POST"], name="sign_in"),
            Route("/logout", self._careful(self._sign_out), methods=["POST"]),
        ]

    def _guarded(self, make: Page) -> Page:
        async def shown(request: Request) -> Response:
            try:
                login.visitor(self._office, request)
            except Unauthorised:
                here = request.url.path + (f"?{request.url.query}" if request.url.query else "")
                return RedirectResponse(f"/login?next={quote(here, safe='')}", 303)
            return await make(request)

        return self._careful(shown)

    def _careful(self, make: Page) -> Page:
        async def shown(request: Request) -> Response:
            try:
                return await make(request)
            except Problem as problem:
                return self._show(self._look.problem(problem.title, problem.detail), problem.status)

        return shown

    async def _show_form(self, request: Request) -> Response:
        return self._show(self._look.login(next_page=login.inside(request.query_params.get("next"))), 200)

    async def _sign_in(self, request: Request) -> Response:
        login.check_own_page(request)
        typed = await login.typed(request)
        try:
            return login.sign_in(self._office, request, typed)
        except (Unauthorised, Forbidden):
            return self._show(self._look.login(next_page=typed.next_page, failed=True), 401)

    async def _sign_out(self, request: Request) -> Response:
        login.check_own_page(request)
        return login.sign_out(request)


def dashboard(office: Office, make: Make | None = None) -> list[Route]:
    """The dashboard, behind the door. Unless somebody else does, threads of this process make the pages."""
    made = make or here(office.store, clock=office.clock)
    pages = routes(made, office.metrics.gauges, needs_key=lambda: office.ring.is_needed)
    return Door(office, Pages(""), page).routes(pages)
