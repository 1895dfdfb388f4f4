"""The dashboard's login: an API key is typed into a form once, then a cookie stands for it (HttpOnly, SameSite=Strict).

The cookie holds a random token (`login_sessions`), not the key; revoking the key ends every login with it. The pages
are behind `/login` and `/logout`; the files that pages load (`/static`) are open. A key for some experiments opens the
pages of these, their decisions, and a list of them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, TypeVar
from urllib.parse import parse_qs, quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from turncoat.service import login_sessions
from turncoat.service.api_keys import Holder
from turncoat.service.dashboard.pages import Dashboard, page
from turncoat.service.dashboard.pages.renderer import Render, Templates, render_in_threads
from turncoat.service.errors import Forbidden, Malformed, NotFound, Problem, Unauthorised
from turncoat.service.http import limits
from turncoat.service.http.auth import is_same_origin, require_scope
from turncoat.service.http.context import AppContext
from turncoat.service.http.page_forms import PageForms
from turncoat.service.http.responses import problem_response
from turncoat.service.http.route import only_whole, read_body
from turncoat.service.store import Session

OPEN = "/static/"
COOKIE = "turncoat_session"
DECISIONS = frozenset({"/decisions", "/decisions.csv", "/decisions.ndjson"})
Page = Callable[[Request], Awaitable[Response]]
T = TypeVar("T")


class DashboardLogin:
    """Checks the login of every page."""

    def __init__(self, context: AppContext, pages: Templates) -> None:
        self._context = context
        self._pages = pages

    def routes(self, pages: Sequence[Route]) -> list[Route]:
        """The pages behind the login, and `/login` and `/logout`."""
        return [
            *(one if one.path.startswith(OPEN) else Route(one.path, self._guarded(one.endpoint)) for one in pages),
            Route("/login", self._with_problem_pages(self._show_form)),
            Route("/login", self._with_problem_pages(self._sign_in), methods=["POST"], name="sign_in"),
            Route("/logout", self._with_problem_pages(self._sign_out), methods=["POST"]),
        ]

    def forms(self, forms: Sequence[Route]) -> list[Route]:
        """The pages that change something: they need the scope admin, and their forms pass the CSRF check."""
        return [Route(one.path, self._guarded_form(one.endpoint), methods=one.methods) for one in forms]

    def _guarded_form(self, make: Page) -> Page:
        async def shown(request: Request) -> Response:
            if request.method == "POST":
                check_same_origin(request)
                await self._admit(request)
            require_scope(request.state.holder, "admin")
            return await make(request)

        guarded = self._guarded(shown)
        posted = self._with_problem_pages(shown)

        async def answered(request: Request) -> Response:
            """To be sent to the login would lose what was typed into a form."""
            return await (posted if request.method == "POST" else guarded)(request)

        return answered

    def _guarded(self, make: Page) -> Page:
        async def shown(request: Request) -> Response:
            try:
                await self._admit(request)
            except Unauthorised:
                here = request.url.path + (f"?{request.url.query}" if request.url.query else "")
                return RedirectResponse(f"/login?next={quote(here, safe='')}", 303)
            return await make(request)

        return self._with_problem_pages(shown)

    async def _admit(self, request: Request) -> None:
        """Check the visitor, and what the visitor's key is for."""
        request.state.holder = holder = await visitor(self._context, request)
        check_page(holder, request)

    def _with_problem_pages(self, make: Page) -> Page:
        async def shown(request: Request) -> Response:
            try:
                return await make(request)
            except Problem as problem:
                answer = page(self._pages.problem(problem.title, problem.detail), problem.status)
                if (wait := dict(problem_response(problem).headers).get(b"retry-after")) is not None:
                    answer.headers["retry-after"] = wait.decode()
                return answer

        return shown

    async def _show_form(self, request: Request) -> Response:
        return page(self._pages.login(next_page=own_address(request.query_params.get("next"))), 200)

    async def _sign_in(self, request: Request) -> Response:
        """Read the form (`key`, and `next`, the page to go to); set the cookie and redirect, if the key may read."""
        check_same_origin(request)
        body = await read_body(request.receive, dict(request.scope["headers"]), limits.BODY)
        try:
            fields = parse_qs(body.decode("ascii"), max_num_fields=10)
        except ValueError:
            raise Malformed("the form cannot be read", field="key") from None
        key, next_page = fields.get("key", [""])[0].strip(), own_address(fields.get("next", [""])[0])
        try:
            holder = require_scope(self._context.auth.holder_of(key), "read")
        except (Unauthorised, Forbidden):
            return page(self._pages.login(next_page=next_page, failed=True), 401)
        answer = RedirectResponse(next_page, 303)
        token = await self._change(partial(login_sessions.begin, key_id=holder.id, now=self._context.clock.now()))
        answer.set_cookie(COOKIE, token, max_age=login_sessions.SECONDS, **_cookie(request))
        return answer

    async def _sign_out(self, request: Request) -> Response:
        check_same_origin(request)
        token = request.cookies.get(COOKIE)
        if token is not None:
            await self._change(partial(login_sessions.end, token=token))
        answer = RedirectResponse("/", 303)
        answer.delete_cookie(COOKIE, **_cookie(request))
        return answer

    async def _change(self, change: Callable[[Session], T]) -> T:
        """Change the logins, on the thread that writes."""

        def changed() -> T:
            with self._context.store.transaction() as session:
                return change(session)

        return await self._context.engine_thread.run(changed)


