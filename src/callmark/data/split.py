"""Split rows into training and validation: by conversation, with near-duplicates on one side, stratified by the set of tools called.

Related rows stay on one side: decision points cut from one conversation, rows with the same id, cases of one group, and near-duplicates
(`callmark.data.near_duplicates`), also transitively (a is near b, b near c). Decision points that expect no call do not relate two
conversations, because many begin alike. Groups of related conversations are stratified by the set of tools that they call: each set gives
its share of conversations to `valid`, rounded so that the total is correct (largest remainder).

The same rows and seed give the same split, whatever the order of the rows. With a share between 0 and 1, each side has at least one
conversation if there are two that are not related.
"""

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import Struct, structs

from callmark.data.near_duplicates import NearDuplicateIndex, Sketch, is_comparable, sketch
from callmark.data.stats import ToolSet
from callmark.errors import BadInput
from callmark.types import Case, Conversation


class SplitSummary(Struct, frozen=True):
    """The size of one side: conversations, rows, calls, and calls by tool."""

    conversations: int
    rows: int
    calls: int
    tools: dict[str, int]


class Split(Struct, frozen=True):
    """The indexes of the rows on each side, in order.

    `numbers` are the row numbers in the file (line or item, starting at 1), by index. `kept_together` are the rows of each group of
    conversations that had to stay on one side. `only_train` and `only_valid` are sets of tools whose conversations are all on one side,
    most frequent first.
    """

    train: tuple[int, ...]
    valid: tuple[int, ...]
    train_summary: SplitSummary
    valid_summary: SplitSummary
    kept_together: list[list[int]]
    only_train: list[ToolSet]
    only_valid: list[ToolSet]
    numbers: tuple[int, ...] = ()


def split(rows: Iterable[Conversation], *, valid: float = 0.2, seed: int = 7) -> Split:
    """Split rows into `train` and `valid`, where `valid` is the share of conversations, from 0 to 1.

    One pass, with one signature per row in memory. Without rows, both sides are empty; a single row goes to the side closer to the share.
    """
    if not 0 <= valid <= 1:
        raise BadInput(f"valid: expected a number from 0 to 1, got {valid}")
    collector = _RowCollector()
    for row in rows:
        collector.add(row)
    groups = collector.groups(seed)
    chosen = _choose(groups, valid, seed)
    return structs.replace(_summarize(groups, chosen, collector.called), numbers=tuple(collector.numbers))


class _Group(Struct, gc=False):
    """Related conversations: their number, their rows, the tools they call, and their rank in the random order, which depends on their
    content and not on the order of the rows.
    """

    conversations: int
    rows: list[int]
    tools: frozenset[str]
    rank: tuple[bytes, str]


class _RowCollector:
    """Collects the conversation, the tools and the sketch of each row, and the name and longest row of each conversation."""

    def __init__(self) -> None:
        self.called: list[tuple[str, ...]] = []
        self.numbers: list[int] = []
        self._same: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._owners: list[int] = []
        self._sketches: list[tuple[Sketch, int]] = []
        self._numbers: dict[tuple[str, int | None], int] = {}
        self._names: list[str] = []
        self._longest: list[tuple[int, bytes]] = []
        self._parents: list[int] = []
        self._of_group: dict[str, int] = {}

    def add(self, row: Conversation) -> None:
        """Add one row."""
        name, row_sketch = _conversation_key(row), sketch(row)
        number = self._numbers.setdefault(name, len(self._names))
        if number == len(self._names):
            self._names.append(name[0] if name[1] is None else str(name[1]))
            self._longest.append((0, b""))
            self._parents.append(number)
        self._longest[number] = max(self._longest[number], (row_sketch.size, row_sketch.digest))
        if is_comparable(row):
            self._sketches.append((row_sketch, number))
        if isinstance(row, Case) and row.group is not None:
            self._join(number, self._of_group.setdefault(row.group, number))
        self._owners.append(number)
        called = tuple([call.name for call in (row.expected if isinstance(row, Case) else row.calls)])
        self.called.append(self._same.setdefault(called, called))
        self.numbers.append(row.place.number if row.place else len(self.called))

    def groups(self, seed: int) -> list[_Group]:
        """Return the groups of related conversations, in the random order of the seed."""
        near_duplicates = NearDuplicateIndex()
        ordered = sorted(self._sketches, key=lambda item: item[0].digest)  # so that the order of the rows does not matter
        for row_sketch, number in ordered:
            for near in near_duplicates.add_and_find_all(row_sketch):
                self._join(number, ordered[near.index][1])
        members: dict[int, list[int]] = {}
        for number in range(len(self._names)):
            members.setdefault(self._root(number), []).append(number)
        rows: dict[int, list[int]] = {}
        for row, number in enumerate(self._owners):
            rows.setdefault(self._root(number), []).append(row)
        groups = []
        for root, numbers in members.items():
            tools = frozenset(name for row in rows[root] for name in self.called[row])
            rank = _random_key(seed, min(self._longest[number][1] for number in numbers)), min(self._names[number] for number in numbers)
            groups.append(_Group(len(numbers), rows[root], tools, rank))
        return sorted(groups, key=lambda group: group.rank)

    def _join(self, number: int, other: int) -> None:
        self._parents[self._root(number)] = self._root(other)

    def _root(self, number: int) -> int:
        while self._parents[number] != number:
            self._parents[number] = self._parents[self._parents[number]]
            number = self._parents[number]
        return number


