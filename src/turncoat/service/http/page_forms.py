"""Forms of the dashboard: experiments are opened and changed, arms are added, paused, resumed and retired.

A form does what the JSON route of the same name does, on the engine thread, with the key's name in the audit; it needs
the scope admin. CSRF check: a form is accepted only with proof that a page of this service sent it: Origin or
Sec-Fetch-Site must say so, and one of them must be there (`check_same_origin`). The cookie is SameSite=Strict besides;
there is no token. Post/redirect/get: a change that was made is answered 303, one that was refused with the same page,
the reason beside the field.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from turncoat.service import messages
from turncoat.service.dashboard.pages import form_fields, page
from turncoat.service.dashboard.pages.form_fields import Fields
from turncoat.service.dashboard.pages.renderer import Render
from turncoat.service.errors import Malformed, Problem, Unavailable, Unprocessable
from turncoat.service.http import limits
from turncoat.service.http.context import AppContext
from turncoat.service.http.route import check_media, read_body
from turncoat.service.http.routes.experiments import actor_of
from turncoat.service.store.interface import StoreDown

FORM = b"application/x-www-form-urlencoded"
MOST_FIELDS = 40
SETTINGS = "/experiments/{key}/settings"


class PageForms:
    """Answers forms of holders with the scope admin (`request.state.holder`). `forget` empties the page cache."""

    def __init__(self, context: AppContext, render: Render, forget: Callable[[], None]) -> None:
        self._context, self._render, self._forget = context, render, forget

    def routes(self) -> list[Route]:
        """The pages with forms."""
        return [
            Route("/new", self.new, methods=["GET", "POST"]),
            Route(SETTINGS, self.settings, methods=["GET", "POST"]),
            Route("/experiments/{key}/retire", self.retire, methods=["GET", "POST"]),
        ]

    async def new(self, request: Request) -> Response:
        """Open an experiment."""
        if request.method != "POST":
            return await self._show("new")
        said = await read_form(request)
        try:
            new = form_fields.new_experiment(said)
            await self._run(request, partial(self._context.engine.create, new))
        except Problem as problem:
            return await self._show_again(problem, "new", said)
        return RedirectResponse(f"/experiments/{quote(new.key)}", 303)

    async def settings(self, request: Request) -> Response:
        """Pause, resume or stop an experiment; change its tags; add an arm; pause or resume one."""
        key = request.path_params["key"]
        if request.method != "POST":
            return await self._show("settings", key=key)
        said = await read_form(request)
        try:
            change, place = self._change(key, said), said.get("do", "")
            await self._run(request, change)
        except Problem as problem:
            return await self._show_again(problem, "settings", said, key=key)
        return RedirectResponse(SETTINGS.format(key=quote(key)) + ("#arms" if "arm" in place else ""), 303)

    async def retire(self, request: Request) -> Response:
        """Retire an arm, after a page that says what this means."""
        key = request.path_params["key"]
        if request.method != "POST":
            return await self._show("retire", key=key, arm=request.query_params.get("arm", ""))
        said = await read_form(request)
        arm, change = said.get("arm", ""), messages.ArmChange(state="retired")
        try:
            if said.get("confirm") != "yes":
                raise Unprocessable("Nothing was changed: confirm it with the button.", field="confirm")
            seen = form_fields.revision_of(said)
            await self._run(request, partial(self._context.engine.change_arm, key, arm, change, if_revision=seen))
        except Problem as problem:
            return await self._show_again(problem, "retire", said, key=key, arm=arm)
        return RedirectResponse(SETTINGS.format(key=quote(key)) + "#arms", 303)

    def _change(self, key: str, said: Fields) -> Callable[..., Any]:
        """What the form of the settings page asks for, as a function of the actor."""
        engine, seen = self._context.engine, form_fields.revision_of(said)
        state: Any = said.get("state", "")
        match said.get("do"):
            case "state":
                change = form_fields.plainly_checked(messages.ExperimentChange(state=state))
                return partial(engine.change, key, change, if_revision=seen)
            case "tags":
                change = form_fields.plainly_checked(messages.ExperimentChange(tags=form_fields.tags_of(said)))
                return partial(engine.change, key, change, if_revision=seen)
            case "add arm":
                return partial(engine.add_arm, key, form_fields.new_arm(said), if_revision=seen)
            case "arm" if state != "retired":
                moved = form_fields.plainly_checked(messages.ArmChange(state=state))
                return partial(engine.change_arm, key, said.get("arm", ""), moved, if_revision=seen)
        raise Unprocessable(form_fields.ACCEPTED["state"], field="do")

    async def _run(self, request: Request, change: Callable[..., Any]) -> None:
        """Make a change as the JSON routes do."""
        await self._context.learners_loaded()
        await self._context.engine_thread.run(partial(change, actor=actor_of(request.state.holder)))
        self._forget()

    async def _show(self, name: str, **arguments: Any) -> Response:
        return await self._page(name, 200, {"said": {}, "problem": None, **arguments})

    async def _show_again(self, problem: Problem, name: str, said: Fields, **arguments: Any) -> Response:
        """The same page with what was typed, and what is wrong with it."""
        if isinstance(problem, Unavailable):
            raise problem
        found = {"field": form_fields.field_of(problem), "text": problem.detail, "kind": type(problem).__name__}
        shown = {"said": dict(said), "problem": {**found, "do": said.get("do", "")}, **arguments}
        return await self._page(name, problem.status, shown)

    async def _page(self, name: str, status: int, shown: Mapping[str, Any]) -> Response:
        try:
            return page(await self._render(name, self._context.ring.is_needed, shown), status)
        except StoreDown as down:
            raise Unavailable(str(down)) from down


async def read_form(request: Request) -> Mapping[str, str]:
    """The fields of a form; of several of one name the last."""
    headers = dict(request.scope["headers"])
    check_media(headers, FORM)
    body = await read_body(request.receive, headers, limits.BODY)
    try:
        return dict(
            parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="strict")
        )
    except ValueError:
        raise Malformed(f"the form cannot be read; accepted are at most {MOST_FIELDS} fields in UTF-8") from None
