"""Lint a dataset. Every finding has a code, a severity, a location and a sentence.

`lint_row` checks each row by itself. `Linter` also checks all rows together: the same prompt with different expected calls, duplicates and
near-duplicates, duplicate row ids, unused tools, a tool list that changes and, if training and validation rows are given, leaks from
training into validation.

A decision point is linted as if the assistant had made the expected calls. For a scenario, only the names and the form of its calls are
checked.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from callmark.calls.display import show_expected_call
from callmark.calls.strict import dump, parse
from callmark.calls.toolsets import tools_text
from callmark.calls.values import exact, without_defaults
from callmark.data.lint_codes import CODES, make_finding, relative_place
from callmark.data.lint_duplicates import DuplicateFinder, calls_key
from callmark.data.lint_rows import lint_row
from callmark.types import Call, Case, Conversation, Finding, Place, Tool

__all__ = ["CODES", "LintReport", "Linter", "lint", "lint_row"]


class LintReport(Struct, frozen=True):
    """All findings, the number of findings by code, and the number of rows."""

    rows: int
    summary: dict[str, int]
    findings: list[Finding]

    @property
    def errors(self) -> int:
        """The number of findings that are errors."""
        return sum(finding.severity == "error" for finding in self.findings)


def lint(rows: Iterable[Conversation], *, valid: Iterable[Conversation] = (), ignore: Sequence[str] = ()) -> LintReport:
    """Lint every row, then all rows together. With `valid`, `rows` are the training rows, and leaks into `valid` are found."""
    linter = Linter(ignore=ignore)
    for row in rows:
        linter.add(row)
    for row in valid:
        linter.add(row, held_out=True)
    return linter.report()


class Linter:
    """Lints rows one by one; `report()` returns all findings so far. Validation rows must come after training rows.

    `ignore` are patterns of arguments that need no source (`tool.argument`).
    """

    def __init__(self, *, ignore: Sequence[str] = ()) -> None:
        self._ignore = ignore
        self._findings: list[Finding] = []
        self._rows = 0
        self._training_rows = 0
        self._duplicates = DuplicateFinder()
        self._ids: dict[str, Place | None] = {}
        self._expected: dict[bytes, tuple[bytes, int, Place | None]] = {}
        self._listed: set[str] = set()
        self._called: set[str] = set()
        self._first: Conversation | None = None
        self._changed: Conversation | None = None
        self._toolsets: set[bytes] = set()

    def add(self, row: Conversation, *, held_out: bool = False) -> None:
        """Lint one conversation or case. `held_out` marks a validation row."""
        self._rows += 1
        self._training_rows += not held_out
        self._findings += lint_row(row, ignore=self._ignore)
        conversation = row.whole()
        same_prompt = self._check_expected(row, conversation)
        duplicate = self._duplicates.add(row, held_out=held_out, same_prompt=same_prompt if held_out and isinstance(row, Case) else "")
        self._findings += [duplicate] if duplicate is not None else []
        self._check_id(row)
        self._check_tools(row, conversation)

    def add_broken(self, place: Place, reason: str) -> None:
        """Add a row that could not be read."""
        self._findings.append(Finding("broken_row", "error", reason, place.file or None, place.number_in_file))

    def report(self) -> LintReport:
        """Return all findings so far, and their counts by code in the order of `CODES`."""
        findings = [*self._findings, *self._dataset_findings()]
        order = {code: index for index, code in enumerate(CODES)}
        counts = Counter(finding.code for finding in findings)
        return LintReport(self._rows, {code: counts[code] for code in sorted(counts, key=order.__getitem__)}, findings)

    def _check_id(self, row: Conversation) -> None:
        if row.place is not None and row.id != str(row.place.number):
            if row.id in self._ids:
                self._findings.append(
                    make_finding("duplicate_id", row, f"the ID {row.id!r} is already used in {relative_place(self._ids[row.id], row)}")
                )
            else:
                self._ids[row.id] = row.place

    def _check_expected(self, row: Conversation, conversation: Conversation) -> str:
        """Compare the calls of each decision with the first calls for the same prompt.

        Returns the location of the training row with the prompt of the last decision; empty if there is none.
        """
        same_prompt = ""
        parameters = {tool.name: tool.parameters for tool in row.tools}
        for index, prompt, calls in _decisions(conversation, only_last=isinstance(row, Case)):
            key = calls_key([Call(call.name, dict(without_defaults(call.arguments, parameters.get(call.name, {})))) for call in calls])
            other, number, place = self._expected.setdefault(prompt, (key, self._rows, row.place))
            same_prompt = relative_place(place, row) if number <= self._training_rows and number != self._rows else ""
            if number != self._rows and other != key and not _equal_calls(other, key):
                first = f"same prompt as {relative_place(place, row)}, which expects {_describe_key(other)}"
                sentence = f"{first}; this row expects {_describe_calls(calls)}"
                self._findings.append(
                    make_finding("conflicting_expected", row, sentence, message=index, call=calls[0].name if calls else None)
                )
        return same_prompt

    def _check_tools(self, row: Conversation, conversation: Conversation) -> None:
        self._called.update(call.name for call in conversation.calls)
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

    def _dataset_findings(self) -> Iterator[Finding]:
        if self._first is None:
            return
        file = (self._first.place.file or None) if self._first.place else None
        if self._changed is not None:
            before, after = ({tool.name for tool in row.tools} for row in (self._first, self._changed))
            added, removed = sorted(after - before), sorted(before - after)
            what = "; ".join([*([f"added: {', '.join(added)}"] if added else []), *([f"removed: {', '.join(removed)}"] if removed else [])])
            place = self._changed.place
            sentence = f"the tool list changes between rows, first here ({what or 'same names, different definitions'})"
            yield Finding(
                "tools_change", "info", sentence, (place.file or None) if place else None, place.number_in_file if place else None
            )
        for name in sorted(self._listed - self._called):
            yield Finding("unused_tool", "info", f"{name} is listed but never called", file, call=name)


def _decisions(conversation: Conversation, *, only_last: bool) -> Iterator[tuple[int, bytes, tuple[Call, ...]]]:
    """Yield `(message, digest of everything before it, calls)` for each decision of the assistant. Call ids are ignored."""
    running = hashlib.blake2b(digest_size=16)
    messages = conversation.messages
    for index, message in enumerate(messages):
        continues = index + 1 < len(messages) and messages[index + 1].role == "assistant"
        if (
            message.role == "assistant"
            and (message.calls or (message.text and not continues))
            and (not only_last or index == len(messages) - 1)
        ):
            yield index, running.digest(), message.calls
        running.update(f"{message.role}\0{message.text}\0".encode("utf-8", "backslashreplace") + calls_key(message.calls) + b"\1")


def _equal_calls(one: bytes, other: bytes) -> bool:
    first, second = parse(one), parse(other)
    return len(first) == len(second) and all(
        a[0] == b[0] and a[2] == b[2] and exact(parse(a[1]), parse(b[1])) for a, b in zip(first, second, strict=True)
    )


def _describe_key(key: bytes) -> str:
    return _describe_calls([Call(name, parse(arguments), None, "malformed" if text else "", text) for name, arguments, text in parse(key)])


def _describe_calls(calls: Sequence[Call]) -> str:
    return " and ".join(map(show_expected_call, calls)) if calls else "no call"


def _tool_text(tool: Tool) -> str:
    return dump([tool.name, tool.description, tool.parameters])
