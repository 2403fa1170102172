"""Predictions: what came back for each case, a row each, in any shape that a tool, an API or a person writes. The keys tell which.

    {"case", "trial", "calls", "text", "thinking", "error", "finish", "spent", "transcript", "ending", "states", "reward"}  callmark's own
    {"id", "tool_calls" | "output_tools" | "calls" | "function_calls"}    calls in any shape (docs/metrics.md, section 1), also text
    {"id", "text" | "output" | "completion" | "response" | "prediction" | "generated_text" | "content" | "answer"}
                                                                          a model's text, in which calls may stand; "text" alone too
    {"sample": {"output_tools", "output_text"}, "item"}                   what a Python grader is given
    {"datasource_item", "datasource_item_id", "sample": {"output"}}       output items of a hosted evaluation
    {"custom_id", "response": {"status_code", "body"}, "error"}           output and error files of a batch
    {"choices": [{"message"}]}    {"output": [{"type": "function_call"}]} a chat completion, a Responses body
    {"role": "assistant", "content", "tool_calls"}    {"id", "message"}   a message; content may be parts with tool_use
    {"inputs.id", "outputs.function_calls", "outputs.error_message"}      a row of evaluation results; a file's "rows" are its rows
    {"id", "messages"}                                                    a whole conversation, for scenarios only
    {"task_id", "trial", "reward", "info", "traj"}                         a simulation that tau-bench recorded

The case is named by `case`, `case_id`, `custom_id`, `inputs.id`, by the row's `id` unless an API gave it, or by the `id` of the item; a
row may name none. `trial` or `repeat` is the trial. An error is no answer: `error` or `error_message`, a status of "error", HTTP 400 and
above, no choices. Structured calls are kept; where the structure says that there are none, text is only parsed when that is asked for.
"""

from collections.abc import Callable, Iterator
from typing import Any, cast

import msgspec
from msgspec import Raw, Struct, structs, to_builtins

from callmark.calls.messages import NOTHING, field_problem, message_text, read_messages
from callmark.calls.text import AUTO, parse_calls
from callmark.calls.shapes import named_call
from callmark.calls.strict import dump, scrub
from callmark.errors import BadInput, BrokenRow
from callmark.formats.dataset import BadRow
from callmark.formats.detect import built_in_formats, installed_formats
from callmark.formats.format import Format, check_utf8
from callmark.formats.problems import explain
from callmark.formats.responses import (
    Fields,
    Said,
    UsualCall,
    decode_fields,
    error_in,
    error_text,
    expected_instead,
    kind,
    read_text,
    read_value,
    said_in,
    said_in_messages,
    shown_keys,
    text_in,
    usual_call,
)
from callmark.formats.rows import Rows
from callmark.formats.surrogates import reject_surrogates, escape_surrogates
from callmark.types import Call, EndStates, Place, Prediction, Usage
from callmark.wording import end_sentence

_CASES = ("case", "case_id", "custom_id", "inputs.id")
_ITEMS = ("datasource_item", "item")
_FROM_AN_API = frozenset({"object", "datasource_item", "datasource_item_id"})  # beside these, the row's id is not the case's
_API_IDS = ("outputitem_", "batch_req_")
_HTTP_ERROR = 400
_MOST = 1 << 31


class Answer(Struct, frozen=True, gc=False):
    """One row of a predictions file.

    `case` is the id of the case, None where the row does not say (then `prediction.case` is empty); `position` is its 0-based place
    where the row gives that instead. `parsed` says that the calls were looked for in raw text.
    """

    prediction: Prediction
    case: str | None = None
    position: int | None = None
    parsed: bool = False


class _Item(Struct, gc=False):
    id: Raw = NOTHING
    item: Raw = NOTHING


class _UsualRow(Struct, gc=False, forbid_unknown_fields=True):
    """A row as nearly every file has it, decoded in one go; any other goes the longer way."""

    id: str
    tool_calls: list[UsualCall] | None = None
    output_tools: list[UsualCall] | None = None


