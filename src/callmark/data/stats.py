"""Compute statistics of a dataset: lengths of conversations, roles, which tools are called, in which order and with which arguments.

One pass; memory grows with the number of different tools and lengths, not with the number of rows. The calls of a case (a decision point or
scenario) are its expected calls. Malformed calls count as calls, under their name (`""` without one), and are also counted separately.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import pairwise

from msgspec import Struct

from callmark.calls.schema import properties, required
from callmark.data.describe import Description, describe
from callmark.errors import BadInput
from callmark.types import Case, Conversation, Tool

_MAX_BITS = 64  # in the length of a text
_MAX_PENDING = 10_000  # distinct rows counted as a whole before they are added to the counts
_MAX_PENDING_NAMES = 1 << 21  # roles and tools in these rows, which can be long


class ArgumentUse(Struct, frozen=True):
    """How many of a tool's calls have an argument, and whether the schema requires it (None if it is not in the schema)."""

    given: int
    share: float
    required: bool | None


class ToolSet(Struct, frozen=True):
    """A set of tools called together in one conversation, and the number of such conversations."""

    tools: list[str]
    count: int


class TurnsAndCalls(Struct, frozen=True):
    """The number of conversations with this many messages (turns) and this many calls."""

    turns: int
    calls: int
    count: int


class Stats(Struct, frozen=True):
    """The statistics of one dataset.

    `num_turns` describes the number of messages per conversation: a turn is a message of any role. `turns_counts` and `calls_counts` are
    `{length: conversations}`. `text_lengths` are lengths of messages with text, by role: `{characters: messages}`, where each key is a
    power of two and counts all lengths from it to the next one.
    """

    conversations: int
    num_turns: Description
    tool_calls: Description
    tools: dict[str, int]
    roles: dict[str, int]
    never_called: list[str]
    not_listed: list[str]
    malformed_calls: int
    first_call: dict[str, int]
    last_call: dict[str, int]
    calls_per_message: dict[int, int]
    follows: dict[str, dict[str, int]]
    tool_sets: list[ToolSet]
    arguments: dict[str, dict[str, ArgumentUse]]
    turns_counts: dict[int, int]
    calls_counts: dict[int, int]
    turns_and_calls: list[TurnsAndCalls]
    text_lengths: dict[str, dict[int, int]]

    def _repr_html_(self) -> str:
        parts = (self.num_turns, self.tool_calls)
        names = ("count", "mean", "std", "min", "q25", "q50", "q75", "max", "total")
        cells = ["".join(f"<td>{_format_number(getattr(part, name))}</td>" for part in parts) for name in names]
        rows = "".join(
            f"<tr><th>{name.replace('q', '') + '%' if name[0] == 'q' else name}</th>{cell}</tr>"
            for name, cell in zip(names, cells, strict=True)
        )
        return f"<table><tr><th></th><th>messages</th><th>tool calls</th></tr>{rows}</table>"


def stats(rows: Iterable[Conversation]) -> Stats:
    """Return the statistics of conversations or cases. An empty dataset raises `BadInput`."""
    tally = StatsTally()
    for row in rows:
        tally.add(row)
    return tally.stats()


