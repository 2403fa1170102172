"""Daemon threads for code that is not ours: a function that blocks or never returns delays neither other predictions nor the exit.

What the code raises, `SystemExit` too, comes back as a value beside what it returns: nothing of it is raised here.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from typing import Any

Outcome = tuple[Any, BaseException | None]  # what a function returned, or what it raised

_STOP_TIMEOUT = 1.0  # seconds in which an event loop may end


class DaemonThreads:
    """Daemon threads that call functions: as many as there are calls at a time, reused. One that hangs is never waited for."""

    def __init__(self) -> None:
        self.hanging = 0
        self._idle = self._running = 0
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()

    async def call(self, function: Callable[[], Any]) -> Outcome:
        """Return what the function returns or raises. It may be canceled: then the call counts as hanging until it returns."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Outcome] = loop.create_future()

        def finish(outcome: Outcome) -> None:
            self._idle += 1
            if done.done():
                self.hanging -= 1
            else:
                done.set_result(outcome)

        def job() -> None:
            outcome = _call(function)
            with suppress(RuntimeError):  # the loop was closed while it hung
                loop.call_soon_threadsafe(finish, outcome)

        if self._idle:
            self._idle -= 1
        else:
            self._running += 1
            Thread(target=self._run_jobs, name="callmark-function", daemon=True).start()
        self._jobs.put(job)
        try:
            return await done
        except asyncio.CancelledError:
            self.hanging += 1
            raise

    def stop(self) -> None:
        """End the threads, those that hang when they return. Nothing can be called after that."""
        for _ in range(self._running):
            self._jobs.put(None)

    def _run_jobs(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()


class LoopThread:
    """An event loop in a daemon thread: what blocks in it, or ignores cancellation, delays nothing else."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._run, name="callmark-async-function", daemon=True)
        self._thread.start()

    @property
    def is_running(self) -> bool:
        """Whether the loop still runs: a task that exits takes its loop with it."""
        return self._thread.is_alive()

    async def call(self, function: Callable[[], Awaitable[Any]]) -> Outcome:
        """Return what the awaitable that the function makes returns or raises."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_call_async(function), self._loop))

    async def stop(self) -> None:
        """Cancel what is left and end the thread; one that does not end soon is left to end with the process."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        for _ in range(int(_STOP_TIMEOUT / 0.005)):
            if not self._thread.is_alive():
                return
            await asyncio.sleep(0.005)

    def _run(self) -> None:
        try:
            self._loop.run_forever()
            left = asyncio.all_tasks(self._loop)
            for task in left:
                task.cancel()
            if left:
                _, hanging = self._loop.run_until_complete(asyncio.wait(left, timeout=_STOP_TIMEOUT / 2))
                if hanging:  # destroyed with the loop, they would cause warnings
                    self._loop.run_forever()
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        finally:
            self._loop.close()


def _call(function: Callable[[], Any]) -> Outcome:
    try:
        return function(), None
    except BaseException as error:  # SystemExit too: it is the agent's, not ours
        return None, error


async def _call_async(function: Callable[[], Awaitable[Any]]) -> Outcome:
    try:
        return await function(), None
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        return None, error
    except BaseException as error:
        return None, error
