"""The fast path of the two hot routes, decide and reward: from the HTTP parser to the engine thread, without ASGI.

ASGI costs a task, an event and a dozen calls for each request: more than drawing an arm and recording it. A request
whose body has a stated length goes the fast path: its command is queued when its last byte is there, and its response
is written when the engine thread's batch is settled. All others, and requests that must wait for something before they
can be queued, go the way of all routes; both ways use the same endpoint, so they say the same.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from http import HTTPStatus
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from turncoat.service.errors import Problem, TooSlow
from turncoat.service.http import limits, responses
from turncoat.service.http.request_ids import CURRENT, Identity
from turncoat.service.http.responses import Header, Response, StreamingResponse

if TYPE_CHECKING:
    from turncoat.service.http.app import Endpoint
    from turncoat.service.http.protocol import LimitedProtocol
    from turncoat.service.http.route import Call
    from turncoat.service.messages import Command, Result

log = logging.getLogger("turncoat.http")


FastCommand = Callable[["Call"], "Command | None"]  # what to queue for a call; None if it has to wait
FastAnswer = Callable[["Result"], Any]  # what to send for its result


class FastRoute(NamedTuple):
    """A hot route."""

    endpoint: Endpoint
    command: FastCommand
    answer: FastAnswer


class FastRoutes:
    """The hot routes by their paths."""

    def __init__(self, *decide_and_reward: FastRoute) -> None:
        self._decide, self._reward = decide_and_reward

    def find(self, url: bytes) -> tuple[FastRoute, dict[str, str]] | None:
        """The route of a POST to this address, and the parameters in its path. Escaped addresses go the other way."""
        if b"%" in url or not url.isascii():
            return None
        match url.decode("ascii").split("/"):
            case ["", "v1", "experiments", key, "decisions"] if key:
                return self._decide, {"key": key}
            case ["", "v1", "decisions", decision_id, "reward"] if decision_id:
                return self._reward, {"decision_id": decision_id}
        return None


class _Unneeded:
    """Takes the place of the event that wakes an ASGI application."""

    def set(self) -> None:
        """Nothing waits."""


_UNNEEDED = _Unneeded()


class FastExchange:
    """One request and its response. It is in the place of uvicorn's cycle, whose fields it has.

    It is given to the engine thread in the place of a future.
    """

    __slots__ = (
        "_began",
        "_headers",
        "_identity",
        "_params",
        "_protocol",
        "_route",
        "_timer",
        "body",
        "disconnected",
        "keep_alive",
        "message_event",
        "more_body",
        "response_complete",
    )

    def __init__(
        self,
        protocol: LimitedProtocol,
        found: tuple[FastRoute, dict[str, str]],
        headers: Mapping[bytes, bytes],
        *,
        keep_alive: bool,
    ) -> None:
        self._protocol = protocol
        self._route, self._params = found
        self._headers = headers
        self._identity = Identity(headers)
        self._began = perf_counter()
        self._timer: asyncio.TimerHandle | None = None
        self.keep_alive = keep_alive
        self.body, self.more_body = b"", True
        self.response_complete = self.disconnected = False
        self.message_event = _UNNEEDED

    # --- the request ---

    def wait_for_body(self) -> None:
        """The data at hand has ended, and the request has not."""
        if self._timer is None and self.more_body:
            self._timer = self._protocol.loop.call_later(limits.BODY_SECONDS, self._too_slow)

    def _too_slow(self) -> None:
        self.keep_alive = False
        self._refuse(TooSlow(f"the body was not complete after {limits.BODY_SECONDS:g} seconds"))

    def complete(self) -> None:
        """The last byte is there: queue the command."""
        if self.response_complete:
            return
        self.more_body = False
        if self._timer is not None:
            self._timer.cancel()
        endpoint = self._route.endpoint
        try:
            call = endpoint.read(self.body, self._params, self._headers)
            command = self._route.command(call)
            if command is None:
                task = self._protocol.loop.create_task(self._answer_later(call))
                self._protocol.tasks.add(task)
                task.add_done_callback(self._protocol.tasks.discard)
            else:
                endpoint.submit(command, self)
        except Problem as problem:
            self._refuse(problem)
        except Exception:
            self._fail()

    async def _answer_later(self, call: Call) -> None:
        CURRENT.set(self._identity)
        try:
            self._respond(await self._route.endpoint.answer(call))
        except Problem as problem:
            self._refuse(problem)
        except Exception:
            self._fail()

    # --- the response ---

    def done(self) -> bool:
        """Whether no result is waited for: the caller has disconnected."""
        return self.disconnected or self.response_complete

    def set_result(self, result: Any) -> None:
        """Send the response. Called on the event loop."""
        try:
            content = self._route.answer(result)
            self._respond(self._route.endpoint.response(content))
        except Problem as problem:
            self._refuse(problem)
        except Exception:
            self._fail()

    def _refuse(self, problem: Problem) -> None:
        CURRENT.set(self._identity)
        self._respond(self._route.endpoint.refuse(problem, self._params))

    def _fail(self) -> None:
        CURRENT.set(self._identity)
        log.exception("a mistake while answering %s", self._route.endpoint.route.path)
        self._respond(responses.internal_error())

    def _respond(self, response: Response | StreamingResponse) -> None:
        assert isinstance(response, Response)  # neither route streams
        protocol = self._protocol
        self.response_complete = True
        if self._route.endpoint.is_logged:
            CURRENT.set(self._identity)
        self._route.endpoint.count(response.status, perf_counter() - self._began)
        if protocol.transport.is_closing():
            return
        closes = not self.keep_alive or responses.CLOSE in response.headers
        more = _lines(response.headers) if response.headers else b""
        if closes and responses.CLOSE not in response.headers:
            more += _lines([responses.CLOSE])
        start, dated = _start(response.status, response.media), self._dated()
        ours = (start, len(response.body), dated, *self._identity.header, more, response.body)
        protocol.transport.write(b"%s%d\r\n%s%s: %s\r\n%s\r\n%s" % ours)
        if closes and self.more_body:
            protocol.linger()
        elif closes:
            protocol.transport.close()
        protocol.on_response_complete()

    def _dated(self) -> bytes:
        """uvicorn's own headers, which it makes anew each second."""
        headers, endpoint = self._protocol.server_state.default_headers, self._route.endpoint
        if endpoint.dated[0] is not headers:
            endpoint.dated = headers, _lines(headers)
        return endpoint.dated[1]


def _lines(headers: Sequence[Header]) -> bytes:
    return b"".join(b"%s: %s\r\n" % one for one in headers)


@cache
def _start(status: int, media: bytes) -> bytes:
    """Status line and headers, as far as they are the same for all responses of a kind; ends in the length's name."""
    phrase = HTTPStatus(status).phrase.encode()
    return b"HTTP/1.1 %d %s\r\n%scontent-length: " % (status, phrase, _lines(responses.named(media)))
