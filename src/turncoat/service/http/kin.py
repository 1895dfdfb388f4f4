"""A process that another has started ends with it, however that ended."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Callable


def end_with_parent(end: Callable[[], None]) -> None:
    """Call `end`, on a thread, once the process that started this one is gone."""

    def wait() -> None:
        parent = multiprocessing.parent_process()
        if parent is not None:
            parent.join()
            end()

    threading.Thread(target=wait, name="turncoat-kin", daemon=True).start()
