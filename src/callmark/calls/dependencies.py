"""Dependencies between expected calls: which call must come before which (docs/reference/metrics.md, section 19).

Either an expected call states them, as `"after": [ids or indexes of other calls]`, or they follow from a recorded conversation: if a value
in the arguments of B is found in the result of A and in nothing before that result, B depends on A.
"""

from collections.abc import Sequence
from typing import Any

from callmark.calls.provenance import find_origins
from callmark.calls.results import match_results
from callmark.calls.strict import NotStrict, dump, parse
from callmark.errors import BadInput
from callmark.types import Call, Edges, Message, Text, Tool

_KEY = b'"after"'


def stated_dependencies(texts: Sequence[Text], calls: Sequence[Call], where: str) -> Edges:
    """Return the edges that the JSON of expected calls states. `where` names the list in error messages."""
    given = [bytes(text) if _KEY in bytes(text) else b"" for text in texts]
    return read_dependencies([_parse(text) for text in given], calls, where) if any(given) else ()


def read_dependencies(values: Sequence[Any], calls: Sequence[Call], where: str) -> Edges:
    """Return the edges that expected calls state, as (index of the earlier call, index of the later one), sorted and without repeats.

    `values` are the call objects of `calls`, in the same order. An unknown id, an index that is not in the list, the call itself and
    anything else that is not a list of ids and indexes raise `BadInput` that names the field.
    """
    ids: dict[str, int] = {}
    for index, call in enumerate(calls):
        if call.id is not None:
            ids.setdefault(call.id, index)
    edges: set[tuple[int, int]] = set()
    for index, value in enumerate(values):
        field = f"{where}[{index}].after"
        after = value.get("after") if isinstance(value, dict) else None
        if after is None:
            continue
        if not isinstance(after, list):
            raise BadInput(f"{field}: expected a list of IDs or indexes of calls, got {dump(after)[:40]}")
        edges |= {(_find(entry, ids, len(calls), index, field), index) for entry in after}
    return tuple(sorted(edges))


def _find(entry: Any, ids: dict[str, int], count: int, own: int, field: str) -> int:
    if isinstance(entry, bool) or not isinstance(entry, str | int):
        raise BadInput(f"{field}: expected the ID or the index of a call, got {dump(entry)[:40]}")
    found = ids.get(entry) if isinstance(entry, str) else entry
    if found is None:
        raise BadInput(f"{field}: no expected call has the ID {dump(entry)[:40]}")
    if not 0 <= found < count:
        raise BadInput(f"{field}: expected an index from 0 to {count - 1}, got {entry}")
    if found == own:
        raise BadInput(f"{field}: a call cannot come after itself")
    return found


def recorded_dependencies(messages: Sequence[Message], tools: Sequence[Tool] = ()) -> Edges:
    """Return the edges between the calls of a recorded conversation, as indexes into all its calls, sorted and without repeats.

    Values that need no source, and calls whose values are computed (`calculate`, `think`), depend on nothing. Results without a call, and
    calls without a result, make no edge.
    """
    places = [(at, call) for at, message in enumerate(messages) for call in range(len(message.calls))]
    index_of = {place: index for index, place in enumerate(places)}
    call_of = {result: index_of[place] for place, result in match_results(messages).by_call.items()}
    return tuple(
        sorted(
            {
                (call_of[origin.source], index_of[origin.message, origin.call])
                for origin in find_origins(messages, tools)
                if origin.source is not None and origin.source in call_of
            }
        )
    )


def _parse(text: bytes) -> Any:
    try:
        return parse(text) if text else None
    except NotStrict:  # a malformed call, which states nothing
        return None
