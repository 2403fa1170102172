"""Hallucinated values of a row: what `lint` reports and `filter --grounded` rejects."""

from collections.abc import Sequence

from callmark.calls.matchers import has_matcher
from callmark.calls.provenance import Origin, find_origins
from callmark.types import Case, Conversation


def has_values(row: Conversation) -> bool:
    """Return whether the calls of a row have values that can be checked.

    The values in a scenario's calls come from tools that have not been called yet, and a matcher is not a value.
    """
    return not (isinstance(row, Case) and (row.is_scenario or any(has_matcher(dict(call.arguments)) for call in row.expected)))


def hallucinated_values(row: Conversation, *, ignore: Sequence[str] = ()) -> list[Origin]:
    """Return the values of a row's calls that need a source and have none, in order; none of a row whose values cannot be checked.

    `ignore` are patterns of arguments that need no source (`tool.argument`), as in `[grounding] ignore`. A case is checked as if the
    assistant had made the expected calls.
    """
    if not has_values(row):
        return []
    return [origin for origin in find_origins(row.whole().messages, row.tools, ignore=ignore) if origin.source is None]
