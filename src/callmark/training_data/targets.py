"""Write examples for trainers: OpenAI's fine-tuning files, TRL, and ShareGPT (Axolotl, LLaMA-Factory, Unsloth).

    openai      {"messages": […], "tools": […]}, with `weight: 0` on earlier messages of the assistant
                {"input": {"messages", "tools"}, "preferred_output": [message], "non_preferred_output": [message]}
    trl         {"prompt": […], "completion": [message], "tools": "…"}     {"prompt", "chosen": [message], "rejected": [message], "tools"}
                arguments are objects, as chat templates expect them; tools are JSON text, which a table does not pad
    sharegpt    {"conversations": […], "tools": …}      {"conversations": […], "chosen": {turn}, "rejected": {turn}, "tools": …}

Messages have a role, text, calls and ids only; images and other parts are not kept.
"""

from collections.abc import Callable
from typing import Any, Literal

import msgspec

from callmark.calls.messages import RESULT_ROLES
from callmark.calls.toolsets import tool_fields
from callmark.errors import BadInput
from callmark.formats import sharegpt
from callmark.training_data.examples import Example
from callmark.types import Conversation, Message

TrainingFormat = Literal["openai", "trl", "sharegpt"]
_encode = msgspec.json.Encoder().encode
_ROLES = {"function": "tool"}


def write_example(example: Example, target: TrainingFormat) -> bytes:
    """Return an example as one line. Values that JSON cannot hold raise `BadInput`."""
    try:
        return _encode(_WRITERS[target](example))
    except (TypeError, ValueError, RecursionError, OverflowError) as error:
        raise BadInput(f"{example.case.id}: cannot be written: {error}") from None


def check_target(target: str) -> None:
    """Raise `BadInput` for an unknown format."""
    if target not in _WRITERS:
        raise BadInput(f"unknown format {target!r}", f"Formats: {', '.join(_WRITERS)}.")


def _openai(example: Example) -> dict[str, Any]:
    tools = {"tools": [tool_fields(tool) for tool in example.tools]} if example.tools else {}
    prompt = [_message(message, as_text=True) for message in example.prompt]
    completion = _message(example.completion, as_text=True)
    if example.rejected is not None:
        rejected = _message(example.rejected, as_text=True)
        return {"input": {"messages": prompt, **tools}, "preferred_output": [completion], "non_preferred_output": [rejected]}
    earlier = [{**message, "weight": 0} if message["role"] == "assistant" else message for message in prompt]
    return {"messages": [*earlier, completion], **tools}


def _trl(example: Example) -> dict[str, Any]:
    prompt = [_message(message, as_text=False) for message in example.prompt]
    tools = {"tools": _encode([tool_fields(tool) for tool in example.tools]).decode()} if example.tools else {}
    completion = [_message(example.completion, as_text=False)]
    if example.rejected is None:
        return {"prompt": prompt, "completion": completion, **tools}
    return {"prompt": prompt, "chosen": completion, "rejected": [_message(example.rejected, as_text=False)], **tools}


def _sharegpt(example: Example) -> dict[str, Any]:
    def written(*messages: Message) -> dict[str, Any]:
        row: dict[str, Any] = msgspec.json.decode(sharegpt.write(Conversation(example.case.id, messages, example.tools)))
        return row

    if example.rejected is None:
        return written(*example.prompt, example.completion)
    row = written(*example.prompt)
    chosen, rejected = (written(*example.prompt, message)["conversations"][-1] for message in (example.completion, example.rejected))
    return {**row, "chosen": chosen, "rejected": rejected}


def _message(message: Message, *, as_text: bool) -> dict[str, Any]:
    """Return a chat message; arguments are JSON text or objects."""
    role = _ROLES.get(message.role, message.role)
    fields: dict[str, Any] = {"role": role, "content": message.text}
    if message.role in RESULT_ROLES:
        if message.tool_call_id is not None:
            fields["tool_call_id"] = message.tool_call_id
        if message.name:
            fields["name"] = message.name
    if message.calls:
        fields["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {
                    "name": call.name,
                    "arguments": (call.text or _encode(call.arguments).decode()) if as_text else call.text or call.arguments,
                },
            }
            for call in message.calls
        ]
    return fields


_WRITERS: dict[str, Callable[[Example], dict[str, Any]]] = {"openai": _openai, "trl": _trl, "sharegpt": _sharegpt}
