"""The codes of lint findings, with severity and meaning.

A row with an error is not fit for training or grading. A warning should be reviewed. An info needs no action.
"""

from callmark.types import Conversation, Finding, Place, Severity

CODES: dict[str, tuple[Severity, str]] = {
    "broken_row": ("error", "a row that cannot be read"),
    "malformed_call": ("error", "a call without a name, or with arguments that are not a JSON object"),
    "unknown_tool": ("error", "a call to a tool that is not listed"),
    "schema_violation": ("error", "arguments that violate the tool's schema"),
    "bad_schema": ("error", "a tool with an invalid schema"),
    "orphan_result": ("error", "a tool result without a matching call"),
    "missing_result": ("error", "a call without a result (except in the last message)"),
    "duplicate_call_id": ("error", "a call ID that is used twice in one conversation"),
    "empty_assistant": ("error", "an assistant message without text or calls"),
    "leak": ("error", "a validation row that duplicates, or nearly duplicates, a training row"),
    "hallucinated_value": ("warning", "an argument value that does not appear earlier in the conversation"),
    "repeated_key": ("warning", "a duplicate key in an object; the last value wins"),
    "conflicting_expected": ("warning", "the same prompt as in another row, with different expected calls"),
    "duplicate_row": ("warning", "an exact duplicate of another row"),
    "near_duplicate": ("warning", "a near-duplicate of another row"),
    "duplicate_id": ("warning", "a row ID that another row also has"),
    "tools_change": ("info", "a tool list that differs between rows"),
    "unused_tool": ("info", "a tool that is listed but never called"),
}


def make_finding(
    code: str, row: Conversation, sentence: str, message: int | None = None, call: str | None = None, argument: str | None = None
) -> Finding:
    """Return a finding about a row, with its location and, if they apply, the message, call and argument."""
    place = row.place
    return Finding(
        code,
        CODES[code][0],
        sentence,
        (place.file or None) if place else None,
        place.number_in_file if place else None,
        row.id,
        message,
        call,
        argument,
    )


def relative_place(place: Place | None, row: Conversation) -> str:
    """Return the location of another row, with its file if it is in a different one."""
    if place is None:
        return "another row"
    same_file = row.place is not None and row.place.file == place.file
    return f"{place.unit} {place.number_in_file}" if same_file else str(place)
