"""Prometheus metrics: counters of what this service answered, and gauges of the inbox read from the store on request.

With several workers the counters live in shared files (Prometheus' multiprocess mode, PROMETHEUS_MULTIPROC_DIR, set by
`server`), so that every worker reports the sums of all.
"""

from __future__ import annotations

import os
from collections import Counter as Tally
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from typing import Any, get_args

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest, values
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from turncoat.service import messages
from turncoat.service.clock import Clock
from turncoat.service.experiments.damage import read_damage
from turncoat.service.messages import Result
from turncoat.service.store import Store

SHARED = "PROMETHEUS_MULTIPROC_DIR"
SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
MINUTE = 60.0
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)

WAITING = "SELECT COUNT(*), MIN(received_at) FROM inbox WHERE experiment IS NOT NULL"
VERSIONS = "SELECT key, version FROM experiment ORDER BY id"
PARTS = get_args(messages.DamagedPart)


class Recent:
    """Times and durations of the latest requests of a route."""

    def __init__(self) -> None:
        self._latest: deque[tuple[float, float]] = deque(maxlen=2000)
        self.add = self._latest.append

    def figures(self, now: float) -> tuple[float, float | None, float | None]:
        """Over the last minute: requests per second, median and 99th percentile of their durations."""
        latest = [one for one in list(self._latest) if one[0] > now - MINUTE]
        if not latest:
            return 0.0, None, None
        whole = len(latest) == self._latest.maxlen  # the deque is full
        took = sorted(seconds for _, seconds in latest)
        rate = len(latest) / (max(now - latest[0][0], 1e-3) if whole else MINUTE)
        return rate, took[len(took) // 2], took[min(len(took) * 99 // 100, len(took) - 1)]


@dataclass
class Meter:
    """The counts of one route. They are buffered here and flushed to Prometheus' slower counters now and then."""

    _route: str
    _requests: Counter
    _seconds: Histogram | None
    _recent: Recent | None
    _by_status: Tally[int] = field(default_factory=Tally)

    def count(self, status: int, seconds: float) -> None:
        """Count a request."""
        self._by_status[status] += 1
        if self._seconds is not None:
            self._seconds.observe(seconds)
        if self._recent is not None and status < 300:
            self._recent.add((monotonic(), seconds))

    def hand_over(self) -> None:
        """Flush the buffer. Called on the event loop, as `count` is."""
        for status, n in self._by_status.items():
            self._requests.labels(self._route, str(status)).inc(n)
        self._by_status.clear()


class Metrics:
    """All metrics, in their own registry."""

    def __init__(self, store: Store, clock: Clock) -> None:
        if SHARED in os.environ:
            me = os.getpid()  # once: by default every increment calls getpid
            values.ValueClass = values.MultiProcessValue(lambda: me)  # type: ignore[no-untyped-call]
        self._counters, self._gauges = CollectorRegistry(), CollectorRegistry()
        self._present = _Present(store, clock)
        self._gauges.register(self._present)
        self._recent = {"decide": Recent(), "reward": Recent()}
        self._meters: list[Meter] = []
        counter = partial(Counter, registry=self._counters)
        histogram = partial(Histogram, registry=self._counters)
        self._requests = counter("turncoat_requests", "Requests answered.", ["route", "status"])
        waited = "From a request's headers to its answer."
        self._seconds = histogram("turncoat_request_seconds", waited, ["route"], buckets=SECONDS)
        self._batches = histogram("turncoat_batch_commands", "Commands in one transaction.", buckets=SIZES)
        answered = "Decisions answered. One asked for again (idempotency key, sticky) counts again."
        self._decisions = counter("turncoat_decisions", answered, ["stream", "reason"])
        self._rewards = counter("turncoat_rewards", "Rewards answered.", ["status"])
        self._refused = counter("turncoat_commands_refused", "Decisions and rewards refused.", ["status"])
        self._limited = counter("turncoat_rate_limited", "Requests refused by a key's rate, by the key's id.", ["key"])

    def route(self, name: str, *, timed: bool = False) -> Meter:
        """The meter of a route; `timed`: with a histogram of durations."""
        seconds = self._seconds.labels(name) if timed else None
        self._meters.append(Meter(name, self._requests, seconds, self._recent.get(name)))
        return self._meters[-1]

    def hand_over(self) -> None:
        """Flush all meters. Called on the event loop."""
        for meter in self._meters:
            meter.hand_over()

    def rate_limited(self, number: str) -> None:
        """A request was refused because its key's rate is used up."""
        self._limited.labels(number).inc()

    def served(self, answers: Sequence[Result | Exception]) -> None:
        """A batch has been answered."""
        self._batches.observe(len(answers))
        tally: Tally[tuple[Counter, tuple[str, ...]]] = Tally()
        for one in answers:
            if isinstance(one, messages.Decided):
                tally[self._decisions, (one.stream, one.reason)] += 1
            elif isinstance(one, messages.Receipt):
                tally[self._rewards, (one.status,)] += 1
            else:
                tally[self._refused, (str(getattr(one, "status", 500)),)] += 1
        for (counter, labels), n in tally.items():
            counter.labels(*labels).inc(n)

    def gauges(self) -> dict[str, Any]:
        """Gauges for the dashboard's system page: this worker's last minute, and the inbox."""
        now = monotonic()
        found: dict[str, Any] = {}
        for route, many in (("decide", "decisions_per_second"), ("reward", "rewards_per_second")):
            found[many], found[f"{route}_p50_seconds"], found[f"{route}_p99_seconds"] = self._recent[route].figures(now)
        found["lag_rewards"], found["lag_seconds"] = self._present.waiting()
        return found

    def text(self) -> bytes:
        """In Prometheus' text format. It reads the store, so not on the event loop."""
        counters = self._counters
        if SHARED in os.environ:
            counters = CollectorRegistry()
            MultiProcessCollector(counters)  # type: ignore[no-untyped-call]
        return generate_latest(counters) + generate_latest(self._gauges)


class _Present(Collector):
    """Gauges read from the store."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def waiting(self) -> tuple[int, float]:
        """The number of rewards in the inbox, and the age of the oldest in seconds."""
        with self._store.reading() as session:
            ((rows, oldest),) = session.rows(WAITING)
        return rows, 0.0 if oldest is None else max(0.0, self._clock.now() - oldest)

    def collect(self) -> Iterable[Metric]:
        rows, lag = self.waiting()
        with self._store.reading() as session:
            versions = session.rows(VERSIONS)
            damaged = Tally(one.part for one in read_damage(session).values())
        yield GaugeMetricFamily("turncoat_applier_lag_rows", "Rewards waiting to be applied.", rows)
        yield GaugeMetricFamily("turncoat_applier_lag_seconds", "How long the oldest of them has waited.", lag)
        yield GaugeMetricFamily("turncoat_store_bytes", "Size of the store.", self._store.size())
        damage = GaugeMetricFamily("turncoat_damaged_experiments", "Experiments that are damaged.", labels=["part"])
        for part in PARTS:
            damage.add_metric([part], damaged[part])
        yield damage
        version = GaugeMetricFamily("turncoat_state_version", "An experiment's version.", labels=["experiment"])
        for key, number in versions:
            version.add_metric([key], number)
        yield version
