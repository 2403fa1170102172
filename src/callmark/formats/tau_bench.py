"""Simulations recorded by tau-bench: one row per trial of a task, with both the scenario and the prediction.

    {"task_id", "trial", "reward", "info": {"task": {"instruction", "actions": [{"name", "kwargs"}]}}, "traj": [OpenAI messages]}

A row is read in three ways: as a conversation (`read`: the messages, with the id `TASK-trial-TRIAL`), as a case (`read_case`: the task's
id, the user's instructions, the actions as expected calls; the rows of one task are one case) and as a prediction (`read_prediction`: the
calls of the conversation, its transcript, the recorded reward). A failed trial has no task, only `info.error`: it is an error and yields
no case.
"""

from collections.abc import Mapping

import msgspec
from msgspec import Raw, Struct, structs

from callmark.calls.matchers import wrap_literal
from callmark.calls.messages import explain_validation_error, plain_texts, read_messages
from callmark.calls.shapes import read_call_text
from callmark.calls.strict import scrub
from callmark.errors import BadInput
from callmark.formats.format import Format, ReadContext, check_utf8, leftover_keys
from callmark.types import Call, Case, Conversation, Message, Place, Prediction, SourceRow

STOP = "###STOP###"  # the simulated user ends the conversation with this
_TRANSFER = "transfer_to_human"


class _Task(Struct):
    instruction: str | None = None
    actions: list[Raw] | None = None


class _Info(Struct):
    task: _Task | None = None
    error: str | None = None


class _Row(Struct):
    info: _Info
    traj: Raw
    task_id: int | str | None = None
    trial: int | None = None
    reward: float | None = None


class _Messages(Struct):
    traj: list[Raw]


_decode = msgspec.json.Decoder(_Row).decode
_decode_messages = msgspec.json.Decoder(_Messages).decode
_ROW_KEYS = frozenset({"task_id", "trial", "traj"})


def detect(fields: Mapping[str, Raw]) -> float:
    """Return the confidence: high for rows with `task_id` and `traj`."""
    return 0.7 if "task_id" in fields and "traj" in fields else 0.0


def read(row: bytes, place: Place, context: ReadContext) -> Conversation:
    """Return the recorded conversation of a trial."""
    wire = _decode_row(row)
    messages = _read_messages(wire)
    raw_tools, tools = context.default_tools
    name = str(wire.task_id) if wire.trial is None else f"{wire.task_id}-trial-{wire.trial}"
    texts = plain_texts(wire.traj, messages) or _decode_messages(row).traj
    return Conversation(name, messages, tools, place, SourceRow(messages, tools, row, b"", texts, raw_tools))


def read_case(row: bytes, place: Place, context: ReadContext) -> Case:
    """Return the scenario in a row. A row without a task, or a task without instruction or actions, raises `BadInput`."""
    wire = _decode_row(row)
    task = wire.info.task
    if task is None:
        failed = f": the trial failed ({scrub(wire.info.error)[:80]})" if wire.info.error else ""
        raise BadInput(f"info.task is missing{failed}")
    if not task.instruction:
        raise BadInput("info.task: missing key 'instruction'")
    if task.actions is None:
        raise BadInput("info.task: missing key 'actions'")
    raw_tools, tools = context.default_tools
    expected = tuple(map(_read_action, task.actions))
    return Case(
        str(wire.task_id),
        (),
        tools,
        place,
        SourceRow((), tools, row, b"", (), raw_tools, False, expected, ()),
        expected=expected,
        instructions=task.instruction,
    )


def read_prediction(row: bytes) -> Prediction:
    """Return the prediction of a trial: its calls in order, the last assistant text, the transcript, the ending and the reward."""
    wire = _decode_row(row)
    transcript = _read_messages(wire)
    if wire.info.error and wire.info.task is None:
        return Prediction(str(wire.task_id), wire.trial or 0, error=scrub(wire.info.error), transcript=transcript)
    return Prediction(
        str(wire.task_id),
        wire.trial or 0,
        tuple(call for message in transcript for call in message.calls),
        next((message.text for message in reversed(transcript) if message.role == "assistant" and message.text), ""),
        transcript=transcript,
        ending=_ending(transcript),
        reward=wire.reward,
    )


def _read_messages(wire: _Row) -> tuple[Message, ...]:
    return read_messages(wire.traj, "traj")


def _decode_row(row: bytes) -> _Row:
    check_utf8(row)
    try:
        wire = _decode(row)
    except msgspec.ValidationError as error:
        raise BadInput(explain_validation_error(str(error))) from None
    if wire.task_id is None:
        raise BadInput("missing key 'task_id'")
    if wire.trial is not None and wire.trial < 0:
        raise BadInput(f"trial: expected an integer of at least 0, got {wire.trial}")
    return wire


def _ending(transcript: tuple[Message, ...]) -> str:
    """Return why the conversation ended, judging by the last message; empty if unknown."""
    last = transcript[-1] if transcript else Message("")
    if last.role == "user" and STOP in last.text:
        return "goodbye"
    return "transfer" if last.role == "tool" and (last.name or "").startswith(_TRANSFER) else ""


def _read_action(text: Raw) -> Call:
    """Return an action as an expected call. A recorded value that looks like a matcher is wrapped in `$literal`."""
    call = read_call_text(bytes(text))
    return structs.replace(call, arguments={key: wrap_literal(value) for key, value in call.arguments.items()})


FORMAT = Format(
    "tau-bench",
    "recorded simulations",
    detect,
    read,
    read_case=read_case,
    read_prediction=read_prediction,
    leftover_keys=leftover_keys(_ROW_KEYS),
)
