from callmark.types import Call
from tests.calls.text.family import TIME, TIME_JSON, WEATHER, WEATHER_JSON, Family, json_call

FAMILY = Family(
    "jamba",
    lambda calls: "<tool_calls>[\n" + ",\n".join(map(json_call, calls)) + "\n]</tool_calls>",
    [
        (f"<tool_calls>[{WEATHER_JSON}]</tool_calls>", [WEATHER]),
        (f"<tool_calls>\n{WEATHER_JSON}\n{TIME_JSON}\n</tool_calls>", [WEATHER, TIME]),
        (f"<tool_calls>[\n    {WEATHER_JSON},\n    {TIME_JSON}\n]</tool_calls>", [WEATHER, TIME]),
        (f"<tool_calls>[{WEATHER_JSON}]", [WEATHER]),
        ('<tool_calls>[{"name": "unlisted_tool", "arguments": {"a": 1}}]</tool_calls>', [Call("unlisted_tool", {"a": 1})]),
    ],
    [
        "Between <tool_calls> and </tool_calls> there is a list.",
        f"`<tool_calls>[{WEATHER_JSON}]</tool_calls>` is a call.",
        "<tool_calls> opens a list.",
    ],
    [
        ('<tool_calls>[{"name": "get_weather", "arguments": {"city": "Bo', "get_weather"),
        ('<tool_calls>[{"name": "get_weather", "arguments": {"city": Bonn}}]</tool_calls>', "get_weather"),
        ("<tool_calls>\nthe weather\n</tool_calls>", ""),
        ("<tool_calls>[", ""),
    ],
)
