"""The shapes of rows with one input and one output: single-turn datasets, and files for fine-tuning."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from callmark.types import Call
from tests.formats.samples import TOOLS, arguments_text
from tests.formats.shapes import ExchangeShape, PredictionShape

Row = dict[str, Any]
OPENAI_TOOLS = [{"type": "function", "function": tool} for tool in TOOLS]
_REFUSAL = {"role": "assistant", "content": "I cannot do that."}


def _flat(call: Call) -> Row:
    return {"name": call.name, "arguments": call.arguments}


def _openai(call: Call) -> Row:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments_text(call)}}


def _user(text: str) -> Row:
    return {"role": "user", "content": text}


def _assistant(calls: Sequence[Call]) -> Row:
    return {"role": "assistant", "content": None, "tool_calls": list(map(_openai, calls))}


def _text(calls: Sequence[Call]) -> str:
    return "\n".join(f"<tool_call>\n{json.dumps(_flat(call), ensure_ascii=False)}\n</tool_call>" for call in calls)


def _toolcall(calls: Sequence[Call]) -> Row:
    return {"role": "assistant", "content": f"<TOOLCALL>{json.dumps(list(map(_flat, calls)))}</TOOLCALL>"}


def xlam(text: str, calls: Sequence[Call]) -> Row:
    return {"query": text, "answers": json.dumps(list(map(_flat, calls))), "tools": json.dumps(list(TOOLS))}


def xlam_lists(text: str, calls: Sequence[Call]) -> Row:
    return {"query": text, "answers": list(map(_flat, calls)), "tools": list(TOOLS)}


def when2call(text: str, calls: Sequence[Call]) -> Row:
    [call] = calls
    answers = {"direct": "Done.", "tool_call": json.dumps(_flat(call)), "request_for_info": "Which?", "cannot_answer": "Sorry."}
    return {"question": text, "correct_answer": "tool_call", "answers": answers, "tools": [json.dumps(tool) for tool in TOOLS]}


def when2call_sft(text: str, calls: Sequence[Call]) -> Row:
    return {"messages": [_user(text), _toolcall(calls)], "tools": [json.dumps(tool) for tool in TOOLS]}


def when2call_preference(text: str, calls: Sequence[Call]) -> Row:
    responses = {"chosen_response": _toolcall(calls), "rejected_response": _REFUSAL}
    return {"messages": [_user(text)], "tools": [json.dumps(tool) for tool in TOOLS], **responses}


def hammerbench(text: str, calls: Sequence[Call]) -> Row:
    [call] = calls
    return {"messages": [_user(text), {"role": "function call", "content": _flat(call)}], "multiple_tools": list(TOOLS), "single_tool": []}


def completion(text: str, calls: Sequence[Call]) -> Row:
    return {"prompt": [_user(text)], "completion": [_assistant(calls)], "tools": OPENAI_TOOLS}


def completion_objects(text: str, calls: Sequence[Call]) -> Row:
    message = {"role": "assistant", "tool_calls": [{"type": "function", "function": _flat(call)} for call in calls]}
    return {"prompt": [_user(text)], "completion": [message], "tools": json.dumps(OPENAI_TOOLS)}


def completion_text(text: str, calls: Sequence[Call]) -> Row:
    return {"prompt": text, "completion": _text(calls), "tools": OPENAI_TOOLS}


def preference(text: str, calls: Sequence[Call]) -> Row:
    return {"prompt": [_user(text)], "chosen": [_assistant(calls)], "rejected": [_REFUSAL], "tools": OPENAI_TOOLS}


def preference_without_prompt(text: str, calls: Sequence[Call]) -> Row:
    return {"chosen": [_user(text), _assistant(calls)], "rejected": [_user(text), _REFUSAL], "tools": OPENAI_TOOLS}


def preference_text(text: str, calls: Sequence[Call]) -> Row:
    return {"prompt": text, "chosen": _text(calls), "rejected": _REFUSAL["content"], "tools": OPENAI_TOOLS}


def openai_preference(text: str, calls: Sequence[Call]) -> Row:
    given = {"messages": [_user(text)], "tools": OPENAI_TOOLS, "parallel_tool_calls": True}
    return {"input": given, "preferred_output": [_assistant(calls)], "non_preferred_output": [_REFUSAL]}


def _reference(key: str, write: Callable[[Sequence[Call]], Any]) -> Callable[[str, Sequence[Call]], Row]:
    return lambda text, calls: {"messages": [_user(text)], "tools": OPENAI_TOOLS, key: write(calls)}


def _literal(call: Call) -> Row:
    """People write matchers into references, so a value that looks like one has to be wrapped."""
    return {"name": call.name, "arguments": {key: {"$literal": value} for key, value in call.arguments.items()}}


EXCHANGE_SHAPES: tuple[ExchangeShape, ...] = (
    ExchangeShape("xLAM", "xlam", xlam, role="", in_text=True),
    ExchangeShape("xLAM with lists", "xlam", xlam_lists, role=""),
    ExchangeShape("When2Call test", "when2call", when2call, role="", in_text=True),
    ExchangeShape("When2Call training", "when2call", when2call_sft, in_text=True),
    ExchangeShape("When2Call preference", "when2call-preference", when2call_preference, in_text=True, rejects=True),
    ExchangeShape("HammerBench", "hammerbench", hammerbench, role="function call"),
    ExchangeShape("completion", "prompt-completion", completion),
    ExchangeShape("completion with objects", "prompt-completion", completion_objects),
    ExchangeShape("completion as text", "prompt-completion", completion_text, role="", in_text=True),
    ExchangeShape("preference", "preference", preference, rejects=True),
    ExchangeShape("preference without a prompt", "preference", preference_without_prompt, rejects=True),
    ExchangeShape("preference as text", "preference", preference_text, role="", in_text=True, rejects=True),
    ExchangeShape("OpenAI preference", "openai-preference", openai_preference, rejects=True),
    *(
        ExchangeShape(key, "reference-answers", _reference(key, lambda calls: list(map(_literal, calls))), role="", is_conversation=False)
        for key in ("expected_tool_calls", "reference_tool_calls", "ground_truth", "reference_answer")
    ),
    ExchangeShape(
        "reference_answer as JSON",
        "reference-answers",
        _reference("reference_answer", lambda calls: json.dumps({"tool_calls": list(map(_literal, calls))})),
        role="",
        in_text=True,
        is_conversation=False,
    ),
)
EXCHANGE_PREDICTIONS: tuple[PredictionShape, ...] = (
    PredictionShape("rejected", lambda calls: {**preference("Do it.", ()), "chosen": [_REFUSAL], "rejected": [_assistant(calls)]}),
    PredictionShape(
        "non_preferred_output",
        lambda calls: {**openai_preference("Do it.", ()), "preferred_output": [_REFUSAL], "non_preferred_output": [_assistant(calls)]},
    ),
)
