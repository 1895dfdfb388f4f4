"""Routes of decisions and rewards: one by one, of which `decide` and `reward` are the hot ones, and as NDJSON."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator, Set
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from typing import cast

from turncoat.service import messages
from turncoat.service.engine import line_receipt
from turncoat.service.errors import Problem, TooLarge, Unavailable
from turncoat.service.experiments.queries import unknown_decision
from turncoat.service.http import limits
from turncoat.service.http.context import AppContext
from turncoat.service.http.responses import LINES, Response, StreamingResponse, encode, json_response
from turncoat.service.http.route import Call, decoder
from turncoat.service.messages import Decide, Result, Tell
from turncoat.service.validation import check_id

LINES_AT_ONCE = 200  # of the log, per chunk

_decode = decoder(messages.RewardLine)


async def decide(context: AppContext, call: Call) -> messages.Decided | Response:
    """Draw an arm, and record how probable it was."""
    if call.body.allowed_arms is not None:
        await context.learners_loaded()
    return decided(await context.engine_thread.submit(decide_command(call)))


def decide_command(call: Call) -> Decide:
    """The engine's command for a request."""
    key = call.header("Idempotency-Key") if b"idempotency-key" in call.headers else None
    return Decide(call.params["key"], call.body, key)


def decide_at_once(call: Call) -> Decide | None:
    """The same; None if the request may have to wait for the learner."""
    return None if call.body.allowed_arms is not None else decide_command(call)


def decided(done: Result) -> messages.Decided | Response:
    """The answer for its result."""
    if isinstance(done, Exception):
        raise done
    decision = cast("messages.Decided", done)
    return json_response(decision, 200) if decision.reason == "stale" else decision  # 200: nothing was created


async def reward(context: AppContext, call: Call) -> messages.Receipt:
    """Say how a decision turned out."""
    return rewarded(await context.engine_thread.submit(reward_command(call)))


def reward_command(call: Call) -> Tell:
    """The engine's command for a request."""
    decision_id = call.params["decision_id"]
    check_id(decision_id)
    return Tell(decision_id, call.body, call.holder.experiments)


def rewarded(done: Result) -> messages.Receipt:
    """The answer for its result."""
    if isinstance(done, Exception):
        raise done
    return cast("messages.Receipt", done)


async def activate(context: AppContext, call: Call) -> messages.DecisionRecord:
    """The deferred decision was used now: its window begins."""
    if call.holder.experiments is not None:
        await get_decision(context, call)  # a decision's experiment never changes
    return await context.engine_thread.run(partial(context.engine.activate, call.params["decision_id"]))


async def get_decision(context: AppContext, call: Call) -> messages.DecisionRecord:
    """Everything known about a decision."""
    decision_id = call.params["decision_id"]
    found = await context.query(partial(context.engine.decision, decision_id))
    if not call.holder.sees(found.experiment):
        raise unknown_decision(decision_id)
    return found


# --- NDJSON: a batch of rewards in, the whole log out ---


async def reward_many(context: AppContext, call: Call) -> Response:
    """Say of many decisions how they turned out: a line each, answered by a line each. Bad ones hold up no others."""
    lines = _lines(call.body)
    receipts: list[messages.LineReceipt] = []
    for start in range(0, len(lines), limits.BATCH_AT_ONCE):
        receipts += await _told(context, lines[start : start + limits.BATCH_AT_ONCE], call.holder.experiments)
    return Response(200, b"".join(encode(one) + b"\n" for one in receipts), media=LINES)


def _lines(body: bytes) -> list[tuple[int, bytes]]:
    """Those that are not empty, with their numbers from 1."""
    most = limits.BATCH_LINES
    if body.count(b"\n") > most:
        raise TooLarge(f"the batch has more than {most} lines", accepted=f"at most {most} lines")
    return [(number, line) for number, line in enumerate(body.split(b"\n"), 1) if line.strip()]


async def _told(
    context: AppContext, lines: list[tuple[int, bytes]], only: Set[str] | None
) -> list[messages.LineReceipt]:
    """The receipts of some lines."""
    read = [(number, _read(number, line, only)) for number, line in lines]
    waits = {number: context.engine_thread.submit(one) for number, one in read if isinstance(one, Tell)}
    for wait in waits.values():
        await wait
    return [_receipt(number, waits[number].result()) if isinstance(one, Tell) else one for number, one in read]


def _read(number: int, line: bytes, only: Set[str] | None) -> Tell | messages.LineReceipt:
    try:
        if len(line) > limits.BODY:
            raise TooLarge(f"the line is larger than {limits.BODY} bytes")
        said = _decode(line)
    except Problem as problem:
        return messages.LineReceipt(line=number, detail=problem.detail)
    return Tell(said.decision_id, said, only)


def _receipt(number: int, done: messages.Receipt | Exception) -> messages.LineReceipt:
    """One line's. If the store failed, all are to be sent again: what was recorded before is known again then."""
    if isinstance(done, Unavailable) or not isinstance(done, messages.Receipt | Problem):
        raise done
    return line_receipt(number, done)


async def get_log(context: AppContext, call: Call) -> StreamingResponse:
    """Every decision with its outcome, in the order of their ids, a line each."""
    key = call.params["key"]
    await context.query(partial(context.engine.experiment, key))  # errors are raised before the response begins
    if context.exports.locked():
        raise Unavailable(f"{limits.EXPORTS} logs are being sent already; try again later")
    return StreamingResponse(_parts(context, context.engine.log(key)))


async def _parts(context: AppContext, lines: Iterator[messages.LogLine]) -> AsyncGenerator[bytes, None]:
    loop = asyncio.get_running_loop()
    async with context.exports:
        thread = ThreadPoolExecutor(1, thread_name_prefix="turncoat-log")  # other queries should not wait
        try:
            while part := await loop.run_in_executor(thread, _part, lines):
                yield part
        finally:
            thread.shutdown(wait=False)


def _part(lines: Iterator[messages.LogLine]) -> bytes:
    return b"".join(encode(line) + b"\n" for line in islice(lines, LINES_AT_ONCE))
