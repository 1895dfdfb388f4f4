"""Migration where there are fewer or more clipped or signed bases now than there were: by a package that has them."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import turncoat as tc

PACKAGE = Path(tc.__file__).parent
MIGRATE = """
import gzip, json, sys
import numpy as np
import turncoat as tc
from turncoat.learners.base.saved_state import unpacked
from turncoat.learners.turncoat import constants
from turncoat.learners.turncoat.earlier_rules import EarlierState, sources

cases = json.loads(gzip.decompress(open(sys.argv[1], "rb").read()))["cases"]
for name, case in cases.items():
    before = EarlierState(unpacked(case["state"]["buffer"], "<f8").astype(float))
    learner = tc.restore(case["state"])
    state, of = learner.view(), sources()
    assert abs(state.p.sum() - 1.0) < 1e-12 and (state.p >= state.floors * (1 - 1e-9)).all()
    assert np.array_equal(state.weights, before.weights[:, of[:constants.N_MIRRORS]])
    leaders, then = state.p[constants.N_MIRRORS:], before.p[-constants.N_LEADERS:]
    heard = leaders > 1.001 * state.floors[constants.N_MIRRORS:]  # the others were lifted
    assert heard.any() and np.allclose(leaders[heard] / leaders[heard].sum(), then[heard] / then[heard].sum())
    assert tc.restore(learner.state()).state() == learner.state()
    if case["state"]["loss_range"] != "adaptive":
        found = learner.certificate(2)
        assert (found.gaps, found.refunds, found.n_uncovered) == (0.0, 0.0, learner.n_told)
    for t in range(3):
        learner.tell(learner.ask(), 0.5)
    str(learner.explain())
print(constants.N_CLIPPED, constants.N_SIGNED)
"""


@pytest.mark.parametrize(("n_clipped", "n_signed"), [(3, 3), (1, 2), (1, 6), (4, 8)])
def test_states_are_migrated_to_other_numbers_of_bases(n_clipped: int, n_signed: int, tmp_path: Path) -> None:
    shutil.copytree(PACKAGE, tmp_path / "turncoat", ignore=shutil.ignore_patterns("__pycache__"))
    constants = tmp_path / "turncoat/learners/turncoat/constants.py"
    text = re.sub(r"^N_CLIPPED = \d+", f"N_CLIPPED = {n_clipped}", constants.read_text(), flags=re.M)
    constants.write_text(re.sub(r"^N_SIGNED = \d+", f"N_SIGNED = {n_signed}", text, flags=re.M))
    words = [sys.executable, "-c", MIGRATE, str(Path(__file__).parent / "states-98c032b.json.gz")]
    environment = {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(tmp_path)}
    found = subprocess.run(words, capture_output=True, text=True, env=environment, cwd=tmp_path, timeout=300)
    assert found.returncode == 0 and found.stdout == f"{n_clipped} {n_signed}\n", found.stderr
