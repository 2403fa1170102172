"""Threads for code that is not ours: used again, never waited for, and gone in the end."""

import asyncio
import threading
from typing import NoReturn

import pytest

from callmark.models import threads
from callmark.models.threads import LoopThread, Outcome, Threads


@pytest.fixture(autouse=True)
def _short_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_PATIENCE", 0.2)


def leave() -> NoReturn:
    raise SystemExit(3)


async def leave_later() -> NoReturn:
    raise SystemExit(3)


def test_threads_are_used_again_and_end() -> None:
    async def run() -> set[threading.Thread]:
        calling = Threads()
        seen = {(await calling.call(threading.current_thread))[0] for _ in range(50)}
        calling.end()
        return seen

    (thread,) = asyncio.run(run())
    thread.join(5)
    assert not thread.is_alive()


def test_there_are_as_many_threads_as_calls_at_a_time() -> None:
    together = threading.Barrier(5)  # passed by five at a time only

    async def run() -> list[Outcome]:
        calling = Threads()
        try:
            return await asyncio.gather(*[calling.call(lambda: together.wait(5) >= 0) for _ in range(5)])
        finally:
            calling.end()

    assert asyncio.run(run()) == [(True, None)] * 5


class Hanging:
    """A function that does not come back until it is let go, and the thread that it hangs in."""

    def __init__(self) -> None:
        self.awake = threading.Event()
        self.thread = threading.current_thread()

    def __call__(self) -> None:
        self.thread = threading.current_thread()
        self.awake.wait(60)

    async def later(self) -> None:
        self()


def test_a_call_that_was_given_up_hangs_until_it_comes_back() -> None:
    hanging = Hanging()

    async def run() -> None:
        calling = Threads()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(calling.call(hanging), 0.05)
        assert calling.hanging == 1
        assert await calling.call(lambda: "ok") == ("ok", None)  # others are called meanwhile
        hanging.awake.set()
        for _ in range(500):
            if not calling.hanging:
                break
            await asyncio.sleep(0.01)
        assert calling.hanging == 0
        calling.end()

    asyncio.run(run())


def test_a_call_that_comes_back_when_nobody_is_there_any_more_ends_its_thread() -> None:
    hanging = Hanging()

    async def run() -> None:
        calling = Threads()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(calling.call(hanging), 0.2)
        calling.end()

    asyncio.run(run())
    assert hanging.thread is not threading.current_thread()
    assert hanging.thread.is_alive()
    hanging.awake.set()
    hanging.thread.join(5)
    assert not hanging.thread.is_alive()


def test_what_is_raised_comes_back_as_a_value() -> None:
    async def run() -> list[Outcome]:
        calling, loop = Threads(), LoopThread()
        try:
            return [await calling.call(leave), await loop.call(leave_later)]
        finally:
            calling.end()
            await loop.end()

    assert [(value, type(error)) for value, error in asyncio.run(run())] == [(None, SystemExit)] * 2


def test_a_loop_ends_with_what_is_left_in_it() -> None:
    left: list[str] = []

    async def forever() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            left.append("cancelled")

    async def begin() -> str:
        task = asyncio.get_running_loop().create_task(forever())
        await asyncio.sleep(0)
        return type(task).__name__

    async def run() -> LoopThread:
        loop = LoopThread()
        assert await loop.call(begin) == ("Task", None)
        assert loop.is_running
        await loop.end()
        return loop

    assert not asyncio.run(run()).is_running
    assert left == ["cancelled"]


def test_a_loop_that_is_blocked_is_not_waited_for() -> None:
    hanging = Hanging()

    async def run() -> LoopThread:
        loop = LoopThread()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(loop.call(hanging.later), 0.2)
        await loop.end()
        return loop

    loop = asyncio.run(run())
    assert loop.is_running
    hanging.awake.set()
    hanging.thread.join(5)
    assert not loop.is_running
