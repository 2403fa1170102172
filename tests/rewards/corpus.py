"""A corpus of completions of decision points, correct, wrong and broken, in the text of five model families and as messages.

The decision points are those of the hotel's conversations. Everything comes from a seed.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from msgspec import Struct

import callmark
from callmark.formats.openai import write

HOTEL = Path(callmark.__file__).parent / "worlds/hotel/hotel.jsonl"
NUMBER, SEED = 2000, 7

Calls = list[dict[str, Any]]  # each with a name and arguments


class Completion(Struct, frozen=True):
    """A completion, which is a text or a list of messages, and the columns of its case. `form` is how it is written."""

    completion: Any
    expected_output: dict[str, Any]
    tools: list[dict[str, Any]]
    prompt: list[dict[str, Any]]
    form: str


def cases() -> list[dict[str, Any]]:
    """Return the decision points as rows of an evaluation file; those that expect no call are among them."""
    dataset = callmark.load(HOTEL)
    return [json.loads(write(case)) for case in callmark.expand(dataset, abstain=True)]


def completions(number: int = NUMBER, seed: int = SEED) -> Iterator[Completion]:
    """Yield completions."""
    random = Random(seed)
    rows = cases()
    forms = [*TEXTS, "messages", "messages", "messages"]
    for index in range(number):
        row = rows[index % len(rows)]
        form = forms[(index // len(rows) + index) % len(forms)]
        expected = [call["function"] for call in row["expected_output"]["tool_calls"]]
        calls = [{"name": call["name"], "arguments": read_arguments(call["arguments"])} for call in expected]
        calls = _changed(calls, row["tools"], random)
        completion = _message(calls, random) if form == "messages" else _text(calls, form, random)
        yield Completion(completion, row["expected_output"], row["tools"], row["messages"], form)


def read_arguments(text: str) -> dict[str, Any]:
    """Return arguments; those of a malformed call, of which the dataset has one, are empty."""
    try:
        return dict(json.loads(text))
    except ValueError:
        return {}


def _changed(calls: Calls, tools: list[dict[str, Any]], random: Random) -> Calls:
    """Return the calls, or something else that a model may do."""
    kind = random.choice(["same", "same", "value", "value", "name", "more", "none", "missing", "spelling", "type"])
    calls = json.loads(json.dumps(calls))
    if kind == "none":
        return []
    if kind == "more" or not calls:
        calls.append({"name": random.choice(tools)["function"]["name"], "arguments": {"id": random.randint(1, 9)}})
        return calls
    call = random.choice(calls)
    keys = list(call["arguments"])
    if kind == "name":
        call["name"] = random.choice([random.choice(tools)["function"]["name"], "no_such_tool", call["name"].upper()])
    elif keys and kind in ("value", "missing", "spelling", "type"):
        key = random.choice(keys)
        value = call["arguments"][key]
        if kind == "missing":
            del call["arguments"][key]
        elif kind == "value":
            call["arguments"][key] = random.choice(["", "x", 5, None, [value], {"a": value}, True])
        elif kind == "type":
            call["arguments"][key] = json.dumps(value) if not isinstance(value, str) else f" {value} "
        else:
            call["arguments"][f"{key}_"] = call["arguments"].pop(key)
    return calls


def _message(calls: Calls, random: Random) -> list[dict[str, Any]]:
    listed = []
    for number, call in enumerate(calls):
        arguments = json.dumps(call["arguments"], ensure_ascii=random.random() < 0.5)
        if random.random() < 0.15:
            arguments = random.choice([arguments[:-1], f"{arguments} x", "[1]", "", "null", "5", arguments.replace(":", "="), '{"a": NaN}'])
        function = {"name": call["name"] if random.random() < 0.97 else "", "arguments": arguments}
        listed.append({"id": f"call_{number}", "type": "function", "function": function})
    text = random.choice(["", "Let me check.", "Let me check.", "I cannot do that. Anything else?"])
    return [{"role": "assistant", "content": text, **({"tool_calls": listed} if listed else {})}]


def _text(calls: Calls, form: str, random: Random) -> str:
    text = "".join([TEXTS[form](call) for call in calls])
    if calls and form == "mistral":
        text = f"[TOOL_CALLS] {json.dumps(calls)}"
    before = random.choice(["", "", "Let me check.\n", "<think>\nWhich tool?\n</think>\n"])
    if calls and random.random() < 0.2:
        cut = random.randrange(len(text))
        text = random.choice([text[:cut], text[: cut // 2] + text[cut:], text.replace('"', "'", 3), f"`{text}`", text + text[:cut]])
    return before + text if text else before + random.choice(["", "Which booking do you mean?", "Done."])


def _hermes(call: dict[str, Any]) -> str:
    return f"<tool_call>\n{json.dumps(call)}\n</tool_call>\n"


def _kimi(call: dict[str, Any]) -> str:
    begin, argument, end = "<|tool_call_begin|>", "<|tool_call_argument_begin|>", "<|tool_call_end|>"
    section = ("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>")
    return f"{section[0]}{begin}functions.{call['name']}:0{argument}{json.dumps(call['arguments'])}{end}{section[1]}"


def _llama(call: dict[str, Any]) -> str:
    return "<|python_tag|>" + json.dumps({"name": call["name"], "parameters": call["arguments"]}) + "; "


def _qwen_coder(call: dict[str, Any]) -> str:
    parameters = "".join(
        f"<parameter={key}>\n{value if isinstance(value, str) else json.dumps(value)}\n</parameter>\n"
        for key, value in call["arguments"].items()
    )
    return f"<tool_call>\n<function={call['name']}>\n{parameters}</function>\n</tool_call>\n"


def _mistral(call: dict[str, Any]) -> str:
    return json.dumps(call)


TEXTS = {"hermes": _hermes, "kimi": _kimi, "llama": _llama, "qwen3-coder": _qwen_coder, "mistral": _mistral}
