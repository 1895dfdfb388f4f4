"""How much of everything a caller may send, and how long it may take."""

from __future__ import annotations

BODY = 64 * 1024  # bytes of one message
BATCH_BODY = 8 * 1024 * 1024  # bytes of a batch of rewards
BATCH_LINES = 20_000
BATCH_AT_ONCE = 256  # lines handed to the engine together, so that decisions get in between
HEAD = 32 * 1024  # bytes of request line and headers
DEPTH = 64  # lists and objects inside one another
EXPORTS = 4  # logs being sent at the same time

HEAD_SECONDS = 15.0  # from a connection's first byte, or its opening, to the end of the headers
BODY_SECONDS = 30.0  # for the rest of the body, once its beginning is there
KEEP_ALIVE_SECONDS = 30
