"""Predictions for every request: retries, errors, the budget, the cache."""

import asyncio
import errno
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, Self

import pytest

from callmark.models.model import Capabilities, ModelError, ModelFailure, ModelSettings, Price
from callmark.runs import worker as worker_module
from callmark.runs.cache import Cache
from callmark.runs.worker import Budget, ModelWorker, Request
from callmark.types import Call, Case, Prediction, Usage

Behavior = Callable[[Case, int], Prediction]


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_module, "backoff", lambda attempt: 0.0)


class ScriptedModel:
    """A model whose behavior is a function of the case and of how often it was requested."""

    label = "scripted"
    capabilities = Capabilities(4)

    def __init__(self, behavior: Behavior, *, cached: bool = False) -> None:
        self._behavior = behavior
        self._cached = cached
        self.requests: Counter[tuple[str, int]] = Counter()
        self.entered = self.left = 0

    def fingerprint(self, case: Case, trial: int) -> bytes | None:
        return case.id.encode() if self._cached else None

    async def predict(self, case: Case, *, trial: int = 0) -> Prediction:
        self.requests[case.id, trial] += 1
        await asyncio.sleep(0)
        return self._behavior(case, self.requests[case.id, trial])

    async def __aenter__(self) -> Self:
        self.entered += 1
        return self

    async def __aexit__(self, *_: object) -> None:
        self.left += 1


def requests(count: int, trials: int = 1) -> Iterator[Request]:
    return ((Case(f"c{place}", index=place), trial) for place in range(count) for trial in range(trials))


async def one_wave(wanted: Iterator[Request]) -> AsyncIterator[Iterator[Request]]:
    yield wanted


def right(case: Case, attempt: int) -> Prediction:
    return Prediction(case.id, 0, (Call("look", {"id": case.id}),), usage=Usage(0.0, 100, 10))


def run_worker(
    model: ScriptedModel, wanted: Iterator[Request], *, cache: Cache | None = None, budget: Budget | None = None, **settings: Any
) -> tuple[ModelWorker, list[Prediction]]:
    predictions: list[Prediction] = []
    worker = ModelWorker(model, ModelSettings(**settings), lambda _, prediction: predictions.append(prediction), cache=cache, budget=budget)
    asyncio.run(worker.predict_all(one_wave(wanted)))
    return worker, sorted(predictions, key=lambda prediction: (prediction.case, prediction.trial))


def test_every_request_is_sent_once_and_gets_a_prediction() -> None:
    model = ScriptedModel(right)
    worker, predictions = run_worker(model, requests(9, trials=2))
    assert (worker.predictions, worker.errors, worker.stop_reason) == (18, 0, "")
    assert [(prediction.case, prediction.trial) for prediction in predictions] == [
        (f"c{place}", trial) for place in range(9) for trial in (0, 1)
    ]
    assert set(model.requests.values()) == {1}
    assert (model.entered, model.left) == (1, 1)


def test_retryable_errors_are_retried_and_attempts_are_counted() -> None:
    def behavior(case: Case, attempt: int) -> Prediction:
        if attempt < 3:
            raise ModelError("too busy", retryable=True, rate_limited=True)
        return right(case, attempt)

    worker, predictions = run_worker(ScriptedModel(behavior), requests(3))
    assert (worker.predictions, worker.errors) == (3, 0)
    assert [prediction.usage and prediction.usage.attempts for prediction in predictions] == [3, 3, 3]


def test_after_the_last_attempt_the_case_is_an_error_and_the_others_continue() -> None:
    def behavior(case: Case, attempt: int) -> Prediction:
        if case.id == "c1":
            raise ModelError("the server reason 500", retryable=True)
        return right(case, attempt)

    model = ScriptedModel(behavior)
    worker, predictions = run_worker(model, requests(3), retries=2)
    assert (worker.predictions, worker.errors, worker.stop_reason) == (2, 1, "")
    assert [prediction.error for prediction in predictions] == ["", "the server reason 500 (3 attempts)", ""]
    assert model.requests["c1", 0] == 3