class _Response(Struct, gc=False):
    status_code: int | None = None
    body: Raw = NOTHING


class _Results(Struct, gc=False):
    rows: list[Raw]
    id: Raw = NOTHING
    case: Raw = NOTHING


_decode_usual = msgspec.json.Decoder(_UsualRow).decode
_decode_item = msgspec.json.Decoder(_Item).decode
_DECODERS: dict[str, Callable[[Raw], Any]] = {
    "usage": msgspec.json.Decoder(Usage).decode,
    "states": msgspec.json.Decoder(EndStates).decode,
    "reward": msgspec.json.Decoder(float).decode,
    "misses": msgspec.json.Decoder(int).decode,
}
_decode_response = msgspec.json.Decoder(_Response).decode
_decode_results = msgspec.json.Decoder(_Results).decode


class Predictions:
    """The answers of a file, each with its place, read as they are asked for. Iterating reads the file anew; a pipe can be read once.

    A row that cannot be read raises `BrokenRow` with file, line and reason; with `on_bad` it is handed over and counted instead. A file
    without a row that can be read raises `BadInput`.
    """

    def __init__(
        self, path: str, *, parse: str | None = None, whole: bool = False, on_bad: Callable[[BadRow], None] | None = None
    ) -> None:
        self.path = path
        self.name = "standard input" if path == "-" else scrub(path)
        self.good_rows = 0  # of the last reading, as is the next
        self.bad_rows = 0
        self.rows: Rows | None = None  # for a progress bar; None before reading begins
        self._parse: str | None = parse
        self._whole = whole
        self._on_bad = on_bad

    def __iter__(self) -> Iterator[tuple[Place, Answer]]:
        if self.rows is not None and not self.rows.rereadable:
            raise BadInput(f"{self.name} has been read already, it can be read once")
        rows = self.rows = Rows(self.path)
        self.good_rows = self.bad_rows = 0
        first_reason = ""
        try:
            for number, row in _numbered(rows):
                place = Place(rows.name, number, rows.unit)
                try:
                    answer = read_prediction(row, parse=self._parse, whole=self._whole)
                except BadInput as error:
                    if self._on_bad is None:
                        raise BrokenRow(end_sentence(f"{place}: {error}"), error.hint) from None
                    self.bad_rows += 1
                    first_reason = first_reason or str(error)
                    self._on_bad(BadRow(place, str(error), row))
                    continue
                self.good_rows += 1
                yield place, answer
        finally:
            rows.close()
        if not self.good_rows:
            reason = f": none of its rows can be read; the first: {first_reason}" if first_reason else " is empty: there is no row in it"
            raise BadInput(f"{rows.name}{reason}")

    def __repr__(self) -> str:
        return f"Predictions({self.path!r})"


def read_prediction(row: bytes, *, parse: str | None = None, whole: bool = False) -> Answer:
    """The answer in one row. `parse` is the dialect of calls in raw text; given, it also has a text parsed that is said to be no call.

    Of a repeated key the last counts; lone surrogates are written out, and a call that has one is malformed. A row that is no JSON,
    nests too deep or holds no answer raises `BadInput`; so does, without `whole`, one that holds a whole conversation.
    """
    try:
        check_utf8(row)
        return _usual(row) or _read(row, parse, whole)
    except (ValueError, RecursionError) as error:
        reason = explain(row, error)
    mended = escape_surrogates(row)
    if mended == row:
        raise BadInput(reason)
    try:
        answer = _read(mended, parse, whole)
    except (ValueError, RecursionError) as error:
        raise BadInput(explain(mended, error)) from None
    calls = tuple(map(reject_surrogates, answer.prediction.calls))
    return structs.replace(answer, prediction=structs.replace(answer.prediction, calls=calls))


