"""Forms of the dashboard: what they change, who may send them, and what is said when they are refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.service.dashboard.test_pages import Document, check
from tests.service.http.direct import Direct, Said, direct
from tests.service.http.served import make_context
from turncoat.service import api_keys
from turncoat.service.api_keys import Scope
from turncoat.service.http import login
from turncoat.service.http.app import make_app
from turncoat.service.http.login import dashboard_routes

ORIGIN = {"origin": "http://localhost"}
TYPE = {"content-type": "application/x-www-form-urlencoded"}
SETTINGS, RETIRE = "/experiments/e/settings", "/experiments/e/retire"


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Direct]:
    """The whole service, with an experiment `e` of arms a and b/1, opened over HTTP."""
    context = make_context(tmp_path)
    with direct(context) as one:
        one._app = make_app(context, dashboard_routes(context))
        assert one.post("/v1/experiments", {"key": "e", "arms": ["a", "b/1"]}).status == 201
        yield one


def sent(site: Direct, path: str, fields: dict[str, str], cookie: str = "", **headers: str) -> Said:
    given = {**TYPE, **ORIGIN, **headers} | ({"cookie": f"{login.COOKIE}={cookie}"} if cookie else {})
    return site.ask("POST", path, urlencode(fields).encode(), given)


def issued(site: Direct, *scopes: Scope) -> str:
    new = api_keys.NewKey(name="ana", scopes=list(scopes))
    return site.write(lambda session: api_keys.issue(session, new, site.context.clock.now())).key


def signed_in(site: Direct, *scopes: Scope) -> str:
    """The cookie of a login with a key of these scopes."""
    said = site.ask("POST", "/login", f"key={issued(site, *scopes)}".encode(), {**TYPE, **ORIGIN})
    return said.headers["set-cookie"].partition(";")[0].partition("=")[2]


def experiment(site: Direct, key: str = "e") -> Any:
    return site.context.engine.experiment(key)


def states(site: Direct) -> dict[str, str]:
    return {arm.arm: arm.state for arm in experiment(site).arms}


def problem_of(said: Said) -> tuple[str, str]:
    """The field that a refused form points to, and what it says there."""
    document = check(said.body.decode())
    (wrong,) = [one for _, one in document.elements if one.get("aria-invalid")]
    text = said.body.decode().partition(f'id="{wrong["aria-describedby"]}">')[2].partition("</p>")[0]
    return wrong["name"], text


# --- what they change ---


def test_an_experiment_is_opened(site: Direct) -> None:
    page = site.ask("GET", "/new")
    names = {one["name"] for tag in ("input", "select", "textarea") for one in check(page.body.decode()).all(tag)}
    fields = {
        "key": "colours",
        "arms": "red\r\n\r\n green \r\nblau & weiß",
        "tags": "web, shop web-2",
        "reward.min": "-1",
        "reward.max": "2.5",
        "reward.aggregation": "sum",
        "reward_window_s": "1.5",
        "unit": "hours",
        "default_reward": "-1",
        "control.arm": "red",
        "control.share": "0.2",
        "holdout_share": "",
    }
    assert page.status == 200 and names == set(fields)
    said = sent(site, "/new", fields)
    assert (said.status, said.headers["location"]) == (303, "/experiments/colours")
    made = experiment(site, "colours")
    assert [arm.arm for arm in made.arms] == ["red", "green", "blau & weiß"]
    assert (made.reward.min, made.reward.max, made.reward.aggregation) == (-1.0, 2.5, "sum")
    assert (made.reward_window_s, made.default_reward, made.holdout_share) == (5_400.0, -1.0, 0.0)
    assert made.control is not None and (made.control.arm, made.control.share) == ("red", 0.2)
    assert made.tags == ["web", "shop", "web-2"]


def test_what_is_left_empty_is_as_in_the_api(site: Direct) -> None:
    assert sent(site, "/new", {"key": "x", "arms": "a\nb"}).status == 303
    assert site.post("/v1/experiments", {"key": "y", "arms": ["a", "b"], "seed": 1}).status == 201
    left, right = experiment(site, "x"), experiment(site, "y")
    for name in ("reward", "reward_window_s", "default_reward", "control", "holdout_share", "tags", "state"):
        assert getattr(left, name) == getattr(right, name)


def test_an_experiment_is_paused_resumed_and_stopped(site: Direct) -> None:
    for revision, state in enumerate(("paused", "running", "stopped", "running", "paused", "stopped"), 1):
        page = site.ask("GET", SETTINGS).body.decode()
        assert f'name="state" value="{state}"' in page and f'name="revision" value="{revision}"' in page
        said = sent(site, SETTINGS, {"do": "state", "state": state, "revision": str(revision)})
        assert (said.status, said.headers["location"]) == (303, SETTINGS)
        assert experiment(site).state == state
        status = site.post("/v1/experiments/e/decisions", {}).status
        assert status == (201 if state == "running" else 409)
    assert b"is stopped; decisions" in site.post("/v1/experiments/e/decisions", {}).body


def test_tags_are_changed(site: Direct) -> None:
    assert sent(site, SETTINGS, {"do": "tags", "tags": "b a", "revision": "1"}).status == 303
    assert experiment(site).tags == ["b", "a"]
    assert 'value="b a"' in site.ask("GET", SETTINGS).body.decode()
    assert sent(site, SETTINGS, {"do": "tags", "tags": "", "revision": "2"}).status == 303
    assert experiment(site).tags == []


def test_an_arm_is_added_paused_resumed_and_retired(site: Direct) -> None:
    added = {"do": "add arm", "arm": "c?d", "payload": '{"x": [1]}', "floor": "0.1", "cap": "0.5", "revision": "1"}
    said = sent(site, SETTINGS, added)
    assert (said.status, said.headers["location"]) == (303, f"{SETTINGS}#arms")
    arm = experiment(site).arms[-1]
    assert (arm.arm, arm.payload, arm.floor, arm.cap, arm.state) == ("c?d", {"x": [1]}, 0.1, 0.5, "active")
    for revision, state in enumerate(("paused", "active"), 2):
        fields = {"do": "arm", "arm": "b/1", "state": state, "revision": str(revision)}
        assert sent(site, SETTINGS, fields).status == 303
        assert states(site)["b/1"] == state
    asked = site.ask("GET", f"{RETIRE}?arm=b%2F1")
    assert asked.status == 200 and "This cannot be undone" in Document(asked.body.decode()).text
    assert sent(site, RETIRE, {"arm": "b/1", "revision": "4", "confirm": "yes"}).status == 303
    assert states(site) == {"a": "active", "b/1": "retired", "c?d": "active"}
    assert "retire?arm=b/1" not in site.ask("GET", SETTINGS).body.decode()


def test_an_arm_is_not_retired_unless_that_is_confirmed(site: Direct) -> None:
    for path, fields in (
        (RETIRE, {"arm": "a", "revision": "1"}),
        (RETIRE, {"arm": "a", "revision": "1", "confirm": "no"}),
        (SETTINGS, {"do": "arm", "arm": "a", "state": "retired", "revision": "1"}),
    ):
        said = sent(site, path, fields)
        assert said.status == 422 and b'role="alert"' in said.body
    assert states(site) == {"a": "active", "b/1": "active"}
    assert site.ask("GET", f"{RETIRE}?arm=nobody").status == 404


def test_a_change_is_on_the_page_at_once(site: Direct) -> None:
    """The page before it was in the cache for a second, and showed that nothing had happened."""
    assert b"pill running" in site.ask("GET", "/experiments/e").body
    sent(site, SETTINGS, {"do": "state", "state": "paused", "revision": "1"})
    assert b"pill paused" in site.ask("GET", "/experiments/e").body


# --- what is refused, and how that is said ---


@pytest.mark.parametrize(
    ("typed", "field", "words"),
    [
        ({"key": "a b"}, "key", "letters, digits, dots"),
        ({"key": ""}, "key", "letters, digits, dots"),
        ({"key": "e"}, "key", "an experiment &#39;e&#39; already"),
        ({"arms": ""}, "arms", "one per line"),
        ({"arms": "a\na"}, "arms", "twice"),
        ({"arms": "x" * 101}, "arms", "1 to 100 characters"),
        ({"reward.min": "0,5"}, "reward.min", "not a number"),
        ({"reward.min": "2"}, "reward.max", "min below max"),
        ({"reward.max": "nan"}, "reward.max", "finite"),
        ({"default_reward": "7"}, "default_reward", "0.0 to 1.0"),
        ({"reward_window_s": "0"}, "reward_window_s", "above 0"),
        ({"reward_window_s": "400", "unit": "days"}, "reward_window_s", "365 days"),
        ({"control.arm": "z"}, "control.arm", "one of the arms"),
        ({"control.share": "0.5"}, "control.arm", "which arm is control"),
        ({"control.arm": "a", "control.share": "50"}, "control.share", "from 0 to 1"),
        ({"holdout_share": "1"}, "holdout_share", "less than 1"),
        ({"tags": "Web"}, "tags", "lower-case"),
        ({"tags": "a a"}, "tags", "twice"),
        ({"reward.aggregation": "median"}, "reward.aggregation", "one of first"),
    ],
)
def test_what_is_wrong_with_a_new_experiment_stands_beside_its_field(
    site: Direct, typed: dict[str, str], field: str, words: str
) -> None:
    fields = {"key": "new", "arms": "a\nb", "holdout_share": "0.05", **typed}
    said = sent(site, "/new", fields)
    assert said.status in (409, 422)
    name, text = problem_of(said)
    assert name == field and words in text and "matching ^" not in text and "body" not in text
    document = Document(said.body.decode())
    kept = {one["name"]: one.get("value", "") for one in document.all("input")}
    assert all(kept[name] == value for name, value in fields.items() if name in kept)  # nothing typed is lost
    assert len(site.context.engine.experiments()) == 1


@pytest.mark.parametrize(
    ("typed", "field", "words"),
    [
        ({"arm": ""}, "arm", "1 to 100 characters"),
        ({"arm": "a"}, "arm", "never used twice"),
        ({"payload": "{x}"}, "payload", "JSON"),
        ({"floor": "-1"}, "floor", "from 0 to 1"),
        ({"floor": "0.6", "cap": "0.5"}, "floor", "above its cap"),
        ({"cap": "x"}, "cap", "not a number"),
    ],
)
def test_what_is_wrong_with_a_new_arm_stands_beside_its_field(
    site: Direct, typed: dict[str, str], field: str, words: str
) -> None:
    said = sent(site, SETTINGS, {"do": "add arm", "arm": "new", "revision": "1", **typed})
    assert said.status in (409, 422)
    name, text = problem_of(said)
    assert name == field and words in text
    assert states(site) == {"a": "active", "b/1": "active"}


@pytest.mark.parametrize(
    "fields",
    [
        {"do": "state", "state": "stopped"},
        {"do": "tags", "tags": "mine"},
        {"do": "add arm", "arm": "c"},
        {"do": "arm", "arm": "a", "state": "paused"},
        {"arm": "a", "confirm": "yes"},
    ],
    ids=str,
)
def test_a_change_made_meanwhile_is_explained(site: Direct, fields: dict[str, str]) -> None:
    """Arms had no If-Match: who paused one had not seen what another had changed."""
    path = SETTINGS if "do" in fields else RETIRE
    done = site.ask(
        "PATCH", "/v1/experiments/e/arms/b%2F1", b'{"state": "paused"}', {"content-type": "application/json"}
    )
    assert done.status == 200
    said = sent(site, path, {**fields, "revision": "1"})
    text = Document(said.body.decode()).text
    assert said.status == 412
    assert "Nothing was changed" in text and "You saw revision 1, and it is at 2 now" in text
    assert experiment(site).revision == 2
    assert 'name="revision" value="2"' in said.body.decode()  # sent again, it is made
    assert sent(site, path, {**fields, "revision": "2"}).status == 303


def test_a_form_that_is_not_one_of_ours_is_refused(site: Direct) -> None:
    for fields in ({}, {"do": "x", "revision": "1"}, {"do": "state", "revision": "1"}, {"do": "state", "state": "x"}):
        assert sent(site, SETTINGS, fields).status == 422
    assert sent(site, SETTINGS, {"do": "state", "state": "stopped", "revision": "1" * 30}).status == 422
    assert (
        sent(site, "/experiments/nobody/settings", {"do": "state", "state": "stopped", "revision": "1"}).status == 404
    )
    assert site.ask("POST", "/new", b"x" * 100_000, {**TYPE, **ORIGIN}).status == 413
    assert site.ask("POST", "/new", b"&".join([b"a=b"] * 50), {**TYPE, **ORIGIN}).status == 400
    assert site.ask("POST", "/new", b"key=%ff", {**TYPE, **ORIGIN}).status == 400
    assert site.ask("POST", "/new", b"{}", {"content-type": "application/json", **ORIGIN}).status == 415
    assert experiment(site).revision == 1


def test_hostile_text_stays_text(site: Direct) -> None:
    evil = '"><script>alert(1)</script>'
    for path, fields in (
        ("/new", {"key": evil, "arms": evil, "tags": evil, "control.arm": evil}),
        (SETTINGS, {"do": "add arm", "arm": evil, "payload": evil, "revision": "1"}),
        (SETTINGS, {"do": evil, "revision": evil}),
        (RETIRE, {"arm": "a", "revision": evil, "confirm": "yes"}),
    ):
        document = check(sent(site, path, fields).body.decode())
        assert not document.all("script")
    assert site.post("/v1/experiments/e/arms", {"arm": evil}).status == 201
    for path in (SETTINGS, f"{RETIRE}?{urlencode({'arm': evil})}"):
        document = check(site.ask("GET", path).body.decode())
        assert evil in document.text and not document.all("script")


# --- who may send them ---

FORMS = (
    ("/new", {"key": "new", "arms": "a\nb"}),
    (SETTINGS, {"do": "state", "state": "stopped", "revision": "1"}),
    (RETIRE, {"arm": "a", "revision": "1", "confirm": "yes"}),
)


@pytest.mark.parametrize("has_key", [False, True])
@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://localhost:81"},
        {"origin": "http://localhost.evil.example"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"origin": ""},
    ],
    ids=str,
)
def test_csrf_no_other_page_can_send_a_form(site: Direct, headers: dict[str, str], has_key: bool) -> None:
    """With the visitor's cookie, as a browser sends it from another port of the same host: that is the same site."""
    key = signed_in(site, "read", "admin") if has_key else ""
    for path, fields in FORMS:
        assert sent(site, path, fields, key, **headers).status == 403, path
    missing = site.ask("POST", "/new", urlencode(FORMS[0][1]).encode(), {**TYPE, "cookie": f"{login.COOKIE}={key}"})
    assert missing.status == 403
    assert experiment(site).revision == 1 and len(site.context.engine.experiments()) == 1


