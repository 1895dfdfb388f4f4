"""What Prometheus is told. Counters count what this service answered; what waits is read from the store when asked.

With several workers the counters live in files that all of them share (PROMETHEUS_MULTIPROC_DIR, set by `server`), so
that whichever worker is asked tells of all.
"""

from __future__ import annotations

import os
from collections import Counter as Tally
from collections import deque
from collections.abc import Iterable, Sequence
from time import monotonic
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest, values
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from turncoat.service import messages
from turncoat.service.clock import Clock
from turncoat.service.errands import Done
from turncoat.service.store import Store

SHARED = "PROMETHEUS_MULTIPROC_DIR"
SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
MINUTE = 60.0
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)

WAITING = "SELECT COUNT(*), MIN(received_at) FROM inbox WHERE experiment IS NOT NULL"
VERSIONS = "SELECT key, version FROM experiment ORDER BY id"


class Recent:
    """How long the latest requests of a route took, and when they were."""

    def __init__(self) -> None:
        self._latest: deque[tuple[float, float]] = deque(maxlen=2000)
        self.add = self._latest.append

    def figures(self, now: float) -> tuple[float, float | None, float | None]:
        """Of the last minute: how many a second, their median, and what 99 % of them stayed below."""
        latest = [one for one in list(self._latest) if one[0] > now - MINUTE]
        if not latest:
            return 0.0, None, None
        whole = len(latest) == self._latest.maxlen  # more came than are remembered
        took = sorted(seconds for _, seconds in latest)
        rate = len(latest) / (max(now - latest[0][0], 1e-3) if whole else MINUTE)
        return rate, took[len(took) // 2], took[min(len(took) * 99 // 100, len(took) - 1)]


class Meter:
    """One route's. Requests are counted here, and handed over now and then: Prometheus' own counters take a while."""

    def __init__(self, route: str, requests: Counter, seconds: Histogram | None, recent: Recent | None) -> None:
        self._route = route
        self._requests = requests
        self._by_status: Tally[int] = Tally()
        self._seconds = seconds
        self._recent = recent

    def count(self, status: int, seconds: float) -> None:
        """A request has been answered."""
        self._by_status[status] += 1
        if self._seconds is not None:
            self._seconds.observe(seconds)
        if self._recent is not None and status < 300:
            self._recent.add((monotonic(), seconds))

    def hand_over(self) -> None:
        """Tell Prometheus. On the event loop, as `count` is."""
        for status, n in self._by_status.items():
            self._requests.labels(self._route, str(status)).inc(n)
        self._by_status.clear()


class Metrics:
    """All of them, in a registry of their own."""

    def __init__(self, store: Store, clock: Clock) -> None:
        if SHARED in os.environ:
            me = os.getpid()  # once: by itself it asks the system whenever it counts
            values.ValueClass = values.MultiProcessValue(lambda: me)  # type: ignore[no-untyped-call]
        self._registry = CollectorRegistry()
        self._present = _Present(store, clock)
        self._recent = {"decide": Recent(), "reward": Recent()}
        self._meters: list[Meter] = []
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
        seconds = self._seconds.labels(name) if timed else None
        self._meters.append(Meter(name, self._requests, seconds, self._recent.get(name)))
        return self._meters[-1]

    def hand_over(self) -> None:
        """What has been counted since the last time. On the event loop."""
        for meter in self._meters:
            meter.hand_over()

    def served(self, answers: Sequence[Done | Exception]) -> None:
        """A batch has been answered."""
        self._batches.observe(len(answers))
        decisions: Tally[tuple[str, str]] = Tally()
        rewards: Tally[str] = Tally()
        for one in answers:
            if isinstance(one, messages.Decided):
                decisions[one.stream, one.reason] += 1
            elif isinstance(one, messages.Receipt):
                rewards[one.status] += 1
            else:
                self._refused.labels(str(getattr(one, "status", 500))).inc()
        for labels, n in decisions.items():
            self._decisions.labels(*labels).inc(n)
        for status, n in rewards.items():
            self._rewards.labels(status).inc(n)

    def gauges(self) -> dict[str, Any]:
        """For the dashboard's page about the system: what this worker did in the last minute, and what waits."""
        now = monotonic()
        found: dict[str, Any] = {}
        for route, many in (("decide", "decisions_per_second"), ("reward", "rewards_per_second")):
            found[many], found[f"{route}_p50_seconds"], found[f"{route}_p99_seconds"] = self._recent[route].figures(now)
        found["lag_rewards"], found["lag_seconds"] = self._present.waiting()
        return found

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

    def waiting(self) -> tuple[int, float]:
        """Rewards to be applied, and how long the oldest has waited."""
        with self._store.reading() as session:
            ((rows, oldest),) = session.rows(WAITING)
        return rows, 0.0 if oldest is None else max(0.0, self._clock.now() - oldest)

    def collect(self) -> Iterable[Metric]:
        rows, lag = self.waiting()
        with self._store.reading() as session:
            versions = session.rows(VERSIONS)
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
