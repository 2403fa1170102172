"""Escape lone surrogates in a row (`\\ud800` as text): JSON readers reject them, but the rest of the row can be used."""

import re

from callmark.calls.strict import dump, strings_and_numbers
from callmark.types import Call

# Matches each escape in a JSON text; group 1 is a surrogate that is not half of a pair.
_ESCAPE = re.compile(rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL)
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")


def escape_surrogates(row: bytes) -> bytes:
    """Return the row with lone surrogate escapes converted to text: `\\ud800` becomes `\\\\ud800`. Pairs are unchanged."""
    if b"\\u" not in row:
        return row
    return _ESCAPE.sub(lambda escape: b"\\\\" + escape[1] if escape[1] else escape[0], row)


def reject_surrogates(call: Call) -> Call:
    """Mark the call of an escaped row as malformed if its arguments had a lone surrogate, as everywhere else."""
    if call.malformed or not any(isinstance(part, str) and _ESCAPED_SURROGATE.search(part) for part in strings_and_numbers(call.arguments)):
        return call
    return Call(call.name, {}, call.id, "arguments: lone surrogate", dump(call.arguments))