def test_forms_need_the_scope_admin(site: Direct) -> None:
    bearer = issued(site, "read", "admin")
    reader, admin = signed_in(site, "read", "decide", "reward"), signed_in(site, "read", "admin")
    for path, fields in FORMS:
        page = f"{path}?arm=a"
        assert site.ask("GET", page).headers["location"].startswith("/login?next=")
        assert sent(site, path, fields).status == 401
        assert (
            site.ask(
                "POST", path, urlencode(fields).encode(), {**TYPE, **ORIGIN, "authorization": f"Bearer {bearer}"}
            ).status
            == 401
        )
        for said in (
            site.ask("GET", page, headers={"cookie": f"{login.COOKIE}={reader}"}),
            sent(site, path, fields, reader),
        ):
            assert said.status == 403 and "scope &#39;admin&#39;" in said.body.decode()
    assert experiment(site).revision == 1 and len(site.context.engine.experiments()) == 1
    for path, _ in FORMS:
        assert site.ask("GET", f"{path}?arm=a", headers={"cookie": f"{login.COOKIE}={admin}"}).status == 200
    assert sent(site, *FORMS[1], admin).status == 303


def test_without_keys_only_this_machine_may_send_them(site: Direct) -> None:
    for path, fields in FORMS:
        body = urlencode(fields).encode()
        assert (
            site.ask("POST", path, body, {**TYPE, "origin": "http://evil.example"}, host="evil.example").status == 403
        )
        assert site.ask("POST", path, body, {**TYPE, **ORIGIN, "x-forwarded-for": "9.9.9.9"}).status == 401
    assert experiment(site).revision == 1


def test_the_audit_names_the_key(site: Direct) -> None:
    key = signed_in(site, "read", "admin")
    ((number,),) = site.write(lambda session: session.rows("SELECT id FROM api_key"))
    name = f"ana ({number})"
    assert sent(site, "/new", {"key": "x", "arms": "a\nb"}, key).status == 303
    sent(site, SETTINGS, {"do": "tags", "tags": "t", "revision": "1"}, key)
    sent(site, SETTINGS, {"do": "arm", "arm": "a", "state": "paused", "revision": "2"}, key)
    sent(site, RETIRE, {"arm": "b/1", "revision": "3", "confirm": "yes"}, key)
    assert [(one.actor, one.action) for one in site.context.engine.audit("x")] == [(name, "open")]
    entries = site.context.engine.audit("e")[1:]
    assert [(one.actor, one.action, one.after) for one in entries] == [
        (name, "change", {"tags": ["t"]}),
        (name, "change arm", {"arm": "a", "state": "paused"}),
        (name, "change arm", {"arm": "b/1", "state": "retired"}),
    ]
    assert key not in site.ask("GET", SETTINGS, headers={"cookie": f"{login.COOKIE}={key}"}).body.decode()
