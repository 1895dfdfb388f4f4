"""Pages are rendered: `Renderer` reads the store, `Templates` fills Jinja templates, with every value escaped.

The system page shows gauges from a mapping; the end of a gauge's name says what its value is:
    …_seconds    how long        …_bytes    how much     …_at    when (seconds since 1970)     …_share    of one
Any other value is shown as it is. Gauges named in TILES are shown large.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from functools import cached_property
from importlib.resources import files
from platform import python_version
from typing import Any, TypeAlias

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool

from turncoat._version import __version__
from turncoat.service.clock import Clock
from turncoat.service.dashboard.charts import meter, strip
from turncoat.service.dashboard.data import PAGE, DashboardData, Line
from turncoat.service.dashboard.data.decisions import SCANNED, Found, find_decisions
from turncoat.service.dashboard.data.tables import read_changes
from turncoat.service.dashboard.formats import FILTERS, count, figure, moment, share, size, span
from turncoat.service.dashboard.pages.downloads import Kind, part
from turncoat.service.dashboard.pages.experiment_page import colours_of, experiment_values, layers
from turncoat.service.dashboard.pages.form_fields import UNITS, field_of, filter_of
from turncoat.service.errors import NotFound, Unprocessable
from turncoat.service.experiments.queries import read_decision
from turncoat.service.experiments.snapshot_cache import read_snapshot
from turncoat.service.store.interface import Store

KEY_WORDS = Markup('-H "Authorization: Bearer $KEY" ')  # in the example commands
MOST_LISTED = 50  # arms listed per decision
LISTED = 50  # decisions on a page
OUTCOMES = {
    "open": "no reward yet, and its window has not ended",
    "waiting": "its reward is here and will be learned from in a moment",
    "rewarded": "its reward came in time",
    "defaulted": "its window ended without a reward, and the default counts",
    "expired": "its window ended without a reward, and there is no default",
}
TILES = {
    "decide_p50_seconds": "Decide, median",
    "decide_p99_seconds": "Decide, 99 %",
    "reward_p50_seconds": "Reward, median",
    "reward_p99_seconds": "Reward, 99 %",
    "decisions_per_second": "Decisions / s",
    "rewards_per_second": "Rewards / s",
    "lag_seconds": "Applier lag",
    "lag_rewards": "Rewards waiting",
    "store_bytes": "Store",
    "last_backup_at": "Last backup",
    "last_verify_at": "Last replay check",
}
LAGGING = 5.0  # seconds
ENDINGS = {"_seconds": span, "_bytes": size, "_at": moment, "_share": share}
FACTS = "SELECT name, value FROM fact"

# `Renderer.render`, in a thread or in another process.
Render: TypeAlias = Callable[[str, bool, Mapping[str, Any]], Awaitable[str]]


class Templates:
    """Fills templates. `root`: the prefix of all URLs; `needs_key`: whether visitors have a key."""

    def __init__(self, root: str = "") -> None:
        self.needs_key = False
        self._templates = Environment(
            loader=PackageLoader("turncoat.service.dashboard"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self._templates.filters.update(FILTERS)
        self._templates.globals.update(root=root.rstrip("/"), version=__version__, stamp=self.stamp, meter=meter)

    @cached_property
    def files(self) -> dict[str, bytes]:
        """Static files: a style sheet, a script, an icon."""
        folder = files("turncoat.service.dashboard")
        return {name: (folder / name).read_bytes() for name in ("style.css", "script.js", "icon.svg")}

    @cached_property
    def stamp(self) -> str:
        """A hash of the static files, part of their URLs, so that browsers may cache them."""
        return hashlib.sha256(b"".join(self.files.values())).hexdigest()[:12]

    def fill(self, name: str, **values: Any) -> str:
        """The template of this name, filled."""
        auth = KEY_WORDS if self.needs_key else ""
        return self._templates.get_template(f"{name}.html").render(auth=auth, here=name, **values)

    def login(self, *, next_page: str = "", failed: bool = False) -> str:
        """The login form."""
        return self.fill("login", next=next_page, failed=failed)

    def problem(self, title: str, detail: str) -> str:
        """An error page."""
        return self.fill("problem", title=title, detail=detail)


def render_in_threads(store: Store, prefix: str = "", clock: Clock | None = None) -> Render:
    """Render pages on threads of this process."""
    render = Renderer(store, prefix, clock).render
    return lambda *page: run_in_threadpool(render, *page)


class Renderer:
    """Renders pages from a store. `prefix`: the prefix of all URLs."""

    def __init__(self, store: Store, prefix: str = "", clock: Clock | None = None) -> None:
        self._store = store
        self._data = DashboardData(store, clock)
        self._templates = Templates(prefix)

    def render(self, name: str, needs_key: bool, arguments: Mapping[str, Any]) -> str:
        """Render a page by name. `needs_key`: whether visitors have a key; the example commands then show one."""
        self._templates.needs_key = needs_key
        made: Callable[..., str] = getattr(self, f"_{name}")
        return made(**arguments)

    def _experiments(
        self, number: int, base: str, search: str = "", tag: str = "", only: Collection[str] | None = None
    ) -> str:
        """The list of experiments; where there are none, how to open one."""
        found = self._data.experiments(number, search, tag, only)
        asked = {name: value for name, value in (("search", search), ("tag", tag)) if value}
        return self._templates.fill(
            "experiments",
            lines=[list_values(line) for line in found.lines],
            found=found,
            page=number,
            more=found.n_found > number * PAGE,
            search=search,
            chosen=tag,
            asked=asked,
            base=base,
        )

    def _experiment(self, key: str, base: str, within: str = "all") -> str:
        """One experiment; before its first decision, how to ask for one."""
        page = self._data.experiment(key, within)
        values = experiment_values(page)
        return self._templates.fill("experiment", page=page, it=page.present, within=within, base=base, **values)

    def _decision(self, wanted: str, only: Collection[str] | None = None) -> str:
        """One decision, if it exists."""
        record, drawn_from, context = None, list[tuple[str, float]](), ""
        if wanted:
            with suppress(NotFound), self._store.reading() as session:
                record = read_decision(session, wanted)
        if record is not None and only is not None and record.experiment not in only:
            record = None
        if record is not None:
            drawn_from = sorted(record.probabilities.items(), key=lambda item: -item[1])
            context = msgspec.json.format(msgspec.json.encode(record.context), indent=2).decode()
        return self._templates.fill(
            "decision",
            wanted=wanted,
            missing=bool(wanted) and record is None,
            record=record,
            outcome="" if record is None else OUTCOMES[record.outcome],
            context=context,
            drawn_from=drawn_from[:MOST_LISTED],
            n_more=len(drawn_from[MOST_LISTED:]),
        )

    def _decisions(self, said: Mapping[str, str], before: str) -> str:
        """The decisions that pass a filter."""
        found, problem = Found([], None), None
        try:
            wanted = filter_of(said)
            with self._store.reading() as session:
                found = find_decisions(session, wanted, LISTED, before or None)
        except Unprocessable as refused:
            problem = {"field": field_of(refused), "text": refused.detail}
        return self._templates.fill(
            "decisions", said=said, problem=problem, found=found, before=before, scanned=SCANNED
        )

    def _download(self, said: Mapping[str, str], kind: Kind, before: str) -> str:
        """A part of a download."""
        with self._store.reading() as session:
            return part(session, filter_of(said), kind, before)

    def _new(self, **shown: Any) -> str:
        """The form that opens an experiment."""
        return self._templates.fill("new", units=list(UNITS), **shown)

    def _settings(self, key: str, **shown: Any) -> str:
        """The forms that change an experiment."""
        with self._store.reading() as session:
            head, changes = read_snapshot(session, key), read_changes(session, key)
        return self._templates.fill("settings", head=head, last=changes[0], **shown)

    def _retire(self, key: str, arm: str, **shown: Any) -> str:
        """The question whether an arm is to be retired."""
        with self._store.reading() as session:
            head = read_snapshot(session, key)
        row = head.find(arm)
        if row is None:
            raise NotFound(f"{key!r} has no arm {arm!r}", field="arm")
        return self._templates.fill("retire", head=head, arm=row, share_now=head.probabilities.get(arm, 0.0), **shown)

    def _system(self, gauges: Mapping[str, Any]) -> str:
        """How the service is doing."""
        with self._store.reading() as session:
            facts = {str(name): str(value) for name, value in session.rows(FACTS)}
        kind = "PostgreSQL" if self._store.shared else "SQLite"
        measured = {"store_bytes": self._store.size(), **from_facts(facts), **gauges}
        measured |= {"turncoat": __version__, "python": python_version(), "store": kind}
        return self._templates.fill("system", tiles=tiles(measured), rows=gauge_rows(measured))


def list_values(line: Line) -> dict[str, Any]:
    """The values that the list shows of an experiment: the arm served most, and a sparkline of the shares."""
    head, colours = line.present.head, colours_of(line.shares)
    arm = max(head.probabilities, key=lambda one: head.probabilities[one], default=None)
    leader = None if arm is None else {"arm": arm, "share": head.probabilities[arm], "colour": colours[arm]}
    title = f"Shares of the arms of {head.key} over time"
    picture = strip(title, line.shares.times, layers(line.shares, colours), line.present.now)
    return {"present": line.present, "alarms": line.alarms, "leader": leader, "picture": picture}


# --- the system page ---


def from_facts(facts: Mapping[str, str]) -> dict[str, Any]:
    """Time and result of the last backup and of the last verification."""
    found: dict[str, Any] = {}
    for fact, name in (("backup", "last_backup"), ("verified", "last_verify")):
        at, _, result = facts.get(fact, "").partition(" ")
        found[f"{name}_at"] = None
        with suppress(ValueError):
            found[f"{name}_at"] = float(at)
        if result:
            found[f"{name}_result"] = result
    return found


def format_gauge(name: str, value: Any) -> str:
    """Format a value by the end of its name."""
    if value is None:
        return "never" if name.endswith("_at") else "–"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    plain = count if isinstance(value, int) else figure
    return next((show for end, show in ENDINGS.items() if name.endswith(end)), plain)(float(value))


def tiles(gauges: Mapping[str, Any]) -> list[dict[str, str]]:
    """The gauges shown large, if measured."""
    return [
        {
            "name": title,
            "value": format_gauge(name, gauges[name]),
            "note": str(gauges.get(name.removesuffix("_at") + "_result", "")) if name.endswith("_at") else "",
            "tone": "bad" if name == "lag_seconds" and (gauges[name] or 0.0) > LAGGING else "",
        }
        for name, title in TILES.items()
        if name in gauges
    ]


def gauge_rows(gauges: Mapping[str, Any]) -> list[tuple[str, str]]:
    """All other gauges, by name."""
    return [
        (name.replace("_", " "), format_gauge(name, value))
        for name, value in gauges.items()
        if name not in TILES and name.removesuffix("_result") + "_at" not in TILES
    ]
