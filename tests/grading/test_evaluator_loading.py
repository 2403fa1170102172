"""Evaluators by name: built in, installed, module:name; and what is accepted as one."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from callmark.errors import BadInput, EvaluatorError
from callmark.grading.attempt import Attempt
from callmark.grading.grade import grade
from callmark.grading.grader import Grader
from callmark.grading.settings import GradingSettings, build_evaluators, find_evaluator
from callmark.types import Call, Case, Prediction
from tests.rows import tool_call

EVALUATORS = '''
from callmark.grading.evaluator import Metric, Result
from callmark.grading.evaluators.call import CallEvaluator


class Politeness:
    """Counts calls of a name that is written in small letters."""

    name = "politeness"
    metrics = (Metric("share", "polite calls"), Metric("calls", "calls", kind="count", bounds=None))

    def evaluate(self, attempt):
        small = [call for call in attempt.actual if call.name.islower()]
        return Result({"share": len(small) / max(1, len(attempt.actual)), "calls": len(attempt.actual)})


polite = Politeness()


class CountEvaluator:
    """As the LOB evaluation writes one."""

    def __call__(self, *, actual_function_calls, expected_function_calls, **kwargs):
        return {"score": float(len(actual_function_calls) == len(expected_function_calls))}


class NeedsMuch:
    def __init__(self, much): ...


def crashes(*, actual_function_calls, expected_function_calls):
    raise ZeroDivisionError("no calls")


class Broken(Politeness):
    name = "broken"

    def evaluate(self, attempt):
        return Result({"share": float("nan"), "calls": 1})


class Beyond(Broken):
    def evaluate(self, attempt):
        return Result({"share": 1.5, "calls": 1})


class Other(Broken):
    def evaluate(self, attempt):
        return Result({"shares": 1})


class Listed(Broken):
    def evaluate(self, attempt):
        return [1]


class Turning(Politeness):
    """Returns its values in another order every other time."""

    name = "turning"
    turn = 0

    def evaluate(self, attempt):
        Turning.turn += 1
        return Result({"share": 1, "calls": 0} if Turning.turn % 2 else {"calls": 0, "share": 1})


class Leaves(Politeness):
    name = "leaves"

    def evaluate(self, attempt):
        raise SystemExit(0)


class Huge(Broken):
    def evaluate(self, attempt):
        return Result({"share": 10**5000, "calls": 1})


class Stricter(CallEvaluator):
    """A user's evaluator that inherits from a built-in one."""

    def evaluate(self, attempt):
        return Result({"score": float(len(attempt.actual)) / 10, "pass": 0.0, "arguments": None})


class Weighed(Politeness):
    name = "weighed"

    def __init__(self, weight=1.0, words=()):
        self.weight, self.words = weight, words

    def evaluate(self, attempt):
        return Result({"share": self.weight, "calls": len(self.words)})


class Nameless:
    metrics = (Metric("a", "a"),)

    def evaluate(self, attempt):
        return Result({"a": 1.0})


class OldStyle:
    name = "old"
    metrics = ("share",)

    def evaluate(self, attempt):
        return {"share": 1.0}


number = 5


def brevity(attempt):
    return 1 / max(1, len(attempt.actual))


def counts(attempt):
    return {"expected": len(attempt.expected), "actual": None}


def explained(attempt):
    return Result({"score": 0.5}, reasons={"score": "half of it is there"})


def no_arguments():
    return 1.0
