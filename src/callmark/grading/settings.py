"""The grading settings (evaluators, their options and match rules), and the construction of the evaluators."""

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
from callmark.grading.ignored_functions import IGNORED_FUNCTIONS, read_ignore
from callmark.wording import did_you_mean

DEFAULT_EVALUATORS = ("call", "schema", "process")
SIMULATION_EVALUATORS = ("process", "state", "effort")
CONVERSATION_EVALUATORS = ("call", "process")  # for whole conversations, where the order of calls is free and `schema` says little
RECORDING_EVALUATORS = (*CONVERSATION_EVALUATORS, "state", "effort", "recorded")  # for conversations recorded with a reward


class GradingSettings(Struct, frozen=True, omit_defaults=True):
    """The names of the evaluators, their options by evaluator, the match rules, globs of tools that change nothing, and patterns of
    arguments whose values need no source, as in `callmark.toml`.
    """

    evaluators: tuple[str, ...] = DEFAULT_EVALUATORS
    options: dict[str, dict[str, Any]] = {}
    match: dict[str, Any] = {}
    read_only: tuple[str, ...] = ()
    ungrounded: tuple[str, ...] = ()

    @property
    def ignore(self) -> tuple[str, ...]:
        """The functions that `process` ignores. Anything but a list of strings raises `BadInput`."""
        return read_ignore(self.options.get("process", {}).get("ignore", IGNORED_FUNCTIONS))

    def process_ignore(self, *, scenarios: bool) -> tuple[str, ...] | None:
        """Return the functions that `process` ignores, if the tables of a run count calls as it does; None if they count by `exact`.

        They count as `process` does for scenarios, and if neither `call` nor `schema` is selected.
        """
        by_process = "process" in self.evaluators and (scenarios or not {"call", "schema"} & set(self.evaluators))
        return self.ignore if by_process else None

    def with_options(self, evaluator: str, **options: Any) -> "GradingSettings":
        """Return the settings with additional options for one evaluator."""
        return replace(self, options={**self.options, evaluator: {**self.options.get(evaluator, {}), **options}})

    def differences(self, other: "GradingSettings") -> list[str]:
        """Return the names of the settings that differ: `evaluators`, `call.threshold`, `match`, `grounding.ignore`."""
        found = ["evaluators"] if self.evaluators != other.evaluators else []
        for evaluator in dict.fromkeys((*self.options, *other.options)):
            options, others = self.options.get(evaluator, {}), other.options.get(evaluator, {})
            found += [f"{evaluator}.{name}" for name in dict.fromkeys((*options, *others)) if options.get(name) != others.get(name)]
        found += ["match"] if self.match != other.match else []
        found += ["tools.read_only"] if self.read_only != other.read_only else []
        return found + (["grounding.ignore"] if self.ungrounded != other.ungrounded else [])


def build_evaluators(settings: GradingSettings) -> EvaluatorSet:
    """Return the selected evaluators with their options, and those that their options add.

    An empty selection, duplicate names and anything that `find_evaluator` rejects raise `BadInput`.
    """
    found: list[Evaluator] = []
    for name in (*settings.evaluators, *_joining(settings)):
        evaluator = find_evaluator(name, settings.options.get(name))
        if any(evaluator.name == other.name for other in found):
            raise BadInput(f"two evaluators are named {evaluator.name!r}: names must be unique")
        found.append(evaluator)
    if not found:
        raise BadInput("no evaluators are selected", f"Available: {', '.join(registry.BUILT_IN['evaluators'])}.")
    return EvaluatorSet(found)


def without_imports(settings: GradingSettings) -> tuple[GradingSettings, tuple[str, ...]]:
    """Return the settings with the evaluators that are built in or installed, and the names of the others.

    The others would be imported because the settings name them (`module:name`), or are not installed here. None may remain.
    """
    left_out = tuple(name for name in settings.evaluators if ":" in name or not registry.is_known("evaluators", name))
    return replace(settings, evaluators=tuple(name for name in settings.evaluators if name not in left_out)), left_out


def resolve_evaluators(evaluators: Iterable[Any]) -> EvaluatorSet:
    """Return evaluators given by name, or as anything that can be one, without options."""
    if evaluators is DEFAULT_EVALUATORS:
        return _default_evaluators()
    return EvaluatorSet([_resolve(evaluator) for evaluator in evaluators])


def find_evaluator(name: str, options: Mapping[str, Any] | None = None) -> Evaluator:
    """Return the evaluator of that name (built in, installed, or `module:name`), constructed with the options.

    An unknown name, a module that cannot be imported and anything that `as_evaluator` rejects raise `BadInput`.
    """
    return as_evaluator(find_source(name), name, options)


def find_source(name: str) -> Any:
    """Return the class, object or function with the name of an evaluator."""
    return _import(name) if ":" in name else registry.find("evaluators", name)


def counts_faults(metrics: Iterable[str]) -> bool:
    """Return whether any of these metrics is of a built-in evaluator that counts faults: otherwise an empty list of faults says nothing."""
    names = {name.partition(".")[0] for name in metrics} & registry.BUILT_IN["evaluators"].keys()
    return any(getattr(find_source(name), "counts_faults", None) for name in names)


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
        added_by = getattr(registry.find("evaluators", name), "added_by", ())
        if added_by and all(options.get(option) for option in added_by):
            yield name


def _import(name: str) -> Any:
    module, _, attribute = name.partition(":")
    sys.path.insert(0, "")  # the current folder, only during the import
    try:
        with redirect_stdout(sys.stderr):
            found: Any = import_module(module)
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and error.name == module.partition(".")[0]:
            raise BadInput(
                f"evaluator {name!r}: no module named {error.name}",
                f"Run callmark in the folder that contains {error.name}, or install it.",
            ) from None
        raise BadInput(f"evaluator {name!r}: cannot import {module}: {error_text(error)}") from None
    finally:
        sys.path.remove("")
    for step in attribute.split("."):
        if not hasattr(found, step):
            raise BadInput(f"evaluator {name!r}: module {module} has no attribute {attribute!r}{did_you_mean(step, dir(found))}")
        found = getattr(found, step)
    return found
