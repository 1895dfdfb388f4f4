"""Compiling with numba: decorators, states, callbacks, dispatch by type, and the kernel cache on disk.

One setting changes for the whole process: Intel's SVML is off, so that one seed means one result on every machine.
Importing this package sets it, before any of its modules imports numba. Where numba was imported before with SVML on,
it stays on (`jit.uses_svml`).
"""

import os

os.environ.setdefault("NUMBA_DISABLE_INTEL_SVML", "1")