def write_prediction(prediction: Prediction) -> bytes:
    """callmark's own line, without its end. A malformed call is written with its reason and its text, lone surrogates as text.

    A call made in Python that could not have been read, such as one with a NaN in it, is written as the malformed call that it is.
    """
    line: dict[str, Any] = {
        "case": scrub(prediction.case),
        "trial": prediction.trial,
        "calls": [_call_fields(call) for call in prediction.calls],
    }
    for key in ("text", "thinking", "error", "finish", "ending"):
        if said := getattr(prediction, key):
            line[key] = scrub(said)
    for key in ("usage", "states", "reward", "misses"):
        if (found := getattr(prediction, key)) not in (None, 0) or (key == "reward" and found is not None):
            line[key] = to_builtins(found)
    if prediction.transcript:
        line["transcript"] = [Raw(message_text(message)) for message in prediction.transcript]
        return msgspec.json.encode({key: value if key == "transcript" else Raw(dump(value).encode()) for key, value in line.items()})
    return dump(line).encode()


def _call_fields(call: Call) -> dict[str, Any]:
    kept = call if call.malformed else named_call(call.name, call.arguments, call.id)
    fields: dict[str, Any] = {"name": scrub(kept.name)}
    if kept.id is not None:
        fields["id"] = scrub(kept.id)
    if kept.malformed:
        return {**fields, "malformed": scrub(kept.malformed), "text": scrub(kept.text)}
    return {**fields, "arguments": kept.arguments}


def _numbered(rows: Rows) -> Iterator[tuple[int, bytes]]:
    """The rows with their numbers; of a file of evaluation results those under `rows`."""
    for number, row in rows:
        inner = _result_rows(row) if b'"rows"' in row else None
        if inner is None:
            yield number, row
        else:
            yield from ((place, bytes(raw)) for place, raw in enumerate(inner, 1))


def _result_rows(row: bytes) -> list[Raw] | None:
    """The rows inside; None for a row that is an answer itself."""
    try:
        results = _decode_results(row)
    except (ValueError, RecursionError):
        return None
    return results.rows if results.id is NOTHING and results.case is NOTHING else None


def _usual(row: bytes) -> Answer | None:
    """The answer of a usual row; None for any other."""
    try:
        wire = _decode_usual(row)
    except (ValueError, RecursionError):
        return None
    found = wire.tool_calls or wire.output_tools
    if not wire.id or not found or (wire.tool_calls and wire.output_tools) or wire.id.startswith(_API_IDS):
        return None
    calls = [usual_call(call, own=False) for call in found]
    return None if None in calls else Answer(Prediction(wire.id, 0, tuple(cast("list[Call]", calls))), wire.id, None, False)


def _read(row: bytes, parse: str | None, whole: bool) -> Answer:
    fields: Fields = {}
    if row.startswith(b"{") or not row.lstrip().startswith(b'"'):
        fields = decode_fields(row)
        recorded = _read_recorded(row, fields, built_in_formats())
        if recorded is not None:
            return Answer(recorded, recorded.case)
        said = _said(fields, whole)
    else:
        said = Said(None, read_text(row))
    case, position = _case(fields)
    own = "case" in fields and "calls" in fields
    error = (text_in(fields, "error") if own else "") or said.error or error_in(fields)
    calls, thinking, parsed = said.calls, said.thinking, False
    said_text = said.text
    if calls is None or (parse is not None and not calls and said_text):
        found = parse_calls(said_text, parse or AUTO)
        calls, said_text, parsed = found.calls, found.text, True
        thinking = "\n".join(part for part in (thinking, found.thinking) if part)
    prediction = Prediction(case or "", _trial(fields), calls, said_text, thinking, error)
    if own:
        prediction = structs.replace(prediction, **_own(fields))
    return Answer(prediction, case, position, parsed)


