"""What learners share. A learner's file finds here what nearly all of them are written with."""

from __future__ import annotations

from turncoat._compile.dispatch import register_learner as register_learner
from turncoat._compile.jit import jit_rule as jit_rule
from turncoat._compile.state import State as State
from turncoat._compile.state import array as array
from turncoat._compile.state import computed as computed
from turncoat.learners.base.declarations import TOLD as TOLD
from turncoat.learners.base.declarations import Facts as Facts
from turncoat.learners.base.declarations import Option as Option
from turncoat.learners.base.declarations import Shown as Shown
from turncoat.learners.base.declarations import copied as copied
from turncoat.learners.base.declarations import first_number as first_number
from turncoat.learners.base.declarations import variant as variant
from turncoat.learners.base.learner import Learner as Learner
from turncoat.learners.base.saved_state import Checks as Checks