def _conversation_key(row: Conversation) -> tuple[str, int | None]:
    """Return the key of a row's conversation: the id of the conversation it was cut from, or its own. A row without an id is on its own."""
    if isinstance(row, Case) and row.source is not None:
        return row.source.conversation, None
    if row.place is not None and row.id == str(row.place.number):
        return row.place.file, row.place.number
    return row.id, None


def _choose(groups: Sequence[_Group], valid: float, seed: int) -> set[int]:
    """Return the indexes of the groups in `valid`: the share of each set of tools, then others until the total is reached."""
    total = sum(group.conversations for group in groups)
    target = math.floor(valid * total + 0.5)
    if 0 < valid < 1 and len(groups) > 1:
        target = min(max(target, 1), total - 1)
    by_tools: dict[frozenset[str], list[int]] = {}
    for place, group in enumerate(groups):
        by_tools.setdefault(group.tools, []).append(place)
    quotas = _quotas({tools: sum(groups[place].conversations for place in places) for tools, places in by_tools.items()}, target, seed)
    chosen: set[int] = set()
    for tools, places in by_tools.items():
        _take(groups, places, quotas[tools], chosen)
    missing = target - sum(groups[place].conversations for place in chosen)
    rest = [place for place in range(len(groups)) if place not in chosen]
    missing -= _take(groups, rest, missing, chosen)
    rest = [place for place in rest if place not in chosen]
    if missing and (len(rest) > 1 or len(groups) == 1):  # every remaining group is larger than what is missing; one stays in train
        least = min(rest, key=lambda place: groups[place].conversations)
        if groups[least].conversations < 2 * missing or (not chosen and len(groups) > 1):
            chosen.add(least)
    return chosen


def _quotas(sizes: dict[frozenset[str], int], target: int, seed: int) -> dict[frozenset[str], int]:
    """Return the share of `target` of each set of tools, by its size. The remainder goes to the largest fractions."""
    total = sum(sizes.values())
    quotas = {tools: target * size // total for tools, size in sizes.items()}
    by_remainder = sorted(
        sizes,
        key=lambda tools: (
            -(target * sizes[tools] % total),
            _random_key(seed, "\0".join(sorted(tools)).encode("utf-8", "backslashreplace")),
        ),
    )
    for tools in by_remainder[: target - sum(quotas.values())]:
        quotas[tools] += 1
    return quotas


def _take(groups: Sequence[_Group], places: Iterable[int], limit: int, chosen: set[int]) -> int:
    """Choose groups in order, as long as they fit, and return the number of their conversations."""
    taken = 0
    for place in places:
        if taken + groups[place].conversations <= limit:
            chosen.add(place)
            taken += groups[place].conversations
    return taken


def _summarize(groups: Sequence[_Group], chosen: set[int], called: Sequence[tuple[str, ...]]) -> Split:
    sides: tuple[list[_Group], list[_Group]] = ([], [])
    for place, group in enumerate(groups):
        sides[place in chosen].append(group)
    sets = [Counter[frozenset[str]]() for _ in sides]
    for counted, side in zip(sets, sides, strict=True):
        for group in side:
            counted[group.tools] += group.conversations
    train_summary, valid_summary = (_summarize_side(side, called) for side in sides)
    train, valid = (tuple(sorted(row for group in side for row in group.rows)) for side in sides)
    kept_together = sorted(group.rows for group in groups if group.conversations > 1)
    return Split(train, valid, train_summary, valid_summary, kept_together, _one_sided(sets[0], sets[1]), _one_sided(sets[1], sets[0]))


def _summarize_side(groups: Sequence[_Group], called: Sequence[tuple[str, ...]]) -> SplitSummary:
    tools = Counter(name for group in groups for row in group.rows for name in called[row])
    rows = sum(len(group.rows) for group in groups)
    return SplitSummary(
        sum(group.conversations for group in groups), rows, tools.total(), dict(sorted(tools.items(), key=lambda item: (-item[1], item[0])))
    )


def _one_sided(here: Counter[frozenset[str]], there: Counter[frozenset[str]]) -> list[ToolSet]:
    found = [ToolSet(sorted(tools), count) for tools, count in here.items() if tools not in there]
    return sorted(found, key=lambda item: (-item.count, item.tools))


def _random_key(seed: int, content: bytes) -> bytes:
    return hashlib.blake2b(f"{seed}/".encode() + content, digest_size=16).digest()
