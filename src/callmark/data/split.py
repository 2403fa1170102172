"""Which rows are for training and which are held out: by conversation, near copies on one side, every set of tools on both.

Rows that belong together stay together: decision points that were cut from one conversation, rows with the same id, cases of one group,
and near copies (`callmark.data.near`), also through others (a is near b, b near c). Decision points that rightly call nothing bind no two
conversations: many open alike. What belongs together goes by the set of tools that are called in it; each set gives its share of
conversations to `valid`, rounded so that the total is right (largest remainder).

The same rows and seed give the same split, in whatever order the rows stand. A share between 0 and 1 leaves either side at least one
conversation where there are two that do not belong together.
"""

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import Struct, structs

from callmark.data.near import NearCopies, Sketch, binds, sketch
from callmark.data.stats import ToolSet
from callmark.errors import BadInput
from callmark.types import Case, Conversation


class Side(Struct, frozen=True):
    """What is on one side: conversations, rows, calls, and how many calls of each tool."""

    conversations: int
    rows: int
    calls: int
    tools: dict[str, int]


class Split(Struct, frozen=True):
    """The rows of either side by their place among all rows, from 0, in order.

    `numbers` are the row numbers in the file (line or item, from 1), by place. `together` are the rows of each group of several conversations that had to stay on one side. `only_train` and `only_valid` are sets of
    tools whose conversations are all on one side, most frequent first.
    """

    train: tuple[int, ...]
    valid: tuple[int, ...]
    of_train: Side
    of_valid: Side
    together: list[list[int]]
    only_train: list[ToolSet]
    only_valid: list[ToolSet]
    numbers: tuple[int, ...] = ()


def split(rows: Iterable[Conversation], *, valid: float = 0.2, seed: int = 7) -> Split:
    """Divide rows into `train` and `valid`; `valid` is the share of conversations, 0 to 1.

    One pass; of each row one signature is kept. No row gives two empty sides, one row is on the side that is nearer to the share.
    """
    if not 0 <= valid <= 1:
        raise BadInput(f"the share of valid is a number from 0 to 1, not {valid}")
    gathered = _Gathered()
    for row in rows:
        gathered.add(row)
    groups = gathered.groups(seed)
    chosen = _choose(groups, valid, seed)
    return structs.replace(_told(groups, chosen, gathered.called), numbers=tuple(gathered.numbers))


class _Group(Struct, gc=False):
    """Conversations that stay together: how many, their rows, the tools that are called in them, and where it stands in the order drawn:
    by what is said in it, not by where its rows stand.
    """

    conversations: int
    rows: list[int]
    tools: frozenset[str]
    rank: tuple[bytes, str]


class _Gathered:
    """What is kept of the rows: of each its conversation, the tools it calls and its sketch; of each conversation its name and what tells
    its longest row from others.
    """

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
        name, drawn = _conversation(row), sketch(row)
        number = self._numbers.setdefault(name, len(self._names))
        if number == len(self._names):
            self._names.append(name[0] if name[1] is None else str(name[1]))
            self._longest.append((0, b""))
            self._parents.append(number)
        self._longest[number] = max(self._longest[number], (drawn.size, drawn.digest))
        if binds(row):
            self._sketches.append((drawn, number))
        if isinstance(row, Case) and row.group is not None:
            self._join(number, self._of_group.setdefault(row.group, number))
        self._owners.append(number)
        called = tuple([call.name for call in (row.expected if isinstance(row, Case) else row.calls)])
        self.called.append(self._same.setdefault(called, called))
        self.numbers.append(row.place.number if row.place else len(self.called))

    def groups(self, seed: int) -> list[_Group]:
        """What stays together, in the order drawn."""
        copies = NearCopies()
        ordered = sorted(self._sketches, key=lambda one: one[0].digest)  # in whatever order the rows stand
        for drawn, number in ordered:
            for copy in copies.add_to_all(drawn):
                self._join(number, ordered[copy.index][1])
        members: dict[int, list[int]] = {}
        for number in range(len(self._names)):
            members.setdefault(self._root(number), []).append(number)
        rows: dict[int, list[int]] = {}
        for row, number in enumerate(self._owners):
            rows.setdefault(self._root(number), []).append(row)
        made = []
        for root, numbers in members.items():
            tools = frozenset(name for row in rows[root] for name in self.called[row])
            rank = _drawn(seed, min(self._longest[number][1] for number in numbers)), min(self._names[number] for number in numbers)
            made.append(_Group(len(numbers), rows[root], tools, rank))
        return sorted(made, key=lambda group: group.rank)

    def _join(self, one: int, other: int) -> None:
        self._parents[self._root(one)] = self._root(other)

    def _root(self, number: int) -> int:
        while self._parents[number] != number:
            self._parents[number] = self._parents[self._parents[number]]
            number = self._parents[number]
        return number


