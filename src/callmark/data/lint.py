"""What is wrong with a dataset: every finding with a code, a severity, its place and a sentence.

Row by row (`row_findings`): what is wrong with it by itself. Over all rows (`Linter`): the same prompt with different gold, copies and near
copies, repeated row ids, tools never used, a tool list that changes; and, where rows for training and for validation are told apart,
what has leaked from one into the other.

Of a decision point the expected calls are looked at as if the assistant had made them; of a scenario only their names and their form.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from callmark.calls.provenance import DERIVED
from callmark.calls.strict import dump, parse
from callmark.calls.toolsets import tools_text
from callmark.calls.values import exact, without_defaults
from callmark.data.lint_codes import CODES, found, short
from callmark.data.lint_copies import Copies, golden
from callmark.data.lint_rows import row_findings
from callmark.types import Call, Case, Conversation, Finding, Place, Tool

__all__ = ["CODES", "LintReport", "Linter", "lint", "row_findings"]


class LintReport(Struct, frozen=True):
    """All findings, how many there are of each code, and how many rows were looked at."""

    rows: int
    summary: dict[str, int]
    findings: list[Finding]

    @property
    def errors(self) -> int:
        return sum(finding.severity == "error" for finding in self.findings)


def lint(rows: Iterable[Conversation], *, valid: Iterable[Conversation] = (), derived: Sequence[str] = DERIVED) -> LintReport:
    """Look at every row, then at all of them together. With `valid` the others are for training, and what leaks is found."""
    linter = Linter(derived=derived)
    for row in rows:
        linter.add(row)
    for row in valid:
        linter.add(row, held_out=True)
    return linter.report()


class Linter:
    """Looks at rows one by one; `report()` is everything found so far. Rows that are held out come after those for training."""

    def __init__(self, *, derived: Sequence[str] = DERIVED) -> None:
        self._derived = derived
        self._findings: list[Finding] = []
        self._rows = 0
        self._in_train = 0
        self._copies = Copies()
        self._ids: dict[str, Place | None] = {}
        self._golds: dict[bytes, tuple[bytes, int, Place | None]] = {}
        self._listed: set[str] = set()
        self._called: set[str] = set()
        self._first: Conversation | None = None
        self._changed: Conversation | None = None
        self._toolsets: set[bytes] = set()

    def add(self, row: Conversation, *, held_out: bool = False) -> None:
        """Look at one conversation or case; `held_out` says that it is for validation."""
        self._rows += 1
        self._in_train += not held_out
        self._findings += row_findings(row, derived=self._derived)
        whole = row.whole()
        asked = self._gold(row, whole)
        copy = self._copies.add(row, held_out=held_out, asked=asked if held_out and isinstance(row, Case) else "")
        self._findings += [copy] if copy is not None else []
        self._repeated_id(row)
        self._tools(row, whole)

    def add_broken(self, place: Place, reason: str) -> None:
        """Take note of a row that could not be read."""
        self._findings.append(Finding("broken_row", "error", reason, place.file, place.number))

    def report(self) -> LintReport:
        findings = [*self._findings, *self._over_all()]
        order = {code: index for index, code in enumerate(CODES)}
        counts = Counter(finding.code for finding in findings)
        return LintReport(self._rows, {code: counts[code] for code in sorted(counts, key=order.__getitem__)}, findings)

    def _repeated_id(self, row: Conversation) -> None:
        if row.place is not None and row.id != str(row.place.number):
            if row.id in self._ids:
                self._findings.append(found("duplicate_id", row, f"the id {row.id!r} stands in {short(self._ids[row.id], row)} already"))
            else:
                self._ids[row.id] = row.place

    def _gold(self, row: Conversation, whole: Conversation) -> str:
        """Hold each answer against the first that was given to the same prompt. Where the last was given, if for training; else nothing."""
        asked = ""
        parameters = {tool.name: tool.parameters for tool in row.tools}
        for index, prompt, answer in _decisions(whole, only_last=isinstance(row, Case)):
            gold = golden([Call(call.name, dict(without_defaults(call.arguments, parameters.get(call.name, {})))) for call in answer])
            other, number, place = self._golds.setdefault(prompt, (gold, self._rows, row.place))
            asked = short(place, row) if number <= self._in_train and number != self._rows else ""
            if number != self._rows and other != gold and not _same_gold(other, gold):
                sentence = f"the prompt is the same as in {short(place, row)}, which answers {_told(other)}; here it is {_shown(answer)}"
                self._findings.append(found("conflicting_gold", row, sentence, message=index, call=answer[0].name if answer else None))
        return asked

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
        running.update(f"{message.role}\0{message.text}\0".encode("utf-8", "backslashreplace") + golden(message.calls) + b"\1")


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
