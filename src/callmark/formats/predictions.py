"""Read predictions: one row per case and trial, in the shapes that tools, APIs and people write. The keys determine the shape.

    {"case", "trial", "calls", "text", "thinking", "error", "finish_reason", "usage", "transcript", "ending", "states", "reward"} our own
    {"id", "tool_calls" | "output_tools" | "calls" | "function_calls"}    calls in any shape, or a JSON string of them
    {"id", "text" | "output" | "completion" | "response" | "prediction" | "generated_text" | "content" | "answer"}
                                                                          a model's text, which may contain calls; also a bare JSON string
    {"sample": {"output_tools", "output_text"}, "item"}                   the input of a Foundry Python grader
    {"datasource_item", "datasource_item_id", "sample": {"output"}}       output items of a hosted evaluation
    {"custom_id", "response": {"status_code", "body"}, "error"}           output and error files of a batch
    {"choices": [{"message"}]}    {"output": [{"type": "function_call"}]} a chat completion, a Responses body
    {"role": "assistant", "content", "tool_calls"}    {"id", "message"}   a message; its content may be a list with tool_use blocks
    {"inputs.id", "outputs.function_calls", "outputs.error_message"}      a row of LOB evaluation results, also under "rows" of one object
    {"id", "messages"}                                                    a whole conversation, for scenarios only
    {"task_id", "trial", "reward", "info", "traj"}                        a simulation recorded by tau-bench

These are errors: `error` or `error_message`, the status "error", HTTP 400 and above, no choices. Structured calls are taken as they are.
The text of a row is not parsed for calls here: that needs the tools of its case (`prediction_text`).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import cast

import msgspec
from msgspec import Raw, Struct, structs

from callmark.calls.messages import ABSENT, explain_validation_error
from callmark.calls.shapes import unwrap
from callmark.calls.strict import scrub
from callmark.errors import BadInput, BrokenRow
from callmark.formats.call_lists import CommonCall, read_common_call
from callmark.formats.dataset import BadRow
from callmark.formats.detect import installed_formats, possible_formats, split_by
from callmark.formats.format import Format, check_utf8
from callmark.formats.json_fields import Fields, decode_fields, describe_keys, json_kind, read_text, read_value, text_field, wrong_type
from callmark.formats.prediction_fields import is_api_id, read_case_id, read_own_fields, read_trial
from callmark.formats.prediction_text import TextKind, parse_prediction
from callmark.formats.problems import explain, refuse_unreadable
from callmark.formats.responses import Response, error_response, error_text, read_error, read_messages_response, read_response
from callmark.formats.row_source import RowSource, open_rows
from callmark.formats.rows import Rows
from callmark.formats.surrogates import escape_surrogates, reject_surrogates
from callmark.types import Call, Place, Prediction, Tool
from callmark.wording import end_sentence

_HTTP_ERROR = 400


class PredictionRow(Struct, frozen=True, gc=False):
    """One row of a predictions file.

    `case` is the case id; None if the row has none (then `prediction.case` is empty). `position` is the index of the case, if the row has
    that instead. The text of `prediction` is not parsed for calls yet; `text` says what it is. In a `repaired` row, lone surrogates were
    escaped.
    """

    prediction: Prediction
    case: str | None = None
    position: int | None = None
    text: TextKind = "read"
    repaired: bool = False

    def parsed(self, parse: str | None, tools: Sequence[Tool]) -> Prediction:
        """Return the prediction with the calls in its text. `parse` is the text format, `tools` are those of the case."""
        if self.text == "read" or self.prediction.calls:
            return self.prediction
        found = parse_prediction(self.prediction, self.text, parse=parse, tools=tools)
        return structs.replace(found, calls=tuple(map(reject_surrogates, found.calls))) if self.repaired else found


class _CommonRow(Struct, gc=False, forbid_unknown_fields=True):
    """The most common kind of row, decoded in one step; other rows are read by their keys."""

    id: str
    tool_calls: list[CommonCall] | None = None
    output_tools: list[CommonCall] | None = None


class _BatchResponse(Struct, gc=False):
    status_code: int | None = None
    body: Raw = ABSENT


class _EvaluationResults(Struct, gc=False):
    rows: list[Raw]
    id: Raw = ABSENT
    case: Raw = ABSENT


_decode_common = msgspec.json.Decoder(_CommonRow).decode
_decode_batch_response = msgspec.json.Decoder(_BatchResponse).decode
_decode_results = msgspec.json.Decoder(_EvaluationResults).decode


class Predictions:
    """The rows of a predictions file with their places, read on demand. Each iteration reads the file again; a pipe can only be read once.

    `parse` is the text format of calls in their texts, which are parsed when they are matched to cases.

    A row that cannot be read raises `BrokenRow` with the file, the line and the reason; with `on_bad`, it is passed to that callback and
    counted. A file without valid rows raises `BadInput`. `name` is the name of the file in messages; its path by default.
    With `regular`, anything but a regular file raises `BadInput`.
    """

    def __init__(
        self,
        path: str,
        *,
        parse: str | None = None,
        whole: bool = False,
        on_bad: Callable[[BadRow], None] | None = None,
        name: str | None = None,
        regular: bool = False,
    ) -> None:
        self.path = path
        self.name = name or ("standard input" if path == "-" else scrub(path))
        self._given_name = name
        self._regular = regular
        self.good_rows = 0  # in the last iteration
        self.bad_rows = 0  # in the last iteration
        self.rows: RowSource | None = None  # for a progress bar; None before reading begins
        self.parse = parse
        self._whole = whole
        self._on_bad = on_bad

    def __iter__(self) -> Iterator[tuple[Place, PredictionRow]]:
        if self.rows is not None and not self.rows.rereadable:
            raise BadInput(f"{self.name}: already read; a pipe can only be read once")
        rows: RowSource
        if self._regular:
            rows = Rows(self.path, self._given_name, regular=True)
        else:
            rows = open_rows(self.path, self._given_name, split=_split_recording)
        self.rows = rows
        self.good_rows = self.bad_rows = 0
        first_reason = ""
        try:
            for number, row in _numbered_rows(rows):
                place = rows.place(number)
                try:
                    prediction_row = read_row(row, whole=self._whole)
                except BadInput as error:
                    if self._on_bad is None:
                        raise BrokenRow(end_sentence(f"{place}: {error}"), error.hint) from None
                    self.bad_rows += 1
                    first_reason = first_reason or str(error)
                    self._on_bad(BadRow(place, str(error), row))
                    continue
                self.good_rows += 1
                yield place, prediction_row
        finally:
            rows.close()
        if not self.good_rows:
            raise BadInput(f"{rows.name}: no valid rows. The first problem: {first_reason}" if first_reason else f"{rows.name} is empty")

    def __repr__(self) -> str:
        return f"Predictions({self.path!r})"


def read_prediction(row: bytes, *, parse: str | None = None, whole: bool = False, tools: Sequence[Tool] = ()) -> PredictionRow:
    """Return the prediction in one row, with the calls in its text. `parse` is the text format, `tools` are those of the case."""
    found = read_row(row, whole=whole)
    return found if found.text == "read" else structs.replace(found, prediction=found.parsed(parse, tools))


def read_row(row: bytes, *, whole: bool = False) -> PredictionRow:
    """Return the prediction in one row, without parsing its text.

    For duplicate keys, the last value wins. Lone surrogates are escaped, and a call with one is malformed. A row that is not valid JSON, is
    nested too deeply, or contains no prediction raises `BadInput`. So does a whole conversation, unless `whole` is set.
    """
    refuse_unreadable(row)
    try:
        check_utf8(row)
        return _read_common(row) or _read(row, whole)
    except (ValueError, RecursionError) as error:
        reason = explain(row, error)
    repaired = escape_surrogates(row)
    if repaired == row:
        raise BadInput(reason)
    try:
        found = _read(repaired, whole)
    except (ValueError, RecursionError) as error:
        raise BadInput(explain(repaired, error)) from None
    calls = tuple(map(reject_surrogates, found.prediction.calls))
    return structs.replace(found, prediction=structs.replace(found.prediction, calls=calls), repaired=True)


def _split_recording(row: bytes) -> Sequence[bytes | Raw] | None:
    """Return the rows in an object that holds recordings, such as simulations; None for a row."""
    try:
        fields = decode_fields(row)
    except (ValueError, RecursionError):  # reading it says why
        return None
    return split_by((candidate for candidate in possible_formats(frozenset(fields)) if candidate.recorded), row)


def _numbered_rows(rows: RowSource) -> Iterator[tuple[int, bytes]]:
    """Yield the rows with their numbers; for a file of LOB evaluation results, the rows under `rows`."""
    for number, row in rows:
        inner = _result_rows(row) if b'"rows"' in row else None
        if inner is None:
            yield number, row
        else:
            yield from ((inner_number, bytes(raw)) for inner_number, raw in enumerate(inner, 1))


def _result_rows(row: bytes) -> list[Raw] | None:
    """Return the nested rows; None for a row that is itself a prediction."""
    try:
        results = _decode_results(row)
    except (ValueError, RecursionError):
        return None
    return results.rows if results.id is ABSENT and results.case is ABSENT else None


def _read_common(row: bytes) -> PredictionRow | None:
    """Return the prediction in a common row; None for any other row."""
    try:
        wire = _decode_common(row)
    except (ValueError, RecursionError):
        return None
    found = wire.tool_calls or wire.output_tools
    if not wire.id or is_api_id(wire.id) or (wire.tool_calls and wire.output_tools):
        return None
    if not found:
        return None if wire.tool_calls is None else PredictionRow(Prediction(wire.id), wire.id, text="response")
    calls = [read_common_call(call, own=False) for call in found]
    return None if None in calls else PredictionRow(Prediction(wire.id, 0, unwrap(tuple(cast("list[Call]", calls)))), wire.id)


def _read(row: bytes, whole: bool) -> PredictionRow:
    fields: Fields = {}
    if row.startswith(b"{") or not row.lstrip().startswith(b'"'):
        fields = decode_fields(row)
        recorded = _read_recorded(row, fields, possible_formats(frozenset(fields)))
        if recorded is not None:
            return recorded
        response = _read_row_response(fields, whole)
        if response is None:
            recorded = _read_recorded(row, fields, installed_formats())
            if recorded is None:
                raise _no_prediction(fields)
            return recorded
    else:
        response = Response(Prediction("", text=read_text(row)), structured=False)
    case, position = read_case_id(fields)
    own = "case" in fields and "calls" in fields
    found = response.prediction
    error = (text_field(fields, "error") if own else "") or found.error or read_error(fields)
    prediction = Prediction(case or "", read_trial(fields), found.calls, found.text, found.thinking, error)
    if own:
        prediction = structs.replace(prediction, **read_own_fields(fields))
    kind: TextKind = "raw" if not response.structured else "read" if own or found.calls else "response"
    return PredictionRow(prediction, case, position, kind)


def _read_recorded(row: bytes, fields: Fields, formats: Iterable[Format]) -> PredictionRow | None:
    """Return the prediction in a row of a recording format; None if the row is in none of these formats."""
    for candidate in formats:
        if candidate.read_prediction is not None and candidate.detect(fields) > 0:
            prediction = candidate.read_prediction(row)
            return PredictionRow(prediction, prediction.case or None)
    return None


def _read_row_response(fields: Fields, whole: bool) -> Response | None:
    response: Response | None
    if "sample" in fields and json_kind(fields["sample"]) == "{":
        response = read_response(decode_fields(fields["sample"]))
    elif "response" in fields and json_kind(fields["response"]) == "{":
        response = _read_batch_response(fields) or read_response(fields)
    elif "inputs.id" in fields or "outputs.function_calls" in fields:
        response = read_response({key.removeprefix("outputs."): raw for key, raw in fields.items() if key.startswith("outputs.")})
    else:
        response = read_response(fields)
    if (response is None or not response.structured) and whole and "messages" in fields:
        return read_messages_response(fields["messages"])
    if response is not None:
        return response
    return error_response() if read_error(fields) else None


def _no_prediction(fields: Fields) -> BadInput:
    if "messages" in fields:
        return BadInput(
            "messages: expected a prediction for one decision point, got a conversation or test case",
            "Pass the calls that the model made, for example in the key tool_calls. A conversation is a prediction only for scenarios.",
        )
    return BadInput(
        "no prediction found: expected calls, tool_calls, output_tools, function_calls, message, choices, output, text or error,"
        f" got {describe_keys(fields)}"
    )


def _read_batch_response(row: Fields) -> Response | None:
    """Return the response in a batch row; None if `response` is something else."""
    try:
        batch = _decode_batch_response(row["response"])
    except msgspec.ValidationError as error:
        raise BadInput(explain_validation_error(str(error), "response")) from None
    status, body = batch.status_code, batch.body
    if status is None and body is ABSENT:
        return None
    if status is not None and status >= _HTTP_ERROR:
        reason = "" if body is ABSENT else error_text(read_value(body), with_code=False)
        return error_response(f"HTTP {status}: {reason}" if reason else f"HTTP {status}")
    if body is ABSENT or json_kind(body) == "n":
        return error_response(read_error(row) or "the response has no body")
    if json_kind(body) != "{":
        raise wrong_type(body, "response.body", "an object")
    fields = decode_fields(body)
    response = read_response(fields)
    if response is None:
        raise BadInput(f"response.body: no prediction found, got {describe_keys(fields)}")
    return response
