"""Rows of one dialect as lines of another, and what came of it: how much was written, made up, left out."""

from collections import Counter
from typing import Any

import msgspec
from msgspec import Raw, Struct

from callmark.calls.messages import RESULT_ROLES, message_texts
from callmark.calls.strict import scrub
from callmark.errors import BadInput
from callmark.formats.deepfabric import ID
from callmark.formats.format import Dialect
from callmark.types import Case, Conversation
from callmark.wording import counted

_SAID = {  # keys of a row whose meaning every dialect has a place for
    "openai": {"id", "messages", "tools", "functions", "item"},
    "sharegpt": {"id", "conversations", "tools", "system"},
    "anthropic": {"id", "messages", "tools", "system"},
    "deepfabric": {"id", "messages", "tools", "question", "final_answer"},
}
_NEEDS_IDS = {"anthropic": (True, True), "deepfabric": (True, False)}  # of calls, of results
_OF_CALLS = frozenset({"id", "type", "function", "index", "tool", "name", "functionName", "arguments", "input", "kwargs"})
_FOR_CASES = "A decision point can be written as openai, a scenario as scenarios."


class _Calls(Struct):
    tool_calls: list[Raw] | None = None


_decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_calls = msgspec.json.Decoder(_Calls).decode
_decode_metadata = msgspec.json.Decoder(dict[str, Any]).decode


class Conversion:
    """Rows written as `target` has them. `anew` also writes those anew that are in that dialect already."""

    def __init__(self, target: Dialect, *, anew: bool = False) -> None:
        self.target = target
        self.calls = 0
        self.results = 0
        self.made_up = 0
        self.replaced = 0
        self.left_out: Counter[str] = Counter()
        self._anew = anew
        self._seen: set[str] = set()

    def line(self, row: Conversation, source: Dialect) -> bytes | None:
        """The row as a line; None for a further trial of a case that was written. One that cannot be written raises `BadInput`."""
        if source is self.target and not self._anew:
            line = row.original.row.rstrip()
        else:
            if source.recorded:
                if row.id in self._seen:
                    return None
                self._seen.add(row.id)
            line = self._written(row)
            if source is not self.target:
                self._count_left_out(row, source)
                self._count_ids(row)
        self.calls += len(row.expected if isinstance(row, Case) else row.calls)
        self.results += sum([message.role in RESULT_ROLES for message in row.messages])
        return line

    def counts(self) -> dict[str, Any]:
        """What came of it, for machines."""
        return {
            "calls": self.calls,
            "results": self.results,
            "made_up_ids": self.made_up,
            "replaced_ids": self.replaced,
            "left_out": dict(self.left_out),
        }

    def notes(self) -> list[str]:
        """What is worth knowing, for people."""
        notes = []
        if self.made_up:
            notes.append(f"{counted(self.made_up, 'id')} made up, for calls and results that had none")
        if self.replaced:
            calls = "the id of 1 call" if self.replaced == 1 else f"the ids of {self.replaced:,} calls"
            notes.append(f"{calls} replaced, as {self.target.title} has nine letters or digits; metadata.callmark keeps what stood")
        if self.left_out:
            keys = ", ".join(f"{key} ({counted(rows, 'row')})" for key, rows in self.left_out.most_common())
            notes.append(f"left out, as {self.target.title} has no place for it: {keys}")
        return notes

    def _written(self, row: Conversation) -> bytes:
        try:
            line = self.target.write(row)
        except UnicodeEncodeError:
            raise BadInput(f"{scrub(row.id)}: there is a lone surrogate in an id, a role or a name") from None
        except BadInput as error:
            raise BadInput(str(error), error.hint or (_FOR_CASES if isinstance(row, Case) else "")) from None
        return msgspec.json.format(line, indent=-1) if b"\n" in line else line  # tools from a side file stand as they are in it

    def _count_left_out(self, row: Conversation, source: Dialect) -> None:
        if source.name not in _SAID or isinstance(row, Case):
            return
        fields = _decode_fields(row.original.row)
        inside = bytes(fields["item"]) if source.name == "openai" and "item" in fields else b""
        if inside.startswith(b"{"):  # a wrapper: the row is what it holds
            fields = {**{key: value for key, value in fields.items() if key != "item"}, **_decode_fields(inside)}
        if source.name == "deepfabric" and _only_ours(fields.get("metadata", Raw(b"null"))):
            fields.pop("metadata", None)
        self.left_out.update(key for key in fields if key not in _SAID[source.name] and bytes(fields[key]) != b"null")
        if self.target.name != "openai":  # which has the messages as they stand
            self.left_out.update(sorted(_keys_of_calls(row)))

    def _count_ids(self, row: Conversation) -> None:
        of_calls, of_results = _NEEDS_IDS.get(self.target.name, (False, False))
        if of_calls:
            self.made_up += sum([call.id is None for call in row.calls])
        if of_results:
            self.made_up += sum([message.tool_call_id is None for message in row.messages if message.role in RESULT_ROLES])
        if self.target.name == "deepfabric":
            self.replaced += sum([call.id is not None and not ID.fullmatch(call.id) for call in row.calls])


def _keys_of_calls(row: Conversation) -> set[str]:
    """What stands in calls beside what makes a call, such as the signature of a thought: `tool_calls.extra_content`."""
    said = zip(row.messages, message_texts(row), strict=True) if row.calls else ()
    calls = (bytes(call) for message, text in said if message.calls for call in _decode_calls(text).tool_calls or ())
    fields = (_decode_fields(call) for call in calls if call.startswith(b"{"))
    return {f"tool_calls.{key}" for call in fields for key in call.keys() - _OF_CALLS if bytes(call[key]) != b"null"}


def _only_ours(metadata: Raw) -> bool:
    """Whether there is nothing in a row's metadata but what every dialect says elsewhere."""
    try:
        return _decode_metadata(metadata).keys() <= {"id", "callmark"}
    except msgspec.ValidationError:
        return False
