"""What a suite looks at: what was expected, what was made, the tools and the talk so far; the pairing is worked out once for all suites."""

from collections.abc import Mapping, Sequence
from typing import Any

from callmark.calls.pairing import Pairing, no_schema, pair
from callmark.types import Call, Message, Tool


class Attempt:
    """One case and what came back for it. Nothing in it changes."""

    __slots__ = ("_by_name", "_pairing", "actual", "expected", "messages", "tools")

    def __init__(
        self,
        expected: Sequence[Call],
        actual: Sequence[Call],
        *,
        tools: Sequence[Tool] = (),
        messages: Sequence[Message] = (),
        by_name: Mapping[str, Tool] | None = None,
    ) -> None:
        self.expected = expected
        self.actual = actual
        self.tools = tools
        self.messages = messages
        self._by_name = by_name
        self._pairing: Pairing | None = None

    @property
    def by_name(self) -> Mapping[str, Tool]:
        """Each tool by its name; who grades many attempts with the same tools hands it over."""
        if self._by_name is None:
            self._by_name = tools_by_name(self.tools)
        return self._by_name

    @property
    def pairing(self) -> Pairing:
        """The pairing by `exact`, names with case: what the suites `call` and `schema` and the faults go by."""
        if self._pairing is None:
            self._pairing = pair(self.expected, self.actual, parameters=self.parameters if self.tools else no_schema)
        return self._pairing

    def parameters(self, name: str) -> Mapping[str, Any]:
        """The schema of the tool of that name, in any case if there is none in this one; `{}` where none is known."""
        if not self.tools:
            return {}
        found = self.by_name.get(name)
        if found is None:
            folded = name.casefold()
            found = next((tool for tool in self.by_name.values() if tool.name.casefold() == folded), None)
        return found.parameters if found is not None else {}


def tools_by_name(tools: Sequence[Tool]) -> dict[str, Tool]:
    """Each tool by its name; of two of one name the last."""
    return {tool.name: tool for tool in tools}
