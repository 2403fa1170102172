"""Daemon threads for user code: a function that blocks or never returns delays neither other predictions nor the exit.

Exceptions of the code, including `SystemExit`, are returned as values, not raised.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from typing import Any

Outcome = tuple[Any, BaseException | None]  # the return value, and the exception if one was raised

_STOP_TIMEOUT = 1.0  # seconds to wait for an event loop to stop


class DaemonThreads:
    """Reusable daemon threads that call functions, one per concurrent call. Hanging threads are never waited for."""

    def __init__(self) -> None:
        self.hanging = 0
        self._idle = self._running = 0
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()

    async def call(self, function: Callable[[], Any]) -> Outcome:
        """Return the outcome of a function. A canceled call counts as hanging until the function returns."""
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
            with suppress(RuntimeError):  # the loop was closed in the meantime
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
        """Stop the threads; hanging threads stop when their function returns. No call is possible after that."""
        for _ in range(self._running):
            self._jobs.put(None)

    def _run_jobs(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()


class LoopThread:
    """An event loop in a daemon thread: a task that blocks or ignores cancellation delays nothing else."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._run, name="callmark-async-function", daemon=True)
        self._thread.start()

    @property
    def is_running(self) -> bool:
        """Whether the loop is running. A task that raises `SystemExit` ends it."""
        return self._thread.is_alive()

    async def call(self, function: Callable[[], Awaitable[Any]]) -> Outcome:
        """Return the outcome of the awaitable that the function returns."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_call_async(function), self._loop))

    async def stop(self) -> None:
        """Cancel remaining tasks and stop the thread. If it does not stop soon, it is left running until the process exits."""
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
                if hanging:  # closing the loop would cause warnings about pending tasks
                    self._loop.run_forever()
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        finally:
            self._loop.close()


def _call(function: Callable[[], Any]) -> Outcome:
    try:
        return function(), None
    except BaseException as error:  # SystemExit too: it comes from the agent
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
