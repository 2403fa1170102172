from callmark.types import Call
from tests.calls.text.family import TIME, TIME_JSON, WEATHER, WEATHER_JSON, Family, json_call

FAMILY = Family(
    "granite",
    lambda calls: f"<|tool_call|>[{', '.join(map(json_call, calls))}]",
    [
        (f"<|tool_call|>[{WEATHER_JSON}]<|end_of_text|>", [WEATHER]),
        (f"<tool_call>[{WEATHER_JSON}, {TIME_JSON}]", [WEATHER, TIME]),
        (f"<|tool_call|> [{WEATHER_JSON}]", [WEATHER]),
        (f"<tool_call>\n[{WEATHER_JSON}]\n</tool_call>", [WEATHER]),
        ('<|tool_call|>[{"name": "unlisted_tool", "arguments": {"a": 1}}]', [Call("unlisted_tool", {"a": 1})]),
    ],
    ["The token <|tool_call|> opens a list.", f"`<|tool_call|>[{WEATHER_JSON}]` is a call.", "<|tool_call|> is a token."],
    [
        ('<|tool_call|>[{"name": "get_weather", "arguments": {"city": "Bo', "get_weather"),
        ('<tool_call>[{"name": "get_weather", "arguments": {"city": Bonn}}]', "get_weather"),
        ("<|tool_call|>[", ""),
        ("<|tool_call|>", ""),
    ],
)
