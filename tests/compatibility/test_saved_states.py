"""Saved states of earlier commits: `tc.restore` reads them, and the learners go on identically, to the last bit.

A learner whose rule has changed since goes on by the new rule, from the weights and samples of then.

states-<commit>.json.gz was written by write.py at that commit, on the machine it names. Another libm may round an exp
or a log differently, so on another machine a difference may be one of rounding.
"""

from __future__ import annotations

import gzip
import json
import platform
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import turncoat as tc
from tests.compatibility.answers import as_now, same_fields, without_bases
from tests.compatibility.rounds import go_on
from turncoat.learners import LEARNERS
from turncoat.learners.base.saved_state import unpacked
from turncoat.learners.turncoat.earlier_rules import OLD_MIRRORS, EarlierState
from turncoat.learners.turncoat.state import SLOTS

FILES = {
    file.name.removeprefix("states-").removesuffix(".json.gz"): json.loads(gzip.decompress(file.read_bytes()))
    for file in sorted(Path(__file__).parent.glob("states-*.json.gz"))
}
CASES = {f"{commit}: {name}": case for commit, file in FILES.items() for name, case in file["cases"].items()}
SAYING = {name: case for name, case in CASES.items() if "thoughts" in case}


def where() -> str:
    """The machines that wrote the files, and this one: for the message of a failure."""
    return f"written on {[file['made_on'] for file in FILES.values()]}, read on {platform.machine()}"


def is_of_today(case: dict[str, Any]) -> bool:
    """Is the state of the rule that its learner has now?"""
    return bool(case["state"].get("rule", 1) == LEARNERS[case["state"]["learner"]].rule_version)


SAME = {name: case for name, case in CASES.items() if is_of_today(case)}
MIGRATED = {name: case for name, case in CASES.items() if not is_of_today(case)}


def trust_in_mirrors(case: dict[str, Any]) -> float:
    """How much the learner trusted its clipped and signed bases when it was saved."""
    return float(EarlierState(unpacked(case["state"]["buffer"], "<f8").astype(float)).p[:OLD_MIRRORS].sum())


def contents(state: dict[str, Any]) -> dict[str, Any]:
    """A state without the version of the package that wrote it."""
    return {key: value for key, value in state.items() if key != "turncoat"}


@pytest.mark.parametrize("case", SAME.values(), ids=SAME)
def test_a_state_that_is_read_and_saved_again_is_the_same(case: dict[str, Any]) -> None:
    again = tc.restore(case["state"])
    assert contents(again.state()) == contents(case["state"])
    assert again.n_outstanding == len(case["outstanding"])


@pytest.mark.parametrize("case", MIGRATED.values(), ids=MIGRATED)
def test_a_state_of_an_earlier_rule_is_migrated_once_and_goes_on(case: dict[str, Any]) -> None:
    """It keeps all but the certificate's sums and bases that there are no longer, and says which tells those sums miss.

    What it serves differs from then by no more than the trust that clipped and signed bases had, and the floors now.
    """
    learner = tc.restore(case["state"])
    assert isinstance(learner, tc.Turncoat)
    saved = learner.state()
    changed = {"turncoat", "rule", "buffer", "delays"}
    kept = {key: value for key, value in case["state"].items() if key not in changed}
    assert {key: value for key, value in saved.items() if key not in changed} == kept and saved["rule"] == 3
    assert saved["delays"] == [1, 1]  # nothing outstanding is waited for
    assert tc.restore(saved).state() == saved
    if saved["loss_range"] != "adaptive":
        found = learner.certificate(2)
        assert (found.gaps, found.refunds, found.n_uncovered) == (0.0, 0.0, learner.n_told)
    outstanding, before_play = [tc.Decision.from_dict(one) for one in case["outstanding"]], learner.view().copy()
    assert all(decision.m == 1 for decision in outstanding)
    assert np.array_equal(learner.probabilities(), learner.probabilities(m=1))
    now = go_on(learner, outstanding, case["how"], case["round"])
    moved = np.abs(np.subtract(now["probabilities"], case["next"]["probabilities"])).sum() / 2.0
    assert moved <= trust_in_mirrors(case) + before_play.floors.sum(), where()
    assert learner.n_outstanding == 0 and np.isfinite(learner.probabilities()).all()
    if saved["loss_range"] != "adaptive":
        assert learner.certificate(2).gaps > 0.0 or learner.n_arms == 1


@pytest.mark.parametrize("case", SAME.values(), ids=SAME)
def test_a_restored_learner_goes_on_as_it_did_then(case: dict[str, Any]) -> None:
    """Probabilities, arms and propensities of 60 rounds, with the outstanding decisions told among them."""
    learner = tc.restore(case["state"])
    outstanding = [tc.Decision.from_dict(one) for one in case["outstanding"]]
    then, now = case["next"], go_on(learner, outstanding, case["how"], case["round"])
    assert now["probabilities"] == then["probabilities"], where()
    for t, (ours, theirs) in enumerate(zip(now["decisions"], then["decisions"], strict=True)):
        assert same_fields(json.loads(json.dumps(ours)), theirs) == theirs, (
            f"round {t} of those after it was restored; {where()}"
        )
    assert now["last probabilities"] == then["last probabilities"], where()
    assert learner.n_outstanding == 0
    assert now["last state"] == tc.restore(then["last state"]).state(), where()


@pytest.mark.parametrize("case", SAYING.values(), ids=SAYING)
def test_a_restored_turncoat_says_what_it_said_then(case: dict[str, Any]) -> None:
    """The explanation, which is read off the state, but for what it says of the bases, of which there were more.

    (The certificate of then was another one.)
    """
    learner = tc.restore(case["state"])
    assert isinstance(learner, tc.Turncoat)
    said, then = json.loads(json.dumps(learner.explain().to_dict())), case["thoughts"]["explanation"]
    if learner.n_arms > SLOTS:  # pages have the shares of those arms only that have a slot
        for page, earlier in zip(said["pages"], then["pages"], strict=True):
            page["shares"] = [
                max(now, share * (now == 0)) for now, share in zip(page["shares"], earlier["shares"], strict=True)
            ]
    said, then = as_now(said), as_now(then)
    assert without_bases(said) == without_bases(then), where()
    assert [page["shares"] for page in said["pages"]] == [page["shares"] for page in then["pages"]]
    leaders = {base["name"]: base["arm"] for base in said["bases"] if base["kind"] in ("detector", "follower")}
    assert leaders == {base["name"]: base["arm"] for base in then["bases"] if base["name"] in leaders}


def test_outstanding_decisions_are_known_and_settled_once() -> None:
    for case in CASES.values():
        learner = tc.restore(case["state"])
        for decision in map(tc.Decision.from_dict, case["outstanding"]):
            learner.forget(decision)
            with pytest.raises(tc.errors.DecisionError):
                learner.forget(decision)


def test_the_files_hold_what_they_should() -> None:
    """All 34 learners; for Turncoat also believed switches, restarts, retired arms and a range found by itself."""
    assert set(FILES) >= {"8d72b1b", "98c032b"}
    assert len({case["state"]["learner"] for case in FILES["8d72b1b"]["cases"].values()}) >= 34
    assert {case["state"].get("rule") for case in FILES["98c032b"]["cases"].values()} == {2}
    for file in FILES.values():
        said = [case["thoughts"]["explanation"] for case in file["cases"].values() if "thoughts" in case]
        assert max(one["n_switches"] for one in said) >= 3
        assert max(restart["times"] for one in said for restart in one["restarts"]) >= 3
        assert max(len(one["retired"]) for one in said) == 2
        assert any(case["state"].get("seen_range") for case in file["cases"].values())
