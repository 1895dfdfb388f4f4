"""Routes that open experiments, change them and look at them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from turncoat.service import messages
from turncoat.service.errors import Malformed
from turncoat.service.http.context import Office
from turncoat.service.http.responses import Header, Reply, answer
from turncoat.service.http.route import Call

T = TypeVar("T")

POINTS, MOST_POINTS = 1000, 10_000


async def create_experiment(office: Office, call: Call) -> Reply:
    """Open an experiment."""
    opened = await _change(office, partial(office.engine.create, call.body, actor=actor(call)))
    return answer(opened, 201, [(b"location", f"/v1/experiments/{opened.key}".encode()), etag(opened)])


async def change_experiment(office: Office, call: Call) -> Reply:
    """Change settings, if nobody has since."""
    change = partial(
        office.engine.change, call.params["key"], call.body, if_revision=seen_revision(call), actor=actor(call)
    )
    changed = await _change(office, change)
    return answer(changed, headers=[etag(changed)])


async def add_arm(office: Office, call: Call) -> messages.Arm:
    """Add an arm while it runs."""
    return await _change(office, partial(office.engine.add_arm, call.params["key"], call.body, actor=actor(call)))


async def change_arm(office: Office, call: Call) -> messages.Arm:
    """Pause, resume or retire an arm, or set its floor, cap and payload."""
    key, arm = call.params["key"], call.params["arm"]
    return await _change(office, partial(office.engine.change_arm, key, arm, call.body, actor=actor(call)))


async def _change(office: Office, change: Callable[[], T]) -> T:
    """Make a change once learners are loaded: each asks the learner what is to be served from then on."""
    await office.learners_loaded()
    return await office.desk.run(change)


async def list_experiments(office: Office, call: Call) -> Reply:
    """All experiments, in the order in which they were opened."""
    call.numbers()
    return await office.look_through(office.experiments)


async def get_experiment(office: Office, call: Call) -> Reply:
    """One experiment, its revision as ETag."""
    call.numbers()
    found = await office.look(partial(office.engine.experiment, call.params["key"]))
    return answer(found, headers=[etag(found)])


async def get_arms(office: Office, call: Call) -> Reply:
    """Its arms, in the order in which they came."""
    call.numbers()
    return await office.look_through(partial(office.engine.arms, call.params["key"]))


async def get_state(office: Office, call: Call) -> messages.LearnerState:
    """What the learner makes of it all."""
    call.numbers()
    await office.learners_loaded()
    return await office.look(partial(office.engine.state, call.params["key"]))


async def get_timeline(office: Office, call: Call) -> Reply:
    """Versions, evenly taken over its life, the latest last."""
    limit = call.numbers(limit=(POINTS, 1, MOST_POINTS))["limit"]
    return await office.look_through(partial(office.engine.timeline, call.params["key"], limit=limit))


async def get_switches(office: Office, call: Call) -> Reply:
    """The changes of the best arm that the learner believes in."""
    call.numbers()
    await office.learners_loaded()
    return await office.look_through(partial(office.engine.switches, call.params["key"]))


async def get_audit(office: Office, call: Call) -> Reply:
    """Who changed what about it."""
    call.numbers()
    return await office.look_through(partial(office.engine.audit, call.params["key"]))


async def get_whole_audit(office: Office, call: Call) -> Reply:
    """Who changed what, everywhere."""
    call.numbers()
    return await office.look_through(office.engine.audit)


def actor(call: Call) -> str:
    """Whom the audit names: the key's name and id."""
    holder = call.holder
    return holder.name if holder.name == holder.id else f"{holder.name} ({holder.id})"


def etag(experiment: messages.Experiment) -> Header:
    """Its revision, for If-Match."""
    return b"etag", b'"%d"' % experiment.revision


def seen_revision(call: Call) -> int | None:
    """The revision that the caller has seen, if they say so."""
    said = call.header("If-Match")
    if said is None or said == "*":
        return None
    number = said.strip('"')
    if not number.isdigit() or len(number) > 18 or said not in (number, f'"{number}"'):
        accepted = 'the ETag of the experiment, like "3", or *'
        raise Malformed(f"If-Match is {said}; accepted is {accepted}", field="If-Match", accepted=accepted)
    return int(number)
