"""Runs of LangSmith, one per row or in a list: `{"id", "trace_id", "parent_run_id", "run_type", "inputs", "outputs", "start_time", …}`.

Also an object with `runs` or `data`. A run of type `llm` is a request to a model, one of type `tool` a call. The runs of one thread
(`session_id`, `thread_id` or `conversation_id` in the metadata), or of one trace, are joined (`traces/conversations.py`). A run without
`trace_id` is a row of the format `langchain` instead.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw

from callmark.calls.shapes import read_call
from callmark.calls.strict import NotStrict, dump, parse
from callmark.errors import BadInput
from callmark.formats import langchain, openai
from callmark.formats.chat_rows import read_row
from callmark.formats.format import Format, check_utf8
from callmark.formats.joining import Join, Piece, Refused
from callmark.formats.json_fields import read_value
from callmark.formats.traces.payloads import read_reply, read_request
from callmark.formats.traces.records import Record, objects, record_conversations, text_of
from callmark.formats.traces.span import Span, nanoseconds
from callmark.formats.traces.steps import AgentStep, ModelStep, Step, ToolStep
from callmark.types import Call

_THREAD_KEYS = ("session_id", "thread_id", "conversation_id")
_encode = msgspec.json.Encoder().encode


def detect(fields: Mapping[str, Raw]) -> float:
    """Return the confidence: high for runs with a trace, and for lists of them."""
    if "run_type" in fields and "trace_id" in fields:
        return 0.95
    return 0.95 if any(b'"run_type"' in bytes(fields.get(key, b"")) for key in ("runs", "data")) else 0.0


def _pieces(row: bytes) -> Iterator[Piece]:
    check_utf8(row)
    value = read_value(row)
    if isinstance(value, dict) and "run_type" not in value:
        listed = next((value[key] for key in ("runs", "data", "messages") if key in value), None)
        runs = objects(listed, "runs")
    else:
        runs = objects([value], "the row")
    for run in runs:
        yield from _run_pieces(run)


def _run_pieces(run: Record) -> Iterator[Piece]:
    """Yield the piece of a run, and those of the runs inside it, as a trace of the Python client has them."""
    trace = text_of(run, "trace_id") or text_of(run, "id")
    if not text_of(run, "id"):
        raise BadInput("a run without id")
    thread = _thread(run)
    children = run.get("child_runs")
    own = {key: value for key, value in run.items() if key != "child_runs"} | {"trace_id": trace}
    yield Piece((f"trace {trace}", *([f"thread {thread}"] if thread else ())), _encode(own))
    for child in objects(children, "child_runs") if children else ():
        yield from _run_pieces({"trace_id": trace, "parent_run_id": run.get("id"), **child})


def _thread(run: Record) -> str:
    extra = run.get("extra")
    return text_of(extra.get("metadata"), *_THREAD_KEYS) if isinstance(extra, dict) else ""


def _span(run: Record) -> Span:
    thread = _thread(run)
    return Span(
        text_of(run, "id"),
        text_of(run, "parent_run_id"),
        text_of(run, "trace_id"),
        text_of(run, "name"),
        nanoseconds(run.get("start_time")),
        nanoseconds(run.get("end_time")),
        {"session.id": thread} if thread else {},
    )


def _read_step(run: Record, **common: Any) -> Step | None:
    failed = text_of(run, "error")
    given, returned = run.get("inputs"), run.get("outputs")
    kind = text_of(run, "run_type")
    if kind == "tool":
        return _tool_step(run, failed, common)
    if kind == "llm":
        if not isinstance(given, dict) or not given:
            return ModelStep(**common, failed=bool(failed))
        fields = read_row(_encode({key: run[key] for key in ("inputs", "outputs", "extra", "metadata") if run.get(key) is not None}))
        try:
            before, after, tools = langchain.read_run(fields)
            return ModelStep(**common, input=tuple(before), output=tuple(after) if returned else None, tools=tools, failed=bool(failed))
        except BadInput:
            request = read_request(given, "inputs")
        output = read_reply(returned, "outputs") if returned else None
        return ModelStep(**common, input=request.messages, output=output, tools=request.tools, failed=bool(failed))
    return AgentStep(**common) if kind == "chain" and not run.get("parent_run_id") else None


def _tool_step(run: Record, failed: str, common: dict[str, Any]) -> ToolStep:
    name = text_of(run, "name")
    inputs, outputs = run.get("inputs"), run.get("outputs")
    output = outputs.get("output", outputs) if isinstance(outputs, dict) else outputs
    message = output.get("kwargs", output) if isinstance(output, dict) else None
    call_id = text_of(message, "tool_call_id")
    result: Any = message["content"] if message is not None and call_id and "content" in message else output
    call = _tool_call(name, inputs, call_id)
    text = result if isinstance(result, str) or result is None else dump(result)
    failed = failed or ("the tool failed" if message is not None and message.get("status") == "error" else "")
    return ToolStep(**common, name=name, call_id=call_id, call=call, result=failed or None if text is None else text, failed=bool(failed))


def _tool_call(name: str, inputs: Any, call_id: str) -> Call | None:
    """Return the call in the inputs of a tool: an object, or JSON under `input`. None if it is there only as other text."""
    given: Any = inputs
    if isinstance(inputs, dict) and inputs.keys() == {"input"}:
        given = inputs["input"]
    if isinstance(given, str):
        try:
            given = parse(given)
        except NotStrict:
            return None
    if not isinstance(given, dict):
        return None
    return read_call({"name": name, "arguments": given, **({"id": call_id} if call_id else {})})


def _conversations(pieces: Sequence[bytes], count: Callable[[str], None]) -> Iterable[bytes | Refused]:
    return record_conversations(pieces, _span, _read_step, count)


FORMAT = Format("langsmith", "LangSmith runs", detect, openai.read, join=Join(_pieces, _conversations))
