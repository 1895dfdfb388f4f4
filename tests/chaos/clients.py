"""Clients of the service under chaos: they decide, reward, repeat themselves, contradict themselves and come late.

Every decision has an idempotency key. What fails is tried again, the same, until it is answered; so in the end
everything that was asked for must be there exactly once. Three experiments:

    hot      the first reward counts, within a day; control, holdout and a floor; arms are paused, added and retired
    brief    windows of a second with a default reward: rewards race with it; deferred and sticky decisions
    mean     the mean of several rewards, after a second and a half; no default
"""

from __future__ import annotations

import heapq
import json
import random
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from tests.chaos.memory import Asked, Changed, Memory, Told
from tests.chaos.wire import Answer, Line, Lost, Refused

BRIEF, DEFAULT = 1.0, 0.25
EXPERIMENTS: tuple[dict[str, Any], ...] = (
    {
        "key": "hot",
        "arms": ["a", "b", "c", "d"],
        "control": {"arm": "a", "share": 0.1},
        "holdout_share": 0.05,
        "floors": {"b": 0.05},
    },
    {"key": "brief", "arms": ["x", "y"], "reward_window_s": BRIEF, "default_reward": DEFAULT},
    {"key": "mean", "arms": ["p", "q", "r"], "reward_window_s": 1.5, "reward": {"aggregation": "mean"}},
)
AGAIN, OTHERWISE, POSTED = 0.10, 0.05, 0.05  # shares of rewards told twice, told differently, told by others too
GIVE_UP = 120.0  # seconds for one answer, all attempts together
PAUSE = 0.02  # between attempts
PACE = 0.02  # seconds from one step of a client to its next, at least


class NeverAnswered(Exception):
    """The service did not come back."""


class Client(threading.Thread):
    """One client, from its own seed. `board` is where clients leave decisions for one another to reward."""

    _limits: ClassVar[dict[str, Any]] = {}  # what it says besides when it asks for `hot`

    def __init__(self, name: str, seed: int, port: int, ending: threading.Event, board: deque[str]) -> None:
        super().__init__(name=name, daemon=True)
        self.memory = Memory()
        self._random = random.Random(seed)
        self._line = Line(port)
        self._ending = ending
        self._board = board
        self._later: list[tuple[float, int, Callable[[], None]]] = []
        self._n = 0

    def run(self) -> None:
        """Until told to stop; then finish what was put off."""
        began = 0.0
        try:
            while not self._ending.wait(max(began + PACE - time.time(), 0.0)):
                began = time.time()
                self._put_off_no_longer()
                self._step()
            while self._later:
                time.sleep(max(self._later[0][0] - time.time(), 0.0))
                self._put_off_no_longer()
        except NeverAnswered:
            self.memory.wrong.append(f"{self.name}: no answer for {GIVE_UP:g} s, all attempts together")
        except Exception as unforeseen:
            self.memory.wrong.append(f"{self.name}: {unforeseen!r}")
        finally:
            self._line.close()

    def _step(self) -> None:
        if self._board and self._random.random() < POSTED:
            try:
                self._tell(self._board.pop(), self._random.random())
            except IndexError:
                return  # another client took it
        else:
            (kind,) = self._random.choices((self._hot, self._first_rewarded, self._brief, self._mean), (80, 4, 12, 4))
            kind()

    # --- rounds ---

    def _hot(self) -> None:
        ask: dict[str, Any] = {}
        if self._random.random() < 0.3:
            ask["unit_id"] = f"unit {self._random.randrange(1000)}"
        decision = self._decide("hot", ask | self._limits)
        if self._random.random() < POSTED:
            self._board.append(decision)
        if self._random.random() < 0.95:
            self._reward(decision)

    def _first_rewarded(self) -> None:
        """The reward comes before its decision."""
        decision = str(uuid.UUID(int=self._random.getrandbits(128), version=4))
        self._tell(decision, self._random.random())
        self._decide("hot", {"decision_id": decision})

    def _brief(self) -> None:
        ask: dict[str, Any] = {"deferred": True} if self._random.random() < 0.2 else {}
        if self._random.random() < 0.1:
            ask |= {"unit_id": f"unit {self._random.randrange(20)}", "sticky": True}
        decision = self._decide("brief", ask)
        if ask.get("deferred") and self._random.random() < 0.6:
            self._activate(decision)
        lot = self._random.random()
        if lot < 0.3:
            self._reward(decision)
        elif lot < 0.6:  # about when the window ends
            self._put_off(BRIEF + self._random.gauss(0.0, 0.03), lambda: self._reward(decision))
        elif lot < 0.8:
            self._put_off(BRIEF + 0.5, lambda: self._reward(decision))

    def _mean(self) -> None:
        decision = self._decide("mean", {})
        for part in range(self._random.randrange(4)):
            self._reward(decision, f"part {part}")

    def _reward(self, decision: str, reward_id: str | None = None) -> None:
        value = self._random.random()
        self._tell(decision, value, reward_id)
        if self._random.random() < AGAIN:
            self._tell(decision, value, reward_id)
        if self._random.random() < OTHERWISE:
            self._tell(decision, self._random.random(), reward_id)

    def _put_off(self, seconds: float, what: Callable[[], None]) -> None:
        self._n += 1
        heapq.heappush(self._later, (time.time() + seconds, self._n, what))

    def _put_off_no_longer(self) -> None:
        while self._later and self._later[0][0] <= time.time():
            heapq.heappop(self._later)[2]()

    # --- requests ---

    def _decide(self, experiment: str, ask: dict[str, Any]) -> str:
        self._n += 1
        asked = Asked(experiment, f"{self.name}/{self._n}", json.dumps(ask).encode())
        answer = self._asked(asked)
        if answer.status != 201:
            raise AssertionError(f"decide was answered {answer.status}: {answer.body!r}")
        asked.answer = answer.body
        self.memory.asked.append(asked)
        if self._random.random() < AGAIN and self._asked(asked).body != asked.answer:
            self.memory.wrong.append(f"{asked.key}: the same key and body got another answer")
        decision: str = asked.decided()["decision_id"]
        return decision

    def _asked(self, asked: Asked) -> Answer:
        again = bool(asked.answer)
        note = Asked(asked.experiment, asked.key, asked.body) if again else asked
        path = f"/v1/experiments/{asked.experiment}/decisions"
        return self._insist(note, lambda: self._line.send("POST", path, asked.body, Idempotency_Key=asked.key))

    def _tell(self, decision: str, value: float, reward_id: str | None = None) -> None:
        told = Told(decision, value, reward_id, first_sent=time.time())
        said = {"value": value} | ({"reward_id": reward_id} if reward_id else {})
        body = json.dumps(said).encode()
        answer = self._insist(told, lambda: self._line.send("POST", f"/v1/decisions/{decision}/reward", body))
        if answer.status != 202:
            raise AssertionError(f"reward was answered {answer.status}: {answer.body!r}")
        told.status = json.loads(answer.body)["status"]
        self.memory.told.append(told)

    def _activate(self, decision: str) -> None:
        note = Asked("", "", b"")
        answer = self._insist(note, lambda: self._line.send("POST", f"/v1/decisions/{decision}/activate"))
        if answer.status != 200:
            raise AssertionError(f"activate was answered {answer.status}: {answer.body!r}")
        self.memory.activated.add(decision)

    def _insist(self, note: Asked | Told | Changed, send: Callable[[], Answer]) -> Answer:
        """Send until it is answered; count the attempts whose outcome is unknown."""
        end = time.time() + GIVE_UP
        while time.time() < end:
            note.sent = time.time()
            try:
                answer = send()
                if answer.status != 503:
                    note.answered = time.time()
                    return answer
                note.unknown += 1
            except Lost:
                note.unknown += 1
            except Refused:
                pass
            time.sleep(PAUSE)
        raise NeverAnswered


