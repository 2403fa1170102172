# ruff: noqa: E501 - texts as the models write them
from collections.abc import Sequence

from callmark.types import Call
from tests.calls.text.family import Family, dump, text_value

WEATHER = Call("get_weather", {"city": "Bonn"}, "functions.get_weather:0")
TIME = Call("get_time", {}, "functions.get_time:1")


def write(calls: Sequence[Call]) -> str:
    inside = "".join(
        f"<|tool_call_begin|>functions.{call.name}:{index}<|tool_call_argument_begin|>{dump(call.arguments)}<|tool_call_end|>"
        for index, call in enumerate(calls)
    )
    return f"<|tool_calls_section_begin|>{inside}<|tool_calls_section_end|>"


def write_k3(calls: Sequence[Call]) -> str:
    kinds = {str: "string", bool: "boolean", int: "number", float: "number", dict: "object", list: "array", type(None): "null"}
    inside = "".join(
        f'<|open|>call tool="{call.name}" index="{index}"<|sep|>'
        + "".join(
            f'<|open|>argument key="{key}" type="{kinds[type(value)]}"<|sep|>{text_value(value)}<|close|>argument<|sep|>'
            for key, value in call.arguments.items()
        )
        + "<|close|>call<|sep|>"
        for index, call in enumerate(calls, 1)
    )
    return f"<|open|>tools<|sep|>{inside}<|close|>tools<|sep|>"


FAMILY = Family(
    "kimi",
    write_k3,
    [
        (write([WEATHER]), [WEATHER]),
        (write([WEATHER, TIME]), [WEATHER, TIME]),
        ('<|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{"city": "Bonn"}<|tool_call_end|>', [WEATHER]),
        (
            '<|tool_calls_section_begin|>\n<|tool_call_begin|>functions.get_weather:0\n<|tool_call_argument_begin|>{"city": "Bonn"}\n<|tool_call_end|>\n'
            "<|tool_calls_section_end|>",
            [WEATHER],
        ),
        (
            '<|tool_call_begin|>get_weather:0<|tool_call_argument_begin|>{"city": "Bonn"}<|tool_call_end|>',
            [Call("get_weather", {"city": "Bonn"}, "get_weather:0")],
        ),
        (
            '<|open|>tools<|sep|><|open|>call tool="get_weather" index="1"<|sep|><|open|>argument key="city" type="string"<|sep|>5<|close|>argument<|sep|>'
            '<|open|>argument key="days" type="number"<|sep|>5<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>',
            [Call("get_weather", {"city": "5", "days": 5})],
        ),
        (
            '<|tool_call_begin|>functions.unlisted_tool:7<|tool_call_argument_begin|>{"a": 1}<|tool_call_end|>',
            [Call("unlisted_tool", {"a": 1}, "functions.unlisted_tool:7")],
        ),
    ],
    [
        "The section opens with <|tool_calls_section_begin|> and ends with <|tool_calls_section_end|>.",
        "`<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{}<|tool_call_end|>` is a call.",
        "A call begins with <|tool_call_begin|> there.",
    ],
    [
        ('<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{"city": "Bo', "get_weather"),
        ("<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>", "get_weather"),
        ("<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0", "get_weather"),
        ("<|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>Bonn<|tool_call_end|>", "get_weather"),
        ('<|tool_call_begin|>3<|tool_call_argument_begin|>{"city": "Bonn"}<|tool_call_end|>', ""),
        ("<|tool_calls_section_begin|>", ""),
    ],
)
