"""Simulations of tau2-bench: a results file `{"info", "tasks", "simulations"}`, or one simulation per row.

    {"id", "task_id", "trial", "messages": [{"role", "content", "tool_calls", "requestor"}], "termination_reason", "reward_info", "task"}

A results file is read as one row per simulation, each with its `task` and the agent's `policy`. Like a recording of tau-bench, a row is a
conversation (`TASK-trial-TRIAL`), a case (the task: see `tau2_tasks.py`) and a prediction. Calls to the user's own tools and their results
are not the agent's: they are left out and counted. A simulation that ended with an error of the infrastructure is an error. Unknown roles
and requestors, and voice simulations without messages raise `BadInput`.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw, Struct, structs

from callmark.calls.messages import explain_validation_error, read_messages
from callmark.calls.strict import NotStrict, dump, parse
from callmark.errors import BadInput
from callmark.formats import tau2_tasks
from callmark.formats.exchanges import build_conversation
from callmark.formats.format import Format, ReadContext, check_utf8
from callmark.types import Case, Conversation, Place, Prediction

_ENDINGS = {"user_stop": "goodbye"}
_ERRORS = frozenset({"infrastructure_error", "unexpected_error"})
_USER_CALLS = "calls to the simulated user's own tools"
_KEYS = frozenset({"tool_calls", "tool_messages", "tool_call_id"})
_CALL_WORDS = ("tool", "call", "function")
_ROLES = frozenset({"system", "user", "assistant", "tool"})


class _Reward(Struct):
    reward: float | None = None


class _Row(Struct):
    task_id: str | int
    messages: Any = None
    trial: int | None = None
    termination_reason: str | None = None
    reward_info: _Reward | None = None
    task: Raw = Raw(b"null")
    policy: str | None = None


class _Environment(Struct):
    policy: str | None = None


class _Info(Struct):
    environment_info: _Environment | None = None


class _Task(Struct):
    id: str | int | None = None


class _Results(Struct):
    simulations: list[dict[str, Raw]]
    tasks: list[Raw] = []
    info: _Info | None = None


_decode = msgspec.json.Decoder(_Row).decode
_decode_results = msgspec.json.Decoder(_Results).decode
_decode_task = msgspec.json.Decoder(_Task).decode
_decode_id = msgspec.json.Decoder(str | int).decode
_encode = msgspec.json.Encoder().encode


def detect(fields: Mapping[str, Raw]) -> float:
    """Return the confidence: high for rows with `task_id`, `messages` and how the simulation ended."""
    is_row = "task_id" in fields and "messages" in fields and ("termination_reason" in fields or "reward_info" in fields)
    return 0.95 if is_row else 0.0


def split(row: bytes) -> list[bytes] | None:
    """Return the simulations of a results file, each with its task; None for a row."""
    if b'"simulations"' not in row:
        return None
    try:
        results = _decode_results(row)
        tasks = {str(_decode_task(task).id): task for task in results.tasks}
        ids = [str(_decode_id(one["task_id"])) if "task_id" in one else "" for one in results.simulations]
    except (ValueError, RecursionError):
        return None
    policy = results.info.environment_info.policy if results.info is not None and results.info.environment_info is not None else None
    extra = {"policy": Raw(_encode(policy))} if policy else {}
    return [
        _encode({**one, **extra, **({"task": tasks[name]} if name in tasks else {})})
        for one, name in zip(results.simulations, ids, strict=True)
    ]


def read(row: bytes, place: Place, context: ReadContext) -> Conversation:
    """Return the recorded conversation of a simulation."""
    wire = _decode_row(row)
    messages, left_out = _agent_messages(wire)
    if left_out:
        context.left_out[_USER_CALLS] += left_out
    prompt = [_encode({"role": "system", "content": wire.policy})] if wire.policy else []
    texts = [*prompt, *(dump(message).encode() for message in messages)]
    name = str(wire.task_id) if wire.trial is None else f"{wire.task_id}-trial-{wire.trial}"
    return build_conversation(name, texts, context.default_tools, place, row)


def read_case(row: bytes, place: Place, context: ReadContext) -> Case:
    """Return the scenario of a simulation's task. A row without its task raises `BadInput`."""
    wire = _decode_row(row)
    if bytes(wire.task) == b"null":
        raise BadInput(f"task: the task {str(wire.task_id)[:80]!r} is missing from the tasks of the results file")
    try:
        return structs.replace(tau2_tasks.read(bytes(wire.task), place, context), id=str(wire.task_id))
    except BadInput as error:
        raise BadInput(f"task.{error}", error.hint) from None


