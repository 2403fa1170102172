"""How fast to ask."""

import asyncio

import pytest

from callmark.runs.limiter import FIRST_WAIT, LONGEST_WAIT, RateLimiter, Turn, backoff


def test_no_more_are_asked_at_a_time_than_allowed() -> None:
    most = 0

    async def main() -> None:
        nonlocal most
        pace, asking = RateLimiter(3), 0

        async def one() -> None:
            nonlocal asking, most
            turn = await pace.take()
            asking += 1
            most = max(most, asking)
            await asyncio.sleep(0.001)
            asking -= 1
            pace.answered(turn)

        await asyncio.gather(*(one() for _ in range(20)))

    asyncio.run(main())
    assert most == 3


def test_a_crowd_that_is_turned_away_together_halves_the_number_once() -> None:
    async def main() -> list[float]:
        pace = RateLimiter(16)
        turns = [await pace.take() for _ in range(16)]
        for turn in turns:
            pace.failed(turn, crowded=True)
        after = [pace.allowed]
        later = await pace.take()
        pace.failed(later, crowded=True)
        return [*after, pace.allowed]

    assert asyncio.run(main()) == [8, 4]


def test_answers_bring_the_number_back_and_no_further() -> None:
    async def main() -> tuple[float, float]:
        pace = RateLimiter(4)
        pace.failed(await pace.take(), crowded=True)
        low = pace.allowed
        for _ in range(30):
            pace.answered(await pace.take())
        return low, pace.allowed

    assert asyncio.run(main()) == (2, 4)


def test_an_ordinary_failure_slows_nothing_down() -> None:
    async def main() -> float:
        pace = RateLimiter(4)
        pace.failed(await pace.take())
        return pace.allowed

    assert asyncio.run(main()) == 4


def test_it_never_falls_below_one_at_a_time() -> None:
    async def main() -> float:
        pace = RateLimiter(2)
        for _ in range(5):
            pace.failed(await pace.take(), crowded=True)
        return pace.allowed

    assert asyncio.run(main()) == 1


def test_nothing_is_asked_before_the_time_that_the_other_side_said() -> None:
    async def main() -> float:
        pace, loop = RateLimiter(2), asyncio.get_running_loop()
        pace.failed(await pace.take(), crowded=True, wait=0.1)
        began = loop.time()
        await pace.take()
        return loop.time() - began

    assert asyncio.run(main()) >= 0.09


def test_so_many_a_minute_are_spread_evenly() -> None:
    async def main() -> list[float]:
        pace, loop = RateLimiter(10, rpm=3000), asyncio.get_running_loop()
        began = loop.time()

        async def one() -> float:
            turn: Turn = await pace.take()
            pace.answered(turn)
            return turn.began - began

        return sorted(await asyncio.gather(*(one() for _ in range(6))))

    times = asyncio.run(main())
    assert [time >= 0.02 * place - 0.001 for place, time in enumerate(times)] == [True] * 6


def test_a_waiter_that_is_cancelled_leaves_its_place_to_another() -> None:
    async def main() -> bool:
        pace = RateLimiter(1)
        first = await pace.take()
        gone, next_one = asyncio.create_task(pace.take()), asyncio.create_task(pace.take())
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.sleep(0)
        pace.answered(first)
        await asyncio.wait_for(next_one, 1)
        return gone.cancelled()

    assert asyncio.run(main())


def test_cancelling_while_it_waits_for_its_time_gives_the_turn_back() -> None:
    async def main() -> None:
        pace = RateLimiter(1)
        pace.failed(await pace.take(), crowded=True, wait=60)
        waiting = asyncio.create_task(pace.take())
        await asyncio.sleep(0.01)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        pace._paused_until = 0
        await asyncio.wait_for(pace.take(), 1)

    asyncio.run(main())


@pytest.mark.parametrize("attempt, most", [(1, FIRST_WAIT), (2, 2 * FIRST_WAIT), (3, 4 * FIRST_WAIT), (50, LONGEST_WAIT)])
def test_waits_double_up_to_a_bound_and_are_spread(attempt: int, most: float) -> None:
    found = [backoff(attempt) for _ in range(100)]
    assert most / 2 <= min(found) <= max(found) <= most
    assert len(set(found)) > 50
