"""One line of the table of routes, and what a handler is given."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from turncoat.service.api_keys import Holder, Scope
from turncoat.service.errors import Malformed, Problem, Unprocessable
from turncoat.service.http import limits
from turncoat.service.http.responses import Reply, refusal

if TYPE_CHECKING:
    from turncoat.service.http.context import Office


class Call:
    """A request, checked."""

    __slots__ = ("body", "headers", "holder", "params", "query")

    def __init__(
        self, body: Any, params: Mapping[str, str], headers: Mapping[bytes, bytes], query: bytes, holder: Holder
    ) -> None:
        self.body = body
        self.params = params
        self.headers = headers
        self.query = query
        self.holder = holder

    def header(self, name: str) -> str | None:
        """A header's value: printable ASCII, or refused."""
        value = self.headers.get(name.lower().encode())
        if value is None:
            return None
        if not value.isascii() or not value.decode("ascii").isprintable():
            raise Malformed(f"the header {name} has other characters than printable ASCII", field=name)
        return value.decode("ascii")

    def numbers(self, **known: tuple[int, int, int]) -> dict[str, int]:
        """The numbers of the query, each known with (default, least, most); others are refused."""
        found = {name: default for name, (default, _, _) in known.items()}
        for name, value in parse_qsl(self.query.decode("latin-1"), keep_blank_values=True):
            if name not in known:
                accepted = ", ".join(known) or "none"
                raise Unprocessable(f"there is no parameter {name!r}; accepted are {accepted}", field=name)
            _, least, most = known[name]
            if not (value.isascii() and value.isdigit() and len(value) < 10 and least <= int(value) <= most):
                accepted = f"a whole number from {least} to {most}"
                raise Unprocessable(f"{name} is {value!r}; accepted is {accepted}", field=name, accepted=accepted)
            found[name] = int(value)
        return found


Handler = Callable[["Office", Call], Awaitable[Any]]


def _refusal(problem: Problem, params: Mapping[str, str]) -> Reply:
    return refusal(problem)


@dataclass(frozen=True)
class Row:
    """A route. `scope` None: open to everyone. `takes`: the message in the body, or bytes for lines of `each`."""

    method: str
    path: str
    scope: Scope | None
    handler: Handler
    takes: Any = None
    each: Any = None
    gives: Any = None
    status: int = 200
    other_status: int | None = None  # when there is an answer and nothing was created
    limit: int = limits.BODY
    headers: tuple[str, ...] = ()
    query: tuple[str, ...] = ()
    group: str = "experiments"
    refuses: Callable[[Problem, Mapping[str, str]], Reply] = _refusal

    @property
    def name(self) -> str:
        """What it is called: the handler's name."""
        return str(getattr(self.handler, "__name__", ""))

    @property
    def says(self) -> str:
        """What it does, in a line: the handler's docstring."""
        return (self.handler.__doc__ or "").partition("\n")[0]
