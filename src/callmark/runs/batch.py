"""Batch files: all requests in one file, for batch APIs that respond within a day at half the price.

`callmark grade --predictions` reads the output and error files; the `custom_id` of a line is the id of its case.
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
    """Yield one line per case, without a line break. `path` is the URL of each request, as the provider's batch API expects it.

    Two cases with the same id raise `BadInput`, because their predictions could not be told apart. So does a case without a prompt.
    """
    url = dump(path).encode()
    seen: set[str] = set()
    for case in cases:
        if case.id in seen:
            raise BadInput(
                f"duplicate case ID {scrub(case.id)!r}: a batch matches predictions to cases by ID", "Give each case a unique ID."
            )
        seen.add(case.id)
        body = request_body(case, name, settings)
        if b"\n" in body or b"\r" in body:  # the source file has rows that span several lines
            body = msgspec.json.format(body, indent=-1)
        yield b'{"custom_id":%b,"method":"POST","url":%b,"body":%b}' % (dump(case.id).encode(), url, body)