def read_prediction(row: bytes) -> Prediction:
    """Return the prediction of a simulation: the agent's calls, its last text, the transcript, the ending and the reward."""
    wire = _decode_row(row)
    messages, _ = _agent_messages(wire)
    transcript = read_messages(dump(messages).encode())
    ending = wire.termination_reason or ""
    return Prediction(
        str(wire.task_id),
        wire.trial or 0,
        tuple(call for message in transcript for call in message.calls),
        next((message.text for message in reversed(transcript) if message.role == "assistant" and message.text), ""),
        error=f"the simulation ended with {ending}" if ending in _ERRORS else "",
        transcript=transcript,
        ending=_ENDINGS.get(ending, ending),
        reward=wire.reward_info.reward if wire.reward_info is not None else None,
    )


def _decode_row(row: bytes) -> _Row:
    check_utf8(row)
    try:
        wire = _decode(row)
        wire.messages = parse(row).get("messages")
    except msgspec.ValidationError as error:
        raise BadInput(explain_validation_error(str(error))) from None
    except NotStrict as problem:
        raise BadInput(f"not valid JSON: {problem}") from None
    if not isinstance(wire.messages, list):
        raise BadInput("messages: expected a list, got none: voice simulations are not supported")
    if wire.trial is not None and wire.trial < 0:
        raise BadInput(f"trial: expected an integer of at least 0, got {wire.trial}")
    return wire


def _agent_messages(wire: _Row) -> tuple[list[dict[str, Any]], int]:
    """Return the messages as the agent sees them, in the OpenAI form, and the number of the user's own calls."""
    found: list[dict[str, Any]] = []
    user_calls = 0
    for index, message in enumerate(wire.messages):
        where = f"messages[{index}]"
        for one in _flat(message, where):
            role = one.get("role")
            if role not in _ROLES:
                raise BadInput(f"{where}.role: expected one of {', '.join(sorted(_ROLES))}, got {dump(role)[:40]}")
            if role == "tool":
                if _requestor(one, where) == "assistant":
                    found.append({"role": "tool", "tool_call_id": one.get("id"), "content": one.get("content")})
                continue
            unknown = [key for key in one if key not in _KEYS and one[key] and any(word in key for word in _CALL_WORDS)]
            if unknown:
                raise BadInput(f"{where}: unknown key {unknown[0][:40]!r}, which may hold calls")
            calls = one.get("tool_calls") or []
            if not isinstance(calls, list):
                raise BadInput(f"{where}.tool_calls: expected a list, got {dump(calls)[:40]}")
            own = [call for call in calls if _requestor(call, where, "user" if role == "user" else "assistant") == "assistant"]
            user_calls += len(calls) - len(own)
            if role != "assistant" and own:
                raise BadInput(f"{where}.tool_calls: expected the user's own calls, got the agent's calls")
            if own or one.get("content") is not None or not calls:
                found.append({"role": role, "content": one.get("content"), **({"tool_calls": list(map(_call, own))} if own else {})})
    return found, user_calls


def _flat(message: Any, where: str) -> list[dict[str, Any]]:
    """Return a message, or the results that are joined in one."""
    if not isinstance(message, dict):
        raise BadInput(f"{where}: expected a message, got {dump(message)[:40]}")
    joined = message.get("tool_messages")
    if joined is None:
        return [message]
    if not isinstance(joined, list) or not all(isinstance(one, dict) for one in joined):
        raise BadInput(f"{where}.tool_messages: expected a list of messages")
    return joined


def _requestor(value: Any, where: str, default: str = "assistant") -> str:
    given = (value.get("requestor") if isinstance(value, dict) else None) or default
    if given not in ("assistant", "user"):
        raise BadInput(f"{where}.requestor: expected assistant or user, got {dump(given)[:40]}")
    return str(given)


def _call(call: Any) -> Any:
    return {key: value for key, value in call.items() if key != "requestor"} if isinstance(call, dict) else call


FORMAT = Format(
    "tau2-simulations",
    "tau2-bench simulations",
    detect,
    read,
    read_case=read_case,
    read_prediction=read_prediction,
    split=split,
)
