"""Settings for every test."""

from __future__ import annotations

import gc

from hypothesis import HealthCheck, settings

# The first example of a law may wait for a compiler, or for garbage to be collected, so examples have no deadline and
# may be slow to make; pytest's timeout stands guard.
settings.register_profile(
    "turncoat", deadline=None, derandomize=True, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("turncoat")

# Twelve thousand tests, and the compiler's notes of every kernel, stay till the end. Looking through all of them for
# garbage as often as Python does by itself takes an eighth of the time that compiling takes.
gc.set_threshold(20_000, 20, 20)
