"""ModelWorker a model every question: so many at a time, again where that may help, each answer handed over as it comes.

What is not the model's doing becomes a prediction with an `error` after the last try. Where nothing was ever answered and three errors say
that no other question will fare better, no more are asked. A budget that is used up ends the asking; what is in flight is waited for,
as it has to be paid for anyway. Cancelling stops at once, and loses what is in flight.
"""

import asyncio
from collections.abc import Callable, Iterator

from msgspec import Struct

from callmark.models.model import Model, ModelSettings, ModelError, Price, Question, Reply
from callmark.runs.cache import Cache, Kept, key_of
from callmark.runs.limiter import MOST_PATIENT, RateLimiter, backoff
from callmark.types import Prediction, Usage

_MILLION = 1_000_000
_FEW = 2  # tries again where nobody has answered yet, and perhaps nobody is there
_ENOUGH = 3  # such questions, with not one answer, that end the asking: one alone may be refused for what it asks
_TURNS = 64  # replies without waiting after which others get a chance to run

Record = Callable[[Question, Prediction], None]


class Budget(Struct):
    """What may be spent, and what has been; shared by all models of a run."""

    most_cost: float | None = None
    most_tokens: int | None = None
    cost: float = 0.0
    tokens: int = 0

    def add(self, usage: Usage | None) -> None:
        if usage is not None:
            self.cost += usage.cost or 0.0
            self.tokens += usage.input_tokens + usage.output_tokens

    @property
    def reached(self) -> str:
        """Which limit was reached, in words; empty while there is something left."""
        if self.most_cost is not None and self.cost >= self.most_cost:
            return f"--max-cost {self.most_cost:g} was reached"
        if self.most_tokens is not None and self.tokens >= self.most_tokens:
            return f"--max-tokens-total {self.most_tokens:,} was reached"
        return ""


class ModelWorker:
    """One model, and what has come of asking it so far. `stopped` says why not everything was asked, if that is so."""

    def __init__(
        self,
        model: Model,
        settings: ModelSettings,
        record: Record,
        *,
        cache: Cache | None = None,
        budget: Budget | None = None,
        hide: Callable[[str], str] = str,
    ) -> None:
        """`record` is handed each prediction; `hide` takes keys out of what is said of errors."""
        self.model = model
        self.settings = settings
        self.stopped = ""
        self.hopeless = False
        self._in_vain = 0  # questions that ended in an error which says that no other will fare better
        self.answers = self.errors = self.remembered = 0
        self.pace = RateLimiter(settings.concurrency or model.concurrency, settings.rpm)
        self._record = record
        self._cache = cache
        self._budget = budget or Budget()
        self._hide = hide

    async def ask_all(self, questions: Iterator[Question]) -> None:
        """Ask every question; they are taken as they are needed."""
        async with self.model, asyncio.TaskGroup() as group:
            for _ in range(self.pace.at_once):
                group.create_task(self._work(questions))

    async def answer(self, question: Question) -> Prediction | None:
        """The prediction for one question, remembered or asked for; None where the asking was stopped before there was one. The model has
        to be entered.
        """
        key = self._key(question)
        prediction = self._remembered(question, key)
        if prediction is None:
            prediction = await self._asked(question, key)
            if prediction is None:
                return None
            self._budget.add(prediction.usage)
        if prediction.error:
            self.errors += 1
        else:
            self.answers += 1
        return prediction

    async def _work(self, questions: Iterator[Question]) -> None:
        asked = 0
        while (question := next(questions, None)) is not None and not self._is_over():
            prediction = await self.answer(question)
            if prediction is None:
                return
            self._record(question, prediction)
            asked += 1
            if asked % _TURNS == 0:
                await asyncio.sleep(0)

    def _is_over(self) -> bool:
        """Whether no more is asked; looked at before each question, as a run that is gone on with may have spent everything before."""
        self.stopped = self.stopped or self._budget.reached
        return bool(self.stopped)

    def _remembered(self, question: Question, key: bytes | None) -> Prediction | None:
        kept = self._cache.get(key) if self._cache and key else None
        if kept is None:
            return None
        self.remembered += 1
        return _prediction(question, kept.reply, kept.seconds, 1, self.settings.price)

    async def _asked(self, question: Question, key: bytes | None) -> Prediction | None:
        """The prediction; None where the asking was stopped before there was one."""
        loop = asyncio.get_running_loop()
        attempt = 0
        while True:
            turn = await self.pace.take()
            if self._is_over():
                self.pace.failed(turn)
                return None
            attempt += 1
            began = loop.time()
            try:
                reply = await self.model.ask(question)
            except ModelError as error:
                seconds = loop.time() - began
                self.pace.failed(turn, crowded=error.crowded, wait=error.wait)
                if self._is_last(error, attempt):
                    said = self._hide(str(error)) + ("" if attempt == 1 else f" ({attempt} tries)")
                    usage = Usage(round(seconds, 6), attempts=attempt)
                    return Prediction(question.case.id, question.trial, error=said, usage=usage)
                await asyncio.sleep(max(backoff(attempt), error.wait or 0.0))
            except BaseException:
                self.pace.failed(turn)
                raise
            else:
                seconds = round(loop.time() - began, 6)
                self.pace.answered(turn)
                self._in_vain = 0
                if self._cache and key:
                    self._cache.put(key, Kept(reply, seconds))
                return _prediction(question, reply, seconds, attempt, self.settings.price)

    def _is_last(self, error: ModelError, attempt: int) -> bool:
        alone = error.hopeless and not self.answers
        tries = 1 + (min(self.settings.retries, _FEW) if alone else self.settings.retries)
        too_long = (error.wait or 0.0) > MOST_PATIENT  # a quota that is used up for the day
        last = not error.again or attempt >= tries or too_long
        if last and (alone or too_long) and not self.stopped:
            self._in_vain += 1
            if self._in_vain == _ENOUGH:
                self.stopped, self.hopeless = self._hide(str(error)), True
        return last

    def _key(self, question: Question) -> bytes | None:
        if self._cache is None:
            return None
        fingerprint = self.model.fingerprint(question)
        return None if fingerprint is None else key_of(fingerprint, question.trial, self.settings.parse)


def _prediction(question: Question, reply: Reply, seconds: float, attempts: int, price: Price | None) -> Prediction:
    cost = (reply.input_tokens * price.input + reply.output_tokens * price.output) / _MILLION if price else None
    usage = Usage(seconds, reply.input_tokens, reply.output_tokens, cost if reply.cost is None else reply.cost, attempts)
    return Prediction(
        question.case.id,
        question.trial,
        reply.calls,
        reply.text,
        reply.thinking,
        "",
        reply.finish,
        usage,
        reply.transcript,
        reply.ending,
        reply.states,
        misses=reply.misses,
    )
