"""Pages are made: read from a store and rendered, by name. Which process does so is for others to say."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from platform import python_version
from typing import Any, TypeAlias

from starlette.concurrency import run_in_threadpool

from turncoat._version import __version__
from turncoat.service.clock import Clock
from turncoat.service.dashboard.data import Views
from turncoat.service.dashboard.gauges import from_facts
from turncoat.service.dashboard.pages.renderer import Pages
from turncoat.service.errors import NotFound
from turncoat.service.experiments.queries import read_decision
from turncoat.service.store.interface import Store

FACTS = "SELECT name, value FROM fact"

Make: TypeAlias = Callable[[str, bool, Mapping[str, Any]], Awaitable[str]]  # as `Maker.make`, elsewhere


def here(store: Store, prefix: str = "", clock: Clock | None = None) -> Make:
    """Pages made on threads of this process."""
    maker = Maker(store, prefix, clock)

    async def make(name: str, needs_key: bool, words: Mapping[str, Any]) -> str:
        return await run_in_threadpool(maker.make, name, needs_key, words)

    return make


class Maker:
    """Makes pages. `prefix` is what the addresses of all of them begin with."""

    def __init__(self, store: Store, prefix: str = "", clock: Clock | None = None) -> None:
        self._store = store
        self._views = Views(store, clock)
        self._needs_key = False
        self._pages = Pages(prefix, lambda: self._needs_key)

    def make(self, name: str, needs_key: bool, words: Mapping[str, Any]) -> str:
        """The page of this name. `needs_key`: whether visitors have a key; the lines that teach then show one."""
        self._needs_key = needs_key
        made: dict[str, Callable[..., str]] = {
            "experiments": self._experiments,
            "experiment": self._experiment,
            "decision": self._decision,
            "system": self._system,
        }
        return made[name](**words)

    def _experiments(self, number: int, base: str) -> str:
        lines, more = self._views.experiments(number)
        return self._pages.experiments(lines, page=number, more=more, base=base)

    def _experiment(self, key: str, base: str) -> str:
        return self._pages.experiment(self._views.experiment(key), base=base)

    def _decision(self, wanted: str) -> str:
        record = None
        if wanted:
            try:
                with self._store.reading() as session:
                    record = read_decision(session, wanted)
            except NotFound:
                pass
        return self._pages.decision(wanted, record, {} if record is None else record.probabilities)

    def _system(self, gauges: Mapping[str, Any]) -> str:
        with self._store.reading() as session:
            facts = {str(name): str(value) for name, value in session.rows(FACTS)}
        kind = "PostgreSQL" if self._store.shared else "SQLite"
        measured = {"store_bytes": self._store.size(), **from_facts(facts), **gauges}
        return self._pages.system(measured | {"turncoat": __version__, "python": python_version(), "store": kind})
