"""Cases for `make parity`: expected and actual calls, generated from a seed.

The actual calls are the expected ones with up to four changes: order, missing, extra and repeated calls, other names, other arguments.
Argument values are either identical JSON or unequal by the rule of every system, so that only the metrics are compared; how values are
compared is among the listed differences.
"""

import json
from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

NamedCall = tuple[str, dict[str, Any]]  # name and arguments

NAMES = ("search", "read", "book", "send")
KEYS = ("x", "y", "z")
VALUES: tuple[Any, ...] = ("Paris", "Rome", "a b", 2, 3, -7, 0.5, True, False, None, ["a"], ["a", "b"], [], {"k": "v"}, {"k": "w"})


class ParityCase(NamedTuple):
    """Expected and actual calls."""

    expected: list[NamedCall]
    actual: list[NamedCall]

    def line(self) -> str:
        """Return the case as a line of JSON, which the scripts in `peers` read."""
        sides = {"expected": self.expected, "actual": self.actual}
        return json.dumps({side: [{"name": name, "arguments": arguments} for name, arguments in calls] for side, calls in sides.items()})


def generate(count: int, seed: int) -> list[ParityCase]:
    """Return generated cases; the same for the same seed."""
    random = Random(seed)
    return [_case(random) for _ in range(count)]


def _case(random: Random) -> ParityCase:
    expected = [_call(random) for _ in range(random.choice((0, 1, 1, 2, 2, 3, 4, 6)))]
    actual = list(expected)
    for _ in range(random.randint(0, 4)):
        actual = random.choice(CHANGES)(random, actual)
    return ParityCase(expected, actual)


def _call(random: Random) -> NamedCall:
    return random.choice(NAMES), {key: random.choice(VALUES) for key in random.sample(KEYS, random.choice((0, 1, 1, 2)))}


def _shuffle(random: Random, calls: list[NamedCall]) -> list[NamedCall]:
    return random.sample(calls, len(calls))


def _leave_out(random: Random, calls: list[NamedCall]) -> list[NamedCall]:
    gone = random.randrange(len(calls) + 1)
    return calls[:gone] + calls[gone + 1 :]


def _insert(random: Random, calls: list[NamedCall]) -> list[NamedCall]:
    place = random.randint(0, len(calls))
    return [*calls[:place], _call(random), *calls[place:]]


def _repeat(random: Random, calls: list[NamedCall]) -> list[NamedCall]:
    return [*calls, random.choice(calls)] if calls else calls


def _rename(random: Random, calls: list[NamedCall]) -> list[NamedCall]:
    return _replace(random, calls, lambda name, arguments: (random.choice((*NAMES, name.upper())), arguments))


def _change_value(random: Random, calls: list[NamedCall]) -> list[NamedCall]:
    def change(name: str, arguments: dict[str, Any]) -> NamedCall:
        return name, {**arguments, random.choice([*arguments, *KEYS[:1]]): random.choice(VALUES)}

    return _replace(random, calls, change)


def _leave_out_argument(random: Random, calls: list[NamedCall]) -> list[NamedCall]:
    return _replace(random, calls, lambda name, arguments: (name, dict(list(arguments.items())[1:])))


def _replace(random: Random, calls: list[NamedCall], change: Callable[[str, dict[str, Any]], NamedCall]) -> list[NamedCall]:
    if not calls:
        return calls
    place = random.randrange(len(calls))
    return [*calls[:place], change(*calls[place]), *calls[place + 1 :]]


CHANGES = (_shuffle, _leave_out, _insert, _repeat, _rename, _change_value, _leave_out_argument)
