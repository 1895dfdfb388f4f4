"""Records as files, and Ctrl-C while one is made."""

from __future__ import annotations

import gc
import io
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np

from turncoat.racing.storage import packed

ARRAYS = {"losses": np.linspace(0, 1, 1000), "rounds": np.array(3), "name": np.array("flip/3")}


def interrupted(at: int, act: Callable[[], object]) -> BaseException | None:
    """What comes of `act` if Ctrl-C is pressed at this line of those that it runs; None: it runs fewer."""
    passed = 0

    def trace(frame: FrameType, event: str, value: Any) -> Any:
        nonlocal passed
        if frame.f_code.co_name == "__del__":  # out of which Python lets nothing come
            return None
        passed += event == "line"
        if event == "line" and passed == at:
            sys.settrace(None)
            raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    gc.disable()  # it would be pressed in whatever the collector ends just then, where it is lost
    sys.settrace(trace)
    try:
        act()
    except BaseException as problem:
        return problem
    finally:
        sys.settrace(before)
        gc.enable()
    return None


def test_it_is_packed_as_numpy_packs_it() -> None:
    room = io.BytesIO()
    np.savez_compressed(room, **ARRAYS)  # type: ignore[arg-type]
    assert packed(ARRAYS) == room.getvalue()


def test_ctrl_c_at_any_line_of_packing_stays_ctrl_c() -> None:
    """At one line in twenty it became "Can't close the ZIP file": the command ended with 1 and without its advice."""
    came: list[BaseException] = []
    while (problem := interrupted(len(came) + 1, lambda: packed(ARRAYS))) is not None:
        came.append(problem)
    assert len(came) > 500
    assert {type(problem) for problem in came} == {KeyboardInterrupt}
