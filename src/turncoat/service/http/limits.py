"""Limits on the size and the duration of requests."""

from __future__ import annotations

BODY = 64 * 1024  # bytes of one message
BATCH_BODY = 8 * 1024 * 1024  # bytes of a batch of rewards
BATCH_LINES = 20_000
BATCH_AT_ONCE = 256  # lines per submission to the engine, so that decisions get in between
HEAD = 32 * 1024  # bytes of request line and headers
DEPTH = 64  # nesting of lists and objects
EXPORTS = 4  # concurrent log exports

HEAD_SECONDS = 15.0  # from the opening of a connection, or a request's first byte, to the end of the headers
BODY_SECONDS = 30.0  # for the rest of the body after its first chunk
KEEP_ALIVE_SECONDS = 30
LINGER_SECONDS = 10.0  # for which a refused request's body is read and thrown away, so that its caller reads the answer
LINGER = 64 * 1024 * 1024  # bytes of it
