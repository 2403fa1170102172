"""Evaluators by name: our own, installed ones, module:name, and document 004's evaluators."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from callmark import grade
from callmark.errors import BadInput
from callmark.grading.attempt import Attempt
from callmark.grading.settings import GradingSettings, build_evaluators, find_evaluator
from callmark.grading.grader import Grader
from callmark.types import Case, Prediction
from tests.rows import made

SUITES = '''
from callmark.grading.evaluators.call import CallEvaluator


class Politeness:
    """Counts calls of a name that is written in small letters."""

    name = "politeness"
    metrics = ("share", "calls")

    def __call__(self, attempt):
        small = [call for call in attempt.actual if call.name.islower()]
        return {"share": len(small) / max(1, len(attempt.actual)), "calls": len(attempt.actual)}


polite = Politeness()


class CountEvaluator:
    """As document 004 writes one."""

    def __call__(self, *, actual_function_calls, expected_function_calls, **kwargs):
        return {"score": float(len(actual_function_calls) == len(expected_function_calls))}


class NeedsMuch:
    def __init__(self, much): ...


def crashes(*, actual_function_calls, expected_function_calls):
    raise ZeroDivisionError("no calls")


class Broken(Politeness):
    name = "broken"

    def __call__(self, attempt):
        return {"share": float("nan"), "calls": 1}


class Other(Broken):
    def __call__(self, attempt):
        return {"shares": 1}


class Listed(Broken):
    def __call__(self, attempt):
        return [1]


class Turning(Politeness):
    """Gives its numbers in another order every other time."""

    name = "turning"
    turn = 0

    def __call__(self, attempt):
        Turning.turn += 1
        return {"share": 1, "calls": 0} if Turning.turn % 2 else {"calls": 0, "share": 1}


class Leaves(Politeness):
    name = "leaves"

    def __call__(self, attempt):
        raise SystemExit(0)


class Huge(Broken):
    def __call__(self, attempt):
        return {"share": 10**5000, "calls": 1}


class Stricter(CallEvaluator):
    """An evaluator of one's own that is made of ours."""

    def __call__(self, attempt):
        return {"score": float(len(attempt.actual)) / 10, "pass": 0.0}


number = 5


def plain(attempt):
    return {}
