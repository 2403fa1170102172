"""Mutate inputs: the structure of JSON, and bytes. The same random numbers give the same input.

`mutate_json` changes values, keys and members; `mutate_bytes` cuts, repeats, splices and inserts. Both choose among the values of
`dictionary.py`.
"""

import json
from collections.abc import Sequence
from random import Random
from typing import Any

from tests.fuzz.dictionary import KEYS, MATCHERS, NUMBERS, STRINGS, TOKENS

MAX_BYTES = 300_000
_GROW = 0.01  # the share of inputs in which something is repeated many times
_MOST_COPIES = 20_000


def mutate_json(value: Any, random: Random, others: Sequence[Any]) -> Any:
    """Return a changed copy of a JSON value. `others` are values from which parts are taken."""
    root = [value]
    for _ in range(random.choice((1, 1, 1, 2, 2, 3, 5))):
        root = json.loads(json.dumps(root))  # nothing is shared
        places = _places(root)
        parent, key = random.choice(places)
        _change(parent, key, random, others)
    return root[0]


def _places(root: list[Any]) -> list[tuple[Any, Any]]:
    """Return every member of every list and object, as its container and its key."""
    places: list[tuple[Any, Any]] = [(root, 0)]
    for container, key in places:  # it grows
        item = container[key]
        if isinstance(item, dict):
            places.extend((item, name) for name in item)
        elif isinstance(item, list):
            places.extend((item, index) for index in range(len(item)))
        if len(places) > 3000:
            break
    return places


def _change(parent: Any, key: Any, random: Random, others: Sequence[Any]) -> None:
    item = parent[key]
    what = random.randrange(12)
    if what <= 2:
        parent[key] = interesting(random)
    elif what == 3 and isinstance(item, dict) and item:
        del item[random.choice(list(item))]
    elif what == 4 and isinstance(item, dict):
        item[random.choice(KEYS)] = interesting(random)
    elif what == 5 and isinstance(item, dict) and item:
        old = random.choice(list(item))
        item[random.choice((*KEYS, random.choice(STRINGS)))] = item.pop(old)
    elif what == 6 and isinstance(item, list) and item:
        copies = random.randint(100, _MOST_COPIES) if random.random() < _GROW else random.randint(1, 4)
        chosen = random.choice(item)
        size = len(json.dumps(chosen)) + 1
        item.extend([chosen] * max(1, min(copies, MAX_BYTES // size)))
    elif what == 7 and isinstance(item, list) and item:
        del item[random.randrange(len(item))]
    elif what == 8:
        parent[key] = _part(random.choice(others), random) if others else interesting(random)
    elif what == 9:
        parent[key] = random.choice(([item], {random.choice(KEYS): item}, [item, item], json.dumps(item)))
    elif what == 10 and isinstance(item, str):
        parent[key] = _change_text(item, random)
    elif what == 11 and isinstance(item, dict) and random.random() < 0.1:
        copies = random.randint(100, _MOST_COPIES) if random.random() < 5 * _GROW else random.randint(1, 20)
        item.update({f"{random.choice(KEYS)}{number}": number for number in range(copies)})
    else:
        parent[key] = interesting(random)


def interesting(random: Random) -> Any:
    """Return a value that is worth a try."""
    match random.randrange(8):
        case 0 | 1 | 2:
            return random.choice(STRINGS)
        case 3:
            return random.choice(NUMBERS)
        case 4:
            return random.choice((None, True, False, [], {}, [[]], [{}], {"": ""}, [None]))
        case 5:
            return random.choice(MATCHERS)
        case 6:
            return nested(random.choice((3, 30, 150, 190, 250, 400)), random)
    return {random.choice(KEYS): random.choice((random.choice(STRINGS), random.choice(NUMBERS), [], {}))}


def nested(depth: int, random: Random) -> Any:
    value: Any = 1
    key = random.choice(KEYS)
    for _ in range(depth):
        value = [value] if random.random() < 0.5 else {key: value}
    return value


def _part(value: Any, random: Random) -> Any:
    container, key = random.choice(_places([value]))
    return container[key]


def _change_text(text: str, random: Random) -> str:
    at = random.randint(0, len(text))
    inserted = random.choice(STRINGS)
    if random.random() < _GROW:
        inserted *= max(1, min(_MOST_COPIES, MAX_BYTES // 4 // max(1, len(inserted))))
    return random.choice((text[:at] + inserted + text[at:], text[:at], text[at:], text * 2, inserted))


def mutate_bytes(data: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """Return changed bytes."""
    for _ in range(random.choice((1, 1, 2, 3, 6))):
        at, to = sorted((random.randint(0, len(data)), random.randint(0, len(data))))
        match random.randrange(8):
            case 0 if data:
                at = random.randrange(len(data))
                data = data[:at] + bytes([data[at] ^ 1 << random.randrange(8)]) + data[at + 1 :]
            case 1:
                data = data[:at] + random.choice(TOKENS) + data[at:]
            case 2:
                data = data[:at] + random.choice(TOKENS) + data[to:]
            case 3 if to - at < 2000 or random.random() < 0.2:
                data = data[:at] + data[to:]
            case 4:
                times = random.randint(100, _MOST_COPIES) if random.random() < _GROW else 2
                data = data[:to] + data[at:to] * min(times, MAX_BYTES // max(1, to - at)) + data[to:]
            case 5:
                data = data[:at]
            case 6 if others:
                other = random.choice(others)
                data = data[:at] + other[random.randint(0, len(other)) :]
            case _:
                data = data[:at] + random.randbytes(random.randint(1, 8)) + data[at:]
        data = data[:MAX_BYTES]
    return data


def dump(value: Any) -> bytes:
    """Return a value as JSON; lone surrogates stay escaped."""
    return json.dumps(value, ensure_ascii=not _is_plain(value)).encode("utf-8", "surrogatepass")


def _is_plain(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True