class Choosy(Client):
    """One who can use only some arms of `hot`: the learner itself is asked each time."""

    _limits: ClassVar[dict[str, Any]] = {"allowed_arms": ["a", "b"]}


class ArmChanger(Client):
    """The one who changes arms of `hot` meanwhile."""

    def _step(self) -> None:
        self._ending.wait(0.25)
        self._n += 1
        if self._n % 8 == 0 and self._n <= 8 * 20:
            self._change("add arm", "POST", "arms", {"arm": f"new {self._n}"})
        elif self._n % 8 == 4 and 8 < self._n <= 8 * 20:
            self._change("change arm", "PATCH", f"arms/new%20{self._n - 4}", {"state": "retired"})
        else:
            state = self._random.choice(["paused", "active"])
            self._change("change arm", "PATCH", "arms/d", {"state": state, "floor": 0.01})

    def _change(self, action: str, method: str, where: str, change: dict[str, Any]) -> None:
        changed = self.memory.changed.setdefault(action, Changed(action))
        body = json.dumps(change).encode()
        answer = self._insist(changed, lambda: self._line.send(method, f"/v1/experiments/hot/{where}", body))
        if answer.status in (200, 201):
            changed.made += 1
        elif answer.status != 409 or not changed.unknown:  # an arm added by an attempt that was not answered
            raise AssertionError(f"{action} was answered {answer.status}: {answer.body!r}")


def crowd(n: int, ports: Sequence[int], seed: int, ending: threading.Event) -> list[Client]:
    """So many clients, not started, one of which changes arms, and two, at two ports, are choosy."""
    board: deque[str] = deque(maxlen=100)
    seeds = random.Random(seed)
    kinds: list[type[Client]] = [ArmChanger, Choosy, Choosy, *[Client] * (n - 3)]
    return [
        kind(f"{kind.__name__.lower()}-{i}", seeds.getrandbits(64), ports[i % len(ports)], ending, board)
        for i, kind in enumerate(kinds)
    ]


def open_experiments(port: int) -> None:
    """Before the clients begin."""
    line = Line(port)
    for experiment in EXPERIMENTS:
        answer = line.send("POST", "/v1/experiments", json.dumps(experiment).encode())
        if answer.status != 201:
            raise RuntimeError(f"opening {experiment['key']!r} was answered {answer.status}: {answer.body!r}")
    line.close()
