"""Pages as a browser gets them: safe headers, nothing inline, nothing from outside, and hostile text stays text."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

import turncoat.service.dashboard as dashboard
from tests.service.dashboard.history import FastClock, History
from turncoat.service import messages
from turncoat.service.dashboard.pages import POLICY, routes
from turncoat.service.dashboard.pages.renderer import Templates, render_in_threads
from turncoat.service.engine import Engine
from turncoat.service.store.interface import Session, Store, StoreDown

EVIL = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "{{ 7 * 7 }}{% raw %}",
    "&lt;b&gt;",
    "שלום עולם",
    "a" * 100,
)
FOLDER = Path(dashboard.__file__).parent


class Document(HTMLParser):
    """What is in a page: elements with their attributes, and its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_data(self, data: str) -> None:
        self.text += data

    def all(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.elements if name == tag]


def client(store: Store, history: History | None = None, prefix: str = "") -> TestClient:
    clock = history.clock if history else FastClock()
    return TestClient(
        Starlette(routes=routes(render_in_threads(store, prefix, clock), lambda: {"lag_seconds": 0.1}, prefix))
    )


def check(page: str, root: str = "") -> Document:
    """What holds of every page."""
    document = Document(page)
    for tag, attributes in document.elements:
        assert "style" not in attributes and not any(name.startswith("on") for name in attributes), (tag, attributes)
        for name in ("src", "href", "action"):
            if name in attributes:
                assert attributes[name].startswith((f"{root}/", "#")), attributes
    assert all(set(one) == {"src", "defer"} for one in document.all("script"))
    assert "style" not in {tag for tag, _ in document.elements}
    assert len(document.all("h1")) == 1 and len(document.all("title")) >= 1
    assert all(one.get("scope") in ("col", "row") for one in document.all("th"))
    pictures = [one for one in document.all("svg") if one.get("class") not in ("box", "corner")]
    assert all("aria-label" in one or one.get("aria-hidden") == "true" for one in pictures)
    ids = [attributes["id"] for _, attributes in document.elements if "id" in attributes]
    assert len(set(ids)) == len(ids)
    live = [attributes for _, attributes in document.elements if "data-live" in attributes]
    assert all("id" in one for one in live)
    return document


def test_every_page_is_safe_and_sound(told: History) -> None:
    with client(told.store, told) as browser:
        decision = told.served[-1].decision_id
        for address in ("/", f"/experiments/{told.key}", "/decisions", f"/decisions?id={decision}", "/system"):
            answer = browser.get(address)
            assert answer.status_code == 200 and answer.headers["content-type"] == "text/html; charset=utf-8"
            assert answer.headers["content-security-policy"] == POLICY
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["cache-control"] == "no-store"
            check(answer.text)
    assert "'unsafe" not in POLICY and "default-src 'none'" in POLICY and "http" not in POLICY


def test_the_page_of_an_experiment_has_everything(told: History) -> None:
    with client(told.store, told) as browser:
        document = check(browser.get(f"/experiments/{told.key}").text)
    for words_ in (
        "Who gets the traffic",
        "Sample-ratio check passed",
        "at most 0.1\N{NO-BREAK SPACE}% of looks",
        "What each arm pays",
        "Gain over control",
        "rewards, sum over",
        "what the same decisions would have brought otherwise",
        "What the learner thinks",
        "Whom it trusts",
        "missing it would cost",
        "Ever rewarded",
        "duplicate",
        "banner paused",
        "ana",
        "ben",
    ):
        assert words_ in document.text, words_
    charts = [one for _, one in document.elements if one.get("class") == "chart"]
    assert len(charts) == 2 + 4 + 1  # two of shares, one an arm, one of the gain


