"""`python -m benchmarks.load JOB`: asks a service on this machine for decisions and rewards them, as lightly as it can.

A process of its own, raw sockets kept alive, requests made up beforehand, answers searched for the two things needed:
the decision's id and its arm. JOB is JSON as in `Job`; what was found is printed as JSON, as in `Found`.

Closed loop (`rate` 0): every connection decides, rewards and begins again at once; as fast as the service lets it.
Open loop: `rate` rounds per second begin at times fixed beforehand, whatever the service does, and latency counts from
these times: a service that stops for a second is charged for all who would have come meanwhile.
"""

from __future__ import annotations

import dataclasses
import json
import random
import select
import socket
import sys
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

MEANS = {b"a": 0.3, b"b": 0.5, b"c": 0.6, b"d": 0.4}  # of the rewards of each arm
OPEN = {"key": "hot", "arms": [arm.decode() for arm in MEANS]}
SPREAD = 0.003  # seconds between connections, so that workers behind one port share them
ID, ARM = b'"decision_id":"', b'"arm":"'


@dataclass(frozen=True)
class Job:
    """What to do. `ports`: connections are shared out among them."""

    ports: Sequence[int]
    seconds: float
    warm: float = 1.0  # seconds before that, which do not count
    connections: int = 192
    rate: float = 0.0
    keyed: bool = False  # an Idempotency-Key with every decision


@dataclass
class Found:
    """What came of it. Times are in milliseconds."""

    seconds: float = 0.0
    rounds: int = 0
    failed: int = 0
    cpu: float = 0.0  # cores that this process used
    service_cpu: float = float("nan")  # and those it asked
    late: list[float] = field(default_factory=list)  # how long after its time each round was sent
    decide: list[float] = field(default_factory=list)
    reward: list[float] = field(default_factory=list)


def quantile(times: Sequence[float], q: float) -> float:
    """NaN where there are none."""
    return sorted(times)[min(int(len(times) * q), len(times) - 1)] if times else float("nan")


def post(port: int, path: bytes, body: bytes, more: bytes = b"") -> bytes:
    """A request's bytes."""
    head = b"POST %s HTTP/1.1\r\nHost: localhost:%d\r\nContent-Type: application/json\r\n" % (path, port)
    return head + more + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


class Connection:
    """One caller, who has at most one request under way."""

    def __init__(self, port: int, keyed: bool) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        time.sleep(SPREAD)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.fileno = self.socket.fileno
        self._keyed = keyed
        self._decide = post(
            port, b"/v1/experiments/hot/decisions", b"{}", b"Idempotency-Key: KEY\r\n" if keyed else b""
        )
        self._reward = [post(port, b"/v1/decisions/ID/reward", b'{"value":%d}' % value) for value in (0, 1)]
        self._data = b""
        self.decides = True  # or it rewards
        self.since = 0.0  # when what is under way was due

    def decide(self, since: float) -> None:
        """Ask."""
        self.decides, self.since = True, since
        request = self._decide
        if self._keyed:
            request = request.replace(b"KEY", b"%032x" % random.getrandbits(128))
        self.socket.sendall(request)

    def reward(self, answer: bytes, now: float) -> None:
        """Tell how the decision that was answered turned out."""
        self.decides, self.since = False, now
        at, arm = answer.index(ID) + len(ID), answer.index(ARM) + len(ARM)
        value = random.random() < MEANS[answer[arm : arm + 1]]
        self.socket.sendall(self._reward[value].replace(b"ID", answer[at : at + 36]))

    def answer(self) -> bytes | None:
        """All of the answer, head included; None while some is missing."""
        more = self.socket.recv(65536)
        if not more:
            raise ConnectionError("the service has closed a connection")
        data = self._data + more
        head = data.find(b"\r\n\r\n")
        if head >= 0:
            at = data.index(b"content-length: ") + 16
            if len(data) >= head + 4 + int(data[at : data.index(b"\r", at)]):
                self._data = b""
                return data
        self._data = data
        return None


class Load:
    """The loop."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._all = [Connection(job.ports[i % len(job.ports)], job.keyed) for i in range(job.connections)]
        self._found = Found()
        self._counts = False

    def run(self) -> Found:
        """Warm up, then count."""
        began = time.perf_counter()
        loop = self._paced if self._job.rate else self._closed
        used = loop(began, began + self._job.warm, began + self._job.warm + self._job.seconds)
        self._found.cpu = used / self._job.seconds
        self._found.seconds = self._job.seconds
        return self._found

    def _closed(self, began: float, counted: float, end: float) -> float:
        waiting = select.epoll()
        by_number = {connection.fileno(): connection for connection in self._all}
        for number, connection in by_number.items():
            waiting.register(number, select.EPOLLIN)
            connection.decide(began)
        used = 0.0
        while (now := time.perf_counter()) < end:
            if not self._counts and now >= counted:
                self._counts, used = True, time.process_time()
            for number, _ in waiting.poll(0.1):
                connection = by_number[number]
                if self._answered(connection):
                    connection.decide(time.perf_counter())
        return time.process_time() - used

    def _paced(self, began: float, counted: float, end: float) -> float:
        """`select` rather than epoll: it can wait for less than a millisecond."""
        free, n, used = deque(self._all), 0, 0.0
        busy: set[Connection] = set()
        due = began
        while due < end or busy:
            now = time.perf_counter()
            if not self._counts and now >= counted:
                self._counts, used = True, time.process_time()
            while due <= now and due < end and free:
                connection = free.popleft()
                connection.decide(due)
                busy.add(connection)
                if self._counts:
                    self._found.late.append(1e3 * (time.perf_counter() - due))
                n += 1
                due = began + n / self._job.rate
            wait = max(due - time.perf_counter(), 0.0) if free and due < end else 0.1
            for connection in select.select(busy, [], [], wait)[0]:
                if self._answered(connection):
                    busy.discard(connection)
                    free.append(connection)
        return time.process_time() - used

    def _answered(self, connection: Connection) -> bool:
        """Take what has come; True when the connection's round is over."""
        answer = connection.answer()
        if answer is None:
            return False
        now = time.perf_counter()
        good = answer[9:12] == (b"201" if connection.decides else b"202")
        if self._counts:
            times = self._found.decide if connection.decides else self._found.reward
            times.append(1e3 * (now - connection.since))
            self._found.failed += not good
            self._found.rounds += good and not connection.decides
        if good and connection.decides:
            connection.reward(answer, now)
            return False
        return True


def main() -> None:
    """Do the job in the first argument."""
    print(json.dumps(dataclasses.asdict(Load(Job(**json.loads(sys.argv[1]))).run())))


if __name__ == "__main__":
    main()
