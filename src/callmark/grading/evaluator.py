"""The evaluators by name. An evaluator is a small object that anyone can write: a name, the names of its metrics, and a pure function from an
attempt to their numbers.

One is found among our own (`call`, `schema`, `process`; for whole conversations `state`, `policy`, `effort`, `recorded`), as an entry point
of the group `callmark.evaluators`, or as `module:name`: the evaluator itself, or a class that makes one. An evaluator of document 004
(`actual_function_calls=`, `expected_function_calls=`, a score) is taken as an evaluator of the one metric `score`. A name that is found nowhere,
a module that does not import and an object that is no evaluator raise `BadInput`.
"""

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from importlib import import_module
from typing import Any, Literal, Protocol, cast

from msgspec import Struct

from callmark.calls.expected import without_globs
from callmark.calls.matchers import SIMILAR
from callmark.errors import BadInput
from callmark.grading.attempt import Attempt
from callmark.grading.evaluators.call import CallEvaluator
from callmark.grading.evaluators.effort import EffortEvaluator
from callmark.grading.evaluators.policy import PolicyEvaluator
from callmark.grading.evaluators.policy_rules import read_rules
from callmark.grading.evaluators.process import IGNORED, ProcessEvaluator
from callmark.grading.evaluators.recorded import RecordedEvaluator
from callmark.grading.evaluators.schema import SchemaEvaluator
from callmark.grading.evaluators.state import StateEvaluator
from callmark.types import Call
from callmark.wording import nearest

OWN = ("call", "schema", "process")  # of any case
SIMULATED = ("process", "state", "effort")  # of conversations that are simulated; where there are rules, policy too
RECORDED = (*OWN, "state", "effort", "recorded")  # of conversations that were recorded with a reward
KNOWN = (*RECORDED, "policy")
BY_CALLS = (
    CallEvaluator,
    SchemaEvaluator,
    ProcessEvaluator,
)  # they look at nothing but calls and tools, and all their numbers are always there
OWN_TYPES = (*BY_CALLS, StateEvaluator, PolicyEvaluator, EffortEvaluator, RecordedEvaluator)
NOTING = (StateEvaluator, PolicyEvaluator)  # that have notes of their own
GROUP = "callmark.evaluators"
_MOST = sys.float_info.max


class Evaluator(Protocol):
    """What an evaluator is. Of our own, those that look at a whole conversation may leave a number out where there is none to give."""

    @property
    def name(self) -> str: ...

    @property
    def metrics(self) -> tuple[str, ...]: ...

    def __call__(self, attempt: Attempt) -> Mapping[str, float]: ...


class Settings(Struct, frozen=True, omit_defaults=True):
    """How to grade, as `callmark.toml` may say it: which evaluators, and what our own leave open."""

    evaluators: tuple[str, ...] = OWN
    threshold: float = 1.0
    weights: dict[str, float] | None = None
    ignore: tuple[str, ...] = IGNORED
    averaging: Literal["micro", "macro"] = "micro"
    match: dict[str, Any] = {}
    policy: dict[str, Any] = {}


def fault_evaluators(evaluators: Sequence[str], *, scenarios: bool) -> frozenset[str]:
    """The evaluators whose faults are told: those that are graded by, and of scenarios the one that is made for them."""
    ours = frozenset(evaluators) & frozenset(OWN)
    return frozenset({"process"}) if "process" in ours and scenarios else ours


def build_evaluators(settings: Settings) -> list[Evaluator]:
    """The evaluators that the settings name, set up as they say; where there are rules, `policy` is among them. An evaluator that is named twice, or
    shares its name, raises `BadInput`.
    """
    found: list[Evaluator] = []
    for name in (*settings.evaluators, *(("policy",) if settings.policy and "policy" not in settings.evaluators else ())):
        evaluator = evaluator_named(name, settings)
        if any(evaluator.name == other.name for other in found):
            raise BadInput(f"two evaluators are called {evaluator.name!r}, each needs a name of its own")
        found.append(evaluator)
    if not found:
        raise BadInput("there is no evaluator to grade by", f"Ours are {', '.join(KNOWN)}.")
    return found


def evaluator_named(name: str, settings: Settings | None = None) -> Evaluator:
    """The evaluator of that name; an unknown name raises `BadInput` with the nearest."""
    if name in KNOWN:
        return _own(name, settings) if settings else _AS_THEY_COME[name]
    if ":" in name:
        return as_evaluator(_imported(name), name)
    return _installed(name)


def _own(name: str, settings: Settings) -> Evaluator:
    match name:
        case "call":
            return CallEvaluator(settings.threshold)
        case "schema":
            return SchemaEvaluator() if settings.weights is None else SchemaEvaluator(settings.weights)
        case "process":
            return ProcessEvaluator(settings.ignore, settings.averaging)
        case "state":
            return StateEvaluator()
        case "effort":
            return EffortEvaluator(settings.ignore)
        case "recorded":
            return RecordedEvaluator()
        case _:
            if not settings.policy:
                raise BadInput("the evaluator policy has no rules to go by", "--policy FILE names them.")
            return PolicyEvaluator(read_rules(settings.policy))


_AS_THEY_COME: dict[str, Evaluator] = {**{name: _own(name, Settings()) for name in RECORDED}, "policy": PolicyEvaluator()}


