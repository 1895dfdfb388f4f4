"""Rate limits: a token bucket per API key, in the memory of one worker."""

from __future__ import annotations


class TokenBucket:
    """Holds `burst` tokens at most and gains `rate` per second; a request takes one."""

    __slots__ = ("_at", "_tokens", "burst", "rate")

    def __init__(self, rate: float, burst: int) -> None:
        self.rate = rate
        self.burst = burst
        self._tokens = float(burst)
        self._at = float("-inf")

    def take(self, now: float) -> float:
        """Take a token: 0.0; if there is none, the seconds until there is."""
        gained = max(now - self._at, 0.0) * self.rate  # a clock set back gains nothing, and counts on from there
        self._tokens, self._at = min(self._tokens + gained, float(self.burst)), now
        if self._tokens < 1.0:
            return (1.0 - self._tokens) / self.rate
        self._tokens -= 1.0
        return 0.0
