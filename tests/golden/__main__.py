"""Write the golden arms anew: `python -m tests.golden`, after a change of rule that is meant."""

from __future__ import annotations

from tests.golden.games import write

write()
