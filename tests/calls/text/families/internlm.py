from callmark.types import Call
from tests.calls.text.family import TIME, WEATHER, Family, json_call

FAMILY = Family(
    "internlm",
    lambda calls: "".join(f"<|action_start|><|plugin|>\n{json_call(call, 'parameters')}<|action_end|>\n" for call in calls),
    [
        ('<|action_start|><|plugin|>\n{"name": "get_weather", "parameters": {"city": "Bonn"}}<|action_end|>\n', [WEATHER]),
        ('<|action_start|> <|plugin|>\n{"name": "get_weather", "arguments": {"city": "Bonn"}}<|action_end|>', [WEATHER]),
        ('<|action_start|><|plugin|>{"name": "get_weather", "parameters": {"city": "Bonn"}}', [WEATHER]),
        ('<|action_start|><|plugin|>[{"name": "get_time", "parameters": {}}]<|action_end|><|im_end|>', [TIME]),
        ('<|action_start|><|plugin|>{"name": "unlisted_tool", "parameters": {"a": 1}}<|action_end|>', [Call("unlisted_tool", {"a": 1})]),
    ],
    [
        "<|action_start|><|plugin|> opens a call to a plugin.",
        '`<|action_start|><|plugin|>{"name": "f"}<|action_end|>` is a call.',
        "The token <|action_start|> opens an action.",
    ],
    [
        ('<|action_start|><|plugin|>\n{"name": "get_weather", "parameters": {"city": "Bo', "get_weather"),
        ('<|action_start|><|plugin|>\n{"name": "get_weather", "parameters": {"city": Bonn}}<|action_end|>', "get_weather"),
        ("<|action_start|><|plugin|>\nthe weather\n<|action_end|>", ""),
        ("<|action_start|><|plugin|>\n", ""),
    ],
)
