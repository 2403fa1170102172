"""What a suite looks at: what was expected, what was made, the tools and the talk so far; the pairing is worked out once for all suites."""

from collections.abc import Mapping, Sequence
from typing import Any

from callmark.calls.pairing import Pairing, no_schema, pair
from callmark.types import Call, Message, Tool


class Attempt:
    """One case and what came back for it. Nothing in it changes."""

    __slots__ = ("_pairing", "_schemas", "actual", "expected", "messages", "tools")

    def __init__(
        self, expected: Sequence[Call], actual: Sequence[Call], *, tools: Sequence[Tool] = (), messages: Sequence[Message] = ()
    ) -> None:
        self.expected = expected
        self.actual = actual
        self.tools = tools
        self.messages = messages
        self._schemas: dict[str, dict[str, Any]] | None = None
        self._pairing: Pairing | None = None

    @property
    def schemas(self) -> dict[str, dict[str, Any]]:
        """The schema of each tool by its name."""
        if self._schemas is None:
            self._schemas = {tool.name: tool.parameters for tool in self.tools}
        return self._schemas

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
        found = self.schemas.get(name)
        if found is None:
            found = next((schema for tool, schema in self.schemas.items() if tool.casefold() == name.casefold()), {})
        return found