def _conversation(row: Conversation) -> tuple[str, int | None]:
    """What rows of the same conversation have in common: the id it was cut from, or its own. A row without an id is one by itself."""
    if isinstance(row, Case) and row.source is not None:
        return row.source.conversation, None
    if row.place is not None and row.id == str(row.place.number):
        return row.place.file, row.place.number
    return row.id, None


def _choose(groups: Sequence[_Group], valid: float, seed: int) -> set[int]:
    """The groups that go to `valid`: from each set of tools its share, then others as far as any are missing."""
    total = sum(group.conversations for group in groups)
    wanted = math.floor(valid * total + 0.5)
    if 0 < valid < 1 and len(groups) > 1:
        wanted = min(max(wanted, 1), total - 1)
    by_tools: dict[frozenset[str], list[int]] = {}
    for place, group in enumerate(groups):
        by_tools.setdefault(group.tools, []).append(place)
    quotas = _quotas({tools: sum(groups[place].conversations for place in places) for tools, places in by_tools.items()}, wanted, seed)
    chosen: set[int] = set()
    for tools, places in by_tools.items():
        _take(groups, places, quotas[tools], chosen)
    missing = wanted - sum(groups[place].conversations for place in chosen)
    rest = [place for place in range(len(groups)) if place not in chosen]
    missing -= _take(groups, rest, missing, chosen)
    rest = [place for place in rest if place not in chosen]
    if missing and (len(rest) > 1 or len(groups) == 1):  # every group that is left has more than are missing; one stays in train
        least = min(rest, key=lambda place: groups[place].conversations)
        if groups[least].conversations < 2 * missing or (not chosen and len(groups) > 1):
            chosen.add(least)
    return chosen


def _quotas(sizes: dict[frozenset[str], int], wanted: int, seed: int) -> dict[frozenset[str], int]:
    """How many of `wanted` each set of tools gives, by its size; what rounding leaves over goes to the largest remainders."""
    total = sum(sizes.values())
    quotas = {tools: wanted * size // total for tools, size in sizes.items()}
    by_remainder = sorted(
        sizes,
        key=lambda tools: (-(wanted * sizes[tools] % total), _drawn(seed, "\0".join(sorted(tools)).encode("utf-8", "backslashreplace"))),
    )
    for tools in by_remainder[: wanted - sum(quotas.values())]:
        quotas[tools] += 1
    return quotas


def _take(groups: Sequence[_Group], places: Iterable[int], most: int, chosen: set[int]) -> int:
    """Choose groups in their order, each that still fits; how many conversations that made."""
    taken = 0
    for place in places:
        if taken + groups[place].conversations <= most:
            chosen.add(place)
            taken += groups[place].conversations
    return taken


def _told(groups: Sequence[_Group], chosen: set[int], called: Sequence[tuple[str, ...]]) -> Split:
    sides: tuple[list[_Group], list[_Group]] = ([], [])
    for place, group in enumerate(groups):
        sides[place in chosen].append(group)
    sets = [Counter[frozenset[str]]() for _ in sides]
    for counted, side in zip(sets, sides, strict=True):
        for group in side:
            counted[group.tools] += group.conversations
    of_train, of_valid = (_side(side, called) for side in sides)
    train, valid = (tuple(sorted(row for group in side for row in group.rows)) for side in sides)
    together = sorted(group.rows for group in groups if group.conversations > 1)
    return Split(train, valid, of_train, of_valid, together, _only(sets[0], sets[1]), _only(sets[1], sets[0]))


def _side(groups: Sequence[_Group], called: Sequence[tuple[str, ...]]) -> Side:
    tools = Counter(name for group in groups for row in group.rows for name in called[row])
    rows = sum(len(group.rows) for group in groups)
    return Side(
        sum(group.conversations for group in groups), rows, tools.total(), dict(sorted(tools.items(), key=lambda one: (-one[1], one[0])))
    )


def _only(here: Counter[frozenset[str]], there: Counter[frozenset[str]]) -> list[ToolSet]:
    found = [ToolSet(sorted(tools), count) for tools, count in here.items() if tools not in there]
    return sorted(found, key=lambda one: (-one.count, one.tools))


def _drawn(seed: int, what: bytes) -> bytes:
    return hashlib.blake2b(f"{seed}/".encode() + what, digest_size=16).digest()
