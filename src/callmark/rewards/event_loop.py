"""An event loop in a thread of its own, for code that is called synchronously, such as the tools that a trainer runs.

What is opened in a task must be closed in the same task (a tool server's connection is tied to it), so `keep` runs a task that opens
something, waits, and closes it when the loop stops.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from contextlib import AsyncExitStack, suppress
from threading import Thread
from typing import Any, TypeVar

T = TypeVar("T")
_STOP_TIMEOUT = 10.0  # seconds to wait until what was opened is closed


class EventLoop:
    """A running event loop. It does not keep the process alive."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="callmark-environment", daemon=True)
        self._thread.start()
        self._kept: list[tuple[asyncio.Event, Future[None]]] = []
        self._started: set[asyncio.Task[Any]] = set()

    def run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a coroutine in the loop, and return its result."""
        return asyncio.run_coroutine_threadsafe(work(), self._loop).result()

    def start(self, work: Callable[[], Coroutine[Any, Any, T]]) -> None:
        """Start a task in the loop; it is canceled when the loop stops. Once the loop has stopped, nothing is started."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._start, work)

    def keep(self, enter: Callable[[AsyncExitStack], Awaitable[None]]) -> None:
        """Open something with `enter(stack)` in a task that closes it when the loop stops. An error while opening is raised."""
        entered: Future[None] = Future()
        done = asyncio.Event()

        async def hold() -> None:
            async with AsyncExitStack() as stack:
                try:
                    await enter(stack)
                except BaseException as error:
                    entered.set_exception(error)
                    return
                entered.set_result(None)
                await done.wait()

        held = asyncio.run_coroutine_threadsafe(hold(), self._loop)
        self._kept.append((done, held))
        entered.result()

    def stop(self) -> None:
        """Close what is kept, and stop the loop. Stopping again does nothing."""
        if self._loop.is_closed() or not self._thread.is_alive():
            return
        with suppress(Exception):
            asyncio.run_coroutine_threadsafe(self._cancel_started(), self._loop).result(_STOP_TIMEOUT)
        for done, _ in self._kept:
            self._loop.call_soon_threadsafe(done.set)
        for _, held in self._kept:
            with suppress(Exception):
                held.result(_STOP_TIMEOUT)
        self._kept.clear()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_STOP_TIMEOUT)
        if not self._thread.is_alive():
            self._loop.close()

    def _start(self, work: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        task = self._loop.create_task(work())
        self._started.add(task)
        task.add_done_callback(self._started.discard)

    async def _cancel_started(self) -> None:
        started = list(self._started)
        for task in started:
            task.cancel()
        await asyncio.gather(*started, return_exceptions=True)
