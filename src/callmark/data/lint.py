"""What is wrong with a dataset: every finding with a code, a severity, its place and a sentence.

Row by row (`row_findings`): malformed calls, tools that are not listed, arguments against the schema, results and calls that do not
belong together, repeated ids and keys, empty assistant messages, invented values. Over all rows (`Linter`): the same prompt with
different gold, exact duplicates, repeated row ids, tools never used, a tool list that changes.

An error makes a row unfit for training or grading; a warning wants a look; an info is good to know. Of a decision point the expected
calls are looked at as if the assistant had made them; of a scenario only their names and their form.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from callmark.calls.matchers import has_matcher
from callmark.calls.messages import RESULT_ROLES, call_texts, message_texts
from callmark.calls.provenance import DERIVED, origins
from callmark.calls.results import match_results
from callmark.calls.schema import schema_problem, violations
from callmark.calls.strict import NotStrict, dump, parse, repeated_key
from callmark.calls.toolsets import tools_text
from callmark.calls.values import exact, without_defaults
from callmark.types import Call, Case, Conversation, Finding, Place, Severity, Tool
from callmark.wording import counted

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
    "invented_value": ("warning", "an argument value that stands nowhere before its call"),
    "repeated_key": ("warning", "a key that stands twice in one object; the last counts"),
    "conflicting_gold": ("warning", "the same prompt as in another row, with a different answer"),
    "duplicate_row": ("warning", "an exact copy of another row"),
    "duplicate_id": ("warning", "a row id that another row has"),
    "tools_change": ("info", "the tool list is not the same in all rows"),
    "unused_tool": ("info", "a tool that is listed and never called"),
}


class LintReport(Struct, frozen=True):
    """All findings, how many there are of each code, and how many rows were looked at."""

    rows: int
    summary: dict[str, int]
    findings: list[Finding]

    @property
    def errors(self) -> int:
        return sum(finding.severity == "error" for finding in self.findings)


def lint(rows: Iterable[Conversation], *, derived: Sequence[str] = DERIVED) -> LintReport:
    """Look at every row, then at all of them together."""
    linter = Linter(derived=derived)
    for row in rows:
        linter.add(row)
    return linter.report()


class Linter:
    """Looks at rows one by one; `report()` is everything found so far."""

    def __init__(self, *, derived: Sequence[str] = DERIVED) -> None:
        self._derived = derived
        self._findings: list[Finding] = []
        self._rows = 0
        self._seen: dict[bytes, Place | None] = {}
        self._ids: dict[str, Place | None] = {}
        self._golds: dict[bytes, tuple[bytes, int, Place | None]] = {}
        self._listed: set[str] = set()
        self._called: set[str] = set()
        self._first: Conversation | None = None
        self._changed: Conversation | None = None
        self._toolsets: set[bytes] = set()

    def add(self, row: Conversation) -> None:
        """Look at one conversation or case."""
        self._rows += 1
        self._findings += row_findings(row, derived=self._derived)
        whole = row.whole()
        self._duplicates(row, whole)
        self._gold(row, whole)
        self._tools(row, whole)

    def add_broken(self, place: Place, reason: str) -> None:
        """Take note of a row that could not be read."""
        self._findings.append(Finding("broken_row", "error", reason, place.file, place.number))

    def report(self) -> LintReport:
        findings = [*self._findings, *self._over_all()]
        order = {code: index for index, code in enumerate(CODES)}
        counts = Counter(finding.code for finding in findings)
        return LintReport(self._rows, {code: counts[code] for code in sorted(counts, key=order.__getitem__)}, findings)

    def _duplicates(self, row: Conversation, whole: Conversation) -> None:
        asked = row.instructions.encode("utf-8", "backslashreplace") if isinstance(row, Case) else b""
        gold = _golden(whole.calls if isinstance(row, Case) else ())
        key = _digest(b"\0".join([*map(bytes, message_texts(row)), tools_text(row), asked, gold]))
        if key in self._seen:
            self._findings.append(_found("duplicate_row", row, f"the row is an exact copy of {_short(self._seen[key], row)}"))
        else:
            self._seen[key] = row.place
        if row.place is not None and row.id != str(row.place.number):
            if row.id in self._ids:
                self._findings.append(_found("duplicate_id", row, f"the id {row.id!r} stands in {_short(self._ids[row.id], row)} already"))
            else:
                self._ids[row.id] = row.place

    def _gold(self, row: Conversation, whole: Conversation) -> None:
        parameters = {tool.name: tool.parameters for tool in row.tools}
        for index, prompt, answer in _decisions(whole, only_last=isinstance(row, Case)):
            gold = _golden([Call(call.name, dict(without_defaults(call.arguments, parameters.get(call.name, {})))) for call in answer])
            other, number, place = self._golds.setdefault(prompt, (gold, self._rows, row.place))
            if number != self._rows and other != gold and not _same_gold(other, gold):
                sentence = f"the prompt is the same as in {_short(place, row)}, which answers {_told(other)}; here it is {_shown(answer)}"
                self._findings.append(_found("conflicting_gold", row, sentence, message=index, call=answer[0].name if answer else None))

    def _tools(self, row: Conversation, whole: Conversation) -> None:
        self._called.update(call.name for call in whole.calls)
        if not row.tools:
            return
        if self._first is None:
            self._first = row
        if tools_text(row) in self._toolsets:
            return
        self._toolsets.add(tools_text(row))
        self._listed.update(tool.name for tool in row.tools)
        if self._changed is None and sorted(map(_tool_text, self._first.tools)) != sorted(map(_tool_text, row.tools)):
            self._changed = row

    def _over_all(self) -> Iterator[Finding]:
        if self._first is None:
            return
        file = self._first.place.file if self._first.place else None
        if self._changed is not None:
            before, after = ({tool.name for tool in row.tools} for row in (self._first, self._changed))
            added, gone = sorted(after - before), sorted(before - after)
            what = "; ".join([*([f"new: {', '.join(added)}"] if added else []), *([f"gone: {', '.join(gone)}"] if gone else [])])
            place = self._changed.place
            sentence = f"the tool list changes between rows, first here ({what or 'other schemas, same names'})"
            yield Finding("tools_change", "info", sentence, place.file if place else None, place.number if place else None)
        for name in sorted(self._listed - self._called):
            yield Finding("unused_tool", "info", f"{name} is listed and never called", file, call=name)


def row_findings(row: Conversation, *, derived: Sequence[str] = DERIVED) -> list[Finding]:
    """Everything that is wrong with one row by itself."""
    whole = row.whole()
    # What a scenario's calls are made of comes from tools that have not been called yet, and a matcher is no value.
    values = not (isinstance(row, Case) and (row.is_scenario or any(has_matcher(dict(call.arguments)) for call in row.expected)))
    findings = [*_calls(row, whole, check_values=values), *_belonging(row, whole), *_repeated_keys(row)]
    if values:
        for origin in origins(whole.messages, row.tools, derived=derived):
            if origin.source is None:
                call = whole.messages[origin.message].calls[origin.call]
                sentence = f"{call.name}: {origin.path} = {dump(origin.value)} stands nowhere before the call"
                findings.append(_found("invented_value", row, sentence, origin.message, call.name, origin.path))
    return findings


def _calls(row: Conversation, whole: Conversation, *, check_values: bool) -> Iterator[Finding]:
    listed = {tool.name: tool for tool in row.tools}
    for index, message in enumerate(whole.messages):
        if message.role == "assistant" and not message.calls and not message.text.strip():
            yield _found("empty_assistant", row, "the assistant says nothing and calls nothing", index)
        for call in message.calls:
            if call.malformed:
                yield _found("malformed_call", row, f"{call.name or 'a call'} is malformed: {call.malformed}", index, call.name or None)
            if listed and call.name and call.name not in listed:
                yield _found("unknown_tool", row, f"{call.name} is not in the list of {counted(len(listed), 'tool')}", index, call.name)
            elif check_values and call.name in listed and not call.malformed:
                if problem := schema_problem(listed[call.name]):
                    yield _found("bad_schema", row, f"the schema of {call.name} does not compile: {problem}", index, call.name)
                for argument, problem in violations(call.arguments, listed[call.name]):
                    sentence = f"{call.name}: {argument + ': ' if argument else ''}{problem}"
                    yield _found("schema_violation", row, sentence, index, call.name, argument or None)


def _belonging(row: Conversation, whole: Conversation) -> Iterator[Finding]:
    """Calls and results that do not belong together, and ids that stand twice."""
    messages = whole.messages
    results = match_results(messages)
    last = len(messages) - 1
    while last > 0 and messages[last].role in RESULT_ROLES:
        last -= 1
    for index in results.orphans:
        message = messages[index]
        what = f"id {message.tool_call_id!r}" if message.tool_call_id is not None else f"name {message.name!r}" if message.name else "no id"
        yield _found("orphan_result", row, f"the result ({what}) answers no call", index)
    for index, place in results.open:
        if index != last:
            call = messages[index].calls[place]
            yield _found("missing_result", row, f"{call.name or 'a call'} has no result", index, call.name or None)
    seen: set[str] = set()
    for index, message in enumerate(messages):
        for call in message.calls:
            if call.id is not None and call.id in seen:
                yield _found("duplicate_call_id", row, f"the call id {call.id!r} stands twice", index, call.name)
            if call.id is not None:
                seen.add(call.id)


def _repeated_keys(row: Conversation) -> Iterator[Finding]:
    key = repeated_key(row.original.row) if row.original.row else None
    if key is not None:
        yield _found("repeated_key", row, f"the key {key!r} stands twice in one object; the last one counts")
    texts: Sequence[Any] | None = None
    for index, message in enumerate(row.messages):
        if message.calls:
            texts = message_texts(row) if texts is None else texts
            for call, text in zip(message.calls, call_texts(message, texts[index]), strict=True):
                arguments = _argument_text(text)
                key = repeated_key(arguments) if arguments else None
                if key is not None:
                    yield _found(
                        "repeated_key", row, f"{call.name}: the argument {key!r} is given twice; the last one counts", index, call.name, key
                    )


def _argument_text(text: bytes) -> str | None:
    try:
        value = parse(text)
        arguments = value["function"]["arguments"]
    except (NotStrict, KeyError, TypeError):
        return None
    return arguments if isinstance(arguments, str) else None


def _decisions(whole: Conversation, *, only_last: bool) -> Iterator[tuple[int, bytes, tuple[Call, ...]]]:
    """`(message, digest of everything before it, calls)` of each assistant message that answers. Call ids do not count."""
    running = hashlib.blake2b(digest_size=16)
    messages = whole.messages
    for index, message in enumerate(messages):
        goes_on = index + 1 < len(messages) and messages[index + 1].role == "assistant"
        if (
            message.role == "assistant"
            and (message.calls or (message.text and not goes_on))
            and (not only_last or index == len(messages) - 1)
        ):
            yield index, running.digest(), message.calls
        running.update(f"{message.role}\0{message.text}\0".encode("utf-8", "backslashreplace") + _golden(message.calls) + b"\1")


def _golden(calls: Iterable[Call]) -> bytes:
    return dump(sorted([call.name, dump(call.arguments), call.text] for call in calls)).encode()


def _same_gold(one: bytes, other: bytes) -> bool:
    first, second = parse(one), parse(other)
    return len(first) == len(second) and all(
        a[0] == b[0] and a[2] == b[2] and exact(parse(a[1]), parse(b[1])) for a, b in zip(first, second, strict=True)
    )


def _told(gold: bytes) -> str:
    return _shown([Call(name, parse(arguments), None, "malformed" if text else "", text) for name, arguments, text in parse(gold)])


def _shown(calls: Sequence[Call]) -> str:
    return " and ".join(map(str, calls)) if calls else "no call"


def _tool_text(tool: Tool) -> str:
    return dump([tool.name, tool.description, tool.parameters])


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()


def _short(place: Place | None, seen_from: Conversation) -> str:
    """Another row's place: with its file where that is not the same."""
    if place is None:
        return "another row"
    same_file = seen_from.place is not None and seen_from.place.file == place.file
    return f"{place.unit} {place.number}" if same_file else str(place)


def _found(
    code: str, row: Conversation, sentence: str, message: int | None = None, call: str | None = None, argument: str | None = None
) -> Finding:
    place = row.place
    return Finding(
        code, CODES[code][0], sentence, place.file if place else None, place.number if place else None, row.id, message, call, argument
    )
