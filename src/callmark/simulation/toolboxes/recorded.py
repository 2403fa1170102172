"""Recorded results as tools: `recorded:FILE`, a dataset of conversations.

The k-th time that a call is made (same tool, equal arguments), it returns the k-th result that the file has for it; after the last result,
the last one again. A call without a recorded result returns an error result and counts as a miss.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from callmark.calls.results import match_results
from callmark.calls.strict import NotStrict, parse, scrub
from callmark.calls.values import exact, without_defaults
from callmark.calls.words import normalize
from callmark.errors import BadInput
from callmark.formats import load
from callmark.simulation.session import NullContext, State, Toolbox, ToolResult
from callmark.simulation.toolboxes.provider import ToolboxProvider, ToolboxSettings
from callmark.simulation.toolboxes.results import make_result, reject_call
from callmark.types import Call, Tool

Arguments = dict[str, Any]


class RecordedToolSource(NullContext):
    """Reads the results of a file. A file that cannot be read, or has no tools or no results, raises `BadInput`."""

    def __init__(self, path: str) -> None:
        self.label = f"recorded:{scrub(Path(path).name)}"
        self._tools_by_name: dict[str, Tool] = {}
        recorded: list[tuple[Call, str]] = []
        with load(path) as rows:
            for row in rows:
                for tool in row.tools:
                    self._tools_by_name.setdefault(tool.name, tool)
                for (message, index), result in sorted(match_results(row.messages).by_call.items()):
                    recorded.append((row.messages[message].calls[index], row.messages[result].text))
        self.tools = tuple(self._tools_by_name.values())
        if not self.tools:
            raise BadInput(f"{scrub(path)}: no tools found", "recorded: needs a dataset whose rows have tools.")
        self._results: dict[tuple[str, Hashable], list[tuple[Arguments, str]]] = defaultdict(list)
        for call, text in recorded:
            if not call.malformed:
                arguments = self.effective_arguments(call)
                self._results[call.name, _hash_key(arguments)].append((arguments, text))
        if not self._results:
            raise BadInput(f"{scrub(path)}: no tool results found", "recorded: needs conversations with tool results.")

    @asynccontextmanager
    async def open_toolbox(self, conversation: str) -> AsyncIterator[Toolbox]:
        yield RecordedToolbox(self)

    def results(self, name: str, arguments: Arguments) -> list[str]:
        """Return the recorded results of a call, in the order of the file."""
        return [text for given, text in self._results.get((name, _hash_key(arguments)), ()) if exact(given, arguments)]

    def effective_arguments(self, call: Call) -> Arguments:
        """Return the arguments of a call without those that equal their default."""
        tool = self._tools_by_name.get(call.name)
        return dict(without_defaults(call.arguments, tool.parameters)) if tool is not None else call.arguments


class RecordedToolbox:
    """The recorded results as one conversation sees them."""

    def __init__(self, source: RecordedToolSource) -> None:
        self.tools = source.tools
        self._source = source
        self._names = [tool.name for tool in source.tools]
        self._calls: list[tuple[str, Arguments]] = []

    async def call(self, call: Call) -> ToolResult:
        if rejection := reject_call(call, self._names):
            return rejection
        arguments = self._source.effective_arguments(call)
        texts = self._source.results(call.name, arguments)
        if not texts:
            return ToolResult("No result was recorded for this call.", is_error=True, missed=True)
        before = sum(name == call.name and exact(arguments_before, arguments) for name, arguments_before in self._calls)
        self._calls.append((call.name, arguments))
        return make_result(texts[min(before, len(texts) - 1)])

    async def state(self) -> State | None:
        """Return None: recorded results have no data behind them."""
        return None


def _hash_key(value: Any) -> Hashable:
    """Return a key that is the same for equal values, and may be the same for others."""
    match value:
        case str():
            try:
                parsed = parse(value)
            except NotStrict:
                parsed = value
            return normalize(value, "NFC").strip() if isinstance(parsed, str) else _hash_key(parsed)
        case dict():
            return frozenset((key, _hash_key(item)) for key, item in value.items())
        case list() | tuple():
            return tuple(map(_hash_key, value))
        case _:
            return value  # type: ignore[no-any-return]


def _open(text: str, settings: ToolboxSettings) -> RecordedToolSource:
    return RecordedToolSource(text)


TOOLBOX = ToolboxProvider(
    "recorded", _open, "recorded:train.jsonl", "results recorded in a dataset", actions=lambda text, keys: (), answers_any_call=False
)
