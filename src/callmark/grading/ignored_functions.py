"""Functions that evaluators of whole processes ignore, such as clarification questions, as globs of names."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from callmark.calls.globs import matches_glob
from callmark.errors import BadInput
from callmark.types import Call

IGNORED_FUNCTIONS = ("CommonPlugin-*", "*ask_clarification")


@lru_cache(maxsize=4096)
def is_ignored(name: str, ignore: tuple[str, ...]) -> bool:
    """Return whether one of the globs matches the name, ignoring case."""
    return any(matches_glob(glob.casefold(), name.casefold()) for glob in ignore)


def read_ignore(globs: Any) -> tuple[str, ...]:
    """Return the option `ignore` of an evaluator as a tuple. Anything but a list of strings raises `BadInput`."""
    if not isinstance(globs, list | tuple):
        raise BadInput(f"ignore: expected a list of strings, got {globs!r:.40}")
    for glob in globs:
        if not isinstance(glob, str):
            raise BadInput(f"ignore: expected a list of strings, got a list with {glob!r:.40}")
    return tuple(globs)


def without_ignored(calls: Iterable[Call], ignore: tuple[str, ...]) -> list[Call]:
    """Return the calls whose function is not ignored, in order."""
    return [call for call in calls if not is_ignored(call.name, ignore)]
