"""How fast to ask: so many questions at a time, so many a minute, and less when the other side says that it is too much.

Of a crowd that is turned away together only the first halves the number; each answer afterwards raises it a little, back to where it began.
"""

import asyncio
import random
from collections import deque
from typing import NamedTuple

FIRST_WAIT = 0.5  # seconds before the second try
LONGEST_WAIT = 30.0
MOST_PATIENT = 300.0  # seconds that the other side may ask to wait
_TURNS_BACK = 20  # rounds of answers after which a large number is what it was


class Turn(NamedTuple):
    """When a question was asked."""

    began: float


class RateLimiter:
    """Turns to ask, taken before each try and given back after it."""

    def __init__(self, at_once: int, rpm: float | None = None) -> None:
        self.at_once = at_once
        self.allowed = float(at_once)
        self._asking = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._spacing = 60 / rpm if rpm else 0.0
        self._next = 0.0  # when the next question may be asked, at so many a minute
        self._paused_until = 0.0
        self._slowed = 0.0  # when the number was last made smaller

    async def take(self) -> Turn:
        """Wait for a turn."""
        loop = asyncio.get_running_loop()
        while self._asking >= max(1, int(self.allowed)):
            waiter: asyncio.Future[None] = loop.create_future()
            self._waiting.append(waiter)
            try:
                await waiter
            except asyncio.CancelledError:
                self._wake()
                raise
        self._asking += 1
        try:
            if self._spacing:
                now = loop.time()
                own = max(self._next, now)
                self._next = own + self._spacing
                await asyncio.sleep(own - now)
            while (wait := self._paused_until - loop.time()) > 0:
                await asyncio.sleep(wait)
        except asyncio.CancelledError:
            self._give_back()
            raise
        return Turn(loop.time())

    def answered(self, turn: Turn) -> None:
        """Give a turn back; the other side keeps up."""
        if self.allowed < self.at_once:
            self.allowed = min(self.at_once, self.allowed + max(1.0, self.at_once / _TURNS_BACK) / self.allowed)
        self._give_back()

    def failed(self, turn: Turn, *, crowded: bool = False, wait: float | None = None) -> None:
        """Give a turn back; if the other side was `crowded`, ask less at a time, and nothing for as long as it said."""
        now = asyncio.get_running_loop().time()
        if crowded:
            if turn.began >= self._slowed:
                self.allowed = max(1.0, self.allowed / 2)
                self._slowed = now
            if wait and wait <= MOST_PATIENT:  # for longer nobody waits
                self._paused_until = max(self._paused_until, now + wait)
        self._give_back()

    def _give_back(self) -> None:
        self._asking -= 1
        self._wake()

    def _wake(self) -> None:
        free = max(1, int(self.allowed)) - self._asking
        while self._waiting and free > 0:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                free -= 1


def backoff(attempt: int) -> float:
    """Seconds before another try, the `attempt`-th having failed: doubled each time, and spread, so that a crowd does not return as one."""
    return min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** (attempt - 1)) * random.uniform(0.5, 1.0)
