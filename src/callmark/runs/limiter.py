"""Rate limiting: a limit on concurrency and on requests per minute, with fewer requests while the server reports a rate limit.

When several requests are rejected at once, only the first halves the concurrency. Each later success raises it a little, up to its initial
value.
"""

import asyncio
import random
from collections import deque
from typing import NamedTuple

FIRST_BACKOFF = 0.5  # seconds before the second attempt
MAX_BACKOFF = 30.0
MAX_RETRY_AFTER = 300.0  # longest Retry-After, in seconds, that is respected
_RECOVERY_ROUNDS = 20  # rounds of successes until a large concurrency is restored


class Slot(NamedTuple):
    """Permission to send one request, and the time it was granted."""

    start: float


class RateLimiter:
    """Hands out slots for requests, which are acquired before each attempt and released after it. `allowed` is the current concurrency."""

    def __init__(self, concurrency: int, rpm: float | None = None) -> None:
        self.concurrency = concurrency
        self.allowed = float(concurrency)
        self._in_flight = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._interval = 60 / rpm if rpm else 0.0
        self._next_start = 0.0  # when the next request may be sent, by the limit per minute
        self._paused_until = 0.0
        self._lowered_at = 0.0  # when the concurrency was last lowered

    async def acquire(self) -> Slot:
        """Wait for a slot."""
        loop = asyncio.get_running_loop()
        while self._in_flight >= max(1, int(self.allowed)):
            waiter: asyncio.Future[None] = loop.create_future()
            self._waiting.append(waiter)
            try:
                await waiter
            except asyncio.CancelledError:
                self._wake()
                raise
        self._in_flight += 1
        try:
            if self._interval:
                now = loop.time()
                start = max(self._next_start, now)
                self._next_start = start + self._interval
                await asyncio.sleep(start - now)
            while (pause := self._paused_until - loop.time()) > 0:
                await asyncio.sleep(pause)
        except asyncio.CancelledError:
            self._release()
            raise
        return Slot(loop.time())

    def release(self, slot: Slot) -> None:
        """Release a slot after a success, and raise the concurrency if it was lowered."""
        if self.allowed < self.concurrency:
            self.allowed = min(self.concurrency, self.allowed + max(1.0, self.concurrency / _RECOVERY_ROUNDS) / self.allowed)
        self._release()

    @property
    def in_flight(self) -> int:
        """Return the number of slots that are taken."""
        return self._in_flight

    def release_failed(self, slot: Slot, *, rate_limited: bool = False, retry_after: float | None = None) -> None:
        """Release a slot after a failure. On a rate limit, lower the concurrency, and pause for as long as the server requests."""
        now = asyncio.get_running_loop().time()
        if rate_limited:
            if slot.start >= self._lowered_at:
                self.allowed = max(1.0, self.allowed / 2)
                self._lowered_at = now
            if retry_after and retry_after <= MAX_RETRY_AFTER:  # longer pauses are treated as errors
                self._paused_until = max(self._paused_until, now + retry_after)
        self._release()

    def _release(self) -> None:
        self._in_flight -= 1
        self._wake()

    def _wake(self) -> None:
        free = max(1, int(self.allowed)) - self._in_flight
        while self._waiting and free > 0:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                free -= 1


def backoff(attempt: int) -> float:
    """Return the seconds to wait after a failed attempt: exponential backoff with jitter, so that requests that failed together are not
    retried together.
    """
    return min(MAX_BACKOFF, FIRST_BACKOFF * 2.0 ** (attempt - 1)) * random.uniform(0.5, 1.0)
