"""Pages from views: what is drawn of each, in which colours, in which words. All text of others is escaped."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from importlib.resources import files
from typing import Any

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from turncoat._version import __version__
from turncoat.service import messages
from turncoat.service.dashboard.data import Line, Page
from turncoat.service.dashboard.formats import FILTERS
from turncoat.service.dashboard.gauges import gauge_rows, tiles
from turncoat.service.dashboard.glyphs import meter, strip
from turncoat.service.dashboard.pages.experiment_page import colours_of, layers, portrait

KEY_WORDS = Markup('-H "Authorization: Bearer $KEY" ')  # in the lines that teach
MOST_LISTED = 50  # arms a decision was drawn from
OUTCOMES = {
    "open": "no reward yet, and its window has not ended",
    "waiting": "its reward is here and will be learned from in a moment",
    "rewarded": "its reward came in time",
    "defaulted": "its window ended without a reward, and the default counts",
    "expired": "its window ended without a reward, and there is no default",
}


class Pages:
    """Renders. `root` is what the addresses of all pages begin with; `needs_key` says whether visitors have a key."""

    def __init__(self, root: str = "", needs_key: Callable[[], bool] = lambda: False) -> None:
        self.root = root.rstrip("/")
        self._needs_key = needs_key
        self._templates = Environment(
            loader=PackageLoader("turncoat.service.dashboard"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self._templates.filters.update(FILTERS)
        self._templates.globals.update(root=self.root, version=__version__, stamp=self.stamp, meter=meter)

    @cached_property
    def files(self) -> dict[str, bytes]:
        """What pages load: a style sheet, a script, an icon."""
        folder = files("turncoat.service.dashboard")
        return {name: (folder / name).read_bytes() for name in ("style.css", "script.js", "icon.svg")}

    @cached_property
    def stamp(self) -> str:
        """Changes whenever one of the files does, so that browsers may keep them."""
        return hashlib.sha256(b"".join(self.files.values())).hexdigest()[:12]

    def _render(self, template: str, **values: Any) -> str:
        auth = KEY_WORDS if self._needs_key() else ""
        return self._templates.get_template(template).render(auth=auth, **values)

    def experiments(self, lines: Sequence[Line], *, page: int, more: bool, base: str) -> str:
        """The list of experiments; where there are none, how to open one."""
        shown = [
            {"present": line.present, "alarms": line.alarms, "leader": leader(line), "picture": small_picture(line)}
            for line in lines
        ]
        return self._render("experiments.html", here="experiments", lines=shown, page=page, more=more, base=base)

    def experiment(self, page: Page, *, base: str) -> str:
        """One experiment; before its first decision, how to ask for one."""
        values = portrait(page)
        return self._render("experiment.html", here="experiment", page=page, it=page.present, base=base, **values)

    def decision(self, wanted: str, record: messages.DecisionRecord | None, drawn_from: Mapping[str, float]) -> str:
        """One decision, if there is one of this id."""
        likeliest = sorted(drawn_from.items(), key=lambda item: -item[1])
        context = None if record is None else msgspec.json.format(msgspec.json.encode(record.context), indent=2)
        return self._render(
            "decisions.html",
            here="decisions",
            wanted=wanted,
            missing=bool(wanted) and record is None,
            record=record,
            outcome="" if record is None else OUTCOMES[record.outcome],
            context="" if context is None else context.decode(),
            drawn_from=likeliest[:MOST_LISTED],
            n_more=len(likeliest[MOST_LISTED:]),
        )

    def system(self, gauges: Mapping[str, Any]) -> str:
        """How the service is doing."""
        return self._render("system.html", here="system", tiles=tiles(gauges), rows=gauge_rows(gauges))

    def login(self, *, next_page: str = "", failed: bool = False) -> str:
        """Asks for a key."""
        return self._render("login.html", here="login", next=next_page, failed=failed)

    def problem(self, title: str, detail: str) -> str:
        """Something that cannot be shown."""
        return self._render("problem.html", here="problem", title=title, detail=detail)


def leader(line: Line) -> dict[str, Any] | None:
    """The arm that is served most."""
    served = line.present.head.probabilities
    if not served:
        return None
    arm = max(served, key=lambda one: served[one])
    return {"arm": arm, "share": served[arm], "colour": colours_of(line.shares)[arm]}


def small_picture(line: Line) -> Markup:
    """Its shares in little."""
    title = f"Shares of the arms of {line.present.head.key} over time"
    return strip(title, line.shares.times, layers(line.shares, colours_of(line.shares)), line.present.now)
