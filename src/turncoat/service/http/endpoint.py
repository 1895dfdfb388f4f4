"""A row of the table as an ASGI application: who asks, what they send, what they get, counted."""

from __future__ import annotations

import logging
from time import perf_counter
from typing import Any

from starlette.types import Receive, Scope, Send

from turncoat.service.api_keys import LOCAL
from turncoat.service.errors import Problem
from turncoat.service.http import responses
from turncoat.service.http.body import Decoder, Gone, read
from turncoat.service.http.context import Office
from turncoat.service.http.responses import Reply, Streamed
from turncoat.service.http.route import Call, Row

log = logging.getLogger("turncoat.http")
access = logging.getLogger("turncoat.access")


class Endpoint:
    """Answers one route."""

    def __init__(self, row: Row, office: Office) -> None:
        self.row = row
        self._office = office
        self._handler = row.handler
        self._decoder: Decoder[Any] | None = None
        if row.takes is not None:
            lines = row.takes is bytes
            self._decoder = Decoder(row.each if lines else row.takes, responses.LINES if lines else responses.JSON)
        self._meter = office.metrics.route(row.name, timed=row.group == "decisions")
        self._logs = office.settings.access_log
        self._changes = row.method != "GET"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, whatever it is."""
        began = perf_counter()
        try:
            said = await self._answer(scope, receive)
        except Problem as problem:
            said = self.row.refuses(problem, scope["path_params"])
        except Gone:
            return
        except Exception:
            log.exception("a mistake while answering %s %s", self.row.method, self.row.path)
            said = responses.mistake()
        self._meter.count(said.status, perf_counter() - began)
        await said.send(send, receive)
        if self._logs:
            seconds = perf_counter() - began
            access.info("", extra={"route": self.row.name, "status": said.status, "ms": round(seconds * 1e3, 3)})

    async def _answer(self, scope: Scope, receive: Receive) -> Reply | Streamed:
        row, office = self.row, self._office
        headers = dict(scope["headers"])
        holder = LOCAL
        if row.scope is not None:
            holder = office.guard.admit(headers, row.scope, changes=self._changes)
        body: Any = None
        if self._decoder is not None:
            self._decoder.check_media(headers)
            body = await read(receive, headers, row.limit)
            if row.takes is not bytes:
                body = self._decoder.decode(body)
        call = Call(body, scope["path_params"], headers, scope["query_string"], holder)
        content = await self._handler(office, call)
        if isinstance(content, Reply | Streamed):
            return content
        return Reply(row.status, responses.encode(content))
