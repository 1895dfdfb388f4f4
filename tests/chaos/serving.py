"""`python -m tests.chaos.serving SETTINGS BROKEN`: the service, broken on purpose in the way named."""

from __future__ import annotations

import sys

import msgspec

from tests.chaos.broken import BREAKAGES
from turncoat.service.http.server import Settings, run

if __name__ == "__main__":
    arguments, broken = sys.argv[1:]
    BREAKAGES[broken]()
    run(msgspec.json.decode(arguments, type=Settings))