class FileHungryModel(ScriptedModel):
    """A model that can open files for two predictions at a time."""

    capabilities = Capabilities(8)

    def __init__(self, behavior: Behavior) -> None:
        super().__init__(behavior)
        self._open = 0

    async def predict(self, case: Case, *, trial: int = 0) -> Prediction:
        try:
            if self._open == 2:
                raise OSError(errno.EMFILE, "Too many open files")
        except OSError:
            raise ModelError("cannot be started", fatal=True) from None
        self._open += 1
        await asyncio.sleep(0)
        prediction = await super().predict(case, trial=trial)
        self._open -= 1
        return prediction


def test_too_few_open_files_lower_the_concurrency_and_lose_nothing() -> None:
    worker, predictions = run_worker(FileHungryModel(right), requests(200), retries=0)
    assert (worker.predictions, worker.errors, worker.stop_reason) == (200, 0, "")
    assert {prediction.usage and prediction.usage.attempts for prediction in predictions} == {1}


def test_too_few_open_files_for_a_single_request_are_an_error() -> None:
    def behavior(case: Case, attempt: int) -> Prediction:
        raise ModelError("cannot be started") from OSError(errno.ENFILE, "Too many open files in system")

    _, predictions = run_worker(ScriptedModel(behavior), requests(6))
    assert [prediction.error for prediction in predictions] == ["cannot be started"] * 6


def test_errors_that_are_not_retryable_are_not_retried() -> None:
    def behavior(case: Case, attempt: int) -> Prediction:
        raise ModelError("the request was refused")

    model = ScriptedModel(behavior)
    worker, predictions = run_worker(model, requests(2))
    assert [prediction.error for prediction in predictions] == ["the request was refused"] * 2
    assert set(model.requests.values()) == {1}
    assert worker.stop_reason == ""


def test_fatal_errors_before_any_prediction_stop_the_run() -> None:
    def behavior(case: Case, attempt: int) -> Prediction:
        raise ModelError("the key is wrong", fatal=True)

    worker, predictions = run_worker(ScriptedModel(behavior), requests(1000))
    assert worker.stop_reason == "the key is wrong"
    assert worker.fatal
    assert 3 <= len(predictions) <= 2 + ScriptedModel.capabilities.concurrency


def test_one_refused_request_does_not_stop_the_run() -> None:
    def behavior(case: Case, attempt: int) -> Prediction:
        if case.index == 0:
            raise ModelError("not for you", fatal=True)
        return right(case, attempt)

    worker, _ = run_worker(ScriptedModel(behavior), requests(20), concurrency=1)
    assert (worker.predictions, worker.errors, worker.stop_reason) == (19, 1, "")


def test_a_server_that_goes_away_after_a_prediction_leaves_errors_and_does_not_stop_the_run() -> None:
    def behavior(case: Case, attempt: int) -> Prediction:
        if case.id == "c0":
            return right(case, attempt)
        raise ModelError("nobody is there", fatal=True)

    worker, _ = run_worker(ScriptedModel(behavior), requests(20), concurrency=1)
    assert (worker.predictions, worker.errors, worker.stop_reason) == (1, 19, "")


def test_a_too_long_retry_after_is_an_error_at_once() -> None:
    def behavior(case: Case, attempt: int) -> Prediction:
        raise ModelError("come back tomorrow", retryable=True, retry_after=86_400)

    model = ScriptedModel(behavior)
    _, predictions = run_worker(model, requests(1))
    assert predictions[0].error == "come back tomorrow"


@pytest.mark.parametrize(
    "budget, reason",
    [
        (Budget(max_cost=0.0005), "--max-cost 0.0005 was reached"),
        (Budget(max_tokens=500), "--max-tokens-total 500 was reached"),
    ],
)
def test_a_used_up_budget_stops_the_run_and_is_named(budget: Budget, reason: str) -> None:
    worker, predictions = run_worker(ScriptedModel(right), requests(1000), budget=budget, price=Price(1.0, 2.0), concurrency=2)
    assert worker.stop_reason == reason
    assert 5 <= len(predictions) <= 6  # 110 tokens and 0.00012 each; requests in flight are waited for
    assert predictions[0].usage is not None
    assert predictions[0].usage.cost == pytest.approx(120 / 1e6)


