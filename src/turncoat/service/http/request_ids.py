"""Request ids and W3C trace context: what the lines of the log and the answers of one request have in common.

`X-Request-ID` is taken from the caller if it is valid, and made if it is not; it is in the answer, in problem
bodies and in the log. `traceparent` (https://www.w3.org/TR/trace-context/) is parsed strictly and only logged: the
standard has no header for answers, and the service sends no requests. It is parsed when a line is written.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextvars import ContextVar
from itertools import count

LONGEST = 128
SANE = re.compile(rb"[A-Za-z0-9._:/+=-]{1,%d}" % LONGEST).fullmatch
TRACEPARENT = re.compile(
    rb"(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}(-.*)?"
).fullmatch
HEADER = b"x-request-id"

_process, _numbers = os.urandom(8).hex().encode(), count(1)  # an id costs a count, not random bytes


class Identity:
    """The identity of a request. `header`: the header of its answer."""

    __slots__ = ("_headers", "header")

    def __init__(self, headers: Mapping[bytes, bytes]) -> None:
        given = headers.get(HEADER)
        if given is None or not SANE(given):
            given = b"%b-%x" % (_process, next(_numbers))
        self.header = (HEADER, given)
        self._headers = headers

    @property
    def request_id(self) -> str:
        """The id as text."""
        return self.header[1].decode("ascii")

    def fields(self) -> dict[str, str]:
        """The fields of a log line."""
        said = {"request_id": self.request_id}
        if trace := parse_traceparent(self._headers.get(b"traceparent", b"")):
            said["trace_id"], said["span_id"] = trace
        return said


CURRENT: ContextVar[Identity | None] = ContextVar("request", default=None)


def parse_traceparent(said: bytes) -> tuple[str, str] | None:
    """Trace id and the caller's span id; None if the standard says to ignore the header."""
    found = TRACEPARENT(said)
    if found is None or (
        found[1] == b"00" and found[4] is not None
    ):  # later versions may add parts, the first has none
        return None
    return found[2].decode(), found[3].decode()