def as_evaluator(given: Any, name: str) -> Evaluator:
    """The object as an evaluator: one already, a class that makes one, or an evaluator of document 004. `name` is what it was asked for by."""
    made = given
    if isinstance(given, type):
        try:
            made = given()
        except (Exception, SystemExit) as error:
            raise BadInput(f"the evaluator {name!r} cannot be made: {type(error).__name__}: {error}") from None
    if not callable(made):
        raise BadInput(
            f"{name!r} is a {type(made).__name__}, an evaluator was expected: an object with name, metrics and __call__(attempt)"
        )
    if isinstance(getattr(made, "name", None), str) and _is_names(getattr(made, "metrics", None)):
        return cast("Evaluator", made)
    if _takes_function_calls(made):
        return FunctionCallEvaluator(made, getattr(given, "__name__", type(made).__name__))
    raise BadInput(
        f"{name!r} is no evaluator: it has no name and no metrics, nor does it take actual_function_calls and expected_function_calls"
    )


def checked(evaluator: Evaluator, attempt: Attempt) -> Mapping[str, float]:
    """What an evaluator that is not our own says of an attempt; an error of it, or anything but the numbers it promised, raises `BadInput`."""
    try:
        with redirect_stdout(sys.stderr):  # what it prints is not what was asked for
            said = evaluator(attempt)
    except (Exception, SystemExit) as error:
        raise BadInput(f"the evaluator {evaluator.name!r} failed: {type(error).__name__}: {error}") from error
    if not isinstance(said, Mapping) or set(said) != set(evaluator.metrics):
        found = ", ".join(map(str, said)) if isinstance(said, Mapping) else type(said).__name__
        raise BadInput(
            f"the evaluator {evaluator.name!r} gave {found or 'nothing'}, its metrics {', '.join(evaluator.metrics)} were expected"
        )
    for key, value in said.items():
        if not isinstance(value, int | float) or not -_MOST <= value <= _MOST:
            raise BadInput(f"the evaluator {evaluator.name!r} gave {_shown(value)} for {key}, a finite number was expected")
    return {key: float(said[key]) for key in evaluator.metrics}


def _shown(value: Any) -> str:
    try:
        return repr(value)[:40]
    except Exception:  # an integer of more digits than Python writes, an object that cannot be shown
        return f"a {type(value).__name__}"


class FunctionCallEvaluator:
    """An evaluator of document 004 as an evaluator of one metric."""

    metrics = ("score",)

    def __init__(self, evaluator: Callable[..., Any], name: str) -> None:
        self.name = name
        self._evaluator = evaluator

    def __call__(self, attempt: Attempt) -> dict[str, float]:
        result = self._evaluator(
            actual_function_calls=[_function_call(call, call.arguments) for call in attempt.actual],
            expected_function_calls=[_function_call(call, _ground_truth(call.arguments)) for call in attempt.expected],
        )
        score = result.get("score") if isinstance(result, Mapping) else getattr(result, "score", result)
        return {"score": cast("float", score)}


def _function_call(call: Call, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"functionName": call.name, "arguments": call.text if call.malformed else arguments}


def _ground_truth(arguments: dict[str, Any]) -> dict[str, Any]:
    """Expected arguments as document 004's shape has them: a star that is no glob is said to be none, and what a rule made is undone."""
    return {key: without_globs(_as_recorded(value)) for key, value in arguments.items()}


def _as_recorded(value: Any) -> Any:
    if isinstance(value, dict):
        return value[SIMILAR] if SIMILAR in value else {key: _as_recorded(item) for key, item in value.items()}
    return [_as_recorded(item) for item in value] if isinstance(value, list) else value


def _is_names(given: Any) -> bool:
    return isinstance(given, Sequence) and not isinstance(given, str) and bool(given) and all(isinstance(one, str) for one in given)


def _takes_function_calls(made: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(made).parameters.values()
    except (TypeError, ValueError):
        return False
    names = {parameter.name for parameter in parameters}
    return {"actual_function_calls", "expected_function_calls"} <= names


def _imported(name: str) -> Any:
    module, _, attribute = name.partition(":")
    sys.path.insert(0, "")  # the current folder, for as long as the evaluator is looked for and no longer
    try:
        with redirect_stdout(sys.stderr):
            found: Any = import_module(module)
    except (Exception, SystemExit) as error:
        raise BadInput(f"the module of the evaluator {name!r} cannot be imported: {type(error).__name__}: {error}") from None
    finally:
        sys.path.remove("")
    for step in attribute.split("."):
        if not hasattr(found, step):
            raise BadInput(f"the module {module} has no {attribute!r}{nearest(step, dir(found))}")
        found = getattr(found, step)
    return found


def _installed(name: str) -> Evaluator:
    from importlib.metadata import entry_points

    points = {point.name: point for point in entry_points(group=GROUP)}
    if name not in points:
        known = (*KNOWN, *points)
        raise BadInput(
            f"there is no evaluator called {name!r}{nearest(name, known)}",
            f"The evaluators are {', '.join(known)}; one of your own is named as module:name.",
        )
    try:
        found = points[name].load()
    except (Exception, SystemExit) as error:
        raise BadInput(f"the evaluator {name!r} cannot be imported: {type(error).__name__}: {error}") from None
    return as_evaluator(found, name)