def test_hostile_names_stay_text_everywhere(store: Store) -> None:
    clock = FastClock()
    engine = Engine(store, clock)
    arms: list[str | messages.NamedArm] = [messages.NamedArm(arm=name, payload={"x": name}) for name in EVIL]
    engine.create(
        messages.NewExperiment(key="evil", arms=arms, control=messages.Control(arm=EVIL[0], share=0.3)), actor=EVIL[0]
    )
    decided = [engine.decide("evil", unit_id=EVIL[1], context={EVIL[0]: EVIL[1]}) for _ in range(60)]
    for made in decided:
        engine.reward(made.decision_id or "", 1.0, reward_id=EVIL[0])
        engine.reward(made.decision_id or "", 0.0, reward_id=EVIL[1])
    engine.work()
    clock.at += 60.0
    engine.change_arm("evil", EVIL[1], messages.ArmChange(state="paused"), actor=EVIL[1])
    with TestClient(Starlette(routes=routes(render_in_threads(store, clock=clock)))) as browser:
        for address in (
            "/",
            "/experiments/evil",
            f"/decisions?id={decided[0].decision_id}",
            f"/decisions?id={EVIL[1]}",
        ):
            answer = browser.get(address)
            assert answer.status_code == 200
            document = check(answer.text)
            assert not document.all("img")
            assert len(document.all("script")) == (0 if "decisions" in address else 1)
        document = Document(browser.get("/experiments/evil").text)
        assert all(name in document.text for name in EVIL)
        answer = browser.get("/experiments/%3Cscript%3Ealert(1)%3C/script%3E")
        assert answer.status_code == 404 and not Document(answer.text).all("script")


def test_nothing_comes_from_outside_and_files_may_be_kept(store: Store) -> None:
    with client(store) as browser:
        document = check(browser.get("/").text)
        files = [one["href"] for one in document.all("link")] + [one["src"] for one in document.all("script")]
        assert len(files) == 3
        for address in files:
            answer = browser.get(address)
            assert answer.status_code == 200 and "immutable" in answer.headers["cache-control"]
            assert answer.headers["content-security-policy"] == POLICY
            assert "http" not in answer.text.replace("http://www.w3.org/2000/svg", "") and "url(" not in answer.text
            assert not re.search(r"@import|eval\(|(inner|outer)HTML\s*=[^=]|insertAdjacentHTML", answer.text)
        assert browser.get("/static/pages.py").status_code == 404
        assert browser.get("/static/..%2fpages.py").status_code == 404


def test_the_first_visit_teaches_three_lines_that_are_right(store: Store) -> None:
    with client(store) as browser:
        page = browser.get("/").text
    lines = [unescape(line) for line in re.findall(r"<pre><code>(.*?)</code></pre>", page)]
    bodies = [re.search(r"--json '([^']*)'", line) for line in lines]
    kinds = (messages.NewExperiment, messages.Ask, messages.Reward)
    assert len(lines) == 3
    for body, kind in zip(bodies, kinds, strict=True):
        assert body is not None and msgspec.json.decode(body.group(1), type=kind)
    assert [line.split()[-1] for line in lines] == [
        "http://testserver/v1/experiments",
        "http://testserver/v1/experiments/greeting/decisions",
        "http://testserver/v1/decisions/DECISION_ID/reward",
    ]
    with_keys = TestClient(Starlette(routes=routes(render_in_threads(store), needs_key=lambda: True))).get("/").text
    assert unescape(with_keys).count('-H "Authorization: Bearer $KEY"') == 3


def test_a_new_experiment_says_how_to_go_on(store: Store) -> None:
    clock = FastClock()
    engine = Engine(store, clock)
    engine.create(messages.NewExperiment(key="new", arms=["a", "b"], reward=messages.RewardRule(min=-1.0, max=2.0)))
    clock.at += 20.0
    with TestClient(Starlette(routes=routes(render_in_threads(store, clock=clock)))) as browser:
        page = unescape(browser.get("/experiments/new").text)
        check(browser.get("/experiments/new").text)
    assert "/v1/experiments/new/decisions" in page and '{"value": 2}' in page
    assert "Nothing yet: this fills in with the first rewards." in page


