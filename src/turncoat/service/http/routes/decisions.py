"""Routes that decide, take rewards and look at decisions. The first two are the hot ones."""

from __future__ import annotations

import re
from functools import partial
from typing import cast

from turncoat.service import messages
from turncoat.service.errands import Decide, Tell
from turncoat.service.errors import Unprocessable
from turncoat.service.http.context import Office
from turncoat.service.http.responses import Reply, answer
from turncoat.service.http.route import Call

is_uuid = re.compile(messages.UUID).fullmatch


async def decide(office: Office, call: Call) -> messages.Decided | Reply:
    """Draw an arm, and record how probable it was."""
    key = call.header("Idempotency-Key") if b"idempotency-key" in call.headers else None
    if call.body.allowed_arms is not None:
        await office.learners_loaded()
    done = await office.desk.leave(Decide(call.params["key"], call.body, key))
    if isinstance(done, Exception):
        raise done
    if done.reason == "stale":
        return answer(done, 200)  # nothing was created
    return cast("messages.Decided", done)


async def reward(office: Office, call: Call) -> messages.Receipt:
    """Say how a decision turned out."""
    decision_id = call.params["decision_id"]
    if not is_uuid(decision_id):
        accepted = "a UUID in lower case"
        raise Unprocessable(f"decision_id is {decision_id[:100]!r}; accepted is {accepted}", field="decision_id")
    done = await office.desk.leave(Tell(decision_id, call.body))
    if isinstance(done, Exception):
        raise done
    return cast("messages.Receipt", done)


async def activate(office: Office, call: Call) -> messages.DecisionRecord:
    """The deferred decision was used now: its window begins."""
    return await office.desk.run(partial(office.engine.activate, call.params["decision_id"]))


async def get_decision(office: Office, call: Call) -> messages.DecisionRecord:
    """Everything known about a decision."""
    call.numbers()
    return await office.look(partial(office.engine.decision, call.params["decision_id"]))
