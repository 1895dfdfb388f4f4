"""Routes that open, change and read experiments."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from turncoat.service import messages
from turncoat.service.api_keys import Holder
from turncoat.service.errors import Malformed, NotFound
from turncoat.service.gain_messages import Gains
from turncoat.service.http.context import AppContext
from turncoat.service.http.responses import Header, Response, json_response
from turncoat.service.http.route import Call, only_whole

T = TypeVar("T")

POINTS, MOST_POINTS = 1000, 10_000


async def create_experiment(context: AppContext, call: Call) -> Response:
    """Open an experiment."""
    if not call.holder.sees(call.body.key):
        raise only_whole(call.holder)
    opened = await _change(context, call, context.engine.create)
    return json_response(opened, 201, [(b"location", f"/v1/experiments/{opened.key}".encode()), etag(opened)])


async def change_experiment(context: AppContext, call: Call) -> Response:
    """Change settings, unless they have changed since they were read."""
    change = partial(context.engine.change, call.params["key"], if_revision=seen_revision(call))
    changed = await _change(context, call, change)
    return json_response(changed, headers=[etag(changed)])


async def add_arm(context: AppContext, call: Call) -> messages.Arm:
    """Add an arm while it runs."""
    change = partial(context.engine.add_arm, call.params["key"], if_revision=seen_revision(call))
    return await _change(context, call, change)


async def change_arm(context: AppContext, call: Call) -> messages.Arm:
    """Pause, resume or retire an arm, or set its floor, cap and payload."""
    key, arm = call.params["key"], call.params["arm"]
    return await _change(context, call, partial(context.engine.change_arm, key, arm, if_revision=seen_revision(call)))


async def _change(context: AppContext, call: Call, change: Callable[..., T]) -> T:
    """Make a change once learners are loaded: a change asks the learner for new probabilities."""
    await context.learners_loaded()
    return await context.engine_thread.run(partial(change, call.body, actor=actor(call)))


async def list_experiments(context: AppContext, call: Call) -> Response:
    """All experiments, in the order in which they were opened; with `tag`, those that have all of these tags."""
    wanted, sees = set(call.texts("tag")["tag"]), call.holder.sees
    return await context.query_list(
        lambda: (one for one in context.experiments() if wanted.issubset(one.tags) and sees(one.key))
    )


async def get_experiment(context: AppContext, call: Call) -> Response:
    """One experiment, its revision as ETag."""
    found = await context.query(partial(context.engine.experiment, call.params["key"]))
    return json_response(found, headers=[etag(found)])


async def get_arms(context: AppContext, call: Call) -> Response:
    """Its arms, in the order in which they came."""
    return await context.query_list(partial(context.engine.arms, call.params["key"]))


async def get_state(context: AppContext, call: Call) -> messages.LearnerState:
    """What the learner makes of it all."""
    await context.learners_loaded()
    return await context.query(partial(context.engine.state, call.params["key"]))


async def get_timeline(context: AppContext, call: Call) -> Response:
    """Versions, evenly taken over its life, the latest last."""
    limit = call.numbers(limit=(POINTS, 1, MOST_POINTS))["limit"]
    return await context.query_list(partial(context.engine.timeline, call.params["key"], limit=limit))


async def get_switches(context: AppContext, call: Call) -> Response:
    """The changes of the best arm that the learner believes in."""
    await context.learners_loaded()
    return await context.query_list(partial(context.engine.switches, call.params["key"]))


async def get_gain(context: AppContext, call: Call) -> Gains:
    """What learning has gained, over control first: sums and per decision, with intervals and what they leave out."""
    return await context.query(partial(context.engine.gain, call.params["key"]))


async def get_audit(context: AppContext, call: Call) -> Response:
    """Who changed what about it."""
    return await context.query_list(partial(context.engine.audit, call.params["key"]))


async def get_whole_audit(context: AppContext, call: Call) -> Response:
    """Who changed what, everywhere."""
    sees = call.holder.sees  # entries about keys are for those who see all
    return await context.query_list(lambda: [one for one in context.engine.audit() if sees(one.experiment)])


async def erase_unit(context: AppContext, call: Call) -> messages.Erased:
    """Erase a unit's contexts and its pseudonym, in one experiment or in all."""
    unit, experiment = call.body.unit_id, call.body.experiment
    if not call.holder.sees(experiment):
        unknown = NotFound(f"there is no experiment {experiment!r}", field="experiment")
        raise only_whole(call.holder) if experiment is None else unknown
    return await context.query(partial(context.engine.erase, unit, experiment=experiment, actor=actor(call)))


def actor(call: Call) -> str:
    """The actor of an audit entry: the key's name and id."""
    return actor_of(call.holder)


def actor_of(holder: Holder) -> str:
    """The same, of its holder."""
    return holder.name if holder.name == holder.id else f"{holder.name} ({holder.id})"


def etag(experiment: messages.Experiment) -> Header:
    """The revision as ETag, for If-Match."""
    return b"etag", b'"%d"' % experiment.revision


def seen_revision(call: Call) -> int | None:
    """Optimistic concurrency: the revision in If-Match, if any."""
    said = call.header("If-Match")
    if said is None or said == "*":
        return None
    number = said.strip('"')
    if not number.isdigit() or len(number) > 18 or said not in (number, f'"{number}"'):
        accepted = 'the ETag of the experiment, like "3", or *'
        raise Malformed(f"If-Match is {said}; accepted is {accepted}", field="If-Match", accepted=accepted)
    return int(number)