'''


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    (tmp_path / "my_suites.py").write_text(SUITES)
    monkeypatch.syspath_prepend(tmp_path)
    yield "my_suites"
    sys.modules.pop("my_suites", None)


def test_a_suite_of_ones_own_is_named_as_module_and_name(mine: str) -> None:
    for name in ("polite", "Politeness"):
        graded = grade([made("f")], [made("f"), made("G")], evaluators=("call", find_evaluator(f"{mine}:{name}")))
        assert graded.metrics == {"call.score": 0.666667, "call.pass": 0.0, "politeness.share": 0.5, "politeness.calls": 2.0}


def test_an_evaluator_of_document_004_is_a_suite_of_one_metric(mine: str) -> None:
    evaluator = find_evaluator(f"{mine}:CountEvaluator")
    assert (evaluator.name, evaluator.metrics) == ("CountEvaluator", ("score",))
    assert grade([made("f")], [made("g")], evaluators=(evaluator,)).metrics == {"CountEvaluator.score": 1.0}
    assert grade([made("f")], [], evaluators=(evaluator,)).metrics == {"CountEvaluator.score": 0.0}


def test_our_own_evaluators_of_document_004_are_suites_too() -> None:
    evaluator = find_evaluator("callmark.compat.lob:FunctionCallRecallEvaluator")
    assert grade([made("f"), made("g")], [made("f")], evaluators=(evaluator,)).metrics == {"FunctionCallRecallEvaluator.score": 0.5}


def test_an_installed_suite_is_found_by_its_entry_point(mine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib.metadata import EntryPoint

    def entry_points(*, group: str) -> list[EntryPoint]:
        return [EntryPoint("polite", "my_suites:Politeness", group), EntryPoint("gone", "no_such_module:x", group)]

    monkeypatch.setattr("importlib.metadata.entry_points", entry_points)
    assert find_evaluator("polite").metrics == ("share", "calls")
    with pytest.raises(BadInput, match="'gone' cannot be imported: ModuleNotFoundError"):
        find_evaluator("gone")
    with pytest.raises(BadInput, match="no evaluator called 'polit'. Did you mean polite?"):
        find_evaluator("polit")


@pytest.mark.parametrize(
    "name, sentence",
    [
        ("shema", "there is no evaluator called 'shema'. Did you mean schema?"),
        ("no_such_module:x", "cannot be imported: ModuleNotFoundError"),
        ("my_suites:polit", "the module my_suites has no 'polit'. Did you mean polite?"),
        ("my_suites:number", "is a int, an evaluator was expected"),
        ("my_suites:plain", "is no evaluator: it has no name and no metrics"),
        ("my_suites:NeedsMuch", "cannot be made: TypeError"),
    ],
)
def test_what_is_no_suite_is_refused(mine: str, name: str, sentence: str) -> None:
    with pytest.raises(BadInput) as error:
        find_evaluator(name)
    assert sentence in str(error.value)


@pytest.mark.parametrize(
    "name, sentence",
    [
        ("crashes", "the evaluator 'crashes' failed: ZeroDivisionError: no calls"),
        ("Broken", "gave nan for share, a finite number was expected"),
        ("Huge", "gave a int for share, a finite number was expected"),
        ("Leaves", "the evaluator 'leaves' failed: SystemExit: 0"),
        ("Other", "gave shares, its metrics share, calls were expected"),
        ("Listed", "gave list, its metrics"),
    ],
)
def test_a_suite_that_fails_is_named(mine: str, name: str, sentence: str) -> None:
    with pytest.raises(BadInput) as error:
        grade([made("f")], [made("f")], evaluators=(find_evaluator(f"{mine}:{name}"),))
    assert sentence in str(error.value)


def test_two_suites_of_one_name_and_none_at_all_are_refused(mine: str) -> None:
    with pytest.raises(BadInput, match="two evaluators are called 'call'"):
        build_evaluators(GradingSettings(evaluators=("call", "call")))
    with pytest.raises(BadInput, match="no evaluator to grade by"):
        build_evaluators(GradingSettings(evaluators=()))


def test_settings_reach_our_own_suites() -> None:
    call, schema, process = build_evaluators(GradingSettings(threshold=0.5, weights={"tool_selection": 1.0}, ignore=("f",), averaging="macro"))
    attempt = Attempt([made("f", a=1)], [made("f", a=2)])
    assert call(attempt)["pass"] == 1.0
    assert schema(attempt)["overall"] == 1.0
    assert set(process(attempt).values()) == {1.0}


def test_the_numbers_of_a_suite_stand_in_the_order_it_promised(mine: str) -> None:
    evaluator = find_evaluator(f"{mine}:Turning")
    for _ in range(3):
        assert list(grade([], [], evaluators=(evaluator,)).metrics.items()) == [("turning.share", 1.0), ("turning.calls", 0.0)]


def test_a_suite_made_of_ours_is_asked_every_time(mine: str) -> None:
    grader = Grader(GradingSettings(evaluators=(f"{mine}:Stricter",)))
    for length in (1, 5):
        calls = tuple(made("f") for _ in range(length))
        (record,) = grader.record(Case("c", expected=calls), [Prediction("c", calls=calls)])
        assert record.metrics["call.score"] == length / 10


def test_an_evaluator_sees_stars_and_ruled_values_as_they_were_recorded() -> None:
    evaluator = "callmark.compat.lob:FunctionCallArgsPrecisionEvaluator"
    starred = Grader(GradingSettings(evaluators=(evaluator, "process")))
    (record,) = starred.record(Case("c", expected=(made("f", a="a*b"),)), [Prediction("c", calls=(made("f", a="axxb"),))])
    assert record.metrics["FunctionCallArgsPrecisionEvaluator.score"] == record.metrics["process.args_precision"] == 0.0
    ruled = Grader(GradingSettings(evaluators=(evaluator,), match={"*.a": "similar"}))
    (record,) = ruled.record(Case("c", expected=(made("f", a="A b"),)), [Prediction("c", calls=(made("f", a="a B"),))])
    assert record.metrics == {"FunctionCallArgsPrecisionEvaluator.score": 1.0}


def test_the_current_folder_is_looked_in_only_for_the_suite(mine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here.py").write_text("from my_suites import polite")
    monkeypatch.chdir(tmp_path)
    assert find_evaluator("here:polite").name == "politeness"
    assert "" not in sys.path
    sys.modules.pop("here", None)
