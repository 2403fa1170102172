"""Functions that do not count: globs of names, such as questions back to the user, that evaluators of whole processes leave out."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from callmark.calls.globs import matches_glob
from callmark.errors import BadInput
from callmark.types import Call

IGNORED_FUNCTIONS = ("CommonPlugin-*", "*ask_clarification")


@lru_cache(maxsize=4096)
def is_ignored(name: str, ignore: tuple[str, ...]) -> bool:
    """Return whether one of the globs matches the name, in any case of its letters."""
    return any(matches_glob(glob.casefold(), name.casefold()) for glob in ignore)


def read_ignore(globs: Any) -> tuple[str, ...]:
    """Return the option `ignore` of an evaluator as a tuple; anything but a list of texts raises `BadInput`."""
    if not isinstance(globs, list | tuple):
        raise BadInput(f"ignore is {'text' if isinstance(globs, str) else repr(globs)}, a list was expected")
    for glob in globs:
        if not isinstance(glob, str):
            raise BadInput(f"ignore has {glob!r}, text was expected")
    return tuple(globs)


def without_ignored(calls: Iterable[Call], ignore: tuple[str, ...]) -> list[Call]:
    """Return the calls whose function is not ignored, in order."""
    return [call for call in calls if not is_ignored(call.name, ignore)]
