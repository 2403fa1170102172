from callmark.types import Call
from tests.calls.text.family import TIME, WEATHER, Family, json_call

FAMILY = Family(
    "llama3",
    lambda calls: "<|python_tag|>" + "; ".join(json_call(call, "parameters") for call in calls) + "<|eom_id|>",
    [
        ('<|python_tag|>{"name": "get_weather", "parameters": {"city": "Bonn"}}<|eom_id|>', [WEATHER]),
        ('{"name": "get_weather", "parameters": {"city": "Bonn"}}<|eot_id|>', [WEATHER]),
        (
            '{"type": "function", "name": "get_weather", "parameters": {"city": "Bonn"}}; {"name": "get_time", "parameters": {}}',
            [WEATHER, TIME],
        ),
        ('<|python_tag|>{"type": "function", "function": {"name": "get_weather", "parameters": {"city": "Bonn"}}}', [WEATHER]),
        (
            '<|python_tag|>{"name": "get_weather", "parameters": {"city": "Bonn"}}<|python_tag|>{"name": "get_time", "parameters": {}}',
            [WEATHER, TIME],
        ),
        ('<function=get_weather>{"city": "Bonn"}</function><|eom_id|>', [WEATHER]),
        ('<|python_tag|>brave_search.call(query="x")', [Call("brave_search.call", {"query": "x"})]),
        ('<|python_tag|>{"name": "unlisted_tool", "parameters": {"a": 1}}', [Call("unlisted_tool", {"a": 1})]),
    ],
    [
        "<|python_tag|> is the token before a call.",
        'Write `<|python_tag|>{"name": "f", "parameters": {}}` to call f.',
        "The token <|python_tag|> is special.",
    ],
    [
        ('<|python_tag|>{"name": "get_weather", "parameters": {"city": "Bo', "get_weather"),
        ('<|python_tag|>{"name": "get_weather", "parameters": [1]}', "get_weather"),
        ("<|python_tag|>get_weather('Bonn')", "get_weather"),
        ("<|python_tag|>", ""),
    ],
)
