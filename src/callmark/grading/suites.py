"""The suites by name. A suite is a small object that anyone can write: a name, the names of its metrics, and a pure function from an
attempt to their numbers.

One is found among our own (`call`, `schema`, `process`; for whole conversations `state`, `policy`, `effort`, `recorded`), as an entry point
of the group `callmark.suites`, or as `module:name`: the suite itself, or a class that makes one. An evaluator of document 004
(`actual_function_calls=`, `expected_function_calls=`, a score) is taken as a suite of the one metric `score`. A name that is found nowhere,
a module that does not import and an object that is no suite raise `BadInput`.
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
from callmark.grading.call import CallSuite
from callmark.grading.effort import EffortSuite
from callmark.grading.policy import PolicySuite
from callmark.grading.policy_rules import read_rules
from callmark.grading.process import IGNORED, ProcessSuite
from callmark.grading.recorded import RecordedSuite
from callmark.grading.schema import SchemaSuite
from callmark.grading.state import StateSuite
from callmark.types import Call
from callmark.wording import nearest

OWN = ("call", "schema", "process")  # of any case
SIMULATED = ("process", "state", "effort")  # of conversations that are simulated; where there are rules, policy too
RECORDED = (*OWN, "state", "effort", "recorded")  # of conversations that were recorded with a reward
KNOWN = (*RECORDED, "policy")
BY_CALLS = (CallSuite, SchemaSuite, ProcessSuite)  # they look at nothing but calls and tools, and all their numbers are always there
OWN_TYPES = (*BY_CALLS, StateSuite, PolicySuite, EffortSuite, RecordedSuite)
NOTING = (StateSuite, PolicySuite)  # that have notes of their own
GROUP = "callmark.suites"
_MOST = sys.float_info.max


class Suite(Protocol):
    """What a suite is. Of our own, those that look at a whole conversation may leave a number out where there is none to give."""

    @property
    def name(self) -> str: ...

    @property
    def metrics(self) -> tuple[str, ...]: ...

    def __call__(self, attempt: Attempt) -> Mapping[str, float]: ...


class Settings(Struct, frozen=True, omit_defaults=True):
    """How to grade, as `callmark.toml` may say it: which suites, and what our own leave open."""

    suites: tuple[str, ...] = OWN
    threshold: float = 1.0
    weights: dict[str, float] | None = None
    ignore: tuple[str, ...] = IGNORED
    averaging: Literal["micro", "macro"] = "micro"
    match: dict[str, Any] = {}
    policy: dict[str, Any] = {}


def telling(suites: Sequence[str], *, scenarios: bool) -> frozenset[str]:
    """The suites whose faults are told: those that are graded by, and of scenarios the one that is made for them."""
    ours = frozenset(suites) & frozenset(OWN)
    return frozenset({"process"}) if "process" in ours and scenarios else ours


def suites_of(settings: Settings) -> list[Suite]:
    """The suites that the settings name, set up as they say; where there are rules, `policy` is among them. A suite that is named twice, or
    shares its name, raises `BadInput`.
    """
    found: list[Suite] = []
    for name in (*settings.suites, *(("policy",) if settings.policy and "policy" not in settings.suites else ())):
        suite = suite_called(name, settings)
        if any(suite.name == other.name for other in found):
            raise BadInput(f"two suites are called {suite.name!r}, each needs a name of its own")
        found.append(suite)
    if not found:
        raise BadInput("there is no suite to grade by", f"Ours are {', '.join(KNOWN)}.")
    return found


def suite_called(name: str, settings: Settings | None = None) -> Suite:
    """The suite of that name; an unknown name raises `BadInput` with the nearest."""
    if name in KNOWN:
        return _own(name, settings) if settings else _AS_THEY_COME[name]
    if ":" in name:
        return as_suite(_imported(name), name)
    return _installed(name)


def _own(name: str, settings: Settings) -> Suite:
    match name:
        case "call":
            return CallSuite(settings.threshold)
        case "schema":
            return SchemaSuite() if settings.weights is None else SchemaSuite(settings.weights)
        case "process":
            return ProcessSuite(settings.ignore, settings.averaging)
        case "state":
            return StateSuite()
        case "effort":
            return EffortSuite(settings.ignore)
        case "recorded":
            return RecordedSuite()
        case _:
            if not settings.policy:
                raise BadInput("the suite policy has no rules to go by", "--policy FILE names them.")
            return PolicySuite(read_rules(settings.policy))


_AS_THEY_COME: dict[str, Suite] = {**{name: _own(name, Settings()) for name in RECORDED}, "policy": PolicySuite()}


def as_suite(given: Any, name: str) -> Suite:
    """The object as a suite: one already, a class that makes one, or an evaluator of document 004. `name` is what it was asked for by."""
    made = given
    if isinstance(given, type):
        try:
            made = given()
        except (Exception, SystemExit) as error:
            raise BadInput(f"the suite {name!r} cannot be made: {type(error).__name__}: {error}") from None
    if not callable(made):
        raise BadInput(f"{name!r} is a {type(made).__name__}, a suite was expected: an object with name, metrics and __call__(attempt)")
    if isinstance(getattr(made, "name", None), str) and _is_names(getattr(made, "metrics", None)):
        return cast("Suite", made)
    if _takes_function_calls(made):
        return EvaluatorSuite(made, getattr(given, "__name__", type(made).__name__))
    raise BadInput(
        f"{name!r} is no suite: it has no name and no metrics, nor does it take actual_function_calls and expected_function_calls"
    )


def checked(suite: Suite, attempt: Attempt) -> Mapping[str, float]:
    """What a suite that is not our own says of an attempt; an error of it, or anything but the numbers it promised, raises `BadInput`."""
    try:
        with redirect_stdout(sys.stderr):  # what it prints is not what was asked for
            said = suite(attempt)
    except (Exception, SystemExit) as error:
        raise BadInput(f"the suite {suite.name!r} failed: {type(error).__name__}: {error}") from error
    if not isinstance(said, Mapping) or set(said) != set(suite.metrics):
        found = ", ".join(map(str, said)) if isinstance(said, Mapping) else type(said).__name__
        raise BadInput(f"the suite {suite.name!r} gave {found or 'nothing'}, its metrics {', '.join(suite.metrics)} were expected")
    for key, value in said.items():
        if not isinstance(value, int | float) or not -_MOST <= value <= _MOST:
            raise BadInput(f"the suite {suite.name!r} gave {_shown(value)} for {key}, a finite number was expected")
    return {key: float(said[key]) for key in suite.metrics}


def _shown(value: Any) -> str:
    try:
        return repr(value)[:40]
    except Exception:  # an integer of more digits than Python writes, an object that cannot be shown
        return f"a {type(value).__name__}"


class EvaluatorSuite:
    """An evaluator of document 004 as a suite of one metric."""

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
    sys.path.insert(0, "")  # the current folder, for as long as the suite is looked for and no longer
    try:
        with redirect_stdout(sys.stderr):
            found: Any = import_module(module)
    except (Exception, SystemExit) as error:
        raise BadInput(f"the module of the suite {name!r} cannot be imported: {type(error).__name__}: {error}") from None
    finally:
        sys.path.remove("")
    for step in attribute.split("."):
        if not hasattr(found, step):
            raise BadInput(f"the module {module} has no {attribute!r}{nearest(step, dir(found))}")
        found = getattr(found, step)
    return found


def _installed(name: str) -> Suite:
    from importlib.metadata import entry_points

    points = {point.name: point for point in entry_points(group=GROUP)}
    if name not in points:
        known = (*KNOWN, *points)
        raise BadInput(
            f"there is no suite called {name!r}{nearest(name, known)}",
            f"The suites are {', '.join(known)}; one of your own is named as module:name.",
        )
    try:
        found = points[name].load()
    except (Exception, SystemExit) as error:
        raise BadInput(f"the suite {name!r} cannot be imported: {type(error).__name__}: {error}") from None
    return as_suite(found, name)
