"""Settings for every test."""

from __future__ import annotations

from hypothesis import settings

# The first example of a law may wait for a compiler, so examples have no deadline; pytest's timeout stands guard.
settings.register_profile("turncoat", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("turncoat")
