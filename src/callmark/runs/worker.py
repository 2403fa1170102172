"""Send requests to a model concurrently, with retries, and record each prediction as it arrives.

If the last attempt fails, the error becomes a prediction with an `error`. If there is no prediction yet, and three errors indicate that no
other request can succeed, no more are sent. An exhausted budget ends the run after the requests in flight, which are charged anyway.
Cancelling stops immediately, and loses the requests in flight.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator

from msgspec import Struct, structs

from callmark.models.keys import Keys
from callmark.models.model import Model, ModelError, ModelFailure, ModelSettings, Price
from callmark.models.open_files import is_out_of_files
from callmark.runs.cache import Cache, cache_key
from callmark.runs.limiter import MAX_RETRY_AFTER, RateLimiter, backoff
from callmark.types import Call, Case, Prediction, Usage

_MILLION = 1_000_000
_FIRST_RETRIES = 2  # limit before the first prediction: the server may not be running
_FATAL_ERRORS = 3  # end the run if there is no prediction: a single request may be rejected for its content
_YIELD_EVERY = 64  # predictions without waiting, after which other tasks may run

MODEL_FAILURE = "model failure"

Record = Callable[[Case, Prediction], None]
Request = tuple[Case, int]  # a case and a trial


class Budget(Struct):
    """Limits on cost and tokens, and the usage so far; shared by all models of a run."""

    max_cost: float | None = None
    max_tokens: int | None = None
    cost: float = 0.0
    tokens: int = 0

    def add(self, usage: Usage | None) -> None:
        """Add the usage of a prediction; None adds nothing."""
        if usage is not None:
            self.cost += usage.cost or 0.0
            self.tokens += usage.input_tokens + usage.output_tokens

    @property
    def exhausted(self) -> str:
        """The limit that was reached, in words; empty if none was."""
        if self.max_cost is not None and self.cost >= self.max_cost:
            return f"--max-cost {self.max_cost:g} was reached"
        if self.max_tokens is not None and self.tokens >= self.max_tokens:
            return f"--max-tokens-total {self.max_tokens:,} was reached"
        return ""


class ModelWorker:
    """Sends the requests of one model. `stop_reason` says why some requests were not sent; `fatal` means that none can succeed."""

    def __init__(
        self,
        model: Model,
        settings: ModelSettings,
        record: Record,
        *,
        cache: Cache | None = None,
        budget: Budget | None = None,
        keys: Keys | None = None,
        concurrency: int | None = None,
    ) -> None:
        """Prepare the worker. `record` is called with each prediction; `keys` are removed from what the model returns; `concurrency`
        overrides the setting.
        """
        self.model = model
        self.settings = settings
        self.stop_reason = ""
        self.fatal = False
        self._fatal_errors = 0  # consecutive errors that indicate that no other request can succeed
        self.predictions = self.errors = self.cache_hits = 0
        self.limiter = RateLimiter(concurrency or settings.concurrency or model.capabilities.concurrency, settings.rpm)
        self._record = record
        self._cache = cache
        self._budget = budget or Budget()
        self._keys = keys or Keys()

    async def predict_all(self, waves: AsyncIterator[Iterator[Request]]) -> None:
        """Send the requests of one wave after the other; those of a wave are read on demand."""
        async with self.model:
            async for requests in waves:
                async with asyncio.TaskGroup() as group:
                    for _ in range(self.limiter.concurrency):
                        group.create_task(self._work(requests))

    async def predict(self, case: Case, trial: int = 0) -> Prediction | None:
        """Return the prediction for one case and trial, from the cache or the model; None if the worker was stopped first. The model must
        have been entered.
        """
        key = self._key(case, trial)
        prediction = self._from_cache(case, trial, key)
        if prediction is None:
            prediction = await self._from_model(case, trial, key)
            if prediction is None:
                return None
            self._budget.add(prediction.usage)
        if prediction.error:
            self.errors += 1
        else:
            self.predictions += 1
        return prediction

    async def _work(self, requests: Iterator[Request]) -> None:
        done = 0
        while (request := next(requests, None)) is not None and not self._is_stopped():
            prediction = await self.predict(*request)
            if prediction is None:
                return
            self._record(request[0], prediction)
            done += 1
            if done % _YIELD_EVERY == 0:
                await asyncio.sleep(0)

    def _is_stopped(self) -> bool:
        """Return whether to send no more requests. Checked before each request, because a resumed run may have no budget left."""
        self.stop_reason = self.stop_reason or self._budget.exhausted
        return bool(self.stop_reason)

    def _from_cache(self, case: Case, trial: int, key: bytes | None) -> Prediction | None:
        cached = self._cache.get(key) if self._cache and key else None
        if cached is None:
            return None
        self.cache_hits += 1
        seconds = cached.usage.seconds if cached.usage else 0.0
        return _complete(self._keys.redact(cached), case, trial, seconds, 1, self.settings.price)

    async def _from_model(self, case: Case, trial: int, key: bytes | None) -> Prediction | None:
        """Return the prediction; None if the worker was stopped first."""
        loop = asyncio.get_running_loop()
        attempt = 0
        while True:
            slot = await self.limiter.acquire()
            if self._is_stopped():
                self.limiter.release_failed(slot)
                return None
            attempt += 1
            began = loop.time()
            try:
                prediction = await self._attempt(case, trial)
            except ModelError as error:
                seconds = loop.time() - began
                lacks_files = is_out_of_files(error)
                self.limiter.release_failed(slot, rate_limited=error.rate_limited or lacks_files, retry_after=error.retry_after)
                if lacks_files and self.limiter.in_flight:  # the others release files when they are done
                    attempt -= 1
                    await asyncio.sleep(backoff(1))
                    continue
                if self._is_last(error, attempt):
                    message = self._keys.hide(str(error)) + ("" if attempt == 1 else f" ({attempt} attempts)")
                    usage = Usage(round(seconds, 6), attempts=attempt)
                    return Prediction(case.id, trial, error=message, usage=usage)
                await asyncio.sleep(max(backoff(attempt), error.retry_after or 0.0))
            except BaseException:
                self.limiter.release_failed(slot)
                raise
            else:
                seconds = round(loop.time() - began, 6)
                self.limiter.release(slot)
                self._fatal_errors = 0
                if self._cache and key:
                    self._cache.put(key, structs.replace(prediction, usage=structs.replace(prediction.usage or Usage(), seconds=seconds)))
                return _complete(prediction, case, trial, seconds, attempt, self.settings.price)

    async def _attempt(self, case: Case, trial: int) -> Prediction:
        """Return the prediction of one attempt, without keys. A `ModelFailure` is a malformed call, so that it scores 0 even where no call
        is expected; an error is raised as `ModelError`, unless it is that of a conversation that took place.
        """
        try:
            prediction = await self.model.predict(case, trial=trial)
        except ModelFailure as failure:
            return Prediction(case.id, trial, (Call("", malformed=MODEL_FAILURE, text=self._keys.hide(str(failure))),))
        if prediction.error and not prediction.transcript:
            raise ModelError(prediction.error)
        return self._keys.redact(prediction)

    def _is_last(self, error: ModelError, attempt: int) -> bool:
        """Return whether an error ends the attempts, and count it if it indicates that no other request can succeed."""
        fatal = error.fatal and not self.predictions
        attempts = 1 + (min(self.settings.retries, _FIRST_RETRIES) if fatal else self.settings.retries)
        too_long = (error.retry_after or 0.0) > MAX_RETRY_AFTER  # such as an exhausted daily quota
        last = not error.retryable or attempt >= attempts or too_long
        if last and (fatal or too_long) and not self.stop_reason:
            self._fatal_errors += 1
            if self._fatal_errors == _FATAL_ERRORS:
                self.stop_reason, self.fatal = self._keys.hide(str(error)), True
        return last

    def _key(self, case: Case, trial: int) -> bytes | None:
        if self._cache is None:
            return None
        fingerprint = self.model.fingerprint(case, trial)
        return None if fingerprint is None else cache_key(fingerprint, trial, self.settings.parse)


def _complete(prediction: Prediction, case: Case, trial: int, seconds: float, attempts: int, price: Price | None) -> Prediction:
    """Return the prediction with its case, trial and usage. The cost is computed from the price, unless the model reports one."""
    usage = prediction.usage or Usage()
    cost = usage.cost
    if cost is None and price is not None:
        cost = (usage.input_tokens * price.input + usage.output_tokens * price.output) / _MILLION
    usage = Usage(seconds, usage.input_tokens, usage.output_tokens, cost, attempts)
    return structs.replace(prediction, case=case.id, trial=trial, usage=usage)
