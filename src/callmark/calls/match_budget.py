"""The work that one comparison of expected and actual calls may do (docs/reference/metrics.md, section 4).

A check compares a matcher, or a value inside a matcher, with an actual value. Reading a long text counts as further checks, and so does
the similarity of two texts. A comparison that needs more than `MAX_CHECKS` ends with an `EvaluatorError`, so no expected value can hang a
run. Long texts are normalized, folded and parsed once, not once for every check.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from callmark.errors import EvaluatorError

MAX_CHECKS = 1_000_000
PREPARATION = 1_001  # further checks: the first matcher itself, and a look at each member of the largest `$set`
CHARACTERS = 1000  # of a text that one check reads
_SHORT = 100  # characters; preparing a shorter text takes as long as looking it up

_MISSING = object()

T = TypeVar("T")


class MatchBudget:
    """The checks that are left, and the texts that are already prepared.

    Attributes:
        left: The number of checks that may still be made.
        inside: Whether a matcher is being compared. Values outside matchers are compared in linear time and are not counted.
    """

    __slots__ = ("_prepared", "inside", "left")

    def __init__(self) -> None:
        self.left = MAX_CHECKS + PREPARATION
        self.inside = False
        self._prepared: dict[tuple[Any, Any], Any] = {}

    def spend(self, checks: int) -> None:
        """Count these checks. If there are none left, raise `EvaluatorError`; callers add the name of the argument."""
        self.left -= checks
        if self.left < 0:
            raise EvaluatorError(
                f"the comparison with its matcher needs more than {MAX_CHECKS:,} member checks; use fewer members in $set and $one_of"
            )

    def spend_text(self, text: str) -> None:
        """Count the checks for reading a text."""
        if len(text) >= CHARACTERS:
            self.spend(len(text) // CHARACTERS)

    def prepare(self, function: Callable[[str], T], text: str) -> T:
        """Return `function(text)`. For a long text it is computed once."""
        return function(text) if len(text) < _SHORT else self.prepare_once(function, text)

    def prepare_once(self, function: Callable[[str], T], text: str) -> T:
        """Return `function(text)`, computed once for any text."""
        found = self._prepared.get((function, text), _MISSING)
        if found is _MISSING:
            found = self._prepared[function, text] = function(text)
        return found  # type: ignore[no-any-return]

    def prepare_value(self, function: Callable[[Any], T], value: Any) -> T:
        """Return `function(value)`. For an object or a list it is computed once."""
        if isinstance(value, str):
            return self.prepare(function, value)
        if not isinstance(value, dict | list | tuple):
            return function(value)
        found = self._prepared.get((function, id(value)))
        if found is None:
            found = self._prepared[function, id(value)] = function(value), value  # which keeps the value, and its id, alive
        result: T = found[0]
        return result
