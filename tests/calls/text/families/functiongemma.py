from typing import Any

from callmark.types import Call
from tests.calls.text.family import TIME, WEATHER, Family, dump


def value_text(value: Any, delimiter: str) -> str:
    if isinstance(value, str):
        return f"{delimiter}{value}{delimiter}"
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}:{value_text(child, delimiter)}" for key, child in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(value_text(child, delimiter) for child in value) + "]"
    return dump(value)


FAMILY = Family(
    "functiongemma",
    lambda calls: "".join(
        f"<start_function_call>call:{call.name}{value_text(call.arguments, '<escape>')}<end_function_call>" for call in calls
    ),
    [
        ("<start_function_call>call:get_weather{city:<escape>Bonn<escape>}<end_function_call>", [WEATHER]),
        ("<start_function_call>call:get_weather{city:<escape>Bonn<escape>}<end_function_call><start_function_response>", [WEATHER]),
        (
            "<start_function_call>call:get_weather{city:<escape>Bonn<escape>,days:5}<end_function_call>",
            [Call("get_weather", {"city": "Bonn", "days": 5})],
        ),
        ("<start_function_call>call:get_time{}<end_function_call>", [TIME]),
        ("<start_function_call>call:get_weather{city:<escape>Bonn<escape>}", [WEATHER]),
        ("<start_function_call>call:unlisted_tool{a:1}<end_function_call>", [Call("unlisted_tool", {"a": 1})]),
    ],
    [
        "The token <start_function_call> opens a call.",
        "`<start_function_call>call:f{}<end_function_call>` is a call.",
        "Strings are between <escape> tokens.",
    ],
    [
        ("<start_function_call>call:get_weather{city:<escape>Bo", "get_weather"),
        ("<start_function_call>call:get_weather{city:<escape>Bonn<escape>", "get_weather"),
        ("<start_function_call>call:get_weather{<escape>Bonn<escape>}<end_function_call>", "get_weather"),
        ("<start_function_call>call:get_wea", "get_wea"),
        ("<start_function_call>", ""),
    ],
)