def test_predictions_are_cached_by_trial(tmp_path: Path) -> None:
    first, second = ScriptedModel(right, cached=True), ScriptedModel(right, cached=True)
    cache = Cache(str(tmp_path / "r"))
    _, before = run_worker(first, requests(5), cache=cache)
    worker, after = run_worker(second, requests(5, trials=2), cache=cache)
    cache.close()
    assert worker.cache_hits == 5
    assert sorted(second.requests) == [(f"c{place}", 1) for place in range(5)]
    assert [prediction for prediction in after if prediction.trial == 0] == before


def test_errors_are_not_cached(tmp_path: Path) -> None:
    def behavior(case: Case, attempt: int) -> Prediction:
        raise ModelError("no")

    cache = Cache(str(tmp_path / "r"))
    run_worker(ScriptedModel(behavior, cached=True), requests(2), cache=cache)
    again = ScriptedModel(right, cached=True)
    run_worker(again, requests(2), cache=cache)
    cache.close()
    assert again.requests.total() == 2


def test_a_model_without_a_fingerprint_is_not_cached(tmp_path: Path) -> None:
    cache = Cache(str(tmp_path / "r"))
    for model in (first := ScriptedModel(right), second := ScriptedModel(right)):
        run_worker(model, requests(2), cache=cache)
    cache.close()
    assert (first.requests.total(), second.requests.total()) == (2, 2)


def test_cancelling_exits_the_model_and_keeps_recorded_predictions() -> None:
    predictions: list[Prediction] = []

    class Slow(ScriptedModel):
        async def predict(self, case: Case, *, trial: int = 0) -> Prediction:
            if case.index >= 3:
                await asyncio.sleep(60)
            return await super().predict(case, trial=trial)

    model = Slow(right)

    async def main() -> None:
        task = asyncio.create_task(
            ModelWorker(model, ModelSettings(), lambda _, prediction: predictions.append(prediction)).predict_all(one_wave(requests(10)))
        )
        await asyncio.sleep(0.05)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(main())
    assert sorted(prediction.case for prediction in predictions) == ["c0", "c1", "c2"]
    assert model.left == 1


def test_a_used_up_daily_quota_stops_the_run_without_waiting() -> None:
    def behavior(case: Case, attempt: int) -> Prediction:
        if case.index < 5:
            return right(case, attempt)
        raise ModelError("come back tomorrow", retryable=True, rate_limited=True, retry_after=86_400)

    worker, predictions = run_worker(ScriptedModel(behavior), requests(1000), concurrency=1)
    assert (worker.predictions, worker.errors, worker.stop_reason) == (5, 3, "come back tomorrow")
    assert len(predictions) == 8


def test_model_failure_is_a_malformed_call_that_is_scored() -> None:
    def behavior(case: Case, attempt: int) -> Prediction:
        raise ModelFailure("too hard")

    worker, predictions = run_worker(ScriptedModel(behavior), requests(2))
    assert (worker.predictions, worker.errors) == (2, 0)
    failure = Call("", malformed="model failure", text="too hard")
    assert [(prediction.calls, prediction.error) for prediction in predictions] == [((failure,), "")] * 2


def test_prediction_that_holds_an_error_is_an_error_and_not_cached(tmp_path: Path) -> None:
    def behavior(case: Case, attempt: int) -> Prediction:
        return Prediction(case.id, error="broken")

    cache = Cache(str(tmp_path / "r"))
    worker, predictions = run_worker(ScriptedModel(behavior, cached=True), requests(1), cache=cache)
    assert (worker.errors, predictions[0].error) == (1, "broken")
    worker, predictions = run_worker(ScriptedModel(right, cached=True), requests(1), cache=cache)
    cache.close()
    assert (worker.cache_hits, predictions[0].error) == (0, "")


def test_prediction_gets_the_case_and_trial_of_its_request() -> None:
    _, predictions = run_worker(ScriptedModel(lambda case, attempt: Prediction("other", 7)), requests(1, trials=2))
    assert [(prediction.case, prediction.trial) for prediction in predictions] == [("c0", 0), ("c0", 1)]
