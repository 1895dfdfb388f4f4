"""Routes with lines of JSON: many rewards in, the whole log out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

from turncoat.service import messages
from turncoat.service.engine import line_receipt
from turncoat.service.errands import Tell
from turncoat.service.errors import Problem, TooLarge, Unavailable
from turncoat.service.http import limits
from turncoat.service.http.body import Decoder
from turncoat.service.http.context import Office
from turncoat.service.http.responses import LINES, Reply, Streamed, encode
from turncoat.service.http.route import Call
from turncoat.service.store import StoreDown

LINES_AT_ONCE = 200  # of the log, read and sent together

_decode = Decoder(messages.RewardLine).decode


async def reward_many(office: Office, call: Call) -> Reply:
    """Say of many decisions how they turned out: a line each, answered by a line each. Bad ones hold up no others."""
    lines = _lines(call.body)
    receipts: list[messages.LineReceipt] = []
    for start in range(0, len(lines), limits.BATCH_AT_ONCE):
        receipts += await _told(office, lines[start : start + limits.BATCH_AT_ONCE])
    return Reply(200, b"".join(encode(one) + b"\n" for one in receipts), media=LINES)


def _lines(body: bytes) -> list[tuple[int, bytes]]:
    """Those that are not empty, with their numbers from 1."""
    most = limits.BATCH_LINES
    if body.count(b"\n") > most:
        raise TooLarge(f"the batch has more than {most} lines", accepted=f"at most {most} lines")
    return [(number, line) for number, line in enumerate(body.split(b"\n"), 1) if line.strip()]


async def _told(office: Office, lines: list[tuple[int, bytes]]) -> list[messages.LineReceipt]:
    """What became of these."""
    read = [(number, _read(number, line)) for number, line in lines]
    waits = {number: office.desk.leave(one) for number, one in read if isinstance(one, Tell)}
    for wait in waits.values():
        await wait
    return [_receipt(number, waits[number].result()) if isinstance(one, Tell) else one for number, one in read]


def _read(number: int, line: bytes) -> Tell | messages.LineReceipt:
    try:
        if len(line) > limits.BODY:
            raise TooLarge(f"the line is larger than {limits.BODY} bytes")
        said = _decode(line)
    except Problem as problem:
        return messages.LineReceipt(line=number, detail=problem.detail)
    return Tell(said.decision_id, said)


def _receipt(number: int, done: messages.Receipt | Exception) -> messages.LineReceipt:
    """One line's. If the store failed, all are to be sent again: what was recorded before is known again then."""
    if isinstance(done, Unavailable) or not isinstance(done, messages.Receipt | Problem):
        raise done
    return line_receipt(number, done)


async def get_log(office: Office, call: Call) -> Streamed:
    """Every decision with its outcome, in the order of their ids, a line each."""
    call.numbers()
    if office.exports.locked():
        raise Unavailable(f"{limits.EXPORTS} logs are being sent already; try again later")
    await office.exports.acquire()
    thread = ThreadPoolExecutor(1, thread_name_prefix="turncoat-log")  # other looks should not wait
    parts = _parts(office, office.engine.log(call.params["key"]), thread)
    try:
        first = await anext(parts, b"")  # what is refused is refused before the answer begins
    except BaseException:
        await parts.aclose()
        raise
    return Streamed(_from(first, parts))


async def _parts(
    office: Office, lines: Iterator[messages.LogLine], thread: ThreadPoolExecutor
) -> AsyncGenerator[bytes, None]:
    loop = asyncio.get_running_loop()
    try:
        while part := await loop.run_in_executor(thread, _part, lines):
            yield part
    except StoreDown as down:
        raise Unavailable(str(down)) from down
    finally:
        thread.shutdown(wait=False)
        office.exports.release()


def _part(lines: Iterator[messages.LogLine]) -> bytes:
    return b"".join(encode(line) + b"\n" for line in islice(lines, LINES_AT_ONCE))


async def _from(first: bytes, rest: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """The parts again, with the first one in front; closed whatever happens."""
    try:
        if first:
            yield first
            async for part in rest:
                yield part
    finally:
        await rest.aclose()