def test_a_decision_shows_its_whole_life(store: Store) -> None:
    clock = FastClock()
    engine = Engine(store, clock)
    engine.create(messages.NewExperiment(key="one", arms=["a", "b"]))
    decided = engine.decide("one", context={"page": "home"})
    engine.reward(decided.decision_id or "", 0.75)
    engine.reward(decided.decision_id or "", 0.25)
    with client(store) as browser:
        waiting = Document(browser.get(f"/decisions?id={decided.decision_id}").text).text
        engine.work()
        document = check(browser.get(f"/decisions?id= {(decided.decision_id or '').upper()} ").text)
        for shown in (
            decided.decision_id,
            str(decided.propensity),
            '"page": "home"',
            "0.75",
            "0.25",
            "conflict",
            "split",
        ):
            assert shown is not None and shown in document.text
        assert "waiting" in waiting and "rewarded" in document.text
        missing = browser.get("/decisions?id=nothing")
        assert missing.status_code == 200 and "There is no decision nothing." in Document(missing.text).text


@pytest.mark.parametrize("page", ["0", "-1", "2", "abc", "1e9", "99999999999999999999", "٣"])
def test_silly_page_numbers_do_no_harm(store: Store, page: str) -> None:
    with client(store) as browser:
        assert browser.get("/", params={"page": page}).status_code == 200


def test_pages_can_live_elsewhere(store: Store) -> None:
    with client(store, prefix="/ui/") as browser:
        check(browser.get("/ui/").text, root="/ui")
        check(browser.get("/ui/system").text, root="/ui")
        assert browser.get("/").status_code == 404
    check(Templates("/ui").login(next_page='"><script>', failed=True), root="/ui")


def test_many_viewers_cost_as_much_as_one(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def made(*_: object, **__: object) -> str:
        time.sleep(0.05)
        seen.append("<h1>x</h1>")
        return seen[-1]

    monkeypatch.setattr(Templates, "fill", made)
    with client(store) as browser:
        for _ in range(20):
            browser.get("/")
        assert len(seen) <= 3
        with ThreadPoolExecutor(10) as viewers:
            before = len(seen)
            list(viewers.map(lambda i: browser.get(f"/?page={7 + i % 2}"), range(20)))
    assert before + 2 <= len(seen) <= before + 6


def test_a_store_that_is_down_makes_no_500() -> None:
    class Down:
        @contextmanager
        def reading(self) -> Iterator[Session]:
            raise StoreDown("gone")
            yield

        def size(self) -> int:
            raise StoreDown("gone")

    with client(Down()) as browser:  # type: ignore[arg-type]
        for address in ("/", "/experiments/x", "/decisions?id=x", "/system"):
            answer = browser.get(address)
            assert answer.status_code == 503 and "cannot be reached" in answer.text
            assert answer.headers["content-security-policy"] == POLICY


def test_the_style_sheet_has_a_dark_side_and_room_for_phones() -> None:
    style = (FOLDER / "style.css").read_text()
    assert "prefers-color-scheme: dark" in style and "max-width: 600px" in style and "prefers-reduced-motion" in style
    assert all(f".swatch.c{i} " in style for i in range(12))


def test_one_damaged_experiment_hides_no_other(store: Store) -> None:
    """The list was an error of the server, and with it everything that could tell what is wrong."""
    engine = Engine(store, FastClock())
    for key in ("broken", "fine"):
        engine.create(messages.NewExperiment(key=key, arms=["a", "b"]))
    with store.transaction() as session:
        session.run("UPDATE learner SET state = :bad WHERE experiment = 1", bad=b"{}")
    asked = client(store)
    listed = asked.get("/")
    assert listed.status_code == 200 and "fine" in listed.text and "broken" in listed.text
    page = asked.get("/experiments/broken")
    assert page.status_code == 200 and "not as it was written" in unescape(page.text)
