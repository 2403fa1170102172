"""The codes of lint findings, each with its severity and its meaning.

An error makes a row unfit for training or grading; a warning should be checked; an info is good to know.
"""

from callmark.types import Conversation, Finding, Place, Severity

CODES: dict[str, tuple[Severity, str]] = {
    "broken_row": ("error", "a row that cannot be read"),
    "malformed_call": ("error", "a call whose arguments are no JSON object, or that has no name"),
    "unknown_tool": ("error", "a call to a tool that is not listed"),
    "schema_violation": ("error", "arguments that the tool's schema does not allow"),
    "bad_schema": ("error", "a tool whose schema does not compile"),
    "orphan_result": ("error", "a result that answers no call"),
    "missing_result": ("error", "a call without a result (the last may stay open)"),
    "duplicate_call_id": ("error", "two calls with the same id in one conversation"),
    "empty_assistant": ("error", "an assistant message that says and calls nothing"),
    "leak": ("error", "a row for validation that is, or nearly is, one for training"),
    "hallucinated_value": ("warning", "an argument value that does not appear earlier in the conversation"),
    "repeated_key": ("warning", "a key that stands twice in one object; the last counts"),
    "conflicting_expected": ("warning", "the same prompt as in another row, with a different answer"),
    "duplicate_row": ("warning", "an exact copy of another row"),
    "near_duplicate": ("warning", "a near copy of another row"),
    "duplicate_id": ("warning", "a row id that another row has"),
    "tools_change": ("info", "the tool list is not the same in all rows"),
    "unused_tool": ("info", "a tool that is listed and never called"),
}


def make_finding(
    code: str, row: Conversation, sentence: str, message: int | None = None, call: str | None = None, argument: str | None = None
) -> Finding:
    """Return a finding in a row, with its place; `message`, `call` and `argument` where it is about one."""
    place = row.place
    return Finding(
        code,
        CODES[code][0],
        sentence,
        (place.file or None) if place else None,
        place.number if place else None,
        row.id,
        message,
        call,
        argument,
    )


def relative_place(place: Place | None, row: Conversation) -> str:
    """Return another row's place, with its file where that is not the same."""
    if place is None:
        return "another row"
    same_file = row.place is not None and row.place.file == place.file
    return f"{place.unit} {place.number}" if same_file else str(place)