'''


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    (tmp_path / "my_evaluators.py").write_text(EVALUATORS)
    monkeypatch.syspath_prepend(tmp_path)
    yield "my_evaluators"
    sys.modules.pop("my_evaluators", None)


def metric_names(name: str) -> list[str]:
    return [metric.name for metric in find_evaluator(name).metrics]


def test_object_and_class_of_the_protocol_are_found_by_module_and_name(module: str) -> None:
    for name in ("polite", "Politeness"):
        graded = grade([tool_call("f")], [tool_call("f"), tool_call("G")], evaluators=("call", find_evaluator(f"{module}:{name}")))
        assert {name: graded.metrics[name] for name in graded.metrics if name != "call.arguments"} == {
            "call.score": 0.666667,
            "call.pass": 0.0,
            "politeness.share": 0.5,
            "politeness.calls": 2.0,
        }


def test_lob_evaluator_has_the_metric_score_and_the_name_of_its_class(module: str) -> None:
    evaluator = find_evaluator(f"{module}:CountEvaluator")
    assert (evaluator.name, metric_names(f"{module}:CountEvaluator")) == ("CountEvaluator", ["score"])
    assert grade([tool_call("f")], [tool_call("g")], evaluators=(evaluator,)).metrics == {"CountEvaluator.score": 1.0}
    assert grade([tool_call("f")], [], evaluators=(evaluator,)).metrics == {"CountEvaluator.score": 0.0}


def test_lob_evaluators_of_the_compat_package_are_evaluators() -> None:
    evaluator = find_evaluator("callmark.compat.lob:FunctionCallRecallEvaluator")
    assert grade([tool_call("f"), tool_call("g")], [tool_call("f")], evaluators=(evaluator,)).metrics == {
        "FunctionCallRecallEvaluator.score": 0.5
    }


@pytest.mark.parametrize(
    "name, metrics, reasons",
    [
        ("brevity", {"brevity.score": 0.5}, {}),
        ("counts", {"counts.expected": 1.0}, {}),
        ("explained", {"explained.score": 0.5}, {"explained.score": "half of it is there"}),
    ],
)
def test_function_of_the_attempt_returns_a_number_a_dict_or_a_result(
    module: str, name: str, metrics: dict[str, float], reasons: dict[str, str]
) -> None:
    graded = grade([tool_call("f")], [tool_call("f"), tool_call("g")], evaluators=(f"{module}:{name}",))
    assert (graded.metrics, graded.reasons) == (metrics, reasons)


def test_function_is_accepted_as_an_object_too() -> None:
    def share(attempt: Attempt) -> float:
        return len(attempt.expected) / len(attempt.actual)

    assert grade([tool_call("f")], [tool_call("f"), tool_call("g")], evaluators=(share,)).metrics == {"share.score": 0.5}


def test_installed_evaluator_is_found_by_its_entry_point(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib.metadata import EntryPoint

    def entry_points(*, group: str) -> list[EntryPoint]:
        return [EntryPoint("polite", "my_evaluators:Politeness", group), EntryPoint("gone", "no_such_module:x", group)]

    monkeypatch.setattr("importlib.metadata.entry_points", entry_points)
    assert metric_names("polite") == ["share", "calls"]
    with pytest.raises(
        BadInput, match=r"entry point 'gone' of callmark.evaluators \(no_such_module:x\): cannot be imported: ModuleNotFoundError"
    ):
        find_evaluator("gone")
    with pytest.raises(BadInput, match="unknown evaluator 'polit'. Did you mean polite?"):
        find_evaluator("polit")


@pytest.mark.parametrize(
    "name, sentence",
    [
        ("shema", "unknown evaluator 'shema'. Did you mean schema?"),
        ("no_such_module:x", "evaluator 'no_such_module:x': no module named no_such_module"),
        ("my_evaluators:polit", "evaluator 'my_evaluators:polit': module my_evaluators has no attribute 'polit'. Did you mean polite?"),
        ("my_evaluators:number", "'my_evaluators:number': expected an evaluator, got int"),
        ("my_evaluators:no_arguments", "'my_evaluators:no_arguments' is not an evaluator"),
        ("my_evaluators:NeedsMuch", "evaluator 'my_evaluators:NeedsMuch' cannot be constructed: TypeError"),
        ("my_evaluators:Nameless", "is not an evaluator: name: expected a string, got None"),
        ("my_evaluators:OldStyle", "is not an evaluator: metrics: expected a tuple of Metric, got ('share',)"),
        ("policy", "the evaluator policy needs rules"),
    ],
)
def test_invalid_evaluator_is_rejected(module: str, name: str, sentence: str) -> None:
    with pytest.raises(BadInput) as error:
        find_evaluator(name)
    assert sentence in str(error.value)


FAILING = [
    ("crashes", "crashes", "ZeroDivisionError: no calls"),
    ("Broken", "broken", "EvaluatorError: share: expected a finite number, got nan"),
    ("Beyond", "broken", "EvaluatorError: share: expected a number from 0 to 1, got 1.5"),
    ("Huge", "broken", "EvaluatorError: share: expected a finite number, got (int that cannot be displayed)"),
    ("Leaves", "leaves", "SystemExit: 0"),
    ("Other", "broken", "EvaluatorError: expected the metrics share, calls, got shares"),
    ("Listed", "broken", "EvaluatorError: expected a Result, got list"),
]


@pytest.mark.parametrize("source, name, error", FAILING)
def test_failing_evaluator_raises_if_one_item_is_graded(module: str, source: str, name: str, error: str) -> None:
    with pytest.raises(EvaluatorError) as raised:
        grade([tool_call("f")], [tool_call("f")], evaluators=(find_evaluator(f"{module}:{source}"),))
    assert str(raised.value) == f"evaluator {name!r} failed: {error}"


@pytest.mark.parametrize("source, name, error", FAILING)
def test_failing_evaluator_is_an_evaluator_error_of_the_case(module: str, source: str, name: str, error: str) -> None:
    grader = Grader(GradingSettings(evaluators=("call", f"{module}:{source}")))
    (record,) = grader.record(Case("c", expected=(tool_call("f"),)), [Prediction("c", calls=(tool_call("f"),))])
    assert record.metrics == {"call.score": 1.0, "call.pass": 1.0, "call.arguments": 1.0}
    assert record.evaluator_errors == {name: error}
    assert not record.error


def test_duplicate_evaluators_and_an_empty_selection_are_rejected(module: str) -> None:
    with pytest.raises(BadInput, match="two evaluators are named 'call': names must be unique"):
        build_evaluators(GradingSettings(evaluators=("call", "call")))
    with pytest.raises(BadInput, match="no evaluators are selected"):
        build_evaluators(GradingSettings(evaluators=()))


def test_options_reach_built_in_evaluators() -> None:
    options: dict[str, dict[str, Any]] = {
        "call": {"threshold": 0.5},
        "schema": {"weights": {"tool_selection": 1.0}},
        "process": {"ignore": ["f"], "averaging": "macro"},
    }
    call, schema, process = build_evaluators(GradingSettings(options=options)).evaluators
    attempt = Attempt([tool_call("f", a=1)], [tool_call("f", a=2)])
    assert call.evaluate(attempt).values["pass"] == 1.0
    assert schema.evaluate(attempt).values["overall"] == 1.0
    assert set(process.evaluate(attempt).values.values()) == {1.0}


def test_options_are_keyword_arguments_of_a_users_class(module: str) -> None:
    name = f"{module}:Weighed"
    (evaluator,) = build_evaluators(GradingSettings((name,), {name: {"weight": 0.25, "words": ["please", "thanks"]}})).evaluators
    assert evaluator.evaluate(Attempt((), ())).values == {"share": 0.25, "calls": 2}
    with pytest.raises(BadInput, match="evaluator 'my_evaluators:Weighed': unknown option 'wieght'. Did you mean weight?"):
        build_evaluators(GradingSettings((name,), {name: {"wieght": 0.25}}))
    with pytest.raises(BadInput, match="takes no options: it is a function, not a class"):
        build_evaluators(GradingSettings((f"{module}:brevity",), {f"{module}:brevity": {"a": 1}}))


def test_evaluator_is_added_if_its_required_options_are_set() -> None:
    rules = {"rules": [{"id": "no", "says": "No.", "never": "f"}]}
    settings = GradingSettings(("call",), {"policy": {"rules": rules}, "effort": {"ignore": []}})
    assert [evaluator.name for evaluator in build_evaluators(settings).evaluators] == ["call", "policy"]


def test_values_are_in_the_declared_order(module: str) -> None:
    evaluator = find_evaluator(f"{module}:Turning")
    for _ in range(3):
        assert list(grade([], [], evaluators=(evaluator,)).metrics.items()) == [("turning.share", 1.0), ("turning.calls", 0.0)]


def test_subclass_of_a_built_in_evaluator_is_evaluated_every_time(module: str) -> None:
    grader = Grader(GradingSettings(evaluators=(f"{module}:Stricter",)))
    for length in (1, 5):
        calls = tuple(tool_call("f") for _ in range(length))
        (record,) = grader.record(Case("c", expected=calls), [Prediction("c", calls=calls)])
        assert record.metrics["call.score"] == length / 10


def test_lob_evaluator_receives_recorded_values() -> None:
    evaluator = "callmark.compat.lob:FunctionCallArgsPrecisionEvaluator"
    starred = Grader(GradingSettings(evaluators=(evaluator, "process")))
    (record,) = starred.record(Case("c", expected=(tool_call("f", a="a*b"),)), [Prediction("c", calls=(tool_call("f", a="axxb"),))])
    assert record.metrics["FunctionCallArgsPrecisionEvaluator.score"] == record.metrics["process.args_precision"] == 0.0
    ruled = Grader(GradingSettings(evaluators=(evaluator,), match={"*.a": "similar"}))
    (record,) = ruled.record(Case("c", expected=(tool_call("f", a="A b"),)), [Prediction("c", calls=(tool_call("f", a="a B"),))])
    assert record.metrics == {"FunctionCallArgsPrecisionEvaluator.score": 1.0}


def test_current_folder_is_searched_only_for_the_evaluator(module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here.py").write_text("from my_evaluators import polite")
    monkeypatch.chdir(tmp_path)
    assert find_evaluator("here:polite").name == "politeness"
    assert "" not in sys.path
    sys.modules.pop("here", None)


def test_faults_name_the_selected_evaluators_that_count_them(module: str) -> None:
    class Lenient:
        name = "lenient"
        metrics = find_evaluator("process").metrics
        counts_faults = "similar"
        ignore = ("g",)

        def evaluate(self, attempt: Attempt) -> object: ...

    from callmark.grading.faults import find_faults

    attempt = Attempt([tool_call("f", a="A b"), tool_call("g", a=1)], [tool_call("f", a="a B"), tool_call("g", a=2)])
    faults = find_faults(attempt, [find_evaluator("call"), Lenient()])  # type: ignore[list-item]
    assert [(fault.argument, fault.evaluators) for fault in faults] == [("a", ("call",)), ("a", ("call",))]
    other = Attempt([tool_call("f")], [Call("h")])
    assert [fault.evaluators for fault in find_faults(other, [Lenient()])] == [("lenient",)]  # type: ignore[list-item]
