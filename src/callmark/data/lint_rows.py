"""Lint one row by itself: malformed calls, unlisted tools, schema violations, calls without results and results without calls, duplicate
ids and keys, empty assistant messages, hallucinated values.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from callmark.calls.messages import RESULT_ROLES, call_texts, message_texts
from callmark.calls.results import match_results
from callmark.calls.schema import Schemas
from callmark.calls.strict import NotStrict, dump, parse, repeated_key
from callmark.data.hallucinated import hallucinated_values, has_values
from callmark.data.lint_codes import make_finding
from callmark.types import Conversation, Finding
from callmark.wording import pluralize


def lint_row(row: Conversation, *, ignore: Sequence[str] = ()) -> list[Finding]:
    """Return every finding about one row by itself. `ignore` are patterns of arguments that need no source (`tool.argument`)."""
    conversation = row.whole()
    calls = _lint_calls(row, conversation, check_values=has_values(row))
    findings = [*calls, *_lint_results(row, conversation), *_lint_repeated_keys(row)]
    for origin in hallucinated_values(row, ignore=ignore):
        call = conversation.messages[origin.message].calls[origin.call]
        sentence = f"{call.name}: {origin.path}={dump(origin.value)} does not appear earlier in the conversation (hallucinated)"
        findings.append(make_finding("hallucinated_value", row, sentence, origin.message, call.name, origin.path))
    return findings


def _reason(malformed: str) -> str:
    """Return why a call is malformed; of truncated arguments as a clause."""
    return "the arguments are truncated JSON" if malformed == "arguments: truncated JSON" else malformed


def _lint_calls(row: Conversation, conversation: Conversation, *, check_values: bool) -> Iterator[Finding]:
    schemas = Schemas(row.tools)
    listed = schemas.by_name
    for index, message in enumerate(conversation.messages):
        if message.role == "assistant" and not message.calls and not message.text.strip():
            yield make_finding("empty_assistant", row, "the assistant message has neither text nor calls", index)
        for call in message.calls:
            if call.malformed:
                sentence = f"malformed call{f' to {call.name}' if call.name else ''}: {_reason(call.malformed)}"
                yield make_finding("malformed_call", row, sentence, index, call.name or None)
            if listed and call.name and call.name not in listed:
                yield make_finding(
                    "unknown_tool",
                    row,
                    f"{call.name} is not one of the available tools ({pluralize(len(listed), 'tool')})",
                    index,
                    call.name,
                )
            elif check_values and call.name in listed and not call.malformed:
                if problem := schemas.problem(call.name):
                    yield make_finding("bad_schema", row, f"the schema of {call.name} is invalid: {problem}", index, call.name)
                for argument, problem in schemas.violations(call):
                    sentence = f"{call.name}: {argument + ': ' if argument else ''}{problem}"
                    yield make_finding("schema_violation", row, sentence, index, call.name, argument or None)


def _lint_results(row: Conversation, conversation: Conversation) -> Iterator[Finding]:
    """Yield results without a call, calls without a result, and duplicate call ids."""
    messages = conversation.messages
    results = match_results(messages)
    last = len(messages) - 1
    while last > 0 and messages[last].role in RESULT_ROLES:
        last -= 1
    for index in results.orphans:
        message = messages[index]
        what = f"ID {message.tool_call_id!r}" if message.tool_call_id is not None else f"name {message.name!r}" if message.name else "no ID"
        yield make_finding("orphan_result", row, f"the result with {what} has no matching call", index)
    for index, place in results.open:
        if index != last:
            call = messages[index].calls[place]
            yield make_finding("missing_result", row, f"{call.name or 'a call'} has no result", index, call.name or None)
    seen: set[str] = set()
    for index, message in enumerate(messages):
        for call in message.calls:
            if call.id is not None and call.id in seen:
                yield make_finding("duplicate_call_id", row, f"duplicate call ID {call.id!r}", index, call.name)
            if call.id is not None:
                seen.add(call.id)


def _lint_repeated_keys(row: Conversation) -> Iterator[Finding]:
    key = repeated_key(row.original.row) if row.original.row else None
    if key is not None:
        yield make_finding("repeated_key", row, f"duplicate key {key!r}; the last value wins")
    texts: Sequence[Any] | None = None
    for index, message in enumerate(row.messages):
        if message.calls:
            texts = message_texts(row) if texts is None else texts
            for call, text in zip(message.calls, call_texts(message, texts[index]), strict=True):
                arguments = _argument_text(text)
                key = repeated_key(arguments) if arguments else None
                if key is not None:
                    yield make_finding(
                        "repeated_key", row, f"{call.name}: duplicate argument {key!r}; the last value wins", index, call.name, key
                    )


def _argument_text(text: bytes) -> str | None:
    try:
        value = parse(text)
        arguments = value["function"]["arguments"]
    except (NotStrict, KeyError, TypeError):
        return None
    return arguments if isinstance(arguments, str) else None
