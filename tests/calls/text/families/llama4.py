from callmark.types import Call
from tests.calls.text.family import TIME, WEATHER, Family, code_call

FAMILY = Family(
    "llama4",
    lambda calls: f"<|python_start|>[{', '.join(map(code_call, calls))}]<|python_end|>",
    [
        ('<|python_start|>[get_weather(city="Bonn")]<|python_end|><|eot|>', [WEATHER]),
        ('[get_weather(city="Bonn"), get_time()]', [WEATHER, TIME]),
        ('<|python_start|>get_weather(city="Bonn")\nget_time()<|python_end|>', [WEATHER, TIME]),
        ('<|python_start|>[get_weather(city="Bonn")]', [WEATHER]),
        ("<|python_start|>[unlisted_tool(a=1)]<|python_end|>", [Call("unlisted_tool", {"a": 1})]),
    ],
    [
        "<|python_start|> opens code.",
        "`<|python_start|>[f(a=1)]<|python_end|>` is a call.",
        "The tool get_weather(city) returns the weather.",
    ],
    [
        ('<|python_start|>[get_weather(city="Bo', "get_weather"),
        ("<|python_start|>[get_weather('Bonn')]<|python_end|>", "get_weather"),
        ("<|python_start|>[get_weather(city=town)]<|python_end|>", "get_weather"),
        ("<|python_start|>", ""),
    ],
)
