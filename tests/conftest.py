"""Settings for every test."""

from __future__ import annotations

import gc

from hypothesis import settings

# The first example of a law may wait for a compiler, so examples have no deadline; pytest's timeout stands guard.
settings.register_profile("turncoat", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("turncoat")

# Twelve thousand tests, and the compiler's notes of every kernel, stay till the end. Looking through all of them for
# garbage as often as Python does by itself takes an eighth of the time that compiling takes.
gc.set_threshold(20_000, 20, 20)
