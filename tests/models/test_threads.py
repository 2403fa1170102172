"""Threads for user code: reused, never waited for, and stopped in the end."""

import asyncio
import threading
from typing import NoReturn

import pytest

from callmark.models import threads
from callmark.models.threads import DaemonThreads, LoopThread, Outcome


@pytest.fixture(autouse=True)
def _short_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_STOP_TIMEOUT", 0.2)


def leave() -> NoReturn:
    raise SystemExit(3)


async def leave_later() -> NoReturn:
    raise SystemExit(3)


def test_threads_are_reused_and_stopped() -> None:
    async def run() -> set[threading.Thread]:
        calling = DaemonThreads()
        seen = {(await calling.call(threading.current_thread))[0] for _ in range(50)}
        calling.stop()
        return seen

    (thread,) = asyncio.run(run())
    thread.join(5)
    assert not thread.is_alive()


def test_as_many_threads_as_concurrent_calls() -> None:
    together = threading.Barrier(5)  # opens only if five calls run at the same time

    async def run() -> list[Outcome]:
        calling = DaemonThreads()
        try:
            return await asyncio.gather(*[calling.call(lambda: together.wait(5) >= 0) for _ in range(5)])
        finally:
            calling.stop()

    assert asyncio.run(run()) == [(True, None)] * 5


class Hanging:
    """A function that hangs until it is released, and its thread."""

    def __init__(self) -> None:
        self.awake = threading.Event()
        self.thread = threading.current_thread()

    def __call__(self) -> None:
        self.thread = threading.current_thread()
        self.awake.wait(60)

    async def later(self) -> None:
        self()


def test_canceled_call_counts_as_hanging_until_it_returns() -> None:
    hanging = Hanging()

    async def run() -> None:
        calling = DaemonThreads()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(calling.call(hanging), 0.05)
        assert calling.hanging == 1
        assert await calling.call(lambda: "ok") == ("ok", None)  # other calls still work
        hanging.awake.set()
        for _ in range(500):
            if not calling.hanging:
                break
            await asyncio.sleep(0.01)
        assert calling.hanging == 0
        calling.stop()

    asyncio.run(run())


def test_call_that_returns_after_the_loop_closed_ends_its_thread() -> None:
    hanging = Hanging()

    async def run() -> None:
        calling = DaemonThreads()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(calling.call(hanging), 0.2)
        calling.stop()

    asyncio.run(run())
    assert hanging.thread is not threading.current_thread()
    assert hanging.thread.is_alive()
    hanging.awake.set()
    hanging.thread.join(5)
    assert not hanging.thread.is_alive()


def test_raised_exception_is_returned_as_a_value() -> None:
    async def run() -> list[Outcome]:
        calling, loop = DaemonThreads(), LoopThread()
        try:
            return [await calling.call(leave), await loop.call(leave_later)]
        finally:
            calling.stop()
            await loop.stop()

    assert [(value, type(error)) for value, error in asyncio.run(run())] == [(None, SystemExit)] * 2


def test_stopping_a_loop_cancels_its_tasks() -> None:
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
        await loop.stop()
        return loop

    assert not asyncio.run(run()).is_running
    assert left == ["cancelled"]


def test_blocked_loop_is_not_waited_for() -> None:
    hanging = Hanging()

    async def run() -> LoopThread:
        loop = LoopThread()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(loop.call(hanging.later), 0.2)
        await loop.stop()
        return loop

    loop = asyncio.run(run())
    assert loop.is_running
    hanging.awake.set()
    hanging.thread.join(5)
    assert not loop.is_running
