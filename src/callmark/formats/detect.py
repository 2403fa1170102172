"""Which dialect a file is in. To add one: a file beside this one with a `DIALECT`, and its name in the list below."""

import msgspec
from msgspec import Raw

from callmark.errors import BadInput
from callmark.formats import anthropic, deepfabric, openai, scenarios, sharegpt, tau_bench
from callmark.formats.format import Dialect
from callmark.wording import nearest

DIALECTS = {
    dialect.name: dialect
    for dialect in (openai.DIALECT, sharegpt.DIALECT, scenarios.DIALECT, tau_bench.DIALECT, anthropic.DIALECT, deepfabric.DIALECT)
}

_decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode


def dialect_called(name: str) -> Dialect:
    """The dialect of that name; an unknown name raises `BadInput` with the nearest."""
    if name not in DIALECTS:
        raise BadInput(f"there is no dialect called {name!r}{nearest(name, DIALECTS)}", f"The dialects are {', '.join(DIALECTS)}.")
    return DIALECTS[name]


def sniff(row: bytes) -> Dialect:
    """The dialect of a row. Raises `BadInput` with the keys that were found when none recognises it."""
    fields = _decode_fields(row)
    for dialect in reversed(DIALECTS.values()):  # the first, OpenAI's, takes whatever has messages
        if dialect.recognises(fields):
            return dialect
    keys = ", ".join(list(fields)[:8]) or "none"
    raise BadInput(
        f"no dialect recognises the row: its keys are {keys}; messages, conversations or expected_function_calls was expected",
        f"--from names a dialect: {', '.join(DIALECTS)}.",
    )
