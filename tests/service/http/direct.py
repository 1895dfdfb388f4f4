"""Requests straight into the application, exactly as written: no client that tidies up paths or headers on the way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar
from urllib.parse import unquote

import msgspec

from turncoat.service.http.app import make_app
from turncoat.service.http.context import AppContext
from turncoat.service.store import Session

T = TypeVar("T")

JSON = {"content-type": "application/json"}


class Said(NamedTuple):
    """An answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        """Its body, read strictly: NaN would be refused."""
        return msgspec.json.decode(self.body)


class Direct:
    """An application without a server."""

    def __init__(self, context: AppContext, runner: asyncio.Runner) -> None:
        self.context = context
        self._runner = runner
        self._app = make_app(context)

    def ask(
        self,
        method: str,
        target: str,
        body: bytes | Sequence[bytes] = b"",
        headers: Mapping[str, str] | None = None,
        host: str | None = "localhost",
    ) -> Said:
        """Send a request; `target` is the path as it stands in the request line. Several bodies: chunks."""
        return self._runner.run(self.asked(method, target, body, headers, host))

    def post(self, target: str, message: Any, **headers: str) -> Said:
        """Send a message as JSON."""
        return self.ask("POST", target, msgspec.json.encode(message), {**JSON, **headers})

    def run(self, coroutine: Any) -> Any:
        """Do something on the event loop."""
        return self._runner.run(coroutine)

    def write(self, do: Callable[[Session], T]) -> T:
        """Change the store, in the thread that writes to it, and have the keys read again."""

        def done() -> T:
            with self.context.store.transaction() as session:
                return do(session)

        made: T = self._runner.run(self.context.engine_thread.run(done))
        self.context.ring.refresh()
        return made

    def work(self) -> None:
        """Apply all that waits."""
        while self._runner.run(self.context.engine_thread.run(self.context.engine.work)):
            pass

    async def asked(
        self,
        method: str,
        target: str,
        body: bytes | Sequence[bytes] = b"",
        headers: Mapping[str, str] | None = None,
        host: str | None = "localhost",
    ) -> Said:
        """The same, for use on the event loop."""
        chunks = [body] if isinstance(body, bytes) else list(body)
        given = {"host": host, **(headers or {})} if host is not None else dict(headers or {})
        if isinstance(body, bytes) and body:
            given.setdefault("content-length", str(len(body)))
        path, _, query = target.partition("?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": method,
            "path": unquote(path),
            "raw_path": path.encode("ascii"),
            "query_string": query.encode("ascii"),
            "root_path": "",
            "scheme": "http",
            "client": ("127.0.0.1", 50000),
            "server": ("127.0.0.1", 8000),
            "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in given.items()],
            "state": {},
        }
        waiting = [
            {"type": "http.request", "body": chunk, "more_body": number < len(chunks)}
            for number, chunk in enumerate(chunks, 1)
        ]
        sent: list[Any] = []

        async def receive() -> Any:
            return waiting.pop(0) if waiting else await asyncio.Event().wait()  # they stay, and say no more

        async def send(message: Any) -> None:
            sent.append(message)

        await self._app(scope, receive, send)
        start = sent[0]
        names = {name.decode(): value.decode("latin-1") for name, value in start["headers"]}
        return Said(start["status"], names, b"".join(part.get("body", b"") for part in sent[1:]))


@contextmanager
def direct(context: AppContext) -> Iterator[Direct]:
    """The application of this context, opened and closed."""
    with asyncio.Runner() as runner:
        asked = Direct(context, runner)
        runner.run(context.open())
        try:
            yield asked
        finally:
            runner.run(context.close())