class StatsTally:
    """Counts row by row; `stats()` returns the statistics so far.

    Rows with the same tools in the same order are first counted as a whole (`_sequences`, `_role_sequences`), which saves most of the work.
    From time to time they are added to the counts by name, so that memory stays bounded.
    """

    def __init__(self) -> None:
        self._rows = 0
        self._roles: Counter[str] = Counter()
        self._tools: Counter[str] = Counter()
        self._first: Counter[str] = Counter()
        self._last: Counter[str] = Counter()
        self._per_message: Counter[int] = Counter()
        self._pairs: Counter[tuple[str, str]] = Counter()
        self._sets: Counter[frozenset[str]] = Counter()
        self._given: Counter[tuple[str, str]] = Counter()
        self._turns_and_calls: Counter[tuple[int, int]] = Counter()
        self._lengths: defaultdict[str, list[int]] = defaultdict(lambda: [0] * _MAX_BITS)
        self._malformed = 0
        self._listed: dict[str, Tool] = {}
        self._last_tools: tuple[Tool, ...] | None = None
        self._role_sequences: dict[tuple[str, ...], int] = {}
        self._sequences: dict[tuple[tuple[str, ...], ...], int] = {}
        self._keys: dict[tuple[str, ...], int] = {}
        self._pending_names = 0  # roles and tools in the rows since the last flush

    def add(self, row: Conversation) -> None:
        """Count one conversation or case."""
        self._rows += 1
        roles = tuple([message.role for message in row.messages])
        self._role_sequences[roles] = self._role_sequences.get(roles, 0) + 1
        if row.tools is not self._last_tools:
            self._last_tools = row.tools
            self._listed.update((tool.name, tool) for tool in row.tools if tool.name not in self._listed)
        if isinstance(row, Case):
            groups = [row.expected] if row.expected else []
        else:
            groups = [message.calls for message in row.messages if message.calls]
        sequence = []
        for calls in groups:
            for call in calls:
                if call.malformed:
                    self._malformed += 1
                else:
                    keys = (call.name, *call.arguments)
                    self._keys[keys] = self._keys.get(keys, 0) + 1
            sequence.append((calls[0].name,) if len(calls) == 1 else tuple([call.name for call in calls]))
        self._turns_and_calls[(len(roles), sum(map(len, groups)))] += 1
        lengths = self._lengths
        for message in row.messages:
            lengths[message.role][len(message.text).bit_length()] += 1
        key = tuple(sequence)
        self._sequences[key] = self._sequences.get(key, 0) + 1
        self._pending_names += len(roles) + sum(map(len, sequence))
        if len(self._sequences) + len(self._role_sequences) + len(self._keys) > _MAX_PENDING or self._pending_names > _MAX_PENDING_NAMES:
            self._flush()

    def stats(self) -> Stats:
        """Return the statistics so far, most frequent first. Without rows, raises `BadInput`."""
        if not self._rows:
            raise BadInput("there are no rows to count")
        self._flush()
        turns: Counter[int] = Counter()
        calls: Counter[int] = Counter()
        for (num_turns, num_calls), count in self._turns_and_calls.items():
            turns[num_turns] += count
            calls[num_calls] += count
        follows: dict[str, dict[str, int]] = {}
        for (before, after), count in self._pairs.most_common():
            follows.setdefault(before, {})[after] = count
        return Stats(
            conversations=self._rows,
            num_turns=describe(turns),
            tool_calls=describe(calls),
            tools=dict(self._tools.most_common()),
            roles=dict(self._roles.most_common()),
            never_called=sorted(self._listed.keys() - self._tools.keys()),
            not_listed=sorted(self._tools.keys() - self._listed.keys()) if self._listed else [],
            malformed_calls=self._malformed,
            first_call=dict(self._first.most_common()),
            last_call=dict(self._last.most_common()),
            calls_per_message=dict(sorted(self._per_message.items())),
            follows=follows,
            tool_sets=[ToolSet(sorted(names), count) for names, count in _rank_sets(self._sets)],
            arguments=self._arguments(),
            turns_counts=dict(sorted(turns.items())),
            calls_counts=dict(sorted(calls.items())),
            turns_and_calls=[TurnsAndCalls(*numbers, count) for numbers, count in sorted(self._turns_and_calls.items())],
            text_lengths=self._text_lengths(),
        )

    def _text_lengths(self) -> dict[str, dict[int, int]]:
        found = {role: {1 << bits - 1: count for bits, count in enumerate(self._lengths[role]) if bits and count} for role in self._roles}
        return {role: counts for role, counts in found.items() if counts}

    def _flush(self) -> None:
        """Add the rows counted as a whole to the counts by name."""
        for roles, count in self._role_sequences.items():
            for role in roles:
                self._roles[role] += count
        for sequence, count in self._sequences.items():
            for group in sequence:
                self._per_message[len(group)] += count
            names = [name for group in sequence for name in group]
            for name in names:
                self._tools[name] += count
            for pair in pairwise(names):
                self._pairs[pair] += count
            if names:
                self._first[names[0]] += count
                self._last[names[-1]] += count
                self._sets[frozenset(names)] += count
        for (name, *keys), count in self._keys.items():
            for key in keys:
                self._given[(name, key)] += count
        self._role_sequences, self._sequences, self._keys = {}, {}, {}
        self._pending_names = 0

    def _arguments(self) -> dict[str, dict[str, ArgumentUse]]:
        given: dict[str, list[str]] = {}
        for name, key in self._given:
            given.setdefault(name, []).append(key)
        coverage: dict[str, dict[str, ArgumentUse]] = {}
        for name, total in self._tools.most_common():
            parameters = self._listed[name].parameters if name in self._listed else {}
            required_keys = required(parameters)
            known = dict.fromkeys(properties(parameters))
            seen = [key for key in given.get(name, []) if key not in known]
            coverage[name] = {
                key: ArgumentUse(self._given[(name, key)], self._given[(name, key)] / total, key in required_keys if key in known else None)
                for key in [*known, *sorted(seen)]
            }
        return coverage


def _format_number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}".rstrip("0").rstrip(".")


def _rank_sets(sets: Counter[frozenset[str]]) -> list[tuple[frozenset[str], int]]:
    return sorted(sets.items(), key=lambda item: (-item[1], sorted(item[0])))
