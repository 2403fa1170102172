from callmark.types import Call
from tests.calls.text.family import TIME, WEATHER, WEATHER_JSON, Family, code_call

FAMILY = Family(
    "lfm2",
    lambda calls: f"<|tool_call_start|>[{', '.join(map(code_call, calls))}]<|tool_call_end|>",
    [
        ('<|tool_call_start|>[get_weather(city="Bonn")]<|tool_call_end|>Checking the weather.', [WEATHER]),
        ('<|tool_call_start|>[get_weather(city="Bonn"), get_time()]<|tool_call_end|><|im_end|>', [WEATHER, TIME]),
        ('<|tool_call_start|>[get_weather(city="Bonn")]', [WEATHER]),
        (f"<|tool_call_start|>[{WEATHER_JSON}]<|tool_call_end|>", [WEATHER]),
        ("<|tool_call_start|>[unlisted_tool(a=1)]<|tool_call_end|>", [Call("unlisted_tool", {"a": 1})]),
    ],
    [
        "<|tool_call_start|> and <|tool_call_end|> surround a list of calls.",
        "`<|tool_call_start|>[f(a=1)]<|tool_call_end|>` is a call.",
        "The token <|tool_call_start|> opens a call.",
    ],
    [
        ('<|tool_call_start|>[get_weather(city="Bo', "get_weather"),
        ('<|tool_call_start|>[get_weather("Bonn")]<|tool_call_end|>', "get_weather"),
        ("<|tool_call_start|>[get_weather(city=town)]<|tool_call_end|>", "get_weather"),
        ("<|tool_call_start|>", ""),
    ],
)
