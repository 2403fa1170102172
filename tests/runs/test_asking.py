"""ModelWorker a model every question."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self

import pytest

from callmark.models.model import ModelSettings, ModelError, Price, Question, Reply
from callmark.runs import worker as module
from callmark.runs.worker import ModelWorker, Budget
from callmark.runs.cache import Cache
from callmark.types import Call, Case, Prediction

Plan = Callable[[Question, int], Reply]


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "backoff", lambda attempt: 0.0)


class Planned:
    """A model that does what a plan says: a function of the question and of how often it was asked."""

    label = "planned"
    concurrency = 4

    def __init__(self, plan: Plan, *, remembered: bool = False) -> None:
        self._plan = plan
        self._remembered = remembered
        self.asked: Counter[tuple[str, int]] = Counter()
        self.entered = self.left = 0

    def fingerprint(self, question: Question) -> bytes | None:
        return question.case.id.encode() if self._remembered else None

    async def ask(self, question: Question) -> Reply:
        self.asked[question.case.id, question.trial] += 1
        await asyncio.sleep(0)
        return self._plan(question, self.asked[question.case.id, question.trial])

    async def __aenter__(self) -> Self:
        self.entered += 1
        return self

    async def __aexit__(self, *_: object) -> None:
        self.left += 1


def questions(count: int, trials: int = 1) -> Iterator[Question]:
    return (Question(Case(f"c{place}"), trial, place) for place in range(count) for trial in range(trials))


def right(question: Question, attempt: int) -> Reply:
    return Reply((Call("look", {"id": question.case.id}),), input_tokens=100, output_tokens=10)


def asked(model: Planned, given: Iterator[Question], *, cache: Cache | None = None, budget: Budget | None = None, **settings: object):  # type: ignore[no-untyped-def]
    found: list[Prediction] = []
    one = ModelWorker(model, ModelSettings(**settings), lambda _, prediction: found.append(prediction), cache=cache, budget=budget)  # type: ignore[arg-type]
    asyncio.run(one.ask_all(given))
    return one, sorted(found, key=lambda prediction: (prediction.case, prediction.trial))


def test_every_question_is_asked_once_and_answered() -> None:
    model = Planned(right)
    one, found = asked(model, questions(9, trials=2))
    assert (one.answers, one.errors, one.stopped) == (18, 0, "")
    assert [(prediction.case, prediction.trial) for prediction in found] == [(f"c{place}", trial) for place in range(9) for trial in (0, 1)]
    assert set(model.asked.values()) == {1}
    assert (model.entered, model.left) == (1, 1)


def test_what_may_help_is_tried_again_and_counted() -> None:
    def plan(question: Question, attempt: int) -> Reply:
        if attempt < 3:
            raise ModelError("too busy", again=True, crowded=True)
        return right(question, attempt)

    one, found = asked(Planned(plan), questions(3))
    assert (one.answers, one.errors) == (3, 0)
    assert [prediction.usage.attempts for prediction in found] == [3, 3, 3]


def test_after_the_last_try_it_is_an_error_and_the_others_go_on() -> None:
    def plan(question: Question, attempt: int) -> Reply:
        if question.case.id == "c1":
            raise ModelError("the server said 500", again=True)
        return right(question, attempt)

    model = Planned(plan)
    one, found = asked(model, questions(3), retries=2)
    assert (one.answers, one.errors, one.stopped) == (2, 1, "")
    assert [prediction.error for prediction in found] == ["", "the server said 500 (3 tries)", ""]
    assert model.asked["c1", 0] == 3


def test_what_cannot_help_is_not_tried_again() -> None:
    def plan(question: Question, attempt: int) -> Reply:
        raise ModelError("the request was refused")

    model = Planned(plan)
    one, found = asked(model, questions(2))
    assert [prediction.error for prediction in found] == ["the request was refused"] * 2
    assert set(model.asked.values()) == {1}
    assert one.stopped == ""


def test_where_nobody_ever_answered_and_nobody_will_no_more_are_asked() -> None:
    def plan(question: Question, attempt: int) -> Reply:
        raise ModelError("the key is wrong", hopeless=True)

    one, found = asked(Planned(plan), questions(1000))
    assert one.stopped == "the key is wrong"
    assert one.hopeless
    assert 3 <= len(found) <= 2 + Planned.concurrency


def test_one_question_that_is_refused_for_what_it_asks_does_not_end_the_asking() -> None:
    def plan(question: Question, attempt: int) -> Reply:
        if question.ordinal == 0:
            raise ModelError("not for you", hopeless=True)
        return right(question, attempt)

    one, _ = asked(Planned(plan), questions(20), concurrency=1)
    assert (one.answers, one.errors, one.stopped) == (19, 1, "")


def test_a_server_that_goes_away_after_an_answer_leaves_errors_not_an_end() -> None:
    def plan(question: Question, attempt: int) -> Reply:
        if question.case.id == "c0":
            return right(question, attempt)
        raise ModelError("nobody is there", hopeless=True)

    one, _ = asked(Planned(plan), questions(20), concurrency=1)
    assert (one.answers, one.errors, one.stopped) == (1, 19, "")


def test_asked_to_wait_longer_than_anyone_would_is_an_error_at_once() -> None:
    def plan(question: Question, attempt: int) -> Reply:
        raise ModelError("come back tomorrow", again=True, wait=86_400)

    model = Planned(plan)
    _, found = asked(model, questions(1))
    assert found[0].error == "come back tomorrow"


@pytest.mark.parametrize(
    "budget, said",
    [
        (Budget(most_cost=0.0005), "--max-cost 0.0005 was reached"),
        (Budget(most_tokens=500), "--max-tokens-total 500 was reached"),
    ],
)
def test_a_budget_stops_the_asking_and_says_which(budget: Budget, said: str) -> None:
    one, found = asked(Planned(right), questions(1000), budget=budget, price=Price(1.0, 2.0), concurrency=2)
    assert one.stopped == said
    assert 5 <= len(found) <= 6  # 110 tokens and 0.00012 each; what was in flight is kept
    assert found[0].usage.cost == pytest.approx(120 / 1e6)


def test_what_was_answered_before_is_remembered_and_trials_are_distinct(tmp_path: Path) -> None:
    first, second = Planned(right, remembered=True), Planned(right, remembered=True)
    cache = Cache(str(tmp_path / "r"))
    _, before = asked(first, questions(5), cache=cache)
    one, after = asked(second, questions(5, trials=2), cache=cache)
    cache.close()
    assert one.remembered == 5
    assert sorted(second.asked) == [(f"c{place}", 1) for place in range(5)]
    assert [prediction for prediction in after if prediction.trial == 0] == before


def test_errors_are_not_remembered(tmp_path: Path) -> None:
    def plan(question: Question, attempt: int) -> Reply:
        raise ModelError("no")

    cache = Cache(str(tmp_path / "r"))
    asked(Planned(plan, remembered=True), questions(2), cache=cache)
    again = Planned(right, remembered=True)
    asked(again, questions(2), cache=cache)
    cache.close()
    assert again.asked.total() == 2


def test_a_model_that_cannot_be_remembered_is_asked_every_time(tmp_path: Path) -> None:
    cache = Cache(str(tmp_path / "r"))
    for model in (one := Planned(right), two := Planned(right)):
        asked(model, questions(2), cache=cache)
    cache.close()
    assert (one.asked.total(), two.asked.total()) == (2, 2)


def test_cancelling_leaves_the_model_and_keeps_what_came() -> None:
    found: list[Prediction] = []

    class Slow(Planned):
        async def ask(self, question: Question) -> Reply:
            if question.ordinal >= 3:
                await asyncio.sleep(60)
            return await super().ask(question)

    model = Slow(right)

    async def main() -> None:
        task = asyncio.create_task(ModelWorker(model, ModelSettings(), lambda _, one: found.append(one)).ask_all(questions(10)))
        await asyncio.sleep(0.05)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(main())
    assert sorted(prediction.case for prediction in found) == ["c0", "c1", "c2"]
    assert model.left == 1


def test_a_quota_that_is_used_up_for_the_day_ends_the_asking_without_waiting() -> None:
    def plan(question: Question, attempt: int) -> Reply:
        if question.ordinal < 5:
            return right(question, attempt)
        raise ModelError("come back tomorrow", again=True, crowded=True, wait=86_400)

    one, found = asked(Planned(plan), questions(1000), concurrency=1)
    assert (one.answers, one.errors, one.stopped) == (5, 3, "come back tomorrow")
    assert len(found) == 8
