"""Convert rows from one format to another, and count what is written, generated and dropped."""

from collections import Counter
from typing import Any

import msgspec
from msgspec import Raw, Struct

from callmark import registry
from callmark.calls.messages import RESULT_ROLES, message_texts
from callmark.calls.shapes import CALL_KEYS
from callmark.calls.strict import scrub
from callmark.errors import BadInput
from callmark.formats.format import Format
from callmark.types import Case, Conversation
from callmark.wording import pluralize

_CONVERTED_CALL_KEYS = CALL_KEYS | {"id", "type", "index"}
_CASE_HINT = "Use --to openai for decision points, or --to scenarios for scenarios."
_DEFINED_HINT = "callmark expand --by-reference writes it."


class _Calls(Struct):
    tool_calls: list[Raw] | None = None


_decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_calls = msgspec.json.Decoder(_Calls).decode


class Conversion:
    """Writes rows in the `target` format and counts the changes. With `rewrite`, rows already in that format are rewritten as well.

    A target that can only be read raises `BadInput`.
    """

    def __init__(self, target: Format, *, rewrite: bool = False) -> None:
        if target.write is None:
            raise read_only_format(target)
        self.target = target
        self.calls = 0
        self.results = 0
        self.generated_ids = 0
        self.replaced_ids = 0
        self.left_out: Counter[str] = Counter()
        self._write = target.write
        self._rewrite = rewrite
        self._written_cases: set[str] = set()

    def line(self, row: Conversation, source: Format) -> bytes | None:
        """Return the row as a line; None for another trial of a case that was already written. `BadInput` if it cannot be written."""
        if source is self.target and not self._rewrite and row.original.row:
            line = row.original.row.rstrip()
        else:
            if source.recorded and isinstance(row, Case):
                if row.id in self._written_cases:
                    return None
                self._written_cases.add(row.id)
            line = self._write_row(row)
            self._count_left_out(row, source)
            self._count_ids(row)
        self.calls += len(row.expected if isinstance(row, Case) else row.calls)
        self.results += sum([message.role in RESULT_ROLES for message in row.messages])
        return line

    def counts(self) -> dict[str, Any]:
        """Return the counts, for JSON output."""
        return {
            "calls": self.calls,
            "results": self.results,
            "generated_ids": self.generated_ids,
            "replaced_ids": self.replaced_ids,
            "left_out": dict(self.left_out),
        }

    def notes(self) -> list[str]:
        """Return notes about the changes, for people."""
        notes = []
        if self.generated_ids:
            notes.append(f"generated {pluralize(self.generated_ids, 'ID')} for calls and results without one")
        if self.replaced_ids:
            ids = pluralize(self.replaced_ids, "call ID")
            notes.append(f"replaced {ids}: {self.target.title} requires nine letters or digits (originals in metadata.callmark)")
        if self.left_out:
            keys = ", ".join(f"{key} ({pluralize(rows, 'row')})" for key, rows in self.left_out.most_common())
            notes.append(f"dropped keys that the {self.target.name} format has no field for: {keys}")
        return notes

    def _write_row(self, row: Conversation) -> bytes:
        try:
            line = self._write(row)
        except UnicodeEncodeError:
            raise BadInput(f"{scrub(row.id)}: an ID, a role or a name contains a lone surrogate") from None
        except BadInput as error:
            raise BadInput(str(error), error.hint or (_CASE_HINT if isinstance(row, Case) else "")) from None
        return msgspec.json.format(line, indent=-1) if b"\n" in line else line  # tools from a separate file may contain line breaks

    def _count_left_out(self, row: Conversation, source: Format) -> None:
        if source.leftover_keys is None or isinstance(row, Case) or not row.original.row:
            return
        self.left_out.update(source.leftover_keys(row.original.row))
        if not self.target.keeps_source_messages:
            self.left_out.update(sorted(_leftover_call_keys(row)))

    def _count_ids(self, row: Conversation) -> None:
        if self.target.needs_call_ids:
            self.generated_ids += sum([call.id is None for call in row.calls])
        if self.target.needs_result_ids:
            self.generated_ids += sum([message.tool_call_id is None for message in row.messages if message.role in RESULT_ROLES])
        if pattern := self.target.call_id_pattern:
            self.replaced_ids += sum([call.id is not None and not pattern.fullmatch(call.id) for call in row.calls])


def read_only_format(target: Format) -> BadInput:
    """Return the error for a format that cannot be written row by row: recordings of other programs, and rows that refer to others."""
    writable: list[Format] = [known for known in registry.built_in("formats") if known.write is not None]
    hint = f"Formats that can be written: {', '.join(known.name for known in writable)}." if target.define is None else _DEFINED_HINT
    return BadInput(f"the format {target.name} ({target.title}) can only be read, not written", hint)


def _leftover_call_keys(row: Conversation) -> set[str]:
    """Return the keys of calls that other formats have no field for, such as a thought signature in `tool_calls.extra_content`."""
    messages = zip(row.messages, message_texts(row), strict=True) if row.calls else ()
    calls = (bytes(call) for message, text in messages if message.calls for call in _decode_calls(text).tool_calls or ())
    fields = (_decode_fields(call) for call in calls if call.startswith(b"{"))
    return {f"tool_calls.{key}" for call in fields for key in call.keys() - _CONVERTED_CALL_KEYS if bytes(call[key]) != b"null"}
