"""Results that were recorded: `recorded:FILE`, a dataset of conversations.

The k-th time that a call is made (the same tool, the same arguments by section 2 of docs/metrics.md) it gives the k-th result that was
recorded for it anywhere in the file, and after that the last one again. A call that nobody recorded is an error result, and a miss.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from callmark.calls.results import match_results
from callmark.calls.strict import NotStrict, parse, scrub
from callmark.calls.values import exact, without_defaults
from callmark.calls.words import normal
from callmark.errors import BadInput
from callmark.formats import load
from callmark.simulation.session import NothingToOpen, Result, State, Toolbox
from callmark.simulation.toolboxes.answers import refused, told
from callmark.types import Call, Tool

Arguments = dict[str, Any]


class RecordedTools(NothingToOpen):
    """Raises `BadInput` for a file that cannot be read, or that has no tools or no results in it."""

    def __init__(self, path: str) -> None:
        self.label = f"recorded:{scrub(Path(path).name)}"
        self._known: dict[str, Tool] = {}
        recorded: list[tuple[Call, str]] = []
        with load(path) as rows:
            for row in rows:
                for tool in row.tools:
                    self._known.setdefault(tool.name, tool)
                for (message, place), result in sorted(match_results(row.messages).of.items()):
                    recorded.append((row.messages[message].calls[place], row.messages[result].text))
        self.tools = tuple(self._known.values())
        if not self.tools:
            raise BadInput(f"{scrub(path)} has no tools in it", "Recorded results come from a dataset whose rows have tools.")
        self._results: dict[tuple[str, Hashable], list[tuple[Arguments, str]]] = defaultdict(list)
        for call, text in recorded:
            if not call.malformed:
                arguments = self.plain(call)
                self._results[call.name, _kind(arguments)].append((arguments, text))
        if not self._results:
            raise BadInput(f"{scrub(path)} has no result of any call in it", "Recorded results come from conversations with tool results.")

    @asynccontextmanager
    async def opened(self, conversation: str) -> AsyncIterator[Toolbox]:
        yield RecordedToolbox(self)

    def results(self, name: str, arguments: Arguments) -> list[str]:
        """Everything that was recorded for a call, in the order of the file."""
        return [text for given, text in self._results.get((name, _kind(arguments)), ()) if exact(given, arguments)]

    def plain(self, call: Call) -> Arguments:
        """The arguments of a call less those that equal being left out."""
        tool = self._known.get(call.name)
        return dict(without_defaults(call.arguments, tool.parameters)) if tool is not None else call.arguments


class RecordedToolbox:
    def __init__(self, source: RecordedTools) -> None:
        self.tools = source.tools
        self._source = source
        self._names = [tool.name for tool in source.tools]
        self._made: list[tuple[str, Arguments]] = []

    async def call(self, call: Call) -> Result:
        if no := refused(call, self._names):
            return no
        arguments = self._source.plain(call)
        texts = self._source.results(call.name, arguments)
        if not texts:
            return Result("No result was recorded for this call.", is_error=True, missed=True)
        before = sum(name == call.name and exact(made, arguments) for name, made in self._made)
        self._made.append((call.name, arguments))
        return told(texts[min(before, len(texts) - 1)])

    async def state(self) -> State | None:
        """None: nothing stands behind what was recorded."""
        return None


def _kind(value: Any) -> Hashable:
    """One and the same for any two values that are the same; for some that are not, too."""
    match value:
        case str():
            try:
                read = parse(value)
            except NotStrict:
                read = value
            return normal(value, "NFC").strip() if isinstance(read, str) else _kind(read)
        case dict():
            return frozenset((key, _kind(item)) for key, item in value.items())
        case list() | tuple():
            return tuple(map(_kind, value))
        case _:
            return value  # type: ignore[no-any-return]
