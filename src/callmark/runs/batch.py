"""Batch files: every request in one file, for a service that responds within a day at half the price.

Its results, output file and error file alike, are read by `callmark grade --predictions`; the `custom_id` of a line is the id of its case.
"""

from collections.abc import Iterable, Iterator

import msgspec

from callmark.calls.strict import dump, scrub
from callmark.errors import BadInput
from callmark.models.chat_provider import BATCH_PATH
from callmark.models.chat_request import request_body
from callmark.models.model import ModelSettings
from callmark.types import Case


def batch_lines(cases: Iterable[Case], name: str, settings: ModelSettings, *, path: str = BATCH_PATH) -> Iterator[bytes]:
    """Yield a line for each case, without its end. `path` is the address of each request, as the provider's batch service wants it.

    Two cases of one id raise `BadInput`, because their results could not be told apart; so does a case without a prompt.
    """
    url = dump(path).encode()
    seen: set[str] = set()
    for case in cases:
        if case.id in seen:
            raise BadInput(f"two cases have the id {scrub(case.id)}, and a batch knows its answers by it", "give every case its own id")
        seen.add(case.id)
        body = request_body(case, name, settings)
        if b"\n" in body or b"\r" in body:  # the row comes from a file that is not one row a line
            body = msgspec.json.format(body, indent=-1)
        yield b'{"custom_id":%b,"method":"POST","url":%b,"body":%b}' % (dump(case.id).encode(), url, body)
