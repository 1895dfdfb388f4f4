"""What Prometheus is told. Counters count what this service answered; what waits is read from the store when asked.

With several workers the counters live in files that all of them share (PROMETHEUS_MULTIPROC_DIR, set by `server`), so
that whichever worker is asked tells of all.
"""

from __future__ import annotations

import os
from collections import Counter as Tally
from collections.abc import Iterable, Sequence

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from turncoat.service import words
from turncoat.service.clock import Clock
from turncoat.service.errands import Done
from turncoat.service.store import Store

SHARED = "PROMETHEUS_MULTIPROC_DIR"
SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)

WAITING = "SELECT COUNT(*), MIN(received_at) FROM inbox WHERE experiment IS NOT NULL"
VERSIONS = "SELECT key, version FROM experiment ORDER BY id"


class Meter:
    """One route's."""

    def __init__(self, route: str, requests: Counter, seconds: Histogram | None) -> None:
        self._route = route
        self._requests = requests
        self._by_status: dict[int, Counter] = {}
        self._seconds = seconds

    def count(self, status: int, seconds: float) -> None:
        """A request has been answered."""
        counter = self._by_status.get(status)
        if counter is None:
            counter = self._by_status[status] = self._requests.labels(self._route, str(status))
        counter.inc()
        if self._seconds is not None:
            self._seconds.observe(seconds)


class Metrics:
    """All of them, in a registry of their own."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._registry = CollectorRegistry()
        self._present = _Present(store, clock)
        self._requests = Counter(
            "turncoat_requests", "Requests answered.", ["route", "status"], registry=self._registry
        )
        self._seconds = Histogram(
            "turncoat_request_seconds",
            "From a request's headers to its answer.",
            ["route"],
            buckets=SECONDS,
            registry=self._registry,
        )
        self._batches = Histogram(
            "turncoat_batch_errands", "Errands in one transaction.", buckets=SIZES, registry=self._registry
        )
        self._decisions = Counter(
            "turncoat_decisions",
            "Decisions answered. One asked for again (idempotency key, sticky) counts again.",
            ["stream", "reason"],
            registry=self._registry,
        )
        self._rewards = Counter("turncoat_rewards", "Rewards answered.", ["status"], registry=self._registry)
        self._refused = Counter(
            "turncoat_errands_refused", "Decisions and rewards refused.", ["status"], registry=self._registry
        )

    def route(self, name: str, *, timed: bool = False) -> Meter:
        """The meter of a route; `timed` if how long it takes is of interest."""
        return Meter(name, self._requests, self._seconds.labels(name) if timed else None)

    def served(self, answers: Sequence[Done | Exception]) -> None:
        """A batch has been answered."""
        self._batches.observe(len(answers))
        decisions: Tally[tuple[str, str]] = Tally()
        rewards: Tally[str] = Tally()
        for one in answers:
            if isinstance(one, words.Decided):
                decisions[one.stream, one.reason] += 1
            elif isinstance(one, words.Receipt):
                rewards[one.status] += 1
            else:
                self._refused.labels(str(getattr(one, "status", 500))).inc()
        for labels, n in decisions.items():
            self._decisions.labels(*labels).inc(n)
        for status, n in rewards.items():
            self._rewards.labels(status).inc(n)

    def text(self) -> bytes:
        """In Prometheus' own format. Reads the store, so not on the event loop."""
        if SHARED in os.environ:
            everyone = CollectorRegistry()
            MultiProcessCollector(everyone)  # type: ignore[no-untyped-call]
            return generate_latest(everyone) + generate_latest(_only(self._present))
        return generate_latest(self._registry) + generate_latest(_only(self._present))


class _Present(Collector):
    """How things stand in the store."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def collect(self) -> Iterable[Metric]:
        with self._store.reading() as session:
            ((rows, oldest),) = session.rows(WAITING)
            versions = session.rows(VERSIONS)
        lag = 0.0 if oldest is None else max(0.0, self._clock.now() - oldest)
        yield GaugeMetricFamily("turncoat_applier_lag_rows", "Rewards waiting to be applied.", rows)
        yield GaugeMetricFamily("turncoat_applier_lag_seconds", "How long the oldest of them has waited.", lag)
        yield GaugeMetricFamily("turncoat_store_bytes", "Size of the store.", self._store.size())
        version = GaugeMetricFamily("turncoat_state_version", "An experiment's version.", labels=["experiment"])
        for key, number in versions:
            version.add_metric([key], number)
        yield version


def _only(collector: Collector) -> CollectorRegistry:
    registry = CollectorRegistry()
    registry.register(collector)
    return registry