def dashboard_routes(context: AppContext, make: Render | None = None) -> list[Route]:
    """The dashboard behind its login. Without `make`, threads of this process render the pages."""
    made = make or render_in_threads(context.store, clock=context.clock)
    dashboard = Dashboard(made, context.metrics.gauges, Templates(), lambda: context.ring.is_needed)
    login = DashboardLogin(context, Templates())
    return [*login.routes(dashboard.routes()), *login.forms(PageForms(context, made, dashboard.forget).routes())]


async def visitor(context: AppContext, request: Request) -> Holder:
    """The visitor of a page, by the cookie; any caller on this machine while no key exists."""
    if not context.ring.is_needed:
        return context.auth.loopback_caller(
            dict(request.scope["headers"]), changes=request.method not in ("GET", "HEAD")
        )
    token = request.cookies.get(COOKIE)
    if token is None:
        raise Unauthorised("this page needs a key; sign in with one", field="key")
    asked = partial(login_sessions.key_of, token=token, now=context.clock.now())
    number = await context.query(partial(context.engine.read, asked), urgent=True)
    return require_scope(context.ring.holder_of_id(number), "read")


def check_page(holder: Holder, request: Request) -> None:
    """Refuse what a key for some experiments may not see; tell the page which they are."""
    request.state.experiments = None if holder.experiments is None else tuple(sorted(holder.experiments))
    asked = request.query_params
    if holder.experiments is None or request.url.path == "/" or (request.url.path == "/decisions" and "id" in asked):
        return
    key = request.path_params.get("key")
    if request.url.path in DECISIONS:
        key = asked.get("experiment", "").strip()
        if not key:
            mine = ", ".join(sorted(holder.experiments))
            raise Forbidden(f"this key is for {mine}; accepted is one of them: {request.url.path}?experiment=…")
    if key is None:
        raise only_whole(holder)
    if not holder.sees(key):
        raise NotFound(f"there is no experiment {key!r}", field="key")


def own_address(address: str | None) -> str:
    """The address if it is local, else the first page: no open redirect."""
    own = address is not None and address.startswith("/") and address.isprintable()
    return str(address) if own and not str(address).startswith(("//", "/\\")) else "/"


def check_same_origin(request: Request) -> None:
    """CSRF check: a form must come from the service's own origin."""
    headers = dict(request.scope["headers"])
    if b"origin" not in headers and b"sec-fetch-site" not in headers:
        raise Forbidden("a form is sent with the header Origin, and it is missing", field="Origin")
    if not is_same_origin(headers):
        raise Forbidden("a page of another origin sent this form; accepted are our own pages", field="Origin")


def _cookie(request: Request) -> dict[str, Any]:
    """The cookie's attributes. `Secure` on HTTPS; a forged X-Forwarded-Proto only breaks the caller's own cookie."""
    secure = "https" in (request.url.scheme, request.headers.get("x-forwarded-proto"))
    return {"httponly": True, "samesite": "strict", "secure": secure}
