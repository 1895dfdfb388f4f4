"""Whole games in compiled code: `play` for learners over arms, `play_points` for learners over the points of a ball.

And `compile`, which compiles ahead what games and learners run.
"""

from __future__ import annotations

from turncoat.simulate.compile_ahead import compile  # noqa: A004
from turncoat.simulate.loop import play, play_points

__all__ = ["compile", "play", "play_points"]
