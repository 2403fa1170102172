"""Which evaluators grade, with which options, and by which match rules; and the evaluators that such settings stand for."""

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import redirect_stdout
from functools import cache
from importlib import import_module
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from callmark import registry
from callmark.errors import BadInput
from callmark.grading.adapters import as_evaluator
from callmark.grading.evaluate import error_text
from callmark.grading.evaluator import Evaluator
from callmark.grading.evaluator_set import EvaluatorSet
from callmark.grading.ignored_functions import IGNORED_FUNCTIONS
from callmark.wording import did_you_mean

DEFAULT_EVALUATORS = ("call", "schema", "process")
SIMULATION_EVALUATORS = ("process", "state", "effort")
RECORDING_EVALUATORS = (*DEFAULT_EVALUATORS, "state", "effort", "recorded")  # for conversations that were recorded with a reward


class GradingSettings(Struct, frozen=True, omit_defaults=True):
    """The evaluators by name, their options by evaluator, and the match rules, as `callmark.toml` gives them."""

    evaluators: tuple[str, ...] = DEFAULT_EVALUATORS
    options: dict[str, dict[str, Any]] = {}
    match: dict[str, Any] = {}

    @property
    def ignore(self) -> tuple[str, ...]:
        """The functions that `process` ignores."""
        return tuple(self.options.get("process", {}).get("ignore", IGNORED_FUNCTIONS))

    def with_options(self, evaluator: str, **options: Any) -> "GradingSettings":
        """Return the settings with further options of one evaluator."""
        return replace(self, options={**self.options, evaluator: {**self.options.get(evaluator, {}), **options}})

    def differences(self, other: "GradingSettings") -> list[str]:
        """Return what differs between two settings: `evaluators`, `call.threshold`, `match`."""
        found = ["evaluators"] if self.evaluators != other.evaluators else []
        for evaluator in dict.fromkeys((*self.options, *other.options)):
            options, others = self.options.get(evaluator, {}), other.options.get(evaluator, {})
            found += [f"{evaluator}.{name}" for name in dict.fromkeys((*options, *others)) if options.get(name) != others.get(name)]
        return found + (["match"] if self.match != other.match else [])


def build_evaluators(settings: GradingSettings) -> EvaluatorSet:
    """Return the evaluators that settings select, with their options, and those that join because their required options are given.

    No evaluator at all, two of one name and anything that `find_evaluator` refuses raise `BadInput`.
    """
    found: list[Evaluator] = []
    for name in (*settings.evaluators, *_joining(settings)):
        evaluator = find_evaluator(name, settings.options.get(name))
        if any(evaluator.name == other.name for other in found):
            raise BadInput(f"two evaluators are called {evaluator.name!r}, each needs a name of its own")
        found.append(evaluator)
    if not found:
        raise BadInput("there is no evaluator to grade by", f"Ours are {', '.join(registry.BUILT_IN['evaluators'])}.")
    return EvaluatorSet(found)


def resolve_evaluators(evaluators: Iterable[Any]) -> EvaluatorSet:
    """Return evaluators that are given by name, or as anything that can be one, without options."""
    if evaluators is DEFAULT_EVALUATORS:
        return _default_evaluators()
    return EvaluatorSet([_resolve(evaluator) for evaluator in evaluators])


def find_evaluator(name: str, options: Mapping[str, Any] | None = None) -> Evaluator:
    """Return the evaluator of that name (built in, installed, or `module:name`), constructed with the options.

    An unknown name raises `BadInput` with the nearest, as do a module that does not import and what `as_evaluator` refuses.
    """
    return as_evaluator(find_source(name), name, options)


def find_source(name: str) -> Any:
    """Return the class, object or function that an evaluator's name stands for."""
    return _import(name) if ":" in name else registry.find("evaluators", name)


def _resolve(evaluator: Any) -> Evaluator:
    if not isinstance(evaluator, str):
        return as_evaluator(evaluator, getattr(evaluator, "__name__", type(evaluator).__name__))
    return _built_in(evaluator) if evaluator in registry.BUILT_IN["evaluators"] else find_evaluator(evaluator)


@cache
def _default_evaluators() -> EvaluatorSet:
    return EvaluatorSet([_built_in(name) for name in DEFAULT_EVALUATORS])


@cache
def _built_in(name: str) -> Evaluator:
    return find_evaluator(name)


def _joining(settings: GradingSettings) -> Iterator[str]:
    for name, options in settings.options.items():
        if name in settings.evaluators or ":" in name or not registry.is_known("evaluators", name):
            continue
        required = getattr(registry.find("evaluators", name), "requires", ())
        if required and all(options.get(option) for option in required):
            yield name


def _import(name: str) -> Any:
    module, _, attribute = name.partition(":")
    sys.path.insert(0, "")  # the current folder, only while the evaluator is imported
    try:
        with redirect_stdout(sys.stderr):
            found: Any = import_module(module)
    except (Exception, SystemExit) as error:
        raise BadInput(f"the module of the evaluator {name!r} cannot be imported: {error_text(error)}") from None
    finally:
        sys.path.remove("")
    for step in attribute.split("."):
        if not hasattr(found, step):
            raise BadInput(f"the module {module} has no {attribute!r}{did_you_mean(step, dir(found))}")
        found = getattr(found, step)
    return found