def _said(fields: Fields, whole: bool) -> Said:
    said: Said | None
    if "sample" in fields and kind(fields["sample"]) == "{":
        said = said_in(decode_fields(fields["sample"]))
    elif "response" in fields and kind(fields["response"]) == "{":
        said = _said_in_batch(fields) or said_in(fields)
    elif "inputs.id" in fields or "outputs.function_calls" in fields:
        said = said_in({key.removeprefix("outputs."): raw for key, raw in fields.items() if key.startswith("outputs.")})
    else:
        said = said_in(fields)
    if (said is None or said.calls is None) and whole and "messages" in fields:
        return said_in_messages(fields["messages"])
    if said is not None:
        return said
    if error_in(fields):
        return Said(())
    if "messages" in fields:
        raise BadInput("the row has only messages: that is a whole conversation, and a decision point wants one answer")
    raise BadInput(
        f"no answer is recognised in the row: its keys are {shown_keys(fields)};"
        " calls, tool_calls, output_tools, function_calls, message, choices, output, text or error was expected"
    )


def _said_in_batch(row: Fields) -> Said | None:
    """What the `response` of a batch row says; None where it is something else."""
    try:
        response = _decode_response(row["response"])
    except msgspec.ValidationError as error:
        raise BadInput(field_problem(str(error), "response")) from None
    status, body = response.status_code, response.body
    if status is None and body is NOTHING:
        return None
    if status is not None and status >= _HTTP_ERROR:
        reason = "" if body is NOTHING else error_text(read_value(body), coded=False)
        return Said((), error=f"HTTP {status}: {reason}" if reason else f"HTTP {status}")
    if body is NOTHING or kind(body) == "n":
        return Said((), error=error_in(row) or "the response has no body")
    if kind(body) != "{":
        raise expected_instead(body, "response.body", "an object")
    fields = decode_fields(body)
    said = said_in(fields)
    if said is None:
        raise BadInput(f"response.body holds no answer: its keys are {shown_keys(fields)}")
    return said


def _case(fields: Fields) -> tuple[str | None, int | None]:
    """The id of the row's case, or else its place where the row gives that."""
    for key in _CASES:
        if key in fields and (found := _id(fields[key], key)) is not None:
            return found, None
    if "id" in fields and _FROM_AN_API.isdisjoint(fields) and text_in(fields, "type") != "message":
        found = _id(fields["id"], "id")
        if found is not None and not found.startswith(_API_IDS):
            return found, None
    for key in _ITEMS:
        if key in fields and (found := _item_id(fields[key], key)) is not None:
            return found, None
    return None, _whole_number(fields["datasource_item_id"], "datasource_item_id") if "datasource_item_id" in fields else None


def _item_id(raw: Raw, field: str) -> str | None:
    """The id of an item, or of the item in it."""
    if kind(raw) != "{":
        return None
    item = _decode_item(raw)
    if item.id is not NOTHING and (found := _id(item.id, f"{field}.id")) is not None:
        return found
    if item.item is NOTHING or kind(item.item) != "{":
        return None
    inner = _decode_item(item.item)
    return None if inner.id is NOTHING else _id(inner.id, f"{field}.item.id")


def _id(raw: Raw, field: str) -> str | None:
    match kind(raw):
        case '"':
            return read_text(raw) or None
        case "n":
            return None
        case "{" | "[" | "t" | "f":
            raise expected_instead(raw, field, "text or a number")
    return bytes(raw).decode()


def _own(fields: Fields) -> dict[str, Any]:
    """What only callmark's own rows have."""
    found: dict[str, Any] = {key: text_in(fields, key) for key in ("finish", "ending") if key in fields}
    for key, decode in _DECODERS.items():
        if key in fields and kind(fields[key]) != "n":
            try:
                found[key] = decode(fields[key])
            except msgspec.ValidationError as error:
                raise BadInput(field_problem(str(error), key)) from None
    if "transcript" in fields:
        found["transcript"] = read_messages(fields["transcript"])
    return found


def _trial(fields: Fields) -> int:
    for key in ("trial", "repeat"):
        if key in fields and (found := _whole_number(fields[key], key)) is not None:
            return found
    return 0


def _whole_number(raw: Raw, field: str) -> int | None:
    """The number from 0 on; None for null."""
    found = read_value(raw)
    if found is None or (found.__class__ is int and 0 <= found < _MOST):
        return found
    raise BadInput(f"{field} is {dump(found)[:40]}, a whole number from 0 on was expected")
