from callmark.types import Call
from tests.calls.text.family import TIME, TIME_JSON, WEATHER, WEATHER_JSON, Family, json_call

FAMILY = Family(
    "phi4",
    lambda calls: f"<|tool_call|>[{', '.join(map(json_call, calls))}]<|/tool_call|>",
    [
        (f"<|tool_call|>[{WEATHER_JSON}]<|/tool_call|><|end|>", [WEATHER]),
        (f"functools[{WEATHER_JSON}, {TIME_JSON}]", [WEATHER, TIME]),
        (f"<|tool_call|>{WEATHER_JSON}<|/tool_call|>", [WEATHER]),
        ('<|tool_call|>[{"name": "get_weather", "parameters": {"city": "Bonn"}}]<|/tool_call|>', [WEATHER]),
        ('functools[{"name": "unlisted_tool", "arguments": {"a": 1}}]', [Call("unlisted_tool", {"a": 1})]),
    ],
    [
        "The functools[cached_property] decorator caches.",
        "from functools import cache",
        f"`functools[{WEATHER_JSON}]` is a call.",
        "Between <|tool_call|> and <|/tool_call|> there is a list.",
    ],
    [
        ('<|tool_call|>[{"name": "get_weather", "arguments": {"city": "Bo', "get_weather"),
        ('functools[{"name": "get_weather", "arguments": {"city": Bonn}}]', "get_weather"),
        ("<|tool_call|>\nthe weather\n<|/tool_call|>", ""),
        ("<|tool_call|>", ""),
    ],
)
