"""The rate limit: concurrency, requests a minute, backoff."""

import asyncio

import pytest

from callmark.runs.limiter import FIRST_BACKOFF, MAX_BACKOFF, RateLimiter, Slot, backoff


def test_no_more_requests_are_in_flight_than_allowed() -> None:
    most = 0

    async def main() -> None:
        nonlocal most
        limiter, in_flight = RateLimiter(3), 0

        async def send() -> None:
            nonlocal in_flight, most
            slot = await limiter.acquire()
            in_flight += 1
            most = max(most, in_flight)
            await asyncio.sleep(0.001)
            in_flight -= 1
            limiter.release(slot)

        await asyncio.gather(*(send() for _ in range(20)))

    asyncio.run(main())
    assert most == 3


def test_requests_rejected_together_halve_the_concurrency_once() -> None:
    async def main() -> list[float]:
        limiter = RateLimiter(16)
        slots = [await limiter.acquire() for _ in range(16)]
        for slot in slots:
            limiter.release_failed(slot, rate_limited=True)
        after = [limiter.allowed]
        later = await limiter.acquire()
        limiter.release_failed(later, rate_limited=True)
        return [*after, limiter.allowed]

    assert asyncio.run(main()) == [8, 4]


def test_successes_raise_the_concurrency_to_its_initial_value() -> None:
    async def main() -> tuple[float, float]:
        limiter = RateLimiter(4)
        limiter.release_failed(await limiter.acquire(), rate_limited=True)
        low = limiter.allowed
        for _ in range(30):
            limiter.release(await limiter.acquire())
        return low, limiter.allowed

    assert asyncio.run(main()) == (2, 4)


def test_an_ordinary_failure_leaves_the_concurrency() -> None:
    async def main() -> float:
        limiter = RateLimiter(4)
        limiter.release_failed(await limiter.acquire())
        return limiter.allowed

    assert asyncio.run(main()) == 4


def test_the_concurrency_never_falls_below_one() -> None:
    async def main() -> float:
        limiter = RateLimiter(2)
        for _ in range(5):
            limiter.release_failed(await limiter.acquire(), rate_limited=True)
        return limiter.allowed

    assert asyncio.run(main()) == 1


def test_nothing_is_sent_before_the_retry_after_time() -> None:
    async def main() -> float:
        limiter, loop = RateLimiter(2), asyncio.get_running_loop()
        limiter.release_failed(await limiter.acquire(), rate_limited=True, retry_after=0.1)
        began = loop.time()
        await limiter.acquire()
        return loop.time() - began

    assert asyncio.run(main()) >= 0.09


def test_requests_a_minute_are_spread_evenly() -> None:
    async def main() -> list[float]:
        limiter, loop = RateLimiter(10, rpm=3000), asyncio.get_running_loop()
        began = loop.time()

        async def send() -> float:
            slot: Slot = await limiter.acquire()
            limiter.release(slot)
            return slot.start - began

        return sorted(await asyncio.gather(*(send() for _ in range(6))))

    times = asyncio.run(main())
    assert [time >= 0.02 * place - 0.001 for place, time in enumerate(times)] == [True] * 6


def test_a_cancelled_waiter_leaves_its_slot_to_another() -> None:
    async def main() -> bool:
        limiter = RateLimiter(1)
        first = await limiter.acquire()
        cancelled, next_waiter = asyncio.create_task(limiter.acquire()), asyncio.create_task(limiter.acquire())
        await asyncio.sleep(0)
        cancelled.cancel()
        await asyncio.sleep(0)
        limiter.release(first)
        await asyncio.wait_for(next_waiter, 1)
        return cancelled.cancelled()

    assert asyncio.run(main())


def test_cancelling_during_a_pause_releases_the_slot() -> None:
    async def main() -> None:
        limiter = RateLimiter(1)
        limiter.release_failed(await limiter.acquire(), rate_limited=True, retry_after=60)
        waiting = asyncio.create_task(limiter.acquire())
        await asyncio.sleep(0.01)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        limiter._paused_until = 0
        await asyncio.wait_for(limiter.acquire(), 1)

    asyncio.run(main())


@pytest.mark.parametrize("attempt, most", [(1, FIRST_BACKOFF), (2, 2 * FIRST_BACKOFF), (3, 4 * FIRST_BACKOFF), (50, MAX_BACKOFF)])
def test_backoff_doubles_up_to_a_limit_with_jitter(attempt: int, most: float) -> None:
    found = [backoff(attempt) for _ in range(100)]
    assert most / 2 <= min(found) <= max(found) <= most
    assert len(set(found)) > 50
