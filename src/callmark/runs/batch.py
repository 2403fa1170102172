"""The batch file: every question in one file, for a service that answers within a day at half the price.

What comes back, output file and error file alike, is read by `callmark grade --predictions`; the case's id is the `custom_id`.
"""

from collections.abc import Iterable, Iterator

import msgspec

from callmark.calls.strict import dump, scrub
from callmark.errors import BadInput
from callmark.models.model import ModelSettings
from callmark.models.prompts import request_body
from callmark.types import Case

_URL, _AZURE_URL = "/v1/chat/completions", "/chat/completions"


def batch_lines(cases: Iterable[Case], name: str, settings: ModelSettings) -> Iterator[bytes]:
    """A line for each case, without its end; none for no cases. Azure's differ in the address, and `settings.model` tells which it is.

    Two cases of one id raise `BadInput`, because their answers could not be told apart; so does a case that has nothing to ask.
    """
    url = dump(_AZURE_URL if settings.model.strip().lower().startswith("azure:") else _URL).encode()
    seen: set[str] = set()
    for case in cases:
        if case.id in seen:
            raise BadInput(f"two cases have the id {scrub(case.id)}, and a batch knows its answers by it", "give every case its own id")
        seen.add(case.id)
        body = request_body(case, name, settings)
        if b"\n" in body or b"\r" in body:  # it stood in a file that is not one row a line
            body = msgspec.json.format(body, indent=-1)
        yield b'{"custom_id":%b,"method":"POST","url":%b,"body":%b}' % (dump(case.id).encode(), url, body)
